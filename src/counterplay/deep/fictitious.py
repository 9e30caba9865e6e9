"""Neural fictitious self-play, whoever learns to respond: the averages, and who plays what when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.arena import Ints, is_exact
from counterplay.deep import places
from counterplay.deep.batches import Met, graph_of_rows, no_graph, play, rng_of
from counterplay.deep.buffers import Buffer
from counterplay.deep.device import DeviceMemory, compiled
from counterplay.deep.episodes import Decisions, Episodes, sample
from counterplay.deep.fitting import Trained, in_training
from counterplay.deep.graph import Graph
from counterplay.deep.nets import Net, new_nets, softmax, uniform
from counterplay.deep.on_rules import OnEither
from counterplay.deep.responders import (
    RANGES as RESPONDING,
)
from counterplay.deep.responders import (
    Experience,
    Players,
    Responder,
    added_up,
    improved,
    played,
    said,
    tries,
)
from counterplay.deep.stepping import Rules
from counterplay.errors import ConfigError
from counterplay.evaluate import expected_values, judge
from counterplay.policy import Policy
from counterplay.settings import settings
from counterplay.tabular.ranges import FINITE, PART, Range, at_least, check

RANGES: dict[str, Range] = {
    **RESPONDING,
    **dict.fromkeys(("horizon", "reservoir_size", "average_batch"), at_least(1)),
    **dict.fromkeys(("average_lr", "average_lr_end", "average_power"), FINITE),
    **dict.fromkeys(("eta", "practice"), PART),
}


AVERAGE, RESPONSE, ATTEMPT = range(3)  # as what a decision is played: the last is something tried


class State(NamedTuple):
    """What an iteration changes."""

    response: Any  # of the responder
    average: Trained  # Pi of each player
    reservoir: Buffer  # of (where, action, weight) of responses, everybody's
    counts: jax.Array  # [I, A] of responses, all of them, by their weights; on rules nothing


@settings(kw_only=True)
class Fictitious(OnEither):
    """The choices that all of them share, and their iteration.

    In every episode it is one player's turn to learn, one after the other. That player plays its
    response with probability `practice`, trying things, else its average; the others play theirs
    with probability eta, trying nothing. Whoever responds offers its decisions to the reservoir
    until it tries something, so that what is in there are responses, each as often as it is met;
    with `average_power` later ones weigh more: early ones answer what nobody plays any more.

    On rules that are never unrolled ring and reservoir hold what players saw, in a part for each of
    them, and there are no `counts`.
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
            places.room(graph, self.reservoir_size, np.int32(0), np.float32(0)),
            np.zeros((0, 0) if graph.is_batch else graph.legal.shape, np.float32),
        )

    def iteration(self, graph: Graph, t: jax.Array, state: State, key: jax.Array) -> State:
        keys = jax.random.split(key, 6)
        players, responder = everybody(graph), self.responder
        average = softmax(said(graph, state.average.params, players), graph.legal)
        plays = responder.plays(graph, players, t, state.response)
        coins = tries(graph, plays, keys[5], self.episodes)
        learns = jnp.asarray(self.turns(graph.num_players))
        column = jnp.arange(self.episodes)
        odds = jnp.where(learns, self.chance_to_respond, self.eta)
        responds = jax.random.uniform(keys[0], learns.shape) < odds

        def behave(now: Decisions) -> tuple[jax.Array, jax.Array]:
            response = played(plays, coins & learns[now.player, column], now)
            mine = responds[now.player, column][:, None]
            mixed = jnp.where(mine, response, average[now.infoset])
            return mixed, mixed

        seen = sample(graph, behave, keys[1], self.episodes)
        responding = seen.live & responds[jnp.maximum(seen.player, 0), column]
        state = self.told(graph, t, state, seen, keys[3], (responding, coins))
        return self.fitted(graph, t, state, keys[2], keys[4])

    def turns(self, players: int) -> Any:
        """Whose turn to learn it is [P, B]."""
        return np.arange(players)[:, None] == np.arange(self.episodes) % players

    def told(
        self, graph: Graph, t: jax.Array, state: State, seen: Episodes, key: jax.Array, how: Any
    ) -> State:
        """The state after some episodes, of which responder and reservoir keep their part.

        `how` they were played: which decisions [T, B] were responses, and in which of these, if it
        was the player's turn to learn, something was tried.
        """
        responding, coins = how
        acts, column = jnp.maximum(seen.player, 0), jnp.arange(self.episodes)
        own = seen.live & jnp.asarray(self.turns(graph.num_players))[acts, column]
        new = Experience(seen, own, own & responding)
        response = self.responder.told(graph, everybody(graph), t, state.response, new)
        kept = responding & ~tried(graph, seen, coins & own)
        weight = jnp.full(seen.action.shape, (t / self.horizon) ** self.average_power)
        items, valid = places.items(graph, seen, kept, seen.action, weight)
        reservoir = places.into_reservoir(graph, state.reservoir, key, items, valid)
        counts = state.counts
        if not graph.is_batch:
            infoset, action, much = items
            counts = counts + added_up(graph, (infoset, action), much)
        return State(response, state.average, reservoir, counts)

    def fitted(
        self, graph: Graph, t: jax.Array, state: State, key: jax.Array, average_key: jax.Array
    ) -> State:
        """The state after all networks have learned from what is kept."""
        response = self.responder.fitted(graph, everybody(graph), t, state.response, key)
        average = self.averaged(graph, state.average, state.reservoir, average_key)
        return state._replace(response=response, average=average)

    def averaged(
        self, graph: Graph, average: Trained, reservoir: Buffer, key: jax.Array
    ) -> Trained:
        """The average networks one step nearer to what is in the reservoir."""
        some = places.draw(graph, reservoir, key, self.average_batch)
        here, (action, weight) = some.graph, some.more  # of what is not there yet the weight is 0
        share = weight / jnp.maximum(weight.sum(), 1e-30)
        count = added_up(here, (some.infoset, action), share)
        visits = count.sum(-1)

        def down(logits: jax.Array) -> jax.Array:
            return visits[:, None] * softmax(logits, here.legal) - count

        return improved(
            self.optimiser, here, everybody(here), average, down, visits, self.average_batch
        )

    def played(self, rules: Rules, t: int, state: State, key: jax.Array) -> tuple[State, int]:
        play_key, *keys = jax.random.split(key, 4)
        rng, learns = rng_of(play_key), self.turns(rules.num_players)
        responds = rng.random(learns.shape) < np.where(learns, self.chance_to_respond, self.eta)
        epsilon = float(self.responder.epsilon_at(jnp.float32(t)))

        def cast(player: Ints, episode: Ints) -> Ints:
            attempt = learns[player, episode] & (rng.random(player.size) < epsilon)
            as_response = np.where(attempt, ATTEMPT, RESPONSE)
            return np.where(responds[player, episode], as_response, AVERAGE).astype(np.int32)

        ask = partial(_act(), self, rules.num_players, t, state.response, state.average.params)
        met, count = play(rules, ask, rng, self.episodes, cast)
        largest, graph = rules.largest_utility, no_graph(rules)
        state = _tell()(self, rules.num_players, largest, t, state, met, keys[0])
        return _fit()(self, graph, t, state, *keys[1:]), count

    def networks(self, state: State) -> dict[str, Any]:
        response, head = self.responder.networks(state.response)
        return {
            "network": ([state.average.params], [1.0], "softmax"),
            "response": ([response], [1.0], head),
        }

    def tables(self, graph: Graph, state: State) -> dict[str, jax.Array]:
        players = everybody(graph)
        response = self.responder.plays(graph, players, jnp.float32(self.horizon), state.response)
        return {
            "network": softmax(said(graph, state.average.params, players), graph.legal),
            "counts": state.counts,
            "response": response.policy,
        }

    def gains(self, arena: Any, memory: DeviceMemory) -> tuple[float, float]:
        """What all responses gain against the average networks, and what best responses would."""
        if not is_exact(arena):
            problem = "gains are exact, which needs a tree or a generated arena"
            raise ConfigError(f"{self.name}: {problem}; of {arena.spec} there are the rules alone")
        policies = self.policies(arena, memory)
        return gains(arena, policies["network"], policies["response"])

    @property
    def optimiser(self) -> optax.GradientTransformation:
        return optax.adam(optax.linear_schedule(self.average_lr, self.average_lr_end, self.horizon))

    @property
    def common(self) -> dict[str, Any]:
        """What the responder shares."""
        names = ("units", "episodes", "lr", "lr_end", "scale")
        return {"iterations": self.horizon} | {name: getattr(self, name) for name in names}


@lru_cache
def _act() -> Callable[..., Any]:
    @partial(compiled, static_argnums=(0, 1))
    def act(
        algorithm: Fictitious,
        players: int,
        t: jax.Array,
        response: Any,
        average: Net,
        seen: jax.Array,
        legal: jax.Array,
        plays_as: jax.Array,
    ) -> tuple[jax.Array, jax.Array]:
        graph = graph_of_rows(seen[None], legal, players)
        plays = algorithm.responder.plays(graph, everybody(graph), t, response)
        choices = (
            softmax(said(graph, average, everybody(graph)), legal),
            plays.policy,
            uniform(legal),
        )
        mixed = jnp.stack(choices)[plays_as, jnp.arange(len(legal))]
        return mixed, mixed

    return act


@lru_cache
def _tell() -> Callable[..., State]:
    @partial(compiled, static_argnums=(0, 1), donate_argnums=4)
    def tell(
        algorithm: Fictitious,
        players: int,
        largest: jax.Array,
        t: jax.Array,
        state: State,
        met: Met,
        key: jax.Array,
    ) -> State:
        graph = replace(met.graph(players), largest_utility=largest)
        how = met.plays_as != AVERAGE, met.plays_as == ATTEMPT
        return algorithm.told(graph, t, state, met.episodes, key, how)

    return tell


@lru_cache
def _fit() -> Callable[..., State]:
    """Apart, since it is the same program for batches of all sizes."""

    @partial(compiled, static_argnums=0, donate_argnums=3)
    def fit(algorithm: Fictitious, graph: Graph, t: Any, state: State, *keys: Any) -> State:
        return algorithm.fitted(graph, t, state, *keys)

    return fit


def everybody(graph: Graph) -> Players:
    return tuple(range(graph.num_players))


def tried(graph: Graph, seen: Episodes, coins: jax.Array) -> jax.Array:
    """Whether [T, B] the one who acts has tried something, as `coins` [T, B] say, by now."""
    found = jnp.zeros(seen.live.shape, bool)
    for player in range(graph.num_players):
        own = seen.player == player
        found = jnp.where(own, jnp.cumsum(own & coins, axis=0) > 0, found)
    return found


def gains(arena: Any, policy: Policy, response: Policy) -> tuple[float, float]:
    """What all players together gain by responding so, and by best responses: NashConv."""
    judged, realised = judge(arena, policy), 0.0
    for player in range(arena.num_players):
        own = np.repeat(arena.infoset_player == player, arena.num_actions)
        mixed = np.where(own, response.probabilities, policy.probabilities)
        realised += float(expected_values(arena, Policy(arena, mixed))[player])
    return realised - float(judged.values.sum()), judged.nash_conv
