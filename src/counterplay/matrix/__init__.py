"""Normal-form games: dominance, Nash and correlated equilibria, learners, alpha-rank.

Public names are imported at their first use.
"""

from __future__ import annotations

from counterplay.lazy_exports import exports_from_registry, lazy_exports
from counterplay.registry import LEARNERS

_EXPORTS = {
    "counterplay.registry": ["load_learner"],
    "ranking": ["alpha_rank", "single_population_alpha_rank"],
    "verification": ["coarse_deviation", "correlated_deviation", "nash_deviation"],
    "correlated": ["coarse_correlated_equilibrium", "correlated_equilibrium"],
    "dominance": ["eliminate_dominated", "find_dominated_actions", "find_dominating_mixture"],
    "learning": ["run_learners"],
    "trace": ["LearnerStep", "LearnerTrace", "trace_learner"],
    "solvers.lemke_howson": ["lemke_howson"],
    "nash": ["nash_equilibria"],
    "solvers.nash_nlp": ["nash_nlp"],
    "normal_form": ["NormalForm", "normal_form_from_game"],
    "policy_enumeration": ["count_pure_policies", "pure_policies"],
    "stackelberg": ["StackelbergEquilibrium", "stackelberg_equilibrium"],
    "solvers.support_enumeration": ["support_enumeration"],
    "solvers.zero_sum_lp": ["zero_sum_lp"],
} | exports_from_registry(LEARNERS)

__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
