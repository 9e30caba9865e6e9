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

from counterplay.deep import places
from counterplay.deep.buffers import Buffer
from counterplay.deep.device import OnDevice
from counterplay.deep.episodes import Episodes
from counterplay.deep.fitting import Trained, descend, in_training
from counterplay.deep.graph import Graph
from counterplay.deep.nets import Net, apply_net, new_nets, one_of, softmax
from counterplay.errors import ConfigError
from counterplay.settings import settings
from counterplay.tabular.ranges import FINITE, Range, at_least, check

SCALE = 1e5  # iterations at which the weight of an iteration passes 1: keeps sums in range

RANGES: dict[str, Range] = {
    **dict.fromkeys(("average_batch", "reservoir_size"), at_least(1)),
    **dict.fromkeys(("average_every", "past_networks"), at_least(0)),
    **dict.fromkeys(("average_power", "average_lr"), FINITE),
    "average_units": (lambda units: not units or min(units) >= 1, "sizes of at least 1"),
}

Head = Callable[[jax.Array, jax.Array], jax.Array]  # outputs [..., A], legal [..., A] -> policy


@settings(kw_only=True)
class Averaging(OnDevice):
    """The choices, which every algorithm that averages its policies shares."""

    average_power: float = 0.0
    average_every: int = 1  # iterations between two additions to the table; 0: no table is kept
    average_units: tuple[int, ...] = ()  # of the average network; none: it is not trained
    average_lr: float = 1e-3
    average_batch: int = 128
    reservoir_size: int = 65_536
    past_networks: int = 0  # in the ensemble

    def __post_init__(self) -> None:
        check(self.name, self, RANGES)
        if not (self.average_every or self.average_units or self.past_networks):
            missing = "set average_every, average_units or past_networks"
            raise ConfigError(f"{self.name}: no average is kept; {missing}")


class Averages(NamedTuple):
    """What is kept of the policies so far; arrays of size zero for what is not kept."""

    total: jax.Array  # [F] reach-weighted sum over the sequences of the tree's form
    lost: jax.Array  # [F] what rounding has lost of it (Kahan, 1965)
    steps: jax.Array  # [M] when the networks of the ensemble were taken; 0: not yet
    past: Net  # every array [M, P, ...]
    buffer: Buffer  # of (where, policy, weight)
    network: Trained  # [P] trained on it


def optimiser(choices: Any) -> optax.GradientTransformation:
    return optax.adam(choices.average_lr)


def no_averages(
    choices: Any,
    graph: Graph,
    rng: np.random.Generator,
    nets: Net,
    reservoir_size: int,
    how: optax.GradientTransformation | None = None,
) -> Averages:
    """Before the first iteration, of players with such networks; `how` trains the average's."""
    size = graph.path.shape[0] if choices.average_every else 0
    room = choices.past_networks
    item = np.zeros(graph.max_actions, np.float32), np.float32(0)
    sizes = (graph.num_features, *choices.average_units, graph.max_actions)
    network = new_nets(rng, graph.num_players, sizes) if choices.average_units else []
    return Averages(
        total=np.zeros(size, np.float32),
        lost=np.zeros(size, np.float32),
        steps=np.zeros(room, np.int32),
        past=jax.tree.map(lambda w: np.zeros((room, *w.shape), w.dtype), nets if room else []),
        buffer=places.room(graph, reservoir_size if network else 1, *item),
        network=in_training(how or optimiser(choices), network) if network else Trained([], []),
    )


def remember(
    choices: Any,
    averages: Averages,
    graph: Graph,
    t: jax.Array,
    nets: Net,
    table: Callable[[], jax.Array],
    key: jax.Array,
) -> Averages:
    """Add the policies of iteration t: their table [I, A] is made only if it is wanted."""

    def add(sums: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        total, lost = sums
        corrected = (t / SCALE) ** choices.average_power * reach_of(graph, table()) - lost
        new = total + corrected
        return new, (new - total) - corrected

    sums = averages.total, averages.lost
    if not averages.total.size:  # no table is wanted, or there is none: on rules
        pass
    elif choices.average_every == 1:
        sums = add(sums)
    elif choices.average_every:
        sums = jax.lax.cond(t % choices.average_every == 0, add, lambda sums: sums, sums)
    averages = averages._replace(total=sums[0], lost=sums[1])
    return keep_networks(averages, nets, t, key) if choices.past_networks else averages


def reach_of(graph: Graph, table: jax.Array) -> jax.Array:
    """Each sequence's reach [F] under a table of probabilities [I, A]."""
    policy = table[graph.sequence[:, 0], graph.sequence[:, 1]]
    return jnp.append(policy, 1.0)[graph.path].prod(axis=1)


def keep_networks(averages: Averages, nets: Net, t: jax.Array, key: jax.Array) -> Averages:
    """Take the networks of iteration t with probability M / t, in place of random ones.

    So those kept are a uniform sample of all. Whoever draws one of them at the start of an episode,
    and keeps to it, plays the average policy up to the error of such a sample.
    """
    size = averages.steps.size
    drawn = (jax.random.uniform(key) * t).astype(jnp.int32)
    slot = jnp.where(t <= size, t - 1, drawn)

    def put(room: jax.Array, new: jax.Array) -> jax.Array:
        return room.at[slot].set(new, mode="drop")  # out of range: not taken, nothing is copied

    past = jax.tree.map(put, averages.past, nets)
    return averages._replace(steps=put(averages.steps, t), past=past)


def train_network(
    choices: Averaging,
    averages: Averages,
    graph: Graph,
    t: jax.Array,
    episodes: Episodes,
    traverser: jax.Array,
    key: jax.Array,
) -> Averages:
    """Offer the others' policies to the reservoir, and train the average networks on a draw."""
    insert_key, draw_key = jax.random.split(key)
    weight, valid = offered(episodes, traverser, graph.num_players)
    counts = (t / SCALE) ** choices.average_power * weight
    items, valid = places.items(graph, episodes, valid, episodes.policy, counts)
    buffer = places.into_reservoir(graph, averages.buffer, insert_key, items, valid)
    some = places.draw(graph, buffer, draw_key, choices.average_batch)
    here, infoset, (policy, weight) = some
    legal, owner = here.legal[infoset], here.owner[infoset]

    def loss(nets: Net) -> jax.Array:
        total = jnp.zeros(())
        for player in range(graph.num_players):
            logits = apply_net(one_of(nets, player), here.observation[here.own_view[infoset]])
            log = jnp.log(jnp.maximum(softmax(logits, legal), 1e-30))
            mine = jnp.where(owner == player, weight, 0.0)
            total -= (mine[:, None] * policy * log).sum() / mine.sum().clip(1e-30)
        return total

    gradient = jax.grad(loss)(averages.network.params)
    step = jax.vmap(lambda trained, slope: descend(optimiser(choices), trained, slope))
    return averages._replace(buffer=buffer, network=step(averages.network, gradient))


def offered(
    episodes: Episodes, traverser: jax.Array, num_players: int
) -> tuple[jax.Array, jax.Array]:
    """The weight [T, B] of each policy met, and whether it counts.

    The others play what they are, so that each meets its infosets in proportion to its own reach,
    as the average wants it; the reach of everybody else is divided out.
    """
    played = jnp.where(episodes.live, episodes.played, 1.0)
    before = jnp.cumprod(played, axis=0) / played
    own = jnp.ones_like(before)
    for player in range(num_players):
        mine = jnp.where(episodes.player == player, played, 1.0)
        own = jnp.where(episodes.player == player, jnp.cumprod(mine, axis=0) / mine, own)
    return own / before, episodes.live & (episodes.player != traverser)


def policies_of(nets: Net, graph: Graph, head: Head = softmax) -> jax.Array:
    """The policies [I, A] of every player's network, at its own infosets."""
    rows = []
    for player, first in enumerate(graph.first_infoset[:-1]):
        own = slice(first, graph.first_infoset[player + 1])
        outputs = apply_net(one_of(nets, player), graph.observation[graph.own_view[own]])
        rows.append(head(outputs, graph.legal[own]))
    return jnp.concatenate(rows)


def average_tables(
    choices: Any, averages: Averages, graph: Graph, head: Head = softmax
) -> dict[str, jax.Array]:
    """The averages that are kept, as tables [I, A] of weights, the exact one first."""
    tables = {}
    if choices.average_every and averages.total.size:
        tables["average"] = merged(graph, averages.total)
    if choices.average_units:
        tables["network"] = policies_of(averages.network.params, graph)
    if choices.past_networks:

        def add(total: jax.Array, one: Any) -> tuple[jax.Array, None]:
            step, nets = one
            weight = jnp.where(step > 0, (step / SCALE) ** choices.average_power, 0.0)
            return total + weight * reach_of(graph, policies_of(nets, graph, head)), None

        nothing = jnp.zeros(graph.path.shape[0])
        total, _ = jax.lax.scan(add, nothing, (averages.steps, averages.past))
        tables["ensemble"] = merged(graph, total)
    return tables


def past_of(averages: Averages, power: float) -> dict[str, tuple[list[Net], list[float]]]:
    """The ensemble as networks and their weights, by name, if any were kept."""
    taken = np.flatnonzero(np.asarray(averages.steps)).tolist()
    if not taken:
        return {}
    nets = [jax.tree.map(lambda every, k=k: every[k], averages.past) for k in taken]
    return {"ensemble": (nets, [(int(averages.steps[k]) / SCALE) ** power for k in taken])}


def merged(graph: Graph, total: jax.Array) -> jax.Array:
    """Sums [F] over the form's sequences as a table [I, A] of weights."""
    infoset, action = graph.sequence.T
    return jnp.zeros(graph.legal.shape).at[infoset, action].add(graph.histories * total)
