"""The example configs that are installed with the package: runs, studies, spots, preflop games.

An example is named by its path without the suffix, such as `thesis/kuhn_2p`. A wheel contains them
in `counterplay/configs`; a copy of the sources has them in `configs`.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import counterplay
from counterplay.errors import ConfigError, RunError, suggestion

FOLDER_NAME = "configs"


@dataclass(frozen=True)
class Example:
    """An example config: its name, its kind (run, study, spot or preflop) and one line about it."""

    name: str
    kind: str
    summary: str
    path: Path


def examples_folder() -> Path:
    """Return the folder of the examples.

    Raises:
        ConfigError: This installation has no examples.
    """
    package = Path(counterplay.__file__).parent
    for folder in (package / FOLDER_NAME, package.parent.parent / FOLDER_NAME):
        if folder.is_dir():
            return folder
    raise ConfigError("this installation contains no example configs; install the wheel again")


def list_examples(prefix: str = "") -> list[Example]:
    """Return the examples whose names start with `prefix`, sorted by name."""
    folder = examples_folder()
    names = {path.relative_to(folder).with_suffix("").as_posix(): path for path in _files(folder)}
    return [_describe(name, path) for name, path in names.items() if name.startswith(prefix)]


def find_config(source: str | Path) -> Path:
    """Return the path of a config: a file, or else the example of that name.

    `configs/thesis/kuhn_2p.json`, `thesis/kuhn_2p.json` and `thesis/kuhn_2p` name the same example.
    A file that exists is always preferred. A name that is neither is returned as it is, so that
    the reader of the file reports what is missing.
    """
    path = Path(source)
    if path.exists() or path.is_absolute() or ".." in path.parts:
        return path
    name = path.with_suffix("").as_posix().removeprefix(f"{FOLDER_NAME}/")
    try:
        names = {example.name: example.path for example in list_examples()}
    except ConfigError:
        return path
    if name in names:
        return names[name]
    if not path.suffix:
        near = suggestion(name, names)
        raise ConfigError(
            f"there is no file {path} and no example of that name; "
            f"run 'counterplay configs' for the list{near}"
        )
    return path


def copy_examples(prefix: str, target: str | Path, *, replace: bool = False) -> list[Path]:
    """Copy examples, and the configs that studies among them refer to, into a folder.

    Args:
        prefix: Copy the examples whose names start with this.
        target: Folder to copy into; the folders of the examples are made in it.
        replace: Replace files that exist.

    Returns:
        The files written.

    Raises:
        ConfigError: No example has such a name, or a file exists already.
        RunError: A file cannot be written.
    """
    folder, wanted = examples_folder(), list_examples(prefix)
    if not wanted:
        near = suggestion(prefix, [example.name for example in list_examples()])
        raise ConfigError(f"there is no example {prefix!r}{near}")
    sources = dict.fromkeys(example.path for example in wanted)
    for example in wanted:
        base = _read(example.path).get("base")
        if isinstance(base, str):
            sources[(example.path.parent / base).resolve()] = None
    folder = folder.resolve()
    copies = {source: Path(target) / source.resolve().relative_to(folder) for source in sources}
    for copy in copies.values():
        if copy.exists() and not replace:
            raise ConfigError(f"{copy} exists already; --force replaces it")
    for source, copy in copies.items():
        try:
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
        except OSError as error:
            raise RunError(f"cannot write {copy}: {error.strerror or error}") from error
    return list(copies.values())


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.json"))


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _describe(name: str, path: Path) -> Example:
    content = _read(path)
    if "board" in content:
        return Example(name, "spot", f"hold'em on {content['board']}, pot {content['pot']}", path)
    if "stacks" in content:
        seats, payoff = len(content["stacks"]), "ICM" if "payouts" in content else "chips"
        return Example(name, "preflop", f"hold'em before the flop, {seats} seats, {payoff}", path)
    if "vary" in content:
        return Example(name, "study", f"varies {', '.join(content['vary'])}", path)
    game = content["game"]
    if isinstance(game, dict):
        params = ", ".join(f"{key}={value}" for key, value in game.get("params", {}).items())
        game = f"{game['name']}({params})" if params else game["name"]
    return Example(name, "run", f"{content.get('algorithm', 'deep_hedge')} on {game}", path)
