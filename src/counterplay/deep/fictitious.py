"""Neural fictitious self-play, whoever learns to respond: the averages, and who plays what when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.deep import buffers
from counterplay.deep.buffers import Buffer
from counterplay.deep.device import DeviceMemory, OnDevice
from counterplay.deep.episodes import Decisions, Episodes, sample
from counterplay.deep.fitting import Trained, in_training
from counterplay.deep.graph import Graph
from counterplay.deep.nets import new_nets, softmax
from counterplay.deep.responders import (
    RANGES as RESPONDING,
)
from counterplay.deep.responders import (
    Experience,
    Players,
    Responder,
    added_up,
    improved,
    infosets_of,
    played,
    said,
    tries,
)
from counterplay.evaluate import expected_values, judge
from counterplay.policy import Policy
from counterplay.tabular.ranges import FINITE, PART, Range, at_least, check
from counterplay.tree import Tree

RANGES: dict[str, Range] = {
    **RESPONDING,
    **dict.fromkeys(("horizon", "reservoir_size", "average_batch"), at_least(1)),
    **dict.fromkeys(("average_lr", "average_lr_end"), FINITE),
    **dict.fromkeys(("eta", "practice"), PART),
}


class State(NamedTuple):
    """What an iteration changes."""

    response: Any  # of the responder
    average: Trained  # Pi of each player
    reservoir: Buffer  # of (infoset, action, weight) of responses, everybody's
    counts: jax.Array  # [I, A] of responses, all of them, as much as they weigh


@dataclass(frozen=True, kw_only=True)
class Fictitious(OnDevice):
    """The choices that all of them share, and their iteration.

    In every episode it is one player's turn to learn, one after the other. That player plays its
    response with probability `practice`, trying things, else its average; the others play theirs
    with probability eta, trying nothing. Whoever responds offers its decisions to the reservoir
    until it tries something, so that what is in there are responses, each as often as it is met.
    """

    units: tuple[int, ...] = (128,)
    episodes: int = 512
    eta: float = 0.1
    horizon: int = 40_000  # iterations over which rates fall
    lr: float = 3e-3
    lr_end: float = 3e-4
    average_lr: float = 1e-3
    average_lr_end: float = 1e-4
    average_batch: int = 4_096
    average_power: float = 0.0  # responses of iteration t weigh t to this power in the average
    reservoir_size: int = 2_000_000
    scale: float = 0.0  # of utilities; 0: a fifth of the largest

    watched: ClassVar[tuple[str, ...]] = ("state.response", "state.average")

    def __post_init__(self) -> None:
        check(self.name, self, RANGES)

    @property
    def responder(self) -> Responder:
        """Who learns to respond."""
        raise NotImplementedError

    @property
    def chance_to_respond(self) -> float:
        """With which the one whose turn it is plays its response."""
        return 1.0

    def start(self, graph: Graph, rng: np.random.Generator) -> State:
        sizes = (graph.num_features, *self.units, graph.max_actions)
        average = new_nets(rng, graph.num_players, sizes, zero_head=True)
        return State(
            self.responder.start(graph, rng, everybody(graph)),
            in_training(self.optimiser, average),
            buffers.empty(self.reservoir_size, (np.int32(0), np.int32(0), np.float32(0))),
            np.zeros(graph.legal.shape, np.float32),
        )

    def iteration(self, graph: Graph, t: jax.Array, state: State, key: jax.Array) -> State:
        keys = jax.random.split(key, 6)
        players, responder = everybody(graph), self.responder
        average = softmax(said(graph, state.average.params, players), graph.legal)
        plays = responder.plays(graph, players, t, state.response)
        coins = tries(graph, plays, keys[5], self.episodes)
        column = jnp.arange(self.episodes)
        learns = jnp.arange(graph.num_players)[:, None] == column % graph.num_players  # [P, B]
        odds = jnp.where(learns, self.chance_to_respond, self.eta)
        responds = jax.random.uniform(keys[0], learns.shape) < odds

        def behave(now: Decisions) -> tuple[jax.Array, jax.Array]:
            response = played(plays, coins & learns[now.player, column], now)
            mine = responds[now.player, column][:, None]
            mixed = jnp.where(mine, response, average[now.infoset])
            return mixed, mixed

        seen = sample(graph, behave, keys[1], self.episodes, even=True)
        acts = jnp.maximum(seen.player, 0)
        own, responding = (seen.live & flags[acts, column] for flags in (learns, responds))
        told = Experience(seen, own, own & responding)
        response = responder.learned(graph, players, t, state.response, told, keys[2])
        kept = responding & ~tried(graph, seen, coins & own)
        infoset = infosets_of(graph, seen, kept)
        place = infoset.reshape(-1), seen.action.reshape(-1)
        weight = (t / self.horizon) ** self.average_power
        items = (*place, jnp.full(place[0].shape, weight))
        reservoir = buffers.into_reservoir(state.reservoir, keys[3], items, kept.reshape(-1))
        counts = state.counts + weight * added_up(graph, place, jnp.ones(place[0].shape))
        trained = self.averaged(graph, state.average, reservoir, keys[4])
        return State(response, trained, reservoir, counts)

    def averaged(
        self, graph: Graph, average: Trained, reservoir: Buffer, key: jax.Array
    ) -> Trained:
        """The average networks one step nearer to what is in the reservoir."""
        infoset, action, weight = buffers.draw(reservoir, key, self.average_batch)
        share = weight / jnp.maximum(weight.sum(), 1e-30)
        count = added_up(graph, (infoset, action), share)

        def down(logits: jax.Array) -> jax.Array:
            policy = softmax(logits, graph.legal)
            return count.sum(-1, keepdims=True) * policy - count

        return improved(self.optimiser, graph, everybody(graph), average, down)

    def tables(self, graph: Graph, state: State) -> dict[str, jax.Array]:
        players = everybody(graph)
        response = self.responder.plays(graph, players, jnp.float32(self.horizon), state.response)
        return {
            "network": softmax(said(graph, state.average.params, players), graph.legal),
            "counts": state.counts,
            "response": response.policy,
        }

    def gains(self, tree: Tree, memory: DeviceMemory) -> tuple[float, float]:
        """What all responses gain against the average networks, and what best responses would."""
        policies = self.policies(tree, memory)
        return gains(tree, policies["network"], policies["response"])

    @property
    def optimiser(self) -> optax.GradientTransformation:
        return optax.adam(optax.linear_schedule(self.average_lr, self.average_lr_end, self.horizon))

    @property
    def common(self) -> dict[str, Any]:
        """What the responder shares."""
        names = ("units", "episodes", "lr", "lr_end", "scale")
        return {"iterations": self.horizon} | {name: getattr(self, name) for name in names}


def everybody(graph: Graph) -> Players:
    return tuple(range(graph.num_players))


def tried(graph: Graph, seen: Episodes, coins: jax.Array) -> jax.Array:
    """Whether [T, B] the one who acts has tried something, as `coins` [T, B] say, by now."""
    found = jnp.zeros(seen.live.shape, bool)
    for player in range(graph.num_players):
        own = seen.player == player
        found = jnp.where(own, jnp.cumsum(own & coins, axis=0) > 0, found)
    return found


def gains(tree: Tree, policy: Policy, response: Policy) -> tuple[float, float]:
    """What all players together gain by responding so, and by best responses: NashConv."""
    judged, realised = judge(tree, policy), 0.0
    for player in range(tree.num_players):
        own = np.repeat(tree.infoset_player == player, tree.num_actions)
        mixed = np.where(own, response.probabilities, policy.probabilities)
        realised += float(expected_values(tree, Policy(tree, mixed))[player])
    return realised - float(judged.values.sum()), judged.nash_conv
