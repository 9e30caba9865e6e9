"""Base of the policy gradients: episodes, a critic, a gradient per infoset, schedules.

An iteration samples episodes with the current policy of all players, corrects the critic's values
of every action by the sampled returns, and averages the advantages per infoset: all samples of an
infoset have the same input, so that a network is evaluated once for each. Algorithms differ in
`logit_gradient`, which turns mean advantages into a direction for the logits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Predicate

from counterplay.algorithms.deep.common import averages, returns
from counterplay.algorithms.deep.common.averages import AverageConfig, AverageState
from counterplay.algorithms.deep.common.critics import (
    Critic,
    ExactCritic,
    HistoryTableCritic,
    InfosetNetworkCritic,
    InfosetTableCritic,
    NetworkCritic,
    ValueTableCritic,
    ZeroCritic,
    exact_action_values,
    zero_sum_rewards,
)
from counterplay.algorithms.deep.common.episodes import (
    Episodes,
    behaviour_from_table,
    sample_episodes,
)
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.networks import (
    Net,
    infoset_outputs,
    new_nets,
    polyak_update,
    safe_log,
    softmax,
    uniform,
)
from counterplay.algorithms.deep.common.schedule import ScheduleConfig
from counterplay.algorithms.deep.common.training import (
    TrainState,
    apply_gradients,
    init_train_states,
)
from counterplay.algorithms.deep.common.tree_or_rules import JaxAlgorithmOnTreeOrRules
from counterplay.core.settings import (
    DiscountFactor,
    HiddenSizes,
    NonNegative,
    NonNegativeInt,
    PositiveInt,
    PositiveProbability,
    settings,
)
from counterplay.errors import ConfigError

FINAL_TEMPERATURE = 0.022
FINAL_TEMPERATURE_EPISODES = 16_000_000
EMA_SPANS_PER_SCHEDULE = 20.0  # the average of weights spans at most schedule / this
EMA_WARM_UP = 9.0  # at iteration t the average of weights decays by at most t / (t + this)


CRITICS_ON_RULES = ("network", "infoset_network", "none")


def _is_critic_name(name: str) -> bool:
    """auto, table, network, infoset, infoset_network, value, oracle or none"""
    return name in ("auto", "table", "infoset", "value", "oracle", *CRITICS_ON_RULES)


CriticName = Annotated[str, Predicate(_is_critic_name)]


class PolicyGradientState(NamedTuple):
    """The state that an iteration changes."""

    actor: TrainState  # of each player
    critic: Any  # the memory of the critic, of its own type
    ema_params: Net  # exponential moving average of the actor's weights
    magnet: Net  # two magnets [2], the previous and the latest; empty if the magnet is uniform
    averages: AverageState


class LogitGradientInputs(NamedTuple):
    """The arguments of `logit_gradient`, at every infoset."""

    logits: jax.Array  # [I, A]
    policy: jax.Array  # [I, A] their softmax
    old_policy: jax.Array  # [I, A] the policy that sampled the episodes
    magnet_log_probs: jax.Array  # [I, A] log-probabilities of the magnet
    legal: jax.Array  # [I, A]
    advantage: jax.Array  # [I, A] mean over the visits of the batch
    half_batch_advantage: jax.Array  # [2, I, A] contribution of each half of the batch to it
    beats_policy: (
        jax.Array
    )  # [2, I, A] 1 if the other half's advantage is positive, else 0; tie 1/2
    temperature: jax.Array  # []


class InfosetAdvantages(NamedTuple):
    """Advantages of a batch, averaged per infoset: see `LogitGradientInputs`."""

    advantage: jax.Array  # [I, A]
    half_batch_advantage: jax.Array  # [2, I, A]
    beats_policy: jax.Array  # [2, I, A]
    visit_share: jax.Array  # [I] share of its player's visits


@settings(kw_only=True)
class PolicyGradient(ScheduleConfig, JaxAlgorithmOnTreeOrRules, AverageConfig):
    """Settings that all policy gradients share, and their iteration.

    Utilities are divided by the game's scale (see `common.utility_scale`): temperatures and other
    coefficients do not depend on the units of the game. Learning rate and temperature fall over
    `schedule_iterations`, and the average of weights spans at most a twentieth of them.
    """

    hidden_sizes: HiddenSizes = (128, 128)
    num_episodes: PositiveInt = 4000  # per iteration
    stratified: bool = True  # sample stratified episodes on a tree; on rules they are independent
    num_epochs: PositiveInt = 1  # steps of the actor per iteration
    learning_rate: NonNegative = 8e-3
    learning_rate_end: NonNegative = 1e-5
    learning_rate_power: NonNegative = 2.0  # 1: the rate falls linearly; 2: faster at first
    # limit of the root mean square of the change of a weight matrix, in learning rates; 0: none
    max_update_rms: NonNegative = 0.0
    temperature: NonNegative = 0.11  # falls geometrically
    temperature_end: NonNegative = 0.0  # 0: by the number of episodes, see `last_temperature`
    # of histories: table or network; of infosets: infoset, infoset_network or value; oracle: exact
    # values; none: sampled returns alone; auto: table on a tree, network on rules
    critic: CriticName = "auto"
    gae_lambda: PositiveProbability = 1.0
    correct_with_returns: bool = True  # correct the critic by sampled returns; False: critic alone
    critic_step_size: PositiveProbability = 0.03  # of a table, for each sampled return
    critic_hidden_sizes: HiddenSizes = (64, 64)
    critic_learning_rate: NonNegative = 1e-3
    critic_train_steps: PositiveInt = 1  # of the infoset_network per iteration
    # an infoset with a share v / num_infosets of the visits weighs v / (v + this); 0: its share
    visit_saturation: NonNegative = 10.0
    counterfactual_weighting: bool = False  # divide visits by the player's own reach
    ema_decay: DiscountFactor = 0.998  # of the averaged weights; 0: no average of weights
    average_every: NonNegativeInt = 10
    average_power: NonNegative = 3.0

    default_iterations: ClassVar[int] = 4_000
    monitored_paths: ClassVar[tuple[str, ...]] = ("state.actor",)
    mean_over_episodes: ClassVar[bool] = False  # of gradients; False: over decisions

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.average_hidden_sizes:
            raise ConfigError(
                f"{self.name} trains no average network: leave out average_hidden_sizes"
            )
        if self.temperature_end > self.temperature > 0.0:
            limit = f"must be at most temperature ({self.temperature})"
            problem = f"temperature_end is {self.temperature_end}, {limit}"
            raise ConfigError(f"{self.name}: {problem}")
        if self.critic == "none" and not (self.correct_with_returns and self.gae_lambda == 1.0):
            problem = "critic=none needs correct_with_returns and gae_lambda 1"
            raise ConfigError(f"{self.name}: {problem}")
        if self.critic_train_steps > 1 and self.critic != "infoset_network":
            problem = "critic_train_steps is for critic=infoset_network"
            raise ConfigError(f"{self.name}: {problem}, not for critic={self.critic}")

    @property
    def has_moving_magnet(self) -> bool:
        """Whether the magnet changes during training; else it is uniform play."""
        return False

    def logit_gradient(self, inputs: LogitGradientInputs) -> jax.Array:
        """Return the direction [I, A] in which the logits of every infoset should move."""
        raise NotImplementedError

    def action_reward(
        self, policy: jax.Array, magnet: jax.Array, temperature: jax.Array
    ) -> jax.Array | None:
        """Return a payoff [I, A] of each action besides the game's utilities, or None."""
        return None

    def init_state(self, graph: Graph, rng: np.random.Generator) -> PolicyGradientState:
        sizes = (graph.num_features, *self.hidden_sizes, graph.max_actions)
        nets = new_nets(rng, graph.num_players, sizes, zero_head=True)
        return PolicyGradientState(
            actor=init_train_states(self.optimiser, nets),
            critic=self.critic_model.init_memory(graph, rng),
            ema_params=jax.tree.map(np.copy, nets) if self.ema_decay else [],
            magnet=jax.tree.map(lambda w: np.stack([w, w]), nets) if self.has_moving_magnet else [],
            averages=averages.new_average_state(self, graph, rng, nets, self.reservoir_size),
        )

    def actor_params(self, state: PolicyGradientState) -> Net:
        return state.actor.params

    def act(self, graph: Graph, nets: Net) -> tuple[jax.Array, jax.Array]:
        policy = softmax(infoset_outputs(graph, nets, graph.all_players), graph.legal)
        return policy, policy

    def iterate(
        self, graph: Graph, t: jax.Array, state: PolicyGradientState, key: jax.Array
    ) -> PolicyGradientState:
        sample_key, update_key = jax.random.split(key)
        policy, _ = self.act(graph, state.actor.params)
        episodes = sample_episodes(
            graph, behaviour_from_table(policy), sample_key, self.num_episodes, self.stratified
        )
        return self.update(graph, t, state, episodes, update_key)

    def update(
        self,
        graph: Graph,
        t: jax.Array,
        state: PolicyGradientState,
        episodes: Episodes,
        key: jax.Array,
    ) -> PolicyGradientState:
        """Return the state after an iteration with these episodes."""
        graph = replace(graph, utility=graph.utility / graph.utility_scale)
        episodes = episodes._replace(utility=episodes.utility / graph.utility_scale)

        def actor_logits(nets: Net) -> jax.Array:
            return infoset_outputs(graph, nets, graph.all_players)

        actor = state.actor
        logits, backward = jax.vjp(actor_logits, actor.params)
        old_policy, temperature = softmax(logits, graph.legal), self.temperature_at(t)
        average_state = averages.add_policies(
            self, state.averages, graph, t, actor.params, lambda: old_policy, key
        )
        magnet = self.magnet_log_probs(graph, t, state)
        reward = self.action_reward(old_policy, magnet, temperature)
        estimate, critic = self.estimate_advantages(
            graph, state.critic, episodes, old_policy, reward
        )
        mean = aggregate_by_infoset(
            graph,
            episodes,
            estimate.advantage,
            self.counterfactual_weighting,
            self.mean_over_episodes,
        )
        share = mean.visit_share
        if self.visit_saturation and not self.counterfactual_weighting:
            num_infosets: Any = graph.num_infosets
            if graph.is_rollout_batch:  # rows of the batch are padded
                num_infosets = (share > 0.0).sum()
            share = share / (share + self.visit_saturation / num_infosets)
        for epoch in range(self.num_epochs):
            if epoch:
                logits, backward = jax.vjp(actor_logits, actor.params)
            inputs = LogitGradientInputs(
                logits=logits,
                policy=softmax(logits, graph.legal),
                old_policy=old_policy,
                magnet_log_probs=magnet,
                legal=graph.legal,
                advantage=mean.advantage,
                half_batch_advantage=mean.half_batch_advantage,
                beats_policy=mean.beats_policy,
                temperature=temperature,
            )
            direction = jnp.where(graph.legal, share[:, None] * self.logit_gradient(inputs), 0.0)
            actor = apply_gradients(self.optimiser, actor, backward(-direction)[0])
        ema_params = state.ema_params
        if self.ema_decay:
            longest_decay = max(0.0, 1.0 - EMA_SPANS_PER_SCHEDULE / self.num_schedule_iterations)
            decay = jnp.minimum(min(self.ema_decay, longest_decay), t / (t + EMA_WARM_UP))
            ema_params = polyak_update(ema_params, actor.params, 1.0 - decay)
        smoothed = ema_params if self.ema_decay else actor.params
        new_magnet = self.update_magnet(t, state.magnet, actor.params, smoothed)
        return PolicyGradientState(actor, critic, ema_params, new_magnet, average_state)

    def estimate_advantages(
        self,
        graph: Graph,
        critic_memory: Any,
        episodes: Episodes,
        policy: jax.Array,
        action_reward: jax.Array | None,
    ) -> tuple[returns.BaselineAdvantages, Any]:
        """Return the advantages that the episodes show, and the critic's memory after them."""
        critic = self.critic_model
        if critic.is_exact:
            critic_memory = exact_action_values(graph, policy, action_reward)
        reward = None
        if action_reward is not None:
            reward = zero_sum_rewards(
                graph, episodes.player, action_reward[graph.infoset[episodes.decision]]
            )
            reward = jnp.where(episodes.live[..., None, None], reward, 0.0)
        values = critic.values(graph, critic_memory, episodes)
        is_actor = jnp.arange(graph.num_players) == episodes.player[..., None]
        has_value = critic.covers_all_players | is_actor
        estimate = returns.baseline_advantages(
            episodes, values, reward, self.gae_lambda, not critic.is_exact, has_value
        )
        critic_memory = critic.update(graph, critic_memory, episodes, estimate.target)
        if not self.correct_with_returns:
            estimate = returns.baseline_advantages(episodes, values, reward, use_samples=False)
        return estimate, critic_memory

    def networks(self, state: PolicyGradientState) -> dict[str, Any]:
        networks: dict[str, Any] = averages.ensemble_networks(state.averages, self.average_power)
        networks["current"] = [state.actor.params], [1.0]
        if self.ema_decay:
            networks["smoothed"] = [state.ema_params], [1.0]
        return {name: (*weighted_nets, "softmax") for name, weighted_nets in networks.items()}

    def for_rules(self) -> Self:
        return replace(self, critic="network") if self.critic == "auto" else self

    def check_runs_on_rules(self) -> None:
        if self.critic not in CRITICS_ON_RULES:
            problem = f"critic is {self.critic}, which needs the tree"
            names = " or ".join(CRITICS_ON_RULES)
            raise ConfigError(f"{self.name}: {problem}; on rules take critic={names}")

    def tabulate(self, graph: Graph, state: PolicyGradientState) -> dict[str, jax.Array]:
        tables = averages.tabulate_averages(self, state.averages, graph)
        tables["current"] = averages.infoset_policies(state.actor.params, graph)
        if self.ema_decay:
            tables["smoothed"] = averages.infoset_policies(state.ema_params, graph)
        return tables

    @property
    def last_temperature(self) -> float:
        """The temperature at the end of the schedule.

        The lower it is, the more the noise of the sampled advantages decides, and exploitability
        rises again late in training. By default it is `FINAL_TEMPERATURE` for schedules of
        `FINAL_TEMPERATURE_EPISODES` and more, and for fewer episodes grows with the cube root.
        """
        if self.temperature_end:
            return self.temperature_end
        episodes = self.num_schedule_iterations * self.num_episodes
        factor = max(1.0, (FINAL_TEMPERATURE_EPISODES / episodes) ** (1.0 / 3.0))
        return min(self.temperature, FINAL_TEMPERATURE * factor)

    def temperature_at(self, t: jax.Array) -> jax.Array:
        """Return the temperature at iteration t."""
        if not self.temperature:
            return jnp.zeros(())
        progress = jnp.minimum(t / self.num_schedule_iterations, 1.0)
        return self.temperature * (self.last_temperature / self.temperature) ** progress

    def magnet_log_probs(self, graph: Graph, t: jax.Array, state: PolicyGradientState) -> jax.Array:
        """Return the magnet's log-probabilities [I, A]; here those of uniform play."""
        return safe_log(uniform(graph.legal))

    def update_magnet(self, t: jax.Array, magnet: Net, nets: Net, smoothed_nets: Net) -> Net:
        """Return the magnet after an iteration that ends with these actors.

        Args:
            smoothed_nets: the average of the actors' weights over the last iterations.
        """
        return magnet

    @property
    def critic_model(self) -> Critic:
        """The critic that the settings name."""
        builders: dict[str, Callable[[], Critic]] = {
            "auto": lambda: HistoryTableCritic(self.critic_step_size),
            "table": lambda: HistoryTableCritic(self.critic_step_size),
            "infoset": lambda: InfosetTableCritic(self.critic_step_size),
            "value": lambda: ValueTableCritic(self.critic_step_size),
            "network": lambda: NetworkCritic(self.critic_hidden_sizes, self.critic_learning_rate),
            "infoset_network": lambda: InfosetNetworkCritic(
                self.critic_hidden_sizes, self.critic_learning_rate, self.critic_train_steps
            ),
            "oracle": lambda: ExactCritic(),
            "none": lambda: ZeroCritic(),
        }
        return builders[self.critic]()

    @property
    def learning_rate_schedule(self) -> optax.Schedule:
        """The learning rate by optimiser step."""
        steps = self.num_schedule_iterations * self.num_epochs
        return optax.polynomial_schedule(
            self.learning_rate, self.learning_rate_end, self.learning_rate_power, steps
        )

    @property
    def update_limits(self) -> list[optax.GradientTransformation]:
        """The limit that `max_update_rms` sets, if any."""
        return [optax.clip_by_block_rms(self.max_update_rms)] if self.max_update_rms else []

    @property
    def optimiser(self) -> optax.GradientTransformation:
        """Adam without momentum: with it, players cycle.

        Adam divides gradients by their root mean square over about a thousand steps. Once a policy
        is nearly pure, gradients are small for long, and one of usual size changes the weights by
        many learning rates; `max_update_rms` limits that (Shazeer and Stern, 2018).
        """
        return optax.chain(
            optax.scale_by_adam(b1=0.0),
            *self.update_limits,
            optax.scale_by_learning_rate(self.learning_rate_schedule),
        )


def aggregate_by_infoset(
    graph: Graph,
    episodes: Episodes,
    advantage: jax.Array,
    counterfactual_weighting: bool,
    mean_over_episodes: bool = False,
) -> InfosetAdvantages:
    """Average advantages [T, B, A] per infoset.

    With `counterfactual_weighting` each visit is divided by the player's own reach, and shares are
    per episode instead of per visit: the mean times the share is then the sampled instantaneous
    regret. With `mean_over_episodes` shares are per episode too.
    """
    weight = jnp.where(episodes.live, 1.0, 0.0)
    if counterfactual_weighting:
        weight = weight / returns.own_reach(episodes, graph.num_players)
    infoset = jnp.where(episodes.live, graph.infoset[episodes.decision], graph.num_infosets)
    half = jnp.arange(infoset.shape[1]) % 2
    rows = jnp.concatenate([advantage, jnp.ones_like(advantage[..., :1])], axis=-1)
    zeros = jnp.zeros((2, graph.num_infosets, graph.max_actions + 1))
    total = zeros.at[half, infoset].add(weight[..., None] * rows, mode="drop")
    visits = total[..., -1].sum(0)
    player_total = jnp.full(graph.num_players, 1.0 * episodes.utility.shape[0])
    if not (counterfactual_weighting or mean_over_episodes):
        player_total = jnp.zeros(graph.num_players).at[graph.infoset_player].add(visits)
    halves = total[..., :-1] / jnp.where(visits > 0.0, visits, 1.0)[:, None]
    beats_policy = 0.5 + 0.5 * jnp.sign(halves[::-1])
    share = visits / jnp.maximum(player_total, 1.0)[graph.infoset_player]
    return InfosetAdvantages(halves.sum(0), halves, beats_policy, share)


def gradient_wrt_logits(
    objective: Callable[[jax.Array], jax.Array], inputs: LogitGradientInputs
) -> jax.Array:
    """Return the gradient [I, A] by the logits of a function [I] of the policy [I, A]."""
    return jax.grad(lambda logits: objective(softmax(logits, inputs.legal)).sum())(inputs.logits)
