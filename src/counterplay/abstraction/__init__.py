"""Smaller games derived from a game: merged infosets, removed actions, fixed policies.

Public names are imported when they are first used.
"""

from __future__ import annotations

from counterplay.lazy_exports import exports_from_registry, lazy_exports
from counterplay.registry import ABSTRACTIONS

_EXPORTS = {
    "counterplay.registry": ["load_abstraction"],
    "abstraction": ["Abstraction", "build_abstraction", "fix_policy"],
    "betting_policy": ["BettingPolicy", "load_betting_policy", "stitch"],
    "grafting": ["graft_policy"],
} | exports_from_registry(ABSTRACTIONS)

__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
