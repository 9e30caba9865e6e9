"""The average policy: in a table, exactly; as a network; as an ensemble of past networks.

All three weigh the policy of iteration t by t**average_power and by its player's own reach. The
table is as large as the game and costs a pass over all infosets; the other two cost what the
episodes cost, whatever the size of the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.algorithms.deep.common import replay
from counterplay.algorithms.deep.common.buffers import ReplayBuffer
from counterplay.algorithms.deep.common.episodes import Episodes
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.jax_algorithm import JaxAlgorithm
from counterplay.algorithms.deep.common.networks import (
    Net,
    apply_net,
    new_nets,
    select_player,
    softmax,
)
from counterplay.algorithms.deep.common.training import (
    TrainState,
    apply_gradient,
    init_train_states,
)
from counterplay.core.field_bounds import NON_NEGATIVE, FieldBound, at_least, check_bounds
from counterplay.core.settings import settings
from counterplay.errors import ConfigError

WEIGHT_SCALE_ITERATIONS = (
    1e5  # iterations at which the weight of an iteration passes 1: keeps sums in range
)

RANGES: dict[str, FieldBound] = {
    **dict.fromkeys(("average_batch_size", "reservoir_size"), at_least(1)),
    **dict.fromkeys(("average_every", "ensemble_size"), at_least(0)),
    **dict.fromkeys(("average_power", "average_learning_rate"), NON_NEGATIVE),
    "average_hidden_sizes": (lambda units: not units or min(units) >= 1, "sizes of at least 1"),
}

Head = Callable[[jax.Array, jax.Array], jax.Array]  # outputs [..., A], legal [..., A] -> policy


@settings(kw_only=True)
class AverageConfig(JaxAlgorithm):
    """The choices, which every algorithm that averages its policies shares."""

    average_power: float = 0.0
    average_every: int = 1  # iterations between two additions to the table; 0: no table is kept
    average_hidden_sizes: tuple[int, ...] = ()  # of the average network; none: it is not trained
    average_learning_rate: float = 1e-3
    average_batch_size: int = 128
    reservoir_size: int = 65_536
    ensemble_size: int = 0  # in the ensemble

    def __post_init__(self) -> None:
        check_bounds(self.name, self, RANGES)
        if not (self.average_every or self.average_hidden_sizes or self.ensemble_size):
            missing = "set average_every, average_hidden_sizes or ensemble_size"
            raise ConfigError(f"{self.name}: no average is kept; {missing}")


class AverageState(NamedTuple):
    """What is kept of the policies so far; arrays of size zero for what is not kept."""

    policy_sum: jax.Array  # [F] reach-weighted sum over the sequences of the tree's form
    rounding_error: jax.Array  # [F] what rounding has lost of it (Kahan, 1965)
    ensemble_iterations: jax.Array  # [M] when the networks of the ensemble were taken; 0: not yet
    ensemble: Net  # every array [M, P, ...]
    reservoir: ReplayBuffer  # of (where, policy, weight)
    network: TrainState  # [P] trained on it


def average_optimiser(config: Any) -> optax.GradientTransformation:
    return optax.adam(config.average_learning_rate)


def new_average_state(
    config: Any,
    graph: Graph,
    rng: np.random.Generator,
    nets: Net,
    reservoir_size: int,
    network_optimiser: optax.GradientTransformation | None = None,
) -> AverageState:
    """Before the first iteration, of players with such networks; `how` trains the average's."""
    size = graph.sequence_path.shape[0] if config.average_every else 0
    room = config.ensemble_size
    item = np.zeros(graph.max_actions, np.float32), np.float32(0)
    sizes = (graph.num_features, *config.average_hidden_sizes, graph.max_actions)
    network = new_nets(rng, graph.num_players, sizes) if config.average_hidden_sizes else []
    return AverageState(
        policy_sum=np.zeros(size, np.float32),
        rounding_error=np.zeros(size, np.float32),
        ensemble_iterations=np.zeros(room, np.int32),
        ensemble=jax.tree.map(lambda w: np.zeros((room, *w.shape), w.dtype), nets if room else []),
        reservoir=replay.new_replay_buffer(graph, reservoir_size if network else 1, *item),
        network=init_train_states(network_optimiser or average_optimiser(config), network)
        if network
        else TrainState([], []),
    )


def add_policies(
    config: Any,
    averages: AverageState,
    graph: Graph,
    t: jax.Array,
    nets: Net,
    make_table: Callable[[], jax.Array],
    key: jax.Array,
) -> AverageState:
    """Add the policies of iteration t: their table [I, A] is made only if it is wanted."""

    def add(sums: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        total, lost = sums
        corrected = (t / WEIGHT_SCALE_ITERATIONS) ** config.average_power * sequence_reach(
            graph, make_table()
        ) - lost
        new = total + corrected
        return new, (new - total) - corrected

    sums = averages.policy_sum, averages.rounding_error
    if not averages.policy_sum.size:  # no table is wanted, or there is none: on rules
        pass
    elif config.average_every == 1:
        sums = add(sums)
    elif config.average_every:
        sums = jax.lax.cond(t % config.average_every == 0, add, lambda sums: sums, sums)
    averages = averages._replace(policy_sum=sums[0], rounding_error=sums[1])
    return add_to_ensemble(averages, nets, t, key) if config.ensemble_size else averages


def sequence_reach(graph: Graph, table: jax.Array) -> jax.Array:
    """Each sequence's reach [F] under a table of probabilities [I, A]."""
    policy = table[graph.sequence[:, 0], graph.sequence[:, 1]]
    return jnp.append(policy, 1.0)[graph.sequence_path].prod(axis=1)


def add_to_ensemble(
    averages: AverageState, nets: Net, t: jax.Array, key: jax.Array
) -> AverageState:
    """Take the networks of iteration t with probability M / t, in place of random ones.

    So those kept are a uniform sample of all. Whoever draws one of them at the start of an episode,
    and keeps to it, plays the average policy up to the error of such a sample.
    """
    size = averages.ensemble_iterations.size
    drawn = (jax.random.uniform(key) * t).astype(jnp.int32)
    slot = jnp.where(t <= size, t - 1, drawn)

    def put(room: jax.Array, new: jax.Array) -> jax.Array:
        return room.at[slot].set(new, mode="drop")  # out of range: not taken, nothing is copied

    past = jax.tree.map(put, averages.ensemble, nets)
    return averages._replace(
        ensemble_iterations=put(averages.ensemble_iterations, t), ensemble=past
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
    """Offer the others' policies to the reservoir, and train the average networks on a draw."""
    insert_key, draw_key = jax.random.split(key)
    weight, valid = reservoir_weights(episodes, traverser, graph.num_players)
    counts = (t / WEIGHT_SCALE_ITERATIONS) ** config.average_power * weight
    items, valid = replay.buffer_items(graph, episodes, valid, episodes.policy, counts)
    buffer = replay.add_to_reservoir(graph, averages.reservoir, insert_key, items, valid)
    some = replay.sample_minibatch(graph, buffer, draw_key, config.average_batch_size)
    here, infoset, (policy, weight) = some
    legal, owner = here.legal[infoset], here.infoset_player[infoset]

    def loss(nets: Net) -> jax.Array:
        total = jnp.zeros(())
        for player in range(graph.num_players):
            logits = apply_net(
                select_player(nets, player), here.observation[here.own_observation_row[infoset]]
            )
            log = jnp.log(jnp.maximum(softmax(logits, legal), 1e-30))
            mine = jnp.where(owner == player, weight, 0.0)
            total -= (mine[:, None] * policy * log).sum() / mine.sum().clip(1e-30)
        return total

    gradient = jax.grad(loss)(averages.network.params)
    step = jax.vmap(
        lambda trained, slope: apply_gradient(average_optimiser(config), trained, slope)
    )
    return averages._replace(reservoir=buffer, network=step(averages.network, gradient))


def reservoir_weights(
    episodes: Episodes, traverser: int | jax.Array, num_players: int
) -> tuple[jax.Array, jax.Array]:
    """The weight [T, B] of each policy met, and whether it counts.

    The others play what they are, so that each meets its infosets in proportion to its own reach,
    as the average wants it; the reach of everybody else is divided out.
    """
    played = jnp.where(episodes.live, episodes.sampling_prob, 1.0)
    before = jnp.cumprod(played, axis=0) / played
    own = jnp.ones_like(before)
    for player in range(num_players):
        mine = jnp.where(episodes.player == player, played, 1.0)
        own = jnp.where(episodes.player == player, jnp.cumprod(mine, axis=0) / mine, own)
    return own / before, episodes.live & (episodes.player != traverser)


def infoset_policies(nets: Net | tuple[Net, ...], graph: Graph, head: Head = softmax) -> jax.Array:
    """The policies [I, A] of every player's network, at its own infosets."""
    rows = []
    for player, first in enumerate(graph.first_infoset[:-1]):
        own = slice(first, graph.first_infoset[player + 1])
        outputs = apply_net(
            select_player(nets, player), graph.observation[graph.own_observation_row[own]]
        )
        rows.append(head(outputs, graph.legal[own]))
    return jnp.concatenate(rows)


def tabulate_averages(
    config: Any, averages: AverageState, graph: Graph, head: Head = softmax
) -> dict[str, jax.Array]:
    """The averages that are kept, as tables [I, A] of weights, the exact one first."""
    tables = {}
    if config.average_every and averages.policy_sum.size:
        tables["average"] = table_from_form_sums(graph, averages.policy_sum)
    if config.average_hidden_sizes:
        tables["network"] = infoset_policies(averages.network.params, graph)
    if config.ensemble_size:

        def add(total: jax.Array, one: Any) -> tuple[jax.Array, None]:
            step, nets = one
            weight = jnp.where(
                step > 0, (step / WEIGHT_SCALE_ITERATIONS) ** config.average_power, 0.0
            )
            return total + weight * sequence_reach(graph, infoset_policies(nets, graph, head)), None

        nothing = jnp.zeros(graph.sequence_path.shape[0])
        total, _ = jax.lax.scan(add, nothing, (averages.ensemble_iterations, averages.ensemble))
        tables["ensemble"] = table_from_form_sums(graph, total)
    return tables


def ensemble_networks(
    averages: AverageState, average_power: float
) -> dict[str, tuple[list[Net], list[float]]]:
    """The ensemble as networks and their weights, by name, if any were kept."""
    taken = np.flatnonzero(np.asarray(averages.ensemble_iterations)).tolist()
    if not taken:
        return {}
    nets = [jax.tree.map(lambda every, k=k: every[k], averages.ensemble) for k in taken]
    return {
        "ensemble": (
            nets,
            [
                (int(averages.ensemble_iterations[k]) / WEIGHT_SCALE_ITERATIONS) ** average_power
                for k in taken
            ],
        )
    }


def table_from_form_sums(graph: Graph, form_sums: jax.Array) -> jax.Array:
    """Sums [F] over the form's sequences as a table [I, A] of weights."""
    infoset, action = graph.sequence.T
    return jnp.zeros(graph.legal.shape).at[infoset, action].add(graph.num_histories * form_sums)
