"""Deep-Hedge MCCFR: networks that follow Hedge on sampled regrets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.deep import asking, averages, rule_hedge, values
from counterplay.deep.averages import Averages, Averaging
from counterplay.deep.episodes import (
    Behaviour,
    Decisions,
    Episodes,
    decisions_of,
    draws_of,
    exploring,
    part,
    spread,
    walk,
)
from counterplay.deep.fitting import Trained, descend, params_of
from counterplay.deep.graph import Graph
from counterplay.deep.nets import Net, centre, new_net, together
from counterplay.deep.on_rules import OnEither
from counterplay.deep.stepping import Rules
from counterplay.deep.unique import Unique, error_gradient, gradient_at, outputs_at, unique_views
from counterplay.errors import ConfigError
from counterplay.settings import settings
from counterplay.tabular.ranges import FINITE, PART, Range, at_least, check

DEFAULT_PAST_NETWORKS = 100  # of the ensemble on rules, if the user sets no average
RANGES: dict[str, Range] = {
    **dict.fromkeys(("player_traversals", "baseline_traversals"), at_least(1)),
    **dict.fromkeys(("player_update_freq", "decay_steps"), at_least(1)),
    **dict.fromkeys(("epsilon", "decay_rate"), PART),
    **dict.fromkeys(("entropy_cost", "entropy_decay", "weight_decay", "past_cost"), FINITE),
    **dict.fromkeys(
        ("player_units", "baseline_units"),
        (lambda units: bool(units) and min(units) >= 1, "one size or more"),
    ),
}


class State(NamedTuple):
    """What an iteration changes."""

    strategy: tuple[Trained, ...]  # W of each player, the one who learns next first
    baseline: tuple[Trained, ...]  # U of each player, likewise
    table: jax.Array  # [I, A] the policy at every infoset; empty where it is not kept
    averages: Averages


@settings(kw_only=True)
class DeepHedge(OnEither, Averaging):
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

    player_units: tuple[int, ...] = (48, 48, 32)
    baseline_units: tuple[int, ...] = (48, 48, 32)
    player_traversals: int = 4  # K
    baseline_traversals: int = 4  # H
    player_update_freq: int = 1  # L
    player_lr_init: float = 0.01
    player_lr_end: float = 1e-6
    baseline_lr_init: float = 0.01
    baseline_lr_end: float = 1e-6
    decay_rate: float = 0.95
    decay_steps: float = 10_000.0
    epsilon: float = 0.1
    per_episode: bool = False  # regrets by the number of episodes, not of decisions: no bias
    spread: bool = False  # episodes of a step evenly over all that can happen, on a tree
    entropy_cost: float = 0.1
    entropy_decay: float = 0.0  # entropy_cost * t**-entropy_decay
    logits_threshold: float = 2.0
    gradient_clipping_value: float = 1000.0
    weight_decay: float = 1e-4
    normalize_returns: bool = False  # divide utilities by the largest
    augmented_baseline: bool = True  # also where others act; False: at own decisions only
    mean_over_actions: bool = False  # the author's program: a mean over actions, not a sum
    past_cost: float = 0.0  # pull towards the past networks' mean logits (section 4.4.1)

    watched: ClassVar[tuple[str, ...]] = ("state.strategy", "state.baseline")
    compiling: ClassVar[Mapping[str, Any]] = {  # what shares memory waits: fewer threads are woken
        "xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"
    }

    def __post_init__(self) -> None:
        check(self.name, self, RANGES)
        super().__post_init__()
        if self.past_cost and not self.past_networks:
            raise ConfigError(f"{self.name}: past_networks must be at least 1 with a past_cost")

    def start(self, graph: Graph, rng: np.random.Generator) -> State:
        def new(units: tuple[int, ...]) -> tuple[Net, ...]:
            sizes = (graph.num_features, *units, graph.max_actions)
            return tuple(new_net(rng, sizes) for _ in range(graph.num_players))

        strategy, baseline = new(self.player_units), new(self.baseline_units)
        return State(
            tuple(Trained(net, self.player_optimiser.init(net)) for net in strategy),
            tuple(Trained(net, self.baseline_optimiser.init(net)) for net in baseline),
            asking.new_table(graph, strategy, self.episodes),
            averages.no_averages(self, graph, rng, together(strategy), self.reservoir_size),
        )

    def iteration(self, graph: Graph, t: jax.Array, state: State, key: jax.Array) -> State:
        state = self.remembered(graph, t, state, jax.random.fold_in(key, graph.num_players))
        draws = jax.random.uniform(key, (graph.num_players, *draws_of(graph, self.episodes)))

        def turn(player: Any, state: State) -> State:
            return self.turn(graph, t, player, state, draws[player], key)

        if not ((graph.is_short and state.table.size) or asking.by_turn(graph, state.table)):
            return jax.lax.fori_loop(0, graph.num_players, turn, state)
        for player in range(graph.num_players):
            state = turn(player, state)
        return state

    def remembered(self, graph: Graph, t: jax.Array, state: State, key: jax.Array) -> State:
        """With the policies of iteration t in the averages."""
        nets, table = together(params_of(state.strategy)), partial(self.table, graph, state)
        kept = averages.remember(self, state.averages, graph, t, nets, table, key)
        return state._replace(averages=kept)

    @property
    def episodes(self) -> int:  # type: ignore[override]
        """Of a player's part of an iteration."""
        return self.player_update_freq * self.baseline_traversals + self.player_traversals

    def for_rules(self) -> Self:
        """Keep an ensemble where the user sets no average: on rules there is no table of it."""
        if self.average_units or self.past_networks:
            return self
        return replace(self, past_networks=DEFAULT_PAST_NETWORKS)

    def played(self, rules: Rules, t: int, state: State, key: jax.Array) -> tuple[State, int]:
        return rule_hedge.played(self, rules, t, state, key)

    def networks(self, state: State) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.average_units:
            found["network"] = [state.averages.network.params], [1.0]
        found |= averages.past_of(state.averages, self.average_power)
        found["current"] = [together(params_of(state.strategy))], [1.0]
        return {name: (*answer, "softmax") for name, answer in found.items()}

    def tables(self, graph: Graph, state: State) -> dict[str, jax.Array]:
        kept = averages.average_tables(self, state.averages, graph)
        return kept | {"current": averages.policies_of(params_of(state.strategy), graph)}

    def turn(
        self,
        graph: Graph,
        t: jax.Array,
        player: Any,
        state: State,
        draws: jax.Array,
        key: jax.Array,
    ) -> State:
        """One player's part of an iteration."""
        behaviour = self.behaviour(graph, state, player)
        if self.spread:
            sizes = [self.baseline_traversals] * self.player_update_freq
            draws = draws.at[0].set(spread(draws[0], [*sizes, self.player_traversals]))
        by_turn = asking.by_turn(graph, state.table)
        walked = walk(graph, behaviour, draws, by_turn, self.spread)
        return self.learned_turn(graph, t, player, state, walked, key)

    def learned_turn(
        self, graph: Graph, t: jax.Array, player: Any, state: State, walked: Episodes, key: Any
    ) -> State:
        """What a player, whose networks are the first, learns; then they are the last."""
        (strategy, *others), (baseline, *rest) = state.strategy, state.baseline
        fitted, size = self.player_update_freq, self.baseline_traversals
        if self.normalize_returns:
            walked = walked._replace(utility=walked.utility / graph.largest_utility)
        seen = walked
        if not self.augmented_baseline:
            most = graph.most_own[player] if isinstance(player, int) else max(graph.most_own)
            seen = decisions_of(walked, player, most)
        baseline = jax.lax.fori_loop(
            0,
            fitted,
            lambda n, trained: self.fit(graph, player, part(seen, n * size, size), trained),
            baseline,
        )
        seen = part(seen, fitted * size, self.player_traversals)
        met = unique_views(graph.view[player, seen.decision], seen.live)
        guess = where_legal(seen, outputs_at(baseline.params, graph.observation, met))
        regret = values.baseline_regrets(seen, player, seen.utility[:, player], guess).regret
        if self.augmented_baseline:
            met = unique_views(graph.view[player, seen.decision], seen.player == player)
        strategy = self.hedge(graph, t, player, seen, met, regret, strategy, state.averages)
        state = state._replace(
            strategy=(*others, strategy),
            baseline=(*rest, baseline),
            table=asking.refreshed(graph, state.table, strategy.params, player),
        )
        if not self.average_units:
            return state
        own = part(walked, fitted * size, self.player_traversals)
        kept = averages.train_network(
            self, state.averages, graph, t, own, player, jax.random.fold_in(key, player)
        )
        return state._replace(averages=kept)

    def behaviour(self, graph: Graph, state: State, player: Any) -> Behaviour:
        """Everybody plays its network; the player whose turn it is, the first, explores."""
        play = asking.asked(graph, state.table, params_of(state.strategy), player)

        def behave(now: Decisions) -> tuple[jax.Array, jax.Array]:
            policy = play(now)
            return policy, exploring(policy, now, player, self.epsilon)

        return behave

    def table(self, graph: Graph, state: State) -> jax.Array:
        """All policies [I, A]."""
        if state.table.size:
            return state.table
        return averages.policies_of(params_of(state.strategy), graph)

    def fit(self, graph: Graph, player: jax.Array, seen: Episodes, trained: Trained) -> Trained:
        """The baseline network after a step towards the values that the episodes found."""
        met = unique_views(graph.view[player, seen.decision], seen.live)
        taken = jax.nn.one_hot(seen.action, graph.max_actions) * seen.live[..., None]
        scale = 2.0 / jnp.maximum(seen.live.sum(), 1)

        def error(outputs: jax.Array) -> jax.Array:
            guess = where_legal(seen, outputs)
            found = values.baseline_regrets(seen, player, seen.utility[:, player], guess)
            return taken * (guess - found.target[..., None]) * scale

        gradient = error_gradient(trained.params, graph.observation, met, error)
        return descend(self.baseline_optimiser, trained, gradient)

    def hedge(
        self,
        graph: Graph,
        t: jax.Array,
        player: jax.Array,
        seen: Episodes,
        met: Unique,
        regret: jax.Array,
        trained: Trained,
        kept: Averages,
    ) -> Trained:
        """The strategy network after a step along the regrets at the player's decisions."""
        own = seen.player == player
        log = jnp.log(jnp.maximum(seen.policy, 1e-30))
        y = centre(log, seen.legal)  # what the logits are up to a constant
        limit = self.logits_threshold
        outward = jnp.where(regret > 0, y > limit, y < -limit)
        force = centre(jnp.where(outward, 0.0, regret), seen.legal)
        if self.entropy_cost:  # the gradient of entropy: - p * (log p + entropy)
            entropy = -(seen.policy * log).sum(-1, keepdims=True)
            cost = self.entropy_cost * t**-self.entropy_decay
            force -= cost * seen.policy * (log + entropy)
        if self.past_cost:
            past = self.past_logits(graph, player, met, kept)
            force += self.past_cost * (centre(past, seen.legal) - y)
        share = 1.0 / graph.max_actions if self.mean_over_actions else 1.0
        each = self.per_episode or self.spread
        count = own.shape[1] if each else jnp.maximum(own.sum(), 1)
        scale = -share / count
        force = jnp.where(own[..., None] & seen.legal, force * scale, 0.0)
        gradient = gradient_at(trained.params, graph.observation, met, force)
        return descend(self.player_optimiser, trained, gradient)

    def past_logits(
        self, graph: Graph, player: jax.Array, met: Unique, kept: Averages
    ) -> jax.Array:
        """The mean of what the player's past networks say; zero while there are none."""
        used = (kept.steps > 0).astype(jnp.float32)
        nets = jax.tree.map(lambda w: w[:, player], kept.past)
        said = jax.vmap(lambda net: outputs_at(net, graph.observation, met))(nets)
        return jnp.tensordot(used, said, 1) / used.sum().clip(1.0)

    @property
    def player_optimiser(self) -> optax.GradientTransformation:
        return self.optimiser(self.player_lr_init, self.player_lr_end, 1)

    @property
    def baseline_optimiser(self) -> optax.GradientTransformation:
        return self.optimiser(self.baseline_lr_init, self.baseline_lr_end, self.player_update_freq)

    def optimiser(self, rate: float, floor: float, steps: int) -> optax.GradientTransformation:
        """Gradient descent with so many steps an iteration."""

        def schedule(count: jax.Array) -> jax.Array:
            t = count // steps + 1
            return jnp.maximum(rate * self.decay_rate ** (t / self.decay_steps), floor)

        return optax.chain(
            optax.clip(self.gradient_clipping_value),
            optax.add_decayed_weights(self.weight_decay),
            optax.sgd(schedule),
        )


def where_legal(seen: Episodes, outputs: jax.Array) -> jax.Array:
    """Outputs [T, B, A], zero past an episode's end and for actions that do not exist."""
    return jnp.where(seen.legal & seen.live[..., None], outputs, 0.0)
