"""The public names of this package, written by tools/exports.py; do not edit."""

from counterplay.concepts.correlation import CorrelationGaps as CorrelationGaps
from counterplay.concepts.correlation import JointDistribution as JointDistribution
from counterplay.concepts.correlation import correlation_gaps as correlation_gaps
from counterplay.concepts.optimal_correlation import CorrelatedPlan as CorrelatedPlan
from counterplay.concepts.optimal_correlation import optimal_efce as optimal_efce

__all__ = [
    "CorrelatedPlan",
    "CorrelationGaps",
    "JointDistribution",
    "correlation_gaps",
    "optimal_efce",
]
