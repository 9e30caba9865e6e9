"""What responses that learn from a ring of past decisions share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.algorithms.deep.common import replay
from counterplay.algorithms.deep.common.best_response import (
    Experience,
    Players,
    Responder,
    next_own_infosets,
    own_utility,
    sum_by_infoset_action,
)
from counterplay.algorithms.deep.common.buffers import ReplayBuffer
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.core.settings import settings

NextValues = jax.Array | Callable[[Graph], jax.Array]
"""What is expected of each infoset [I + 1] of a tree, zero past the last one; on rules a function
that says so [I] of the rows of a graph."""


class MinibatchSums(NamedTuple):
    """A minibatch, added up at the infosets of a graph."""

    graph: Graph
    visits: jax.Array  # [I, A] how often each action is there
    weight: jax.Array  # [I, A] of each time
    weighted_target_sum: jax.Array  # [I, A] targets, weighed


@settings(kw_only=True)
class ReplayResponder(Responder):
    """The choices, and the sums over a minibatch; holds no update rule."""

    num_updates: int = 2  # an iteration
    batch_size: int = 4_096
    replay_buffer_size: int = 500_000
    visit_saturation: float = (
        10.0  # visits in a minibatch from which on more of them hardly count more
    )
    recent_fraction: float = (
        1.0  # the latest part of all decisions, from which minibatches are drawn
    )

    def new_replay_buffer(self, graph: Graph) -> ReplayBuffer:
        """Room for transitions: where, action, payoff, where next."""
        return replay.new_replay_buffer(
            graph, self.replay_buffer_size, np.int32(0), np.float32(0), np.int32(0)
        )

    def observe(
        self, graph: Graph, players: Players, t: Any, state: Any, experience: Experience
    ) -> Any:
        """The ring with the decisions of those who learn, their payoffs and what followed."""
        episodes, ring = experience.episodes, state.replay_buffer
        after = next_own_infosets(graph, episodes)
        paid = own_utility(episodes) / self.resolve_utility_scale(graph)
        payoff = jnp.where(after < graph.num_infosets, 0.0, paid)
        if graph.is_rollout_batch:
            _, valid = replay.buffer_items(graph, episodes, experience.is_learner)
            after = replay.ring_slots(graph, ring, valid, after)
        new, valid = replay.buffer_items(
            graph, episodes, experience.is_learner, episodes.action, payoff, after
        )
        return state._replace(replay_buffer=replay.add_to_ring(graph, ring, new, valid))

    def sample_minibatch(
        self, graph: Graph, replay_buffer: ReplayBuffer, next_values: NextValues, key: Any
    ) -> MinibatchSums:
        """A minibatch, in which a target is what was paid plus what is expected `later`."""
        some = replay.sample_recent_minibatch(
            graph, replay_buffer, key, self.batch_size, self.recent_fraction
        )
        action, payoff, after = some.extra_fields
        if callable(next_values):
            worth = next_values(replay.next_decision_graph(replay_buffer, after))
            target = payoff + jnp.where(after == replay.NO_NEXT_DECISION, 0.0, worth)
        else:
            target = payoff + next_values[after]
        place = some.infoset, action
        if graph.is_rollout_batch:  # who has never acted has nothing to learn from
            acted = (jnp.asarray(replay_buffer.num_seen) > 0)[some.graph.infoset_player]
            place = jnp.where(acted, some.infoset, some.graph.num_infosets), action
        count = sum_by_infoset_action(some.graph, place, jnp.ones(target.size))
        weight = 1.0 / (jnp.maximum(count, 1.0) + self.visit_saturation)
        return MinibatchSums(
            some.graph, count, weight, weight * sum_by_infoset_action(some.graph, place, target)
        )

    @property
    def optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate_schedule(self.num_updates))
