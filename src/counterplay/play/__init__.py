"""Agents, episodes and matches, with estimates and bounds from play.

Public names are imported when they are first used.
"""

from __future__ import annotations

from counterplay.lazy_exports import lazy_exports

_EXPORTS = {
    "aivat": ["aivat_utilities", "value_function_from_policy"],
    "bounds": ["LowerBound", "local_best_response"],
    "episodes": ["Agent", "play_episode"],
    "match": ["Estimate", "head_to_head"],
}

__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
