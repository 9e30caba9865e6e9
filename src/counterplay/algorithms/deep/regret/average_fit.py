"""Fits of average networks to the policies of regret networks."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from counterplay.algorithms.deep.common.jax_algorithm import lazy_jit
from counterplay.algorithms.deep.common.networks import (
    Net,
    apply_net,
    reinitialise_net,
    replace_player,
    select_player,
    softmax,
)
from counterplay.algorithms.deep.common.training import (
    TrainState,
    fit_with_cosine_decay,
    mean_squared_error,
)
from counterplay.algorithms.deep.regret.config import RegretNetConfig


def average_loss(
    loss: str, logits: jax.Array, legal: jax.Array, policy: jax.Array, weight: jax.Array
) -> jax.Array:
    """Return the weighted mean [] of an average network's error at rows [B].

    Args:
        loss: "squared_error" of probabilities, or "cross_entropy".
        logits: outputs of the network [B, A].
        legal: legal actions [B, A].
        policy: the policies to average [B, A].
        weight: their weights [B].
    """
    probabilities = softmax(logits, legal)
    if loss == "squared_error":
        return mean_squared_error(probabilities, policy, weight, legal)
    log_probs = jnp.log(probabilities.clip(1e-30))
    return -(weight[:, None] * policy * log_probs).sum() / weight.sum().clip(1e-30)


@lazy_jit(static_argnums=0)
def fit_average_to_reservoir(
    config: RegretNetConfig,
    nets: TrainState,
    player: Any,
    inputs: tuple[Any, Any],
    samples: tuple[Any, Any, Any],
    num_filled: Any,
    key: jax.Array,
) -> TrainState:
    """Return the average networks with one player's fitted to its reservoir of policies.

    Args:
        config: hyper-parameters of the average network.
        nets: the average networks [P].
        player: the player.
        inputs: observations [N, X] and legal actions [N, A].
        samples: row of the inputs [M], policy [M, A] and weight [M] of each sample.
        num_filled: samples so far; the others are not used.
        key: samples minibatches.
    """
    observation, legal = inputs

    def sample(key: jax.Array) -> Any:
        slot = jax.random.randint(key, (config.batch_size,), 0, num_filled)
        return jax.tree.map(lambda column: column[slot], samples)

    def loss(net: Net, minibatch: Any) -> jax.Array:
        row, policy, weight = minibatch
        logits = apply_net(net, observation[row])
        return average_loss(config.average_loss, logits, legal[row], policy, weight)

    rate, steps = config.average_learning_rate, config.average_train_steps
    train_state = select_player(nets, player)
    fitted = fit_with_cosine_decay(config.optimiser, rate, loss, train_state, sample, key, steps)
    return jax.tree.map(lambda array, new: array.at[player].set(new), nets, fitted)


@lazy_jit(static_argnums=0)
def reinitialise_average(config: RegretNetConfig, nets: TrainState, key: jax.Array) -> TrainState:
    """Return the average networks of all players with random weights and uniform play."""
    for player, player_key in enumerate(jax.random.split(key, nets.params[0][0].shape[0])):
        params = reinitialise_net(select_player(nets.params, player), player_key)
        nets = replace_player(nets, player, TrainState(params, config.optimiser.init(params)))
    return nets
