"""Responders: algorithms that learn, by playing, a best response to the other players.

A responder is a frozen dataclass of settings. It trains networks of one or several players, each
from its own decisions:

    init_state(graph, rng, players) -> state
    behaviour(graph, players, t, state) -> ResponseBehaviour    the response, and its exploration
    observe(graph, players, t, state, experience) -> state      after new episodes
    fit(graph, players, t, state, key) -> state                 after training on stored data
    networks(state) -> networks, head                           that play the response

Neural fictitious self-play trains one for all players, against averages that change; `respond` is
the case of one player against fixed opponents. All samples of an infoset have the same input, so
that minibatches are summed per infoset and a network is evaluated once for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache, partial
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.algorithms.deep.common.episodes import DecisionBatch, Episodes, sample_episodes
from counterplay.algorithms.deep.common.graph import Graph, Players, graph_from_tree
from counterplay.algorithms.deep.common.jax_algorithm import persistent_jit, policy_from_table
from counterplay.algorithms.deep.common.networks import (
    Net,
    apply_net,
    infoset_outputs,
    select_player,
    uniform,
)
from counterplay.algorithms.deep.common.training import TrainState, apply_gradients
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import row_lengths
from counterplay.core.evaluation import expected_values
from counterplay.core.policy import Policy
from counterplay.core.settings import HiddenSizes, NonNegative, PositiveInt, settings
from counterplay.errors import ConfigError

MIN_GATHER_ROWS = 64  # for fewer infosets, evaluating all is cheaper than gathering the visited
MINIBATCH_ROWS_PER_INFOSET = 4  # a minibatch rarely has more distinct infosets than rows / this

Iteration = int | jax.Array  # t = 1, 2, ...
ResponderState = TypeVar("ResponderState")
OutputGradient = Callable[[jax.Array], jax.Array]  # outputs [I, A] -> gradient of the loss [I, A]


class ResponseBehaviour(NamedTuple):
    """The behaviour of a responder at the infosets of its players."""

    policy: jax.Array  # [I, A] the response
    epsilon: float | jax.Array  # [] probability of a uniformly random action instead


class Experience(NamedTuple):
    """Episodes, with masks [T, B] of the decisions that a responder learns from."""

    episodes: Episodes
    is_learner: jax.Array  # decisions of a player that learns in this episode
    is_response: jax.Array  # of these, the ones sampled from the `ResponseBehaviour`


class Opponent(Protocol):
    """A policy, and the probability with which it is drawn as the opponent of an episode."""

    @property
    def weight(self) -> float: ...

    @property
    def policy(self) -> Policy: ...


class LearnedResponse(NamedTuple):
    """A learned response of one player, and its exact value.

    At infosets of the other players the policy is that of the first opponent.
    """

    policy: LearnedPolicy
    value: float


@dataclass(frozen=True, eq=False, repr=False)
class LearnedPolicy(Policy):
    """A learned response with the state of its responder, from which training can continue."""

    responder: Responder[Any] | None = None
    state: Any = None


@settings(kw_only=True)
class Responder(Generic[ResponderState]):
    """Settings that all responders share, and training of one player against fixed opponents."""

    hidden_sizes: HiddenSizes = (128,)
    iterations: PositiveInt = 4_000  # of training, over which learning rates fall
    num_episodes: PositiveInt = 256  # per iteration
    learning_rate: NonNegative = 3e-3
    learning_rate_end: NonNegative = 3e-4
    # divides utilities, in units of the game's scale; 0: a fifth of the largest utility
    utility_scale: NonNegative = 0.0

    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    required_extra: ClassVar[str] = "deep"

    @classmethod
    def from_settings(cls, source: object, iterations: int) -> Self:
        """Return a responder whose settings are those of the same names in another object."""
        names = [field.name for field in fields(cls) if hasattr(source, field.name)]
        return cls(**{name: getattr(source, name) for name in names} | {"iterations": iterations})

    def init_state(
        self, graph: Graph, rng: np.random.Generator, players: Players
    ) -> ResponderState:
        """Return the state before the first iteration."""
        raise NotImplementedError

    def behaviour(
        self, graph: Graph, players: Players, t: Iteration, state: ResponderState
    ) -> ResponseBehaviour:
        """Return the response that the state plays, and its exploration."""
        raise NotImplementedError

    def observe(
        self,
        graph: Graph,
        players: Players,
        t: Iteration,
        state: ResponderState,
        experience: Experience,
    ) -> ResponderState:
        """Return the state after new episodes."""
        raise NotImplementedError

    def fit(
        self, graph: Graph, players: Players, t: Iteration, state: ResponderState, key: jax.Array
    ) -> ResponderState:
        """Return the state after training on stored decisions, if the responder stores any."""
        return state

    def update(
        self,
        graph: Graph,
        players: Players,
        t: Iteration,
        state: ResponderState,
        experience: Experience,
        key: jax.Array,
    ) -> ResponderState:
        """Return the state after an iteration with these episodes."""
        return self.fit(graph, players, t, self.observe(graph, players, t, state, experience), key)

    def epsilon_at(self, t: Iteration) -> float | jax.Array:
        """Return the probability of a random action at iteration t."""
        return 0.0

    def networks(self, state: ResponderState) -> tuple[Net, str]:
        """Return the networks that play the response, and the name of their head."""
        raise NotImplementedError

    def respond(
        self,
        arena: TreeArena,
        player: int,
        opponents: Sequence[Opponent],
        seed: int = 0,
        previous: Policy | None = None,
    ) -> LearnedResponse:
        """Learn a response of one player to fixed opponents.

        Args:
            opponents: policies of the same tree with weights that sum to 1; one is drawn for each
                episode.
            seed: of all randomness; the same seed gives the same response.
            previous: an earlier response of the same responder, from which training continues.

        Raises:
            ConfigError: if the player does not exist, or `previous` is of another responder.
        """
        name = type(self).__name__
        if not 0 <= player < arena.num_players:
            problem = f"player is {player}, must be from 0 to {arena.num_players - 1}"
            raise ConfigError(f"{name}: {problem}")
        graph, players = graph_from_tree(arena), (player,)
        if previous is None:
            state = self.init_state(graph, np.random.default_rng(seed), players)
        elif isinstance(previous, LearnedPolicy) and previous.responder == self:
            state = jax.tree.map(jnp.copy, previous.state)
        else:
            raise ConfigError(f"{name}: previous must be a response of the same responder")
        tables = jnp.stack([table_from_policy(arena, part.policy) for part in opponents])
        weights = jnp.cumsum(jnp.array([part.weight for part in opponents]))
        state, table = _jit_respond()(
            self, players, graph, tables, weights, jax.random.PRNGKey(seed), state
        )
        response = policy_from_table(arena, table).probabilities
        is_own = np.repeat(arena.infoset_player == player, arena.num_actions)
        value = 0.0
        for part in opponents:
            mixed = np.where(is_own, response, part.policy.probabilities)
            value += part.weight * float(expected_values(arena, Policy(arena, mixed))[player])
        mixed = np.where(is_own, response, opponents[0].policy.probabilities)
        return LearnedResponse(LearnedPolicy(arena, mixed, self, state), value)

    def learning_rate_schedule(self, steps_per_iteration: int) -> optax.Schedule:
        """Return the learning rate by optimiser step, which falls linearly."""
        return optax.linear_schedule(
            self.learning_rate, self.learning_rate_end, self.iterations * steps_per_iteration
        )

    def progress(self, t: Iteration) -> jax.Array:
        """Return the share of all iterations that has passed by iteration t, at most 1."""
        return jnp.minimum(t / self.iterations, 1.0)

    def resolve_utility_scale(self, graph: Graph) -> jax.Array | float:
        """Return the number that divides utilities."""
        if self.utility_scale:
            return self.utility_scale * graph.utility_scale
        return graph.largest_utility / 5.0


@lru_cache
def _jit_respond() -> Callable[..., tuple[Any, jax.Array]]:
    @partial(persistent_jit, static_argnums=(0, 1), donate_argnums=6)
    def respond(
        responder: Responder[ResponderState],
        players: Players,
        graph: Graph,
        tables: jax.Array,
        weights: jax.Array,
        key: jax.Array,
        state: ResponderState,
    ) -> tuple[ResponderState, jax.Array]:
        def iterate(n: jax.Array, state: ResponderState) -> ResponderState:
            keys = jax.random.split(jax.random.fold_in(key, n), 4)
            opponent_key, explore_key, sample_key, learn_key = keys
            drawn = jax.random.uniform(opponent_key, (responder.num_episodes, 1)) * weights[-1]
            opponent = (drawn >= weights[:-1]).sum(-1)
            behaviour = responder.behaviour(graph, players, n + 1, state)
            explores = sample_exploration(graph, behaviour, explore_key, responder.num_episodes)

            def behave(decisions: DecisionBatch) -> tuple[jax.Array, jax.Array]:
                is_own = (decisions.player == players[0])[:, None]
                response = response_probabilities(behaviour, explores, decisions)
                mixed = jnp.where(is_own, response, tables[opponent, decisions.infoset])
                return mixed, mixed

            episodes = sample_episodes(graph, behave, sample_key, responder.num_episodes)
            is_own = episodes.live & (episodes.player == players[0])
            experience = Experience(episodes, is_own, is_own)
            return responder.update(graph, players, n + 1, state, experience, learn_key)

        state = jax.lax.fori_loop(0, responder.iterations, iterate, state)
        return state, responder.behaviour(graph, players, responder.iterations, state).policy

    return respond


def sample_exploration(
    graph: Graph, behaviour: ResponseBehaviour, key: jax.Array, num_episodes: int
) -> jax.Array:
    """Sample the decisions [T, B] at which a player that responds takes a random action."""
    return jax.random.uniform(key, (graph.longest_episode, num_episodes)) < behaviour.epsilon


def response_probabilities(
    behaviour: ResponseBehaviour, exploration_mask: jax.Array, decisions: DecisionBatch
) -> jax.Array:
    """Return the distributions [B, A] from which players that respond sample their actions."""
    return jnp.where(
        exploration_mask[decisions.turn][:, None],
        uniform(decisions.legal),
        behaviour.policy[decisions.infoset],
    )


def table_from_policy(tree: TreeArena, policy: Policy) -> jax.Array:
    """Return a policy as a table [I, A]."""
    legal = np.arange(tree.max_actions) < tree.num_actions[:, None]
    table = np.zeros(legal.shape, np.float32)
    table[legal] = policy.probabilities
    return jnp.asarray(table)


def apply_output_gradient(
    optimiser: optax.GradientTransformation,
    graph: Graph,
    players: Players,
    train_state: TrainState,
    output_gradient: OutputGradient,
    visits: jax.Array | None = None,
    max_visits: int = 0,
) -> TrainState:
    """Take one step down a loss, given its gradient [I, A] with respect to outputs [I, A].

    Args:
        visits: number of samples at each infoset [I]; the gradient is zero without visits.
        max_visits: most visits of all infosets together.
    """
    num_rows = max(row_lengths(np.array(graph.first_infoset)))
    few_rows = max(max_visits // MINIBATCH_ROWS_PER_INFOSET, MIN_GATHER_ROWS)
    if visits is None or num_rows <= few_rows:
        outputs, backward = jax.vjp(
            lambda nets: infoset_outputs(graph, nets, players), train_state.params
        )
        gradient = backward(output_gradient(outputs))[0]
    else:
        gradient = _gradient_at_visits(
            graph, players, train_state.params, output_gradient, visits, min(max_visits, num_rows)
        )
    return apply_gradients(optimiser, train_state, gradient)


def _gradient_at_visits(
    graph: Graph,
    players: Players,
    nets: Net,
    output_gradient: OutputGradient,
    visits: jax.Array,
    max_visits: int,
) -> Net:
    """Return the gradient by the networks, which are evaluated at visited infosets only."""
    outside = graph.num_infosets
    is_visited = [
        (visits > 0.0)[slice(*graph.first_infoset[player : player + 2])] for player in players
    ]

    def run(num_rows: int) -> Net:
        infosets = [
            jnp.nonzero(mask, size=num_rows, fill_value=outside)[0] + graph.first_infoset[player]
            for player, mask in zip(players, is_visited, strict=True)
        ]
        infoset = jnp.concatenate(infosets)

        def evaluate(nets: Net) -> jax.Array:
            rows = [graph.own_observation_row[jnp.minimum(own, outside - 1)] for own in infosets]
            parts = [
                apply_net(select_player(nets, k), graph.observation[own])
                for k, own in enumerate(rows)
            ]
            return jnp.concatenate(parts)

        outputs, backward = jax.vjp(evaluate, nets)
        table = jnp.zeros((outside, outputs.shape[-1])).at[infoset].set(outputs, mode="drop")
        return backward(output_gradient(table).at[infoset].get(mode="fill", fill_value=0.0))[0]

    num_distinct = jnp.stack([mask.sum() for mask in is_visited]).max()
    few = max_visits // MINIBATCH_ROWS_PER_INFOSET
    return jax.lax.cond(num_distinct <= few, lambda: run(few), lambda: run(max_visits))


def sum_by_infoset_action(
    graph: Graph, entries: tuple[jax.Array, jax.Array], amount: jax.Array
) -> jax.Array:
    """Sum amounts at (infoset, action) [I, A]; infosets out of range are left out."""
    return jnp.zeros(graph.legal.shape).at[entries].add(amount, mode="drop")


def infosets_where(graph: Graph, episodes: Episodes, mask: jax.Array) -> jax.Array:
    """Return the infoset [T, B] of every decision where `mask`; I elsewhere."""
    return jnp.where(mask, graph.infoset[episodes.decision], graph.num_infosets)


def next_own_infosets(graph: Graph, episodes: Episodes) -> jax.Array:
    """Return the infoset [T, B] at which the acting player acts next; I after its last decision."""
    players = jnp.arange(graph.num_players)

    def step(later: jax.Array, decision: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        infoset, live, player = decision
        is_own = live[:, None] & (players == player[:, None])  # [B, P]
        next_infoset = jnp.where(is_own, later, 0).sum(-1)
        return jnp.where(is_own, infoset[:, None], later), next_infoset

    num_episodes = episodes.live.shape[1]
    outside = jnp.full((num_episodes, graph.num_players), graph.num_infosets, jnp.int32)
    decisions = (graph.infoset[episodes.decision], episodes.live, episodes.player)
    return jax.lax.scan(step, outside, decisions, reverse=True)[1]


def own_utility(episodes: Episodes) -> jax.Array:
    """Return the acting player's utility [T, B] of the episode."""
    return jnp.take_along_axis(episodes.utility, jnp.maximum(episodes.player, 0).T, axis=1).T
