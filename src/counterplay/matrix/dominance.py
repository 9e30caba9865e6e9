"""Dominated actions, by linear programming, and their iterated elimination."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from counterplay.core.arena import Floats
from counterplay.errors import ConfigError
from counterplay.matrix.linear_program import solve_lp
from counterplay.matrix.normal_form import NormalForm

# Both are relative to the differences of the player's utilities at a joint action of the others.
ROUNDING_TOLERANCE = 1e-9  # losses up to this are rounding errors
MIN_RELATIVE_MARGIN = 1e-8  # margins above this are not errors of the linear programme
RELATIVE_EPSILON = 2.0**-50  # utilities that differ by less, relatively, are equal
MAX_DOMINANCE_ENTRIES = 20_000_000  # entries of a player's table times the player's actions


@dataclass(frozen=True)
class DominatedAction:
    """An action that a mixture of the player's other actions dominates."""

    player: int
    action: int
    mixture: Floats  # [A_i] the dominating mixture
    is_strict: bool  # always better; otherwise never worse and sometimes better
    margin: float  # gain of the mixture: the least if strict, else the mean over joint actions


@dataclass(frozen=True)
class Elimination:
    """The actions that iterated elimination has removed, in order, and the reduced game.

    Actions in `steps` and `remaining_actions` are numbered as in the original game.
    """

    steps: tuple[DominatedAction, ...]
    remaining_actions: tuple[tuple[int, ...], ...]
    reduced_form: NormalForm


def find_dominating_mixture(
    form: NormalForm, player: int, action: int, weak: bool = False
) -> DominatedAction | None:
    """Return the mixture that dominates an action, or None. For mixtures p of other actions b:

        strict:  maximise d                subject to   sum_b p_b u(b, .) >= u(action, .) + d
        weak:    maximise the sum of the slacks of     sum_b p_b u(b, .) >= u(action, .)

    The action is dominated if the maximum is positive. A pure action is preferred if one dominates.
    At each joint action of the others, d and the slacks are relative to the largest difference of
    the player's utilities there, so that dominance does not depend on utilities elsewhere.

    Args:
        form: the normal form of the game.
        player: the player.
        action: its action.
        weak: look for weak dominance.

    Raises:
        ConfigError: if there is no such action, or the game is too large.
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
        gap = weights @ better
        threshold = 0.0 if search is _find_pure_dominator else MIN_RELATIVE_MARGIN
        if weak:
            is_dominated = gap.min() >= -ROUNDING_TOLERANCE and gap.max() > threshold
        else:
            is_dominated = gap.min() > threshold
        if is_dominated:
            mixture = np.zeros(form.shape[player])
            mixture[others] = weights
            gains = weights @ difference
            margin = float(gains.mean() if weak else gains.min())
            return DominatedAction(player, action, mixture, not weak, margin)
    return None


def find_dominated_actions(form: NormalForm, weak: bool = False) -> tuple[DominatedAction, ...]:
    """Return all dominated actions of all players."""
    return tuple(_iter_dominated(form, weak))


def eliminate_dominated(form: NormalForm, weak: bool = False) -> Elimination:
    """Remove dominated actions, one at a time, until no action is dominated.

    The result of removing strictly dominated actions does not depend on the order; that of weakly
    dominated ones does. Here the first dominated action of the lowest player is removed first.
    """
    remaining = [list(range(count)) for count in form.shape]
    steps: list[DominatedAction] = []
    reduced = form
    while dominated := next(_iter_dominated(reduced, weak), None):
        actions = remaining[dominated.player]
        mixture = np.zeros(form.shape[dominated.player])
        mixture[actions] = dominated.mixture
        action = actions.pop(dominated.action)
        steps.append(replace(dominated, action=action, mixture=mixture))
        reduced = form.restrict(remaining)
    return Elimination(tuple(steps), tuple(map(tuple, remaining)), reduced)


def _iter_dominated(form: NormalForm, weak: bool) -> Iterator[DominatedAction]:
    """Yield the dominated actions, by player and action."""
    for player in range(form.num_players):
        for action in range(form.shape[player]):
            if dominated := find_dominating_mixture(form, player, action, weak):
                yield dominated


def _find_pure_dominator(better: Floats, weak: bool) -> Floats | None:
    """Return the weights of the first single action that dominates, or None."""
    low, high = better.min(axis=1), better.max(axis=1)
    good = (low >= 0.0) & (high > 0.0) if weak else low > 0.0
    return np.eye(low.size)[int(good.argmax())] if good.any() else None


def _find_mixed_dominator(better: Floats, weak: bool) -> Floats | None:
    """Return the weights that solve the linear programme, or None if it is infeasible."""
    count, columns = better.shape
    ones = np.ones((1, count))
    if weak:
        if better.max(axis=0).min() < -ROUNDING_TOLERANCE:
            return None  # at some joint action no other action is as good
        result = solve_lp(
            -better.sum(axis=1) / columns,
            inequalities=(-better.T, np.zeros(columns)),
            equalities=(ones, np.ones(1)),
            name="dominance",
            allow_infeasible=True,
        )
        return None if result is None else result.x
    result = solve_lp(
        np.append(np.zeros(count), -1.0),
        inequalities=(np.hstack([-better.T, np.ones((columns, 1))]), np.zeros(columns)),
        equalities=(np.append(ones, [[0.0]], axis=1), np.ones(1)),
        num_free=1,
        name="dominance",
    )
    return result.x[:count]
