"""Responders: who learns, by playing, to do well against what the others do.

A responder is a frozen dataclass of choices. Its networks may be those of several players, each of
which learns from its own decisions:

    start(graph, rng, players) -> state
    plays(graph, players, t, state) -> Plays      what it plays, and how often it tries things
    told(graph, players, t, state, seen) -> state         what it makes of new episodes
    fitted(graph, players, t, state, key) -> state        and then of all that it remembers
    networks(state) -> networks, head             that play its response

Fictitious self-play (`deep.fictitious`) has one for everybody, against averages that move;
`respond` is the case of one player against opponents who stay as they are. All samples of an
infoset have the same input, so that minibatches are added up per infoset and a network is asked
once about each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.deep.device import compiled, policy_of
from counterplay.deep.episodes import Decisions, Episodes, sample
from counterplay.deep.fitting import Trained, descend
from counterplay.deep.graph import Graph, graph_of
from counterplay.deep.nets import Net, apply_net, one_of, uniform
from counterplay.errors import ConfigError
from counterplay.evaluate import expected_values
from counterplay.policy import Policy
from counterplay.settings import settings
from counterplay.tabular.ranges import FINITE, PART, Range, at_least, check
from counterplay.tree import Tree, row_lengths

Players = tuple[int, ...]

LITTLE = 64  # rows that networks are asked sooner than which of them are needed
FEW = 4  # as a rule that part of a minibatch has room for all infosets that differ

SIZES: Range = (lambda units: bool(units) and min(units) >= 1, "one size or more")
RANGES: dict[str, Range] = {
    **dict.fromkeys(("iterations", "episodes", "updates", "batch", "epochs"), at_least(1)),
    **dict.fromkeys(("ring_size", "target_every"), at_least(1)),
    **dict.fromkeys(("lr", "lr_end", "scale", "tau", "tau_end", "clip", "even"), FINITE),
    **dict.fromkeys(("epsilon", "epsilon_end"), (lambda x: 0.0 <= x <= 1.0, "from 0 to 1")),
    **dict.fromkeys(("trace", "follow", "window"), PART),
    "units": SIZES,
}


class Plays(NamedTuple):
    """What a responder does, at the infosets of its players."""

    policy: jax.Array  # [I, A] the response
    epsilon: Any  # [] how likely it tries something at random instead


class Experience(NamedTuple):
    """Episodes, and what the responder is to make of each decision [T, B]."""

    episodes: Episodes
    own: jax.Array  # of a player that learns in this episode
    responds: jax.Array  # of these, the ones that were sampled as `Plays` says


class Learned(NamedTuple):
    """What a responder found: a policy, of which the player's part counts, and its exact worth."""

    policy: Policy
    value: float


@dataclass(frozen=True, eq=False, repr=False)
class LearnedPolicy(Policy):
    """A response, and what its responder had learned, to go on from."""

    responder: Any = None
    state: Any = None


@settings(kw_only=True)
class Responder:
    """The choices that all responders share, and the response of one player alone."""

    units: tuple[int, ...] = (128,)
    iterations: int = 4_000  # over which rates fall; so many make a response
    episodes: int = 256  # in each of them
    lr: float = 3e-3
    lr_end: float = 3e-4
    scale: float = 0.0  # of utilities; 0: a fifth of the largest

    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    needs: ClassVar[str] = "deep"

    def __post_init__(self) -> None:
        check(type(self).__name__, self, RANGES)

    def start(self, graph: Graph, rng: np.random.Generator, players: Players) -> Any:
        raise NotImplementedError

    def plays(self, graph: Graph, players: Players, t: jax.Array, state: Any) -> Plays:
        raise NotImplementedError

    def told(self, graph: Graph, players: Players, t: Any, state: Any, seen: Experience) -> Any:
        raise NotImplementedError

    def fitted(self, graph: Graph, players: Players, t: Any, state: Any, key: Any) -> Any:
        return state

    def learned(
        self, graph: Graph, players: Players, t: Any, state: Any, seen: Experience, key: Any
    ) -> Any:
        """The state after an iteration with these episodes."""
        return self.fitted(graph, players, t, self.told(graph, players, t, state, seen), key)

    def epsilon_at(self, t: jax.Array) -> Any:
        """How likely it tries something at random, at each of its decisions."""
        return 0.0

    def networks(self, state: Any) -> tuple[Net, str]:
        raise NotImplementedError

    def respond(
        self, arena: Tree, player: int, opponents: Sequence[Any], seed: int = 0, start: Any = None
    ) -> Learned:
        """What `player` has learned to play against opponents who stay as they are.

        Args:
            opponents: `weight` and `policy` of each; one is drawn for each episode. Weights sum
                to 1, policies are of the same tree.
            seed: of all randomness; the same seed gives the same response.
            start: an earlier response of the same responder, to go on from; None: afresh.
        """
        if not 0 <= player < arena.num_players:
            problem = f"player is {player}, must be from 0 to {arena.num_players - 1}"
            raise ConfigError(f"{type(self).__name__}: {problem}")
        graph, players = graph_of(arena), (player,)
        if start is None:
            state = self.start(graph, np.random.default_rng(seed), players)
        elif isinstance(start, LearnedPolicy) and start.responder == self:
            state = jax.tree.map(jnp.copy, start.state)
        else:
            raise ConfigError(f"{type(self).__name__} can only go on from a response of its own")
        tables = jnp.stack([table_of(arena, part.policy) for part in opponents])
        weights = jnp.cumsum(jnp.array([part.weight for part in opponents]))
        state, table = _alone()(
            self, players, graph, tables, weights, jax.random.PRNGKey(seed), state
        )
        found = policy_of(arena, table).probabilities
        own = np.repeat(arena.infoset_player == player, arena.num_actions)
        value = 0.0
        for part in opponents:
            mixed = np.where(own, found, part.policy.probabilities)
            value += part.weight * float(expected_values(arena, Policy(arena, mixed))[player])
        mixed = np.where(own, found, opponents[0].policy.probabilities)
        return Learned(LearnedPolicy(arena, mixed, self, state), value)

    def rate(self, steps: int) -> optax.Schedule:
        """The learning rate, falling linearly when there are so many steps an iteration."""
        return optax.linear_schedule(self.lr, self.lr_end, self.iterations * steps)

    def passed(self, t: jax.Array) -> jax.Array:
        """How much of its time has passed by iteration t, at most 1."""
        return jnp.minimum(t / self.iterations, 1.0)

    def unit(self, graph: Graph) -> jax.Array | float:
        return self.scale or graph.largest_utility / 5.0


@lru_cache
def _alone() -> Callable[..., Any]:
    @partial(compiled, static_argnums=(0, 1), donate_argnums=6)
    def alone(
        responder: Responder,
        players: Players,
        graph: Graph,
        tables: jax.Array,
        weights: jax.Array,
        key: jax.Array,
        state: Any,
    ) -> tuple[Any, jax.Array]:
        def iteration(n: jax.Array, state: Any) -> Any:
            keys = jax.random.split(jax.random.fold_in(key, n), 4)
            draw_key, coin_key, sample_key, learn_key = keys
            drawn = jax.random.uniform(draw_key, (responder.episodes, 1)) * weights[-1]
            which = (drawn >= weights[:-1]).sum(-1)
            plays = responder.plays(graph, players, n + 1, state)
            coins = tries(graph, plays, coin_key, responder.episodes)

            def behave(now: Decisions) -> tuple[jax.Array, jax.Array]:
                mine = (now.player == players[0])[:, None]
                response = played(plays, coins, now)
                mixed = jnp.where(mine, response, tables[which, now.infoset])
                return mixed, mixed

            seen = sample(graph, behave, sample_key, responder.episodes)
            own = seen.live & (seen.player == players[0])
            told = Experience(seen, own, own)
            return responder.learned(graph, players, n + 1, state, told, learn_key)

        state = jax.lax.fori_loop(0, responder.iterations, iteration, state)
        return state, responder.plays(graph, players, responder.iterations, state).policy

    return alone


def tries(graph: Graph, plays: Plays, key: jax.Array, batch: int) -> jax.Array:
    """When [T, B] those who respond would try something at random."""
    return jax.random.uniform(key, (graph.longest_episode, batch)) < plays.epsilon


def played(plays: Plays, coins: jax.Array, now: Decisions) -> jax.Array:
    """What those who respond sample their actions from [B, A]."""
    return jnp.where(coins[now.turn][:, None], uniform(now.legal), plays.policy[now.infoset])


def table_of(tree: Tree, policy: Policy) -> jax.Array:
    """A policy as a table [I, A]."""
    legal = np.arange(tree.max_actions) < tree.num_actions[:, None]
    table = np.zeros(legal.shape, np.float32)
    table[legal] = policy.probabilities
    return jnp.asarray(table)


def said(graph: Graph, nets: Net, players: Players) -> jax.Array:
    """What the networks of some players say at their own infosets [I, A]; zero elsewhere."""
    rows = []
    for player, first in enumerate(graph.first_infoset[:-1]):
        own = slice(first, graph.first_infoset[player + 1])
        if player in players:
            net = one_of(nets, players.index(player))
            rows.append(apply_net(net, graph.observation[graph.own_view[own]]))
        else:
            width = nets[-1][1].shape[-1]
            rows.append(jnp.zeros((own.stop - own.start, width)))
    return jnp.concatenate(rows)


def improved(
    optimiser: optax.GradientTransformation,
    graph: Graph,
    players: Players,
    trained: Trained,
    slope: Callable[[jax.Array], jax.Array],
    visits: jax.Array | None = None,
    most: int = 0,
) -> Trained:
    """Networks one step down a loss, given its gradient [I, A] by what they say [I, A].

    That gradient is zero where there are no `visits` [I], if they are given; `most` in all.
    """
    rows = max(row_lengths(np.array(graph.first_infoset)))
    if visits is None or rows <= max(most // FEW, LITTLE):
        outputs, back = jax.vjp(lambda nets: said(graph, nets, players), trained.params)
        gradient = back(slope(outputs))[0]
    else:
        gradient = _gradient_at(graph, players, trained.params, slope, visits, min(most, rows))
    return jax.vmap(lambda one, down: descend(optimiser, one, down))(trained, gradient)


def _gradient_at(
    graph: Graph,
    players: Players,
    nets: Net,
    slope: Callable[[jax.Array], jax.Array],
    visits: jax.Array,
    most: int,
) -> Net:
    """The gradient by the networks, which are asked only where there are visits."""
    nowhere = graph.num_infosets
    wanted = visits > 0.0
    own = [wanted[slice(*graph.first_infoset[player : player + 2])] for player in players]

    def run(rows: int) -> Net:
        places = [
            jnp.nonzero(part, size=rows, fill_value=nowhere)[0] + graph.first_infoset[player]
            for player, part in zip(players, own, strict=True)
        ]
        place = jnp.concatenate(places)

        def ask(nets: Net) -> jax.Array:
            seen = [graph.own_view[jnp.minimum(rows, nowhere - 1)] for rows in places]
            parts = [
                apply_net(one_of(nets, k), graph.observation[view]) for k, view in enumerate(seen)
            ]
            return jnp.concatenate(parts)

        outputs, back = jax.vjp(ask, nets)
        table = jnp.zeros((nowhere, outputs.shape[-1])).at[place].set(outputs, mode="drop")
        return back(slope(table).at[place].get(mode="fill", fill_value=0.0))[0]

    differ = jnp.stack([part.sum() for part in own]).max()
    few = most // FEW
    return jax.lax.cond(differ <= few, lambda: run(few), lambda: run(most))


def added_up(graph: Graph, place: Any, amount: jax.Array) -> jax.Array:
    """Amounts summed at (infoset, action) [I, A]; places out of range are left out."""
    return jnp.zeros(graph.legal.shape).at[place].add(amount, mode="drop")


def infosets_of(graph: Graph, seen: Episodes, which: jax.Array) -> jax.Array:
    """The infoset [T, B] of every decision that is wanted; I elsewhere."""
    return jnp.where(which, graph.infoset[seen.decision], graph.num_infosets)


def next_infosets(graph: Graph, seen: Episodes) -> jax.Array:
    """The infoset [T, B] at which the one who acts will act next; I: it is the last time."""
    everybody = jnp.arange(graph.num_players)

    def step(later: jax.Array, at: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        infoset, live, player = at
        own = live[:, None] & (everybody == player[:, None])  # [B, P]
        after = jnp.where(own, later, 0).sum(-1)
        return jnp.where(own, infoset[:, None], later), after

    batch = seen.live.shape[1]
    nothing = jnp.full((batch, graph.num_players), graph.num_infosets, jnp.int32)
    given = (graph.infoset[seen.decision], seen.live, seen.player)
    return jax.lax.scan(step, nothing, given, reverse=True)[1]


def own_utility(seen: Episodes) -> jax.Array:
    """What the episode pays [T, B] to the one who acts."""
    return jnp.take_along_axis(seen.utility, jnp.maximum(seen.player, 0).T, axis=1).T
