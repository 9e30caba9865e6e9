"""Consent to run the code, and to open the files, that a data file names.

A policy, tree, config, study or run folder names its game, and that name may be `file.py:Class`.
Opening a file must not run another person's code, so there are two ways to load a game:

- `registry.load_game` takes a spec that the user wrote, on the command line or in Python. It may
  run code, and the code file's current content is remembered as allowed.
- `load_game_from_file` takes a spec that was read from data. It runs code only if the file's
  current content is remembered: the user has named it before, or allowed it by `trust` or
  `--trust`.

Every module that reads a spec from data uses the second. Game files (`.efg`, `.nfg`, `.json`,
`.csv`) that data names are opened if they are in the folder of the data file, or below it, or if
the user has named them before.

Consent is stored for each user in `trusted.jsonl` in the state folder: one line per file, with its
path and, for code, the SHA-256 of its content. The digest covers the file (and, of a module, the
`__init__.py` of its packages), not the modules that it imports.
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
    split_abstraction,
)

CODE, FILE = "code", "file"
STORE = "trusted.jsonl"
MAX_STORE_BYTES = 10_000_000
SECRET_BYTES = 32
FILE_PARAMETER = re.compile(r"(file|filename|root|path|dir|directory)$")  # of OpenSpiel's games

_grants: dict[tuple[str, str], str] = {}  # (kind, path) -> digest, for this process
_forbid_reasons: list[str] = []  # one reason if this process must not run code of games


class TrustError(ConfigError):
    """A data file names code, or a file, that the user has not allowed.

    Example:
        >>> import counterplay as cp
        >>> issubclass(cp.TrustError, cp.ConfigError)
        True
    """


@dataclass(frozen=True)
class Reference:
    """A file that a game spec needs: code to run, or a file to read."""

    kind: str  # CODE or FILE
    name: str  # as the spec writes it
    path: str  # absolute; empty if there is no such file or module
    digest: str  # SHA-256 of code; empty for a file, or if it cannot be read

    @property
    def is_allowed(self) -> bool:
        """Whether the user has allowed this content."""
        key = self.kind, self.path
        if not self.is_readable:
            return False
        return _grants.get(key) == self.digest or _read_store().get(key) == self.digest

    @property
    def is_readable(self) -> bool:
        """Whether the file exists and, for code, has a digest."""
        return bool(self.path) and (self.kind != CODE or bool(self.digest))


def load_game_from_file(spec: str, source: str | Path, **parameters: Any) -> Game:
    """Load a game whose spec was read from a data file.

    Args:
        spec: the game, as the data file names it.
        source: the data file, or the folder of the data, which errors name; game files in its
            folder, or below it, may be opened.
        parameters: parameters of the game, as `load_game` takes them.

    Raises:
        TrustError: the spec names code or a file that the user has not allowed.
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
    """Raise `TrustError` if `source` names a file that it may not open."""
    reference = Reference(FILE, str(name), _resolve(name), "")
    if _is_below(reference.path, source):
        remember([reference])  # files derived from this one, such as a run's, name it too
    elif os.path.lexists(name) and not reference.is_allowed:  # opening reports a missing file
        raise TrustError(
            f"{_printable(source)} names the file {_printable(name)}, which is not in its folder; "
            f"{_advice(reference)}"
        )


def _check_code(reference: Reference, spec: str, source: str | Path) -> None:
    if _forbid_reasons:
        name = _printable(reference.name)
        raise TrustError(f"{_printable(source)} needs code of {name}: {_forbid_reasons[0]}")
    if reference.is_allowed or _is_running(reference):
        return
    if not reference.path:
        kind = "file" if reference.name.endswith(".py") else "module"
        raise ConfigError(f"there is no {kind} {_printable(reference.name)}")
    has_changed = (CODE, reference.path) in _grants | _read_store()
    change = ", which has changed since you allowed it," if has_changed else ""
    raise TrustError(
        f"{_printable(source)} wants to run the code of {_printable(reference.path)}{change} "
        f"(it names {spec!r:.200}); {_advice(reference)}"
    )


def trust(path: str | Path) -> None:
    """Allow data files to run a code file, or to open a game file, in all later processes.

    A code file is allowed with its current content only: consent ends when the file changes.
    `--trust PATH` does the same on the command line.

    Args:
        path: a Python file, a module such as `package.module`, or a game file.

    Raises:
        ConfigError: there is no such file or module.

    Example:
        >>> import counterplay as cp
        >>> cp.trust("game.py")
        Traceback (most recent call last):
        counterplay.errors.ConfigError: cannot trust 'game.py': there is no such file or module
        >>> cp.trust("mygame.py")  # doctest: +SKIP
        >>> cp.load_policies("from_a_friend.policy")  # doctest: +SKIP
    """
    text = str(path)
    match = re.fullmatch(r"(.+\.py|[^/\\()]+):[A-Za-z_]\w*", text)
    name = match[1] if match and not Path(text).exists() else text
    if name.endswith(".py") or not Path(name).exists():
        reference = _find_code(name)
    else:
        reference = Reference(FILE, name, _resolve(name) if Path(name).is_file() else "", "")
    if not reference.is_readable:
        raise ConfigError(f"cannot trust {name!r}: there is no such file or module")
    remember([reference])


def references(spec: str) -> list[Reference]:
    """Return the code and the files that loading a game needs, without running any code."""
    spec = split_abstraction(spec.strip())[0]
    code = code_reference(spec)
    if code is not None:
        return [code]
    loader = EXTERNAL_GAME_LOADERS.get(source_pattern(spec), "")
    if loader == GAME_FILE_LOADER:
        return [Reference(FILE, spec, _resolve(spec), "")]
    if loader == OPENSPIEL_LOADER:
        parsed = import_registered({"": "counterplay.interop.openspiel:parse_parameters"}, "")(spec)
        return [Reference(FILE, name, _resolve(name), "") for name in _file_parameters(parsed)]
    return []


def code_reference(spec: str) -> Reference | None:
    """Return the code that loading a game runs, or None."""
    runs_code = EXTERNAL_GAME_LOADERS.get(source_pattern(spec)) == USER_GAME_LOADER
    return _find_code(code_source(split_abstraction(spec.strip())[0])) if runs_code else None


def check_code(spec: str, source: str | Path) -> None:
    """Raise `TrustError` if a spec from `source` needs code that is not allowed."""
    reference = code_reference(spec)
    if reference is not None:
        _check_code(reference, spec, source)


def code_source(spec: str) -> str:
    """Return the file or module of a spec such as `file.py:Class(stake=2)` or `a.module:Class`."""
    head = spec.partition("(")[0].strip()
    return head if head.endswith(".py") else head.rpartition(":")[0]


def remember(named: list[Reference]) -> None:
    """Allow the current content of these files, in this and in later processes of this user."""
    for reference in named:
        if reference.is_allowed or not reference.is_readable:
            continue
        _grants[reference.kind, reference.path] = reference.digest
        with contextlib.suppress(RunError, OSError):  # no state folder: for this process only
            _append({"kind": reference.kind, "path": reference.path, "sha256": reference.digest})


def forbid_code(reason: str) -> None:
    """Refuse to run code of games in this process from now on, even code that is allowed."""
    _forbid_reasons[:] = [reason]


def check_code_permitted(spec: str) -> None:
    """Raise `TrustError` if this process must not run code of games."""
    if _forbid_reasons:
        raise TrustError(f"{spec!r:.200} needs to run code, but {_forbid_reasons[0]}")


def _file_parameters(parameters: dict[str, Any]) -> Iterator[str]:
    """Iterate over the values of parameters that name files, also in nested games."""
    for key, value in parameters.items():
        if isinstance(value, dict):
            yield from _file_parameters(value)
        elif isinstance(value, str) and value and FILE_PARAMETER.search(key):
            yield value


def _find_code(name: str) -> Reference:
    """Return the code of a file or module, with the digest of it and of its packages."""
    paths = [_resolve(name)] if name.endswith(".py") else _module_files(name)
    digest = hashlib.sha256()
    try:
        for path in paths:
            content = Path(path).read_bytes()
            digest.update(hashlib.sha256(content).digest())
    except (OSError, ValueError):
        return Reference(CODE, name, "", "")
    return Reference(CODE, name, paths[-1] if paths else "", digest.hexdigest() if paths else "")


def _module_files(name: str) -> list[str]:
    """Return the files that importing a module runs, its packages' first, without importing."""
    parts, files = name.split("."), list[str]()
    search_path: list[str] | None = None
    if not all(part.isidentifier() for part in parts):
        return []
    for count in range(1, len(parts) + 1):
        module = _find_module(".".join(parts[:count]), search_path)
        if module is None or (count < len(parts) and module.submodule_search_locations is None):
            return []
        if module.origin and module.has_location:
            files.append(_resolve(module.origin))
        search_path = list(module.submodule_search_locations or ())
    return files


def _find_module(name: str, search_path: list[str] | None) -> ModuleSpec | None:
    """Find a module as `import` does. `importlib.util.find_spec` would import its packages."""
    for finder in sys.meta_path:
        with contextlib.suppress(ImportError, OSError, ValueError, AttributeError):
            module = finder.find_spec(name, search_path)
            if module is not None:
                return module
    return None


def _is_running(reference: Reference) -> bool:
    """Return True if this process already runs the code, so that loading it runs nothing new."""
    if reference.name.endswith(".py"):
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        return bool(main) and _resolve(str(main)) == reference.path
    return reference.name in sys.modules and reference.name.split(".")[0] != "counterplay"


def _resolve(path: str | Path) -> str:
    """Return the absolute path with links followed, or "" if that fails."""
    try:
        return str(Path(path).resolve())
    except (OSError, ValueError, RuntimeError):  # a zero byte, or circular links
        return ""


def _is_below(path: str, source: str | Path) -> bool:
    """Return True if a file is in the folder of `source` or below it, after following links."""
    origin = Path(source)
    folder = _resolve(origin if origin.is_dir() else origin.parent)
    return bool(path and folder) and Path(path).is_relative_to(folder)


def _printable(path: str | Path) -> str:
    """Return a path as one line without control characters, for error messages."""
    text = str(path)
    return text if text.isprintable() else repr(text)


def _advice(reference: Reference) -> str:
    """Return the clause that says how to allow a file."""
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
    """Return the folder of this user's consent, keys and tokens; it is created if missing.

    Raises:
        RunError: the folder cannot be created.
    """
    try:
        base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        folder = Path(base) / "counterplay"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RunError(f"cannot make a folder for the state of counterplay: {reason}") from error
    return folder


def load_secret(name: str) -> str:
    """Return the secret of this user under a name: 64 hexadecimal digits, created if missing."""
    path = state_folder() / name
    text = read_private(path).strip()
    if len(text) == 2 * SECRET_BYTES and set(text) <= set("0123456789abcdef"):
        return text
    secret = secrets.token_hex(SECRET_BYTES)
    write_private(path, secret + "\n")
    return secret


def read_private(path: Path, max_bytes: int = 1 << 20) -> str:
    """Return the text of a file that only this user can read and write; "" for any other file."""
    try:
        with open(path, "rb") as file:
            info = os.fstat(file.fileno())
            is_private = not hasattr(os, "getuid") or (
                info.st_uid == os.getuid() and not info.st_mode & 0o077
            )
            if not is_private or not stat.S_ISREG(info.st_mode) or os.path.islink(path):
                return ""
            return file.read(max_bytes).decode(errors="replace")
    except OSError:
        return ""


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, at any time."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w") as file:  # mkstemp makes it 0600
            file.write(text)
        os.replace(temporary, path)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror or error}") from error


def _read_store() -> dict[tuple[str, str], str]:
    """Return the files that this user has allowed, (kind, path) -> digest; later lines win."""
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
    """Append a line to the store; safe while other processes do the same."""
    path = state_folder() / STORE
    if path.exists() and not read_private(path, 1) and path.stat().st_size:
        raise RunError(f"{path} can be read or written by others; remove it")
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(handle, (json.dumps(entry) + "\n").encode())
    finally:
        os.close(handle)
