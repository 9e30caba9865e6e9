"""Small networks as plain lists of arrays, and what their outputs are read as."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

MAX_OUTER_PRODUCT_ROWS = 16  # up to which a sum of outer products is faster than a matrix product

Net = list[tuple[Any, Any]]  # (weights [in, out], biases [out]) of each layer


class PredictiveNets(NamedTuple):
    """Two networks that speak as one: what is positive of the sums, plus the latest."""

    cumulative: Net
    instantaneous: Net


def num_outputs(net: Net | PredictiveNets) -> int:
    """How many numbers a network says; also of several players' together."""
    last = net.instantaneous if isinstance(net, PredictiveNets) else net
    return int(last[-1][1].shape[-1])


def new_net(rng: np.random.Generator, sizes: tuple[int, ...], zero_head: bool = False) -> Net:
    """A network of layers of the given sizes, input first and output last.

    Weights are Xavier-normal, biases uniform within 1/sqrt(inputs); with `zero_head` the last layer
    is zero, so that the network says nothing yet. NumPy draws them: JAX would compile a program for
    every shape.
    """
    net = []
    for inputs, outputs in pairwise(sizes):
        weights = rng.normal(0.0, (2.0 / (inputs + outputs)) ** 0.5, (inputs, outputs))
        biases = rng.uniform(-(inputs**-0.5), inputs**-0.5, outputs)
        net.append((weights.astype(np.float32), biases.astype(np.float32)))
    return [*net[:-1], (0.0 * net[-1][0], 0.0 * net[-1][1])] if zero_head else net


def new_nets(
    rng: np.random.Generator, count: int, sizes: tuple[int, ...], zero_head: bool = False
) -> Net:
    """As many networks, one per player: every array with a leading axis."""
    return stack_players([new_net(rng, sizes, zero_head) for _ in range(count)])


def reinitialise_net(net: Net, key: jax.Array) -> Net:
    """Another network of the same sizes, as `new_net` draws them, with a last layer of zeros.

    One draw serves all layers: a program with one for each takes longer to compile than to run.
    """
    deep, last = net[:-1], net[-1]
    normal_key, uniform_key = jax.random.split(key)
    normal = jax.random.normal(normal_key, (sum(weights.size for weights, _ in deep),))
    even = jax.random.uniform(uniform_key, (sum(b.size for _, b in deep),), minval=-1.0, maxval=1.0)
    new, first, second = [], 0, 0
    for weights, biases in deep:
        spread, limit = (2.0 / sum(weights.shape)) ** 0.5, weights.shape[0] ** -0.5
        drawn = normal[first : first + weights.size].reshape(weights.shape)
        new.append((spread * drawn, limit * even[second : second + biases.size]))
        first, second = first + weights.size, second + biases.size
    return [*new, jax.tree.map(jnp.zeros_like, last)]


def select_player(stacked_params: Any, player: Any) -> Any:
    """One player's part of a tuple of parts, or of a pytree with a leading axis of players."""
    if type(stacked_params) is tuple:
        return stacked_params[player]
    cut = partial(jax.lax.dynamic_index_in_dim, index=player, keepdims=False)
    return jax.tree.map(lambda every: cut(every), stacked_params)


def replace_player(stacked_params: Any, player: Any, player_params: Any) -> Any:
    """The same pytree with another part for one player."""
    put = partial(jax.lax.dynamic_update_index_in_dim, index=player, axis=0)
    return jax.tree.map(lambda every, one: put(every, one), stacked_params, player_params)


def stack_players(parts: Sequence[Any]) -> Any:
    """The players' parts as one pytree, whose arrays have a leading axis of players."""

    def stack(*each: Any) -> Any:
        return np.stack(each) if isinstance(each[0], np.ndarray) else jnp.stack(each)

    return jax.tree.map(stack, *parts)


def apply_net(net: Net | PredictiveNets, x: jax.Array) -> jax.Array:
    """Outputs [B, out] for inputs [B, in]: ReLU layers with skip connections, then a linear one.

    A skip connection adds the layer's input, cut or padded with zeros to the layer's width.
    """
    if isinstance(net, PredictiveNets):
        return jax.nn.relu(apply_net(net.cumulative, x)) + apply_net(net.instantaneous, x)
    for weights, biases in net[:-1]:
        x = jax.nn.relu(affine(x, weights, biases)) + resize_last_axis(x, weights.shape[-1])
    return affine(x, *net[-1])


@jax.custom_vjp
def affine(x: jax.Array, weights: jax.Array, biases: jax.Array) -> jax.Array:
    """x @ weights + biases, whose gradient for few rows is a sum of outer products.

    That goes into whatever is done with it: half the time of a step on Kuhn poker. For many rows
    the gradient of biases is a product too: summing columns takes two programs for each layer.
    """
    return x @ weights + biases


def _affine_forward(x: jax.Array, weights: jax.Array, biases: jax.Array) -> tuple[jax.Array, Any]:
    return affine(x, weights, biases), (x, weights)


def _affine_backward(
    residuals: tuple[jax.Array, jax.Array], cotangent: jax.Array
) -> tuple[jax.Array, ...]:
    x, weights = residuals
    if len(x) <= MAX_OUTER_PRODUCT_ROWS:
        outer = (x[:, :, None] * cotangent[:, None, :]).sum(axis=0)
        return cotangent @ weights.T, outer, cotangent.sum(axis=0)
    return (
        cotangent @ weights.T,
        x.T @ cotangent,
        jnp.ones(len(cotangent), cotangent.dtype) @ cotangent,
    )


affine.defvjp(_affine_forward, _affine_backward)


def resize_last_axis(x: jax.Array, width: int) -> jax.Array:
    """Vectors [..., X] cut or padded with zeros to a width."""
    kept = x[..., :width]
    return jnp.pad(kept, [(0, 0)] * (x.ndim - 1) + [(0, width - kept.shape[-1])])


def softmax(logits: jax.Array, legal: jax.Array) -> jax.Array:
    """Probabilities of the legal actions; zero for the others."""
    return jax.nn.softmax(jnp.where(legal, logits, -jnp.inf), axis=-1)


def regret_matching(regret: jax.Array, legal: jax.Array) -> jax.Array:
    """Probabilities in proportion to positive regrets; where there are none, all on the largest.

    The largest of several equal ones share, so that a network that says nothing plays uniformly.
    """
    positive = jnp.where(legal, jnp.maximum(regret, 0.0), 0.0)
    total = positive.sum(-1, keepdims=True)
    masked = jnp.where(legal, regret, -jnp.inf)
    best = (masked == masked.max(-1, keepdims=True)) & legal
    fallback = best / best.sum(-1, keepdims=True)
    return jnp.where(total > 0.0, positive / jnp.where(total > 0.0, total, 1.0), fallback)


def greedy(values: jax.Array, legal: jax.Array) -> jax.Array:
    """All on the legal action of the largest value, the first of equals."""
    return jax.nn.one_hot(jnp.where(legal, values, -jnp.inf).argmax(-1), legal.shape[-1])


def uniform(legal: jax.Array) -> jax.Array:
    """Equal probabilities for the legal actions."""
    return legal / legal.sum(-1, keepdims=True)


def centre_over_legal(logits: jax.Array, legal: jax.Array) -> jax.Array:
    """Logits minus their mean over the legal actions; zero for the others."""
    mean = jnp.where(legal, logits, 0.0).sum(-1, keepdims=True) / legal.sum(-1, keepdims=True)
    return jnp.where(legal, logits - mean, 0.0)
