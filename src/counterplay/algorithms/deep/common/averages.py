"""Average policies: an exact table, a network, or an ensemble of past networks.

Each weights the policy of iteration t by t**average_power and by its player's own reach. The table
costs a pass over all infosets and needs a tree. The cost of the other two depends on the number of
episodes only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.algorithms.deep.common import replay
from counterplay.algorithms.deep.common.buffers import ReplayBuffer
from counterplay.algorithms.deep.common.dedup import error_gradient, find_unique_rows
from counterplay.algorithms.deep.common.episodes import Episodes
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.jax_algorithm import JaxAlgorithm
from counterplay.algorithms.deep.common.networks import (
    Net,
    apply_net,
    new_nets,
    select_player,
    softmax,
    stack_players,
)
from counterplay.algorithms.deep.common.training import (
    TrainState,
    apply_gradient,
    init_train_states,
)
from counterplay.core.settings import (
    NonNegative,
    NonNegativeInt,
    OptionalHiddenSizes,
    PositiveInt,
    settings,
)
from counterplay.errors import ConfigError

WEIGHT_SCALE_ITERATIONS = 1e5  # iteration whose weight is 1; keeps sums in single precision

Head = Callable[[jax.Array, jax.Array], jax.Array]  # outputs, legal [..., A] -> policy [..., A]


class AverageSettings(Protocol):
    """The parameters of averages, as every algorithm with an average has them."""

    @property
    def average_power(self) -> float: ...
    @property
    def average_every(self) -> int: ...
    @property
    def average_hidden_sizes(self) -> tuple[int, ...]: ...
    @property
    def average_learning_rate(self) -> float: ...
    @property
    def ensemble_size(self) -> int: ...


@settings(kw_only=True)
class AverageConfig(JaxAlgorithm):
    """Hyper-parameters of the average policy, for algorithms that are one compiled program."""

    average_power: NonNegative = 0.0
    average_every: NonNegativeInt = 1  # iterations between updates of the table; 0: no table
    average_hidden_sizes: OptionalHiddenSizes = ()  # of the average network; (): no network
    average_learning_rate: NonNegative = 1e-3
    average_batch_size: PositiveInt = 128
    reservoir_size: PositiveInt = 65_536
    ensemble_size: NonNegativeInt = 0  # past networks in the ensemble; 0: no ensemble

    def __post_init__(self) -> None:
        if not (self.average_every or self.average_hidden_sizes or self.ensemble_size):
            missing = "set average_every, average_hidden_sizes or ensemble_size"
            raise ConfigError(f"{self.name}: no average is kept; {missing}")


class AverageState(NamedTuple):
    """The averages so far; arrays of those that are not computed have size zero."""

    policy_sum: jax.Array  # [F] reach-weighted sum over the sequences of the tree's form
    rounding_error: jax.Array  # [F] its compensation in Kahan summation (Kahan, 1965)
    ensemble_iterations: jax.Array  # [M] iteration of each network of the ensemble; 0: empty
    ensemble: Any  # networks of all players; every array [M, P, ...]
    reservoir: ReplayBuffer  # of (infoset, policy, weight)
    network: TrainState  # [P] trained on the reservoir


def average_optimiser(config: AverageSettings) -> optax.GradientTransformation:
    """Return the optimiser of the average network."""
    return optax.adam(config.average_learning_rate)


def new_average_state(
    config: AverageSettings,
    graph: Graph,
    rng: np.random.Generator,
    nets: Any,
    reservoir_size: int,
    network_optimiser: optax.GradientTransformation | None = None,
) -> AverageState:
    """Return the averages before the first iteration.

    Args:
        config: the parameters of the averages.
        graph: the game.
        rng: initialises the average network.
        nets: networks of all players, of which the ensemble will hold copies.
        reservoir_size: capacity of the reservoir, if there is an average network.
        network_optimiser: the optimiser of the average network, if not `average_optimiser`.
    """
    table_size = graph.sequence_path.shape[0] if config.average_every else 0
    num_nets = config.ensemble_size
    item = np.zeros(graph.max_actions, np.float32), np.float32(0)
    sizes = (graph.num_features, *config.average_hidden_sizes, graph.max_actions)
    network = new_nets(rng, graph.num_players, sizes) if config.average_hidden_sizes else []
    policy_sum: Any = np.zeros(table_size, np.float32)
    rounding_error: Any = np.zeros(table_size, np.float32)
    iterations: Any = np.zeros(num_nets, np.int32)
    return AverageState(
        policy_sum=policy_sum,
        rounding_error=rounding_error,
        ensemble_iterations=iterations,
        ensemble=jax.tree.map(
            lambda w: np.zeros((num_nets, *w.shape), w.dtype), nets if num_nets else []
        ),
        reservoir=replay.new_replay_buffer(graph, reservoir_size if network else 1, *item),
        network=init_train_states(network_optimiser or average_optimiser(config), network)
        if network
        else TrainState([], []),
    )


def add_policies(
    config: AverageSettings,
    averages: AverageState,
    graph: Graph,
    t: Any,
    nets: Any,
    make_table: Callable[[], jax.Array],
    key: jax.Array,
) -> AverageState:
    """Return the averages with the policies of iteration t.

    Args:
        config: the parameters of the averages.
        averages: the averages so far.
        graph: the game.
        t: the iteration, from 1.
        nets: the networks of all players, for the ensemble.
        make_table: computes the policies [I, A]; called only if there is a table.
        key: decides which network of the ensemble is replaced.
    """

    def add(sums: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        total, error = sums
        corrected = (t / WEIGHT_SCALE_ITERATIONS) ** config.average_power * sequence_reach(
            graph, make_table()
        ) - error
        new_total = total + corrected
        return new_total, (new_total - total) - corrected

    sums = averages.policy_sum, averages.rounding_error
    if not averages.policy_sum.size:  # no table: switched off, or on rules
        pass
    elif config.average_every == 1:
        sums = add(sums)
    elif config.average_every:
        sums = jax.lax.cond(t % config.average_every == 0, add, lambda sums: sums, sums)
    averages = averages._replace(policy_sum=sums[0], rounding_error=sums[1])
    return add_to_ensemble(averages, nets, t, key) if config.ensemble_size else averages


def sequence_reach(graph: Graph, table: jax.Array) -> jax.Array:
    """Return the own reach of each sequence [F] under a table of probabilities [I, A]."""
    policy = table[graph.sequence[:, 0], graph.sequence[:, 1]]
    return jnp.append(policy, 1.0)[graph.sequence_path].prod(axis=1)


def add_to_ensemble(averages: AverageState, nets: Any, t: Any, key: jax.Array) -> AverageState:
    """Return the averages after the networks of iteration t replaced others with probability M / t.

    The ensemble is a uniform sample of all iterations. An agent that draws one of its networks at
    the start of each episode plays the average policy, up to the error of that sample.
    """
    size = averages.ensemble_iterations.size
    random_slot = (jax.random.uniform(key) * t).astype(jnp.int32)
    slot = jnp.where(t <= size, t - 1, random_slot)

    def write(array: jax.Array, new: Any) -> jax.Array:
        return array.at[slot].set(new, mode="drop")  # out of range: rejected, nothing is copied

    ensemble = jax.tree.map(write, averages.ensemble, nets)
    return averages._replace(
        ensemble_iterations=write(averages.ensemble_iterations, t), ensemble=ensemble
    )


def train_average_network(
    config: AverageConfig,
    averages: AverageState,
    graph: Graph,
    t: jax.Array,
    episodes: Episodes,
    traverser: int | jax.Array,
    key: jax.Array,
) -> AverageState:
    """Return the averages after one step of the average networks.

    The policies of all players except the traverser are offered to the reservoir; the step uses a
    minibatch of it.
    """
    insert_key, draw_key = jax.random.split(key)
    weight, valid = reservoir_weights(episodes, traverser, graph.num_players)
    counts = (t / WEIGHT_SCALE_ITERATIONS) ** config.average_power * weight
    items, valid = replay.buffer_items(graph, episodes, valid, episodes.policy, counts)
    buffer = replay.add_to_reservoir(graph, averages.reservoir, insert_key, items, valid)
    minibatch = replay.sample_minibatch(graph, buffer, draw_key, config.average_batch_size)
    batch_graph, infoset, (policy, weight) = minibatch
    owner = batch_graph.infoset_player[infoset]
    gradient = stack_players(
        [
            cross_entropy_gradient(
                select_player(averages.network.params, player),
                batch_graph,
                infoset,
                policy,
                jnp.where(owner == player, weight, 0.0),
            )
            for player in range(graph.num_players)
        ]
    )
    step: Any = jax.vmap(
        lambda train_state, slope: apply_gradient(average_optimiser(config), train_state, slope)
    )
    return averages._replace(reservoir=buffer, network=step(averages.network, gradient))


def cross_entropy_gradient(
    net: Net, graph: Graph, infoset: jax.Array, policy: jax.Array, weight: jax.Array
) -> Net:
    """Return the gradient of the weighted mean cross-entropy of policies [B, A] at infosets [B].

    The network is evaluated once per distinct infoset of positive weight. The gradient of the
    logits is weight * (softmax - policy).
    """
    unique_rows = find_unique_rows(graph.own_observation_row[infoset], weight > 0)
    share = (weight / weight.sum().clip(1e-30))[:, None]

    def error(logits: jax.Array) -> jax.Array:
        return share * (softmax(logits, graph.legal[infoset]) - policy)

    return error_gradient(net, graph.observation, unique_rows, error)


def reservoir_weights(
    episodes: Episodes, traverser: int | jax.Array, num_players: int
) -> tuple[jax.Array, jax.Array]:
    """Return the weight [T, B] of the policy at each decision, and a mask of those to store.

    All players but the traverser follow their policies, so that each visits its infosets in
    proportion to its own reach, as the average requires; the reach of all others is divided out.
    """
    prob = jnp.where(episodes.live, episodes.sampling_prob, 1.0)
    reach = jnp.cumprod(prob, axis=0) / prob
    own_reach = jnp.ones_like(reach)
    for player in range(num_players):
        own_prob = jnp.where(episodes.player == player, prob, 1.0)
        before = jnp.cumprod(own_prob, axis=0) / own_prob
        own_reach = jnp.where(episodes.player == player, before, own_reach)
    return own_reach / reach, episodes.live & (episodes.player != traverser)


def infoset_policies(nets: Net | tuple[Net, ...], graph: Graph, head: Head = softmax) -> jax.Array:
    """Return the policies [I, A] of every player's network at its own infosets."""
    rows = []
    for player, first in enumerate(graph.first_infoset[:-1]):
        infosets = slice(first, graph.first_infoset[player + 1])
        observation = graph.observation[graph.own_observation_row[infosets]]
        outputs = apply_net(select_player(nets, player), observation)
        rows.append(head(outputs, graph.legal[infosets]))
    return jnp.concatenate(rows)


def tabulate_averages(
    config: AverageSettings, averages: AverageState, graph: Graph, head: Head = softmax
) -> dict[str, jax.Array]:
    """Return the averages by name, as tables of weights [I, A]; the exact one comes first."""
    tables = {}
    if config.average_every and averages.policy_sum.size:
        tables["average"] = table_from_form_sums(graph, averages.policy_sum)
    if config.average_hidden_sizes:
        tables["network"] = infoset_policies(averages.network.params, graph)
    if config.ensemble_size:

        def add(total: jax.Array, member: Any) -> tuple[jax.Array, None]:
            t, nets = member
            weight = jnp.where(t > 0, (t / WEIGHT_SCALE_ITERATIONS) ** config.average_power, 0.0)
            return total + weight * sequence_reach(graph, infoset_policies(nets, graph, head)), None

        zeros = jnp.zeros(graph.sequence_path.shape[0])
        total, _ = jax.lax.scan(add, zeros, (averages.ensemble_iterations, averages.ensemble))
        tables["ensemble"] = table_from_form_sums(graph, total)
    return tables


def ensemble_networks(
    averages: AverageState, average_power: float
) -> dict[str, tuple[list[Any], list[float]]]:
    """Return the networks of the ensemble and their weights by name; empty without an ensemble."""
    iterations = np.asarray(averages.ensemble_iterations)
    members = np.flatnonzero(iterations).tolist()
    if not members:
        return {}
    nets = [jax.tree.map(lambda array, k=k: array[k], averages.ensemble) for k in members]
    weights = [(int(iterations[k]) / WEIGHT_SCALE_ITERATIONS) ** average_power for k in members]
    return {"ensemble": (nets, weights)}


def table_from_form_sums(graph: Graph, form_sums: jax.Array) -> jax.Array:
    """Return sums over the sequences of the tree's form [F] as a table of weights [I, A]."""
    infoset, action = graph.sequence.T
    return jnp.zeros(graph.legal.shape).at[infoset, action].add(graph.num_histories * form_sums)
