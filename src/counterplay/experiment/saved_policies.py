"""Policies from policy files and from the folders of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from glob import has_magic
from pathlib import Path
from typing import Any

from counterplay.arenas.build import build_arena
from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.game_arena import GAME_POLICY_FORMAT, load_holdem_policy
from counterplay.arenas.tree.build import build_tree
from counterplay.core.archive import read_format_name
from counterplay.core.game import full_game
from counterplay.core.policy import load_policy, read_policy_arena_kind, read_policy_spec
from counterplay.core.trust import load_game_from_file
from counterplay.errors import ConfigError, FileError, RunError, suggestion
from counterplay.experiment.run_folder import find_runs, load_run_config
from counterplay.experiment.runner import BuildTree, load_run
from counterplay.registry import get_spec, load_game

POLICY_SEPARATOR = "@"  # between a run and the name of one of its policies


def load_policies(
    source: str | Path,
    game: str | None = None,
    *,
    build: BuildTree = build_tree,
    allow_holdem: bool = False,
) -> Mapping[str, Any]:
    """Load the policies of a file or run, by name; the first has the guarantee.

    Args:
        source: a file written by `solve --save`, `Policy.save` or an export; the folder of a run,
            for all its policies; or one of them, as in `runs/kuhn/20261116T051500Z@current`.
        game: the game of a file that does not name one, or another spec of the same game.
        build: builds the tree of the game.
        allow_holdem: whether to load policies of hold'em arenas, which are for whole ranges.

    Raises:
        ConfigError: it is a policy of a hold'em arena and these are not allowed; or the source
            names code that the user has not allowed (see `core.trust`).
    """
    policies = _load_source(source, game, build)
    is_holdem = any(isinstance(policy, HoldemPolicy) for policy in policies.values())
    if is_holdem and not allow_holdem:
        raise ConfigError(
            f"{source} is a policy for whole ranges of hands; judge it by `counterplay evaluate` "
            "and look at it by `counterplay spot show`"
        )
    return policies


def _load_source(source: str | Path, game: str | None, build: BuildTree) -> Mapping[str, Any]:
    path, policy_name = split_source(source)
    if read_format_name(path) == GAME_POLICY_FORMAT:
        return {"policy": load_holdem_policy(path)}
    if not path.is_dir():
        with input_file():
            spec, kind = game or read_policy_spec(path), read_policy_arena_kind(path)
        rules = full_game(load_game(game) if game else load_game_from_file(spec, path))
        arena = build_arena(rules, kind) if kind else build(rules)
        with input_file():
            return {"policy": load_policy(path, arena)}
    run = _find_single_run(path)
    if game and get_spec(load_game(game)) != get_spec(load_run_config(run).game):
        raise ConfigError(f"{run} is a run of {get_spec(load_run_config(run).game)}, not of {game}")
    policies = load_run(run, build=build).policies
    if policy_name and policy_name not in policies:
        near = suggestion(policy_name, policies)
        raise ConfigError(
            f"{run} has no policy {policy_name!r}{near}; there is {', '.join(policies)}"
        )
    return {policy_name: policies[policy_name]} if policy_name else dict(policies)


@contextmanager
def input_file() -> Iterator[None]:
    """Turn a RunError of the `with` block, which is about an input file, into a FileError."""
    try:
        yield
    except FileError:
        raise
    except RunError as error:
        raise FileError(str(error)) from error


def game_spec_from_source(source: str | Path) -> str:
    """Return the spec of the game of a source's policies."""
    path, _ = split_source(source)
    if path.is_dir():
        return get_spec(load_run_config(_find_single_run(path)).game)
    with input_file():
        return read_policy_spec(path)


def split_source(source: str | Path) -> tuple[Path, str]:
    """Return the file or folder of a source, and the name of one of its policies or ""."""
    head, at, name = str(source).rpartition(POLICY_SEPARATOR)
    if at and not Path(source).exists() and (Path(head).is_dir() or has_magic(head)):
        return _find_single_run(Path(head)), name
    if has_magic(str(source)) and not Path(source).exists():
        return _find_single_run(Path(source)), ""
    return Path(source), ""


def _find_single_run(path: Path) -> Path:
    runs = find_runs([path])
    if len(runs) > 1:
        raise ConfigError(f"{path} has {len(runs)} runs; name one, such as the last: {runs[-1]}")
    return runs[0]
