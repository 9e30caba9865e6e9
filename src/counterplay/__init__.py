"""Counterplay: solve games of hidden information, and know exactly how good the solution is.

Names are imported when they are first used, so that `import counterplay` is quick.
"""

from __future__ import annotations

import importlib
from typing import Any

from counterplay.errors import ConfigError as _ConfigError
from counterplay.registry import REGISTRIES as _REGISTRIES
from counterplay.registry import missing_package as _missing_package

__version__ = "0.1.0"

_EXPORTS = {
    "counterplay.abstraction.abstract": ["Abstraction", "abstract", "fix_policy"],
    "counterplay.abstraction.grafting": ["graft"],
    "counterplay.bounding": ["LowerBound", "local_best_response"],
    "counterplay.consent": ["TrustError", "trust"],
    "counterplay.control_variates": ["corrected", "tree_values"],
    "counterplay.errors": ["ConfigError", "CounterplayError", "GameError", "RunError"],
    "counterplay.tree.estimating": ["estimate_size"],
    "counterplay.evaluate": [
        "BestResponse",
        "InfosetValues",
        "Judgement",
        "Mistakes",
        "best_response",
        "expected_values",
        "exploitability",
        "infoset_values",
        "judge",
        "mistakes",
        "nash_conv",
    ],
    "counterplay.experiment": [
        "Run",
        "RunResult",
        "load_config",
        "load_metrics",
        "load_policies",
        "load_run",
        "metrics_table",
        "new_run",
        "open_run",
        "resume",
        "run",
    ],
    "counterplay.game": [
        "CHANCE",
        "TERMINAL",
        "DescribedGame",
        "DrawnGame",
        "Game",
        "GridGame",
        "ObservedGame",
        "check_game",
        "choices_of",
        "place_in_grid",
        "situation",
    ],
    "counterplay.generated.choosing": ["build_arena"],
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
    "counterplay.public.flop_tree": ["FlopTree", "load_flop_policy"],
    "counterplay.public.grids": ["draw_grid"],
    "counterplay.public.locking": ["lock_record"],
    "counterplay.public.looking": ["difference", "look"],
    "counterplay.public.ranges": ["Range"],
    "counterplay.public.solution": ["Solution", "load_solution"],
    "counterplay.public.sparring": ["Sparring"],
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
    "counterplay.scale.standings": ["standings"],
    "counterplay.scale.study": ["load_study"],
    "counterplay.scale.sweeping": ["sweep"],
    "counterplay.search.evaluation": [
        "middle_first",
        "observed",
        "open_lines",
        "rollout",
        "weighted_features",
    ],
    "counterplay.deep.learned_bound": ["learned_best_response"],
    "counterplay.sampled": ["SampledGame", "SampledPolicy", "load_sampled_policy"],
    "counterplay.search.searching": ["SearchPolicy"],
    "counterplay.showing.infosets": ["Grid", "InfosetRow", "grids", "infoset_rows"],
    "counterplay.showing.picture": ["TreePicture", "draw_tree"],
    "counterplay.solving": ["Algorithm", "Record", "Result", "solve"],
    "counterplay.tabular.online_outcome_sampling": ["OnlineLearner"],
    "counterplay.tabular.sequence_form_lp": ["sequence_form_lp"],
    "counterplay.tree": ["Tree"],
    "counterplay.tree.machines": ["Machine", "check_machine", "machine_of"],
    "counterplay.tree.unrolling": ["build_tree"],
}
_PLACES = {name: module for module, names in _EXPORTS.items() for name in names} | {
    where.split(":")[1]: where.split(":")[0]
    for registry in _REGISTRIES.values()
    for where in registry.values()
}

__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'counterplay' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(_PLACES[name]), name)
    except ModuleNotFoundError as error:
        advice = _missing_package(name, error)
        if not advice:
            raise
        return _Missing(name, advice)
    except _ConfigError as error:  # a module that says itself what it lacks
        if not isinstance(error.__cause__, ModuleNotFoundError):
            raise
        return _Missing(name, str(error))


class _Missing:
    """What stands for a name whose extra is not installed; whoever uses it is told what to do."""

    def __init__(self, name: str, advice: str):
        self.__name__ = self.__qualname__ = name
        self.__doc__ = self._advice = advice

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        raise _ConfigError(self._advice)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise _ConfigError(self._advice)

    def __repr__(self) -> str:
        return f"<{self._advice}>"


def __dir__() -> list[str]:
    return __all__
