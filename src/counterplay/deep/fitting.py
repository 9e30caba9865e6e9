"""Networks in training: parameters, the optimiser's own memory, and steps down a loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import optax


class Trained(NamedTuple):
    """Parameters and what their optimiser remembers; both may have a leading axis of players."""

    params: Any
    memory: Any


def in_training(optimiser: optax.GradientTransformation, params: Any) -> Trained:
    """Networks of several players, each to be trained alone."""
    return Trained(params, jax.jit(jax.vmap(optimiser.init))(params))


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
