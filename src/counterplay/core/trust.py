"""Consent to run the code, and to open the files, that a data file names.

A policy, tree, config, study or run folder names its game, and that name may be `file.py:Class`.
Opening a file must not run another person's code, so there are two ways to load a game:

- `registry.load_game` takes a spec that the user wrote, on the command line or in Python. It may
  run code, and the code file's present content is remembered as allowed.
- `load_game_from_file` takes a spec that was read from data. It runs code only if the file's
  present content is remembered, because the user named it before, by `trust` or by `--trust`.

Every module that reads a spec from data uses the second. Game files (`.efg`, `.nfg`, `.json`,
`.csv`) that data names are opened if they lie in the folder of the data file, or below it, or if
the user named them before.

Consent is kept for each user in `trusted.jsonl` in the state folder: one line per file, with its
path and, for code, the SHA-256 of its content. The digest covers the file (and, of a module, the
`__init__.py` of its packages), not what that file imports.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import shlex
import stat
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from counterplay.core.game import Game
from counterplay.errors import ConfigError, RunError
from counterplay.registry import (
    EXTERNAL_GAME_LOADERS,
    GAME_FILE_LOADER,
    OPENSPIEL_LOADER,
    USER_GAME_LOADER,
    import_registered,
    load_game_unchecked,
    source_pattern,
)

CODE, FILE = "code", "file"
STORE = "trusted.jsonl"
MAX_STORE_BYTES = 10_000_000
SECRET_BYTES = 32
FILE_PARAMETER = re.compile(r"(file|filename|root|path|dir|directory)$")  # of OpenSpiel's games

_granted: dict[tuple[str, str], str] = {}  # (kind, path) -> digest, for this process
_forbidden: list[str] = []  # the reason why this process runs no code of games, if it must not


class TrustError(ConfigError):
    """A data file names code, or a file, that the user has not allowed."""


@dataclass(frozen=True)
class Reference:
    """A file that a game spec needs: code to run, or a file to read."""

    kind: str  # CODE or FILE
    name: str  # as the spec writes it
    path: str  # absolute; empty if no such file or module is found
    digest: str  # SHA-256 of code; empty for a file, or if it cannot be read

    @property
    def is_allowed(self) -> bool:
        """Whether the user has allowed this content."""
        key = self.kind, self.path
        if not self.path or (self.kind == CODE and not self.digest):
            return False
        return _granted.get(key) == self.digest or _read_store().get(key) == self.digest


def load_game_from_file(spec: str, source: str | Path, **parameters: Any) -> Game:
    """Load a game whose spec was read from a data file.

    Args:
        spec: The game, as the data file names it.
        source: The data file, or the folder that the data came in. Named in errors; game files in
            its folder, or below it, may be opened.
        parameters: Parameters of the game, as `load_game` takes them.

    Raises:
        TrustError: The spec names code or a file that the user has not allowed.
    """
    check_spec(spec, source)
    return load_game_unchecked(spec, **parameters)


def check_spec(spec: str, source: str | Path) -> None:
    """Raise `TrustError` if a spec from `source` needs code or a file that is not allowed."""
    for reference in references(spec):
        if reference.kind == CODE:
            _check_code(reference, spec, source)
        else:
            check_file(reference.name, source)


def check_file(name: str | Path, source: str | Path) -> None:
    """Raise `TrustError` unless `source` may have us open the file that it names."""
    reference = Reference(FILE, str(name), _resolved(name), "")
    if _is_below(reference.path, source):
        remember([reference])  # files made from this one, such as a run's, name it too
    elif os.path.lexists(name) and not reference.is_allowed:  # who opens it says if it is not there
        raise TrustError(
            f"{_shown(source)} names the file {_shown(name)}, which is not in its folder; "
            f"{_advice(reference)}"
        )


def _check_code(reference: Reference, spec: str, source: str | Path) -> None:
    if _forbidden:
        raise TrustError(
            f"{_shown(source)} needs code of {_shown(reference.name)}: {_forbidden[0]}"
        )
    if reference.is_allowed or _is_running(reference):
        return
    if not reference.path:
        what = "file" if reference.name.endswith(".py") else "module"
        raise ConfigError(f"there is no {what} {_shown(reference.name)}")
    changed = (CODE, reference.path) in _granted | _read_store()
    why = ", which has changed since you allowed it," if changed else ""
    raise TrustError(
        f"{_shown(source)} wants to run the code of {_shown(reference.path)}{why} "
        f"(its game is {spec!r:.200}); {_advice(reference)}"
    )


def trust(path: str | Path) -> None:
    """Allow data files to run a code file, or to open a game file, and remember that.

    A code file is remembered with its present content: once it has changed, consent is asked for
    again. `--trust PATH` does the same on the command line.

    Args:
        path: A Python file, a module such as `package.module`, or a game file.

    Raises:
        ConfigError: There is no such file or module.

    Example:
        >>> import counterplay as cp
        >>> cp.trust("mygame.py")  # doctest: +SKIP
        >>> cp.load_policies("from_a_friend.policy")  # doctest: +SKIP
    """
    text = str(path)
    match = re.fullmatch(r"(.+\.py|[^/\\()]+):[A-Za-z_]\w*", text)
    place = match[1] if match and not Path(text).exists() else text
    if place.endswith(".py") or not Path(place).exists():
        reference = _code(place)
    else:
        reference = Reference(FILE, place, _resolved(place) if Path(place).is_file() else "", "")
    if not reference.path or (reference.kind == CODE and not reference.digest):
        raise ConfigError(f"cannot trust {place!r}: there is no such file or module")
    remember([reference])


def references(spec: str) -> list[Reference]:
    """The code and the files that loading a game by this spec needs. Imports and runs nothing."""
    spec = spec.strip()
    code = required_code(spec)
    if code is not None:
        return [code]
    loader = EXTERNAL_GAME_LOADERS.get(source_pattern(spec), "")
    if loader == GAME_FILE_LOADER:
        return [Reference(FILE, spec, _resolved(spec), "")]
    if loader == OPENSPIEL_LOADER:
        parsed = import_registered({"": "counterplay.interop.openspiel:parse_parameters"}, "")(spec)
        return [Reference(FILE, name, _resolved(name), "") for name in _file_parameters(parsed)]
    return []


def required_code(spec: str) -> Reference | None:
    """The code that loading a game by this spec runs; None if it runs none."""
    runs_code = EXTERNAL_GAME_LOADERS.get(source_pattern(spec)) == USER_GAME_LOADER
    return _code(code_place(spec.strip())) if runs_code else None


def check_code(spec: str, source: str | Path) -> None:
    """Raise `TrustError` if a spec from `source` needs code that is not allowed."""
    reference = required_code(spec)
    if reference is not None:
        _check_code(reference, spec, source)


def code_place(spec: str) -> str:
    """The file or module of a spec such as `file.py:Class(stake=2)` or `package.module:Class`."""
    head = spec.partition("(")[0].strip()
    return head if head.endswith(".py") else head.rpartition(":")[0]


def remember(named: list[Reference]) -> None:
    """Allow the present content of these files, now and in later processes of this user."""
    for reference in named:
        if reference.is_allowed or not reference.path:
            continue
        if reference.kind == CODE and not reference.digest:
            continue
        _granted[reference.kind, reference.path] = reference.digest
        with contextlib.suppress(RunError, OSError):  # without a state folder: for this process
            _append({"kind": reference.kind, "path": reference.path, "sha256": reference.digest})


def forbid_code(reason: str) -> None:
    """Run no code of games in this process from now on, even code that was allowed before."""
    _forbidden[:] = [reason]


def check_code_permitted(spec: str) -> None:
    """Raise `TrustError` if this process must not run code of games."""
    if _forbidden:
        raise TrustError(f"{spec!r:.200} needs to run code, but {_forbidden[0]}")


def _file_parameters(parsed: dict[str, Any]) -> Iterator[str]:
    """The values of parameters that name files, in nested games too."""
    for key, value in parsed.items():
        if isinstance(value, dict):
            yield from _file_parameters(value)
        elif isinstance(value, str) and value and FILE_PARAMETER.search(key):
            yield value


def _code(place: str) -> Reference:
    """The code of a file or of a module, with the digest of all that importing it runs first."""
    paths = [_resolved(place)] if place.endswith(".py") else _module_files(place)
    digest = hashlib.sha256()
    try:
        for path in paths:
            content = Path(path).read_bytes()
            digest.update(hashlib.sha256(content).digest())
    except (OSError, ValueError):
        return Reference(CODE, place, "", "")
    return Reference(CODE, place, paths[-1] if paths else "", digest.hexdigest() if paths else "")


def _module_files(name: str) -> list[str]:
    """The files that importing a module runs: its packages' and its own. Nothing is imported."""
    parts, files = name.split("."), list[str]()
    places: list[str] | None = None
    if not all(part.isidentifier() for part in parts):
        return []
    for count in range(1, len(parts) + 1):
        found = _find_module(".".join(parts[:count]), places)
        if found is None or (count < len(parts) and found.submodule_search_locations is None):
            return []
        if found.origin and found.has_location:
            files.append(_resolved(found.origin))
        places = list(found.submodule_search_locations or ())
    return files


def _find_module(name: str, places: list[str] | None) -> ModuleSpec | None:
    """Find a module as `import` does. `importlib.util.find_spec` would import its packages."""
    for finder in sys.meta_path:
        with contextlib.suppress(ImportError, OSError, ValueError, AttributeError):
            found = finder.find_spec(name, places)
            if found is not None:
                return found
    return None


def _is_running(reference: Reference) -> bool:
    """Whether the code runs in this process already, so that nothing new would be run."""
    if reference.name.endswith(".py"):
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        return bool(main) and _resolved(str(main)) == reference.path
    return reference.name in sys.modules and reference.name.split(".")[0] != "counterplay"


def _resolved(path: str | Path) -> str:
    try:
        return str(Path(path).resolve())
    except (OSError, ValueError, RuntimeError):  # a zero byte, or links in a circle
        return ""


def _is_below(path: str, source: str | Path) -> bool:
    """Whether a file lies in the folder of `source`, links followed, or in a folder below."""
    place = Path(source)
    folder = _resolved(place if place.is_dir() else place.parent)
    return bool(path and folder) and Path(path).is_relative_to(folder)


def _shown(path: str | Path) -> str:
    """A path as an error may print it: one line, no control characters."""
    text = str(path)
    return text if text.isprintable() else repr(text)


def _advice(reference: Reference) -> str:
    target = reference.name if reference.kind == CODE else reference.path
    if target.endswith(".py"):
        target = reference.path
    if not target.isprintable():
        return "its name has control characters; rename it"
    verb = "read that code and, if you trust it," if reference.kind == CODE else "to allow it"
    return (
        f"{verb} add --trust {shlex.quote(target)}, or call counterplay.trust({target!r}) in Python"
    )


# --- the state folder of this user ---


def state_folder() -> Path:
    """The folder of this user's consent, keys and tokens; it is created if missing.

    Raises:
        RunError: It cannot be made.
    """
    try:
        base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        folder = Path(base) / "counterplay"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or error
        raise RunError(f"cannot make a folder for the state of counterplay: {why}") from error
    return folder


def stored_secret(name: str) -> str:
    """The secret of this user under a name: 64 hexadecimal digits, made when first asked for."""
    path = state_folder() / name
    text = read_private(path).strip()
    if len(text) == 2 * SECRET_BYTES and set(text) <= set("0123456789abcdef"):
        return text
    made = secrets.token_hex(SECRET_BYTES)
    write_private(path, made + "\n")
    return made


def read_private(path: Path, max_bytes: int = 1 << 20) -> str:
    """The text of a file that only this user can read and write; empty for any other file."""
    try:
        with open(path, "rb") as file:
            info = os.fstat(file.fileno())
            own = not hasattr(os, "getuid") or (
                info.st_uid == os.getuid() and not info.st_mode & 0o077
            )
            if not own or not stat.S_ISREG(info.st_mode) or os.path.islink(path):
                return ""
            return file.read(max_bytes).decode(errors="replace")
    except OSError:
        return ""


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner reads, also while it is being written."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w") as file:  # mkstemp makes it 0600
            file.write(text)
        os.replace(temporary, path)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror or error}") from error


def _read_store() -> dict[tuple[str, str], str]:
    """Return what this user has allowed: (kind, path) -> digest; later lines count."""
    try:
        text = read_private(state_folder() / STORE, MAX_STORE_BYTES)
    except RunError:
        return {}
    allowed = {}
    for line in text.splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            entry = json.loads(line)
            allowed[str(entry["kind"]), str(entry["path"])] = str(entry["sha256"])
    return allowed


def _append(entry: dict[str, str]) -> None:
    """Add a line; several processes may do so at once."""
    path = state_folder() / STORE
    if path.exists() and not read_private(path, 1) and path.stat().st_size:
        raise RunError(f"{path} can be read or written by others; remove it")
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(handle, (json.dumps(entry) + "\n").encode())
    finally:
        os.close(handle)
