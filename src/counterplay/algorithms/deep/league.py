"""League self-play: agents that meet themselves, their past, and who looks for their mistakes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.algorithms.deep.common import averages
from counterplay.algorithms.deep.common.averages import AverageConfig, AverageState
from counterplay.algorithms.deep.common.best_response import RANGES as RESPONDING
from counterplay.algorithms.deep.common.best_response import Experience
from counterplay.algorithms.deep.common.episodes import DecisionBatch, sample_episodes
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.jax_algorithm import JaxMemory
from counterplay.algorithms.deep.common.ppo_response import PPOResponse
from counterplay.algorithms.deep.nfsp.base import all_players
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.field_bounds import FRACTION, NON_NEGATIVE, FieldBound, at_least, check_bounds
from counterplay.core.settings import settings
from counterplay.errors import ConfigError

RANGES: dict[str, FieldBound] = {
    **RESPONDING,
    **dict.fromkeys(("schedule_iterations", "snapshot_every"), at_least(1)),
    **dict.fromkeys(("pool_size",), at_least(3)),
    **dict.fromkeys(("pfsp_power",), NON_NEGATIVE),
    **dict.fromkeys(("self_play_prob", "result_forget_rate"), FRACTION),
}
NUM_ROLES = 3  # main agents, their exploiters, exploiters of the league


class LeaguePool(NamedTuple):
    """Past policies, and how the main agents fare against each."""

    tables: jax.Array  # [K, I, A]
    num_joined: jax.Array  # [] how many there have been
    total_utility: jax.Array  # [P, K] by the main agent in that seat
    num_games: jax.Array  # [P, K] against it


class LeagueState(NamedTuple):
    """What an iteration changes."""

    agents: tuple[Any, ...]  # [ROLES] what each role's PPO has learned
    initial_exploiter: Any  # an exploiter that knows nothing
    pool: LeaguePool
    averages: AverageState  # of the main agents


@settings(kw_only=True)
class League(AverageConfig):
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

    hidden_sizes: tuple[int, ...] = (64,)
    num_episodes: int = 256
    schedule_iterations: int = (
        10_000  # iterations over which the rate and tau of the main agents fall
    )
    snapshot_every: int = 500
    pool_size: int = 48
    self_play_prob: float = 0.8
    pfsp_power: float = 2.0
    result_forget_rate: float = 0.01  # of old results, an iteration
    learning_rate: float = 3e-3
    learning_rate_end: float = 1e-4
    num_epochs: int = 2
    clip_eps: float = 0.2
    gae_lambda: float = 0.95
    entropy_coef: float = 0.5  # in a fifth of the largest utility
    average_power: float = 1.0

    monitored_paths: ClassVar[tuple[str, ...]] = ("state.agents",)

    def __post_init__(self) -> None:
        check_bounds(self.name, self, RANGES)
        super().__post_init__()
        if self.average_hidden_sizes or self.ensemble_size:
            raise ConfigError(f"{self.name} averages in a table: leave out other averages")

    def init(self, tree: TreeArena, seed: int = 0) -> JaxMemory:
        if tree.num_players != 2 or not tree.is_zero_sum:
            raise ConfigError(f"{self.name} needs a two-player zero-sum game, unlike {tree.spec}")
        return super().init(tree, seed)

    def init_state(self, graph: Graph, rng: np.random.Generator) -> LeagueState:
        players = all_players(graph)
        main, *exploiters, fresh = (
            learner.init_state(graph, rng, players)
            for learner in (self.main_learner, *[self.exploiter_learner] * NUM_ROLES)
        )
        pool = LeaguePool(
            np.zeros((self.pool_size, *graph.legal.shape), np.float32),
            np.int32(0),
            np.zeros((graph.num_players, self.pool_size), np.float32),
            np.zeros((graph.num_players, self.pool_size), np.float32),
        )
        kept = averages.new_average_state(self, graph, rng, main.policy.params, 1)
        return LeagueState((main, *exploiters), fresh, pool, kept)

    def iterate(
        self, graph: Graph, t: jax.Array, state: LeagueState, key: jax.Array
    ) -> LeagueState:
        keys = jax.random.split(key, NUM_ROLES + 1)
        players, pool, within = all_players(graph), state.pool, (t - 1) % self.snapshot_every + 1
        learners = (self.main_learner, self.exploiter_learner, self.exploiter_learner)
        times = (t, within, within)
        now = self.main_learner.behaviour(graph, players, t, state.agents[0]).policy
        nets = state.agents[0].policy.params
        kept = averages.add_policies(
            self, state.averages, graph, t, nets, lambda: now, keys[NUM_ROLES]
        )
        tables = jnp.concatenate([pool.tables, now[None]])
        past = self.opponent_probabilities(graph, pool)
        itself = jnp.zeros_like(past).at[:, -1].set(1.0)
        some = (pool.num_joined > 0) & jnp.array([True, False, True])
        ratio = jnp.where(some, jnp.array([self.self_play_prob, 1.0, 0.0]), 1.0)
        agents, results = [], []
        for role, learner in enumerate(learners):
            odds = ratio[role] * itself + (1.0 - ratio[role]) * past
            agent, result = train_against(
                graph, learner, times[role], state.agents[role], tables, odds, keys[role]
            )
            agents.append(agent)
            results.append(result)
        earned, games = results[0]
        keep = 1.0 - self.result_forget_rate
        pool = pool._replace(
            total_utility=keep * pool.total_utility + earned[:, :-1],
            num_games=keep * pool.num_games + games[:, :-1],
        )
        joined = LeagueState(tuple(agents), state.initial_exploiter, pool, kept)
        return jax.lax.cond(
            t % self.snapshot_every == 0,
            lambda s: self.add_snapshots(graph, t, s),
            lambda s: s,
            joined,
        )

    def opponent_probabilities(self, graph: Graph, pool: LeaguePool) -> jax.Array:
        """How likely each seat meets each past policy, and the present one [P, K + 1]."""
        mean = pool.total_utility / jnp.maximum(pool.num_games, 1.0) / graph.largest_utility
        hard = ((1.0 - mean) / 2.0) ** self.pfsp_power
        there = jnp.arange(self.pool_size) < pool.num_joined
        hard = jnp.where(there, jnp.maximum(hard, 1e-6), 0.0)
        total = hard.sum(-1, keepdims=True)
        return jnp.pad(hard / jnp.maximum(total, 1e-30), [(0, 0), (0, 1)])

    def add_snapshots(self, graph: Graph, t: jax.Array, state: LeagueState) -> LeagueState:
        """The pool with everybody's policies, and new exploiters."""
        pool, players = state.pool, all_players(graph)
        for agent in state.agents:
            table = self.main_learner.behaviour(graph, players, t, agent).policy
            place = pool.num_joined % self.pool_size
            pool = LeaguePool(
                pool.tables.at[place].set(table),
                pool.num_joined + 1,
                pool.total_utility.at[:, place].set(0.0),
                pool.num_games.at[:, place].set(0.0),
            )
        agents = (state.agents[0], *[state.initial_exploiter] * (NUM_ROLES - 1))
        return state._replace(agents=agents, pool=pool)

    def tabulate(self, graph: Graph, state: LeagueState) -> dict[str, jax.Array]:
        found = averages.tabulate_averages(self, state.averages, graph)
        found["current"] = averages.infoset_policies(state.agents[0].policy.params, graph)
        return found

    @property
    def main_learner(self) -> PPOResponse:
        names = (
            "hidden_sizes",
            "num_episodes",
            "learning_rate",
            "learning_rate_end",
            "num_epochs",
            "clip_eps",
            "gae_lambda",
            "entropy_coef",
        )
        chosen = {name: getattr(self, name) for name in names}
        return PPOResponse(iterations=self.schedule_iterations, **chosen)

    @property
    def exploiter_learner(self) -> PPOResponse:
        return replace(self.main_learner, iterations=self.snapshot_every)


def train_against(
    graph: Graph,
    learner: PPOResponse,
    t: jax.Array,
    state: Any,
    opponent_tables: jax.Array,
    opponent_probabilities: jax.Array,
    key: jax.Array,
) -> tuple[Any, tuple[jax.Array, jax.Array]]:
    """An agent that has met opponents, one of `tables` [K, I, A] an episode, as likely as `odds`
    [P, K] say; and what it earned [P, K], in how many games [P, K], in each seat."""
    draw_key, sample_key, learn_key = jax.random.split(key, 3)
    players, batch = all_players(graph), graph.num_players * learner.num_episodes
    seat = jnp.arange(batch) % graph.num_players
    passed = jnp.cumsum(opponent_probabilities, axis=1)[seat]  # [B, K]
    draw = jax.random.uniform(draw_key, (batch, 1)) * passed[:, -1:] * (1.0 - 2.0**-22)
    which = (passed <= draw).sum(-1)
    policy = learner.behaviour(graph, players, t, state).policy

    def behave(decisions: DecisionBatch) -> tuple[jax.Array, jax.Array]:
        mine = (decisions.player == seat)[:, None]
        mixed = jnp.where(
            mine, policy[decisions.infoset], opponent_tables[which, decisions.infoset]
        )
        return mixed, mixed

    seen = sample_episodes(graph, behave, sample_key, batch)
    own = seen.live & (seen.player == seat)
    agent = learner.update(graph, players, t, state, Experience(seen, own, own), learn_key)
    nothing = jnp.zeros(opponent_probabilities.shape)
    payoff = jnp.take_along_axis(seen.utility, seat[:, None], axis=1)[:, 0]
    return agent, (nothing.at[seat, which].add(payoff), nothing.at[seat, which].add(1.0))
