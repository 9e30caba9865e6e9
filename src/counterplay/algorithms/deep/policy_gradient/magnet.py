"""Magnets: what a policy is drawn to, fixed or following."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from counterplay.algorithms.deep.common import averages
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.networks import Net, select_player, uniform
from counterplay.algorithms.deep.policy_gradient.base import (
    PolicyGradient,
    PolicyGradientState,
    polyak_update,
    safe_log,
)
from counterplay.core.settings import settings


@settings(kw_only=True)
class MagnetPolicyGradient(PolicyGradient):
    """The choices of those whose temperature pulls towards a magnet."""

    magnet: str = "uniform"  # or copy (of the policy, every stage), average (of its weights)
    magnet_update_every: int = 5_000  # iterations between two copies
    magnet_update_rate: float = 0.001  # how far an average follows

    @property
    def has_moving_magnet(self) -> bool:
        return self.magnet != "uniform"

    def magnet_log_probs(self, graph: Graph, t: jax.Array, state: PolicyGradientState) -> jax.Array:
        if not self.has_moving_magnet:
            return safe_log(uniform(graph.legal))
        return safe_log(averages.infoset_policies(select_player(state.magnet, 1), graph))

    def update_magnet(self, t: jax.Array, magnet: Any, nets: Net) -> Any:
        if not self.has_moving_magnet:
            return magnet
        before, last = select_player(magnet, 0), select_player(magnet, 1)
        if self.magnet == "average":
            return stack_nets(before, polyak_update(last, nets, self.magnet_update_rate))
        now = t % self.magnet_update_every == 0
        pick = lambda new, old: jax.tree.map(lambda x, y: jnp.where(now, x, y), new, old)  # noqa: E731
        return stack_nets(pick(last, before), pick(nets, last))


def stack_nets(previous: Net, latest: Net) -> Net:
    """Two sets of networks as one."""
    return jax.tree.map(lambda one, two: jnp.stack([one, two]), previous, latest)
