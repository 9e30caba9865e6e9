"""Policies wherever they are kept: in files of any kind, and in the folders of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from glob import has_magic
from pathlib import Path
from typing import Any

from counterplay.arenas.build import build_arena
from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.flop_arena import FLOP_POLICY_FORMAT as FLOP_POLICY
from counterplay.arenas.holdem.flop_arena import load_flop_policy
from counterplay.arenas.tree.build import build_tree
from counterplay.core.archive import read_format_name
from counterplay.core.policy import load_policy, read_policy_arena_kind, read_policy_spec
from counterplay.core.trust import load_game_from_file
from counterplay.errors import ConfigError, FileError, RunError, suggestion
from counterplay.experiment.run_folder import find_runs, load_run_config
from counterplay.experiment.runner import BuildTree, load_run
from counterplay.registry import get_spec, load_game

POLICY_SEPARATOR = "@"  # before the name of one of a run's policies


def load_policies(
    source: str | Path,
    game: str | None = None,
    *,
    build: BuildTree = build_tree,
    allow_holdem: bool = False,
) -> Mapping[str, Any]:
    """The policies that a source keeps, by name; the first carries the guarantee.

    Args:
        source: a file that `solve --save`, `Policy.save` or an export wrote; the folder of a run,
            with all its policies; or one of these, as in `runs/kuhn/20261116T051500Z@current`.
        game: the game of a file that does not name one, or names another way to load the same.
        vectors: whether policies of public trees are welcome, which answer for all hands at once.

    Raises:
        ConfigError: they are not, and it is one; or the source names code that the user has not
            allowed (see `trust`).
    """
    found = _load_source(source, game, build)
    if not allow_holdem and any(isinstance(one, HoldemPolicy) for one in found.values()):
        raise ConfigError(
            f"{source} is a policy for all hands at once; such ones can be judged "
            "(`counterplay evaluate`), and asked from Python (`policy.at`)"
        )
    return found


def _load_source(source: str | Path, game: str | None, build: BuildTree) -> Mapping[str, Any]:
    place, chosen = split_source(source)
    if read_format_name(place) == FLOP_POLICY:
        return {"policy": load_flop_policy(place)}
    if not place.is_dir():
        with input_file():
            spec, kind = game or read_policy_spec(place), read_policy_arena_kind(place)
        rules = load_game(game) if game else load_game_from_file(spec, place)
        arena = build_arena(rules, kind) if kind else build(rules)
        with input_file():
            return {"policy": load_policy(place, arena)}
    run = _find_single_run(place)
    if game and get_spec(load_game(game)) != get_spec(load_run_config(run).game):
        raise ConfigError(f"{run} is a run of {get_spec(load_run_config(run).game)}, not of {game}")
    found = load_run(run, build=build).policies
    if chosen and chosen not in found:
        near = suggestion(chosen, found)
        raise ConfigError(f"{run} has no policy {chosen!r}{near}; there is {', '.join(found)}")
    return {chosen: found[chosen]} if chosen else dict(found)


@contextmanager
def input_file() -> Iterator[None]:
    """Inside, a `RunError` is about a file that was given, and becomes a `FileError`."""
    try:
        yield
    except FileError:
        raise
    except RunError as error:
        raise FileError(str(error)) from error


def game_spec_from_source(source: str | Path) -> str:
    """The game that the policies of a source are for."""
    place, _ = split_source(source)
    if place.is_dir():
        return get_spec(load_run_config(_find_single_run(place)).game)
    with input_file():
        return read_policy_spec(place)


def split_source(source: str | Path) -> tuple[Path, str]:
    """The place, and the name of the policy wanted of it, if any."""
    head, at, name = str(source).rpartition(POLICY_SEPARATOR)
    if at and not Path(source).exists() and (Path(head).is_dir() or has_magic(head)):
        return _find_single_run(Path(head)), name
    if has_magic(str(source)) and not Path(source).exists():
        return _find_single_run(Path(source)), ""
    return Path(source), ""


def _find_single_run(place: Path) -> Path:
    found = find_runs([place])
    if len(found) > 1:
        raise ConfigError(f"{place} holds {len(found)} runs; the last one is {found[-1]}")
    return found[0]
