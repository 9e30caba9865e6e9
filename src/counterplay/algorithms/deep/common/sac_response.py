"""A response by soft actor-critic with discrete actions."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.algorithms.deep.common.best_response import (
    Iteration,
    ResponseBehaviour,
    apply_output_gradient,
)
from counterplay.algorithms.deep.common.buffers import ReplayBuffer
from counterplay.algorithms.deep.common.graph import Graph, Players, host_array
from counterplay.algorithms.deep.common.networks import (
    Net,
    infoset_outputs,
    new_nets,
    polyak_update,
    safe_log,
    softmax,
)
from counterplay.algorithms.deep.common.replay_response import ReplayResponder, target_store
from counterplay.algorithms.deep.common.training import TrainState, init_train_states
from counterplay.core.settings import NonNegative, PositiveProbability, Probability, settings

MIN_TEMPERATURE = 1e-3  # below this a softmax of values is greedy

CriticNets = tuple[Net, Net]


class SACState(NamedTuple):
    """The state of `SACResponse`."""

    policy: TrainState  # of each player
    critics: tuple[TrainState, TrainState]
    target: Any  # on a tree soft values by infoset [I + 1]; on rules critics Q'
    replay_buffer: ReplayBuffer  # of (infoset, action, payoff, next infoset)
    log_temperature: jax.Array  # of the learned temperature


@settings(kw_only=True)
class SACResponse(ReplayResponder[SACState]):
    """Discrete SAC (Christodoulou, 2019). At t = 1, 2, ..., `num_updates` times, on minibatches of
    the ring buffer with the decisions of learning players:

        Q_k     = Q_k - lr_t * grad mean of (Q_k(I, a) - payoff - V'(I'))^2,   k = 1, 2
        soft(I) = sum over a of policy(a) * (min Q(I, a) - tau_t * log policy(a))
        W       = W + lr_t * grad mean of sum over a of p(a) * log policy(a)
        p       = softmax of min Q(I, a) / tau_t
        V'      = V' + target_update_rate * (soft - V')

    with min Q the smaller of the two critics. SAC minimises the divergence between policy and p in
    the other direction, whose gradient vanishes where an action is hardly played, so that a
    response could not turn when the opponents change. tau_t falls linearly to zero; at a constant
    temperature this is a quantal response. On a tree V' is stored as values; on rules target
    critics Q' follow Q in the same way, and V' is the soft value of Q'. Actions are random with
    probability epsilon.

    `reverse_divergence` takes SAC's own loss of the policy (Haarnoja et al., 2018),

        W = W - lr_t * grad mean of sum over a of policy(a) * (tau_t * log policy(a) - min Q(I, a))

    and `learn_temperature` its loss of the temperature, which starts at `temperature` and keeps the
    entropy H of the policy near a share of the largest entropy instead of falling to zero:

        log tau = log tau - lr_t * tau * mean of (H(I) - target_entropy * log(number of actions))

    Then the response stays a quantal one, and the average policy converges to an equilibrium of
    quantal responses.
    """

    target_update_rate: PositiveProbability = 0.05
    temperature: NonNegative = 0.2
    epsilon: Probability = 0.2
    reverse_divergence: bool = False
    learn_temperature: bool = False
    target_entropy: Probability = 0.5  # share of log(number of actions), if it is learned

    def init_state(self, graph: Graph, rng: np.random.Generator, players: Players) -> SACState:
        sizes = (graph.num_features, *self.hidden_sizes, graph.max_actions)
        policy, first, second = (
            new_nets(rng, len(players), sizes, zero_head=True) for _ in range(3)
        )
        critics = (
            init_train_states(self.optimiser, first),
            init_train_states(self.optimiser, second),
        )
        target = target_store(graph).init(graph, (first, second))
        return SACState(
            init_train_states(self.optimiser, policy),
            critics,
            target,
            self.new_replay_buffer(graph),
            host_array(np.log(np.float32(max(self.temperature, MIN_TEMPERATURE)))),
        )

    def behaviour(
        self, graph: Graph, players: Players, t: Iteration, state: SACState
    ) -> ResponseBehaviour:
        policy = softmax(infoset_outputs(graph, state.policy.params, players), graph.legal)
        return ResponseBehaviour(policy, self.epsilon_at(t))

    def epsilon_at(self, t: Iteration) -> float:
        return self.epsilon

    def networks(self, state: SACState) -> tuple[Net, str]:
        return state.policy.params, "softmax"

    def fit(
        self, graph: Graph, players: Players, t: Iteration, state: SACState, key: jax.Array
    ) -> SACState:
        for sample_key in jax.random.split(key, self.num_updates):
            state = self.update_networks(graph, players, t, state, sample_key)
        return state

    def temperature_at(self, t: Iteration, state: SACState) -> jax.Array:
        """Return the temperature of iteration t: learned, or falling to zero."""
        if self.learn_temperature:
            return jnp.exp(state.log_temperature)
        return self.temperature * (1.0 - self.progress(t))

    def update_networks(
        self,
        graph: Graph,
        players: Players,
        t: Iteration,
        state: SACState,
        key: jax.Array,
    ) -> SACState:
        """Return the state after one minibatch."""
        temperature = self.temperature_at(t, state)

        def smaller_values(rows: Graph, critics: CriticNets) -> jax.Array:
            return jnp.minimum(*(infoset_outputs(rows, critic, players) for critic in critics))

        def evaluate(rows: Graph, critics: CriticNets) -> jax.Array:
            logits = infoset_outputs(rows, state.policy.params, players)
            return soft_values(rows.legal, smaller_values(rows, critics), temperature, logits)

        store, critics = target_store(graph), (state.critics[0].params, state.critics[1].params)
        next_values = store.next_values(state.target, evaluate)
        minibatch = self.sample_minibatch(graph, state.replay_buffer, next_values, key)
        legal, visits = minibatch.graph.legal, minibatch.visits.sum(-1)
        lower = smaller_values(minibatch.graph, critics)
        wanted = softmax(lower / jnp.maximum(temperature, MIN_TEMPERATURE), legal)
        share = (visits / (jnp.maximum(visits, 1.0) + self.visit_saturation))[:, None]

        def policy_gradient(logits: jax.Array) -> jax.Array:
            policy = softmax(logits, legal)
            if self.reverse_divergence:
                return share * reverse_gradient(policy, legal, lower, temperature)
            return share * (policy - wanted)

        def critic_error(outputs: jax.Array) -> jax.Array:
            weighted = minibatch.weight * minibatch.visits * outputs
            return weighted - minibatch.weighted_target_sum

        step = partial(apply_output_gradient, self.optimiser, minibatch.graph, players)
        new_policy = step(state.policy, policy_gradient, visits, self.batch_size)
        first, second = (
            step(critic, critic_error, visits, self.batch_size) for critic in state.critics
        )
        goal = store.refresh(graph, critics, evaluate)
        target = polyak_update(state.target, goal, self.target_update_rate)
        log_temperature = state.log_temperature
        if self.learn_temperature:
            policy = softmax(infoset_outputs(minibatch.graph, state.policy.params, players), legal)
            excess = mean_excess_entropy(policy, legal, visits, self.target_entropy)
            rate = self.learning_rate_schedule(1)(t)
            log_temperature = log_temperature - rate * temperature * excess
        return SACState(new_policy, (first, second), target, state.replay_buffer, log_temperature)


def reverse_gradient(
    policy: jax.Array, legal: jax.Array, values: jax.Array, temperature: jax.Array
) -> jax.Array:
    """Return the gradient [I, A] in the logits of SAC's loss of a policy.

    The loss is the sum over a of policy(a) * (temperature * log policy(a) - values(a)).
    """
    cost = jnp.where(legal, temperature * safe_log(policy) - values, 0.0)
    return policy * (cost - (policy * cost).sum(-1, keepdims=True))


def mean_excess_entropy(
    policy: jax.Array, legal: jax.Array, visits: jax.Array, target_share: float
) -> jax.Array:
    """Return the mean, by visits [I], of the entropy minus a share of log(number of actions)."""
    entropy = -jnp.where(legal, policy * safe_log(policy), 0.0).sum(-1)
    target = target_share * jnp.log(jnp.maximum(legal.sum(-1), 1))
    return (visits * (entropy - target)).sum() / jnp.maximum(visits.sum(), 1.0)


def soft_values(
    legal: jax.Array, values: jax.Array, temperature: jax.Array, logits: jax.Array
) -> jax.Array:
    """Return the expectation [I] of values [I, A] under a policy, plus temperature * entropy."""
    policy = softmax(logits, legal)
    soft = values - temperature * safe_log(policy)
    return jnp.where(legal, policy * soft, 0.0).sum(-1)
