"""Neural fictitious self-play with any responder: average networks, episodes, the iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, ClassVar, Generic, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax

from counterplay.algorithms.deep.common import replay
from counterplay.algorithms.deep.common.batched_env import BatchedEnv
from counterplay.algorithms.deep.common.best_response import (
    Experience,
    Iteration,
    Responder,
    ResponderState,
    apply_output_gradient,
    response_probabilities,
    sample_exploration,
    sum_by_infoset_action,
)
from counterplay.algorithms.deep.common.buffers import ReplayBuffer
from counterplay.algorithms.deep.common.episodes import DecisionBatch, Episodes, sample_episodes
from counterplay.algorithms.deep.common.graph import Graph, host_array
from counterplay.algorithms.deep.common.jax_algorithm import (
    JaxMemory,
    lazy_jit,
    persistent_jit,
    split_key,
)
from counterplay.algorithms.deep.common.networks import (
    Net,
    infoset_outputs,
    new_nets,
    softmax,
    uniform,
)
from counterplay.algorithms.deep.common.rollouts import (
    RolloutBatch,
    empty_graph,
    graph_from_rows,
    play_episodes,
    rng_from_key,
)
from counterplay.algorithms.deep.common.schedule import ScheduleConfig
from counterplay.algorithms.deep.common.training import TrainState, init_train_states
from counterplay.algorithms.deep.common.tree_or_rules import JaxAlgorithmOnTreeOrRules
from counterplay.algorithms.deep.common.utility_scale import estimate_utility_scale
from counterplay.core.arena import Ints, SequenceArena, is_exact
from counterplay.core.evaluation import expected_values, judge
from counterplay.core.policy import Policy
from counterplay.core.settings import (
    HiddenSizes,
    NonNegative,
    PositiveInt,
    PositiveProbability,
    Probability,
    settings,
)
from counterplay.errors import ConfigError

ROLE_AVERAGE, ROLE_RESPONSE, ROLE_EXPLORATION = range(3)  # how a decision is made


class NFSPState(NamedTuple, Generic[ResponderState]):
    """The state that an iteration changes."""

    response: ResponderState
    average: TrainState  # Pi of each player
    reservoir: ReplayBuffer  # of (infoset, action, weight) of all players' responses
    counts: jax.Array  # [I, A] weights of all responses; empty on rules


@settings(kw_only=True)
class NFSPBase(ScheduleConfig, JaxAlgorithmOnTreeOrRules, Generic[ResponderState]):
    """Settings that all variants of NFSP share, and their iteration.

    In every episode one player learns, in rotation. It plays its response with probability
    `learner_response_prob`, with exploration, otherwise its average; the others play theirs with
    probability `anticipatory_param`, without exploration. Players that respond offer their
    decisions to the reservoir until they take an exploring action, so that the reservoir contains
    responses in proportion to their reach. With `average_power` later ones weigh more: early ones
    respond to averages that are no longer played.

    On rules, ring buffer and reservoir store observations, in separate parts for each player, and
    there are no `counts`. Learning rates fall over `schedule_iterations`.
    """

    hidden_sizes: HiddenSizes = (128,)
    num_episodes: PositiveInt = 512
    anticipatory_param: PositiveProbability = 0.1
    learning_rate: NonNegative = 3e-3
    learning_rate_end: NonNegative = 3e-4
    average_learning_rate: NonNegative = 1e-3
    average_learning_rate_end: NonNegative = 1e-4
    average_batch_size: PositiveInt = 4_096
    average_power: NonNegative = 0.0  # responses of iteration t weigh t**average_power
    reservoir_size: PositiveInt = 2_000_000
    # divides utilities, in units of the game's scale; 0: a fifth of the largest utility
    utility_scale: NonNegative = 0.0

    monitored_paths: ClassVar[tuple[str, ...]] = ("state.response", "state.average")

    @property
    def responder(self) -> Responder[ResponderState]:
        """The responder that the settings describe."""
        raise NotImplementedError

    @property
    def learner_response_prob(self) -> float:
        """Probability with which the learning player plays its response."""
        return 1.0

    @property
    def stores_exploration(self) -> bool:
        """Whether decisions after an exploring action enter the reservoir."""
        return False

    def init_state(self, graph: Graph, rng: np.random.Generator) -> NFSPState[ResponderState]:
        sizes = (graph.num_features, *self.hidden_sizes, graph.max_actions)
        average = new_nets(rng, graph.num_players, sizes, zero_head=True)
        counts_shape = (0, 0) if graph.is_rollout_batch else graph.legal.shape
        return NFSPState(
            self.responder.init_state(graph, rng, graph.all_players),
            init_train_states(self.optimiser, average),
            replay.new_replay_buffer(graph, self.reservoir_size, np.int32(0), np.float32(0)),
            host_array(np.zeros(counts_shape, np.float32)),
        )

    def iterate(
        self, graph: Graph, t: jax.Array, state: NFSPState[ResponderState], key: jax.Array
    ) -> NFSPState[ResponderState]:
        keys = jax.random.split(key, 6)
        average = self.average_policy(graph, state.average.params)
        behaviour = self.responder.behaviour(graph, graph.all_players, t, state.response)
        explores = sample_exploration(graph, behaviour, keys[5], self.num_episodes)
        learns = jnp.asarray(self.learner_mask(graph.num_players))
        column = jnp.arange(self.num_episodes)
        response_prob = jnp.where(learns, self.learner_response_prob, self.anticipatory_param)
        responds = jax.random.uniform(keys[0], learns.shape) < response_prob

        def behave(decisions: DecisionBatch) -> tuple[jax.Array, jax.Array]:
            response = response_probabilities(
                behaviour, explores & learns[decisions.player, column], decisions
            )
            is_response = responds[decisions.player, column][:, None]
            mixed = jnp.where(is_response, response, average[decisions.infoset])
            return mixed, mixed

        episodes = sample_episodes(graph, behave, keys[1], self.num_episodes)
        is_response = episodes.live & responds[jnp.maximum(episodes.player, 0), column]
        state = self.observe(graph, t, state, episodes, keys[3], is_response, explores)
        return self.fit(graph, t, state, keys[2], keys[4])

    def average_policy(self, graph: Graph, nets: Net) -> jax.Array:
        """Return the policies [I, A] of the average networks."""
        return softmax(infoset_outputs(graph, nets, graph.all_players), graph.legal)

    def learner_mask(self, num_players: int) -> npt.NDArray[np.bool_]:
        """Return which player learns in each episode [P, B]."""
        return np.arange(num_players)[:, None] == np.arange(self.num_episodes) % num_players

    def observe(
        self,
        graph: Graph,
        t: jax.Array,
        state: NFSPState[ResponderState],
        episodes: Episodes,
        key: jax.Array,
        is_response: jax.Array,
        is_exploration: jax.Array,
    ) -> NFSPState[ResponderState]:
        """Return the state after responder and reservoir have received new episodes.

        Args:
            is_response: decisions [T, B] made by a response, with or without exploration.
            is_exploration: of these, the ones [T, B] with a random action, if the player learns.
        """
        actor, column = jnp.maximum(episodes.player, 0), jnp.arange(self.num_episodes)
        learner_mask = jnp.asarray(self.learner_mask(graph.num_players))
        is_learner = episodes.live & learner_mask[actor, column]
        experience = Experience(episodes, is_learner, is_learner & is_response)
        response = self.responder.observe(graph, graph.all_players, t, state.response, experience)
        is_stored = is_response
        if not self.stores_exploration:
            is_stored &= ~has_explored(graph, episodes, is_exploration & is_learner)
        weight = jnp.full(
            episodes.action.shape, (t / self.num_schedule_iterations) ** self.average_power
        )
        items, valid = replay.buffer_items(graph, episodes, is_stored, episodes.action, weight)
        reservoir = replay.add_to_reservoir(graph, state.reservoir, key, items, valid)
        counts = state.counts
        if not graph.is_rollout_batch:
            infoset, action, item_weight = items
            counts = counts + sum_by_infoset_action(graph, (infoset, action), item_weight)
        return NFSPState(response, state.average, reservoir, counts)

    def fit(
        self,
        graph: Graph,
        t: Iteration,
        state: NFSPState[ResponderState],
        key: jax.Array,
        average_key: jax.Array,
    ) -> NFSPState[ResponderState]:
        """Return the state after all networks were trained on stored decisions."""
        response = self.responder.fit(graph, graph.all_players, t, state.response, key)
        average = self.train_average(graph, state.average, state.reservoir, average_key)
        return state._replace(response=response, average=average)

    def train_average(
        self, graph: Graph, average: TrainState, reservoir: ReplayBuffer, key: jax.Array
    ) -> TrainState:
        """Return the average networks after one step on a minibatch of the reservoir."""
        minibatch = replay.sample_minibatch(graph, reservoir, key, self.average_batch_size)
        rows, (action, weight) = minibatch.graph, minibatch.extra_fields
        share = weight / jnp.maximum(weight.sum(), 1e-30)  # empty slots weigh 0
        target = sum_by_infoset_action(rows, (minibatch.infoset, action), share)
        visits = target.sum(-1)

        def loss_gradient(logits: jax.Array) -> jax.Array:
            return visits[:, None] * softmax(logits, rows.legal) - target

        return apply_output_gradient(
            self.optimiser,
            rows,
            rows.all_players,
            average,
            loss_gradient,
            visits,
            self.average_batch_size,
        )

    def iterate_on_rules(
        self, env: BatchedEnv, t: int, state: NFSPState[ResponderState], key: jax.Array
    ) -> tuple[NFSPState[ResponderState], int]:
        play_key, *keys = split_key(key, 4)
        rng, learns = rng_from_key(play_key), self.learner_mask(env.num_players)
        response_prob = np.where(learns, self.learner_response_prob, self.anticipatory_param)
        responds = rng.random(learns.shape) < response_prob
        epsilon = float(_epsilon_at(self, t))

        def assign_roles(player: Ints, episode: Ints) -> Ints:
            explores = learns[player, episode] & (rng.random(player.size) < epsilon)
            role = np.where(explores, ROLE_EXPLORATION, ROLE_RESPONSE)
            return np.where(responds[player, episode], role, ROLE_AVERAGE).astype(np.int32)

        act = partial(_jit_act(), self, env.num_players, t, state.response, state.average.params)
        rollouts, count = play_episodes(env, act, rng, self.num_episodes, assign_roles)
        units = env.largest_utility, estimate_utility_scale(env.random_episode_utilities)
        state = _jit_observe()(self, env.num_players, units, t, state, rollouts, keys[0])
        return _jit_fit()(self, empty_graph(env), t, state, *keys[1:]), count

    def networks(self, state: NFSPState[ResponderState]) -> dict[str, Any]:
        response, head = self.responder.networks(state.response)
        return {
            "network": ([state.average.params], [1.0], "softmax"),
            "response": ([response], [1.0], head),
        }

    def tabulate(self, graph: Graph, state: NFSPState[ResponderState]) -> dict[str, jax.Array]:
        response = self.responder.behaviour(
            graph, graph.all_players, jnp.float32(self.num_schedule_iterations), state.response
        )
        return {
            "network": self.average_policy(graph, state.average.params),
            "counts": state.counts,
            "response": response.policy,
        }

    def gains(self, arena: SequenceArena, memory: JaxMemory) -> tuple[float, float]:
        """Return the sum of all players' gains by their responses, and by best responses.

        Both are against the average networks; the second is their NashConv.

        Raises:
            ConfigError: if the arena has no exact values.
        """
        if not is_exact(arena):
            problem = "gains are exact, which needs a tree or a generated arena"
            raise ConfigError(f"{self.name}: {problem}; {arena.spec} has rules only")
        policies = self.policies(arena, memory)
        return response_gains(arena, policies["network"], policies["response"])

    @property
    def optimiser(self) -> optax.GradientTransformation:
        """The optimiser of the average networks."""
        return optax.adam(
            optax.linear_schedule(
                self.average_learning_rate,
                self.average_learning_rate_end,
                self.num_schedule_iterations,
            )
        )


@settings(kw_only=True)
class ReplayNFSP(NFSPBase[ResponderState]):
    """Settings of variants whose responder learns from a ring buffer."""

    response_prob: PositiveProbability = 0.5  # with which the learning player responds
    num_updates: PositiveInt = 2  # of the responder's networks per iteration
    batch_size: PositiveInt = 4_096
    epsilon: Probability = 0.2  # exploration of the learning player
    all_players_learn: bool = False  # in every episode, as in the paper; not in rotation

    @property
    def learner_response_prob(self) -> float:
        return self.anticipatory_param if self.all_players_learn else self.response_prob

    @property
    def stores_exploration(self) -> bool:
        return self.all_players_learn

    def learner_mask(self, num_players: int) -> npt.NDArray[np.bool_]:
        rotation = super().learner_mask(num_players)
        return np.ones_like(rotation) if self.all_players_learn else rotation


@lazy_jit(static_argnums=0)
def _epsilon_at(algorithm: NFSPBase[ResponderState], t: Any) -> jax.Array:
    return jnp.asarray(algorithm.responder.epsilon_at(t), jnp.float32)


@lru_cache
def _jit_act() -> Callable[..., tuple[jax.Array, jax.Array]]:
    @partial(persistent_jit, static_argnums=(0, 1))
    def act(
        algorithm: NFSPBase[ResponderState],
        num_players: int,
        t: jax.Array,
        response: ResponderState,
        average: Net,
        observation: jax.Array,
        legal: jax.Array,
        role: jax.Array,
    ) -> tuple[jax.Array, jax.Array]:
        graph = graph_from_rows(observation[None], legal, num_players)
        behaviour = algorithm.responder.behaviour(graph, graph.all_players, t, response)
        by_role = (algorithm.average_policy(graph, average), behaviour.policy, uniform(legal))
        mixed = jnp.stack(by_role)[role, jnp.arange(len(legal))]
        return mixed, mixed

    return act


@lru_cache
def _jit_observe() -> Callable[..., NFSPState[Any]]:
    @partial(persistent_jit, static_argnums=(0, 1), donate_argnums=4)
    def observe(
        algorithm: NFSPBase[ResponderState],
        num_players: int,
        units: tuple[jax.Array, jax.Array],
        t: jax.Array,
        state: NFSPState[ResponderState],
        rollouts: RolloutBatch,
        key: jax.Array,
    ) -> NFSPState[ResponderState]:
        largest_utility, utility_scale = units
        graph = replace(
            rollouts.graph(num_players),
            largest_utility=largest_utility,
            utility_scale=utility_scale,
        )
        is_response, is_exploration = (
            rollouts.role != ROLE_AVERAGE,
            rollouts.role == ROLE_EXPLORATION,
        )
        return algorithm.observe(
            graph, t, state, rollouts.episodes, key, is_response, is_exploration
        )

    return observe


@lru_cache
def _jit_fit() -> Callable[..., NFSPState[Any]]:
    """Return the compiled fit, apart from `observe` since it serves batches of all sizes."""

    @partial(persistent_jit, static_argnums=0, donate_argnums=3)
    def fit(
        algorithm: NFSPBase[ResponderState],
        graph: Graph,
        t: jax.Array,
        state: NFSPState[ResponderState],
        key: jax.Array,
        average_key: jax.Array,
    ) -> NFSPState[ResponderState]:
        return algorithm.fit(graph, t, state, key, average_key)

    return fit


def has_explored(graph: Graph, episodes: Episodes, exploration_mask: jax.Array) -> jax.Array:
    """Return whether [T, B] the acting player has explored, at this decision or before it.

    Args:
        exploration_mask: the exploring decisions [T, B].
    """
    explored = jnp.zeros(episodes.live.shape, bool)
    for player in range(graph.num_players):
        is_own = episodes.player == player
        explored = jnp.where(is_own, jnp.cumsum(is_own & exploration_mask, axis=0) > 0, explored)
    return explored


def response_gains(arena: SequenceArena, policy: Policy, response: Policy) -> tuple[float, float]:
    """Return the sum of all players' gains by a response to a policy, and the policy's NashConv."""
    judgement, response_values = judge(arena, policy), 0.0
    for player in range(arena.num_players):
        is_own = np.repeat(arena.infoset_player == player, arena.num_actions)
        mixed = np.where(is_own, response.probabilities, policy.probabilities)
        response_values += float(expected_values(arena, Policy(arena, mixed))[player])
    return response_values - float(judgement.values.sum()), judgement.nash_conv
