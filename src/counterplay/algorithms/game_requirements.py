"""Checks that a game has the properties an algorithm needs."""

from __future__ import annotations

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import SequenceArena
from counterplay.errors import ConfigError

USE_RECALL_TREE = "take the tree `tree.perfect_recall_tree`"
USE_OTHER_CONCEPTS = "take optimal_efce or optimal_commitment, or team_equilibrium for two teams"


def require_two_player_zero_sum(algorithm: str, tree: TreeArena, instead: str = "") -> None:
    """Raise ConfigError unless a tree has two players and utilities that sum to a constant.

    `instead` is the end of the message, such as "take optimal_efce".
    """
    if tree.num_players != 2 or not tree.is_constant_sum:
        raise ConfigError(
            f"{algorithm} needs a two-player zero-sum game, unlike {tree.spec}{_suffix(instead)}"
        )


def utility_unit(arena: SequenceArena, normalize_utilities: bool) -> float:
    """Return the utility that parameters refer to: the game's scale, or 1 in its own units."""
    return arena.utility_scale if normalize_utilities else 1.0


def require_perfect_recall(algorithm: str, arena: SequenceArena, instead: str = "") -> None:
    """Raise ConfigError if a player of the game forgets what it knew or did.

    `instead` is the end of the message.
    """
    if not arena.has_perfect_recall:
        raise ConfigError(
            f"{algorithm} needs perfect recall; a player of {arena.spec} forgets{_suffix(instead)}"
        )


def _suffix(instead: str) -> str:
    return f": {instead}" if instead else ""
