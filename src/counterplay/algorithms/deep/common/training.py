"""Networks in training: parameters with the state of their optimiser, and gradient steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import optax

from counterplay.algorithms.deep.common.networks import Net

Batch = TypeVar("Batch")

Loss = Callable[[Net, Batch], jax.Array]


class TrainState(NamedTuple):
    """Parameters and the state of their optimiser; both may have a leading axis of players."""

    params: Net
    opt_state: optax.OptState


def params_by_player(
    train_states: tuple[TrainState, ...], first_player: int = 0
) -> tuple[Net, ...]:
    """Return the parameters in the order of players, of states that begin with `first_player`'s."""
    params = tuple(train_state.params for train_state in train_states)
    return params[len(params) - first_player :] + params[: len(params) - first_player]


def init_train_states(optimiser: optax.GradientTransformation, params: Net) -> TrainState:
    """Return the train state of stacked networks, each of which is optimised separately."""
    return TrainState(params, _init_opt_states(optimiser, params))


@partial(jax.jit, static_argnums=0)
def _init_opt_states(optimiser: optax.GradientTransformation, params: Net) -> optax.OptState:
    """Return the optimiser's states before its first step; compiled once for equal networks."""
    return jax.vmap(optimiser.init)(params)


def apply_gradient(
    optimiser: optax.GradientTransformation, train_state: TrainState, gradient: Net
) -> TrainState:
    """Return the train state after one step of the optimiser down a gradient."""
    updates, opt_state = optimiser.update(gradient, train_state.opt_state, train_state.params)
    return TrainState(optax.apply_updates(train_state.params, updates), opt_state)


def apply_gradients(
    optimiser: optax.GradientTransformation, train_states: TrainState, gradients: Net
) -> TrainState:
    """Apply a gradient to each of several stacked networks, separately."""

    def apply(train_state: TrainState, gradient: Net) -> TrainState:
        return apply_gradient(optimiser, train_state, gradient)

    return jax.vmap(apply)(train_states, gradients)


def fit(
    optimiser: optax.GradientTransformation,
    loss: Loss[Batch],
    train_state: TrainState,
    sample_minibatch: Callable[[jax.Array], Batch],
    key: jax.Array,
    steps: int,
) -> TrainState:
    """Take `steps` steps down `loss(params, minibatch)`, each on `sample_minibatch(key)`."""

    def step(train_state: TrainState, key: jax.Array) -> tuple[TrainState, None]:
        return apply_gradient(
            optimiser, train_state, jax.grad(loss)(train_state.params, sample_minibatch(key))
        ), None

    return jax.lax.scan(step, train_state, jax.random.split(key, steps))[0]


def fit_with_cosine_decay(
    optimiser: optax.GradientTransformation,
    learning_rate: float,
    loss: Loss[Batch],
    train_state: TrainState,
    sample_minibatch: Callable[[jax.Array], Batch],
    key: jax.Array,
    steps: int | jax.Array,
) -> TrainState:
    """Fit with a rate that falls to zero along a cosine, so that the last steps add no noise.

    Args:
        optimiser: gives the direction of a step, as `optax.scale_by_adam` does; the rate gives its
            length.
        steps: may be an array, so that one program serves any number of steps.
    """

    def step(number: jax.Array, train_state: TrainState) -> TrainState:
        minibatch = sample_minibatch(jax.random.fold_in(key, number))
        gradient = jax.grad(loss)(train_state.params, minibatch)
        updates, opt_state = optimiser.update(gradient, train_state.opt_state, train_state.params)
        share = 0.5 + 0.5 * jnp.cos(jnp.pi * number / steps)
        updates = jax.tree.map(lambda update: -learning_rate * share * update, updates)
        return TrainState(optax.apply_updates(train_state.params, updates), opt_state)

    return jax.lax.fori_loop(0, steps, step, train_state)


def mean_squared_error(
    outputs: jax.Array, target: jax.Array, weight: jax.Array, legal: jax.Array
) -> jax.Array:
    """Return the weighted mean [] over rows [B] of squared errors [B, A] at legal actions."""
    error = jnp.where(legal, outputs - target, 0.0)
    return (weight * (error**2).sum(-1)).sum() / weight.sum().clip(1e-30)
