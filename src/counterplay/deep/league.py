"""League self-play: agents that meet themselves, their past, and who looks for their mistakes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.deep import averages
from counterplay.deep.averages import Averages, Averaging
from counterplay.deep.device import DeviceMemory
from counterplay.deep.episodes import Decisions, sample
from counterplay.deep.fictitious import everybody
from counterplay.deep.graph import Graph
from counterplay.deep.ppo_response import PPOResponse
from counterplay.deep.responders import RANGES as RESPONDING
from counterplay.deep.responders import Experience
from counterplay.errors import ConfigError
from counterplay.settings import settings
from counterplay.tabular.ranges import FINITE, PART, Range, at_least, check
from counterplay.tree import Tree

RANGES: dict[str, Range] = {
    **RESPONDING,
    **dict.fromkeys(("horizon", "stage"), at_least(1)),
    **dict.fromkeys(("pool",), at_least(3)),
    **dict.fromkeys(("hardness",), FINITE),
    **dict.fromkeys(("latest", "forget"), PART),
}
ROLES = 3  # main agents, their exploiters, exploiters of the league


class Pool(NamedTuple):
    """Past policies, and how the main agents fare against each."""

    tables: jax.Array  # [K, I, A]
    joined: jax.Array  # [] how many there have been
    earned: jax.Array  # [P, K] by the main agent in that seat
    games: jax.Array  # [P, K] against it


class State(NamedTuple):
    """What an iteration changes."""

    agents: tuple[Any, ...]  # [ROLES] what each role's PPO has learned
    fresh: Any  # an exploiter that knows nothing
    pool: Pool
    averages: Averages  # of the main agents


@settings(kw_only=True)
class League(Averaging):
    """A league, after OpenAI Five and AlphaStar (Vinyals and others, 2019). At t = 1, 2, ...:

        main agents       learn, with probability `latest`, against each other as they are now,
                          else against a past policy k, drawn in proportion to
                          ((1 - earned against k / largest utility) / 2) ** hardness
        main exploiters   learn against the main agents as they are now
        league exploiters learn against past policies, drawn in the same way

    all by PPO, every role with networks for every seat, on `episodes` episodes a seat and role.
    Every `stage` iterations the policies of all three roles join the pool of `pool` past ones, in
    place of the oldest, and the exploiters start anew. `average` is the average of the main agents,
    weighed by t ** average_power; `current` is what they play now. AlphaStar's exploiters return
    to what people play; here that is uniform play. It runs on a tree: the pool holds policies as
    tables.
    """

    units: tuple[int, ...] = (64,)
    episodes: int = 256
    horizon: int = 10_000  # iterations over which the rate and tau of the main agents fall
    stage: int = 500
    pool: int = 48
    latest: float = 0.8
    hardness: float = 2.0
    forget: float = 0.01  # of old results, an iteration
    lr: float = 3e-3
    lr_end: float = 1e-4
    epochs: int = 2
    clip: float = 0.2
    trace: float = 0.95
    tau: float = 0.5  # in a fifth of the largest utility
    average_power: float = 1.0

    watched: ClassVar[tuple[str, ...]] = ("state.agents",)

    def __post_init__(self) -> None:
        check(self.name, self, RANGES)
        super().__post_init__()
        if self.average_units or self.past_networks:
            raise ConfigError(f"{self.name} averages in a table: leave out other averages")

    def init(self, tree: Tree, seed: int = 0) -> DeviceMemory:
        if tree.num_players != 2 or not tree.zero_sum:
            raise ConfigError(f"{self.name} needs a two-player zero-sum game, unlike {tree.spec}")
        return super().init(tree, seed)

    def start(self, graph: Graph, rng: np.random.Generator) -> State:
        players = everybody(graph)
        main, *exploiters, fresh = (
            learner.start(graph, rng, players)
            for learner in (self.learner, *[self.exploiter] * ROLES)
        )
        pool = Pool(
            np.zeros((self.pool, *graph.legal.shape), np.float32),
            np.int32(0),
            np.zeros((graph.num_players, self.pool), np.float32),
            np.zeros((graph.num_players, self.pool), np.float32),
        )
        kept = averages.no_averages(self, graph, rng, main.policy.params, 1)
        return State((main, *exploiters), fresh, pool, kept)

    def iteration(self, graph: Graph, t: jax.Array, state: State, key: jax.Array) -> State:
        keys = jax.random.split(key, ROLES + 1)
        players, pool, within = everybody(graph), state.pool, (t - 1) % self.stage + 1
        learners = (self.learner, self.exploiter, self.exploiter)
        times = (t, within, within)
        now = self.learner.plays(graph, players, t, state.agents[0]).policy
        nets = state.agents[0].policy.params
        kept = averages.remember(self, state.averages, graph, t, nets, lambda: now, keys[ROLES])
        tables = jnp.concatenate([pool.tables, now[None]])
        past = self.odds(graph, pool)
        itself = jnp.zeros_like(past).at[:, -1].set(1.0)
        some = (pool.joined > 0) & jnp.array([True, False, True])
        ratio = jnp.where(some, jnp.array([self.latest, 1.0, 0.0]), 1.0)
        agents, results = [], []
        for role, learner in enumerate(learners):
            odds = ratio[role] * itself + (1.0 - ratio[role]) * past
            agent, result = met(
                graph, learner, times[role], state.agents[role], tables, odds, keys[role]
            )
            agents.append(agent)
            results.append(result)
        earned, games = results[0]
        keep = 1.0 - self.forget
        pool = pool._replace(
            earned=keep * pool.earned + earned[:, :-1], games=keep * pool.games + games[:, :-1]
        )
        joined = State(tuple(agents), state.fresh, pool, kept)
        return jax.lax.cond(
            t % self.stage == 0, lambda s: self.next_stage(graph, t, s), lambda s: s, joined
        )

    def odds(self, graph: Graph, pool: Pool) -> jax.Array:
        """How likely each seat meets each past policy, and the present one [P, K + 1]."""
        mean = pool.earned / jnp.maximum(pool.games, 1.0) / graph.largest_utility
        hard = ((1.0 - mean) / 2.0) ** self.hardness
        there = jnp.arange(self.pool) < pool.joined
        hard = jnp.where(there, jnp.maximum(hard, 1e-6), 0.0)
        total = hard.sum(-1, keepdims=True)
        return jnp.pad(hard / jnp.maximum(total, 1e-30), [(0, 0), (0, 1)])

    def next_stage(self, graph: Graph, t: jax.Array, state: State) -> State:
        """The pool with everybody's policies, and new exploiters."""
        pool, players = state.pool, everybody(graph)
        for agent in state.agents:
            table = self.learner.plays(graph, players, t, agent).policy
            place = pool.joined % self.pool
            pool = Pool(
                pool.tables.at[place].set(table),
                pool.joined + 1,
                pool.earned.at[:, place].set(0.0),
                pool.games.at[:, place].set(0.0),
            )
        agents = (state.agents[0], *[state.fresh] * (ROLES - 1))
        return state._replace(agents=agents, pool=pool)

    def tables(self, graph: Graph, state: State) -> dict[str, jax.Array]:
        found = averages.average_tables(self, state.averages, graph)
        found["current"] = averages.policies_of(state.agents[0].policy.params, graph)
        return found

    @property
    def learner(self) -> PPOResponse:
        names = ("units", "episodes", "lr", "lr_end", "epochs", "clip", "trace", "tau")
        chosen = {name: getattr(self, name) for name in names}
        return PPOResponse(iterations=self.horizon, **chosen)

    @property
    def exploiter(self) -> PPOResponse:
        return replace(self.learner, iterations=self.stage)


def met(
    graph: Graph,
    learner: PPOResponse,
    t: jax.Array,
    state: Any,
    tables: jax.Array,
    odds: jax.Array,
    key: jax.Array,
) -> tuple[Any, tuple[jax.Array, jax.Array]]:
    """An agent that has met opponents, one of `tables` [K, I, A] an episode, as likely as `odds`
    [P, K] say; and what it earned [P, K], in how many games [P, K], in each seat."""
    draw_key, sample_key, learn_key = jax.random.split(key, 3)
    players, batch = everybody(graph), graph.num_players * learner.episodes
    seat = jnp.arange(batch) % graph.num_players
    passed = jnp.cumsum(odds, axis=1)[seat]  # [B, K]
    draw = jax.random.uniform(draw_key, (batch, 1)) * passed[:, -1:] * (1.0 - 2.0**-22)
    which = (passed <= draw).sum(-1)
    policy = learner.plays(graph, players, t, state).policy

    def behave(now: Decisions) -> tuple[jax.Array, jax.Array]:
        mine = (now.player == seat)[:, None]
        mixed = jnp.where(mine, policy[now.infoset], tables[which, now.infoset])
        return mixed, mixed

    seen = sample(graph, behave, sample_key, batch)
    own = seen.live & (seen.player == seat)
    agent = learner.learned(graph, players, t, state, Experience(seen, own, own), learn_key)
    nothing = jnp.zeros(odds.shape)
    payoff = jnp.take_along_axis(seen.utility, seat[:, None], axis=1)[:, 0]
    return agent, (nothing.at[seat, which].add(payoff), nothing.at[seat, which].add(1.0))
