"""Solution concepts of trees beyond Nash: correlation, refinements, commitment, teams, exactness.

Public names are imported at their first use.
"""

from __future__ import annotations

from counterplay.lazy_exports import lazy_exports

_EXPORTS = {
    "counterplay.algorithms.exact.rational": ["ExactEquilibrium", "exact_equilibrium"],
    "commitment": ["Commitment", "optimal_commitment"],
    "correlation": ["CorrelationGaps", "JointDistribution", "correlation_gaps"],
    "refinements": [
        "QuasiPerfectEquilibrium",
        "ProperSubgame",
        "find_subgames",
        "is_sequential",
        "is_subgame_perfect",
        "off_path_losses",
        "quasi_perfect_equilibrium",
        "normal_form_perfect_equilibrium",
    ],
    "teams": ["TeamEquilibrium", "team_equilibrium"],
    "optimal_set": ["OptimalSet", "optimal_vertices"],
    "optimal_correlation": ["CorrelatedPlan", "optimal_efce"],
}

__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
