"""Dominated actions, by linear programming, and their iterated elimination."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplay.core.arena import Floats
from counterplay.errors import ConfigError
from counterplay.matrix.linear_program import solve_lp
from counterplay.matrix.normal_form import NormalForm

# against each joint action of the others, in units of what the player's actions differ by there:
# what rounding may take away, and what a linear programme cannot bring by inaccuracy
ROUNDING_TOLERANCE, MIN_RELATIVE_MARGIN = 1e-9, 1e-8
RELATIVE_EPSILON = 2.0**-50  # of utilities: what differs by less is equal but for rounding
MAX_DOMINANCE_ENTRIES = 20_000_000  # of a player's table, times the player's actions


@dataclass(frozen=True)
class DominatedAction:
    """An action that a mixture of the player's other actions is better than."""

    player: int
    action: int
    mixture: Floats  # [A_i] that dominates it
    is_strict: bool  # better against everything; otherwise never worse and sometimes better
    margin: float  # by how much: strict, the least; weak, the mean over the others' joint actions


@dataclass(frozen=True)
class Elimination:
    """What iterated elimination took away, in order, and the game that is left.

    Actions in `steps` and `kept` are numbered as in the game at the beginning.
    """

    steps: tuple[DominatedAction, ...]
    remaining_actions: tuple[tuple[int, ...], ...]
    reduced_form: NormalForm


def find_dominating_mixture(
    form: NormalForm, player: int, action: int, weak: bool = False
) -> DominatedAction | None:
    """The mixture that dominates an action, or None. For mixtures p of the other actions b:

        strict:  maximise d                subject to   sum_b p_b u(b, .) >= u(action, .) + d
        weak:    maximise the sum of the slacks of     sum_b p_b u(b, .) >= u(action, .)

    dominated if the maximum is positive. A pure action is preferred where one dominates. Against
    each joint action of the others, d and the slacks are in units of what the player's actions
    differ by there: dominance does not depend on how large utilities are elsewhere.
    """
    if not 0 <= player < form.num_players or not 0 <= action < form.shape[player]:
        raise ConfigError(f"there is no action {action} of player {player}; shape is {form.shape}")
    table = form.payoff_matrix(player)
    if table.size * form.shape[player] > MAX_DOMINANCE_ENTRIES:
        raise ConfigError(
            f"dominance among {form.shape[player]:,} actions against {table.shape[1]:,} joint "
            "actions of the others is too large to decide"
        )
    others = np.delete(np.arange(form.shape[player]), action)
    if not others.size:
        return None
    difference = table[others] - table[action]
    noise = RELATIVE_EPSILON * np.maximum(np.abs(table[others]), np.abs(table[action]))
    difference = np.where(np.abs(difference) <= noise, 0.0, difference)
    size = np.abs(difference).max(axis=0)
    better = difference / np.where(size > 0.0, size, 1.0)
    for search in (_find_pure_dominator, _find_mixed_dominator):
        weights = search(better, weak)
        if weights is None:
            continue
        gap, least = (
            weights @ better,
            0.0 if search is _find_pure_dominator else MIN_RELATIVE_MARGIN,
        )
        holds = (
            gap.min() >= -ROUNDING_TOLERANCE and gap.max() > least if weak else gap.min() > least
        )
        if holds:
            mixture = np.zeros(form.shape[player])
            mixture[others] = weights
            margin = weights @ difference
            worth = float(margin.mean() if weak else margin.min())
            return DominatedAction(player, action, mixture, not weak, worth)
    return None


def find_dominated_actions(form: NormalForm, weak: bool = False) -> tuple[DominatedAction, ...]:
    """All dominated actions of all players."""
    found = [
        find_dominating_mixture(form, player, action, weak)
        for player in range(form.num_players)
        for action in range(form.shape[player])
    ]
    return tuple(one for one in found if one)


def eliminate_dominated(form: NormalForm, weak: bool = False) -> Elimination:
    """Take dominated actions away, the first one found, until none is left.

    Strictly dominated actions leave the same game in any order. What is left after weakly
    dominated ones depends on the order, which here is: lowest player first, then lowest action.
    """
    kept = [list(range(count)) for count in form.shape]
    steps: list[DominatedAction] = []
    left = form
    while True:
        found = _find_first_dominated(left, weak)
        if found is None:
            return Elimination(tuple(steps), tuple(map(tuple, kept)), left)
        own = kept[found.player]
        mixture = np.zeros(form.shape[found.player])
        mixture[own] = found.mixture
        action = own.pop(found.action)
        steps.append(DominatedAction(found.player, action, mixture, found.is_strict, found.margin))
        left = form.restrict(kept)


def _find_first_dominated(form: NormalForm, weak: bool) -> DominatedAction | None:
    for player in range(form.num_players):
        for action in range(form.shape[player]):
            found = find_dominating_mixture(form, player, action, weak)
            if found:
                return found
    return None


def _find_pure_dominator(better: Floats, weak: bool) -> Floats | None:
    """The single action that is better, if there is one."""
    low, high = better.min(axis=1), better.max(axis=1)
    good = (low >= 0.0) & (high > 0.0) if weak else low > 0.0
    return np.eye(low.size)[int(good.argmax())] if good.any() else None


def _find_mixed_dominator(better: Floats, weak: bool) -> Floats | None:
    """The mixture that the linear programme finds."""
    count, columns = better.shape
    one = np.ones((1, count))
    if weak:
        if better.max(axis=0).min() < -ROUNDING_TOLERANCE:
            return None  # something is worth more than all others can give
        result = solve_lp(
            -better.sum(axis=1) / columns,
            inequalities=(-better.T, np.zeros(columns)),
            equalities=(one, np.ones(1)),
            name="dominance",
            allow_infeasible=True,
        )
        return None if result is None else result.x
    result = solve_lp(
        np.append(np.zeros(count), -1.0),
        inequalities=(np.hstack([-better.T, np.ones((columns, 1))]), np.zeros(columns)),
        equalities=(np.append(one, [[0.0]], axis=1), np.ones(1)),
        num_free=1,
        name="dominance",
    )
    return result.x[:count]
