"""Neural fictitious self-play."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.deep import buffers
from counterplay.deep.averages import policies_of
from counterplay.deep.buffers import Buffer
from counterplay.deep.device import OnDevice
from counterplay.deep.episodes import Decisions, Episodes, decisions_of, sample
from counterplay.deep.fitting import Trained, descend, in_training
from counterplay.deep.gradients import SIZES, logits_of
from counterplay.deep.graph import Graph
from counterplay.deep.nets import Net, apply_net, new_nets, one_of, softmax, uniform, with_one
from counterplay.evaluate import expected_values, judge
from counterplay.policy import Policy
from counterplay.tabular.ranges import FINITE, PART, Range, at_least, check
from counterplay.tree import Tree

RANGES: dict[str, Range] = {
    **dict.fromkeys(("episodes", "updates", "batch", "horizon", "target_every"), at_least(1)),
    **dict.fromkeys(("ring_size", "reservoir_size"), at_least(1)),
    **dict.fromkeys(("lr", "lr_end", "average_lr", "average_lr_end", "scale"), FINITE),
    **dict.fromkeys(("eta", "epsilon", "epsilon_end"), PART),
    "units": SIZES,
}


class State(NamedTuple):
    """What an iteration changes; one of each per player."""

    response: Trained  # Q
    target: Net  # Q as it was
    average: Trained  # Pi
    ring: tuple[Buffer, ...]  # of (infoset, action, payoff, next infoset or I)
    reservoir: tuple[Buffer, ...]  # of (infoset, action) of best responses
    counts: jax.Array  # [I, A] of best responses, all of them


@dataclass(frozen=True, kw_only=True)
class NFSP(OnDevice):
    """NFSP (Heinrich and Silver, 2016). At t = 1, 2, ...:

        `episodes` episodes, in each of which a player plays, throughout, with probability eta
        epsilon-greedily by its Q, else its average policy Pi = softmax of a network
        ring: every decision, its payoff and the player's next decision
        reservoir: what Q liked best at decisions of those who played by Q
        `updates` times, for each player, on minibatches of the ring and of the reservoir:
        Q  = Q  - lr_t * grad mean of (Q(I, a) - payoff - max over legal b of Q'(I', b))^2
        Pi = Pi - lr_t * grad mean of -log Pi(I, a)

    with Q' a copy of Q every `target_every` updates, zero after the last decision. Payoffs are
    divided by `scale`: 0 takes a fifth of the largest. The reservoir holds the action that Q likes
    best, not the explored one, so that epsilon does not enter the average. Rates fall linearly over
    `horizon` iterations, epsilon too. Pi carries the guarantee; `counts` is what a perfect memory
    and a perfect fit would make of the same responses, `response` is Q's greedy policy.
    """

    units: tuple[int, ...] = (128,)
    episodes: int = 128
    updates: int = 2  # of each network, an iteration
    batch: int = 128
    eta: float = 0.1
    epsilon: float = 0.06
    epsilon_end: float = 0.001
    horizon: int = 250_000
    lr: float = 1e-3
    lr_end: float = 1e-4
    average_lr: float = 1e-3
    average_lr_end: float = 1e-4
    ring_size: int = 200_000
    reservoir_size: int = 2_000_000
    target_every: int = 300
    scale: float = 0.0

    watched: ClassVar[tuple[str, ...]] = ("state.response", "state.average")

    def __post_init__(self) -> None:
        check(self.name, self, RANGES)

    def start(self, graph: Graph, rng: np.random.Generator) -> State:
        sizes = (graph.num_features, *self.units, graph.max_actions)
        response = new_nets(rng, graph.num_players, sizes, zero_head=True)
        average = new_nets(rng, graph.num_players, sizes, zero_head=True)
        pair = (np.int32(0), np.int32(0))
        players = range(graph.num_players)
        return State(
            in_training(self.response_optimiser, response),
            jax.tree.map(np.copy, response),
            in_training(self.average_optimiser, average),
            tuple(buffers.empty(self.ring_size, (*pair, np.float32(0), pair[0])) for _ in players),
            tuple(buffers.empty(self.reservoir_size, pair) for _ in players),
            np.zeros(graph.legal.shape, np.float32),
        )

    def iteration(self, graph: Graph, t: jax.Array, state: State, key: jax.Array) -> State:
        coin_key, sample_key, rest = jax.random.split(key, 3)
        average = policies_of(state.average.params, graph)
        liked = greedy(graph, state.response.params)
        coin = jax.random.uniform(coin_key, (graph.num_players, self.episodes)) < self.eta
        part = jnp.minimum(t / self.horizon, 1.0)
        epsilon = self.epsilon + part * (self.epsilon_end - self.epsilon)
        column = jnp.arange(self.episodes)

        def behave(now: Decisions) -> tuple[jax.Array, jax.Array]:
            response = jax.nn.one_hot(liked[now.infoset], graph.max_actions)
            response = epsilon * uniform(now.legal) + (1.0 - epsilon) * response
            mixed = jnp.where(coin[now.player, column][:, None], response, average[now.infoset])
            return mixed, mixed

        seen = sample(graph, behave, sample_key, self.episodes)
        for player in range(graph.num_players):
            own = decisions_of(seen, jnp.int32(player), graph.most_own)
            keys = jax.random.split(jax.random.fold_in(rest, player), 3)
            state = self.remembered(graph, player, state, own, liked, coin[player], keys[0])
            state = self.trained(graph, player, state, keys[1:])
        refresh = (t * self.updates) // self.target_every > (
            (t - 1) * self.updates
        ) // self.target_every
        target = jax.tree.map(
            lambda new, old: jnp.where(refresh, new, old), state.response.params, state.target
        )
        return state._replace(target=target)

    def remembered(
        self,
        graph: Graph,
        player: int,
        state: State,
        own: Episodes,
        liked: jax.Array,
        responds: jax.Array,
        key: jax.Array,
    ) -> State:
        """The memories with one player's decisions [M, B] added."""
        infoset = graph.infoset[own.decision]
        live = jnp.concatenate([own.live[1:], jnp.zeros_like(own.live[:1])])
        after = jnp.where(live, jnp.roll(infoset, -1, axis=0), graph.num_infosets)
        payoff = jnp.where(live, 0.0, own.utility[:, player] / self.unit(graph))
        flat = lambda *arrays: tuple(array.reshape(-1) for array in arrays)  # noqa: E731
        valid = own.live.reshape(-1)
        ring = buffers.into_ring(
            state.ring[player], flat(infoset, own.action, payoff, after), valid
        )
        best = (own.live & responds).reshape(-1)
        pair = flat(infoset, liked[infoset])
        reservoir = buffers.into_reservoir(state.reservoir[player], key, pair, best)
        place = (jnp.where(best, pair[0], graph.num_infosets), pair[1])
        return state._replace(
            ring=_with(state.ring, player, ring),
            reservoir=_with(state.reservoir, player, reservoir),
            counts=state.counts.at[place].add(1.0, mode="drop"),
        )

    def trained(self, graph: Graph, player: int, state: State, keys: jax.Array) -> State:
        """One player's networks after their steps."""
        target = one_of(state.target, player)

        def q_loss(net: Net, batch: Any) -> jax.Array:
            infoset, action, payoff, after = batch
            there = jnp.minimum(after, graph.num_infosets - 1)
            later = jnp.where(graph.legal[there], at(graph, target, there), -jnp.inf).max(-1)
            later = jnp.where(after < graph.num_infosets, later, 0.0)
            said = jnp.take_along_axis(at(graph, net, infoset), action[:, None], 1)[:, 0]
            return ((said - jax.lax.stop_gradient(payoff + later)) ** 2).mean()

        def pi_loss(net: Net, batch: Any) -> jax.Array:
            infoset, action = batch
            policy = softmax(at(graph, net, infoset), graph.legal[infoset])
            return -jnp.log(jnp.take_along_axis(policy, action[:, None], 1).clip(1e-30)).mean()

        def steps(optimiser: Any, loss: Any, trained: Trained, buffer: Buffer, key: Any) -> Trained:
            for batch_key in jax.random.split(key, self.updates):
                batch = buffers.draw(buffer, batch_key, self.batch)
                trained = descend(optimiser, trained, jax.grad(loss)(trained.params, batch))
            return trained

        q, pi = one_of(state.response, player), one_of(state.average, player)
        q = steps(self.response_optimiser, q_loss, q, state.ring[player], keys[0])
        new = steps(self.average_optimiser, pi_loss, pi, state.reservoir[player], keys[1])
        some = state.reservoir[player].seen > 0  # before the first response there is no average
        pi = jax.tree.map(lambda x, y: jnp.where(some, x, y), new, pi)
        return state._replace(
            response=with_one(state.response, player, q),
            average=with_one(state.average, player, pi),
        )

    def tables(self, graph: Graph, state: State) -> dict[str, jax.Array]:
        liked = greedy(graph, state.response.params)
        return {
            "network": policies_of(state.average.params, graph),
            "counts": state.counts,
            "response": jax.nn.one_hot(liked, graph.max_actions),
        }

    def unit(self, graph: Graph) -> jax.Array | float:
        return self.scale or graph.largest_utility / 5.0

    @property
    def response_optimiser(self) -> optax.GradientTransformation:
        steps = self.horizon * self.updates
        return optax.adam(optax.linear_schedule(self.lr, self.lr_end, steps))

    @property
    def average_optimiser(self) -> optax.GradientTransformation:
        steps = self.horizon * self.updates
        return optax.adam(optax.linear_schedule(self.average_lr, self.average_lr_end, steps))


def at(graph: Graph, net: Net, infoset: jax.Array) -> jax.Array:
    """What a network says at some infosets [B, A]."""
    return apply_net(net, graph.observation[graph.own_view[infoset]])


def greedy(graph: Graph, nets: Net) -> jax.Array:
    """The legal action [I] that the networks value most; the first of equals."""
    return jnp.where(graph.legal, logits_of(graph, nets), -jnp.inf).argmax(-1)


def gains(tree: Tree, policy: Policy, response: Policy) -> tuple[float, float]:
    """What all players together gain by responding so, and by best responses: NashConv."""
    judged, realised = judge(tree, policy), 0.0
    for player in range(tree.num_players):
        own = np.repeat(tree.infoset_player == player, tree.num_actions)
        mixed = np.where(own, response.probabilities, policy.probabilities)
        realised += float(expected_values(tree, Policy(tree, mixed))[player])
    return realised - float(judged.values.sum()), judged.nash_conv


def _with(buffers: tuple[Buffer, ...], player: int, new: Buffer) -> tuple[Buffer, ...]:
    return (*buffers[:player], new, *buffers[player + 1 :])
