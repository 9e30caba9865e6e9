"""Critics: what an action is worth to everybody, at a history or at an infoset.

A critic guesses at values [T, B, A, P] along episodes and learns from targets [T, B, P]; what
remains wrong is corrected by the sampled return (`values.corrected`). The exact one has nothing to
learn: it tells how much of an error is the critic's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.algorithms.deep.common.dedup import (
    error_gradient,
    find_unique_rows,
    outputs_at_decisions,
)
from counterplay.algorithms.deep.common.episodes import Episodes, last_actions
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.networks import Net, apply_net, new_net
from counterplay.algorithms.deep.common.training import TrainState, apply_gradient


class HistoryTableCritic(NamedTuple):
    """A number for every history, action and player: a mean that forgets at `rate`."""

    step_size: float
    is_exact = False
    covers_all_players = True

    def init_memory(self, graph: Graph, rng: np.random.Generator) -> Any:
        return np.zeros((graph.num_decisions, graph.max_actions, graph.num_players), np.float32)

    def values(self, graph: Graph, memory: Any, episodes: Episodes) -> jax.Array:
        return jnp.where(episodes.live[..., None, None], memory[episodes.decision], 0.0)

    def update(self, graph: Graph, memory: Any, episodes: Episodes, target: jax.Array) -> Any:
        row = jnp.where(episodes.live, episodes.decision, graph.num_decisions)
        return move_towards_means(memory, (row, episodes.action), target, self.step_size)


class InfosetTableCritic(NamedTuple):
    """A number for every infoset and action, to the one who acts; nothing where others act."""

    step_size: float
    is_exact = False
    covers_all_players = False

    def init_memory(self, graph: Graph, rng: np.random.Generator) -> Any:
        return np.zeros((*graph.legal.shape, 1), np.float32)

    def values(self, graph: Graph, memory: Any, episodes: Episodes) -> jax.Array:
        actor = jnp.arange(graph.num_players) == acting_player(episodes)
        return jnp.where(actor, memory[graph.infoset[episodes.decision]], 0.0)

    def update(self, graph: Graph, memory: Any, episodes: Episodes, target: jax.Array) -> Any:
        own = actor_target(graph, episodes, target)
        infoset = graph.infoset[episodes.decision]
        row = jnp.where(episodes.live, infoset, graph.num_infosets)
        return move_towards_means(memory, (row, episodes.action), own, self.step_size)


class ValueTableCritic(NamedTuple):
    """A number for every infoset, to the one who acts, whatever the action: V-trace's critic."""

    step_size: float
    is_exact = False
    covers_all_players = False

    def init_memory(self, graph: Graph, rng: np.random.Generator) -> Any:
        return np.zeros((graph.num_infosets, 1, 1), np.float32)

    def values(self, graph: Graph, memory: Any, episodes: Episodes) -> jax.Array:
        real = episodes.legal & episodes.live[..., None]  # [T, B, A]
        own = real[..., None] & (jnp.arange(graph.num_players) == acting_player(episodes))
        return jnp.where(own, memory[graph.infoset[episodes.decision]], 0.0)

    def update(self, graph: Graph, memory: Any, episodes: Episodes, target: jax.Array) -> Any:
        own = actor_target(graph, episodes, target)
        row = jnp.where(episodes.live, graph.infoset[episodes.decision], graph.num_infosets)
        return move_towards_means(memory, (row, jnp.zeros_like(row)), own, self.step_size)


class NetworkCritic(NamedTuple):
    """A network that sees what all players see at a history; one step of Adam an iteration.

    Where that does not tell histories apart, as far as is known, it sees their last actions too.
    """

    hidden_sizes: tuple[int, ...]
    learning_rate: float
    is_exact = False
    covers_all_players = True

    @property
    def optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate)

    def init_memory(self, graph: Graph, rng: np.random.Generator) -> Any:
        inputs = graph.num_players * graph.num_features
        if not is_history_observable(graph):
            inputs += graph.num_players * graph.max_actions
        outputs = graph.max_actions * graph.num_players
        net = new_net(rng, (inputs, *self.hidden_sizes, outputs), zero_head=True)
        return TrainState(net, jax.jit(self.optimiser.init)(net))

    def values(self, graph: Graph, memory: TrainState, episodes: Episodes) -> jax.Array:
        seen = joint_observations(graph, episodes, memory.params)
        if graph.is_rollout_batch:  # all its decisions were met, each once
            outputs = apply_net(memory.params, seen)[episodes.decision]
        else:
            met = find_unique_rows(episodes.decision, episodes.live)
            outputs = outputs_at_decisions(memory.params, seen, met)
        outputs = outputs.reshape(*episodes.action.shape, graph.max_actions, graph.num_players)
        real = episodes.legal & episodes.live[..., None]
        return jnp.where(real[..., None], outputs, 0.0)

    def update(self, graph: Graph, memory: TrainState, episodes: Episodes, target: Any) -> Any:
        shape = (*episodes.action.shape, graph.max_actions, graph.num_players)
        taken = jax.nn.one_hot(episodes.action, graph.max_actions) * episodes.live[..., None]
        scale = 2.0 / jnp.maximum(episodes.live.sum(), 1)

        def error(outputs: jax.Array) -> jax.Array:
            wrong = taken[..., None] * (outputs.reshape(shape) - target[..., None, :])
            return scale * wrong.reshape(outputs.shape)

        seen = joint_observations(graph, episodes, memory.params)
        if graph.is_rollout_batch:
            outputs, back = jax.vjp(lambda net: apply_net(net, seen), memory.params)
            wrong = error(outputs[episodes.decision])
            slope = back(jnp.zeros_like(outputs).at[episodes.decision].add(wrong))[0]
        else:
            met = find_unique_rows(episodes.decision, episodes.live)
            slope = error_gradient(memory.params, seen, met, error)
        return apply_gradient(self.optimiser, memory, slope)


class ExactCritic(NamedTuple):
    """The exact values of the present policy, by one pass over the tree; its memory is them."""

    is_exact = True
    covers_all_players = True

    def init_memory(self, graph: Graph, rng: np.random.Generator) -> Any:
        return np.zeros((0,), np.float32)

    def values(self, graph: Graph, memory: Any, episodes: Episodes) -> jax.Array:
        return jnp.where(episodes.live[..., None, None], memory[episodes.decision], 0.0)

    def update(self, graph: Graph, memory: Any, episodes: Episodes, target: jax.Array) -> Any:
        return np.zeros((0,), np.float32)


Critic = HistoryTableCritic | InfosetTableCritic | ValueTableCritic | NetworkCritic | ExactCritic


def acting_player(episodes: Episodes) -> jax.Array:
    """Who acts [T, B, 1, 1]."""
    return episodes.player[..., None, None]


def actor_target(graph: Graph, episodes: Episodes, target: jax.Array) -> jax.Array:
    """The targets [T, B, 1] of those who act."""
    actor = jnp.arange(graph.num_players) == episodes.player[..., None]
    return jnp.where(actor, target, 0.0).sum(-1, keepdims=True)


def move_towards_means(
    table: jax.Array, entries: Any, target: jax.Array, step_size: float
) -> jax.Array:
    """The table moved to the means of targets, as far as their number n says: 1 - (1 - rate)**n.

    Places out of range are left out.
    """
    count = jnp.zeros(table.shape[:2]).at[entries].add(1.0, mode="drop")[..., None]
    total = jnp.zeros(table.shape).at[entries].add(target, mode="drop")
    step = 1.0 - (1.0 - step_size) ** count
    return table + step * (total / jnp.maximum(count, 1.0) - table)


def is_history_observable(graph: Graph) -> bool:
    """Whether what all players see together tells every decision from the others.

    A bid that is still face down, for example, is no part of anybody's observation. Of episodes
    that were met by chance nobody knows.
    """
    return not graph.is_rollout_batch and (
        len(np.unique(np.asarray(graph.observation_row), axis=1).T) == graph.num_decisions
    )


def joint_observations(graph: Graph, episodes: Episodes, net: Net) -> jax.Array:
    """What the network is to see [D, Y] at the decisions of episodes; elsewhere it is not asked."""
    seen = jnp.concatenate([graph.observation[view] for view in graph.observation_row], axis=1)
    if seen.shape[1] == net[0][0].shape[0]:
        return seen
    row = jnp.where(episodes.live, episodes.decision, graph.num_decisions)
    nothing = jnp.full((graph.num_decisions, graph.num_players), -1, jnp.int32)
    last = nothing.at[row].set(last_actions(episodes, graph.num_players), mode="drop")
    return append_last_actions(seen, last, graph.max_actions)


def append_last_actions(
    observations: jax.Array, last_action: jax.Array, num_actions: int
) -> jax.Array:
    """Observations [N, P * X] of all players, and their last actions [N, P]: [N, P * (X + A)]."""
    taken = last_action[..., None] == jnp.arange(num_actions)
    return jnp.append(observations, taken.reshape(len(observations), -1), axis=1)


def exact_action_values(
    graph: Graph, policy: jax.Array, reward: jax.Array | None = None
) -> jax.Array:
    """What follows every action, to everybody [D, A, P], when all follow a policy [I, A].

    `reward` [I, A] is earned by an action, by the one who takes it, and lost by the others.
    """
    edge = jnp.repeat(
        jnp.arange(graph.succ_offset.size - 1),
        jnp.diff(graph.succ_offset),
        total_repeat_length=graph.succ_node.size,
    )
    before = jnp.append(0.0, graph.succ_cdf[:-1])
    first = jnp.arange(edge.size) == graph.succ_offset[edge]
    chance = graph.succ_cdf - jnp.where(first, 0.0, before)
    legal = graph.legal[graph.infoset]
    outgoing = jnp.where(legal, graph.first_edge[:, None] + jnp.arange(graph.max_actions), 0)
    weight = policy[graph.infoset][..., None]
    earned = 0.0 if reward is None else zero_sum_rewards(graph, graph.player, reward[graph.infoset])

    def sweep(_: jax.Array, values: jax.Array) -> jax.Array:
        nodes = jnp.concatenate([(weight * (values + earned)).sum(1), graph.utility])
        after = jax.ops.segment_sum(
            chance[:, None] * nodes[graph.succ_node], edge, graph.succ_offset.size - 1
        )
        return jnp.where(legal[..., None], after[outgoing], 0.0)

    nothing = jnp.zeros((*legal.shape, graph.num_players))
    return jax.lax.fori_loop(0, graph.longest_episode, sweep, nothing)


def zero_sum_rewards(graph: Graph, player: jax.Array, action_reward: jax.Array) -> jax.Array:
    """Rewards [..., A] of those who act as everybody's [..., A, P]: the others pay them."""
    actor = jnp.arange(graph.num_players) == player[..., None]
    return action_reward[..., None] * jnp.where(actor, 1.0, -1.0)[..., None, :]
