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

from counterplay.algorithms.deep.common.episodes import DecisionBatch, Episodes, sample_episodes
from counterplay.algorithms.deep.common.graph import Graph, graph_from_tree
from counterplay.algorithms.deep.common.jax_algorithm import persistent_jit, policy_from_table
from counterplay.algorithms.deep.common.networks import Net, apply_net, select_player, uniform
from counterplay.algorithms.deep.common.training import TrainState, apply_gradient
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import row_lengths
from counterplay.core.evaluation import expected_values
from counterplay.core.field_bounds import FRACTION, NON_NEGATIVE, FieldBound, at_least, check_bounds
from counterplay.core.policy import Policy
from counterplay.core.settings import settings
from counterplay.errors import ConfigError

Players = tuple[int, ...]

MIN_GATHER_ROWS = 64  # rows that networks are asked sooner than which of them are needed
MINIBATCH_ROWS_PER_INFOSET = (
    4  # as a rule that part of a minibatch has room for all infosets that differ
)

HIDDEN_SIZES_RANGE: FieldBound = (lambda units: bool(units) and min(units) >= 1, "one size or more")
RANGES: dict[str, FieldBound] = {
    **dict.fromkeys(
        ("iterations", "num_episodes", "num_updates", "batch_size", "num_epochs"), at_least(1)
    ),
    **dict.fromkeys(("replay_buffer_size", "target_update_every"), at_least(1)),
    **dict.fromkeys(
        (
            "learning_rate",
            "learning_rate_end",
            "utility_scale",
            "temperature",
            "entropy_coef",
            "entropy_coef_end",
            "clip_eps",
            "visit_saturation",
        ),
        NON_NEGATIVE,
    ),
    **dict.fromkeys(("epsilon", "epsilon_end"), (lambda x: 0.0 <= x <= 1.0, "from 0 to 1")),
    **dict.fromkeys(("gae_lambda", "target_update_rate", "recent_fraction"), FRACTION),
    "hidden_sizes": HIDDEN_SIZES_RANGE,
}


class ResponseBehaviour(NamedTuple):
    """What a responder does, at the infosets of its players."""

    policy: jax.Array  # [I, A] the response
    epsilon: Any  # [] how likely it tries something at random instead


class Experience(NamedTuple):
    """Episodes, and what the responder is to make of each decision [T, B]."""

    episodes: Episodes
    is_learner: jax.Array  # of a player that learns in this episode
    is_response: jax.Array  # of these, the ones that were sampled as `Plays` says


class LearnedResponse(NamedTuple):
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

    hidden_sizes: tuple[int, ...] = (128,)
    iterations: int = 4_000  # over which rates fall; so many make a response
    num_episodes: int = 256  # in each of them
    learning_rate: float = 3e-3
    learning_rate_end: float = 3e-4
    utility_scale: float = 0.0  # of utilities; 0: a fifth of the largest

    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    required_extra: ClassVar[str] = "deep"

    def __post_init__(self) -> None:
        check_bounds(type(self).__name__, self, RANGES)

    def init_state(self, graph: Graph, rng: np.random.Generator, players: Players) -> Any:
        raise NotImplementedError

    def behaviour(
        self, graph: Graph, players: Players, t: jax.Array, state: Any
    ) -> ResponseBehaviour:
        raise NotImplementedError

    def observe(
        self, graph: Graph, players: Players, t: Any, state: Any, experience: Experience
    ) -> Any:
        raise NotImplementedError

    def fit(self, graph: Graph, players: Players, t: Any, state: Any, key: Any) -> Any:
        return state

    def update(
        self, graph: Graph, players: Players, t: Any, state: Any, experience: Experience, key: Any
    ) -> Any:
        """The state after an iteration with these episodes."""
        return self.fit(graph, players, t, self.observe(graph, players, t, state, experience), key)

    def epsilon_at(self, t: jax.Array) -> Any:
        """How likely it tries something at random, at each of its decisions."""
        return 0.0

    def networks(self, state: Any) -> tuple[Net, str]:
        raise NotImplementedError

    def respond(
        self,
        arena: TreeArena,
        player: int,
        opponents: Sequence[Any],
        seed: int = 0,
        previous: Any = None,
    ) -> LearnedResponse:
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
        graph, players = graph_from_tree(arena), (player,)
        if previous is None:
            state = self.init_state(graph, np.random.default_rng(seed), players)
        elif isinstance(previous, LearnedPolicy) and previous.responder == self:
            state = jax.tree.map(jnp.copy, previous.state)
        else:
            raise ConfigError(f"{type(self).__name__} can only go on from a response of its own")
        tables = jnp.stack([table_from_policy(arena, part.policy) for part in opponents])
        weights = jnp.cumsum(jnp.array([part.weight for part in opponents]))
        state, table = _jit_respond()(
            self, players, graph, tables, weights, jax.random.PRNGKey(seed), state
        )
        found = policy_from_table(arena, table).probabilities
        own = np.repeat(arena.infoset_player == player, arena.num_actions)
        value = 0.0
        for part in opponents:
            mixed = np.where(own, found, part.policy.probabilities)
            value += part.weight * float(expected_values(arena, Policy(arena, mixed))[player])
        mixed = np.where(own, found, opponents[0].policy.probabilities)
        return LearnedResponse(LearnedPolicy(arena, mixed, self, state), value)

    def learning_rate_schedule(self, steps_per_iteration: int) -> optax.Schedule:
        """The learning rate, falling linearly when there are so many steps an iteration."""
        return optax.linear_schedule(
            self.learning_rate, self.learning_rate_end, self.iterations * steps_per_iteration
        )

    def progress(self, t: jax.Array) -> jax.Array:
        """How much of its time has passed by iteration t, at most 1."""
        return jnp.minimum(t / self.iterations, 1.0)

    def resolve_utility_scale(self, graph: Graph) -> jax.Array | float:
        return self.utility_scale or graph.largest_utility / 5.0


@lru_cache
def _jit_respond() -> Callable[..., Any]:
    @partial(persistent_jit, static_argnums=(0, 1), donate_argnums=6)
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
            drawn = jax.random.uniform(draw_key, (responder.num_episodes, 1)) * weights[-1]
            which = (drawn >= weights[:-1]).sum(-1)
            plays = responder.behaviour(graph, players, n + 1, state)
            coins = sample_exploration(graph, plays, coin_key, responder.num_episodes)

            def behave(decisions: DecisionBatch) -> tuple[jax.Array, jax.Array]:
                mine = (decisions.player == players[0])[:, None]
                response = response_probabilities(plays, coins, decisions)
                mixed = jnp.where(mine, response, tables[which, decisions.infoset])
                return mixed, mixed

            seen = sample_episodes(graph, behave, sample_key, responder.num_episodes)
            own = seen.live & (seen.player == players[0])
            told = Experience(seen, own, own)
            return responder.update(graph, players, n + 1, state, told, learn_key)

        state = jax.lax.fori_loop(0, responder.iterations, iteration, state)
        return state, responder.behaviour(graph, players, responder.iterations, state).policy

    return alone


def sample_exploration(
    graph: Graph, behaviour: ResponseBehaviour, key: jax.Array, num_episodes: int
) -> jax.Array:
    """When [T, B] those who respond would try something at random."""
    return jax.random.uniform(key, (graph.longest_episode, num_episodes)) < behaviour.epsilon


def response_probabilities(
    behaviour: ResponseBehaviour, exploration_mask: jax.Array, decisions: DecisionBatch
) -> jax.Array:
    """What those who respond sample their actions from [B, A]."""
    return jnp.where(
        exploration_mask[decisions.turn][:, None],
        uniform(decisions.legal),
        behaviour.policy[decisions.infoset],
    )


def table_from_policy(tree: TreeArena, policy: Policy) -> jax.Array:
    """A policy as a table [I, A]."""
    legal = np.arange(tree.max_actions) < tree.num_actions[:, None]
    table = np.zeros(legal.shape, np.float32)
    table[legal] = policy.probabilities
    return jnp.asarray(table)


def infoset_outputs(graph: Graph, nets: Net, players: Players) -> jax.Array:
    """What the networks of some players say at their own infosets [I, A]; zero elsewhere."""
    rows = []
    for player, first in enumerate(graph.first_infoset[:-1]):
        own = slice(first, graph.first_infoset[player + 1])
        if player in players:
            net = select_player(nets, players.index(player))
            rows.append(apply_net(net, graph.observation[graph.own_observation_row[own]]))
        else:
            width = nets[-1][1].shape[-1]
            rows.append(jnp.zeros((own.stop - own.start, width)))
    return jnp.concatenate(rows)


def apply_output_gradient(
    optimiser: optax.GradientTransformation,
    graph: Graph,
    players: Players,
    train_state: TrainState,
    output_gradient: Callable[[jax.Array], jax.Array],
    visits: jax.Array | None = None,
    max_visits: int = 0,
) -> TrainState:
    """Networks one step down a loss, given its gradient [I, A] by what they say [I, A].

    That gradient is zero where there are no `visits` [I], if they are given; `most` in all.
    """
    rows = max(row_lengths(np.array(graph.first_infoset)))
    if visits is None or rows <= max(max_visits // MINIBATCH_ROWS_PER_INFOSET, MIN_GATHER_ROWS):
        outputs, back = jax.vjp(
            lambda nets: infoset_outputs(graph, nets, players), train_state.params
        )
        gradient = back(output_gradient(outputs))[0]
    else:
        gradient = _gradient_at_visits(
            graph, players, train_state.params, output_gradient, visits, min(max_visits, rows)
        )
    return jax.vmap(lambda one, down: apply_gradient(optimiser, one, down))(train_state, gradient)


def _gradient_at_visits(
    graph: Graph,
    players: Players,
    nets: Net,
    output_gradient: Callable[[jax.Array], jax.Array],
    visits: jax.Array,
    max_visits: int,
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
            seen = [graph.own_observation_row[jnp.minimum(rows, nowhere - 1)] for rows in places]
            parts = [
                apply_net(select_player(nets, k), graph.observation[view])
                for k, view in enumerate(seen)
            ]
            return jnp.concatenate(parts)

        outputs, back = jax.vjp(ask, nets)
        table = jnp.zeros((nowhere, outputs.shape[-1])).at[place].set(outputs, mode="drop")
        return back(output_gradient(table).at[place].get(mode="fill", fill_value=0.0))[0]

    differ = jnp.stack([part.sum() for part in own]).max()
    few = max_visits // MINIBATCH_ROWS_PER_INFOSET
    return jax.lax.cond(differ <= few, lambda: run(few), lambda: run(max_visits))


def sum_by_infoset_action(graph: Graph, entries: Any, amount: jax.Array) -> jax.Array:
    """Amounts summed at (infoset, action) [I, A]; places out of range are left out."""
    return jnp.zeros(graph.legal.shape).at[entries].add(amount, mode="drop")


def infosets_where(graph: Graph, episodes: Episodes, mask: jax.Array) -> jax.Array:
    """The infoset [T, B] of every decision that is wanted; I elsewhere."""
    return jnp.where(mask, graph.infoset[episodes.decision], graph.num_infosets)


def next_own_infosets(graph: Graph, episodes: Episodes) -> jax.Array:
    """The infoset [T, B] at which the one who acts will act next; I: it is the last time."""
    everybody = jnp.arange(graph.num_players)

    def step(later: jax.Array, at: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        infoset, live, player = at
        own = live[:, None] & (everybody == player[:, None])  # [B, P]
        after = jnp.where(own, later, 0).sum(-1)
        return jnp.where(own, infoset[:, None], later), after

    batch = episodes.live.shape[1]
    nothing = jnp.full((batch, graph.num_players), graph.num_infosets, jnp.int32)
    given = (graph.infoset[episodes.decision], episodes.live, episodes.player)
    return jax.lax.scan(step, nothing, given, reverse=True)[1]


def own_utility(episodes: Episodes) -> jax.Array:
    """What the episode pays [T, B] to the one who acts."""
    return jnp.take_along_axis(episodes.utility, jnp.maximum(episodes.player, 0).T, axis=1).T
