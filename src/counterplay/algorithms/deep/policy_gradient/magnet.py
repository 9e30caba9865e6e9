"""Magnets: policies that regularise a policy gradient, uniform or following the current policy."""

from __future__ import annotations

from typing import Annotated

import jax
import jax.numpy as jnp
from annotated_types import Predicate

from counterplay.algorithms.deep.common import averages
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.networks import (
    Net,
    polyak_update,
    safe_log,
    select_player,
)
from counterplay.algorithms.deep.policy_gradient.base import PolicyGradient, PolicyGradientState
from counterplay.core.settings import NonNegativeInt, PositiveProbability, settings


def _is_magnet_name(name: str) -> bool:
    """uniform, copy or average"""
    return name in ("uniform", "copy", "average")


MagnetName = Annotated[str, Predicate(_is_magnet_name)]


@settings(kw_only=True)
class MagnetPolicyGradient(PolicyGradient):
    """Settings of policy gradients whose temperature pulls towards a magnet.

    A copy is of the averaged weights (`ema_decay`): the last iterate is noisy, and the noise of a
    copy stays in the objective until the next one.
    """

    magnet: MagnetName = "uniform"  # or copy (of the policy, at times), average (of its weights)
    magnet_update_every: NonNegativeInt = 0  # iterations between copies; 0: half of the schedule
    magnet_update_rate: PositiveProbability = 0.001  # step of the average towards the policy

    @property
    def has_moving_magnet(self) -> bool:
        return self.magnet != "uniform"

    @property
    def magnet_interval(self) -> int:
        """Iterations between two copies of the policy."""
        return self.magnet_update_every or max(1, self.num_schedule_iterations // 2)

    def magnet_log_probs(self, graph: Graph, t: jax.Array, state: PolicyGradientState) -> jax.Array:
        if not self.has_moving_magnet:
            return super().magnet_log_probs(graph, t, state)
        return safe_log(averages.infoset_policies(select_player(state.magnet, 1), graph))

    def update_magnet(self, t: jax.Array, magnet: Net, nets: Net, smoothed_nets: Net) -> Net:
        if not self.has_moving_magnet:
            return magnet
        previous, latest = select_player(magnet, 0), select_player(magnet, 1)
        if self.magnet == "average":
            return stack_nets(previous, polyak_update(latest, nets, self.magnet_update_rate))
        is_due = t % self.magnet_interval == 0

        def pick(new: Net, old: Net) -> Net:
            return jax.tree.map(lambda x, y: jnp.where(is_due, x, y), new, old)

        return stack_nets(pick(latest, previous), pick(smoothed_nets, latest))


def stack_nets(previous: Net, latest: Net) -> Net:
    """Return two sets of networks as one, with a leading axis of size 2."""
    return jax.tree.map(lambda first, second: jnp.stack([first, second]), previous, latest)
