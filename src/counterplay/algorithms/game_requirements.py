"""Checks that a game has the properties an algorithm needs."""

from __future__ import annotations

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import SequenceArena
from counterplay.errors import ConfigError


def require_two_player_zero_sum(algorithm: str, tree: TreeArena) -> None:
    """Raise ConfigError unless a tree has two players and utilities that sum to zero."""
    if tree.num_players != 2 or not tree.is_zero_sum:
        raise ConfigError(f"{algorithm} needs a two-player zero-sum game, unlike {tree.spec}")


def require_perfect_recall(algorithm: str, arena: SequenceArena) -> None:
    """Raise ConfigError if a player of the game forgets what it knew or did."""
    if not arena.has_perfect_recall:
        raise ConfigError(f"{algorithm} needs perfect recall; a player of {arena.spec} forgets")
