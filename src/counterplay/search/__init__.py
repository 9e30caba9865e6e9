"""Search at play time: games of perfect information, public states and subgames of others.

Public names are imported when they are first used.
"""

from __future__ import annotations

from counterplay.lazy_exports import exports_from_registry, lazy_exports
from counterplay.registry import SEARCHERS

_EXPORTS = {
    "counterplay.registry": ["load_searcher"],
    "searcher": ["SearchAgent"],
    "counterplay.arenas.public_states": [
        "PublicStates",
        "PublicValues",
        "counterfactual_best_response_values",
        "public_states",
        "public_values",
    ],
    "counterplay.arenas.subgame": ["Subgame", "build_subgame", "resolve_policy"],
    "evaluation_functions": [
        "middle_first_order",
        "network_evaluation",
        "open_lines_evaluation",
        "rollout_evaluation",
        "weighted_sum_evaluation",
    ],
} | exports_from_registry(SEARCHERS)

__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
