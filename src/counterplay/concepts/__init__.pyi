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
from counterplay.concepts.optimal_set import OptimalSet as OptimalSet
from counterplay.concepts.optimal_set import optimal_vertices as optimal_vertices
from counterplay.concepts.refinements import ProperSubgame as ProperSubgame
from counterplay.concepts.refinements import QuasiPerfectEquilibrium as QuasiPerfectEquilibrium
from counterplay.concepts.refinements import find_subgames as find_subgames
from counterplay.concepts.refinements import is_sequential as is_sequential
from counterplay.concepts.refinements import is_subgame_perfect as is_subgame_perfect
from counterplay.concepts.refinements import (
    normal_form_perfect_equilibrium as normal_form_perfect_equilibrium,
)
from counterplay.concepts.refinements import off_path_losses as off_path_losses
from counterplay.concepts.refinements import quasi_perfect_equilibrium as quasi_perfect_equilibrium
from counterplay.concepts.teams import TeamEquilibrium as TeamEquilibrium
from counterplay.concepts.teams import team_equilibrium as team_equilibrium

__all__ = [
    "Commitment",
    "CorrelatedPlan",
    "CorrelationGaps",
    "ExactEquilibrium",
    "JointDistribution",
    "OptimalSet",
    "ProperSubgame",
    "QuasiPerfectEquilibrium",
    "TeamEquilibrium",
    "correlation_gaps",
    "exact_equilibrium",
    "find_subgames",
    "is_sequential",
    "is_subgame_perfect",
    "normal_form_perfect_equilibrium",
    "off_path_losses",
    "optimal_commitment",
    "optimal_efce",
    "optimal_vertices",
    "quasi_perfect_equilibrium",
    "team_equilibrium",
]
