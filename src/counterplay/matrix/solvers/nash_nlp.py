"""Equilibria of games with any number of players, by non-linear programming from many starts."""

from __future__ import annotations

import numpy as np

from counterplay.core.arena import Floats
from counterplay.errors import ConfigError
from counterplay.matrix.normal_form import NormalForm, Profile, pure_profile, uniform_profile
from counterplay.matrix.verification import (
    ROUNDING_TOLERANCE,
    Equilibrium,
    is_nash,
    normalise_weights,
    verify_equilibrium,
)

MAX_NLP_ACTIONS = 60  # of all players together; the programme is dense and not convex
PROFILE_TOLERANCE = 1e-5  # profiles that differ by at most this in every probability are the same
SUPPORT_THRESHOLD = 1e-6  # Newton's method sets probabilities up to this to zero


def nash_nlp(form: NormalForm, num_starts: int = 20, seed: int = 0) -> tuple[Equilibrium, ...]:
    """Return distinct equilibria: all pure ones, and those mixed ones that local searches find.

        minimise   sum over i of (U_i - u_i(p))
        subject to U_i >= u_i(a, p_-i) for all i and actions a,   each p_i a mixture

    The objective is the sum of the gains of deviations: never negative, and 0 at Nash equilibria
    only. It is not convex, so a local search (SLSQP) starts from uniform play and from random
    profiles. Newton's method on the indifference equations of the actions in use makes its results
    exact. Results from which a deviation still gains are dropped.

    Args:
        form: the normal form, with at most 60 actions of all players together.
        num_starts: number of local searches.
        seed: of the random profiles.
    """
    if sum(form.shape) > MAX_NLP_ACTIONS:
        raise ConfigError(
            f"nash_nlp takes at most {MAX_NLP_ACTIONS} actions of all players together, "
            f"not {sum(form.shape)}; use learners for larger games"
        )
    rng = np.random.default_rng(seed)
    equilibria = [pure_profile(form, joint) for joint in find_pure_equilibria(form)]
    scaled = NormalForm(form.unit_utility, form.action_names)
    starts = [uniform_profile(form)]
    starts += [tuple(rng.dirichlet(np.ones(n)) for n in form.shape) for _ in range(num_starts - 1)]
    for start in starts[: max(num_starts, 0)]:
        profile = _newton_polish(scaled, _minimise_gains(scaled, start))
        is_known = any(_is_same_profile(profile, other) for other in equilibria)
        if is_nash(form, profile) and not is_known:
            equilibria.append(profile)
    return tuple(verify_equilibrium(form, profile, "nash_nlp") for profile in equilibria)


def find_pure_equilibria(form: NormalForm) -> list[tuple[int, ...]]:
    """Return all joint actions from which no player gains by deviating."""
    stable = np.ones(form.shape, bool)
    for player in range(form.num_players):
        tie = -ROUNDING_TOLERANCE * np.abs(form.utility[player])
        stable &= form.relative_form.utility[player] >= tie
    return [tuple(map(int, joint)) for joint in np.argwhere(stable)]


def _minimise_gains(form: NormalForm, start: Profile) -> Profile:
    """Return the result of SLSQP from a start; the variables are the mixtures, then U."""
    from scipy.optimize import Bounds, minimize

    num_players, num_actions = form.num_players, sum(form.shape)
    cuts = np.cumsum(form.shape)[:-1]
    best = [form.action_values(p, start).max() for p in range(num_players)]
    point = np.concatenate([*start, best])

    def objective(z: Floats) -> tuple[float, Floats]:
        profile = tuple(np.split(z[:num_actions], cuts))
        gradient = np.concatenate([np.zeros(num_actions), np.ones(num_players)])
        for i in range(num_players):
            values = [_action_values(form, i, j, profile) for j in range(num_players)]
            gradient[:num_actions] -= np.concatenate(values)
        value = z[num_actions:].sum() - form.values(profile).sum()
        return float(value), gradient

    def slack(z: Floats) -> Floats:
        profile = tuple(np.split(z[:num_actions], cuts))
        slacks = [z[num_actions + i] - form.action_values(i, profile) for i in range(num_players)]
        return np.concatenate(slacks)

    def slack_gradient(z: Floats) -> Floats:
        profile = tuple(np.split(z[:num_actions], cuts))
        return _slack_jacobian(form, profile)

    sums = np.zeros((num_players, num_actions + num_players))
    for player, part in enumerate(np.split(np.arange(num_actions), cuts)):
        sums[player, part] = 1.0
    result = minimize(
        objective,
        point,
        jac=True,
        method="SLSQP",
        bounds=Bounds(
            [0.0] * num_actions + [-1.0] * num_players, [1.0] * num_actions + [2.0] * num_players
        ),
        constraints=[
            {"type": "ineq", "fun": slack, "jac": slack_gradient},
            {"type": "eq", "fun": lambda z: sums @ z - 1.0, "jac": lambda z: sums},
        ],
        options={"maxiter": 300, "ftol": 1e-14},
    )
    mixtures = np.split(np.nan_to_num(result.x[:num_actions]), cuts)
    return tuple(normalise_weights(mixture) for mixture in mixtures)


def _action_values(form: NormalForm, i: int, j: int, profile: Profile) -> Floats:
    """Return player i's expected utility for each action of player j, given the other mixtures."""
    table = form.utility[i]
    for other in reversed(range(form.num_players)):
        if other != j:
            table = np.tensordot(table, profile[other], axes=(other, 0))
    return table


def _slack_jacobian(form: NormalForm, profile: Profile) -> Floats:
    """Return the derivative of U_i - u_i(a, p_-i), one row per player i and action a."""
    num_players, num_actions = form.num_players, sum(form.shape)
    first = np.concatenate([[0], np.cumsum(form.shape)])
    slopes = np.zeros((num_actions, num_actions + num_players))
    for i in range(num_players):
        rows = slice(first[i], first[i + 1])
        slopes[rows, num_actions + i] = 1.0
        for j in range(num_players):
            if j == i:
                continue
            table = form.utility[i]
            for other in reversed(range(num_players)):
                if other not in (i, j):
                    table = np.tensordot(table, profile[other], axes=(other, 0))
            slopes[rows, first[j] : first[j + 1]] = -(table if i < j else table.T)
    return slopes


def _newton_polish(form: NormalForm, profile: Profile) -> Profile:
    """Return the solution, by Newton's method, of "actions in use have value U_i, sums are 1".

    The profile itself is returned if the method diverges or probabilities become negative.
    """
    num_players, num_actions = form.num_players, sum(form.shape)
    cuts = np.cumsum(form.shape)[:-1]
    used = np.concatenate(profile) > SUPPORT_THRESHOLD
    owner = np.repeat(np.arange(num_players), form.shape)
    unknowns = np.append(np.flatnonzero(used), num_actions + np.arange(num_players))
    point = np.concatenate([np.where(used, np.concatenate(profile), 0.0), form.values(profile)])
    for _ in range(20):
        current = tuple(np.split(point[:num_actions], cuts))
        values = np.concatenate([form.action_values(i, current) for i in range(num_players)])
        sums = np.array([mixture.sum() - 1.0 for mixture in current])
        residual = np.concatenate([(point[num_actions + owner] - values)[used], sums])
        if np.abs(residual).max() < 1e-15:
            break
        slopes = _slack_jacobian(form, current)[used]
        totals = np.zeros((num_players, num_actions + num_players))
        totals[owner, np.arange(num_actions)] = 1.0
        matrix = np.vstack([slopes, totals])[:, unknowns]
        point[unknowns] -= np.linalg.lstsq(matrix, residual, rcond=None)[0]
        if not np.isfinite(point).all() or np.abs(point).max() > 10.0:
            return profile
    polished = tuple(np.split(point[:num_actions], cuts))
    if min(mixture.min() for mixture in polished) < -1e-9:
        return profile
    return tuple(normalise_weights(mixture) for mixture in polished)


def _is_same_profile(first: Profile, second: Profile) -> bool:
    return all(np.abs(a - b).max() <= PROFILE_TOLERANCE for a, b in zip(first, second, strict=True))
