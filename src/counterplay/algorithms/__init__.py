"""Algorithms that compute policies: one file per algorithm, one folder per family.

Public names are imported at their first use.
"""

from __future__ import annotations

from counterplay.lazy_exports import exports_from_registry, lazy_exports
from counterplay.registry import ALGORITHMS

_EXPORTS = {
    "mccfr.online_outcome_sampling": ["OnlineLearner"],
    "cfr.trace": ["CFRTrace", "InfosetStep"],
    "exact.sequence_form_lp": ["solve_sequence_form_lp"],
    "fictitious_play.general_fsp": ["GeneralFSP"],
} | exports_from_registry(ALGORITHMS)

__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
