"""Equilibria of games of any number of players, by non-linear programming from many starts."""

from __future__ import annotations

import numpy as np

from counterplay.core.arena import Floats
from counterplay.errors import ConfigError
from counterplay.matrix.normal_form import NormalForm, Profile, pure_profile, uniform_profile
from counterplay.matrix.verification import (
    ROUNDING_TOLERANCE,
    Equilibrium,
    is_nash,
    verify_equilibrium,
)

MAX_NLP_ACTIONS = 60  # of all players together: the programme is dense and not convex
PROFILE_TOLERANCE = 1e-5  # profiles closer than this in every probability are one
SUPPORT_THRESHOLD = 1e-6  # probabilities below this are tried as zero


def nash_nlp(form: NormalForm, num_starts: int = 20, seed: int = 0) -> tuple[Equilibrium, ...]:
    """The different equilibria found, possibly none, possibly not all; pure ones are all found.

        minimise   sum over i of (U_i - u_i(p))
        subject to U_i >= u_i(a, p_-i) for all i and actions a,   each p_i a mixture

    The objective is the sum of what deviations gain: never negative, and 0 at Nash equilibria
    only. It is not convex, so that a local search (SLSQP) starts from uniform play and from random
    profiles. Where it ends near an equilibrium, Newton's method on the indifference equations of
    the actions in use makes it exact. Points at which some deviation still gains are dropped.
    """
    if sum(form.shape) > MAX_NLP_ACTIONS:
        raise ConfigError(
            f"nash_nlp takes at most {MAX_NLP_ACTIONS} actions of all players together, "
            f"not {sum(form.shape)}; the learners take more"
        )
    rng = np.random.default_rng(seed)
    found = [pure_profile(form, joint) for joint in find_pure_equilibria(form)]
    scaled = NormalForm(form.unit_utility, form.action_names)
    profiles = [uniform_profile(form)]
    profiles += [
        tuple(rng.dirichlet(np.ones(n)) for n in form.shape) for _ in range(num_starts - 1)
    ]
    for start in profiles[: max(num_starts, 0)]:
        end = _newton_polish(scaled, _minimise_gains(scaled, start))
        if is_nash(form, end) and not any(_is_same_profile(end, other) for other in found):
            found.append(end)
    return tuple(verify_equilibrium(form, profile, "nash_nlp") for profile in found)


def find_pure_equilibria(form: NormalForm) -> list[tuple[int, ...]]:
    """All joint actions from which nobody gains by deviating."""
    stable = np.ones(form.shape, bool)
    for player in range(form.num_players):
        tie = -ROUNDING_TOLERANCE * np.abs(form.utility[player])
        stable &= form.relative_form.utility[player] >= tie
    return [tuple(map(int, joint)) for joint in np.argwhere(stable)]


def _minimise_gains(form: NormalForm, start: Profile) -> Profile:
    """Where SLSQP ends from a start; the variables are the mixtures, then U."""
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
        worth = [z[num_actions + i] - form.action_values(i, profile) for i in range(num_players)]
        return np.concatenate(worth)

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
    return tuple(_normalise(mixture) for mixture in mixtures)


def _action_values(form: NormalForm, i: int, j: int, profile: Profile) -> Floats:
    """What each action of player j makes player i's utility, the others mixing."""
    table = form.utility[i]
    for other in reversed(range(form.num_players)):
        if other != j:
            table = np.tensordot(table, profile[other], axes=(other, 0))
    return table


def _slack_jacobian(form: NormalForm, profile: Profile) -> Floats:
    """The derivative of U_i - u_i(a, p_-i), one row per player i and action a."""
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
    """Newton's method on "all actions in use are worth U_i, probabilities sum to 1"."""
    num_players, num_actions = form.num_players, sum(form.shape)
    cuts = np.cumsum(form.shape)[:-1]
    used = np.concatenate(profile) > SUPPORT_THRESHOLD
    owner = np.repeat(np.arange(num_players), form.shape)
    kept = np.append(np.flatnonzero(used), num_actions + np.arange(num_players))
    point = np.concatenate([np.where(used, np.concatenate(profile), 0.0), form.values(profile)])
    for _ in range(20):
        now = tuple(np.split(point[:num_actions], cuts))
        worth = np.concatenate([form.action_values(i, now) for i in range(num_players)])
        sums = np.array([mixture.sum() - 1.0 for mixture in now])
        residual = np.concatenate([(point[num_actions + owner] - worth)[used], sums])
        if np.abs(residual).max() < 1e-15:
            break
        slopes = _slack_jacobian(form, now)[used]
        totals = np.zeros((num_players, num_actions + num_players))
        totals[owner, np.arange(num_actions)] = 1.0
        matrix = np.vstack([slopes, totals])[:, kept]
        point[kept] -= np.linalg.lstsq(matrix, residual, rcond=None)[0]
        if not np.isfinite(point).all() or np.abs(point).max() > 10.0:
            return profile
    polished = tuple(np.split(point[:num_actions], cuts))
    if min(mixture.min() for mixture in polished) < -1e-9:
        return profile
    return tuple(_normalise(mixture) for mixture in polished)


def _normalise(values: Floats) -> Floats:
    values = np.maximum(values, 0.0)
    total = values.sum()
    return values / total if total > 0.0 else np.full(values.size, 1.0 / values.size)


def _is_same_profile(first: Profile, second: Profile) -> bool:
    return all(np.abs(a - b).max() <= PROFILE_TOLERANCE for a, b in zip(first, second, strict=True))
