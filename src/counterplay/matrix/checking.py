"""Is it an equilibrium? The most profitable deviation says, for each notion of equilibrium.

Every solver of this package passes what it found through here before it returns it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterplay.errors import RunError
from counterplay.matrix.normal_form import NormalForm, Profile, check_joint, check_profile
from counterplay.tree import Floats

TOLERANCE = 1e-7  # largest gain of a deviation accepted, in units of the player's utility range


@dataclass(frozen=True)
class Deviation:
    """The deviation that gains most, in the game's units; nobody gains where `gain` is 0."""

    gain: float
    player: int
    action: int  # played instead
    recommended: int | None = None  # of what was recommended; None: of everything


@dataclass(frozen=True)
class Equilibrium:
    """A Nash equilibrium, with what it yields and what the best deviation from it gains."""

    profile: Profile
    values: Floats  # [P]
    gain: float


@dataclass(frozen=True)
class CorrelatedEquilibrium:
    """A correlated or coarse correlated equilibrium: a distribution over joint actions."""

    joint: Floats  # [A_0, ..., A_{P-1}]
    values: Floats  # [P]
    gain: float


def nash_deviation(form: NormalForm, profile: Sequence[Any]) -> Deviation:
    """The best deviation from a profile: max over i and b of u_i(b, profile_-i) - u_i(profile)."""
    mixtures = check_profile(form, profile)
    found = []
    for player, mixture in enumerate(mixtures):
        values = form.lowered.action_values(player, mixtures)
        action = int(values.argmax())
        found.append(Deviation(float(values[action] - mixture @ values), player, action))
    return _worst(found)


def correlated_deviation(form: NormalForm, joint: Any) -> Deviation:
    """The best change of one recommendation, as correlated equilibrium forbids it:

    max over i, a, b of   sum over a_-i of   joint(a, a_-i) * (u_i(b, a_-i) - u_i(a, a_-i))
    """
    distribution = check_joint(form, joint)
    found = []
    for player in range(form.num_players):
        table = form.lowered.table(player)
        weight = np.moveaxis(distribution, player, 0).reshape(table.shape)
        value = weight @ table.T  # [recommended, played]
        gain = value - value.diagonal()[:, None]
        recommended, action = np.unravel_index(int(gain.argmax()), gain.shape)
        found.append(
            Deviation(float(gain[recommended, action]), player, int(action), int(recommended))
        )
    return _worst(found)


def coarse_deviation(form: NormalForm, joint: Any) -> Deviation:
    """The best action to commit to before the recommendation, as coarse equilibrium forbids it:

    max over i, b of   sum over a of   joint(a) * (u_i(b, a_-i) - u_i(a))
    """
    distribution = check_joint(form, joint)
    found = []
    for player in range(form.num_players):
        table = form.lowered.table(player)
        weight = np.moveaxis(distribution, player, 0).reshape(table.shape)
        gain = table @ weight.sum(axis=0) - (weight * table).sum()
        found.append(Deviation(float(gain.max()), player, int(gain.argmax())))
    return _worst(found)


def _worst(found: list[Deviation]) -> Deviation:
    worst = max(found, key=lambda deviation: deviation.gain)
    return worst if worst.gain > 0.0 else Deviation(0.0, worst.player, worst.action)


def verified(form: NormalForm, profile: Profile, method: str) -> Equilibrium:
    """The equilibrium, or a RunError if some deviation gains more than rounding explains."""
    profile = tuple(_normalised(mixture) for mixture in profile)
    deviation = nash_deviation(form, profile)
    _refuse(form, deviation, method)
    return Equilibrium(profile, form.values(profile), deviation.gain)


def is_nash(form: NormalForm, profile: Profile) -> bool:
    """Whether no deviation gains more than rounding explains."""
    deviation = nash_deviation(form, profile)
    return bool(deviation.gain <= TOLERANCE * form.spread[deviation.player])


def verified_joint(
    form: NormalForm, joint: Floats, coarse: bool, method: str
) -> CorrelatedEquilibrium:
    """The (coarse) correlated equilibrium, or a RunError if some deviation gains too much."""
    joint = _normalised(joint).reshape(form.shape)
    deviation = (coarse_deviation if coarse else correlated_deviation)(form, joint)
    _refuse(form, deviation, method)
    values = (form.utility * joint).reshape(form.num_players, -1).sum(axis=1)
    return CorrelatedEquilibrium(joint, values, deviation.gain)


def _normalised(weights: Floats) -> Floats:
    """Probabilities: what rounding left below zero is cut off."""
    weights = np.where(weights > 1e-14, weights, 0.0)
    return weights / weights.sum()


def _refuse(form: NormalForm, deviation: Deviation, method: str) -> None:
    if deviation.gain > TOLERANCE * form.spread[deviation.player]:
        raise RunError(
            f"{method} was not accurate enough: player {deviation.player} would gain "
            f"{deviation.gain:.2e} by playing {deviation.action}"
        )
