"""League self-play: agents trained against themselves, past policies and exploiters."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Ge

from counterplay.algorithms.deep.common import averages
from counterplay.algorithms.deep.common.averages import AverageConfig, AverageState
from counterplay.algorithms.deep.common.best_response import Experience
from counterplay.algorithms.deep.common.episodes import (
    DRAW_SHRINK_FACTOR,
    DecisionBatch,
    sample_episodes,
)
from counterplay.algorithms.deep.common.graph import Graph, host_array
from counterplay.algorithms.deep.common.jax_algorithm import JaxMemory
from counterplay.algorithms.deep.common.ppo_response import PPOResponse, PPOState
from counterplay.algorithms.deep.common.schedule import ScheduleConfig
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.settings import (
    HiddenSizes,
    NonNegative,
    NonNegativeInt,
    PositiveInt,
    PositiveProbability,
    settings,
)
from counterplay.errors import ConfigError

NUM_ROLES = 3  # main agents, main exploiters, league exploiters
SNAPSHOTS_PER_SCHEDULE = 20
MIN_OPPONENT_WEIGHT = 1e-6  # every policy of the pool can be drawn


class LeaguePool(NamedTuple):
    """Past policies, and the results of the main agents against each."""

    tables: jax.Array  # [K, I, A]
    num_joined: jax.Array  # [] policies that ever joined
    total_utility: jax.Array  # [P, K] of the main agent in that seat, against each policy
    num_games: jax.Array  # [P, K] likewise


class LeagueState(NamedTuple):
    """The state that an iteration changes."""

    agents: tuple[PPOState, ...]  # [NUM_ROLES]
    initial_exploiter: PPOState  # from which exploiters restart
    pool: LeaguePool
    averages: AverageState  # of the main agents


@settings(kw_only=True)
class League(ScheduleConfig, AverageConfig):
    """A league, after OpenAI Five and AlphaStar (Vinyals et al., 2019). At t = 1, 2, ...:

        main agents       learn, with probability `self_play_prob`, against each other's current
                          policies, else against a past policy k, drawn in proportion to
                          ((1 - mean utility against k / largest utility) / 2) ** pfsp_power
        main exploiters   learn against the current main agents
        league exploiters learn against past policies, drawn in the same way

    all by PPO. Each role has networks for every seat, and plays `num_episodes` episodes per seat
    and iteration. Every `snapshot_every` iterations the policies of all three roles join the pool
    of `pool_size` past policies, in place of the oldest, and the exploiters restart. `average`
    is the average of the main agents, weighed by t ** average_power; `current` is their latest
    policy. AlphaStar's exploiters restart from a policy learned from people; here from uniform
    play. Learning rate and entropy of the main agents fall over `schedule_iterations`, those of
    the exploiters between two snapshots. The algorithm needs a tree: the pool holds policies as
    tables.
    """

    hidden_sizes: HiddenSizes = (64,)
    num_episodes: PositiveInt = 256
    # iterations between two snapshots of all policies; 0: a twentieth of the schedule
    snapshot_every: NonNegativeInt = 0
    pool_size: Annotated[int, Ge(3)] = 48
    self_play_prob: PositiveProbability = 0.8
    pfsp_power: NonNegative = 2.0
    result_forget_rate: PositiveProbability = 0.01  # of old results, per iteration
    learning_rate: NonNegative = 3e-3
    learning_rate_end: NonNegative = 1e-4
    num_epochs: PositiveInt = 2
    clip_eps: NonNegative = 0.2
    gae_lambda: PositiveProbability = 0.95
    entropy_coef: NonNegative = 0.5  # in units of a fifth of the largest utility
    average_power: NonNegative = 1.0

    monitored_paths: ClassVar[tuple[str, ...]] = ("state.agents",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.average_hidden_sizes or self.ensemble_size:
            raise ConfigError(f"{self.name} averages in a table: leave out other averages")

    def init(self, tree: TreeArena, seed: int = 0) -> JaxMemory:
        if tree.num_players != 2 or not tree.is_zero_sum:
            raise ConfigError(f"{self.name} needs a two-player zero-sum game, unlike {tree.spec}")
        return super().init(tree, seed)

    def init_state(self, graph: Graph, rng: np.random.Generator) -> LeagueState:
        main, *exploiters, initial_exploiter = (
            learner.init_state(graph, rng, graph.all_players)
            for learner in (self.main_learner, *[self.exploiter_learner] * NUM_ROLES)
        )
        results_shape = graph.num_players, self.pool_size
        pool = LeaguePool(
            host_array(np.zeros((self.pool_size, *graph.legal.shape), np.float32)),
            host_array(np.int32(0)),
            host_array(np.zeros(results_shape, np.float32)),
            host_array(np.zeros(results_shape, np.float32)),
        )
        average_state = averages.new_average_state(self, graph, rng, main.policy.params, 1)
        return LeagueState((main, *exploiters), initial_exploiter, pool, average_state)

    def iterate(
        self, graph: Graph, t: jax.Array, state: LeagueState, key: jax.Array
    ) -> LeagueState:
        keys = jax.random.split(key, NUM_ROLES + 1)
        pool, t_exploiter = state.pool, (t - 1) % self.snapshot_interval + 1
        learners = (self.main_learner, self.exploiter_learner, self.exploiter_learner)
        times = (t, t_exploiter, t_exploiter)
        main = state.agents[0]
        current = self.main_learner.behaviour(graph, graph.all_players, t, main).policy
        average_state = averages.add_policies(
            self, state.averages, graph, t, main.policy.params, lambda: current, keys[NUM_ROLES]
        )
        tables = jnp.concatenate([pool.tables, current[None]])
        past = self.opponent_probabilities(graph, pool)
        only_current = jnp.zeros_like(past).at[:, -1].set(1.0)
        meets_past = (pool.num_joined > 0) & jnp.array([True, False, True])
        current_prob = jnp.where(meets_past, jnp.array([self.self_play_prob, 1.0, 0.0]), 1.0)
        agents, results = [], []
        for role, learner in enumerate(learners):
            opponents = current_prob[role] * only_current + (1.0 - current_prob[role]) * past
            agent, result = train_against(
                graph, learner, times[role], state.agents[role], tables, opponents, keys[role]
            )
            agents.append(agent)
            results.append(result)
        total_utility, num_games = results[0]
        decay = 1.0 - self.result_forget_rate
        pool = pool._replace(
            total_utility=decay * pool.total_utility + total_utility[:, :-1],
            num_games=decay * pool.num_games + num_games[:, :-1],
        )
        trained = LeagueState(tuple(agents), state.initial_exploiter, pool, average_state)
        return jax.lax.cond(
            t % self.snapshot_interval == 0,
            lambda state: self.add_snapshots(graph, t, state),
            lambda state: state,
            trained,
        )

    def opponent_probabilities(self, graph: Graph, pool: LeaguePool) -> jax.Array:
        """Return the probabilities [P, K + 1] of past opponents by seat; the last entry is 0."""
        mean = pool.total_utility / jnp.maximum(pool.num_games, 1.0) / graph.largest_utility
        weight = ((1.0 - mean) / 2.0) ** self.pfsp_power
        has_joined = jnp.arange(self.pool_size) < pool.num_joined
        weight = jnp.where(has_joined, jnp.maximum(weight, MIN_OPPONENT_WEIGHT), 0.0)
        total = weight.sum(-1, keepdims=True)
        return jnp.pad(weight / jnp.maximum(total, 1e-30), [(0, 0), (0, 1)])

    def add_snapshots(self, graph: Graph, t: jax.Array, state: LeagueState) -> LeagueState:
        """Add the policies of all roles to the pool, and restart the exploiters."""
        pool = state.pool
        for agent in state.agents:
            table = self.main_learner.behaviour(graph, graph.all_players, t, agent).policy
            slot = pool.num_joined % self.pool_size
            pool = LeaguePool(
                pool.tables.at[slot].set(table),
                pool.num_joined + 1,
                pool.total_utility.at[:, slot].set(0.0),
                pool.num_games.at[:, slot].set(0.0),
            )
        agents = (state.agents[0], *[state.initial_exploiter] * (NUM_ROLES - 1))
        return state._replace(agents=agents, pool=pool)

    def tabulate(self, graph: Graph, state: LeagueState) -> dict[str, jax.Array]:
        tables = averages.tabulate_averages(self, state.averages, graph)
        tables["current"] = averages.infoset_policies(state.agents[0].policy.params, graph)
        return tables

    @property
    def snapshot_interval(self) -> int:
        """Iterations between two snapshots."""
        return self.snapshot_every or max(1, self.num_schedule_iterations // SNAPSHOTS_PER_SCHEDULE)

    @property
    def main_learner(self) -> PPOResponse:
        """PPO of the main agents."""
        return PPOResponse.from_settings(self, iterations=self.num_schedule_iterations)

    @property
    def exploiter_learner(self) -> PPOResponse:
        """PPO of the exploiters, whose schedules end when they restart."""
        return replace(self.main_learner, iterations=self.snapshot_interval)


def train_against(
    graph: Graph,
    learner: PPOResponse,
    t: jax.Array,
    state: PPOState,
    opponent_tables: jax.Array,
    opponent_probabilities: jax.Array,
    key: jax.Array,
) -> tuple[PPOState, tuple[jax.Array, jax.Array]]:
    """Train the networks of all seats against opponents that are drawn for each episode.

    Args:
        opponent_tables: policies [K, I, A].
        opponent_probabilities: probability [P, K] with which each seat meets each of them.

    Returns:
        The state after an iteration, and the total utility and number of games [P, K] of each seat
        against each opponent.
    """
    draw_key, sample_key, learn_key = jax.random.split(key, 3)
    num_episodes = graph.num_players * learner.num_episodes
    seat = jnp.arange(num_episodes) % graph.num_players
    cdf = jnp.cumsum(opponent_probabilities, axis=1)[seat]  # [B, K]
    draw = jax.random.uniform(draw_key, (num_episodes, 1)) * cdf[:, -1:] * DRAW_SHRINK_FACTOR
    opponent = (cdf <= draw).sum(-1)
    policy = learner.behaviour(graph, graph.all_players, t, state).policy

    def behave(decisions: DecisionBatch) -> tuple[jax.Array, jax.Array]:
        is_own = (decisions.player == seat)[:, None]
        mixed = jnp.where(
            is_own, policy[decisions.infoset], opponent_tables[opponent, decisions.infoset]
        )
        return mixed, mixed

    episodes = sample_episodes(graph, behave, sample_key, num_episodes)
    is_own = episodes.live & (episodes.player == seat)
    experience = Experience(episodes, is_own, is_own)
    new_state = learner.update(graph, graph.all_players, t, state, experience, learn_key)
    zeros = jnp.zeros(opponent_probabilities.shape)
    utility = jnp.take_along_axis(episodes.utility, seat[:, None], axis=1)[:, 0]
    results = zeros.at[seat, opponent].add(utility), zeros.at[seat, opponent].add(1.0)
    return new_state, results
