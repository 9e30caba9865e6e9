"""Phantom games as generated arenas, of either kind."""

from __future__ import annotations

from counterplay.games.phantom_board import PhantomBoard
from counterplay.generated.abrupt import AbruptArena
from counterplay.generated.attempts import AttemptsArena
from counterplay.generated.choosing import Generator
from counterplay.generated.classical import ClassicalArena
from counterplay.generated.sizes import num_own


def build(game: PhantomBoard, memory_limit: int | None = None) -> AttemptsArena:
    """The arena of a phantom game."""
    return (AbruptArena if game.abrupt else ClassicalArena)(game, memory_limit)


PHANTOM = Generator(lambda game: num_own(game)[0], build)
