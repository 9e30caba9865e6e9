"""Networks in training: parameters, the optimiser's own memory, and steps down a loss."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax


class Trained(NamedTuple):
    """Parameters and what their optimiser remembers; both may have a leading axis of players."""

    params: Any
    memory: Any


def params_of(each: tuple[Trained, ...], first: int = 0) -> tuple[Any, ...]:
    """The parameters of players in order, whose parts begin with one player's."""
    params = tuple(trained.params for trained in each)
    return params[len(params) - first :] + params[: len(params) - first]


def in_training(optimiser: optax.GradientTransformation, params: Any) -> Trained:
    """Networks of several players, each to be trained alone."""
    return Trained(params, _begin(optimiser, params))


@partial(jax.jit, static_argnums=0)
def _begin(optimiser: optax.GradientTransformation, params: Any) -> Any:
    """What the optimiser remembers before its first step; compiled once for equal networks."""
    return jax.vmap(optimiser.init)(params)


def descend(optimiser: optax.GradientTransformation, trained: Trained, gradient: Any) -> Trained:
    """One step of the optimiser down a gradient."""
    updates, memory = optimiser.update(gradient, trained.memory, trained.params)
    return Trained(optax.apply_updates(trained.params, updates), memory)


def fit(
    optimiser: optax.GradientTransformation,
    loss: Callable[[Any, Any], jax.Array],
    trained: Trained,
    draw: Callable[[jax.Array], Any],
    key: jax.Array,
    steps: int,
) -> Trained:
    """So many steps down `loss(params, minibatch)`, each on what `draw(key)` gives."""

    def step(trained: Trained, key: jax.Array) -> tuple[Trained, None]:
        return descend(optimiser, trained, jax.grad(loss)(trained.params, draw(key))), None

    return jax.lax.scan(step, trained, jax.random.split(key, steps))[0]


def annealed(
    optimiser: optax.GradientTransformation,
    rate: float,
    loss: Callable[[Any, Any], jax.Array],
    trained: Trained,
    draw: Callable[[jax.Array], Any],
    key: jax.Array,
    steps: int | jax.Array,
) -> Trained:
    """`fit` with a rate that falls to zero along a cosine, so that the last steps add no noise.

    The optimiser says where to go, such as `optax.scale_by_adam`, and the rate how far. One program
    serves any number of steps.
    """

    def step(n: jax.Array, trained: Trained) -> Trained:
        gradient = jax.grad(loss)(trained.params, draw(jax.random.fold_in(key, n)))
        updates, memory = optimiser.update(gradient, trained.memory, trained.params)
        share = 0.5 + 0.5 * jnp.cos(jnp.pi * n / steps)
        updates = jax.tree.map(lambda update: -rate * share * update, updates)
        return Trained(optax.apply_updates(trained.params, updates), memory)

    return jax.lax.fori_loop(0, steps, step, trained)


def squared_error(
    outputs: jax.Array, target: jax.Array, weight: jax.Array, legal: jax.Array
) -> jax.Array:
    """The weighted mean [] over rows [B] of squared errors [B, A]; illegal actions have none."""
    error = jnp.where(legal, outputs - target, 0.0)
    return (weight * (error**2).sum(-1)).sum() / weight.sum().clip(1e-30)
