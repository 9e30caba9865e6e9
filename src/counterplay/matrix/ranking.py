"""Alpha-rank: the long-run distribution of evolving populations over joint actions."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from counterplay.core.arena import Floats
from counterplay.errors import ConfigError
from counterplay.matrix.normal_form import NormalForm

MAX_RANKED_JOINT_ACTIONS = 2_000  # time grows with their cube


def alpha_rank(
    form: NormalForm, alpha: float = 100.0, population_size: int = 50, noise: float = 0.01
) -> Floats:
    """Return the distribution over joint actions [A_0, ...] of alpha-rank.

    Every player is a population of m members that play one action (Omidshafiei et al., 2019). At
    each step one mutant tries another action, which gains d for its player, and its action takes
    over the population with probability

        rho = (1 - exp(-alpha d)) / (1 - exp(-alpha m d)),   1/m where d = 0

    Each of the sum over i of (A_i - 1) mutations is equally likely. The result is the stationary
    distribution of this chain over joint actions. It is computed in logarithms, without
    subtractions (Grassmann, Taksar and Heyman, 1985), so that it is accurate for any alpha. For
    alpha = inf, rho is 1 - `noise` where d > 0, 1/2 where d = 0 and `noise` where d < 0.

    Args:
        form: the normal form of the game, with at most 2,000 joint actions.
        alpha: strength of selection.
        population_size: m, at least 2.
        noise: probability of losing mutations if alpha is infinite, between 0 and 1/2.
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
        for resident, mutant in permutations(range(count), 2):
            gain = table[mutant] - table[resident]
            if alpha == np.inf:
                rho = np.choose(np.sign(gain).astype(int) + 1, [noise, 0.5, 1.0 - noise])
                log_rho = np.log(rho)
            else:
                log_rho = _log_fixation_probability(gain, alpha, population_size)
            log_chance[index[resident], index[mutant]] = log_rho - np.log(mutations)
    return _stationary_distribution(log_chance).reshape(form.shape)


def single_population_alpha_rank(
    form: NormalForm, alpha: float = 100.0, population_size: int = 50
) -> Floats:
    """Return the distribution over actions [A_0] of one population in a symmetric game.

    With k mutants that play b among m members, all others playing a, every member plays against all
    other members:

        f_b(k) = ((k - 1) u(b, b) + (m - k) u(b, a)) / (m - 1)
        f_a(k) = (k u(a, b) + (m - k - 1) u(a, a)) / (m - 1)
        rho    = 1 / (1 + sum over l < m of product over k <= l of exp(-alpha (f_b(k) - f_a(k))))

    Args:
        form: the normal form of a symmetric two-player game.
        alpha: strength of selection, finite.
        population_size: m, at least 2.
    """
    _check_arguments(form, alpha, population_size)
    if alpha == np.inf:
        raise ConfigError("alpha is inf, must be finite for one population")
    u, u_other = form.utility[0], form.utility[1].T
    is_symmetric = (
        u.shape == u_other.shape and np.abs(u - u_other).max() <= 1e-9 * form.utility_range[0]
    )
    if form.num_players != 2 or not is_symmetric:
        raise ConfigError("one population needs a symmetric game of two players")
    count, m = form.shape[0], population_size
    k = np.arange(1, m)
    log_chance = np.full((count, count), -np.inf)
    for a, b in permutations(range(count), 2):
        f_b = (k - 1) * u[b, b] + (m - k) * u[b, a]
        f_a = k * u[a, b] + (m - k - 1) * u[a, a]
        exponents = np.cumsum(-alpha * (f_b - f_a) / (m - 1))
        log_rho = -np.logaddexp.reduce(np.append(0.0, exponents))
        log_chance[a, b] = log_rho - np.log(count - 1)
    return _stationary_distribution(log_chance)


def _check_arguments(form: NormalForm, alpha: float, population_size: int) -> None:
    if not alpha > 0.0:
        raise ConfigError(f"alpha is {alpha}, must be positive")
    if population_size < 2:
        raise ConfigError(f"population_size is {population_size}, must be at least 2")
    if form.num_joint_actions > MAX_RANKED_JOINT_ACTIONS:
        raise ConfigError(
            f"alpha_rank takes at most {MAX_RANKED_JOINT_ACTIONS:,} joint actions, "
            f"not {form.num_joint_actions:,}"
        )


def _log_fixation_probability(gain: Floats, alpha: float, population_size: int) -> Floats:
    """Return log rho without overflow: for d < 0 it is -alpha (m - 1) |d| plus that of |d|."""
    size = alpha * np.abs(gain)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(-np.expm1(-size)) - np.log(-np.expm1(-population_size * size))
    log_rho = np.where(gain < 0.0, ratio - (population_size - 1) * size, ratio)
    return np.where(size > 0.0, log_rho, -np.log(population_size))


def _stationary_distribution(log_chance: Floats) -> Floats:
    """Return the stationary distribution [N] of a chain of log probabilities [N, N].

    The diagonal is ignored.
    """
    size = log_chance.shape[0]
    log_chance = log_chance.copy()
    np.fill_diagonal(log_chance, -np.inf)
    leaving = np.full(size, -np.inf)
    for last in range(size - 1, 0, -1):  # eliminate the last state; paths through it remain
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
