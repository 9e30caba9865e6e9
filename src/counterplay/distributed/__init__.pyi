"""The public names of this package, written by tools/exports.py; do not edit."""

from counterplay.distributed.ranking import load_study_ranking as load_study_ranking
from counterplay.distributed.study import load_study as load_study
from counterplay.distributed.sweeps import sweep as sweep

__all__ = [
    "load_study",
    "load_study_ranking",
    "sweep",
]
