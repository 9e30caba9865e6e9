"""Meta-solvers: how pools are mixed, given what their policies are worth to each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterplay.arena import Floats
from counterplay.errors import ConfigError, RunError, suggestion
from counterplay.matrix.alpha_rank import alpha_rank
from counterplay.matrix.correlated import coarse_correlated_equilibrium, correlated_equilibrium
from counterplay.matrix.learning import learn
from counterplay.matrix.normal_form import NormalForm
from counterplay.matrix.regret_matching_plus import RegretMatchingPlus
from counterplay.matrix.replicator_dynamics import ReplicatorDynamics
from counterplay.matrix.zero_sum_lp import lp_profile, zero_sum_lp
from counterplay.population.pools import Population

LEARNING = 2_000  # iterations of a learner
FLOOR = 1e-6  # of a probability under projected replicator dynamics

NEEDS_OPPOSITE_INTERESTS = (
    "the meta-solver nash needs a two-player zero-sum game; take projected_replicator, "
    "regret_matching, uniform, last or alpha_rank, or leave meta_solver out"
)
Solver = Callable[[Population], list[Floats]]


def nash(memory: Population) -> list[Floats]:
    """An equilibrium of the restricted game, by linear programming."""
    if len(memory.shape) != 2 or not memory.form.constant_sum:
        raise ConfigError(NEEDS_OPPOSITE_INTERESTS)
    return equilibrium(memory.form)


def equilibrium(form: NormalForm) -> list[Floats]:
    """One of a game with opposite interests, as exact as may be.

    Of hundreds of policies that play nearly alike, last digits are not worth an error: mixtures are
    judged in the whole game.
    """
    try:
        return list(zero_sum_lp(form).profile)
    except RunError:
        mixtures = [np.maximum(part, 0.0) for part in lp_profile(form.unit[0])]
        return [part / part.sum() for part in mixtures]


def uniform(memory: Population) -> list[Floats]:
    """Every policy as often as it was added: fictitious play."""
    return [counts / counts.sum() for counts in memory.counts]


def last(memory: Population) -> list[Floats]:
    """The newest policy alone: iterated best responses."""
    return [np.eye(n)[n - 1] for n in memory.shape]


def projected_replicator(memory: Population) -> list[Floats]:
    """The average of projected replicator dynamics."""
    largest = max(memory.shape)
    learner = ReplicatorDynamics(step_size=0.1, floor=min(FLOOR, 0.5 / largest))
    return list(learn(memory.form, learner, iterations=LEARNING).average)


def regret_matching(memory: Population) -> list[Floats]:
    """The linear average of regret matching+, players in turn."""
    found = learn(memory.form, RegretMatchingPlus(), iterations=LEARNING, alternating=True)
    return list(found.average)


def by_alpha_rank(memory: Population, alpha: float = np.inf) -> list[Floats]:
    """Alpha-rank: one table over everybody's policies."""
    return [alpha_rank(memory.form, alpha)]


def by_alpha_rank_alone(memory: Population) -> list[Floats]:
    """What alpha-rank says of each player's policies, the others left out."""
    return marginals(by_alpha_rank(memory)[0])


def marginals(joint: Floats) -> list[Floats]:
    """Each player's own mixture, given a table over everybody's policies."""
    axes = range(joint.ndim)
    return [joint.sum(axis=tuple(q for q in axes if q != p)) for p in axes]


def _copies(memory: Population) -> Floats:
    """How many joint policies each one stands for, duplicates counted."""
    found = np.ones(())
    for counts in memory.counts:
        found = np.multiply.outer(found, counts)
    return found


def mgcce(memory: Population) -> list[Floats]:
    """The coarse correlated equilibrium of largest Gini impurity."""
    return [coarse_correlated_equilibrium(memory.form, "gini", _copies(memory)).joint]


def mgce(memory: Population) -> list[Floats]:
    """The correlated equilibrium of largest Gini impurity."""
    return [correlated_equilibrium(memory.form, "gini", _copies(memory)).joint]


def mwcce(memory: Population) -> list[Floats]:
    """The coarse correlated equilibrium of largest welfare."""
    return [coarse_correlated_equilibrium(memory.form).joint]


def mwce(memory: Population) -> list[Floats]:
    """The correlated equilibrium of largest welfare."""
    return [correlated_equilibrium(memory.form).joint]


SEPARATE: dict[str, Solver] = {  # one mixture for each player
    "nash": nash,
    "uniform": uniform,
    "last": last,
    "projected_replicator": projected_replicator,
    "regret_matching": regret_matching,
    "alpha_rank": by_alpha_rank_alone,
}
COARSE: dict[str, Solver] = {"mgcce": mgcce, "mwcce": mwcce}  # one table
CORRELATED: dict[str, Solver] = {"mgce": mgce, "mwce": mwce}


def check_solver(method: str, name: str, known: dict[str, Solver]) -> None:
    """Refuse a meta-solver that the method does not know."""
    if name not in known:
        must = f"must be one of {', '.join(known)}{suggestion(name, known)}"
        raise ConfigError(f"{method}: meta_solver is {name!r}, {must}")
