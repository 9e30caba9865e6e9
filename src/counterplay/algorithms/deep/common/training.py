"""Networks in training: parameters, the optimiser's own memory, and steps down a loss."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax


class TrainState(NamedTuple):
    """Parameters and what their optimiser remembers; both may have a leading axis of players."""

    params: Any
    opt_state: Any


def params_by_player(
    train_states: tuple[TrainState, ...], first_player: int = 0
) -> tuple[Any, ...]:
    """The parameters of players in order, whose parts begin with one player's."""
    params = tuple(trained.params for trained in train_states)
    return params[len(params) - first_player :] + params[: len(params) - first_player]


def init_train_states(optimiser: optax.GradientTransformation, params: Any) -> TrainState:
    """Networks of several players, each to be trained alone."""
    return TrainState(params, _init_opt_states(optimiser, params))


@partial(jax.jit, static_argnums=0)
def _init_opt_states(optimiser: optax.GradientTransformation, params: Any) -> Any:
    """What the optimiser remembers before its first step; compiled once for equal networks."""
    return jax.vmap(optimiser.init)(params)


def apply_gradient(
    optimiser: optax.GradientTransformation, train_state: TrainState, gradient: Any
) -> TrainState:
    """One step of the optimiser down a gradient."""
    updates, memory = optimiser.update(gradient, train_state.opt_state, train_state.params)
    return TrainState(optax.apply_updates(train_state.params, updates), memory)


def fit(
    optimiser: optax.GradientTransformation,
    loss: Callable[[Any, Any], jax.Array],
    train_state: TrainState,
    sample_minibatch: Callable[[jax.Array], Any],
    key: jax.Array,
    steps: int,
) -> TrainState:
    """So many steps down `loss(params, minibatch)`, each on what `draw(key)` gives."""

    def step(train_state: TrainState, key: jax.Array) -> tuple[TrainState, None]:
        return apply_gradient(
            optimiser, train_state, jax.grad(loss)(train_state.params, sample_minibatch(key))
        ), None

    return jax.lax.scan(step, train_state, jax.random.split(key, steps))[0]


def fit_with_cosine_decay(
    optimiser: optax.GradientTransformation,
    learning_rate: float,
    loss: Callable[[Any, Any], jax.Array],
    train_state: TrainState,
    sample_minibatch: Callable[[jax.Array], Any],
    key: jax.Array,
    steps: int | jax.Array,
) -> TrainState:
    """`fit` with a rate that falls to zero along a cosine, so that the last steps add no noise.

    The optimiser says where to go, such as `optax.scale_by_adam`, and the rate how far. One program
    serves any number of steps.
    """

    def step(n: jax.Array, train_state: TrainState) -> TrainState:
        gradient = jax.grad(loss)(train_state.params, sample_minibatch(jax.random.fold_in(key, n)))
        updates, memory = optimiser.update(gradient, train_state.opt_state, train_state.params)
        share = 0.5 + 0.5 * jnp.cos(jnp.pi * n / steps)
        updates = jax.tree.map(lambda update: -learning_rate * share * update, updates)
        return TrainState(optax.apply_updates(train_state.params, updates), memory)

    return jax.lax.fori_loop(0, steps, step, train_state)


def mean_squared_error(
    outputs: jax.Array, target: jax.Array, weight: jax.Array, legal: jax.Array
) -> jax.Array:
    """The weighted mean [] over rows [B] of squared errors [B, A]; illegal actions have none."""
    error = jnp.where(legal, outputs - target, 0.0)
    return (weight * (error**2).sum(-1)).sum() / weight.sum().clip(1e-30)
