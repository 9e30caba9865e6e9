"""What all policy gradients share: episodes, a critic, one force per infoset, schedules.

An iteration samples episodes with everybody's present policy, corrects the critic's guess at every
action by what was sampled, and adds the advantages up per infoset: all samples of an infoset have
the same input, so that a network is asked once about each. What an algorithm makes of the mean
advantages is its `force` on the logits, and all that its file has to say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.algorithms.deep.common import averages, returns
from counterplay.algorithms.deep.common.averages import AverageConfig, AverageState
from counterplay.algorithms.deep.common.critics import (
    Critic,
    ExactCritic,
    HistoryTableCritic,
    InfosetTableCritic,
    NetworkCritic,
    ValueTableCritic,
    exact_action_values,
    zero_sum_rewards,
)
from counterplay.algorithms.deep.common.episodes import DecisionBatch, Episodes, sample_episodes
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.networks import (
    Net,
    apply_net,
    new_nets,
    select_player,
    softmax,
    uniform,
)
from counterplay.algorithms.deep.common.training import (
    TrainState,
    apply_gradient,
    init_train_states,
)
from counterplay.algorithms.deep.common.tree_or_rules import JaxAlgorithmOnTreeOrRules
from counterplay.core.field_bounds import FRACTION, NON_NEGATIVE, FieldBound, at_least, check_bounds
from counterplay.core.settings import settings
from counterplay.errors import ConfigError

CRITIC_NAMES = ("auto", "table", "network", "infoset", "value", "oracle")
MAGNET_NAMES = ("uniform", "copy", "average")
HIDDEN_SIZES_RANGE: FieldBound = (lambda units: bool(units) and min(units) >= 1, "one size or more")
RANGES: dict[str, FieldBound] = {
    **dict.fromkeys(
        (
            "num_episodes",
            "schedule_iterations",
            "num_epochs",
            "magnet_update_every",
            "policy_discretization",
        ),
        at_least(1),
    ),
    **dict.fromkeys(
        (
            "learning_rate",
            "learning_rate_end",
            "learning_rate_power",
            "critic_learning_rate",
            "temperature",
            "visit_saturation",
        ),
        NON_NEGATIVE,
    ),
    **dict.fromkeys(("logit_threshold", "clip_eps", "kl_coef"), NON_NEGATIVE),
    **dict.fromkeys(("hidden_sizes", "critic_hidden_sizes"), HIDDEN_SIZES_RANGE),
    **dict.fromkeys(("critic_step_size", "magnet_update_rate", "gae_lambda"), FRACTION),
    **dict.fromkeys(
        ("ema_decay", "policy_threshold"), (lambda x: 0.0 <= x < 1.0, "at least 0 and below 1")
    ),
    "critic": (lambda x: x in CRITIC_NAMES, "auto, table, network, infoset, value or oracle"),
    "magnet": (lambda x: x in MAGNET_NAMES, "uniform, copy or average"),
}


class PolicyGradientState(NamedTuple):
    """What an iteration changes."""

    actor: TrainState  # of each player
    critic: Any
    ema_params: Net  # exponential average of the actor's weights
    magnet: Any  # networks [2]: the one before last, and the last; nothing where it is uniform
    averages: AverageState


class LogitGradientInputs(NamedTuple):
    """What a step along the logits is made from, at every infoset."""

    logits: jax.Array  # [I, A]
    policy: jax.Array  # [I, A] their softmax
    old_policy: jax.Array  # [I, A] the policy that was sampled with
    magnet_log_probs: jax.Array  # [I, A] log-probabilities of the magnet
    legal: jax.Array  # [I, A]
    advantage: jax.Array  # [I, A] mean over the visits of the batch
    half_batch_advantage: jax.Array  # [2, I, A] what each half of the batch adds to it
    beats_policy: (
        jax.Array
    )  # [2, I, A] 1: by the other half, an action beats the policy; 0: not; 1/2: ?
    temperature: jax.Array  # [] temperature


class InfosetAdvantages(NamedTuple):
    """What a batch says at every infoset: see `Force`."""

    advantage: jax.Array  # [I, A]
    half_batch_advantage: jax.Array  # [2, I, A]
    beats_policy: jax.Array  # [2, I, A]
    visit_share: jax.Array  # [I] of its player's visits


@settings(kw_only=True)
class PolicyGradient(JaxAlgorithmOnTreeOrRules, AverageConfig):
    """The choices that all policy gradients share, and their iteration."""

    hidden_sizes: tuple[int, ...] = (128, 128)
    num_episodes: int = 1000  # an iteration
    stratified: bool = True  # evenly over all that can happen, on a tree; rules are always drawn
    num_epochs: int = 1  # steps of the actor on them
    schedule_iterations: int = 10_000  # iterations over which lr falls, and tau, geometrically
    learning_rate: float = 8e-3
    learning_rate_end: float = 1e-5
    learning_rate_power: float = 2.0  # 1: lr falls linearly, 2: faster at first
    temperature: float = 0.5  # temperature, in the game's units
    temperature_end: float = 0.1
    # over histories: table, or network; by infoset: infoset, value; oracle: exact values. auto is
    # table on a tree, network on rules
    critic: str = "auto"
    gae_lambda: float = 1.0  # how far what was sampled corrects the critic: lambda of GAE
    correct_with_returns: bool = True  # the critic by what was sampled; without, it alone speaks
    critic_step_size: float = 0.1  # of a table
    critic_hidden_sizes: tuple[int, ...] = (64, 64)
    critic_learning_rate: float = 1e-3
    visit_saturation: float = (
        10.0  # equal shares of visits from which on more hardly count more; 0: they do
    )
    counterfactual_weighting: bool = False  # divide by the player's own reach
    ema_decay: float = 0.998  # of the weights; 0: not kept
    average_every: int = 10
    average_power: float = 3.0

    monitored_paths: ClassVar[tuple[str, ...]] = ("state.actor",)

    def __post_init__(self) -> None:
        check_bounds(self.name, self, RANGES)
        super().__post_init__()
        if self.average_hidden_sizes:
            raise ConfigError(
                f"{self.name} trains no average network: leave out average_hidden_sizes"
            )
        if not (0.0 < self.temperature_end <= self.temperature or self.temperature == 0.0):
            limit = f"must be above 0 and at most temperature ({self.temperature})"
            problem = f"temperature_end is {self.temperature_end}, {limit}"
            raise ConfigError(f"{self.name}: {problem}")

    @property
    def has_moving_magnet(self) -> bool:
        """Whether the magnet is something else than uniform play."""
        return False

    def logit_gradient(self, inputs: LogitGradientInputs) -> jax.Array:
        """Where the logits [I, A] of every infoset are to go."""
        raise NotImplementedError

    def action_reward(
        self, policy: jax.Array, magnet: jax.Array, temperature: jax.Array
    ) -> jax.Array | None:
        """What an action earns by itself [I, A], if anything."""
        return None

    def init_state(self, graph: Graph, rng: np.random.Generator) -> PolicyGradientState:
        sizes = (graph.num_features, *self.hidden_sizes, graph.max_actions)
        nets = new_nets(rng, graph.num_players, sizes, zero_head=True)
        magnet = jax.tree.map(lambda w: np.stack([w, w]), nets) if self.has_moving_magnet else []
        return PolicyGradientState(
            init_train_states(self.optimiser, nets),
            self.critic_model.init_memory(graph, rng),
            jax.tree.map(np.copy, nets) if self.ema_decay else [],
            magnet,
            averages.new_average_state(self, graph, rng, nets, self.reservoir_size),
        )

    def actor_params(self, state: PolicyGradientState) -> Net:
        return state.actor.params

    def act(self, graph: Graph, nets: Net) -> tuple[jax.Array, jax.Array]:
        policy = softmax(infoset_logits(graph, nets), graph.legal)
        return policy, policy

    def iterate(
        self, graph: Graph, t: jax.Array, state: PolicyGradientState, key: jax.Array
    ) -> PolicyGradientState:
        sample_key, keep_key = jax.random.split(key)
        policy, _ = self.act(graph, state.actor.params)
        seen = sample_episodes(
            graph, behaviour_from_table(policy), sample_key, self.num_episodes, self.stratified
        )
        return self.update(graph, t, state, seen, keep_key)

    def update(
        self,
        graph: Graph,
        t: jax.Array,
        state: PolicyGradientState,
        episodes: Episodes,
        key: jax.Array,
    ) -> PolicyGradientState:
        """The state after an iteration with these episodes."""
        logits, back = jax.vjp(lambda nets: infoset_logits(graph, nets), state.actor.params)
        policy, tau = softmax(logits, graph.legal), self.temperature_at(t)
        nets = state.actor.params
        kept = averages.add_policies(self, state.averages, graph, t, nets, lambda: policy, key)
        magnet = self.magnet_log_probs(graph, t, state)
        reward = self.action_reward(policy, magnet, tau)
        found, critic = self.estimate_advantages(graph, state.critic, episodes, policy, reward)
        met = aggregate_by_infoset(graph, episodes, found.advantage, self.counterfactual_weighting)
        share = met.visit_share
        if self.visit_saturation and not self.counterfactual_weighting:
            share = share / (share + self.visit_saturation / graph.num_infosets)
        actor = state.actor
        for epoch in range(self.num_epochs):
            if epoch:
                logits, back = jax.vjp(lambda nets: infoset_logits(graph, nets), actor.params)
            now = softmax(logits, graph.legal)
            told = LogitGradientInputs(logits, now, policy, magnet, graph.legal, *met[:3], tau)
            slope = jnp.where(graph.legal, share[:, None] * self.logit_gradient(told), 0.0)
            step = jax.vmap(lambda one, slope: apply_gradient(self.optimiser, one, slope))
            actor = step(actor, back(-slope)[0])
        smoothed = state.ema_params
        if self.ema_decay:
            keep = jnp.minimum(self.ema_decay, t / (t + 9.0))  # young averages forget faster
            smoothed = polyak_update(smoothed, actor.params, 1.0 - keep)
        return PolicyGradientState(
            actor, critic, smoothed, self.update_magnet(t, state.magnet, actor.params), kept
        )

    def estimate_advantages(
        self,
        graph: Graph,
        critic_memory: Any,
        episodes: Episodes,
        policy: jax.Array,
        action_reward: Any,
    ) -> tuple[returns.BaselineAdvantages, Any]:
        """What the episodes say, and the critic that has learned from them."""
        critic = self.critic_model
        if critic.is_exact:
            critic_memory = exact_action_values(graph, policy, action_reward)
        earned = None
        if action_reward is not None:
            earned = zero_sum_rewards(
                graph, episodes.player, action_reward[graph.infoset[episodes.decision]]
            )
            earned = jnp.where(episodes.live[..., None, None], earned, 0.0)
        guess = critic.values(graph, critic_memory, episodes)
        acts = jnp.arange(graph.num_players) == episodes.player[..., None]
        knows = critic.covers_all_players | acts
        found = returns.baseline_advantages(
            episodes, guess, earned, self.gae_lambda, not critic.is_exact, knows
        )
        critic_memory = critic.update(graph, critic_memory, episodes, found.target)
        if not self.correct_with_returns:
            found = returns.baseline_advantages(episodes, guess, earned, use_samples=False)
        return found, critic_memory

    def networks(self, state: PolicyGradientState) -> dict[str, Any]:
        found: dict[str, Any] = averages.ensemble_networks(state.averages, self.average_power)
        found["current"] = [state.actor.params], [1.0]
        if self.ema_decay:
            found["smoothed"] = [state.ema_params], [1.0]
        return {name: (*answer, "softmax") for name, answer in found.items()}

    def for_rules(self) -> Self:
        return replace(self, critic="network") if self.critic == "auto" else self

    def check_runs_on_rules(self) -> None:
        if self.critic != "network":
            problem = f"critic is {self.critic}, which needs the tree"
            raise ConfigError(f"{self.name}: {problem}; on rules take critic=network")

    def tabulate(self, graph: Graph, state: PolicyGradientState) -> dict[str, jax.Array]:
        found = averages.tabulate_averages(self, state.averages, graph)
        found["current"] = averages.infoset_policies(state.actor.params, graph)
        if self.ema_decay:
            found["smoothed"] = averages.infoset_policies(state.ema_params, graph)
        return found

    def temperature_at(self, t: jax.Array) -> jax.Array:
        if not self.temperature:
            return jnp.zeros(())
        return self.temperature * (self.temperature_end / self.temperature) ** jnp.minimum(
            t / self.schedule_iterations, 1.0
        )

    def magnet_log_probs(self, graph: Graph, t: jax.Array, state: PolicyGradientState) -> jax.Array:
        """The magnet's log-probabilities [I, A]: uniform where it does not move."""
        return safe_log(uniform(graph.legal))

    def update_magnet(self, t: jax.Array, magnet: Any, nets: Net) -> Any:
        """The magnet after an iteration."""
        return magnet

    @property
    def critic_model(self) -> Critic:
        made: dict[str, Callable[[], Critic]] = {
            "auto": lambda: HistoryTableCritic(self.critic_step_size),
            "table": lambda: HistoryTableCritic(self.critic_step_size),
            "infoset": lambda: InfosetTableCritic(self.critic_step_size),
            "value": lambda: ValueTableCritic(self.critic_step_size),
            "network": lambda: NetworkCritic(self.critic_hidden_sizes, self.critic_learning_rate),
            "oracle": lambda: ExactCritic(),
        }
        return made[self.critic]()

    @property
    def optimiser(self) -> optax.GradientTransformation:
        """Adam without momentum: with it, players go round in circles."""
        steps = self.schedule_iterations * self.num_epochs
        return optax.adam(
            optax.polynomial_schedule(
                self.learning_rate, self.learning_rate_end, self.learning_rate_power, steps
            ),
            b1=0.0,
        )


def infoset_logits(graph: Graph, nets: Net) -> jax.Array:
    """What every player's network says at its own infosets [I, A]."""
    rows = []
    for player, first in enumerate(graph.first_infoset[:-1]):
        own = slice(first, graph.first_infoset[player + 1])
        rows.append(
            apply_net(
                select_player(nets, player), graph.observation[graph.own_observation_row[own]]
            )
        )
    return jnp.concatenate(rows)


def behaviour_from_table(
    policy: jax.Array,
) -> Callable[[DecisionBatch], tuple[jax.Array, jax.Array]]:
    """Everybody plays a table [I, A]."""

    def behave(decisions: DecisionBatch) -> tuple[jax.Array, jax.Array]:
        here = policy[decisions.infoset]
        return here, here

    return behave


def aggregate_by_infoset(
    graph: Graph, episodes: Episodes, advantage: jax.Array, counterfactual_weighting: bool
) -> InfosetAdvantages:
    """The advantages added up per infoset.

    With `counterfactual` each visit counts as often as the player, by its own play, was unlikely to
    come there, and an episode as one: the mean times the share is the sampled instant regret.
    """
    weight = jnp.where(episodes.live, 1.0, 0.0)
    if counterfactual_weighting:
        weight = weight / returns.own_reach(episodes, graph.num_players)
    infoset = jnp.where(episodes.live, graph.infoset[episodes.decision], graph.num_infosets)
    half = jnp.arange(infoset.shape[1]) % 2
    rows = jnp.concatenate([advantage, jnp.ones_like(advantage[..., :1])], axis=-1)
    nothing = jnp.zeros((2, graph.num_infosets, graph.max_actions + 1))
    total = nothing.at[half, infoset].add(weight[..., None] * rows, mode="drop")
    visits = total[..., -1].sum(0)
    whole = jnp.full(graph.num_players, 1.0 * episodes.utility.shape[0])
    if not counterfactual_weighting:
        whole = jnp.zeros(graph.num_players).at[graph.infoset_player].add(visits)
    halves = total[..., :-1] / jnp.where(visits > 0.0, visits, 1.0)[:, None]
    better = 0.5 + 0.5 * jnp.sign(halves[::-1])
    share = visits / jnp.maximum(whole, 1.0)[graph.infoset_player]
    return InfosetAdvantages(halves.sum(0), halves, better, share)


def gradient_wrt_logits(
    objective: Callable[[jax.Array], jax.Array], inputs: LogitGradientInputs
) -> jax.Array:
    """The gradient [I, A], by the logits, of a function of the policy at each infoset."""
    return jax.grad(lambda logits: objective(softmax(logits, inputs.legal)).sum())(inputs.logits)


def safe_log(policy: jax.Array) -> jax.Array:
    """Logarithms that stay finite, and whose gradient does."""
    return jnp.log(jnp.maximum(policy, 1e-30))


def entropy(policy: jax.Array) -> jax.Array:
    """Of each row."""
    return -(policy * safe_log(policy)).sum(-1)


def polyak_update(old: Net, new: Net, step_size: float | jax.Array) -> Net:
    """The weights moved by a part of the way."""
    return jax.tree.map(lambda one, two: one + step_size * (two - one), old, new)
