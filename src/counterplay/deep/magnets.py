"""Magnets: what a policy is drawn to, fixed or following."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from counterplay.deep import averages
from counterplay.deep.gradients import Gradients, State, blend, log_of
from counterplay.deep.graph import Graph
from counterplay.deep.nets import Net, one_of, uniform
from counterplay.settings import settings


@settings(kw_only=True)
class Magnetic(Gradients):
    """The choices of those whose temperature pulls towards a magnet."""

    magnet: str = "uniform"  # or copy (of the policy, every stage), average (of its weights)
    stage: int = 5_000  # iterations between two copies
    follow: float = 0.001  # how far an average follows

    @property
    def moves_magnet(self) -> bool:
        return self.magnet != "uniform"

    def magnet_at(self, graph: Graph, t: jax.Array, state: State) -> jax.Array:
        if not self.moves_magnet:
            return log_of(uniform(graph.legal))
        return log_of(averages.policies_of(one_of(state.magnet, 1), graph))

    def moved(self, t: jax.Array, magnet: Any, nets: Net) -> Any:
        if not self.moves_magnet:
            return magnet
        before, last = one_of(magnet, 0), one_of(magnet, 1)
        if self.magnet == "average":
            return stacked(before, blend(last, nets, self.follow))
        now = t % self.stage == 0
        pick = lambda new, old: jax.tree.map(lambda x, y: jnp.where(now, x, y), new, old)  # noqa: E731
        return stacked(pick(last, before), pick(nets, last))


def stacked(before: Net, last: Net) -> Net:
    """Two sets of networks as one."""
    return jax.tree.map(lambda one, two: jnp.stack([one, two]), before, last)
