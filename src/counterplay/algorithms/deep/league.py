"""League self-play: agents trained against themselves, past policies and exploiters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Ge

from counterplay.algorithms.deep.common import averages
from counterplay.algorithms.deep.common.averages import AverageConfig, AverageState
from counterplay.algorithms.deep.common.batched_env import BatchedEnv
from counterplay.algorithms.deep.common.best_response import Experience
from counterplay.algorithms.deep.common.episodes import (
    DRAW_SHRINK_FACTOR,
    DecisionBatch,
    sample_episodes,
)
from counterplay.algorithms.deep.common.graph import Graph, host_array
from counterplay.algorithms.deep.common.jax_algorithm import persistent_jit, split_key
from counterplay.algorithms.deep.common.networks import Net, apply_net, softmax
from counterplay.algorithms.deep.common.ppo_response import PPOResponse, PPOState
from counterplay.algorithms.deep.common.rollouts import (
    RolloutBatch,
    empty_graph,
    graph_from_rows,
    play_episodes,
    rng_from_key,
)
from counterplay.algorithms.deep.common.schedule import ScheduleConfig
from counterplay.algorithms.deep.common.tree_or_rules import JaxAlgorithmOnTreeOrRules
from counterplay.algorithms.deep.common.utility_scale import estimate_utility_scale
from counterplay.core.arena import Ints
from counterplay.core.settings import (
    HiddenSizes,
    NonNegative,
    NonNegativeInt,
    PositiveInt,
    PositiveProbability,
    settings,
)
from counterplay.errors import ConfigError

LEARNER = -1  # number of the member that a learning player plays: itself
NUM_ROLES = 3  # main agents, main exploiters, league exploiters
SNAPSHOTS_PER_SCHEDULE = 20
MIN_OPPONENT_WEIGHT = 1e-6  # every policy of the pool can be drawn
DEFAULT_PAST_NETWORKS = 100  # of the ensemble on rules, if the user sets no average


class LeaguePool(NamedTuple):
    """Past policies, and the results of the main agents against each."""

    members: Any  # tables [K, I, A] on a tree, networks [K, P, ...] on rules
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
class League(ScheduleConfig, JaxAlgorithmOnTreeOrRules, AverageConfig):
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
    the exploiters between two snapshots.

    On a tree the pool holds policies as tables; on rules it holds networks, and `ensemble`, a
    sample of past networks of the main agents, takes the place of `average`. With three or more
    players, or utilities that do not cancel, all other seats of an episode play the same member of
    the pool, and nothing is known about convergence: each player learns good responses to the
    others' past.
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
        if self.average_hidden_sizes:
            raise ConfigError(
                f"{self.name} trains no average network: leave out average_hidden_sizes"
            )

    def init_state(self, graph: Graph, rng: np.random.Generator) -> LeagueState:
        main, *exploiters, initial_exploiter = (
            learner.init_state(graph, rng, graph.all_players)
            for learner in (self.main_learner, *[self.exploiter_learner] * NUM_ROLES)
        )
        results_shape = graph.num_players, self.pool_size
        example = main.policy.params if graph.is_rollout_batch else np.zeros(graph.legal.shape)
        pool = LeaguePool(
            jax.tree.map(
                lambda array: host_array(np.zeros((self.pool_size, *array.shape), np.float32)),
                example,
            ),
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
        main = state.agents[0]
        current = self.main_learner.behaviour(graph, graph.all_players, t, main).policy
        average_state = averages.add_policies(
            self, state.averages, graph, t, main.policy.params, lambda: current, keys[NUM_ROLES]
        )
        tables = jnp.concatenate([state.pool.members, current[None]])
        opponents = self.opponents_by_role(graph, state.pool)
        agents, results = [], []
        for role, (learner, time) in enumerate(self.learners_at(t)):
            agent, result = train_against(
                graph, learner, time, state.agents[role], tables, opponents[role], keys[role]
            )
            agents.append(agent)
            results.append(result)
        state = state._replace(agents=tuple(agents), averages=average_state)
        return self.finish_iteration(graph, t, state, results[0])

    def learners_at(self, t: Any) -> tuple[tuple[PPOResponse, Any], ...]:
        """Return the learner of each role, and its iteration since it last started."""
        restarted = (t - 1) % self.snapshot_interval + 1
        exploiter = self.exploiter_learner, restarted
        return (self.main_learner, t), exploiter, exploiter

    def opponents_by_role(self, graph: Graph, pool: LeaguePool) -> list[jax.Array]:
        """Return the probabilities [P, K + 1] of each role's opponents; the last is the present."""
        past = self.opponent_probabilities(graph, pool)
        only_current = jnp.zeros_like(past).at[:, -1].set(1.0)
        meets_past = (pool.num_joined > 0) & jnp.array([True, False, True])
        current_prob = jnp.where(meets_past, jnp.array([self.self_play_prob, 1.0, 0.0]), 1.0)
        return [share * only_current + (1.0 - share) * past for share in current_prob]

    def finish_iteration(
        self,
        graph: Graph,
        t: jax.Array,
        state: LeagueState,
        results: tuple[jax.Array, jax.Array],
    ) -> LeagueState:
        """Return the state with the main agents' results [P, K + 1], and snapshots if it is time.

        Args:
            results: total utility and number of games of each seat against each opponent.
        """
        total_utility, num_games = results
        decay = 1.0 - self.result_forget_rate
        pool = state.pool._replace(
            total_utility=decay * state.pool.total_utility + total_utility[:, :-1],
            num_games=decay * state.pool.num_games + num_games[:, :-1],
        )
        return jax.lax.cond(
            t % self.snapshot_interval == 0,
            lambda state: self.add_snapshots(graph, t, state),
            lambda state: state,
            state._replace(pool=pool),
        )

    def for_rules(self) -> Self:
        """Return settings with an ensemble if no average is set: rules have no table of it."""
        return self if self.ensemble_size else replace(self, ensemble_size=DEFAULT_PAST_NETWORKS)

    def iterate_on_rules(
        self, env: BatchedEnv, t: int, state: LeagueState, key: jax.Array
    ) -> tuple[LeagueState, int]:
        *role_keys, average_key = split_key(key, NUM_ROLES + 1)
        units = env.largest_utility, estimate_utility_scale(env.random_episode_utilities)
        opponents = _jit_opponents()(self, empty_graph(env), units, state.pool)
        current, pool_members = state.agents[0].policy.params, state.pool.members
        num_episodes = env.num_players * self.num_episodes
        seat = np.arange(num_episodes) % env.num_players
        agents, results, nodes_touched = [], [], 0
        for role, (learner, time) in enumerate(self.learners_at(t)):
            play_key, learn_key = split_key(role_keys[role], 2)
            rng = rng_from_key(play_key)
            opponent = draw_opponents(np.asarray(opponents[role])[seat], rng)

            def assign_members(player: Ints, episode: Ints, opponent: Ints = opponent) -> Ints:
                member = np.where(player == seat[episode], LEARNER, opponent[episode])
                return member.astype(np.int32)

            own = state.agents[role].policy.params
            candidates = _jit_candidates()(pool_members, current, own)
            act = partial(_jit_act(), env.num_players, candidates)
            rollouts, count = play_episodes(env, act, rng, num_episodes, assign_members)
            agent = _jit_learn()(
                learner, env.num_players, units, time, state.agents[role], rollouts, learn_key
            )
            utility = rollouts.episodes.utility[np.arange(num_episodes), seat]
            shape = env.num_players, self.pool_size + 1
            results.append(sum_results(shape, seat, opponent, utility))
            agents.append(agent)
            nodes_touched += count
        state = state._replace(agents=tuple(agents))
        state = _jit_finish()(self, empty_graph(env), t, state, current, results[0], average_key)
        return state, nodes_touched

    def networks(self, state: LeagueState) -> dict[str, Any]:
        networks: dict[str, Any] = averages.ensemble_networks(state.averages, self.average_power)
        networks["current"] = [state.agents[0].policy.params], [1.0]
        return {name: (*weighted_nets, "softmax") for name, weighted_nets in networks.items()}

    def opponent_probabilities(self, graph: Graph, pool: LeaguePool) -> jax.Array:
        """Return the probabilities [P, K + 1] of past opponents by seat; the last entry is 0."""
        mean = pool.total_utility / jnp.maximum(pool.num_games, 1.0) / graph.largest_utility
        weight = ((1.0 - jnp.clip(mean, -1.0, 1.0)) / 2.0) ** self.pfsp_power
        has_joined = jnp.arange(self.pool_size) < pool.num_joined
        weight = jnp.where(has_joined, jnp.maximum(weight, MIN_OPPONENT_WEIGHT), 0.0)
        total = weight.sum(-1, keepdims=True)
        return jnp.pad(weight / jnp.maximum(total, 1e-30), [(0, 0), (0, 1)])

    def add_snapshots(self, graph: Graph, t: jax.Array, state: LeagueState) -> LeagueState:
        """Add the policies of all roles to the pool, and restart the exploiters."""
        pool = state.pool
        for agent in state.agents:
            member: Any = agent.policy.params
            if not graph.is_rollout_batch:
                member = self.main_learner.behaviour(graph, graph.all_players, t, agent).policy
            slot = pool.num_joined % self.pool_size
            pool = LeaguePool(
                jax.tree.map(
                    lambda old, new, slot=slot: jnp.asarray(old).at[slot].set(new),
                    pool.members,
                    member,
                ),
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


def draw_opponents(probabilities: Any, rng: np.random.Generator) -> Ints:
    """Return an opponent [B] for each episode, drawn with these probabilities [B, K + 1]."""
    cdf = np.cumsum(probabilities, axis=1, dtype=np.float64)
    draw = rng.random((len(cdf), 1)) * cdf[:, -1:] * DRAW_SHRINK_FACTOR
    opponent: Ints = (cdf <= draw).sum(axis=1)
    return opponent


def sum_results(shape: tuple[int, int], seat: Ints, opponent: Ints, utility: Any) -> Any:
    """Return the total utility and the number of games [P, K + 1] of each seat and opponent."""
    total, count = np.zeros((2, *shape), np.float32)
    np.add.at(total, (seat, opponent), utility)
    np.add.at(count, (seat, opponent), 1.0)
    return total, count


@lru_cache
def _jit_opponents() -> Callable[..., list[jax.Array]]:
    @partial(persistent_jit, static_argnums=0)
    def opponents(
        algorithm: League, graph: Graph, units: tuple[jax.Array, jax.Array], pool: LeaguePool
    ) -> list[jax.Array]:
        graph = replace(graph, largest_utility=units[0], utility_scale=units[1])
        return algorithm.opponents_by_role(graph, pool)

    return opponents


@lru_cache
def _jit_candidates() -> Callable[..., Net]:
    @persistent_jit
    def candidates(pool_members: Net, current: Net, learner: Net) -> Net:
        """Return networks [K + 2, P, ...]: the pool, the main agents, and the learner last."""

        def stack(past: Any, present: Any, own: Any) -> jax.Array:
            return jnp.concatenate([past, present[None], own[None]])

        return jax.tree.map(stack, pool_members, current, learner)

    return candidates


@lru_cache
def _jit_act() -> Callable[..., tuple[jax.Array, jax.Array]]:
    @partial(persistent_jit, static_argnums=0)
    def act(
        num_players: int,
        candidates: Net,
        observation: jax.Array,
        legal: jax.Array,
        member: jax.Array,
    ) -> tuple[jax.Array, jax.Array]:
        """Return the policies of the candidates that play each row."""
        owner = graph_from_rows(observation[None], legal, num_players).infoset_player

        def evaluate(row: jax.Array, player: jax.Array, member: jax.Array) -> jax.Array:
            net = jax.tree.map(lambda array: array[member, player], candidates)
            return apply_net(net, row[None])[0]

        outputs = jax.vmap(evaluate)(observation, owner, member)
        policy = softmax(outputs, legal)
        return policy, policy

    return act


@lru_cache
def _jit_learn() -> Callable[..., PPOState]:
    @partial(persistent_jit, static_argnums=(0, 1), donate_argnums=())
    def learn(
        learner: PPOResponse,
        num_players: int,
        units: tuple[jax.Array, jax.Array],
        t: jax.Array,
        state: PPOState,
        rollouts: RolloutBatch,
        key: jax.Array,
    ) -> PPOState:
        graph = replace(
            rollouts.graph(num_players), largest_utility=units[0], utility_scale=units[1]
        )
        is_own = rollouts.episodes.live & (rollouts.role == LEARNER)
        experience = Experience(rollouts.episodes, is_own, is_own)
        return learner.update(graph, graph.all_players, t, state, experience, key)

    return learn


@lru_cache
def _jit_finish() -> Callable[..., LeagueState]:
    @partial(persistent_jit, static_argnums=0)
    def finish(
        algorithm: League,
        graph: Graph,
        t: jax.Array,
        state: LeagueState,
        current: Net,
        results: tuple[jax.Array, jax.Array],
        key: jax.Array,
    ) -> LeagueState:
        average_state = averages.add_policies(
            algorithm, state.averages, graph, t, current, lambda: graph.observation, key
        )
        state = state._replace(averages=average_state)
        return algorithm.finish_iteration(graph, t, state, results)

    return finish
