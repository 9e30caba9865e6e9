"""Deep-Hedge MCCFR: networks that follow Hedge on sampled regrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.algorithms.deep.common import averages, policy_lookup, returns
from counterplay.algorithms.deep.common.averages import AverageConfig, AverageState
from counterplay.algorithms.deep.common.batched_env import BatchedEnv
from counterplay.algorithms.deep.common.dedup import (
    UniqueRows,
    error_gradient,
    find_unique_rows,
    gradient_from_cotangent,
    outputs_at_decisions,
)
from counterplay.algorithms.deep.common.episodes import (
    Behaviour,
    DecisionBatch,
    Episodes,
    draws_shape,
    episodes_from_draws,
    mix_exploration,
    player_decisions,
    slice_episodes,
    stratify_draws,
)
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.jax_algorithm import persistent_jit
from counterplay.algorithms.deep.common.networks import (
    Net,
    centre_over_legal,
    new_net,
    stack_players,
)
from counterplay.algorithms.deep.common.rollouts import (
    RolloutBatch,
    empty_graph,
    graph_from_rows,
    play_episodes,
    rng_from_key,
)
from counterplay.algorithms.deep.common.training import TrainState, apply_gradient, params_by_player
from counterplay.algorithms.deep.common.tree_or_rules import JaxAlgorithmOnTreeOrRules
from counterplay.core.field_bounds import FRACTION, NON_NEGATIVE, FieldBound, at_least, check_bounds
from counterplay.core.settings import settings
from counterplay.errors import ConfigError

DEFAULT_PAST_NETWORKS = 100  # of the ensemble on rules, if the user sets no average
RANGES: dict[str, FieldBound] = {
    **dict.fromkeys(("num_traversals", "num_baseline_traversals"), at_least(1)),
    **dict.fromkeys(("num_baseline_updates", "decay_steps"), at_least(1)),
    **dict.fromkeys(("epsilon", "decay_rate"), FRACTION),
    **dict.fromkeys(
        ("entropy_coef", "entropy_decay_power", "weight_decay", "past_logits_coef"), NON_NEGATIVE
    ),
    **dict.fromkeys(
        ("hidden_sizes", "baseline_hidden_sizes"),
        (lambda units: bool(units) and min(units) >= 1, "one size or more"),
    ),
}


class DeepHedgeState(NamedTuple):
    """What an iteration changes."""

    strategy: tuple[TrainState, ...]  # W of each player, the one who learns next first
    baseline: tuple[TrainState, ...]  # U of each player, likewise
    policy_table: jax.Array  # [I, A] the policy at every infoset; empty where it is not kept
    averages: AverageState


@settings(kw_only=True)
class DeepHedge(JaxAlgorithmOnTreeOrRules, AverageConfig):
    """Deep-Hedge MCCFR (the thesis of that name). At t = 1, 2, ..., for each player in turn:

        L times H + K episodes, outcome sampling, epsilon of uniform play by that player only
        L times, on H of them:
        U = U - lr_u * mean over decisions of grad (U(I, a) - u)^2
            with u the sampled value after the action a that was taken
        on the other K:
            r = baseline-enhanced sampled regrets, zeroed where they would push a logit further
                beyond logits_threshold from the mean
        W = W + lr_w * mean over its decisions of (r . grad y + entropy_cost * grad entropy)
            with y = W(I) - mean over legal actions of W(I), and policy = softmax(W(I))

    Regrets are unbiased whatever U says; their mean over decisions is not quite, since how many
    there are depends on what was sampled. With `per_episode` the step of W divides by K instead,
    and is. `spread` lays the episodes of a step evenly over all that can happen (see
    `episodes.sample`): less noise in as many; it divides by K too. The printed update takes the
    gradient of W, not of the centred y: the common mode of the logits, which softmax ignores, then
    takes the full force of importance-weighted regrets, and the policy collapses on Leduc. The
    listing fits U after the step of W, not before it: with players in turn the same but for whose
    step lies between, and here one batch of episodes serves both. Both steps also subtract
    weight_decay times the weights, clip the gradient entry by entry, and follow

        lr = max(lr_init * decay_rate**(t / decay_steps), lr_end)

    On rules that are never unrolled there is no table to average policies in: the answer is the
    average network or the ensemble.
    """

    hidden_sizes: tuple[int, ...] = (48, 48, 32)
    baseline_hidden_sizes: tuple[int, ...] = (48, 48, 32)
    num_traversals: int = 4  # K
    num_baseline_traversals: int = 4  # H
    num_baseline_updates: int = 1  # L
    learning_rate: float = 0.01
    learning_rate_end: float = 1e-6
    baseline_learning_rate: float = 0.01
    baseline_learning_rate_end: float = 1e-6
    decay_rate: float = 0.95
    decay_steps: float = 10_000.0
    epsilon: float = 0.1
    mean_over_episodes: bool = False  # regrets by the number of episodes, not of decisions: no bias
    stratified: bool = False  # episodes of a step evenly over all that can happen, on a tree
    entropy_coef: float = 0.1
    entropy_decay_power: float = 0.0  # entropy_coef * t**-entropy_decay_power
    logit_threshold: float = 2.0
    max_grad_value: float = 1000.0
    weight_decay: float = 1e-4
    normalize_returns: bool = False  # divide utilities by the largest
    augmented_baseline: bool = True  # also where others act; False: at own decisions only
    mean_over_actions: bool = False  # the author's program: a mean over actions, not a sum
    past_logits_coef: float = 0.0  # pull towards the past networks' mean logits (section 4.4.1)

    monitored_paths: ClassVar[tuple[str, ...]] = ("state.strategy", "state.baseline")
    compiler_options: ClassVar[
        Mapping[str, Any]
    ] = {  # what shares memory waits: fewer threads are woken
        "xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"
    }

    def __post_init__(self) -> None:
        check_bounds(self.name, self, RANGES)
        super().__post_init__()
        if self.past_logits_coef and not self.ensemble_size:
            problem = "ensemble_size must be at least 1 with a past_logits_coef"
            raise ConfigError(f"{self.name}: {problem}")

    def init_state(self, graph: Graph, rng: np.random.Generator) -> DeepHedgeState:
        def new(units: tuple[int, ...]) -> tuple[Net, ...]:
            sizes = (graph.num_features, *units, graph.max_actions)
            return tuple(new_net(rng, sizes) for _ in range(graph.num_players))

        strategy, baseline = new(self.hidden_sizes), new(self.baseline_hidden_sizes)
        return DeepHedgeState(
            tuple(TrainState(net, self.player_optimiser.init(net)) for net in strategy),
            tuple(TrainState(net, self.baseline_optimiser.init(net)) for net in baseline),
            policy_lookup.new_policy_table(graph, strategy, self.num_episodes),
            averages.new_average_state(
                self, graph, rng, stack_players(strategy), self.reservoir_size
            ),
        )

    def iterate(
        self, graph: Graph, t: jax.Array, state: DeepHedgeState, key: jax.Array
    ) -> DeepHedgeState:
        state = self.add_to_averages(graph, t, state, jax.random.fold_in(key, graph.num_players))
        draws = jax.random.uniform(key, (graph.num_players, *draws_shape(graph, self.num_episodes)))

        def turn(player: Any, state: DeepHedgeState) -> DeepHedgeState:
            return self.iterate_player(graph, t, player, state, draws[player], key)

        if not (
            (graph.is_short_game and state.policy_table.size)
            or policy_lookup.is_turn_by_turn(graph, state.policy_table)
        ):
            return jax.lax.fori_loop(0, graph.num_players, turn, state)
        for player in range(graph.num_players):
            state = turn(player, state)
        return state

    def add_to_averages(
        self, graph: Graph, t: jax.Array, state: DeepHedgeState, key: jax.Array
    ) -> DeepHedgeState:
        """With the policies of iteration t in the averages."""
        nets, table = (
            stack_players(params_by_player(state.strategy)),
            partial(self.policy_table, graph, state),
        )
        kept = averages.add_policies(self, state.averages, graph, t, nets, table, key)
        return state._replace(averages=kept)

    @property
    def num_episodes(self) -> int:  # type: ignore[override]
        """Of a player's part of an iteration."""
        return self.num_baseline_updates * self.num_baseline_traversals + self.num_traversals

    def for_rules(self) -> Self:
        """Keep an ensemble where the user sets no average: on rules there is no table of it."""
        if self.average_hidden_sizes or self.ensemble_size:
            return self
        return replace(self, ensemble_size=DEFAULT_PAST_NETWORKS)

    def iterate_on_rules(
        self, env: BatchedEnv, t: int, state: DeepHedgeState, key: jax.Array
    ) -> tuple[DeepHedgeState, int]:
        return iterate_on_rules(self, env, t, state, key)

    def networks(self, state: DeepHedgeState) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.average_hidden_sizes:
            found["network"] = [state.averages.network.params], [1.0]
        found |= averages.ensemble_networks(state.averages, self.average_power)
        found["current"] = [stack_players(params_by_player(state.strategy))], [1.0]
        return {name: (*answer, "softmax") for name, answer in found.items()}

    def tabulate(self, graph: Graph, state: DeepHedgeState) -> dict[str, jax.Array]:
        kept = averages.tabulate_averages(self, state.averages, graph)
        return kept | {
            "current": averages.infoset_policies(params_by_player(state.strategy), graph)
        }

    def iterate_player(
        self,
        graph: Graph,
        t: jax.Array,
        player: Any,
        state: DeepHedgeState,
        draws: jax.Array,
        key: jax.Array,
    ) -> DeepHedgeState:
        """One player's part of an iteration."""
        behaviour = self.behaviour(graph, state, player)
        if self.stratified:
            sizes = [self.num_baseline_traversals] * self.num_baseline_updates
            draws = draws.at[0].set(stratify_draws(draws[0], [*sizes, self.num_traversals]))
        by_turn = policy_lookup.is_turn_by_turn(graph, state.policy_table)
        walked = episodes_from_draws(graph, behaviour, draws, by_turn, self.stratified)
        return self.update_player(graph, t, player, state, walked, key)

    def update_player(
        self,
        graph: Graph,
        t: jax.Array,
        player: Any,
        state: DeepHedgeState,
        episodes: Episodes,
        key: Any,
    ) -> DeepHedgeState:
        """What a player, whose networks are the first, learns; then they are the last."""
        (strategy, *others), (baseline, *rest) = state.strategy, state.baseline
        fitted, size = self.num_baseline_updates, self.num_baseline_traversals
        if self.normalize_returns:
            episodes = episodes._replace(utility=episodes.utility / graph.largest_utility)
        seen = episodes
        if not self.augmented_baseline:
            most = (
                graph.max_own_decisions[player]
                if isinstance(player, int)
                else max(graph.max_own_decisions)
            )
            seen = player_decisions(episodes, player, most)
        baseline = jax.lax.fori_loop(
            0,
            fitted,
            lambda n, trained: self.fit_baseline(
                graph, player, slice_episodes(seen, n * size, size), trained
            ),
            baseline,
        )
        seen = slice_episodes(seen, fitted * size, self.num_traversals)
        met = find_unique_rows(graph.observation_row[player, seen.decision], seen.live)
        guess = mask_illegal(seen, outputs_at_decisions(baseline.params, graph.observation, met))
        regret = returns.baseline_regrets(seen, player, seen.utility[:, player], guess).regret
        if self.augmented_baseline:
            met = find_unique_rows(
                graph.observation_row[player, seen.decision], seen.player == player
            )
        strategy = self.update_strategy(
            graph, t, player, seen, met, regret, strategy, state.averages
        )
        state = state._replace(
            strategy=(*others, strategy),
            baseline=(*rest, baseline),
            policy_table=policy_lookup.refresh_policy_table(
                graph, state.policy_table, strategy.params, player
            ),
        )
        if not self.average_hidden_sizes:
            return state
        own = slice_episodes(episodes, fitted * size, self.num_traversals)
        kept = averages.train_average_network(
            self, state.averages, graph, t, own, player, jax.random.fold_in(key, player)
        )
        return state._replace(averages=kept)

    def behaviour(self, graph: Graph, state: DeepHedgeState, player: Any) -> Behaviour:
        """Everybody plays its network; the player whose turn it is, the first, explores."""
        play = policy_lookup.build_policy_lookup(
            graph, state.policy_table, params_by_player(state.strategy), player
        )

        def behave(decisions: DecisionBatch) -> tuple[jax.Array, jax.Array]:
            policy = play(decisions)
            return policy, mix_exploration(policy, decisions, player, self.epsilon)

        return behave

    def policy_table(self, graph: Graph, state: DeepHedgeState) -> jax.Array:
        """All policies [I, A]."""
        if state.policy_table.size:
            return state.policy_table
        return averages.infoset_policies(params_by_player(state.strategy), graph)

    def fit_baseline(
        self, graph: Graph, player: jax.Array, episodes: Episodes, train_state: TrainState
    ) -> TrainState:
        """The baseline network after a step towards the values that the episodes found."""
        met = find_unique_rows(graph.observation_row[player, episodes.decision], episodes.live)
        taken = jax.nn.one_hot(episodes.action, graph.max_actions) * episodes.live[..., None]
        scale = 2.0 / jnp.maximum(episodes.live.sum(), 1)

        def error(outputs: jax.Array) -> jax.Array:
            guess = mask_illegal(episodes, outputs)
            found = returns.baseline_regrets(episodes, player, episodes.utility[:, player], guess)
            return taken * (guess - found.target[..., None]) * scale

        gradient = error_gradient(train_state.params, graph.observation, met, error)
        return apply_gradient(self.baseline_optimiser, train_state, gradient)

    def update_strategy(
        self,
        graph: Graph,
        t: jax.Array,
        player: jax.Array,
        episodes: Episodes,
        unique_rows: UniqueRows,
        regret: jax.Array,
        train_state: TrainState,
        average_state: AverageState,
    ) -> TrainState:
        """The strategy network after a step along the regrets at the player's decisions."""
        own = episodes.player == player
        log = jnp.log(jnp.maximum(episodes.policy, 1e-30))
        y = centre_over_legal(log, episodes.legal)  # what the logits are up to a constant
        limit = self.logit_threshold
        outward = jnp.where(regret > 0, y > limit, y < -limit)
        force = centre_over_legal(jnp.where(outward, 0.0, regret), episodes.legal)
        if self.entropy_coef:  # the gradient of entropy: - p * (log p + entropy)
            entropy = -(episodes.policy * log).sum(-1, keepdims=True)
            cost = self.entropy_coef * t**-self.entropy_decay_power
            force -= cost * episodes.policy * (log + entropy)
        if self.past_logits_coef:
            past = self.past_logits(graph, player, unique_rows, average_state)
            force += self.past_logits_coef * (centre_over_legal(past, episodes.legal) - y)
        share = 1.0 / graph.max_actions if self.mean_over_actions else 1.0
        each = self.mean_over_episodes or self.stratified
        count = own.shape[1] if each else jnp.maximum(own.sum(), 1)
        scale = -share / count
        force = jnp.where(own[..., None] & episodes.legal, force * scale, 0.0)
        gradient = gradient_from_cotangent(
            train_state.params, graph.observation, unique_rows, force
        )
        return apply_gradient(self.player_optimiser, train_state, gradient)

    def past_logits(
        self, graph: Graph, player: jax.Array, unique_rows: UniqueRows, average_state: AverageState
    ) -> jax.Array:
        """The mean of what the player's past networks say; zero while there are none."""
        used = (average_state.ensemble_iterations > 0).astype(jnp.float32)
        nets = jax.tree.map(lambda w: w[:, player], average_state.ensemble)
        said = jax.vmap(lambda net: outputs_at_decisions(net, graph.observation, unique_rows))(nets)
        return jnp.tensordot(used, said, 1) / used.sum().clip(1.0)

    @property
    def player_optimiser(self) -> optax.GradientTransformation:
        return self.build_optimiser(self.learning_rate, self.learning_rate_end, 1)

    @property
    def baseline_optimiser(self) -> optax.GradientTransformation:
        return self.build_optimiser(
            self.baseline_learning_rate, self.baseline_learning_rate_end, self.num_baseline_updates
        )

    def build_optimiser(
        self, learning_rate: float, learning_rate_end: float, steps_per_iteration: int
    ) -> optax.GradientTransformation:
        """Gradient descent with so many steps an iteration."""

        def schedule(count: jax.Array) -> jax.Array:
            t = count // steps_per_iteration + 1
            return jnp.maximum(
                learning_rate * self.decay_rate ** (t / self.decay_steps), learning_rate_end
            )

        return optax.chain(
            optax.clip(self.max_grad_value),
            optax.add_decayed_weights(self.weight_decay),
            optax.sgd(schedule),
        )


def mask_illegal(episodes: Episodes, outputs: jax.Array) -> jax.Array:
    """Outputs [T, B, A], zero past an episode's end and for actions that do not exist."""
    return jnp.where(episodes.legal & episodes.live[..., None], outputs, 0.0)


def iterate_on_rules(
    config: Any, env: BatchedEnv, t: int, state: Any, key: jax.Array
) -> tuple[Any, int]:
    """The state after every player's part, each with episodes of its own, and their decisions."""
    keep_key, *keys = jax.random.split(key, 1 + env.num_players)
    state, touched = _jit_add_to_averages()(config, empty_graph(env), t, state, keep_key), 0
    for player, own in enumerate(keys):
        play_key, learn_key = jax.random.split(own)
        ask = partial(_jit_act(), config, player, params_by_player(state.strategy, player))
        met, count = play_episodes(env, ask, rng_from_key(play_key), config.num_episodes)
        given = env.largest_utility, t, player, state, met, learn_key
        state, touched = _jit_update_player()(config, *given), touched + count
    return state, touched


@lru_cache
def _jit_add_to_averages() -> Callable[..., Any]:
    @partial(persistent_jit, static_argnums=0, donate_argnums=3)
    def remember(config: Any, graph: Graph, t: jax.Array, state: Any, key: jax.Array) -> Any:
        return config.add_to_averages(graph, t, state, key)

    return remember


@lru_cache
def _jit_act() -> Callable[..., Any]:
    @partial(persistent_jit, static_argnums=0)
    def act(
        config: Any, explorer: Any, nets: tuple[Net, ...], observation: jax.Array, legal: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        graph = graph_from_rows(observation[None], legal, len(nets))
        policy = averages.infoset_policies(nets, graph)
        now = DecisionBatch(
            0, graph.infoset, graph.infoset_player, graph.own_observation_row, graph.legal
        )
        return policy, mix_exploration(policy, now, explorer, config.epsilon)

    return act


@lru_cache
def _jit_update_player() -> Callable[..., Any]:
    @partial(persistent_jit, static_argnums=0, donate_argnums=4)
    def learn(
        config: Any,
        largest: jax.Array,
        t: jax.Array,
        player: jax.Array,
        state: Any,
        rollouts: RolloutBatch,
        key: jax.Array,
    ) -> Any:
        graph = replace(rollouts.graph(len(state.strategy)), largest_utility=largest)
        return config.update_player(graph, t, player, state, rollouts.episodes, key)

    return learn
