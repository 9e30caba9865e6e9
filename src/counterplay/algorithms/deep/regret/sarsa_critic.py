"""Critics: guesses at what an action is worth at a history, by someone who sees everybody's cards.

They serve in training only. A network looks at what all players see, and is fitted by expected
SARSA: the value of an action is what the policies now expect of the actions that follow it. On a
tree the transitions met so far are known by how often each node was met, so that targets are made
anew for all of them at once, with the policies of the moment. The oracle, one pass over the tree,
is never wrong: what goes wrong with it is not the critic's fault. On rules the latest transitions
are kept, and targets made for those that are drawn (`rule_critics`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.algorithms.deep.common.batched_env import BatchedEnv
from counterplay.algorithms.deep.common.critics import append_last_actions
from counterplay.algorithms.deep.common.graph import (
    Graph,
    child_nodes,
    graph_from_tree,
    host_graph_from_tree,
)
from counterplay.algorithms.deep.common.jax_algorithm import persistent_jit
from counterplay.algorithms.deep.common.networks import (
    Net,
    apply_net,
    new_nets,
    regret_matching,
    replace_player,
    select_player,
)
from counterplay.algorithms.deep.common.training import (
    TrainState,
    fit_with_cosine_decay,
    init_train_states,
)
from counterplay.algorithms.deep.common.tree_or_rules import env_from_arena
from counterplay.algorithms.deep.regret.samplers import TreeSampler, table_from_sequences
from counterplay.algorithms.deep.regret.transitions import Transitions
from counterplay.arenas.tree.arena import TreeArena, cache_on_tree
from counterplay.core.arena import Floats, Ints
from counterplay.core.settings import settings
from counterplay.errors import ConfigError
from counterplay.kernels.sequence_form import node_sweeps


@settings(kw_only=True)
class CriticConfig:
    """The choices of algorithms that have a critic."""

    critic_hidden_sizes: tuple[int, ...] = (64, 64, 64)
    critic_lookahead: int = 1  # actions that a target looks ahead
    critic_target_updates: int = 10  # times per fit that targets are made anew
    critic_train_steps: int = 20  # of Adam in each
    critic_batch_size: int = 512  # histories per step
    critic_buffer_size: int = 200_000  # the latest histories, on rules; a tree counts all
    critic_learning_rate: float = 1e-3
    critic_sample_decay: float = 0.95  # of what was met, per iteration
    exact_critic: bool = False  # exact values instead of a network


class HistoryIndex(NamedTuple):
    """Where decisions and what follows them stand; E edges, F successors."""

    decisions: Ints  # [D] node of each
    child_node: Ints  # [E - 1] node after each action
    successor_edge: Ints  # [F] which edge a successor belongs to
    node: Ints  # [D + Z] node of each decision and terminal
    joint_observation: Any  # [D, X] what all players together know there


@cache_on_tree
def index_histories(tree: TreeArena) -> HistoryIndex:
    graph = host_graph_from_tree(tree)
    decisions = np.flatnonzero(tree.player >= 0)
    lengths = np.diff(graph.succ_offset)
    edge = np.repeat(np.arange(lengths.size), lengths)
    node = np.append(decisions, tree.terminals)
    after = child_nodes(tree, decisions)
    return HistoryIndex(
        decisions, after, edge.astype(np.int32), node, _joint_observations(tree, decisions)
    )


def _joint_observations(tree: TreeArena, decisions: Ints) -> Any:
    """What all players observe; if that does not tell decisions apart, their last actions too.

    A bid that is still face down, for example, is no part of anybody's observation.
    """
    graph = host_graph_from_tree(tree)
    seen = np.concatenate(
        [np.asarray(graph.observation)[view] for view in graph.observation_row], axis=1
    )
    if len(np.unique(np.asarray(graph.observation_row), axis=1).T) == decisions.size:
        return seen
    last = np.full((tree.num_nodes, tree.num_players), -1)
    for node in range(1, tree.num_nodes):
        above = tree.parent[node]
        last[node] = last[above]
        if tree.player[above] >= 0:
            last[node, tree.player[above]] = node - tree.child_offset[above]
    taken = last[decisions][..., None] == np.arange(tree.max_actions)
    return np.append(seen, taken.reshape(decisions.size, -1), axis=1).astype(np.float32)


def new_critic(config: Any, tree: TreeArena, rng: np.random.Generator) -> TrainState:
    """A network that says nothing yet; one with no layers for the oracle."""
    if not isinstance(tree, TreeArena):
        return new_rules_critic(config, env_from_arena(tree), rng)
    if config.exact_critic:
        return TrainState([], [])
    graph = graph_from_tree(tree)
    inputs, outputs = (
        index_histories(tree).joint_observation.shape[1],
        graph.num_players * graph.max_actions,
    )
    net = new_nets(rng, 1, (inputs, *config.critic_hidden_sizes, outputs), zero_head=True)
    return jax.device_put(init_train_states(optax.scale_by_adam(), net))


def exact_step_values(tree: TreeArena, policy: Floats) -> Floats:
    """What the step to every node is worth to each player [N, P]."""
    value = np.zeros((tree.num_nodes, tree.num_players))
    given = tree.player, tree.child_offset, tree.chance, tree.infoset, tree.offset
    node_sweeps.node_values(*given, tree.utility, policy, value)
    return value


def update_critic(config: Any, arena: Any, state: Any, key: jax.Array) -> tuple[Any, Any]:
    """The state with the critic fitted to the present policies, and what that says.

    On a tree this is a table of every step [N, P]; on rules it is the network, to be asked.
    """
    guess: Any
    if isinstance(arena, TreeArena):
        critic, guess = fit_critic_on_tree(config, arena, state.sampler, state.critic, key)
    else:
        given = state.sampler.transitions, state.critic, config.actor_params(state), key
        critic, guess = fit_critic_on_rules(config, env_from_arena(arena), *given)
    return state._replace(critic=critic), guess


def fit_critic_on_tree(
    config: Any, tree: TreeArena, sampler: TreeSampler, critic: TrainState, key: jax.Array
) -> tuple[TrainState, Floats]:
    """The critic fitted to the present policies, and what it says [N, P] of every step."""
    policy = sampler.policy[: tree.num_sequences]
    if config.exact_critic:
        return critic, exact_step_values(tree, policy)
    known = index_histories(tree)
    table, met = table_from_sequences(tree, policy), sampler.visits[known.node].astype(np.float32)
    critic, said = _jit_fit_on_tree()(
        config,
        graph_from_tree(tree),
        critic,
        known.joint_observation,
        table,
        met,
        known.successor_edge,
        key,
    )
    legal = host_graph_from_tree(tree).legal[tree.infoset[known.decisions]]
    value = np.zeros((tree.num_nodes, tree.num_players))
    value[known.child_node] = np.asarray(said, np.float64)[legal]
    return critic, value


@lru_cache
def _jit_fit_on_tree() -> Callable[..., tuple[TrainState, jax.Array]]:
    @partial(persistent_jit, static_argnums=0, donate_argnums=2)
    def fit(
        config: Any,
        graph: Graph,
        critic: TrainState,
        everything: jax.Array,
        table: jax.Array,
        met: jax.Array,
        edge: jax.Array,
        key: jax.Array,
    ) -> tuple[TrainState, jax.Array]:
        legal = graph.legal[graph.infoset]  # [D, A]
        number = jnp.where(legal, graph.first_edge[:, None] + jnp.arange(legal.shape[1]), 0)
        seen = met[graph.succ_node]
        taken = jnp.zeros(graph.succ_offset.size - 1).at[edge].add(seen)  # [E]
        count = jnp.where(legal, taken[number], 0.0)
        passed = jnp.cumsum(count.sum(-1))
        share = count / count.sum(-1, keepdims=True).clip(1e-30)

        def after(values: jax.Array) -> jax.Array:
            """What the policies expect after every action [D, A, P], of such values [D, A, P]."""
            value = (table[graph.infoset][..., None] * values).sum(1)
            value = jnp.append(value, graph.utility / graph.largest_utility, axis=0)
            total = (
                jnp.zeros((taken.size, graph.num_players))
                .at[edge]
                .add(seen[:, None] * value[graph.succ_node])
            )
            return (total / taken.clip(1e-30)[:, None])[number]

        def targets(net: Net) -> jax.Array:
            """The values of every action [D, A, P], in the largest utility, as far as met."""
            guess = critic_values(net, graph, everything)

            def deeper(_: jax.Array, values: jax.Array) -> jax.Array:
                return jnp.where(count[..., None] > 0.0, after(values), guess)

            return jax.lax.fori_loop(0, config.critic_lookahead, deeper, guess)

        def draw(target: jax.Array, key: jax.Array) -> Any:
            if passed.size <= config.critic_batch_size:
                return everything, target, count
            place = jax.random.uniform(key, (config.critic_batch_size,)) * passed[-1]
            chosen = jnp.searchsorted(passed, place).clip(0, passed.size - 1)
            return everything[chosen], target[chosen], share[chosen]

        def loss(net: Net, some: Any) -> jax.Array:
            x, target, share = some
            error = (critic_values(net, graph, x) - target) ** 2
            return (share * error.sum(-1)).sum() / share.sum().clip(1e-30)

        def again(train_state: TrainState, key: jax.Array) -> tuple[TrainState, None]:
            target = targets(train_state.params)
            optimiser, rate = optax.scale_by_adam(), config.critic_learning_rate
            chosen = partial(draw, target)
            return fit_with_cosine_decay(
                optimiser, rate, loss, train_state, chosen, key, config.critic_train_steps
            ), None

        keys = jax.random.split(key, config.critic_target_updates)
        trained = jax.lax.scan(again, select_player(critic, 0), keys)[0]
        said = graph.largest_utility * critic_values(trained.params, graph, everything)
        return replace_player(critic, 0, trained), said

    return fit


def critic_values(net: Net, graph: Graph, joint_observation: jax.Array) -> jax.Array:
    """Values [B, A, P] of every action to each player, where they know x [B, X] together."""
    return apply_net(net, joint_observation).reshape(-1, graph.max_actions, graph.num_players)


def new_rules_critic(config: Any, env: BatchedEnv, rng: np.random.Generator) -> TrainState:
    """A network that says nothing yet."""
    if config.exact_critic:
        problem = "exact_critic is a pass over the tree; on rules the critic is a network"
        raise ConfigError(f"{config.name}: {problem}")
    inputs = env.num_players * (env.num_features + env.num_actions)
    sizes = (inputs, *config.critic_hidden_sizes, env.num_actions * env.num_players)
    return jax.device_put(
        init_train_states(optax.scale_by_adam(), new_nets(rng, 1, sizes, zero_head=True))
    )


def fit_critic_on_rules(
    config: Any,
    env: BatchedEnv,
    transitions: Transitions,
    critic: TrainState,
    nets: Net,
    key: jax.Array,
) -> tuple[TrainState, Net]:
    """The critic fitted to the present policies, those of `nets`, and its network."""
    if transitions.num_seen[0]:
        critic = _jit_fit_on_rules()(
            config, critic, nets, transitions[1:], env.largest_utility, key
        )
    return critic, select_player(critic.params, 0)


@lru_cache
def _jit_fit_on_rules() -> Callable[..., TrainState]:
    @partial(persistent_jit, static_argnums=0, donate_argnums=1)
    def fit(
        config: Any, critic: TrainState, nets: Net, rows: Any, unit: jax.Array, key: jax.Array
    ) -> TrainState:
        ring = Transitions(jnp.zeros(1), *rows)
        size, players = ring.last_action.shape
        num_actions = ring.legal.shape[1]
        passed = jnp.cumsum(ring.weight)

        def values_at(net: Net, row: jax.Array) -> jax.Array:
            """Values [B, A, P] of all actions, in the unit."""
            seen = ring.observation[row].reshape(len(row), -1)
            outputs = apply_net(net, append_last_actions(seen, ring.last_action[row], num_actions))
            return outputs.reshape(-1, num_actions, players)

        def policy(row: jax.Array) -> jax.Array:
            """What the one to act does now [B, A]."""
            who = ring.player[row]
            own = ring.observation[row, who]
            each = jnp.stack([apply_net(select_player(nets, p), own) for p in range(players)])
            return regret_matching(each[who, jnp.arange(len(row))], ring.legal[row])

        def after(net: Net, row: jax.Array, depth: int) -> jax.Array:
            """What the policies expect after the action taken [B, P], looking so far ahead."""
            then = (row + 1) % size
            values = values_at(net, then)
            if depth > 1:
                taken = jnp.arange(num_actions) == ring.action[then][:, None]
                deeper = after(net, then, depth - 1)[:, None]
                values = jnp.where(taken[..., None], deeper, values)
            expected = (policy(then)[..., None] * values).sum(1)
            return jnp.where(
                ring.is_last_decision[row][:, None], ring.utility[row] / unit, expected
            )

        def again(train_state: TrainState, key: jax.Array) -> tuple[TrainState, None]:
            before = train_state.params

            def draw(key: jax.Array) -> Any:
                place = jax.random.uniform(key, (config.critic_batch_size,)) * passed[-1]
                row = jnp.searchsorted(passed, place).clip(0, size - 1)
                return row, after(before, row, config.critic_lookahead)

            def loss(net: Net, some: Any) -> jax.Array:
                row, target = some
                taken = jnp.arange(num_actions) == ring.action[row][:, None]
                error = values_at(net, row) - target[:, None]
                return jnp.where(taken[..., None], error**2, 0.0).sum() / len(row)

            optimiser, rate = optax.scale_by_adam(), config.critic_learning_rate
            return fit_with_cosine_decay(
                optimiser, rate, loss, train_state, draw, key, config.critic_train_steps
            ), None

        keys = jax.random.split(key, config.critic_target_updates)
        trained = jax.lax.scan(again, select_player(critic, 0), keys)[0]
        return replace_player(critic, 0, trained)

    return fit
