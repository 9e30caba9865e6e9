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

from counterplay.algorithms.deep.common import replay
from counterplay.algorithms.deep.common.batched_env import BatchedEnv
from counterplay.algorithms.deep.common.best_response import RANGES as RESPONDING
from counterplay.algorithms.deep.common.best_response import (
    Experience,
    Players,
    Responder,
    apply_output_gradient,
    infoset_outputs,
    response_probabilities,
    sample_exploration,
    sum_by_infoset_action,
)
from counterplay.algorithms.deep.common.buffers import ReplayBuffer
from counterplay.algorithms.deep.common.episodes import DecisionBatch, Episodes, sample_episodes
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.jax_algorithm import JaxMemory, persistent_jit
from counterplay.algorithms.deep.common.networks import Net, new_nets, softmax, uniform
from counterplay.algorithms.deep.common.rollouts import (
    RolloutBatch,
    empty_graph,
    graph_from_rows,
    play_episodes,
    rng_from_key,
)
from counterplay.algorithms.deep.common.training import TrainState, init_train_states
from counterplay.algorithms.deep.common.tree_or_rules import JaxAlgorithmOnTreeOrRules
from counterplay.core.arena import Ints, is_exact
from counterplay.core.evaluation import expected_values, judge
from counterplay.core.field_bounds import FRACTION, NON_NEGATIVE, FieldBound, at_least, check_bounds
from counterplay.core.policy import Policy
from counterplay.core.settings import settings
from counterplay.errors import ConfigError

RANGES: dict[str, FieldBound] = {
    **RESPONDING,
    **dict.fromkeys(("schedule_iterations", "reservoir_size", "average_batch_size"), at_least(1)),
    **dict.fromkeys(
        ("average_learning_rate", "average_learning_rate_end", "average_power"), NON_NEGATIVE
    ),
    **dict.fromkeys(("anticipatory_param", "response_prob"), FRACTION),
}


ROLE_AVERAGE, ROLE_RESPONSE, ROLE_EXPLORATION = range(
    3
)  # as what a decision is played: the last is something tried


class NFSPState(NamedTuple):
    """What an iteration changes."""

    response: Any  # of the responder
    average: TrainState  # Pi of each player
    reservoir: ReplayBuffer  # of (where, action, weight) of responses, everybody's
    counts: jax.Array  # [I, A] of responses, all of them, by their weights; on rules nothing


@settings(kw_only=True)
class NFSPBase(JaxAlgorithmOnTreeOrRules):
    """The choices that all of them share, and their iteration.

    In every episode it is one player's turn to learn, one after the other. That player plays its
    response with probability `practice`, trying things, else its average; the others play theirs
    with probability eta, trying nothing. Whoever responds offers its decisions to the reservoir
    until it tries something, so that what is in there are responses, each as often as it is met;
    with `average_power` later ones weigh more: early ones answer what nobody plays any more.

    On rules that are never unrolled ring and reservoir hold what players saw, in a part for each of
    them, and there are no `counts`.
    """

    hidden_sizes: tuple[int, ...] = (128,)
    num_episodes: int = 512
    anticipatory_param: float = 0.1
    schedule_iterations: int = 40_000  # iterations over which rates fall
    learning_rate: float = 3e-3
    learning_rate_end: float = 3e-4
    average_learning_rate: float = 1e-3
    average_learning_rate_end: float = 1e-4
    average_batch_size: int = 4_096
    average_power: float = 0.0  # responses of iteration t weigh t to this power in the average
    reservoir_size: int = 2_000_000
    utility_scale: float = 0.0  # of utilities; 0: a fifth of the largest

    monitored_paths: ClassVar[tuple[str, ...]] = ("state.response", "state.average")

    def __post_init__(self) -> None:
        check_bounds(self.name, self, RANGES)

    @property
    def responder(self) -> Responder:
        """Who learns to respond."""
        raise NotImplementedError

    @property
    def learner_response_prob(self) -> float:
        """With which the one whose turn it is plays its response."""
        return 1.0

    def init_state(self, graph: Graph, rng: np.random.Generator) -> NFSPState:
        sizes = (graph.num_features, *self.hidden_sizes, graph.max_actions)
        average = new_nets(rng, graph.num_players, sizes, zero_head=True)
        return NFSPState(
            self.responder.init_state(graph, rng, all_players(graph)),
            init_train_states(self.optimiser, average),
            replay.new_replay_buffer(graph, self.reservoir_size, np.int32(0), np.float32(0)),
            np.zeros((0, 0) if graph.is_rollout_batch else graph.legal.shape, np.float32),
        )

    def iterate(self, graph: Graph, t: jax.Array, state: NFSPState, key: jax.Array) -> NFSPState:
        keys = jax.random.split(key, 6)
        players, responder = all_players(graph), self.responder
        average = softmax(infoset_outputs(graph, state.average.params, players), graph.legal)
        plays = responder.behaviour(graph, players, t, state.response)
        coins = sample_exploration(graph, plays, keys[5], self.num_episodes)
        learns = jnp.asarray(self.learner_mask(graph.num_players))
        column = jnp.arange(self.num_episodes)
        odds = jnp.where(learns, self.learner_response_prob, self.anticipatory_param)
        responds = jax.random.uniform(keys[0], learns.shape) < odds

        def behave(decisions: DecisionBatch) -> tuple[jax.Array, jax.Array]:
            response = response_probabilities(
                plays, coins & learns[decisions.player, column], decisions
            )
            mine = responds[decisions.player, column][:, None]
            mixed = jnp.where(mine, response, average[decisions.infoset])
            return mixed, mixed

        seen = sample_episodes(graph, behave, keys[1], self.num_episodes)
        responding = seen.live & responds[jnp.maximum(seen.player, 0), column]
        state = self.observe(graph, t, state, seen, keys[3], (responding, coins))
        return self.fit(graph, t, state, keys[2], keys[4])

    def learner_mask(self, num_players: int) -> Any:
        """Whose turn to learn it is [P, B]."""
        return np.arange(num_players)[:, None] == np.arange(self.num_episodes) % num_players

    def observe(
        self,
        graph: Graph,
        t: jax.Array,
        state: NFSPState,
        episodes: Episodes,
        key: jax.Array,
        response_and_exploration: Any,
    ) -> NFSPState:
        """The state after some episodes, of which responder and reservoir keep their part.

        `how` they were played: which decisions [T, B] were responses, and in which of these, if it
        was the player's turn to learn, something was tried.
        """
        responding, coins = response_and_exploration
        acts, column = jnp.maximum(episodes.player, 0), jnp.arange(self.num_episodes)
        own = episodes.live & jnp.asarray(self.learner_mask(graph.num_players))[acts, column]
        new = Experience(episodes, own, own & responding)
        response = self.responder.observe(graph, all_players(graph), t, state.response, new)
        kept = responding & ~has_explored(graph, episodes, coins & own)
        weight = jnp.full(
            episodes.action.shape, (t / self.schedule_iterations) ** self.average_power
        )
        items, valid = replay.buffer_items(graph, episodes, kept, episodes.action, weight)
        reservoir = replay.add_to_reservoir(graph, state.reservoir, key, items, valid)
        counts = state.counts
        if not graph.is_rollout_batch:
            infoset, action, much = items
            counts = counts + sum_by_infoset_action(graph, (infoset, action), much)
        return NFSPState(response, state.average, reservoir, counts)

    def fit(
        self, graph: Graph, t: jax.Array, state: NFSPState, key: jax.Array, average_key: jax.Array
    ) -> NFSPState:
        """The state after all networks have learned from what is kept."""
        response = self.responder.fit(graph, all_players(graph), t, state.response, key)
        average = self.train_average(graph, state.average, state.reservoir, average_key)
        return state._replace(response=response, average=average)

    def train_average(
        self, graph: Graph, average: TrainState, reservoir: ReplayBuffer, key: jax.Array
    ) -> TrainState:
        """The average networks one step nearer to what is in the reservoir."""
        some = replay.sample_minibatch(graph, reservoir, key, self.average_batch_size)
        here, (action, weight) = (
            some.graph,
            some.extra_fields,
        )  # of what is not there yet the weight is 0
        share = weight / jnp.maximum(weight.sum(), 1e-30)
        count = sum_by_infoset_action(here, (some.infoset, action), share)
        visits = count.sum(-1)

        def down(logits: jax.Array) -> jax.Array:
            return visits[:, None] * softmax(logits, here.legal) - count

        return apply_output_gradient(
            self.optimiser, here, all_players(here), average, down, visits, self.average_batch_size
        )

    def iterate_on_rules(
        self, env: BatchedEnv, t: int, state: NFSPState, key: jax.Array
    ) -> tuple[NFSPState, int]:
        play_key, *keys = jax.random.split(key, 4)
        rng, learns = rng_from_key(play_key), self.learner_mask(env.num_players)
        responds = rng.random(learns.shape) < np.where(
            learns, self.learner_response_prob, self.anticipatory_param
        )
        epsilon = float(self.responder.epsilon_at(jnp.float32(t)))

        def cast(player: Ints, episode: Ints) -> Ints:
            attempt = learns[player, episode] & (rng.random(player.size) < epsilon)
            as_response = np.where(attempt, ROLE_EXPLORATION, ROLE_RESPONSE)
            return np.where(responds[player, episode], as_response, ROLE_AVERAGE).astype(np.int32)

        ask = partial(_jit_act(), self, env.num_players, t, state.response, state.average.params)
        met, count = play_episodes(env, ask, rng, self.num_episodes, cast)
        largest, graph = env.largest_utility, empty_graph(env)
        state = _jit_observe()(self, env.num_players, largest, t, state, met, keys[0])
        return _jit_fit()(self, graph, t, state, *keys[1:]), count

    def networks(self, state: NFSPState) -> dict[str, Any]:
        response, head = self.responder.networks(state.response)
        return {
            "network": ([state.average.params], [1.0], "softmax"),
            "response": ([response], [1.0], head),
        }

    def tabulate(self, graph: Graph, state: NFSPState) -> dict[str, jax.Array]:
        players = all_players(graph)
        response = self.responder.behaviour(
            graph, players, jnp.float32(self.schedule_iterations), state.response
        )
        return {
            "network": softmax(infoset_outputs(graph, state.average.params, players), graph.legal),
            "counts": state.counts,
            "response": response.policy,
        }

    def gains(self, arena: Any, memory: JaxMemory) -> tuple[float, float]:
        """What all responses gain against the average networks, and what best responses would."""
        if not is_exact(arena):
            problem = "gains are exact, which needs a tree or a generated arena"
            raise ConfigError(f"{self.name}: {problem}; of {arena.spec} there are the rules alone")
        policies = self.policies(arena, memory)
        return response_gains(arena, policies["network"], policies["response"])

    @property
    def optimiser(self) -> optax.GradientTransformation:
        return optax.adam(
            optax.linear_schedule(
                self.average_learning_rate, self.average_learning_rate_end, self.schedule_iterations
            )
        )

    @property
    def responder_fields(self) -> dict[str, Any]:
        """What the responder shares."""
        names = (
            "hidden_sizes",
            "num_episodes",
            "learning_rate",
            "learning_rate_end",
            "utility_scale",
        )
        return {"iterations": self.schedule_iterations} | {
            name: getattr(self, name) for name in names
        }


@lru_cache
def _jit_act() -> Callable[..., Any]:
    @partial(persistent_jit, static_argnums=(0, 1))
    def act(
        algorithm: NFSPBase,
        players: int,
        t: jax.Array,
        response: Any,
        average: Net,
        seen: jax.Array,
        legal: jax.Array,
        plays_as: jax.Array,
    ) -> tuple[jax.Array, jax.Array]:
        graph = graph_from_rows(seen[None], legal, players)
        plays = algorithm.responder.behaviour(graph, all_players(graph), t, response)
        choices = (
            softmax(infoset_outputs(graph, average, all_players(graph)), legal),
            plays.policy,
            uniform(legal),
        )
        mixed = jnp.stack(choices)[plays_as, jnp.arange(len(legal))]
        return mixed, mixed

    return act


@lru_cache
def _jit_observe() -> Callable[..., NFSPState]:
    @partial(persistent_jit, static_argnums=(0, 1), donate_argnums=4)
    def tell(
        algorithm: NFSPBase,
        players: int,
        largest: jax.Array,
        t: jax.Array,
        state: NFSPState,
        rollouts: RolloutBatch,
        key: jax.Array,
    ) -> NFSPState:
        graph = replace(rollouts.graph(players), largest_utility=largest)
        how = rollouts.role != ROLE_AVERAGE, rollouts.role == ROLE_EXPLORATION
        return algorithm.observe(graph, t, state, rollouts.episodes, key, how)

    return tell


@lru_cache
def _jit_fit() -> Callable[..., NFSPState]:
    """Apart, since it is the same program for batches of all sizes."""

    @partial(persistent_jit, static_argnums=0, donate_argnums=3)
    def fit(algorithm: NFSPBase, graph: Graph, t: Any, state: NFSPState, *keys: Any) -> NFSPState:
        return algorithm.fit(graph, t, state, *keys)

    return fit


def all_players(graph: Graph) -> Players:
    return tuple(range(graph.num_players))


def has_explored(graph: Graph, episodes: Episodes, exploration_mask: jax.Array) -> jax.Array:
    """Whether [T, B] the one who acts has tried something, as `coins` [T, B] say, by now."""
    found = jnp.zeros(episodes.live.shape, bool)
    for player in range(graph.num_players):
        own = episodes.player == player
        found = jnp.where(own, jnp.cumsum(own & exploration_mask, axis=0) > 0, found)
    return found


def response_gains(arena: Any, policy: Policy, response: Policy) -> tuple[float, float]:
    """What all players together gain by responding so, and by best responses: NashConv."""
    judged, realised = judge(arena, policy), 0.0
    for player in range(arena.num_players):
        own = np.repeat(arena.infoset_player == player, arena.num_actions)
        mixed = np.where(own, response.probabilities, policy.probabilities)
        realised += float(expected_values(arena, Policy(arena, mixed))[player])
    return realised - float(judged.values.sum()), judged.nash_conv
