"""VR-DeepDCFR+: networks of discounted regrets, sampled with a critic as control variate."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.algorithms.deep.common.averages import AverageState
from counterplay.algorithms.deep.common.critics import CriticConfig
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.jax_algorithm import lazy_jit, split_key
from counterplay.algorithms.deep.common.networks import (
    Net,
    PredictiveNets,
    apply_net,
    regret_matching,
    replace_player,
    select_player,
)
from counterplay.algorithms.deep.common.training import (
    TrainState,
    fit_with_cosine_decay,
    mean_squared_error,
)
from counterplay.algorithms.deep.common.tree_or_rules import is_two_player_zero_sum
from counterplay.algorithms.deep.regret.base import RegretNetAlgorithm
from counterplay.algorithms.deep.regret.config import DEFAULT_BATCH_SIZE, AverageNetConfig
from counterplay.algorithms.deep.regret.sampler import RegretBatch, Sampler, SamplingScheme
from counterplay.core.settings import (
    NonNegative,
    NonNegativeInt,
    PositiveInt,
    PositiveProbability,
    settings,
)
from counterplay.errors import ConfigError


class DiscountedRegretState(NamedTuple):
    """The state of VR-DeepDCFR+ and VR-DeepPDCFR+."""

    nets: TrainState  # [P] R / regret_scale
    regret_scale: jax.Array  # [P]
    next_discount: jax.Array  # [P] d' of the next iteration; 1 without prediction
    instantaneous_nets: TrainState  # [P] r divided by the largest utility
    critic: TrainState  # Q
    sampler: Any  # arrays of the sampler
    averages: AverageState


@settings(kw_only=True)
class VRDeepDCFRPlus(AverageNetConfig, CriticConfig, RegretNetAlgorithm):
    """VR-DeepDCFR+ (Xu et al., 2025). At t = 1, 2, ..., with d = x / (x + c), x = (t - 1)**alpha:

        Q(h, a) = expected value after a under the current policies (expected SARSA)

    for each player i in turn, `num_traversals` episodes, in which it samples from
    q = epsilon * uniform + (1 - epsilon) * policy; backwards along each, at all decisions:

        v(b)   = Q_i(h, b), plus (v - Q_i(h, a)) / q(a) for the action a that was taken
        v      = policy . v(.), for the decision before;  r(b) = v(b) - v
        R_i    = argmin over networks of the sum over this iteration's samples of
                 |R(I) - d * max(old R_i(I), 0) - r|**2
        policy = regret_matching(R_i(I)); where no output is positive, all on the largest
        Pi     = argmin of the sum of t**average_power * cross entropy of s and softmax(Pi(I)) over
                 the policies s at all decisions of the other player

    Samples are not weighted by any reach, so that r is a mean advantage, of the magnitude of the
    utilities. On a tree, R is fitted to the mean of each infoset's samples, which has the same
    minimiser. R is stored in multiples of its root mean square, which regret matching does not
    depend on, so that outputs stay near 1 while regrets grow. c = `discount_constant` is 1.5 in the
    authors' program and 1 in their paper. The exact `average` comes first; `network` is Pi. For
    two-player zero-sum games.

    On rules, R is fitted to minibatches of single samples, Pi to a reservoir of policies, and Q as
    in `dream`; there is no `average`.
    """

    num_traversals: PositiveInt = 2_000
    reservoir_size: NonNegativeInt = 0  # policies per player for Pi, on rules; a tree has sums
    batch_size: PositiveInt = DEFAULT_BATCH_SIZE  # samples per step, on rules
    train_steps: PositiveInt = 200
    epsilon: PositiveProbability = 0.6
    alpha: NonNegative = 2.0
    discount_constant: NonNegative = 1.5
    average_power: NonNegative = 2.0

    default_iterations: ClassVar[int] = 100
    is_predictive: ClassVar[bool] = False
    keeps_regrets: ClassVar[bool] = False

    def check_arena(self, arena: Any) -> None:
        if not is_two_player_zero_sum(arena):
            raise ConfigError(f"{self.name} needs a two-player zero-sum game, unlike {arena.spec}")

    def discount(self, t: int) -> float:
        """Return d, the factor on the regrets before iteration t."""
        x = float(t - 1) ** self.alpha
        return x / (x + self.discount_constant) if t > 1 else 0.0

    def actor_params(self, state: DiscountedRegretState) -> Any:
        if not self.is_predictive:
            return state.nets.params
        scale = state.next_discount * state.regret_scale
        return predictive_nets(state.nets, scale, state.instantaneous_nets)

    def init_state(self, sampler: Sampler, rng: np.random.Generator) -> DiscountedRegretState:
        nets, latest = (self.new_nets(sampler, rng) for _ in range(2))
        critic = sampler.new_critic(self, rng)
        ones = jnp.ones(2)
        actors = predictive_nets(nets, ones, latest) if self.is_predictive else nets.params
        averages = self.new_averages(sampler, rng, actors)
        return DiscountedRegretState(nets, ones, ones, latest, critic, sampler.arrays, averages)

    def iterate(
        self, sampler: Sampler, t: int, state: DiscountedRegretState, key: jax.Array
    ) -> DiscountedRegretState:
        average_key, net_key, *player_keys = split_key(key, 2 + sampler.num_players)
        state = state._replace(averages=self.add_to_averages(sampler, t, state, average_key))
        for player, player_key in enumerate(player_keys):
            state = self.iterate_player(sampler, t, state, player, player_key)
        return state._replace(averages=self.fit_average(sampler, state, net_key))

    def iterate_player(
        self, sampler: Sampler, t: int, state: DiscountedRegretState, player: int, key: jax.Array
    ) -> DiscountedRegretState:
        """Return the state after one player's part of iteration t."""
        critic_key, sample_key, fit_key = split_key(key, 3)
        nets = self.actor_params(state)
        critic, values = sampler.fit_critic(self, state.critic, nets, critic_key)
        sampler.decay_visits(self.critic_sample_decay ** (1.0 / sampler.num_players))
        scheme = SamplingScheme(
            player,
            self.epsilon,
            reach_power=0.0,
            regret_weight=1.0,
            average_weight=float(t) ** self.average_power,
        )
        batch = sampler.collect_batch(nets, scheme, values, sample_key)
        return self.fit_player(sampler, t, state._replace(critic=critic), player, batch, fit_key)

    def fit_player(
        self,
        sampler: Sampler,
        t: int,
        state: DiscountedRegretState,
        player: int,
        batch: RegretBatch,
        key: jax.Array,
    ) -> DiscountedRegretState:
        """Return the state with the player's networks fitted to a batch; set its policy."""
        next_discount = self.discount(t + 1) if self.is_predictive else 1.0
        nets, scale, latest, policy = _fit_player(
            self,
            batch.use_minibatches,
            batch.graph,
            (state.nets, state.regret_scale, state.instantaneous_nets),
            player,
            (batch.infoset, batch.regret, batch.weight),
            (self.discount(t), next_discount),
            self.train_steps_at(t),
            key,
        )
        sampler.set_policy(player, policy)
        return state._replace(
            nets=nets,
            regret_scale=scale,
            next_discount=state.next_discount.at[player].set(next_discount),
            instantaneous_nets=latest,
        )


def predictive_nets(
    cumulative_nets: TrainState, regret_scale: jax.Array, instantaneous_nets: TrainState
) -> PredictiveNets:
    """Return the sum of cumulative networks, multiplied by a scale [P], and predictions."""
    *hidden, (weights, biases) = cumulative_nets.params
    last = weights * regret_scale[:, None, None], biases * regret_scale[:, None]
    return PredictiveNets([*hidden, last], instantaneous_nets.params)


@lazy_jit(static_argnums=(0, 1))
def _fit_player(
    config: VRDeepDCFRPlus,
    use_minibatches: bool,
    graph: Graph,
    networks: tuple[TrainState, jax.Array, TrainState],
    player: Any,
    samples: tuple[Any, Any, Any],
    discounts: tuple[Any, Any],
    steps: Any,
    key: jax.Array,
) -> tuple[TrainState, jax.Array, TrainState, jax.Array]:
    """Return the networks with one player's fitted, and its policy [N, A].

    Args:
        config: the algorithm.
        use_minibatches: whether steps use minibatches or all rows.
        graph: the graph that infosets refer to.
        networks: R / regret_scale, regret_scale and r of all players.
        player: the player.
        samples: infosets [N], regrets [N, A] and weights [N].
        discounts: d of this iteration and of the next.
        steps: number of Adam steps.
        key: samples minibatches.
    """
    nets, scale, latest = networks
    infoset, regret, weight = samples
    x, legal = graph.observation[graph.own_observation_row[infoset]], graph.legal[infoset]
    discount, next_discount = discounts
    num_filled = (weight > 0.0).sum()

    def fit(train_state: TrainState, target: jax.Array, key: jax.Array) -> TrainState:
        data = x, target, weight, legal

        def sample(key: jax.Array) -> Any:
            if not use_minibatches:
                return data
            row = jax.random.randint(key, (config.batch_size,), 0, num_filled)
            return jax.tree.map(lambda part: part[row], data)

        def loss(net: Net, minibatch: Any) -> jax.Array:
            x, target, weight, legal = minibatch
            return mean_squared_error(apply_net(net, x), target, weight, legal)

        return fit_with_cosine_decay(
            config.optimiser, config.learning_rate, loss, train_state, sample, key, steps
        )

    train_state = select_player(nets, player)
    old_regret = scale[player] * apply_net(train_state.params, x)
    target = discount * jnp.maximum(old_regret, 0.0) + regret
    count = jnp.where(legal, weight[:, None], 0.0)
    new_scale = jnp.sqrt((count * target**2).sum() / count.sum().clip(1e-30)).clip(1e-6)
    cumulative_key, instantaneous_key = jax.random.split(key)
    *hidden, last = train_state.params
    rescaled = [*hidden, jax.tree.map(lambda w: w * scale[player] / new_scale, last)]
    fitted = fit(train_state._replace(params=rescaled), target / new_scale, cumulative_key)
    outputs = new_scale * apply_net(fitted.params, x)
    if config.is_predictive:
        prediction = fit(select_player(latest, player), regret, instantaneous_key)
        outputs = next_discount * jnp.maximum(outputs, 0.0) + apply_net(prediction.params, x)
        latest = replace_player(latest, player, prediction)
    return (
        replace_player(nets, player, fitted),
        scale.at[player].set(new_scale),
        latest,
        regret_matching(outputs, legal),
    )
