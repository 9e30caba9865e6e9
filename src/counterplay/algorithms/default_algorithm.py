"""The algorithm for a game if the user names none, by the league table of regret minimisers."""

from __future__ import annotations

from typing import Any

from counterplay.core.arena import has_imperfect_recall, has_vectors

POKER_GAMES = ("king_ace_poker", "kuhn_poker", "leduc_poker", "limit_holdem", "no_limit_holdem")
BEST_ON_SMALL_POKER = "rpcfr_plus"
BEST_ON_OTHER_SMALL_TREES = "pdcfr_plus"
BEST_ON_LARGE_GAMES = "dcfr_plus"  # of which a second holds few iterations
BEST_ON_HOLDEM_VECTORS = "dcfr"
MAX_SMALL_NODES = 200_000
WITHOUT_GUARANTEE = "cfr_plus"  # more players, general-sum, imperfect recall: not in the table


def choose_algorithm(arena: Any) -> str:
    """Return the name of the algorithm that is best after one second on games of this class.

    The classes and winners are those of benchmarks/tabular/league_table.md, among the methods
    that do not need the number of iterations beforehand.
    """
    if has_vectors(arena):
        return BEST_ON_HOLDEM_VECTORS
    is_zero_sum = getattr(arena, "is_zero_sum", True)  # arenas without a tree are zero-sum
    if arena.num_players != 2 or not is_zero_sum or has_imperfect_recall(arena):
        return WITHOUT_GUARANTEE
    if getattr(arena, "num_nodes", MAX_SMALL_NODES + 1) > MAX_SMALL_NODES:
        return BEST_ON_LARGE_GAMES
    name = arena.spec.split("(")[0].removeprefix("openspiel:")
    return BEST_ON_SMALL_POKER if name in POKER_GAMES else BEST_ON_OTHER_SMALL_TREES
