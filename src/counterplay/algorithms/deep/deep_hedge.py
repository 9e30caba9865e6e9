"""Deep-Hedge MCCFR: networks trained by Hedge on sampled regrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from math import inf
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Ge, Lt

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
    join_episodes,
    mix_exploration,
    player_decisions,
    slice_episodes,
    stratify_draws,
)
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.jax_algorithm import persistent_jit, split_key
from counterplay.algorithms.deep.common.networks import (
    Net,
    centre_over_legal,
    new_net,
    safe_log,
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
from counterplay.algorithms.deep.common.utility_scale import estimate_utility_scale
from counterplay.core.settings import (
    HiddenSizes,
    NonNegative,
    Positive,
    PositiveInt,
    PositiveProbability,
    settings,
)
from counterplay.errors import ConfigError

DEFAULT_PAST_NETWORKS = 100  # of the ensemble on rules, if the user sets no average

Player = int | jax.Array


class DeepHedgeState(NamedTuple):
    """The state that an iteration changes."""

    strategy: tuple[TrainState, ...]  # W of each player, beginning with the next that learns
    baseline: tuple[TrainState, ...]  # U of each player, in the same order
    policy_table: jax.Array  # [I, A] the policy at every infoset; empty if it is not kept
    averages: AverageState


@settings(kw_only=True)
class DeepHedge(JaxAlgorithmOnTreeOrRules, AverageConfig):
    """Deep-Hedge MCCFR (the thesis of that name). At t = 1, 2, ..., for each player in turn:

        L * H + K episodes by outcome sampling, in which only that player explores (epsilon)
        L times, on H of them:
        U = U - lr_u * mean over decisions of grad (U(I, a) - u)^2
            with u the sampled value after the action a that was taken
        on the other K:
            r = baseline-enhanced sampled regrets, zeroed where they would push a logit further
                than logit_threshold from the mean
        W = W + lr_w * mean over its decisions of (r . grad y + entropy_coef * grad entropy)
            with y = W(I) - mean over legal actions of W(I), and policy = softmax(W(I))

    Regrets are unbiased for any U; their mean over decisions is slightly biased, since the number
    of decisions depends on the sampled actions. With `mean_over_episodes` the step of W divides by
    K instead, which is unbiased. `stratified` episodes (see `episodes.sample_episodes`) have less
    noise at the same number; they divide by K too. Both steps also subtract weight_decay times the
    weights, clip each entry of the gradient at max_grad_value, and use

        lr = max(learning_rate * decay_rate**(t / decay_steps), learning_rate_end)

    The thesis as printed differs in ways that are options:

    - `centred_update=False` follows the gradient of W (4.6), not of the centred y: the mean of the
      logits, which softmax ignores, then follows importance-weighted regrets, and the policy
      collapses on Leduc.
    - `entropy_uses_rate=False` adds the entropy's gradient without the factor lr_w (4.8): at rate
      0.01 the same coefficient is then a hundred times as strong.
    - `listing_order` steps W first, with the old U, then samples the L * H episodes with the new W
      and fits U, in the first of the L fits also to the K episodes (listing 1). By default U is
      fitted first, and one batch of episodes serves both. It needs a tree.
    - `max_grad_norm` clips the norm of the whole gradient instead of its entries (table 1).
    - `use_biases=False` leaves out the biases of all layers (section 4.5.2).

    `past_logits_coef` also pulls W towards the mean logits of the past networks of the ensemble
    (section 4.4.1). On Kuhn poker 0.1 makes the current policy less exploitable and hardly changes
    the average; 1 is worse for both. `average_hidden_sizes` trains an average network beside W; on
    Leduc its exploitability is up to 30 % above that of the exact average of `average_every`
    between 20,000 and 86,500 steps. The thesis proposes to train it once, at the end.

    Utilities are divided by the game's scale (see `common.utility_scale`), so that rates and
    coefficients do not depend on its units; the thesis has the game's own, which is
    normalize_returns=False. The defaults suit `solve`; `configs/thesis` has the thesis' settings.
    On rules there is no table of average policies: the result is the average network or the
    ensemble.
    """

    hidden_sizes: HiddenSizes = (48, 48, 32)
    baseline_hidden_sizes: HiddenSizes = (48, 48, 32)
    num_traversals: PositiveInt = 64  # K
    num_baseline_traversals: PositiveInt = 16  # H
    num_baseline_updates: PositiveInt = 4  # L
    learning_rate: NonNegative = 0.03
    learning_rate_end: NonNegative = 1e-6
    baseline_learning_rate: NonNegative = 0.01
    baseline_learning_rate_end: NonNegative = 1e-6
    decay_rate: PositiveProbability = 0.95
    decay_steps: Annotated[float, Ge(1.0), Lt(inf)] = 10_000.0
    epsilon: PositiveProbability = 0.5
    mean_over_episodes: bool = True  # divide regrets by the number of episodes, not of decisions
    stratified: bool = True  # sample stratified episodes on a tree
    entropy_coef: NonNegative = 0.01
    entropy_decay_power: NonNegative = 0.0  # entropy_coef * t**-entropy_decay_power
    logit_threshold: NonNegative = 5.0
    max_grad_value: Positive = 1000.0
    max_grad_norm: NonNegative = 0.0  # clip the norm of the gradient instead; 0: its entries
    weight_decay: NonNegative = 0.0
    average_power: NonNegative = 1.0
    normalize_returns: bool = True  # divide utilities by the game's scale; the thesis does not
    augmented_baseline: bool = True  # baseline at all decisions; False: at own decisions only
    mean_over_actions: bool = False  # the author's program: a mean over actions, not a sum
    past_logits_coef: NonNegative = 0.0  # pull to the past networks' mean logits (section 4.4.1)
    centred_update: bool = True  # gradient of the centred logits; False: of W, as printed (4.6)
    entropy_uses_rate: bool = True  # False: the rate does not multiply the entropy (4.8)
    listing_order: bool = False  # W before U, each with its own episodes (listing 1)
    use_biases: bool = True  # of all layers

    default_iterations: ClassVar[int] = 10_000
    monitored_paths: ClassVar[tuple[str, ...]] = ("state.strategy", "state.baseline")
    # operations that share memory run one after the other, which wakes fewer threads
    compiler_options: ClassVar[Mapping[str, str]] = {
        "xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.past_logits_coef and not self.ensemble_size:
            problem = "ensemble_size must be at least 1 with a past_logits_coef"
            raise ConfigError(f"{self.name}: {problem}")
        if not (self.entropy_uses_rate or self.learning_rate_end):
            problem = "learning_rate_end must be positive with entropy_uses_rate=false"
            raise ConfigError(f"{self.name}: {problem}")

    def check_runs_on_rules(self) -> None:
        if self.listing_order:
            raise ConfigError(f"{self.name}: listing_order needs a tree; leave it out on rules")

    def init_state(self, graph: Graph, rng: np.random.Generator) -> DeepHedgeState:
        def new_player_net(sizes: tuple[int, ...]) -> Net:
            net = new_net(rng, sizes)
            return net if self.use_biases else [(weights, 0.0 * bias) for weights, bias in net]

        def new_player_nets(hidden_sizes: tuple[int, ...]) -> tuple[Net, ...]:
            sizes = (graph.num_features, *hidden_sizes, graph.max_actions)
            return tuple(new_player_net(sizes) for _ in range(graph.num_players))

        strategy = new_player_nets(self.hidden_sizes)
        baseline = new_player_nets(self.baseline_hidden_sizes)
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

        def iterate_player(player: Player, state: DeepHedgeState) -> DeepHedgeState:
            return self.iterate_player(graph, t, player, state, draws[player], key)

        has_short_table = graph.is_short_game and state.policy_table.size
        if not (has_short_table or policy_lookup.is_turn_by_turn(graph, state.policy_table)):
            return jax.lax.fori_loop(0, graph.num_players, iterate_player, state)
        for player in range(graph.num_players):
            state = iterate_player(player, state)
        return state

    def add_to_averages(
        self, graph: Graph, t: jax.Array, state: DeepHedgeState, key: jax.Array
    ) -> DeepHedgeState:
        """Return the state with the policies of iteration t added to the averages."""
        nets = stack_players(params_by_player(state.strategy))
        make_table = partial(self.policy_table, graph, state)
        average_state = averages.add_policies(self, state.averages, graph, t, nets, make_table, key)
        return state._replace(averages=average_state)

    @property
    def num_episodes(self) -> int:
        """Number of episodes of a player's part of an iteration."""
        return self.num_baseline_updates * self.num_baseline_traversals + self.num_traversals

    def for_rules(self) -> Self:
        """Return settings with an ensemble if no average is set: rules have no table of it."""
        if self.average_hidden_sizes or self.ensemble_size:
            return self
        return replace(self, ensemble_size=DEFAULT_PAST_NETWORKS)

    def iterate_on_rules(
        self, env: BatchedEnv, t: int, state: DeepHedgeState, key: jax.Array
    ) -> tuple[DeepHedgeState, int]:
        average_key, *player_keys = split_key(key, 1 + env.num_players)
        state = _jit_add_to_averages()(self, empty_graph(env), t, state, average_key)
        scale = estimate_utility_scale(env.random_episode_utilities)
        nodes_touched = 0
        for player, player_key in enumerate(player_keys):
            play_key, learn_key = split_key(player_key, 2)
            act = partial(_jit_act(), self, player, params_by_player(state.strategy, player))
            rollouts, count = play_episodes(env, act, rng_from_key(play_key), self.num_episodes)
            state = _jit_update_player()(self, scale, t, player, state, rollouts, learn_key)
            nodes_touched += count
        return state, nodes_touched

    def networks(self, state: DeepHedgeState) -> dict[str, Any]:
        networks: dict[str, Any] = {}
        if self.average_hidden_sizes:
            networks["network"] = [state.averages.network.params], [1.0]
        networks |= averages.ensemble_networks(state.averages, self.average_power)
        networks["current"] = [stack_players(params_by_player(state.strategy))], [1.0]
        return {name: (*weighted_nets, "softmax") for name, weighted_nets in networks.items()}

    def tabulate(self, graph: Graph, state: DeepHedgeState) -> dict[str, jax.Array]:
        tables = averages.tabulate_averages(self, state.averages, graph)
        tables["current"] = averages.infoset_policies(params_by_player(state.strategy), graph)
        return tables

    def iterate_player(
        self,
        graph: Graph,
        t: jax.Array,
        player: Player,
        state: DeepHedgeState,
        draws: jax.Array,
        key: jax.Array,
    ) -> DeepHedgeState:
        """Return the state after one player's part of an iteration, decided by random draws."""
        if self.listing_order:
            return self.iterate_player_in_listing_order(graph, t, player, state, draws, key)
        sizes = [self.num_baseline_traversals] * self.num_baseline_updates
        sizes.append(self.num_traversals)
        episodes = self.play_draws(graph, player, state, draws, sizes)
        return self.update_player(graph, t, player, state, episodes, key)

    def play_draws(
        self,
        graph: Graph,
        player: Player,
        state: DeepHedgeState,
        draws: jax.Array,
        batch_sizes: list[int],
    ) -> Episodes:
        """Return the episodes that random draws decide; `stratified` ones within each batch."""
        if self.stratified:
            draws = draws.at[0].set(stratify_draws(draws[0], batch_sizes))
        by_turn = policy_lookup.is_turn_by_turn(graph, state.policy_table)
        behaviour = self.behaviour(graph, state, player)
        return episodes_from_draws(graph, behaviour, draws, by_turn, self.stratified)

    def iterate_player_in_listing_order(
        self,
        graph: Graph,
        t: jax.Array,
        player: Player,
        state: DeepHedgeState,
        draws: jax.Array,
        key: jax.Array,
    ) -> DeepHedgeState:
        """Return the state after a step of W on K episodes, and L fits of U on H more each."""
        num_updates, size = self.num_baseline_updates, self.num_baseline_traversals
        first_draws, later_draws = draws[:, : self.num_traversals], draws[:, self.num_traversals :]
        episodes = self.play_draws(graph, player, state, first_draws, [self.num_traversals])
        decisions = self.decisions_of(graph, player, episodes)
        baseline = state.baseline[0]
        strategy = self.follow_regrets(
            graph, t, player, decisions, baseline, state.strategy[0], state.averages
        )
        state = self.replace_strategy(graph, player, state, strategy)
        later = self.play_draws(graph, player, state, later_draws, [size] * num_updates)
        later_decisions = self.decisions_of(graph, player, later)
        first_series = slice_episodes(later_decisions, 0, size)
        baseline = self.fit_baseline(
            graph, player, join_episodes(decisions, first_series), baseline
        )
        baseline = jax.lax.fori_loop(
            1,
            num_updates,
            lambda n, train_state: self.fit_baseline(
                graph, player, slice_episodes(later_decisions, n * size, size), train_state
            ),
            baseline,
        )
        return self.finish_player(graph, t, player, state, baseline, episodes, key)

    def decisions_of(self, graph: Graph, player: Player, episodes: Episodes) -> Episodes:
        """Return the decisions with a baseline, and utilities in the units of training."""
        if self.normalize_returns:
            episodes = episodes._replace(utility=episodes.utility / graph.utility_scale)
        if self.augmented_baseline:
            return episodes
        own = graph.max_own_decisions
        max_decisions = own[player] if isinstance(player, int) else max(own)
        return player_decisions(episodes, player, max_decisions)

    def update_player(
        self,
        graph: Graph,
        t: jax.Array,
        player: Player,
        state: DeepHedgeState,
        episodes: Episodes,
        key: jax.Array,
    ) -> DeepHedgeState:
        """Train a player, whose networks come first in the state and last in the new one."""
        num_updates, size = self.num_baseline_updates, self.num_baseline_traversals
        decisions = self.decisions_of(graph, player, episodes)
        baseline = jax.lax.fori_loop(
            0,
            num_updates,
            lambda n, train_state: self.fit_baseline(
                graph, player, slice_episodes(decisions, n * size, size), train_state
            ),
            state.baseline[0],
        )
        decisions = slice_episodes(decisions, num_updates * size, self.num_traversals)
        strategy = self.follow_regrets(
            graph, t, player, decisions, baseline, state.strategy[0], state.averages
        )
        state = self.replace_strategy(graph, player, state, strategy)
        regret_episodes = slice_episodes(episodes, num_updates * size, self.num_traversals)
        return self.finish_player(graph, t, player, state, baseline, regret_episodes, key)

    def follow_regrets(
        self,
        graph: Graph,
        t: jax.Array,
        player: Player,
        decisions: Episodes,
        baseline: TrainState,
        strategy: TrainState,
        average_state: AverageState,
    ) -> TrainState:
        """Return the strategy network after a step along the regrets of these episodes."""
        rows = graph.observation_row[player, decisions.decision]
        unique_rows = find_unique_rows(rows, decisions.live)
        outputs = outputs_at_decisions(baseline.params, graph.observation, unique_rows)
        values = mask_illegal(decisions, outputs)
        utility = decisions.utility[:, player]
        regret = returns.baseline_regrets(decisions, player, utility, values).regret
        if self.augmented_baseline:
            unique_rows = find_unique_rows(rows, decisions.player == player)
        return self.update_strategy(
            graph, t, player, decisions, unique_rows, regret, strategy, average_state
        )

    def replace_strategy(
        self, graph: Graph, player: Player, state: DeepHedgeState, strategy: TrainState
    ) -> DeepHedgeState:
        """Return the state with a new network of the player that comes first in it."""
        return state._replace(
            strategy=(strategy, *state.strategy[1:]),
            policy_table=policy_lookup.refresh_policy_table(
                graph, state.policy_table, strategy.params, player
            ),
        )

    def finish_player(
        self,
        graph: Graph,
        t: jax.Array,
        player: Player,
        state: DeepHedgeState,
        baseline: TrainState,
        regret_episodes: Episodes,
        key: jax.Array,
    ) -> DeepHedgeState:
        """Return the state with the player's networks last, and the average network trained."""
        strategy, *others = state.strategy
        state = state._replace(
            strategy=(*others, strategy), baseline=(*state.baseline[1:], baseline)
        )
        if not self.average_hidden_sizes:
            return state
        average_state = averages.train_average_network(
            self,
            state.averages,
            graph,
            t,
            regret_episodes,
            player,
            jax.random.fold_in(key, player),
        )
        return state._replace(averages=average_state)

    def behaviour(self, graph: Graph, state: DeepHedgeState, player: Player) -> Behaviour:
        """Return the behaviour in which all players use their networks, and `player` explores.

        Args:
            player: the player whose networks come first in the state.
        """
        lookup = policy_lookup.build_policy_lookup(
            graph, state.policy_table, params_by_player(state.strategy), player
        )

        def behave(decisions: DecisionBatch) -> tuple[jax.Array, jax.Array]:
            policy = lookup(decisions)
            return policy, mix_exploration(policy, decisions, player, self.epsilon)

        return behave

    def policy_table(self, graph: Graph, state: DeepHedgeState) -> jax.Array:
        """Return the policies of all players [I, A]."""
        if state.policy_table.size:
            return state.policy_table
        return averages.infoset_policies(params_by_player(state.strategy), graph)

    def fit_baseline(
        self, graph: Graph, player: Player, episodes: Episodes, train_state: TrainState
    ) -> TrainState:
        """Return the baseline network after a step towards the sampled values of the episodes."""
        rows = graph.observation_row[player, episodes.decision]
        unique_rows = find_unique_rows(rows, episodes.live)
        taken = jax.nn.one_hot(episodes.action, graph.max_actions) * episodes.live[..., None]
        scale = 2.0 / jnp.maximum(episodes.live.sum(), 1)

        def error(outputs: jax.Array) -> jax.Array:
            values = mask_illegal(episodes, outputs)
            utility = episodes.utility[:, player]
            target = returns.baseline_regrets(episodes, player, utility, values).target
            return taken * (values - target[..., None]) * scale

        gradient = error_gradient(train_state.params, graph.observation, unique_rows, error)
        return apply_gradient(self.baseline_optimiser, train_state, gradient)

    def update_strategy(
        self,
        graph: Graph,
        t: jax.Array,
        player: Player,
        episodes: Episodes,
        unique_rows: UniqueRows,
        regret: jax.Array,
        train_state: TrainState,
        average_state: AverageState,
    ) -> TrainState:
        """Return the strategy network after a step along the regrets at the player's decisions."""
        is_own = episodes.player == player
        log = safe_log(episodes.policy)
        y = centre_over_legal(log, episodes.legal)  # the centred logits
        limit = self.logit_threshold
        is_outward = jnp.where(regret > 0, y > limit, y < -limit)
        direction = jnp.where(is_outward, 0.0, regret)
        if self.centred_update:
            direction = centre_over_legal(direction, episodes.legal)
        if self.entropy_coef:  # the gradient of entropy: - p * (log p + entropy)
            entropy = -(episodes.policy * log).sum(-1, keepdims=True)
            coef = self.entropy_coef * t**-self.entropy_decay_power
            if not self.entropy_uses_rate:
                coef = coef / self.rate_at(t, self.learning_rate, self.learning_rate_end)
            direction -= coef * episodes.policy * (log + entropy)
        if self.past_logits_coef:
            past = self.past_logits(graph, player, unique_rows, average_state)
            direction += self.past_logits_coef * (centre_over_legal(past, episodes.legal) - y)
        share = 1.0 / graph.max_actions if self.mean_over_actions else 1.0
        by_episode = self.mean_over_episodes or self.stratified
        count = is_own.shape[1] if by_episode else jnp.maximum(is_own.sum(), 1)
        scale = -share / count
        cotangent = jnp.where(is_own[..., None] & episodes.legal, direction * scale, 0.0)
        gradient = gradient_from_cotangent(
            train_state.params, graph.observation, unique_rows, cotangent
        )
        return apply_gradient(self.player_optimiser, train_state, gradient)

    def past_logits(
        self, graph: Graph, player: Player, unique_rows: UniqueRows, average_state: AverageState
    ) -> jax.Array:
        """Return the mean outputs of the player's networks in the ensemble; zero if it is empty."""
        is_used = (average_state.ensemble_iterations > 0).astype(jnp.float32)
        nets = jax.tree.map(lambda weights: weights[:, player], average_state.ensemble)

        def evaluate(net: Net) -> jax.Array:
            return outputs_at_decisions(net, graph.observation, unique_rows)

        return jnp.tensordot(is_used, jax.vmap(evaluate)(nets), 1) / is_used.sum().clip(1.0)

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
        """Return clipped gradient descent whose rate falls by iteration, not by step."""

        def schedule(count: jax.Array) -> jax.Array:
            t = count // steps_per_iteration + 1
            return self.rate_at(t, learning_rate, learning_rate_end)

        clip = optax.clip(self.max_grad_value)
        if self.max_grad_norm:
            clip = optax.clip_by_global_norm(self.max_grad_norm)
        steps = [clip, optax.add_decayed_weights(self.weight_decay), optax.sgd(schedule)]
        if not self.use_biases:
            steps.append(optax.masked(optax.set_to_zero(), is_bias))
        return optax.chain(*steps)

    def rate_at(self, t: jax.Array, learning_rate: float, learning_rate_end: float) -> jax.Array:
        """Return the learning rate of iteration t."""
        return jnp.maximum(
            learning_rate * self.decay_rate ** (t / self.decay_steps), learning_rate_end
        )


def is_bias(net: Net) -> list[tuple[bool, bool]]:
    """Return a pytree like a network that is True at its biases."""
    return [(False, True) for _ in net]


def mask_illegal(episodes: Episodes, outputs: jax.Array) -> jax.Array:
    """Return outputs [T, B, A] that are zero past an episode's end and for illegal actions."""
    return jnp.where(episodes.legal & episodes.live[..., None], outputs, 0.0)


@lru_cache
def _jit_add_to_averages() -> Callable[..., DeepHedgeState]:
    @partial(persistent_jit, static_argnums=0, donate_argnums=3)
    def add_to_averages(
        algorithm: DeepHedge, graph: Graph, t: jax.Array, state: DeepHedgeState, key: jax.Array
    ) -> DeepHedgeState:
        return algorithm.add_to_averages(graph, t, state, key)

    return add_to_averages


@lru_cache
def _jit_act() -> Callable[..., tuple[jax.Array, jax.Array]]:
    @partial(persistent_jit, static_argnums=0)
    def act(
        algorithm: DeepHedge,
        explorer: jax.Array,
        nets: tuple[Net, ...],
        observation: jax.Array,
        legal: jax.Array,
    ) -> tuple[jax.Array, jax.Array]:
        graph = graph_from_rows(observation[None], legal, len(nets))
        policy = averages.infoset_policies(nets, graph)
        decisions = DecisionBatch(
            0, graph.infoset, graph.infoset_player, graph.own_observation_row, graph.legal
        )
        return policy, mix_exploration(policy, decisions, explorer, algorithm.epsilon)

    return act


@lru_cache
def _jit_update_player() -> Callable[..., DeepHedgeState]:
    @partial(persistent_jit, static_argnums=0, donate_argnums=4)
    def update_player(
        algorithm: DeepHedge,
        utility_scale: jax.Array,
        t: jax.Array,
        player: jax.Array,
        state: DeepHedgeState,
        rollouts: RolloutBatch,
        key: jax.Array,
    ) -> DeepHedgeState:
        graph = replace(rollouts.graph(len(state.strategy)), utility_scale=utility_scale)
        return algorithm.update_player(graph, t, player, state, rollouts.episodes, key)

    return update_player
