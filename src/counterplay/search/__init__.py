"""Search at play time: games of perfect information, public states and subgames of others.

Public names are imported when they are first used.
"""

from __future__ import annotations

from counterplay.lazy_exports import exports_from_registry, lazy_exports
from counterplay.registry import SEARCH_AGENTS, SEARCHERS

_EXPORTS = {
    "counterplay.registry": ["load_search_agent", "load_searcher"],
    "counterplay.core.rewards": ["AccumulatedRewards", "RewardGame"],
    "expectimax": ["Expectimax"],
    "searcher": ["SearchAgent"],
    "tabulation": ["TabulatedAgent", "tabulate_agent"],
    "depth_limited": [
        "DepthLimitedArena",
        "bias_policy",
        "continuation_leaves",
        "leaf_states",
        "solve_leaves",
    ],
    "counterplay.arenas.public_states": [
        "PublicStates",
        "PublicValues",
        "counterfactual_best_response_values",
        "public_states",
        "public_values",
    ],
    "counterplay.arenas.subgame": [
        "Subgame",
        "build_subgame",
        "resolve_policy",
        "solve_outside_actions",
    ],
    "evaluation_functions": [
        "middle_first_order",
        "network_evaluation",
        "open_lines_evaluation",
        "rollout_evaluation",
        "weighted_sum_evaluation",
    ],
} | exports_from_registry(SEARCHERS | SEARCH_AGENTS)

__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
