"""Base of responders that learn from a ring buffer of past decisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.algorithms.deep.common import replay
from counterplay.algorithms.deep.common.best_response import (
    Experience,
    Iteration,
    Responder,
    next_own_infosets,
    own_utility,
    sum_by_infoset_action,
)
from counterplay.algorithms.deep.common.buffers import ReplayBuffer
from counterplay.algorithms.deep.common.graph import Graph, Players, host_array
from counterplay.core.settings import NonNegative, PositiveInt, PositiveProbability, settings

NextValues = jax.Array | Callable[[Graph], jax.Array]
"""Values of a player's next infosets.

On a tree an array [I + 1], zero past the last infoset; on rules a function that evaluates the
rows of a graph [I].
"""

Evaluate = Callable[[Graph, Any], jax.Array]
"""Returns the values [I] of the infosets of a graph, by networks."""


class TargetStore(Protocol):
    """The form in which a responder keeps the values that it bootstraps from."""

    unrolls_updates: ClassVar[bool]  # whether a few updates are compiled without a loop

    def init(self, graph: Graph, nets: Any) -> Any:
        """Return the target before the first update."""
        ...

    def next_values(self, target: Any, evaluate: Evaluate) -> NextValues:
        """Return the values of next infosets."""
        ...

    def refresh(self, graph: Graph, nets: Any, evaluate: Evaluate) -> Any:
        """Return the target of the current networks."""
        ...


class ValueTargets:
    """The target of a tree: the values of all infosets [I + 1], zero past the last."""

    unrolls_updates: ClassVar[bool] = True

    def init(self, graph: Graph, nets: Any) -> Any:
        return host_array(np.zeros(graph.num_infosets + 1, np.float32))

    def next_values(self, target: Any, evaluate: Evaluate) -> NextValues:
        values: jax.Array = target
        return values

    def refresh(self, graph: Graph, nets: Any, evaluate: Evaluate) -> Any:
        return jnp.append(evaluate(graph, nets), 0.0)


class NetworkTargets:
    """The target on rules: the networks, evaluated at the observations of next decisions."""

    unrolls_updates: ClassVar[bool] = False

    def init(self, graph: Graph, nets: Any) -> Any:
        return jax.tree.map(np.copy, nets)

    def next_values(self, target: Any, evaluate: Evaluate) -> NextValues:
        return lambda rows: evaluate(rows, target)

    def refresh(self, graph: Graph, nets: Any, evaluate: Evaluate) -> Any:
        return nets


VALUE_TARGETS, NETWORK_TARGETS = ValueTargets(), NetworkTargets()


def target_store(graph: Graph) -> TargetStore:
    """Return the store of targets for a tree, or for a batch of episodes on rules."""
    return NETWORK_TARGETS if graph.is_rollout_batch else VALUE_TARGETS


class MinibatchSums(NamedTuple):
    """A minibatch, summed at the infosets of a graph."""

    graph: Graph
    visits: jax.Array  # [I, A] samples of each action
    weight: jax.Array  # [I, A] of each sample
    weighted_target_sum: jax.Array  # [I, A]


class ReplayState(Protocol):
    """A named tuple with a ring buffer."""

    @property
    def replay_buffer(self) -> ReplayBuffer: ...

    def _replace(self, *, replay_buffer: ReplayBuffer) -> Self: ...


ReplayResponderState = TypeVar("ReplayResponderState", bound=ReplayState)


@settings(kw_only=True)
class ReplayResponder(Responder[ReplayResponderState]):
    """Settings of the ring buffer, and sums over a minibatch; subclasses give the update rule."""

    num_updates: PositiveInt = 2  # per iteration
    batch_size: PositiveInt = 4_096
    replay_buffer_size: PositiveInt = 500_000
    visit_saturation: NonNegative = 10.0  # a pair sampled n times weighs n / (n + this)
    recent_fraction: PositiveProbability = 1.0  # latest share of all decisions to sample from

    def new_replay_buffer(self, graph: Graph) -> ReplayBuffer:
        """Return an empty ring of transitions: infoset, action, payoff, next infoset."""
        return replay.new_replay_buffer(
            graph, self.replay_buffer_size, np.int32(0), np.float32(0), np.int32(0)
        )

    def observe(
        self,
        graph: Graph,
        players: Players,
        t: Iteration,
        state: ReplayResponderState,
        experience: Experience,
    ) -> ReplayResponderState:
        """Store the decisions of learning players with their payoffs and next infosets."""
        episodes, ring = experience.episodes, state.replay_buffer
        next_infoset = next_own_infosets(graph, episodes)
        utility = own_utility(episodes) / self.resolve_utility_scale(graph)
        payoff = jnp.where(next_infoset < graph.num_infosets, 0.0, utility)
        next_item = replay.next_items(graph, ring, episodes, experience.is_learner, next_infoset)
        items, valid = replay.buffer_items(
            graph, episodes, experience.is_learner, episodes.action, payoff, next_item
        )
        return state._replace(replay_buffer=replay.add_to_ring(graph, ring, items, valid))

    def sample_minibatch(
        self, graph: Graph, replay_buffer: ReplayBuffer, next_values: NextValues, key: jax.Array
    ) -> MinibatchSums:
        """Sample a minibatch; a target is the payoff plus the value of the next infoset."""
        minibatch = replay.sample_recent_minibatch(
            graph, replay_buffer, key, self.batch_size, self.recent_fraction
        )
        action, payoff, next_infoset = minibatch.extra_fields
        if callable(next_values):
            value = replay.next_decision_values(replay_buffer, next_infoset, next_values)
            target = payoff + jnp.where(next_infoset == replay.NO_NEXT_DECISION, 0.0, value)
        else:
            target = payoff + next_values[next_infoset]
        entries = replay.item_infosets(graph, replay_buffer, minibatch), action
        visits = sum_by_infoset_action(minibatch.graph, entries, jnp.ones(target.size))
        weight = 1.0 / (jnp.maximum(visits, 1.0) + self.visit_saturation)
        target_sum = sum_by_infoset_action(minibatch.graph, entries, target)
        return MinibatchSums(minibatch.graph, visits, weight, weight * target_sum)

    @property
    def optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate_schedule(self.num_updates))
