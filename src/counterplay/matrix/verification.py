"""Verification of equilibria by their most profitable deviations.

Every solver of this package verifies its solutions here before it returns them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from counterplay.core.arena import Floats
from counterplay.errors import RunError
from counterplay.matrix.normal_form import NormalForm, Profile, check_joint, check_profile

# A gain is a rounding error if it is at most GAIN_TOLERANCE times the player's mean loss against
# best responses to the others' actions, plus ROUNDING_TOLERANCE times the mean size of its
# utilities. Neither mean depends on units, or on utilities at joint actions of probability 0.
GAIN_TOLERANCE, ROUNDING_TOLERANCE = 1e-8, 2.0**-46
PROBABILITY_TOLERANCE = 1e-12  # solvers may leave this much on actions that are no best response


@dataclass(frozen=True)
class Deviation:
    """The deviation that gains most; in an exact equilibrium its gain is 0."""

    gain: float  # in the game's units
    player: int
    action: int  # the action played instead
    recommended_action: int | None = None  # the recommendation it replaces; None: all of them


@dataclass(frozen=True, repr=False)
class Equilibrium:
    """A Nash equilibrium, with its values and the gain of the best deviation from it."""

    profile: Profile
    values: Floats  # [P]
    gain: float

    def __repr__(self) -> str:
        mixtures = " / ".join(" ".join(f"{p:.4g}" for p in mixture) for mixture in self.profile)
        return f"Equilibrium({mixtures}, values {_format_values(self.values)})"

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


def nash_deviation(form: NormalForm, profile: Sequence[ArrayLike]) -> Deviation:
    """Return the best deviation from a profile:

    max over i and b of   u_i(b, profile_-i) - u_i(profile)
    """
    return _largest_deviation(_nash_deviations(form, check_profile(form, profile)))


def _nash_deviations(form: NormalForm, profile: Profile) -> list[Deviation]:
    """Return the best deviation of each player."""
    deviations = []
    for player, mixture in enumerate(profile):
        values = form.relative_form.action_values(player, profile)
        action = int(values.argmax())
        # a sum of non-negative terms: rounding errors cannot make a gain of zero positive
        gain = float(mixture @ (values[action] - values))
        deviations.append(Deviation(gain, player, action))
    return deviations


def correlated_deviation(form: NormalForm, joint: ArrayLike) -> Deviation:
    """Return the best change of one recommendation, for correlated equilibrium:

    max over i, a, b of   sum over a_-i of   joint(a, a_-i) * (u_i(b, a_-i) - u_i(a, a_-i))
    """
    return _largest_deviation(_correlated_deviations(form, check_joint(form, joint)))


def _correlated_deviations(form: NormalForm, joint: Floats) -> list[Deviation]:
    """Return the best change of a recommendation of each player."""
    deviations = []
    for player in range(form.num_players):
        table = form.relative_form.payoff_matrix(player)
        weight = np.moveaxis(joint, player, 0).reshape(table.shape)
        value = weight @ table.T  # [recommended, played]
        gain = value - value.diagonal()[:, None]
        recommended, action = np.unravel_index(int(gain.argmax()), gain.shape)
        largest = float(gain[recommended, action])
        deviations.append(Deviation(largest, player, int(action), int(recommended)))
    return deviations


def coarse_deviation(form: NormalForm, joint: ArrayLike) -> Deviation:
    """Return the best commitment to an action, for coarse correlated equilibrium:

    max over i, b of   sum over a of   joint(a) * (u_i(b, a_-i) - u_i(a))
    """
    return _largest_deviation(_coarse_deviations(form, check_joint(form, joint)))


def _coarse_deviations(form: NormalForm, joint: Floats) -> list[Deviation]:
    """Return the best commitment of each player."""
    deviations = []
    for player in range(form.num_players):
        table = form.relative_form.payoff_matrix(player)
        weight = np.moveaxis(joint, player, 0).reshape(table.shape)
        gain = table @ weight.sum(axis=0) - (weight * table).sum()
        deviations.append(Deviation(float(gain.max()), player, int(gain.argmax())))
    return deviations


def _largest_deviation(deviations: list[Deviation]) -> Deviation:
    largest = max(deviations, key=lambda deviation: deviation.gain)
    return largest if largest.gain > 0.0 else Deviation(0.0, largest.player, largest.action)


def verify_equilibrium(form: NormalForm, profile: Profile, method: str) -> Equilibrium:
    """Return the normalised profile as an equilibrium.

    Raises:
        RunError: if a deviation gains more than rounding errors; it names the `method`.
    """
    profile = _drop_negligible(form, tuple(normalise_weights(mixture) for mixture in profile))
    deviations = _nash_deviations(form, profile)
    _check_deviations(form, deviations, form.joint_distribution(profile), method)
    return Equilibrium(profile, form.values(profile), _largest_deviation(deviations).gain)


def is_nash(form: NormalForm, profile: Profile) -> bool:
    """Return True if no deviation gains more than rounding errors."""
    joint = form.joint_distribution(profile)
    deviations = _nash_deviations(form, profile)
    return not any(_exceeds_rounding(form, deviation, joint) for deviation in deviations)


def verify_correlated_equilibrium(
    form: NormalForm, joint: Floats, coarse: bool, method: str
) -> CorrelatedEquilibrium:
    """Return the normalised distribution as a (coarse) correlated equilibrium.

    Raises:
        RunError: if a deviation gains more than rounding errors; it names the `method`.
    """
    joint = normalise_weights(joint).reshape(form.shape)
    deviations = (_coarse_deviations if coarse else _correlated_deviations)(form, joint)
    _check_deviations(form, deviations, joint, method)
    values = (form.utility * joint).reshape(form.num_players, -1).sum(axis=1)
    return CorrelatedEquilibrium(joint, values, _largest_deviation(deviations).gain)


def normalise_weights(weights: Floats) -> Floats:
    """Return weights scaled to sum 1, with negative ones set to 0; uniform if all are 0."""
    weights = np.maximum(weights, 0.0)
    total = weights.sum()
    return weights / total if total > 0.0 else np.full(weights.shape, 1.0 / weights.size)


def _drop_negligible(form: NormalForm, profile: Profile) -> Profile:
    """Return the profile without tiny probabilities of actions that are no best responses."""
    cleaned = []
    for player, mixture in enumerate(profile):
        values = form.relative_form.action_values(player, profile)
        is_worse = values < values.max() * (1.0 + GAIN_TOLERANCE)
        is_negligible = is_worse & (mixture < PROBABILITY_TOLERANCE)
        cleaned.append(normalise_weights(np.where(is_negligible, 0.0, mixture)))
    return tuple(cleaned)


def _exceeds_rounding(form: NormalForm, deviation: Deviation, joint: Floats) -> bool:
    """Return True if a deviation gains more than rounding errors."""
    loss = -(form.relative_form.utility[deviation.player] * joint).sum()
    size = (np.abs(form.utility[deviation.player]) * joint).sum()
    return bool(deviation.gain > GAIN_TOLERANCE * loss + ROUNDING_TOLERANCE * size)


def _check_deviations(
    form: NormalForm, deviations: list[Deviation], joint: Floats, method: str
) -> None:
    """Raise RunError if a deviation gains more than rounding errors."""
    for deviation in deviations:
        if _exceeds_rounding(form, deviation, joint):
            raise RunError(
                f"{method} was not accurate enough: player {deviation.player} would gain "
                f"{deviation.gain:.2e} by playing {deviation.action}; its utilities range over "
                "more than floats hold, or are tied too closely"
            )
