"""The one place that says which arena a game is played on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from counterplay.errors import ConfigError
from counterplay.game import Game
from counterplay.registry import GENERATED, find_class, spec_of
from counterplay.sampled import SampledGame
from counterplay.tree.unrolling import Progress, build_tree

KINDS = ("tree", "generated", "rules")
LARGE = 200_000  # infosets from which a generated arena is worth having


class Generator(NamedTuple):
    """How the generated arena of a kind of game is made."""

    num_infosets: Callable[[Any], int]  # of the game, before anything is made
    build: Callable[[Any, int | None], Any]  # given the game, and bytes that may be used


def build_arena(
    game: Game,
    kind: str = "",
    *,
    runs_on: tuple[str, ...] = ("sequences",),
    memory_limit: int | None = None,
    progress: Progress | None = None,
) -> Any:
    """What an algorithm plays on: a stored tree, a generated arena, or the rules as they are.

    Args:
        kind: "tree", "generated" or "rules". If not given, a game that has a generated arena gets
            that from 200,000 infosets on, if it is what the algorithm asks for; others a tree.
        runs_on: what the algorithm asks for.
        memory_limit: bytes that may be used; by default four fifths of what is free.
        progress: called now and then with the nodes of a tree so far and those expected.
    """
    if kind not in ("", *KINDS):
        raise ConfigError(f"arena is {kind!r}, must be one of {', '.join(KINDS)}")
    if kind == "rules":
        return SampledGame(game)
    generator = _generator(game)
    if kind == "generated" and generator is None:
        known = ", ".join(GENERATED)
        raise ConfigError(f"{spec_of(game)} has no generated arena; games that have: {known}")
    large = generator is not None and generator.num_infosets(game) >= LARGE
    fits = bool({"sequences", "episodes"} & set(runs_on))
    if generator and (kind == "generated" or (not kind and large and fits)):
        return generator.build(game, memory_limit)
    return build_tree(game, memory_limit=memory_limit, progress=progress)


def _generator(game: Game) -> Generator | None:
    name = spec_of(game).partition("(")[0]
    return find_class(GENERATED, name) if name in GENERATED else None
