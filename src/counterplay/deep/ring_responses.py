"""What responses that learn from a ring of past decisions share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.deep import places
from counterplay.deep.buffers import Buffer
from counterplay.deep.graph import Graph
from counterplay.deep.responders import (
    Experience,
    Players,
    Responder,
    added_up,
    next_infosets,
    own_utility,
)
from counterplay.settings import settings

Later = jax.Array | Callable[[Graph], jax.Array]
"""What is expected of each infoset [I + 1] of a tree, zero past the last one; on rules a function
that says so [I] of the rows of a graph."""


class Drawn(NamedTuple):
    """A minibatch, added up at the infosets of a graph."""

    graph: Graph
    visits: jax.Array  # [I, A] how often each action is there
    weight: jax.Array  # [I, A] of each time
    total: jax.Array  # [I, A] targets, weighed


@settings(kw_only=True)
class RingResponder(Responder):
    """The choices, and the sums over a minibatch; holds no update rule."""

    updates: int = 2  # an iteration
    batch: int = 4_096
    ring_size: int = 500_000
    even: float = 10.0  # visits in a minibatch from which on more of them hardly count more
    window: float = 1.0  # the latest part of all decisions, from which minibatches are drawn

    def new_ring(self, graph: Graph) -> Buffer:
        """Room for transitions: where, action, payoff, where next."""
        return places.room(graph, self.ring_size, np.int32(0), np.float32(0), np.int32(0))

    def told(self, graph: Graph, players: Players, t: Any, state: Any, seen: Experience) -> Any:
        """The ring with the decisions of those who learn, their payoffs and what followed."""
        episodes, ring = seen.episodes, state.ring
        after = next_infosets(graph, episodes)
        paid = own_utility(episodes) / self.unit(graph)
        payoff = jnp.where(after < graph.num_infosets, 0.0, paid)
        if graph.is_batch:
            _, valid = places.items(graph, episodes, seen.own)
            after = places.slots(graph, ring, valid, after)
        new, valid = places.items(graph, episodes, seen.own, episodes.action, payoff, after)
        return state._replace(ring=places.into_ring(graph, ring, new, valid))

    def drawn(self, graph: Graph, ring: Buffer, later: Later, key: Any) -> Drawn:
        """A minibatch, in which a target is what was paid plus what is expected `later`."""
        some = places.draw_latest(graph, ring, key, self.batch, self.window)
        action, payoff, after = some.more
        if callable(later):
            worth = later(places.followers(ring, after))
            target = payoff + jnp.where(after == places.LAST, 0.0, worth)
        else:
            target = payoff + later[after]
        place = some.infoset, action
        if graph.is_batch:  # who has never acted has nothing to learn from
            acted = (jnp.asarray(ring.seen) > 0)[some.graph.owner]
            place = jnp.where(acted, some.infoset, some.graph.num_infosets), action
        count = added_up(some.graph, place, jnp.ones(target.size))
        weight = 1.0 / (jnp.maximum(count, 1.0) + self.even)
        return Drawn(some.graph, count, weight, weight * added_up(some.graph, place, target))

    @property
    def optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.rate(self.updates))
