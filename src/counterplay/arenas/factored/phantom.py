"""The factored arena of a phantom game, classical or abrupt."""

from __future__ import annotations

from counterplay.arenas.build import ArenaFactory
from counterplay.arenas.factored.phantom_abrupt import AbruptPhantomArena
from counterplay.arenas.factored.phantom_base import PhantomArena
from counterplay.arenas.factored.phantom_classical import ClassicalPhantomArena
from counterplay.arenas.factored.phantom_sizes import count_infosets_and_sequences
from counterplay.games.phantom_board import PhantomBoard


def build_phantom_arena(game: PhantomBoard, memory_limit: int | None = None) -> PhantomArena:
    """Build the factored arena of a phantom game."""
    return (AbruptPhantomArena if game.is_abrupt else ClassicalPhantomArena)(game, memory_limit)


PHANTOM_FACTORY = ArenaFactory(
    lambda game: count_infosets_and_sequences(game)[0], build_phantom_arena
)
