"""The one place that says which arena a game is played on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from counterplay.arenas.rules import RulesArena
from counterplay.arenas.tree.build import ProgressCallback, build_tree
from counterplay.core.game import Game
from counterplay.errors import ConfigError
from counterplay.registry import FACTORED_ARENAS, get_spec, import_registered

ARENA_KINDS = ("tree", "generated", "rules")
MIN_INFOSETS_FOR_FACTORED = 200_000  # infosets from which a generated arena is worth having


class ArenaFactory(NamedTuple):
    """How the generated arena of a kind of game is made."""

    num_infosets: Callable[[Any], int]  # of the game, before anything is made
    build: Callable[[Any, int | None], Any]  # given the game, and bytes that may be used


def build_arena(
    game: Game,
    kind: str = "",
    *,
    runs_on: tuple[str, ...] = ("sequences",),
    memory_limit: int | None = None,
    progress: ProgressCallback | None = None,
) -> Any:
    """What an algorithm plays on: a stored tree, a generated arena, or the rules as they are.

    Args:
        kind: "tree", "generated" or "rules". If not given, a game that has a generated arena gets
            that from 200,000 infosets on, if it is what the algorithm asks for; others a tree.
        runs_on: what the algorithm asks for.
        memory_limit: bytes that may be used; by default four fifths of what is free.
        progress: called now and then with the nodes of a tree so far and those expected.
    """
    if kind not in ("", *ARENA_KINDS):
        raise ConfigError(f"arena is {kind!r}, must be one of {', '.join(ARENA_KINDS)}")
    if kind == "rules":
        return RulesArena(game)
    generator = _find_factory(game)
    if kind == "generated" and generator is None:
        known = ", ".join(FACTORED_ARENAS)
        raise ConfigError(f"{get_spec(game)} has no generated arena; games that have: {known}")
    large = generator is not None and generator.num_infosets(game) >= MIN_INFOSETS_FOR_FACTORED
    fits = bool({"sequences", "episodes"} & set(runs_on))
    if generator and (kind == "generated" or (not kind and large and fits)):
        return generator.build(game, memory_limit)
    return build_tree(game, memory_limit=memory_limit, progress=progress)


def _find_factory(game: Game) -> ArenaFactory | None:
    name = get_spec(game).partition("(")[0]
    return import_registered(FACTORED_ARENAS, name) if name in FACTORED_ARENAS else None
