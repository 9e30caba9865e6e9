"""Meta-solvers: mixtures of the pools, computed from the payoffs between their policies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterplay.algorithms.population.population import Population
from counterplay.core.arena import Floats
from counterplay.errors import ConfigError, RunError, suggestion
from counterplay.matrix.correlated import coarse_correlated_equilibrium, correlated_equilibrium
from counterplay.matrix.learning import run_learners
from counterplay.matrix.normal_form import NormalForm
from counterplay.matrix.ranking import alpha_rank
from counterplay.matrix.regret_matching_plus import RegretMatchingPlus
from counterplay.matrix.replicator_dynamics import ReplicatorDynamics
from counterplay.matrix.solvers.zero_sum_lp import solve_zero_sum_matrix, zero_sum_lp

LEARNER_ITERATIONS = 2_000  # of replicator dynamics and regret matching
REPLICATOR_FLOOR = 1e-6  # smallest probability of projected replicator dynamics

NEEDS_ZERO_SUM = (
    "the meta-solver nash needs a two-player zero-sum game; take projected_replicator, "
    "regret_matching, uniform, last or alpha_rank, or leave meta_solver out"
)
MetaSolver = Callable[[Population], list[Floats]]


def nash(memory: Population) -> list[Floats]:
    """Return an equilibrium of the restricted game, by linear programming."""
    if len(memory.pool_sizes) != 2 or not memory.meta_game.is_constant_sum:
        raise ConfigError(NEEDS_ZERO_SUM)
    return solve_zero_sum(memory.meta_game)


def solve_zero_sum(game: NormalForm) -> list[Floats]:
    """Return an equilibrium of a two-player zero-sum game, as exact as possible.

    With hundreds of nearly equal policies the verified solution can fail. Then an unverified one is
    returned, because the mixtures are judged in the whole game anyway.
    """
    try:
        return list(zero_sum_lp(game).profile)
    except RunError:
        mixtures = [np.maximum(part, 0.0) for part in solve_zero_sum_matrix(game.unit_utility[0])]
        return [part / part.sum() for part in mixtures]


def uniform(memory: Population) -> list[Floats]:
    """Weight every policy by how often it was added: fictitious play."""
    return [counts / counts.sum() for counts in memory.counts]


def last(memory: Population) -> list[Floats]:
    """Play only the newest policy: iterated best response."""
    return [np.eye(n)[n - 1] for n in memory.pool_sizes]


def projected_replicator(memory: Population) -> list[Floats]:
    """Return the average of projected replicator dynamics."""
    largest = max(memory.pool_sizes)
    learner = ReplicatorDynamics(step_size=0.1, floor=min(REPLICATOR_FLOOR, 0.5 / largest))
    return list(
        run_learners(memory.meta_game, learner, iterations=LEARNER_ITERATIONS).average_profile
    )


def regret_matching(memory: Population) -> list[Floats]:
    """Return the linear average of regret matching+ with alternating updates."""
    result = run_learners(
        memory.meta_game, RegretMatchingPlus(), iterations=LEARNER_ITERATIONS, alternating=True
    )
    return list(result.average_profile)


def joint_alpha_rank(memory: Population, alpha: float = np.inf) -> list[Floats]:
    """Return the alpha-rank distribution over joint policies."""
    return [alpha_rank(memory.meta_game, alpha)]


def marginal_alpha_rank(memory: Population) -> list[Floats]:
    """Return each player's marginal of the alpha-rank distribution."""
    return marginals(joint_alpha_rank(memory)[0])


def marginals(joint: Floats) -> list[Floats]:
    """Return each player's marginal of a distribution over joint policies."""
    axes = range(joint.ndim)
    return [joint.sum(axis=tuple(q for q in axes if q != p)) for p in axes]


def _joint_policy_counts(memory: Population) -> Floats:
    """Return the number of duplicates of each joint policy, itself included."""
    joint_counts = np.ones(())
    for counts in memory.counts:
        joint_counts = np.multiply.outer(joint_counts, counts)
    return joint_counts


def mgcce(memory: Population) -> list[Floats]:
    """Return the coarse correlated equilibrium of largest Gini impurity."""
    return [
        coarse_correlated_equilibrium(
            memory.meta_game, "gini", _joint_policy_counts(memory)
        ).joint_distribution
    ]


def mgce(memory: Population) -> list[Floats]:
    """Return the correlated equilibrium of largest Gini impurity."""
    return [
        correlated_equilibrium(
            memory.meta_game, "gini", _joint_policy_counts(memory)
        ).joint_distribution
    ]


def mwcce(memory: Population) -> list[Floats]:
    """Return the coarse correlated equilibrium of largest welfare."""
    return [coarse_correlated_equilibrium(memory.meta_game).joint_distribution]


def mwce(memory: Population) -> list[Floats]:
    """Return the correlated equilibrium of largest welfare."""
    return [correlated_equilibrium(memory.meta_game).joint_distribution]


INDEPENDENT_SOLVERS: dict[str, MetaSolver] = {  # one mixture for each player
    "nash": nash,
    "uniform": uniform,
    "last": last,
    "projected_replicator": projected_replicator,
    "regret_matching": regret_matching,
    "alpha_rank": marginal_alpha_rank,
}
# one distribution over joint policies
COARSE_CORRELATED_SOLVERS: dict[str, MetaSolver] = {"mgcce": mgcce, "mwcce": mwcce}
CORRELATED_SOLVERS: dict[str, MetaSolver] = {"mgce": mgce, "mwce": mwce}


def check_meta_solver(algorithm_name: str, name: str, solvers: dict[str, MetaSolver]) -> None:
    """Raise ConfigError if a meta-solver is not one of those of a method."""
    if name not in solvers:
        expected = f"must be one of {', '.join(solvers)}{suggestion(name, solvers)}"
        raise ConfigError(f"{algorithm_name}: meta_solver is {name!r}, {expected}")
