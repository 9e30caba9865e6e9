"""Strong Stackelberg equilibria of two-player matrix games: optimal mixtures to commit to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplay.core.arena import Floats
from counterplay.errors import ConfigError
from counterplay.matrix.linear_program import solve_lp
from counterplay.matrix.normal_form import NormalForm


@dataclass(frozen=True)
class StackelbergEquilibrium:
    """An optimal commitment of the leader, and the follower's best response to it."""

    leader: int
    commitment: Floats  # mixture over the leader's actions
    response: int  # action of the follower
    values: Floats  # [2]


def stackelberg_equilibrium(form: NormalForm, leader: int = 0) -> StackelbergEquilibrium:
    """Return a strong Stackelberg equilibrium (Conitzer and Sandholm, 2006).

    The leader commits to a mixture x, which the follower sees. The follower takes a best response,
    and among several the one that the leader prefers. For each action b of the follower a linear
    programme finds the best mixture to which b is a best response:

        maximise x' L[:, b]   subject to   x' F[:, b] >= x' F[:, c] for all c

    with utilities L of the leader and F of the follower; the best of these mixtures is optimal. In
    a zero-sum game it is a maximin mixture.

    Args:
        form: a two-player game.
        leader: the player that commits, 0 or 1.

    Raises:
        ConfigError: the game has not two players, or there is no such player.

    Example:
        >>> import counterplay as cp
        >>> form = cp.matrix.NormalForm([[[2, 4], [1, 3]], [[1, 0], [0, 1]]])
        >>> solution = cp.matrix.stackelberg_equilibrium(form)
        >>> solution.commitment.round(6).tolist(), float(solution.values[0].round(6))
        ([0.5, 0.5], 3.5)
    """
    if form.num_players != 2:
        raise ConfigError(
            f"stackelberg_equilibrium needs two players, a leader and a follower; the game has "
            f"{form.num_players}"
        )
    if leader not in (0, 1):
        raise ConfigError(f"leader is {leader!r}, must be 0 or 1")
    own = form.unit_utility[leader] if leader == 0 else form.unit_utility[leader].T
    other = form.unit_utility[1 - leader] if leader == 0 else form.unit_utility[1 - leader].T
    best: tuple[float, Floats, int] | None = None
    for response in range(own.shape[1]):
        result = solve_lp(
            -own[:, response],
            inequalities=((other - other[:, response : response + 1]).T, np.zeros(own.shape[1])),
            equalities=(np.ones((1, own.shape[0])), np.ones(1)),
            name="stackelberg_equilibrium",
            allow_infeasible=True,
        )
        if result is not None and (best is None or -result.fun > best[0] + 1e-12):
            best = -result.fun, np.maximum(result.x, 0.0), response
    assert best is not None  # a best response to any mixture exists
    _, mixture, response = best
    mixture = mixture / mixture.sum()
    values = [
        mixture @ (form.utility[p] if leader == 0 else form.utility[p].T)[:, response]
        for p in range(2)
    ]
    return StackelbergEquilibrium(leader, mixture, response, np.array(values))
