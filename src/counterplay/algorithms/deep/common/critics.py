"""Critics: estimates of the values of actions.

There are two families. The critics of policy gradients estimate values [T, B, A, P] along a batch
of episodes and learn from targets [T, B, P] after it, inside a compiled iteration; sampled returns
correct what is left of their errors (`returns.baseline_advantages`). The critic of regret networks
is one network, refitted for the current policies by expected SARSA from all decisions visited so
far: `new_tree_critic`, `fit_tree_critic`, `new_rules_critic`, `fit_rules_critic`.

Critics serve in training only, so they may see the observations of all players. The exact values
of a policy (`ExactCritic`, `exact_step_values`) show how much of an error is due to the critic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.algorithms.deep.common.batched_env import BatchedEnv
from counterplay.algorithms.deep.common.dedup import (
    UniqueRows,
    error_gradient,
    find_unique_rows,
    outputs_at_decisions,
)
from counterplay.algorithms.deep.common.episodes import Episodes, last_actions
from counterplay.algorithms.deep.common.graph import (
    Graph,
    child_nodes,
    graph_from_tree,
    host_graph_from_tree,
)
from counterplay.algorithms.deep.common.jax_algorithm import lazy_jit, wait_for
from counterplay.algorithms.deep.common.networks import (
    Net,
    apply_net,
    infoset_outputs,
    new_net,
    new_nets,
    regret_matching,
    replace_player,
    select_player,
)
from counterplay.algorithms.deep.common.replay import Transitions
from counterplay.algorithms.deep.common.training import (
    TrainState,
    apply_gradient,
    apply_gradients,
    fit_with_cosine_decay,
    init_train_states,
)
from counterplay.algorithms.deep.common.tree_tables import table_from_sequences
from counterplay.arenas.tree.arena import TreeArena, cache_on_tree
from counterplay.core.arena import Floats, Ints
from counterplay.core.settings import (
    HiddenSizes,
    NonNegative,
    PositiveInt,
    PositiveProbability,
    settings,
)
from counterplay.errors import ConfigError
from counterplay.kernels.sequence_form import node_sweeps


@dataclass(frozen=True)
class HistoryTableCritic:
    """A table with an exponential mean of targets for every history, action and player."""

    step_size: float
    is_exact: ClassVar[bool] = False
    covers_all_players: ClassVar[bool] = True

    def init_memory(self, graph: Graph, rng: np.random.Generator) -> Any:
        return np.zeros((graph.num_decisions, graph.max_actions, graph.num_players), np.float32)

    def values(self, graph: Graph, memory: Any, episodes: Episodes) -> jax.Array:
        return jnp.where(episodes.live[..., None, None], memory[episodes.decision], 0.0)

    def update(self, graph: Graph, memory: Any, episodes: Episodes, target: jax.Array) -> Any:
        row = jnp.where(episodes.live, episodes.decision, graph.num_decisions)
        return move_towards_means(memory, (row, episodes.action), target, self.step_size)


@dataclass(frozen=True)
class InfosetTableCritic:
    """A table of values to the acting player for every infoset and action."""

    step_size: float
    is_exact: ClassVar[bool] = False
    covers_all_players: ClassVar[bool] = False

    def init_memory(self, graph: Graph, rng: np.random.Generator) -> Any:
        return np.zeros((*graph.legal.shape, 1), np.float32)

    def values(self, graph: Graph, memory: Any, episodes: Episodes) -> jax.Array:
        actor = jnp.arange(graph.num_players) == acting_player(episodes)
        return jnp.where(actor, memory[graph.infoset[episodes.decision]], 0.0)

    def update(self, graph: Graph, memory: Any, episodes: Episodes, target: jax.Array) -> Any:
        actor_targets = actor_target(graph, episodes, target)
        infoset = graph.infoset[episodes.decision]
        row = jnp.where(episodes.live, infoset, graph.num_infosets)
        return move_towards_means(memory, (row, episodes.action), actor_targets, self.step_size)


@dataclass(frozen=True)
class ValueTableCritic:
    """A table of values to the acting player for every infoset, as in V-trace."""

    step_size: float
    is_exact: ClassVar[bool] = False
    covers_all_players: ClassVar[bool] = False

    def init_memory(self, graph: Graph, rng: np.random.Generator) -> Any:
        return np.zeros((graph.num_infosets, 1, 1), np.float32)

    def values(self, graph: Graph, memory: Any, episodes: Episodes) -> jax.Array:
        exists = episodes.legal & episodes.live[..., None]  # [T, B, A]
        mask = exists[..., None] & (jnp.arange(graph.num_players) == acting_player(episodes))
        return jnp.where(mask, memory[graph.infoset[episodes.decision]], 0.0)

    def update(self, graph: Graph, memory: Any, episodes: Episodes, target: jax.Array) -> Any:
        actor_targets = actor_target(graph, episodes, target)
        row = jnp.where(episodes.live, graph.infoset[episodes.decision], graph.num_infosets)
        return move_towards_means(memory, (row, jnp.zeros_like(row)), actor_targets, self.step_size)


@dataclass(frozen=True)
class InfosetNetworkCritic:
    """A network q(I, a; w) of each player's own observation, with values to that player.

    An iteration takes `num_steps` Adam steps on the mean over the player's decisions of
    (q(I, a) - target)^2, with a the action taken.
    """

    hidden_sizes: tuple[int, ...]
    learning_rate: float
    num_steps: int = 1
    is_exact: ClassVar[bool] = False
    covers_all_players: ClassVar[bool] = False

    @property
    def optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate)

    def init_memory(self, graph: Graph, rng: np.random.Generator) -> Any:
        sizes = (graph.num_features, *self.hidden_sizes, graph.max_actions)
        nets = new_nets(rng, graph.num_players, sizes, zero_head=True)
        return init_train_states(self.optimiser, nets)

    def values(self, graph: Graph, memory: TrainState, episodes: Episodes) -> jax.Array:
        outputs = infoset_outputs(graph, memory.params, graph.all_players)
        exists = episodes.legal & episodes.live[..., None]
        own = jnp.where(exists, outputs[graph.infoset[episodes.decision]], 0.0)
        actor = jnp.arange(graph.num_players) == acting_player(episodes)
        return jnp.where(actor, own[..., None], 0.0)

    def update(self, graph: Graph, memory: TrainState, episodes: Episodes, target: Any) -> Any:
        actor_targets = actor_target(graph, episodes, target)[..., 0]
        infoset = jnp.where(episodes.live, graph.infoset[episodes.decision], graph.num_infosets)
        entries = (infoset, episodes.action)
        zeros = jnp.zeros(graph.legal.shape)
        visits = zeros.at[entries].add(1.0, mode="drop")
        total = zeros.at[entries].add(actor_targets, mode="drop")
        own_visits = jnp.zeros(graph.num_players).at[graph.infoset_player].add(visits.sum(-1))
        scale = (2.0 / jnp.maximum(own_visits, 1.0))[graph.infoset_player][:, None]

        def outputs_of(nets: Net) -> jax.Array:
            return infoset_outputs(graph, nets, graph.all_players)

        for _ in range(self.num_steps):
            outputs, backward = jax.vjp(outputs_of, memory.params)
            gradient = backward(scale * (visits * outputs - total))[0]
            memory = apply_gradients(self.optimiser, memory, gradient)
        return memory


@dataclass(frozen=True)
class ZeroCritic:
    """No critic: every value is zero, so that sampled returns alone decide."""

    is_exact: ClassVar[bool] = False
    covers_all_players: ClassVar[bool] = True

    def init_memory(self, graph: Graph, rng: np.random.Generator) -> Any:
        return np.zeros((0,), np.float32)

    def values(self, graph: Graph, memory: Any, episodes: Episodes) -> jax.Array:
        return jnp.zeros((*episodes.legal.shape, graph.num_players))

    def update(self, graph: Graph, memory: Any, episodes: Episodes, target: jax.Array) -> Any:
        return memory


@dataclass(frozen=True)
class NetworkCritic:
    """A network of all players' observations at a history; one Adam step per iteration.

    If observations may not distinguish all histories, it also gets the acting player and the
    players' last actions.
    """

    hidden_sizes: tuple[int, ...]
    learning_rate: float
    is_exact: ClassVar[bool] = False
    covers_all_players: ClassVar[bool] = True

    @property
    def optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate)

    def init_memory(self, graph: Graph, rng: np.random.Generator) -> Any:
        inputs = graph.num_players * graph.num_features
        if not is_history_observable(graph):
            inputs += num_turn_inputs(graph.num_players, graph.max_actions)
        outputs = graph.max_actions * graph.num_players
        net = new_net(rng, (inputs, *self.hidden_sizes, outputs), zero_head=True)
        return TrainState(net, jax.jit(self.optimiser.init)(net))

    def values(self, graph: Graph, memory: TrainState, episodes: Episodes) -> jax.Array:
        inputs = joint_observations(graph, episodes, memory.params)
        rows = decision_rows(graph, episodes)
        outputs = rows.outputs(memory.params, inputs)
        outputs = outputs.reshape(*episodes.action.shape, graph.max_actions, graph.num_players)
        exists = episodes.legal & episodes.live[..., None]
        return jnp.where(exists[..., None], outputs, 0.0)

    def update(self, graph: Graph, memory: TrainState, episodes: Episodes, target: Any) -> Any:
        shape = (*episodes.action.shape, graph.max_actions, graph.num_players)
        taken = jax.nn.one_hot(episodes.action, graph.max_actions) * episodes.live[..., None]
        scale = 2.0 / jnp.maximum(episodes.live.sum(), 1)

        def error(outputs: jax.Array) -> jax.Array:
            difference = taken[..., None] * (outputs.reshape(shape) - target[..., None, :])
            return scale * difference.reshape(outputs.shape)

        inputs = joint_observations(graph, episodes, memory.params)
        gradient = decision_rows(graph, episodes).error_gradient(memory.params, inputs, error)
        return apply_gradient(self.optimiser, memory, gradient)


class AllRows(NamedTuple):
    """Every row of a graph on rules, where each decision of the batch has a row of its own."""

    decision: jax.Array  # [T, B] row of each decision

    def outputs(self, net: Net, inputs: jax.Array) -> jax.Array:
        """Return the network's outputs [T, B, Y] at all decisions."""
        return apply_net(net, inputs)[self.decision]

    def error_gradient(
        self, net: Net, inputs: jax.Array, error: Callable[[jax.Array], jax.Array]
    ) -> Net:
        """Return the gradient of outputs times their error, which counts as constant."""
        outputs, backward = jax.vjp(lambda net: apply_net(net, inputs), net)
        slope = jnp.zeros_like(outputs).at[self.decision].add(error(outputs[self.decision]))
        gradient: Net = backward(slope)[0]
        return gradient


class DistinctRows(NamedTuple):
    """The rows of a tree's graph that a batch visits, each once."""

    rows: UniqueRows

    def outputs(self, net: Net, inputs: jax.Array) -> jax.Array:
        """Return the network's outputs [T, B, Y] at all decisions."""
        return outputs_at_decisions(net, inputs, self.rows)

    def error_gradient(
        self, net: Net, inputs: jax.Array, error: Callable[[jax.Array], jax.Array]
    ) -> Net:
        """Return the gradient of outputs times their error, which counts as constant."""
        return error_gradient(net, inputs, self.rows, error)


def decision_rows(graph: Graph, episodes: Episodes) -> AllRows | DistinctRows:
    """Return the rows at which a critic is evaluated for a batch of episodes."""
    if graph.is_rollout_batch:
        return AllRows(episodes.decision)
    return DistinctRows(find_unique_rows(episodes.decision, episodes.live))


@dataclass(frozen=True)
class ExactCritic:
    """The exact values of the current policy, which are its memory; needs a tree."""

    is_exact: ClassVar[bool] = True
    covers_all_players: ClassVar[bool] = True

    def init_memory(self, graph: Graph, rng: np.random.Generator) -> Any:
        return np.zeros((0,), np.float32)

    def values(self, graph: Graph, memory: Any, episodes: Episodes) -> jax.Array:
        return jnp.where(episodes.live[..., None, None], memory[episodes.decision], 0.0)

    def update(self, graph: Graph, memory: Any, episodes: Episodes, target: jax.Array) -> Any:
        return np.zeros((0,), np.float32)


Critic = (
    HistoryTableCritic
    | InfosetTableCritic
    | ValueTableCritic
    | NetworkCritic
    | InfosetNetworkCritic
    | ZeroCritic
    | ExactCritic
)


def acting_player(episodes: Episodes) -> jax.Array:
    """Return the acting player [T, B, 1, 1]."""
    return episodes.player[..., None, None]


def actor_target(graph: Graph, episodes: Episodes, target: jax.Array) -> jax.Array:
    """Return the targets of the acting players [T, B, 1]."""
    actor = jnp.arange(graph.num_players) == episodes.player[..., None]
    return jnp.where(actor, target, 0.0).sum(-1, keepdims=True)


def move_towards_means(
    table: jax.Array, entries: Any, target: jax.Array, step_size: float
) -> jax.Array:
    """Return the table moved towards the mean target of each entry by 1 - (1 - step_size)**n.

    Args:
        table: the values [K, L, M].
        entries: indices of the first two axes, one for each target; those out of range are ignored.
        target: the targets [..., M]; n is their number at an entry.
        step_size: the step of a single target.
    """
    count = jnp.zeros(table.shape[:2]).at[entries].add(1.0, mode="drop")[..., None]
    total = jnp.zeros(table.shape).at[entries].add(target, mode="drop")
    step = 1.0 - (1.0 - step_size) ** count
    return table + step * (total / jnp.maximum(count, 1.0) - table)


def is_history_observable(graph: Graph) -> bool:
    """Return True if the players' observations together distinguish all decisions of a tree.

    They do not in games with simultaneous bids, where the first bid is not yet observed. On rules
    it is not known, and the result is False.
    """
    return not graph.is_rollout_batch and (
        len(np.unique(np.asarray(graph.observation_row), axis=1).T) == graph.num_decisions
    )


def joint_observations(graph: Graph, episodes: Episodes, net: Net) -> jax.Array:
    """Return the inputs of a critic's network [D, Y], valid at the decisions of these episodes.

    They include the acting player and last actions if the network has inputs for them.
    """
    observations = jnp.concatenate([graph.observation[v] for v in graph.observation_row], axis=1)
    if observations.shape[1] == net[0][0].shape[0]:
        return observations
    row = jnp.where(episodes.live, episodes.decision, graph.num_decisions)
    no_actions = jnp.full((graph.num_decisions, graph.num_players), -1, jnp.int32)
    last = no_actions.at[row].set(last_actions(episodes, graph.num_players), mode="drop")
    return append_turn(observations, graph.player, last, graph.max_actions)


def num_turn_inputs(num_players: int, num_actions: int) -> int:
    """Return the number of inputs that `append_turn` adds."""
    return num_players * (num_actions + 1)


def append_turn(
    observations: jax.Array, player: jax.Array, last_action: jax.Array, num_actions: int
) -> jax.Array:
    """Return joint observations with the acting player and all last actions [N, P * (X + 1 + A)].

    Without them, the histories before and after a hidden bid can look alike.

    Args:
        observations: of all players [N, P * X].
        player: the acting player [N].
        last_action: of all players [N, P]; -1 before the first.
        num_actions: A.
    """
    rows, num_players = last_action.shape
    acts = player[:, None] == jnp.arange(num_players)
    taken = (last_action[..., None] == jnp.arange(num_actions)).reshape(rows, -1)
    return jnp.concatenate([observations, acts, taken], axis=1)


def exact_action_values(
    graph: Graph, policy: jax.Array, reward: jax.Array | None = None
) -> jax.Array:
    """Return the exact values [D, A, P] of all actions to all players under a policy [I, A].

    Args:
        graph: the graph of a tree.
        policy: the policy of all players [I, A].
        reward: if given, a payment [I, A] that the acting player gets from each other player.
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
    payment: Any = 0.0
    if reward is not None:
        payment = zero_sum_rewards(graph, graph.player, reward[graph.infoset])

    def sweep(_: jax.Array, values: jax.Array) -> jax.Array:
        nodes = jnp.concatenate([(weight * (values + payment)).sum(1), graph.utility])
        after = jax.ops.segment_sum(
            chance[:, None] * nodes[graph.succ_node], edge, graph.succ_offset.size - 1
        )
        return jnp.where(legal[..., None], after[outgoing], 0.0)

    zeros = jnp.zeros((*legal.shape, graph.num_players))
    return jax.lax.fori_loop(0, graph.longest_episode, sweep, zeros)


def zero_sum_rewards(graph: Graph, player: jax.Array, action_reward: jax.Array) -> jax.Array:
    """Return the payments [..., A, P] of an action reward [..., A] that the others pay."""
    actor = jnp.arange(graph.num_players) == player[..., None]
    return action_reward[..., None] * jnp.where(actor, 1.0, -1.0)[..., None, :]


@settings(kw_only=True)
class CriticConfig:
    """Hyper-parameters of the critic of regret networks."""

    critic_hidden_sizes: HiddenSizes = (64, 64, 64)
    critic_lookahead: PositiveInt = 1  # actions before a target bootstraps from the critic
    critic_target_updates: PositiveInt = 10  # times per fit that targets are computed
    critic_train_steps: PositiveInt = 20  # Adam steps for each set of targets
    critic_batch_size: PositiveInt = 512  # decisions per step
    critic_buffer_size: PositiveInt = 200_000  # latest decisions, on rules; a tree counts all
    critic_learning_rate: NonNegative = 1e-3
    critic_sample_decay: PositiveProbability = 0.95  # factor on old samples' weight per iteration
    exact_critic: bool = False  # use exact values instead of a network; needs a tree


class HistoryIndex(NamedTuple):
    """Indices of a tree's decisions and successors; D decisions, E edges, F successors."""

    decisions: Ints  # [D] node of each decision
    child_node: Ints  # [E - 1] node after each action
    successor_edge: Ints  # [F] edge of each successor
    node: Ints  # [D + Z] node of each decision and terminal
    joint_observation: Any  # [D, X] inputs of the critic


@cache_on_tree
def index_histories(tree: TreeArena) -> HistoryIndex:
    """Return the indices that the critic of a tree needs."""
    graph = host_graph_from_tree(tree)
    decisions = np.flatnonzero(tree.player >= 0)
    lengths = np.diff(graph.succ_offset)
    return HistoryIndex(
        decisions,
        child_nodes(tree, decisions),
        np.repeat(np.arange(lengths.size), lengths).astype(np.int32),
        np.append(decisions, tree.terminals),
        _tree_critic_inputs(tree, decisions),
    )


def _tree_critic_inputs(tree: TreeArena, decisions: Ints) -> Any:
    """Return joint observations [D, X], extended by `append_turn`."""
    graph = host_graph_from_tree(tree)
    observations = np.concatenate(
        [np.asarray(graph.observation)[view] for view in graph.observation_row], axis=1
    )
    last = np.full((tree.num_nodes, tree.num_players), -1)
    for node in range(1, tree.num_nodes):
        parent = tree.parent[node]
        last[node] = last[parent]
        if tree.player[parent] >= 0:
            last[node, tree.player[parent]] = node - tree.child_offset[parent]
    player, last_action = jnp.asarray(tree.player[decisions]), jnp.asarray(last[decisions])
    inputs = append_turn(jnp.asarray(observations), player, last_action, tree.max_actions)
    return np.asarray(inputs, np.float32)


def exact_step_values(tree: TreeArena, policy: Floats) -> Floats:
    """Return the exact value of every node to each player [N, P] under a policy [S]."""
    value = np.zeros((tree.num_nodes, tree.num_players))
    nodes = tree.player, tree.child_offset, tree.chance, tree.infoset, tree.offset
    node_sweeps.node_values(*nodes, tree.utility, policy, value)
    return value


def new_tree_critic(config: CriticConfig, tree: TreeArena, rng: np.random.Generator) -> TrainState:
    """Return a critic with zero outputs; without layers for exact values."""
    if config.exact_critic:
        return TrainState([], [])
    num_inputs = index_histories(tree).joint_observation.shape[1]
    return _new_critic(config, num_inputs, tree.num_players * tree.max_actions, rng)


def new_rules_critic(
    name: str, config: CriticConfig, env: BatchedEnv, rng: np.random.Generator
) -> TrainState:
    """Return a critic with zero outputs.

    Args:
        name: the algorithm, for error messages.
        config: hyper-parameters of the critic.
        env: the rules.
        rng: initialises the network.

    Raises:
        ConfigError: exact values are wanted, which need a tree.
    """
    if config.exact_critic:
        problem = "exact_critic is a pass over the tree; on rules the critic is a network"
        raise ConfigError(f"{name}: {problem}")
    num_inputs = env.num_players * env.num_features
    num_inputs += num_turn_inputs(env.num_players, env.num_actions)
    return _new_critic(config, num_inputs, env.num_actions * env.num_players, rng)


def _new_critic(
    config: CriticConfig, num_inputs: int, num_outputs: int, rng: np.random.Generator
) -> TrainState:
    net = new_nets(rng, 1, (num_inputs, *config.critic_hidden_sizes, num_outputs), zero_head=True)
    train_state: TrainState = jax.device_put(init_train_states(optax.scale_by_adam(), net))
    return train_state


def fit_tree_critic(
    config: CriticConfig,
    tree: TreeArena,
    policy: Floats,
    visits: Floats,
    critic: TrainState,
    key: jax.Array,
) -> tuple[TrainState, Floats]:
    """Return the critic fitted to a policy, and its value of every node to each player [N, P].

    All transitions of the tree are known, so targets are computed for all of them at once.

    Args:
        config: hyper-parameters of the critic.
        tree: the game.
        policy: the current policy [S].
        visits: how often each node was visited [N], the weights of transitions.
        critic: the critic so far.
        key: samples minibatches.
    """
    if config.exact_critic:
        return critic, exact_step_values(tree, policy)
    index = index_histories(tree)
    critic, action_values = _fit_on_tree(
        config,
        graph_from_tree(tree),
        critic,
        index.joint_observation,
        table_from_sequences(tree, policy),
        visits[index.node].astype(np.float32),
        index.successor_edge,
        key,
    )
    legal = host_graph_from_tree(tree).legal[tree.infoset[index.decisions]]
    value = np.zeros((tree.num_nodes, tree.num_players))
    value[index.child_node] = np.asarray(action_values, np.float64)[legal]
    return critic, value


@lazy_jit(static_argnums=0, donate_argnums=2)
def _fit_on_tree(
    config: CriticConfig,
    graph: Graph,
    critic: TrainState,
    joint_observation: Any,
    policy: Any,
    visits: Any,
    edge: Any,
    key: jax.Array,
) -> tuple[TrainState, jax.Array]:
    """Return the critic fitted by expected SARSA, and its values [D, A, P].

    The target of an action is the expectation, over the successors visited so far, of the value
    under the policy [I, A]; `visits` [D + Z] are those of decisions and terminals.
    """
    legal = graph.legal[graph.infoset]  # [D, A]
    number = jnp.where(legal, graph.first_edge[:, None] + jnp.arange(legal.shape[1]), 0)
    successor_visits = visits[graph.succ_node]
    edge_visits = jnp.zeros(graph.succ_offset.size - 1).at[edge].add(successor_visits)  # [E]
    count = jnp.where(legal, edge_visits[number], 0.0)
    cumulative = jnp.cumsum(count.sum(-1))
    share = count / count.sum(-1, keepdims=True).clip(1e-30)

    def back_up(values: jax.Array) -> jax.Array:
        """Return the expectation [D, A, P] one action later, given values of actions [D, A, P]."""
        value = (policy[graph.infoset][..., None] * values).sum(1)
        value = jnp.append(value, graph.utility / graph.largest_utility, axis=0)
        total = (
            jnp.zeros((edge_visits.size, graph.num_players))
            .at[edge]
            .add(successor_visits[:, None] * value[graph.succ_node])
        )
        return (total / edge_visits.clip(1e-30)[:, None])[number]

    def targets(net: Net) -> jax.Array:
        """Return the values of visited actions [D, A, P], divided by the largest utility."""
        estimate = critic_values(net, graph, joint_observation)

        def deeper(_: jax.Array, values: jax.Array) -> jax.Array:
            return jnp.where(count[..., None] > 0.0, back_up(values), estimate)

        return jax.lax.fori_loop(0, config.critic_lookahead, deeper, estimate)

    def sample(target: jax.Array, key: jax.Array) -> Any:
        if cumulative.size <= config.critic_batch_size:
            return joint_observation, target, count
        draw = jax.random.uniform(key, (config.critic_batch_size,)) * cumulative[-1]
        row = jnp.searchsorted(cumulative, draw).clip(0, cumulative.size - 1)
        return joint_observation[row], target[row], share[row]

    def loss(net: Net, minibatch: Any) -> jax.Array:
        x, target, share = minibatch
        error = (critic_values(net, graph, x) - target) ** 2
        return (share * error.sum(-1)).sum() / share.sum().clip(1e-30)

    def fit_to_targets(train_state: TrainState, key: jax.Array) -> tuple[TrainState, None]:
        target = targets(train_state.params)
        return _fit_critic_steps(config, loss, train_state, partial(sample, target), key), None

    keys = jax.random.split(key, config.critic_target_updates)
    fitted = jax.lax.scan(fit_to_targets, select_player(critic, 0), keys)[0]
    values = graph.largest_utility * critic_values(fitted.params, graph, joint_observation)
    return replace_player(critic, 0, fitted), values


def critic_values(net: Net, graph: Graph, joint_observation: jax.Array) -> jax.Array:
    """Return the values [B, A, P] of all actions to each player, for the inputs [B, X]."""
    return apply_net(net, joint_observation).reshape(-1, graph.max_actions, graph.num_players)


def _fit_critic_steps(
    config: CriticConfig,
    loss: Callable[[Net, Any], jax.Array],
    train_state: TrainState,
    sample: Callable[[jax.Array], Any],
    key: jax.Array,
) -> TrainState:
    """Return the critic after the steps for one set of targets."""
    optimiser, rate = optax.scale_by_adam(), config.critic_learning_rate
    return fit_with_cosine_decay(
        optimiser, rate, loss, train_state, sample, key, config.critic_train_steps
    )


def fit_rules_critic(
    config: CriticConfig,
    env: BatchedEnv,
    transitions: Transitions,
    critic: TrainState,
    nets: Any,
    key: jax.Array,
) -> TrainState:
    """Return the critic fitted to the policies of the regret networks.

    Targets are computed for the sampled decisions of the ring only. The fit has finished on return,
    because the ring changes in place.
    """
    if transitions.num_seen[0]:
        critic = _fit_on_rules(config, critic, nets, transitions[1:], env.largest_utility, key)
    return wait_for(critic)


@lazy_jit(static_argnums=0, donate_argnums=1)
def _fit_on_rules(
    config: CriticConfig, critic: TrainState, nets: Any, columns: Any, unit: Any, key: jax.Array
) -> TrainState:
    """Return the critic fitted by expected SARSA to values in multiples of `unit`."""
    no_count: Any = jnp.zeros(1)
    ring = Transitions(no_count, *columns)
    size, players = ring.last_action.shape
    num_actions = ring.legal.shape[1]
    cumulative = jnp.cumsum(ring.weight)

    def values_at(net: Net, row: jax.Array) -> jax.Array:
        """Return the values of all actions [B, A, P]."""
        observations = ring.observation[row].reshape(len(row), -1)
        inputs = append_turn(observations, ring.player[row], ring.last_action[row], num_actions)
        return apply_net(net, inputs).reshape(-1, num_actions, players)

    def policy(row: jax.Array) -> jax.Array:
        """Return the current policy of the acting player [B, A]."""
        player = ring.player[row]
        observation = ring.observation[row, player]
        outputs = jnp.stack(
            [apply_net(select_player(nets, p), observation) for p in range(players)]
        )
        return regret_matching(outputs[player, jnp.arange(len(row))], ring.legal[row])

    def back_up(net: Net, row: jax.Array, depth: int) -> jax.Array:
        """Return the expected value [B, P] after the action taken, with this lookahead."""
        next_row = (row + 1) % size
        values = values_at(net, next_row)
        if depth > 1:
            taken = jnp.arange(num_actions) == ring.action[next_row][:, None]
            deeper = back_up(net, next_row, depth - 1)[:, None]
            values = jnp.where(taken[..., None], deeper, values)
        expected = (policy(next_row)[..., None] * values).sum(1)
        return jnp.where(ring.is_last_decision[row][:, None], ring.utility[row] / unit, expected)

    def fit_to_targets(train_state: TrainState, key: jax.Array) -> tuple[TrainState, None]:
        target_net = train_state.params

        def sample(key: jax.Array) -> Any:
            draw = jax.random.uniform(key, (config.critic_batch_size,)) * cumulative[-1]
            row = jnp.searchsorted(cumulative, draw).clip(0, size - 1)
            return row, back_up(target_net, row, config.critic_lookahead)

        def loss(net: Net, minibatch: Any) -> jax.Array:
            row, target = minibatch
            taken = jnp.arange(num_actions) == ring.action[row][:, None]
            error = values_at(net, row) - target[:, None]
            return jnp.where(taken[..., None], error**2, 0.0).sum() / len(row)

        return _fit_critic_steps(config, loss, train_state, sample, key), None

    keys = jax.random.split(key, config.critic_target_updates)
    fitted = jax.lax.scan(fit_to_targets, select_player(critic, 0), keys)[0]
    return replace_player(critic, 0, fitted)
