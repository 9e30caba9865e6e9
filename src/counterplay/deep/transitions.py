"""Responders that learn from a ring of transitions, whoever the others were at the time.

A transition is a decision of a player that learns: (infoset, action, payoff, next infoset or I).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

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


class Minibatch(NamedTuple):
    """Transitions added up by infoset and action [I, A]."""

    visits: jax.Array  # how many there are
    share: jax.Array  # what they count, n / (n + even)
    target: jax.Array  # their mean target, times that

    def error(self, values: jax.Array) -> jax.Array:
        """The slope [I, A] of half the squared error of values [I, A], by these."""
        return self.share * values - self.target


@dataclass(frozen=True, kw_only=True)
class OffPolicy(Responder):
    """The choices of a ring and of minibatches from it."""

    updates: int = 2  # an iteration
    batch: int = 4_096
    ring_size: int = 500_000
    even: float = 10.0  # visits in a minibatch from which on more of them hardly count more
    window: float = 1.0  # the latest part of all decisions, from which minibatches are drawn

    def drawn(self, graph: Graph, ring: Buffer, key: jax.Array, later: jax.Array) -> Minibatch:
        """A minibatch whose targets are payoffs and the values `later` [I + 1] of what follows."""
        infoset, action, payoff, after = buffers.draw_latest(ring, key, self.batch, self.window)
        place = (infoset, action)
        count = added_up(graph, place, jnp.ones(self.batch))
        weight = 1.0 / (count + self.even)
        target = weight * added_up(graph, place, payoff + later[after])
        return Minibatch(count, weight * count, target)

    @property
    def optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.rate(self.updates))


def new_ring(size: int) -> Buffer:
    """Room for transitions."""
    return buffers.empty(size, (np.int32(0), np.int32(0), np.float32(0), np.int32(0)))


def with_transitions(graph: Graph, ring: Buffer, seen: Experience, unit: Any) -> Buffer:
    """The ring with the decisions of those who learn, their payoffs and what followed."""
    episodes = seen.episodes
    infoset, after = infosets_of(graph, episodes, seen.own), next_infosets(graph, episodes)
    payoff = jnp.where(after < graph.num_infosets, 0.0, own_utility(episodes) / unit)
    items = (infoset, episodes.action, payoff, after)
    flat = tuple(array.reshape(-1) for array in items)
    return buffers.into_ring(ring, flat, seen.own.reshape(-1))
