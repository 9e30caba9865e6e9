"""Runs and sweeps on several processes or machines.

Public names are imported when they are first used.
"""

from __future__ import annotations

from counterplay.lazy_exports import lazy_exports

_EXPORTS = {
    "ranking": ["load_study_ranking"],
    "study": ["load_study"],
    "sweeps": ["sweep"],
}

__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
