"""What responses that learn from a ring of past decisions share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.deep import buffers
from counterplay.deep.buffers import Buffer
from counterplay.deep.graph import Graph
from counterplay.deep.responders import (
    Experience,
    Responder,
    added_up,
    infosets_of,
    next_infosets,
    own_utility,
)


@dataclass(frozen=True, kw_only=True)
class RingResponder(Responder):
    """The choices, and the sums over a minibatch; holds no update rule."""

    updates: int = 2  # an iteration
    batch: int = 4_096
    ring_size: int = 500_000
    even: float = 10.0  # visits in a minibatch from which on more of them hardly count more
    window: float = 1.0  # the latest part of all decisions, from which minibatches are drawn

    def new_ring(self) -> Buffer:
        """Room for transitions: infoset, action, payoff, next infoset or I."""
        return buffers.empty(self.ring_size, (np.int32(0), np.int32(0), np.float32(0), np.int32(0)))

    def with_transitions(self, graph: Graph, ring: Buffer, seen: Experience) -> Buffer:
        """The ring with the decisions of those who learn, their payoffs and what followed."""
        episodes = seen.episodes
        infoset, after = infosets_of(graph, episodes, seen.own), next_infosets(graph, episodes)
        paid = own_utility(episodes) / self.unit(graph)
        payoff = jnp.where(after < graph.num_infosets, 0.0, paid)
        items = (infoset, episodes.action, payoff, after)
        flat = tuple(array.reshape(-1) for array in items)
        return buffers.into_ring(ring, flat, seen.own.reshape(-1))

    def drawn(
        self, graph: Graph, ring: Buffer, later: jax.Array, key: Any
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """How often each action [I, A] is in a minibatch, its weight, and its weighted targets.

        A target is what was paid plus `later` [I + 1] of the next infoset.
        """
        infoset, action, payoff, after = buffers.draw_latest(ring, key, self.batch, self.window)
        count = added_up(graph, (infoset, action), jnp.ones(self.batch))
        weight = 1.0 / (count + self.even)
        return count, weight, weight * added_up(graph, (infoset, action), payoff + later[after])

    @property
    def optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.rate(self.updates))
