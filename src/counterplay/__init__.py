"""Counterplay: solve games of hidden information, and know exactly how good the solution is.

Names are imported when they are first used, so that `import counterplay` is quick.
"""

from __future__ import annotations

import importlib
from typing import Any

from counterplay.registry import REGISTRIES

__version__ = "0.1.0"

_EXPORTS = {
    "counterplay.abstraction.abstract": ["Abstraction", "abstract", "fix_policy"],
    "counterplay.abstraction.grafting": ["graft"],
    "counterplay.errors": ["ConfigError", "CounterplayError", "GameError", "RunError"],
    "counterplay.tree.estimating": ["estimate_size"],
    "counterplay.evaluate": [
        "best_response",
        "expected_values",
        "exploitability",
        "infoset_values",
        "judge",
        "nash_conv",
    ],
    "counterplay.game": ["CHANCE", "TERMINAL", "Game", "check_game"],
    "counterplay.interop.files": ["save_game"],
    "counterplay.interop.gymnasium_env": ["BestResponseEnv", "judge_agent"],
    "counterplay.interop.openspiel_game": ["to_openspiel"],
    "counterplay.interop.openspiel_policy": [
        "from_openspiel_policy",
        "to_pyspiel_policy",
        "to_python_policy",
    ],
    "counterplay.interop.pettingzoo_env": ["CounterplayAEC"],
    "counterplay.kernels.threads": ["num_threads", "set_num_threads"],
    "counterplay.tree.loading": ["load_tree"],
    "counterplay.matrix.alpha_rank": ["alpha_rank", "single_population_alpha_rank"],
    "counterplay.matrix.checking": [
        "coarse_deviation",
        "correlated_deviation",
        "nash_deviation",
    ],
    "counterplay.matrix.correlated": ["coarse_correlated_equilibrium", "correlated_equilibrium"],
    "counterplay.matrix.dominance": ["dominance", "dominated_actions", "eliminate"],
    "counterplay.matrix.learning": ["learn"],
    "counterplay.matrix.lemke_howson": ["lemke_howson"],
    "counterplay.matrix.nash": ["nash_equilibria"],
    "counterplay.matrix.nash_nlp": ["nash_nlp"],
    "counterplay.matrix.normal_form": ["NormalForm", "normal_form"],
    "counterplay.matrix.pure_policies": ["count_pure_policies", "pure_policies"],
    "counterplay.matrix.support_enumeration": ["support_enumeration"],
    "counterplay.matrix.zero_sum_lp": ["zero_sum_lp"],
    "counterplay.public.equity": ["equity"],
    "counterplay.public.looking": ["look"],
    "counterplay.public.ranges": ["Range"],
    "counterplay.public.solution": ["Solution", "load_solution"],
    "counterplay.public.spot": ["Sizes", "Spot"],
    "counterplay.public.tree": ["PublicTree"],
    "counterplay.playing": ["Estimate", "head_to_head", "play_episode"],
    "counterplay.policy": ["Policy", "load_policy", "random_policy", "uniform_policy"],
    "counterplay.registry": [
        "load_abstraction",
        "load_algorithm",
        "load_game",
        "load_learner",
        "load_searcher",
    ],
    "counterplay.search.evaluation": [
        "middle_first",
        "observed",
        "open_lines",
        "rollout",
        "weighted_features",
    ],
    "counterplay.sampled": ["SampledGame", "SampledPolicy", "load_sampled_policy"],
    "counterplay.search.searching": ["SearchPolicy"],
    "counterplay.solving": ["Record", "Result", "solve"],
    "counterplay.tabular.online_outcome_sampling": ["OnlineLearner"],
    "counterplay.tabular.sequence_form_lp": ["sequence_form_lp"],
    "counterplay.tree": ["Tree"],
    "counterplay.tree.unrolling": ["build_tree"],
}
_PLACES = {name: module for module, names in _EXPORTS.items() for name in names} | {
    where.split(":")[1]: where.split(":")[0]
    for registry in REGISTRIES.values()
    for where in registry.values()
}

__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'counterplay' has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__
