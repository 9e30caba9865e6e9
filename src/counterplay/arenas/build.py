"""Choose and build the arena of a game."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from counterplay.arenas.rules import RulesArena
from counterplay.arenas.tree.build import ProgressCallback, build_tree
from counterplay.core.game import Game
from counterplay.errors import ConfigError
from counterplay.registry import FACTORED_ARENAS, get_spec, import_registered, spec_name

ARENA_KINDS = ("tree", "generated", "rules")
MIN_INFOSETS_FOR_FACTORED = 200_000  # smaller games get a tree by default


class ArenaFactory(NamedTuple):
    """The size and the constructor of the factored arena of a kind of game."""

    num_infosets: Callable[[Any], int]  # of a game, without building its arena
    build: Callable[[Any, int | None], Any]  # (game, memory_limit in bytes) -> arena


def build_arena(
    game: Game,
    kind: str = "",
    *,
    runs_on: tuple[str, ...] = ("sequences",),
    memory_limit: int | None = None,
    progress: ProgressCallback | None = None,
) -> Any:
    """Build the arena of a game: a tree, a factored arena, or the rules.

    Args:
        game: The rules.
        kind: "tree", "generated" (a factored arena) or "rules". If empty, a game gets its factored
            arena if it has one, has at least 200,000 infosets, and the algorithm runs on it;
            otherwise a tree.
        runs_on: Capabilities of arenas that the algorithm runs on.
        memory_limit: Bytes that may be used; None for four fifths of the free memory.
        progress: Called regularly with the numbers of nodes of a tree so far and expected.

    Raises:
        ConfigError: The kind is unknown, or the game has no factored arena.
        RunError: The arena would not fit into memory.
    """
    if kind not in ("", *ARENA_KINDS):
        raise ConfigError(f"arena is {kind!r}, must be one of {', '.join(ARENA_KINDS)}")
    if kind == "rules":
        return RulesArena(game)
    factory = _find_factory(game)
    if kind == "generated" and factory is None:
        names = ", ".join(FACTORED_ARENAS)
        raise ConfigError(f"{get_spec(game)} has no generated arena; games that have: {names}")
    is_large = factory is not None and factory.num_infosets(game) >= MIN_INFOSETS_FOR_FACTORED
    is_supported = bool({"sequences", "episodes"} & set(runs_on))
    if factory and (kind == "generated" or (not kind and is_large and is_supported)):
        return factory.build(game, memory_limit)
    return build_tree(game, memory_limit=memory_limit, progress=progress)


def _find_factory(game: Game) -> ArenaFactory | None:
    name = spec_name(get_spec(game))
    return import_registered(FACTORED_ARENAS, name) if name in FACTORED_ARENAS else None
