"""The public names of this package, written by tools/exports.py; do not edit."""

from counterplay.algorithms.exact.rational import ExactEquilibrium as ExactEquilibrium
from counterplay.algorithms.exact.rational import exact_equilibrium as exact_equilibrium
from counterplay.concepts.commitment import Commitment as Commitment
from counterplay.concepts.commitment import optimal_commitment as optimal_commitment
from counterplay.concepts.correlation import CorrelationGaps as CorrelationGaps
from counterplay.concepts.correlation import JointDistribution as JointDistribution
from counterplay.concepts.correlation import correlation_gaps as correlation_gaps
from counterplay.concepts.optimal_correlation import CorrelatedPlan as CorrelatedPlan
from counterplay.concepts.optimal_correlation import optimal_efce as optimal_efce

__all__ = [
    "Commitment",
    "CorrelatedPlan",
    "CorrelationGaps",
    "ExactEquilibrium",
    "JointDistribution",
    "correlation_gaps",
    "exact_equilibrium",
    "optimal_commitment",
    "optimal_efce",
]
