"""Search at play time in two-player zero-sum games of perfect information.

Public names are imported when they are first used.
"""

from __future__ import annotations

from counterplay.lazy_exports import exports_from_registry, lazy_exports
from counterplay.registry import SEARCHERS

_EXPORTS = {
    "counterplay.registry": ["load_searcher"],
    "searcher": ["SearchAgent"],
    "evaluation_functions": [
        "middle_first_order",
        "network_evaluation",
        "open_lines_evaluation",
        "rollout_evaluation",
        "weighted_sum_evaluation",
    ],
} | exports_from_registry(SEARCHERS)

__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
