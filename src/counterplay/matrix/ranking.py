"""Alpha-rank: how often evolving populations are found at each joint action in the long run."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterplay.core.arena import Floats
from counterplay.errors import ConfigError
from counterplay.matrix.normal_form import NormalForm

MAX_RANKED_JOINT_ACTIONS = 2_000  # joint actions; time grows with their cube


def alpha_rank(
    form: NormalForm, alpha: float = 100.0, population_size: int = 50, noise: float = 0.01
) -> Floats:
    """The distribution over joint actions [A_0, ...] of alpha-rank (Omidshafiei et al., 2019).

    Every player is a population of m that plays one action. Now and then one mutant tries another,
    gaining d for its player, and takes over with probability

        rho = (1 - exp(-alpha d)) / (1 - exp(-alpha m d)),   1/m where d = 0

    Each of the sum over i of (A_i - 1) mutations is equally likely. The result is the stationary
    distribution of this chain over joint actions. It is computed in logarithms, without
    subtractions (Grassmann, Taksar and Heyman, 1985), so that any alpha will do. For alpha = inf,
    rho is 1 - `noise` where d > 0, 1/2 where d = 0 and `noise` where d < 0.
    """
    _check_arguments(form, alpha, population_size)
    if not 0.0 < noise < 0.5:
        raise ConfigError(f"noise is {noise}, must lie between 0 and 1/2")
    joint = np.arange(form.num_joint_actions).reshape(form.shape)
    log_chance = np.full((form.num_joint_actions, form.num_joint_actions), -np.inf)
    mutations = sum(form.shape) - form.num_players
    for player, count in enumerate(form.shape):
        index = np.moveaxis(joint, player, 0).reshape(count, -1)
        table = form.payoff_matrix(player)
        for now in range(count):
            for mutant in range(count):
                if mutant != now:
                    gain = table[mutant] - table[now]
                    rho = (
                        np.log(np.choose(np.sign(gain).astype(int) + 1, [noise, 0.5, 1.0 - noise]))
                        if alpha == np.inf
                        else _log_fixation_probability(gain, alpha, population_size)
                    )
                    log_chance[index[now], index[mutant]] = rho - np.log(mutations)
    return _stationary_distribution(log_chance).reshape(form.shape)


def single_population_alpha_rank(
    form: NormalForm, alpha: float = 100.0, population_size: int = 50
) -> Floats:
    """The distribution over actions [A_0] where one population plays a symmetric game with itself.

    With k mutants b among m members, all others playing a, both kinds meet everyone but themselves:

        f_b(k) = ((k - 1) u(b, b) + (m - k) u(b, a)) / (m - 1)
        f_a(k) = (k u(a, b) + (m - k - 1) u(a, a)) / (m - 1)
        rho    = 1 / (1 + sum over l < m of product over k <= l of exp(-alpha (f_b(k) - f_a(k))))
    """
    _check_arguments(form, alpha, population_size)
    if alpha == np.inf:
        raise ConfigError("alpha is inf, must be finite for one population")
    first, second = form.utility[0], form.utility[1].T
    alike = (
        first.shape == second.shape and np.abs(first - second).max() <= 1e-9 * form.utility_range[0]
    )
    if form.num_players != 2 or not alike:
        raise ConfigError("one population needs a symmetric game of two players")
    utility, count = form.utility[0], form.shape[0]
    k = np.arange(1, population_size)
    log_chance = np.full((count, count), -np.inf)
    for now in range(count):
        for mutant in range(count):
            if mutant == now:
                continue
            f_mutant = (k - 1) * utility[mutant, mutant] + (population_size - k) * utility[
                mutant, now
            ]
            f_now = k * utility[now, mutant] + (population_size - k - 1) * utility[now, now]
            exponents = np.cumsum(-alpha * (f_mutant - f_now) / (population_size - 1))
            rho = -np.logaddexp.reduce(np.append(0.0, exponents))
            log_chance[now, mutant] = rho - np.log(count - 1)
    return _stationary_distribution(log_chance)


def _check_arguments(form: NormalForm, alpha: float, population_size: int) -> None:
    if not alpha > 0.0:
        raise ConfigError(f"alpha is {alpha}, must be positive")
    if population_size < 2:
        raise ConfigError(f"population_size is {population_size}, must be at least 2")
    if form.num_joint_actions > MAX_RANKED_JOINT_ACTIONS:
        raise ConfigError(
            f"alpha_rank takes at most {MAX_RANKED_JOINT_ACTIONS:,} joint actions, not {form.num_joint_actions:,}"
        )


def _log_fixation_probability(gain: Floats, alpha: float, population_size: int) -> Floats:
    """log rho, without overflow: for d < 0 it is -alpha (m - 1) |d| plus that of |d|."""
    size = alpha * np.abs(gain)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(-np.expm1(-size)) - np.log(-np.expm1(-population_size * size))
    moved = np.where(gain < 0.0, ratio - (population_size - 1) * size, ratio)
    return np.where(size > 0.0, moved, -np.log(population_size))


def _stationary_distribution(log_chance: Any) -> Floats:
    """The stationary distribution of a chain given by logarithms, diagonal ignored."""
    size = log_chance.shape[0]
    log_chance = log_chance.copy()
    np.fill_diagonal(log_chance, -np.inf)
    leaving = np.full(size, -np.inf)
    for last in range(size - 1, 0, -1):  # leave out the last state; its visits become shortcuts
        leaving[last] = np.logaddexp.reduce(log_chance[last, :last])
        via = log_chance[:last, last, None] - leaving[last] + log_chance[last, :last]
        log_chance[:last, :last] = np.logaddexp(log_chance[:last, :last], via)
        np.fill_diagonal(log_chance[:last, :last], -np.inf)
    weight = np.zeros(size)
    for state in range(1, size):
        inflow = np.logaddexp.reduce(weight[:state] + log_chance[:state, state])
        weight[state] = inflow - leaving[state]
    weight = np.exp(weight - weight.max())
    return weight / weight.sum()
