"""Is it an equilibrium? The most profitable deviation says, for each notion of equilibrium.

Every solver of this package passes what it found through here before it returns it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterplay.core.arena import Floats
from counterplay.errors import RunError
from counterplay.matrix.normal_form import NormalForm, Profile, check_joint, check_profile

# Gains are accepted as rounding up to these parts of what the player forgoes, in the mean, by not
# knowing what the others will do; and of the mean size of its utilities, as floats are rounded too.
# Neither depends on units, nor on how large utilities are where nobody goes.
GAIN_TOLERANCE, ROUNDING_TOLERANCE = 1e-8, 2.0**-46
PROBABILITY_TOLERANCE = (
    1e-12  # probability that a solver may leave on an action that is no best response
)


@dataclass(frozen=True)
class Deviation:
    """The deviation that gains most, in the game's units; nobody gains where `gain` is 0."""

    gain: float
    player: int
    action: int  # played instead
    recommended_action: int | None = None  # of what was recommended; None: of everything


@dataclass(frozen=True, repr=False)
class Equilibrium:
    """A Nash equilibrium, with what it yields and what the best deviation from it gains."""

    profile: Profile
    values: Floats  # [P]
    gain: float

    def __repr__(self) -> str:
        plays = " / ".join(" ".join(f"{p:.4g}" for p in mixture) for mixture in self.profile)
        return f"Equilibrium({plays}, values {_format_values(self.values)})"

    def _repr_html_(self) -> str:
        from counterplay.display.html import equilibrium_html

        return equilibrium_html(self)


@dataclass(frozen=True, repr=False)
class CorrelatedEquilibrium:
    """A correlated or coarse correlated equilibrium: a distribution over joint actions."""

    joint_distribution: Floats  # [A_0, ..., A_{P-1}]
    values: Floats  # [P]
    gain: float

    def __repr__(self) -> str:
        size = " x ".join(map(str, self.joint_distribution.shape))
        return f"CorrelatedEquilibrium({size} joint actions, values {_format_values(self.values)})"

    def _repr_html_(self) -> str:
        from counterplay.display.html import equilibrium_html

        return equilibrium_html(self)


def _format_values(values: Floats) -> str:
    return ", ".join(f"{value:.6g}" for value in values)


def nash_deviation(form: NormalForm, profile: Sequence[Any]) -> Deviation:
    """The best deviation from a profile: max over i and b of u_i(b, profile_-i) - u_i(profile)."""
    return _largest_deviation(_nash_deviations(form, check_profile(form, profile)))


def _nash_deviations(form: NormalForm, profile: Profile) -> list[Deviation]:
    """The best deviation of each player."""
    found = []
    for player, mixture in enumerate(profile):
        values = form.relative_form.action_values(player, profile)
        action = int(values.argmax())
        # a sum of losses, none negative: rounding cannot make a gain of what is none
        gain = float(mixture @ (values[action] - values))
        found.append(Deviation(gain, player, action))
    return found


def correlated_deviation(form: NormalForm, joint: Any) -> Deviation:
    """The best change of one recommendation, as correlated equilibrium forbids it:

    max over i, a, b of   sum over a_-i of   joint(a, a_-i) * (u_i(b, a_-i) - u_i(a, a_-i))
    """
    return _largest_deviation(_correlated_deviations(form, check_joint(form, joint)))


def _correlated_deviations(form: NormalForm, joint: Floats) -> list[Deviation]:
    found = []
    for player in range(form.num_players):
        table = form.relative_form.payoff_matrix(player)
        weight = np.moveaxis(joint, player, 0).reshape(table.shape)
        value = weight @ table.T  # [recommended, played]
        gain = value - value.diagonal()[:, None]
        recommended, action = np.unravel_index(int(gain.argmax()), gain.shape)
        found.append(
            Deviation(float(gain[recommended, action]), player, int(action), int(recommended))
        )
    return found


def coarse_deviation(form: NormalForm, joint: Any) -> Deviation:
    """The best action to commit to before the recommendation, as coarse equilibrium forbids it:

    max over i, b of   sum over a of   joint(a) * (u_i(b, a_-i) - u_i(a))
    """
    return _largest_deviation(_coarse_deviations(form, check_joint(form, joint)))


def _coarse_deviations(form: NormalForm, joint: Floats) -> list[Deviation]:
    found = []
    for player in range(form.num_players):
        table = form.relative_form.payoff_matrix(player)
        weight = np.moveaxis(joint, player, 0).reshape(table.shape)
        gain = table @ weight.sum(axis=0) - (weight * table).sum()
        found.append(Deviation(float(gain.max()), player, int(gain.argmax())))
    return found


def _largest_deviation(found: list[Deviation]) -> Deviation:
    worst = max(found, key=lambda deviation: deviation.gain)
    return worst if worst.gain > 0.0 else Deviation(0.0, worst.player, worst.action)


def verify_equilibrium(form: NormalForm, profile: Profile, method: str) -> Equilibrium:
    """The equilibrium, or a RunError if some deviation gains more than rounding explains."""
    profile = _drop_negligible(form, tuple(_normalise(mixture) for mixture in profile))
    found = _nash_deviations(form, profile)
    _check_deviations(form, found, form.joint_distribution(profile), method)
    return Equilibrium(profile, form.values(profile), _largest_deviation(found).gain)


def is_nash(form: NormalForm, profile: Profile) -> bool:
    """Whether no deviation gains more than rounding explains."""
    found, joint = _nash_deviations(form, profile), form.joint_distribution(profile)
    return not any(_exceeds_rounding(form, one, joint) for one in found)


def verify_correlated_equilibrium(
    form: NormalForm, joint: Floats, coarse: bool, method: str
) -> CorrelatedEquilibrium:
    """The (coarse) correlated equilibrium, or a RunError if some deviation gains too much."""
    joint = _normalise(joint).reshape(form.shape)
    found = (_coarse_deviations if coarse else _correlated_deviations)(form, joint)
    _check_deviations(form, found, joint, method)
    values = (form.utility * joint).reshape(form.num_players, -1).sum(axis=1)
    return CorrelatedEquilibrium(joint, values, _largest_deviation(found).gain)


def _normalise(weights: Floats) -> Floats:
    """Probabilities: what rounding left below zero is cut off."""
    weights = np.maximum(weights, 0.0)
    total = weights.sum()
    return weights / total if total > 0.0 else np.full(weights.shape, 1.0 / weights.size)


def _drop_negligible(form: NormalForm, profile: Profile) -> Profile:
    """The profile without next to nothing on actions that are no best responses."""
    cleaned = []
    for player, mixture in enumerate(profile):
        values = form.relative_form.action_values(player, profile)
        worse = values < values.max() * (1.0 + GAIN_TOLERANCE)
        cleaned.append(
            _normalise(np.where(worse & (mixture < PROBABILITY_TOLERANCE), 0.0, mixture))
        )
    return tuple(cleaned)


def _exceeds_rounding(form: NormalForm, deviation: Deviation, joint: Floats) -> bool:
    """Whether a deviation gains more than rounding explains."""
    forgone = -(form.relative_form.utility[deviation.player] * joint).sum()
    size = (np.abs(form.utility[deviation.player]) * joint).sum()
    return bool(deviation.gain > GAIN_TOLERANCE * forgone + ROUNDING_TOLERANCE * size)


def _check_deviations(form: NormalForm, found: list[Deviation], joint: Floats, method: str) -> None:
    for one in found:
        if _exceeds_rounding(form, one, joint):
            raise RunError(
                f"{method} was not accurate enough: player {one.player} would gain {one.gain:.2e} "
                f"by playing {one.action}; its utilities range over more than floats hold, or are "
                "tied too closely"
            )
