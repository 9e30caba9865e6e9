"""The settings that a study tries: every combination of lists, or proposals of Optuna.

The first proposal is the base itself if its settings are allowed, so that a search never ends with
something worse. A proposal depends only on the study's seed, its own number and the results of the
batches before, so that a restarted study makes the same proposals. Optuna stores nothing on disk.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from counterplay.distributed.study import SearchDimension, Settings, Study
from counterplay.errors import ConfigError
from counterplay.experiment.config import JsonObject


@dataclass(frozen=True)
class TrialResult:
    """The result of a proposal, for the proposals of later batches."""

    settings: Settings
    value_by_rung: Mapping[int, float]  # mean over seeds, infinite if it failed
    is_pruned: bool  # whether it was dropped before the last rung


def propose_settings(
    study: Study, number: int, previous_trials: Sequence[TrialResult]
) -> JsonObject:
    """Return the settings of a proposal.

    Args:
        number: of the proposal.
        previous_trials: results of all earlier batches.
    """
    if study.is_grid:
        return study.combinations()[number]
    if number == 0 and (base_settings := study.base_settings()):
        return base_settings
    optuna = _import_optuna()
    seed = study.seed * 1_000_003 + number
    sampler = optuna.samplers.TPESampler(seed=seed % 2**32, n_startup_trials=10)
    search = optuna.create_study(sampler=sampler)
    distributions = {
        dimension.key: _optuna_distribution(optuna, dimension) for dimension in study.vary
    }
    for trial in previous_trials:
        search.add_trial(_optuna_trial(optuna, study, trial, distributions))
    params = search.ask(distributions).params
    return {
        dimension.key: _from_optuna_value(dimension, params[dimension.key])
        for dimension in study.vary
    }


def check_optuna_available(study: Study) -> None:
    """Raise ConfigError if proposals need Optuna and it is not installed."""
    if not study.is_grid:
        _import_optuna()


def _optuna_trial(
    optuna: ModuleType, study: Study, trial: TrialResult, distributions: Mapping[str, Any]
) -> Any:
    params = {
        dimension.key: _to_optuna_value(dimension, trial.settings[dimension.key])
        for dimension in study.vary
    }
    finite = {rung: value for rung, value in trial.value_by_rung.items() if math.isfinite(value)}
    state = optuna.trial.TrialState
    if not finite:
        return optuna.trial.create_trial(
            state=state.FAIL, params=params, distributions=distributions
        )
    return optuna.trial.create_trial(
        state=state.PRUNED if trial.is_pruned else state.COMPLETE,
        params=params,
        distributions=distributions,
        value=finite[max(finite)],
        intermediate_values=finite,
    )


def _optuna_distribution(optuna: ModuleType, dimension: SearchDimension) -> Any:
    kinds = optuna.distributions
    if dimension.choices:
        return kinds.CategoricalDistribution(tuple(range(len(dimension.choices))))
    if dimension.is_integer:
        return kinds.IntDistribution(int(dimension.low), int(dimension.high), log=dimension.log)
    return kinds.FloatDistribution(dimension.low, dimension.high, log=dimension.log)


def _to_optuna_value(dimension: SearchDimension, value: Any) -> Any:
    """Return a value as Optuna stores it: the index of a choice, or the number."""
    return dimension.choices.index(value) if dimension.choices else value


def _from_optuna_value(dimension: SearchDimension, optuna_value: Any) -> Any:
    return dimension.choices[optuna_value] if dimension.choices else optuna_value


def _import_optuna() -> ModuleType:
    try:
        optuna = importlib.import_module("optuna")
    except ModuleNotFoundError as error:
        raise ConfigError(
            "proposals need the package optuna: pip install 'counterplay[scale]'; "
            "without it, leave out proposals and give lists of values"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
