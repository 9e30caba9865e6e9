"""The settings that a study tries: every combination of lists, or what Optuna proposes.

The first proposal is the base itself, where its settings may be proposed: a search that finds
nothing better says so. A proposal depends on the study's seed, on its own number, and on what the
batches before have come to, and on nothing else: whoever starts again gets the same ones. Optuna
keeps nothing on disk.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from counterplay.distributed.study import SearchDimension, Study
from counterplay.errors import ConfigError


@dataclass(frozen=True)
class TrialResult:
    """What a proposal has come to, as far as the next ones may know."""

    settings: Mapping[str, Any]
    value_by_rung: Mapping[int, float]  # by rung; the mean over seeds, infinite if it failed
    is_pruned: bool  # before the last rung


def propose_settings(
    study: Study, number: int, previous_trials: Sequence[TrialResult]
) -> dict[str, Any]:
    """The settings of proposal `number`, given what all of the batches before have come to."""
    if study.is_grid:
        return study.combinations()[number]
    if number == 0 and (own := study.base_settings()):
        return own
    optuna = _import_optuna()
    seed = study.seed * 1_000_003 + number
    sampler = optuna.samplers.TPESampler(seed=seed % 2**32, n_startup_trials=10)
    search = optuna.create_study(sampler=sampler)
    spaces = {one.key: _optuna_distribution(optuna, one) for one in study.vary}
    for told in previous_trials:
        search.add_trial(_optuna_trial(optuna, study, told, spaces))
    asked = search.ask(spaces)
    return {one.key: _from_optuna_value(one, asked.params[one.key]) for one in study.vary}


def check_optuna_available(study: Study) -> None:
    """Complain now if proposals need a package that is not there."""
    if not study.is_grid:
        _import_optuna()


def _optuna_trial(
    optuna: Any, study: Study, trial: TrialResult, distributions: Mapping[str, Any]
) -> Any:
    inside = {one.key: _to_optuna_value(one, trial.settings[one.key]) for one in study.vary}
    good = {rung: value for rung, value in trial.value_by_rung.items() if math.isfinite(value)}
    state = optuna.trial.TrialState
    if not good:
        return optuna.trial.create_trial(
            state=state.FAIL, params=inside, distributions=distributions
        )
    return optuna.trial.create_trial(
        state=state.PRUNED if trial.is_pruned else state.COMPLETE,
        params=inside,
        distributions=distributions,
        value=good[max(good)],
        intermediate_values=good,
    )


def _optuna_distribution(optuna: Any, dimension: SearchDimension) -> Any:
    kinds = optuna.distributions
    if dimension.choices:
        return kinds.CategoricalDistribution(tuple(range(len(dimension.choices))))
    if dimension.is_integer:
        return kinds.IntDistribution(int(dimension.low), int(dimension.high), log=dimension.log)
    return kinds.FloatDistribution(dimension.low, dimension.high, log=dimension.log)


def _to_optuna_value(dimension: SearchDimension, value: Any) -> Any:
    """A value as Optuna knows it: of a list, its place."""
    return dimension.choices.index(value) if dimension.choices else value


def _from_optuna_value(dimension: SearchDimension, optuna_value: Any) -> Any:
    return dimension.choices[optuna_value] if dimension.choices else optuna_value


def _import_optuna() -> Any:
    try:
        optuna = importlib.import_module("optuna")
    except ModuleNotFoundError as error:
        raise ConfigError(
            "proposals need the package optuna: pip install 'counterplay[scale]'; "
            "without it, leave out proposals and give lists"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
