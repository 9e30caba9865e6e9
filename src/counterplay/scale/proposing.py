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

from counterplay.errors import ConfigError
from counterplay.scale.study import Study, Varied


@dataclass(frozen=True)
class Told:
    """What a proposal has come to, as far as the next ones may know."""

    settings: Mapping[str, Any]
    values: Mapping[int, float]  # by rung; the mean over seeds, infinite if it failed
    dropped: bool  # before the last rung


def propose(study: Study, number: int, before: Sequence[Told]) -> dict[str, Any]:
    """The settings of proposal `number`, given what all of the batches before have come to."""
    if study.grid:
        return study.combinations()[number]
    if number == 0 and (own := study.own_settings()):
        return own
    optuna = _optuna()
    seed = study.seed * 1_000_003 + number
    sampler = optuna.samplers.TPESampler(seed=seed % 2**32, n_startup_trials=10)
    search = optuna.create_study(sampler=sampler)
    spaces = {one.key: _space(optuna, one) for one in study.vary}
    for told in before:
        search.add_trial(_trial(optuna, study, told, spaces))
    asked = search.ask(spaces)
    return {one.key: _value(one, asked.params[one.key]) for one in study.vary}


def check_proposals(study: Study) -> None:
    """Complain now if proposals need a package that is not there."""
    if not study.grid:
        _optuna()


def _trial(optuna: Any, study: Study, told: Told, spaces: Mapping[str, Any]) -> Any:
    inside = {one.key: _inside(one, told.settings[one.key]) for one in study.vary}
    good = {rung: value for rung, value in told.values.items() if math.isfinite(value)}
    state = optuna.trial.TrialState
    if not good:
        return optuna.trial.create_trial(state=state.FAIL, params=inside, distributions=spaces)
    return optuna.trial.create_trial(
        state=state.PRUNED if told.dropped else state.COMPLETE,
        params=inside,
        distributions=spaces,
        value=good[max(good)],
        intermediate_values=good,
    )


def _space(optuna: Any, one: Varied) -> Any:
    kinds = optuna.distributions
    if one.values:
        return kinds.CategoricalDistribution(tuple(range(len(one.values))))
    if one.whole:
        return kinds.IntDistribution(int(one.low), int(one.high), log=one.log)
    return kinds.FloatDistribution(one.low, one.high, log=one.log)


def _inside(one: Varied, value: Any) -> Any:
    """A value as Optuna knows it: of a list, its place."""
    return one.values.index(value) if one.values else value


def _value(one: Varied, inside: Any) -> Any:
    return one.values[inside] if one.values else inside


def _optuna() -> Any:
    try:
        optuna = importlib.import_module("optuna")
    except ModuleNotFoundError as error:
        raise ConfigError(
            "proposals need the package optuna: pip install 'counterplay[scale]'; "
            "without it, leave out proposals and give lists"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
