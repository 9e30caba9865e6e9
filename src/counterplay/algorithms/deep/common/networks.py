"""Small residual networks as lists of arrays, and functions that turn outputs into policies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeVar, cast, overload

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.algorithms.deep.common.graph import Graph, Players, host_array
from counterplay.arenas.tree.size_estimate import available_memory, format_count, format_gib
from counterplay.errors import ConfigError

MAX_OUTER_PRODUCT_ROWS = 16  # up to this many, a sum of outer products beats a matrix product
BYTES_PER_TRAINED_WEIGHT = 16  # weight, gradient and two moments of Adam, in single precision
MIN_PROBABILITY = 1e-30  # lower probabilities count as this one in logarithms

Net = list[tuple[jax.Array, jax.Array]]
"""Weights [in, out] and biases [out] of each layer; of several players, with a leading axis."""

Pytree = TypeVar("Pytree")


class NamedRecord(Protocol):
    """A named tuple of arrays, such as a train state."""

    def _asdict(self) -> dict[str, Any]: ...


Record = TypeVar("Record", bound=NamedRecord)


class PredictiveNets(NamedTuple):
    """A pair of networks evaluated as one: relu(cumulative(x)) + instantaneous(x)."""

    cumulative: Net
    instantaneous: Net


def num_outputs(net: Net | PredictiveNets) -> int:
    """Return the width of the last layer, of one network or of stacked ones."""
    last = net.instantaneous if isinstance(net, PredictiveNets) else net
    return int(last[-1][1].shape[-1])


def new_net(rng: np.random.Generator, sizes: tuple[int, ...], zero_head: bool = False) -> Net:
    """Return a network with random weights and layers of these sizes, input first, output last.

    Weights are Xavier-normal, biases uniform within 1/sqrt(inputs). With `zero_head` the last layer
    is zero, and so are all outputs. NumPy draws the weights: JAX would compile a program for every
    shape.
    """
    check_network_memory(1, sizes)
    net: Net = []
    for inputs, outputs in pairwise(sizes):
        weights = rng.normal(0.0, (2.0 / (inputs + outputs)) ** 0.5, (inputs, outputs))
        biases = rng.uniform(-(inputs**-0.5), inputs**-0.5, outputs)
        net.append((host_array(weights.astype(np.float32)), host_array(biases.astype(np.float32))))
    return [*net[:-1], (0.0 * net[-1][0], 0.0 * net[-1][1])] if zero_head else net


def check_network_memory(count: int, sizes: tuple[int, ...]) -> None:
    """Raise ConfigError if networks do not fit into memory, before any is made.

    Args:
        count: number of networks.
        sizes: sizes of their layers, input first, output last.
    """
    num_weights = count * sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))
    needed, free = BYTES_PER_TRAINED_WEIGHT * num_weights, available_memory()
    if needed > free:
        hidden = " x ".join(f"{size:,}" for size in sizes[1:-1])
        raise ConfigError(
            f"{count} network{'s' * (count > 1)} with hidden layers of {hidden} units have "
            f"{format_count(num_weights)} weights and need {format_gib(needed)} for training, more "
            f"than the {format_gib(free)} free: choose smaller hidden sizes"
        )


def new_nets(
    rng: np.random.Generator, count: int, sizes: tuple[int, ...], zero_head: bool = False
) -> Net:
    """Return `count` networks stacked into one: every array has a leading axis."""
    check_network_memory(count, sizes)
    return stack_players([new_net(rng, sizes, zero_head) for _ in range(count)])


def reinitialise_net(net: Net, key: jax.Array) -> Net:
    """Return a new random network of the same sizes, drawn as in `new_net`, with a zero head.

    One draw serves all layers: a program with one draw per layer takes longer to compile than to
    run.
    """
    hidden, head = net[:-1], net[-1]
    normal_key, uniform_key = jax.random.split(key)
    normal = jax.random.normal(normal_key, (sum(weights.size for weights, _ in hidden),))
    num_biases = sum(biases.size for _, biases in hidden)
    symmetric = jax.random.uniform(uniform_key, (num_biases,), minval=-1.0, maxval=1.0)
    layers: Net = []
    first_weight, first_bias = 0, 0
    for weights, biases in hidden:
        deviation, limit = (2.0 / sum(weights.shape)) ** 0.5, weights.shape[0] ** -0.5
        drawn = normal[first_weight : first_weight + weights.size].reshape(weights.shape)
        drawn_biases = symmetric[first_bias : first_bias + biases.size]
        layers.append((deviation * drawn, limit * drawn_biases))
        first_weight, first_bias = first_weight + weights.size, first_bias + biases.size
    return [*layers, jax.tree.map(jnp.zeros_like, head)]


@overload
def select_player(stacked_params: Record, player: int | jax.Array) -> Record: ...
@overload
def select_player(stacked_params: Net | tuple[Net, ...], player: int | jax.Array) -> Net: ...
def select_player(stacked_params: Any, player: int | jax.Array) -> Any:
    """Return one player's part of a tuple, or of a pytree with a leading axis of players."""
    if type(stacked_params) is tuple:
        return stacked_params[player]
    select = partial(jax.lax.dynamic_index_in_dim, index=player, keepdims=False)
    return jax.tree.map(lambda stacked: select(stacked), stacked_params)


def replace_player(
    stacked_params: Pytree, player: int | jax.Array, player_params: Pytree
) -> Pytree:
    """Return a pytree with a leading axis of players in which one player's part is replaced."""
    update = partial(jax.lax.dynamic_update_index_in_dim, index=player, axis=0)
    replaced = jax.tree.map(
        lambda stacked, part: update(stacked, part), stacked_params, player_params
    )
    return cast(Pytree, replaced)


def stack_players(parts: Sequence[Pytree]) -> Pytree:
    """Return the players' parts as one pytree, whose arrays have a leading axis of players."""

    def stack(*arrays: Any) -> Any:
        return np.stack(arrays) if isinstance(arrays[0], np.ndarray) else jnp.stack(arrays)

    return cast(Pytree, jax.tree.map(stack, *parts))


def polyak_update(old: Pytree, new: Pytree, step_size: float | jax.Array) -> Pytree:
    """Return weights moved from old towards new by this share of the distance."""
    moved = jax.tree.map(lambda before, after: before + step_size * (after - before), old, new)
    return cast(Pytree, moved)


def infoset_outputs(graph: Graph, nets: Net, players: Players) -> jax.Array:
    """Return the outputs [I, A] of some players' networks at their own infosets; zero elsewhere.

    Args:
        nets: stacked in the order of `players`.
    """
    parts = []
    for player, first in enumerate(graph.first_infoset[:-1]):
        rows = slice(first, graph.first_infoset[player + 1])
        if player in players:
            net = select_player(nets, players.index(player))
            parts.append(apply_net(net, graph.observation[graph.own_observation_row[rows]]))
        else:
            parts.append(jnp.zeros((rows.stop - rows.start, num_outputs(nets))))
    return jnp.concatenate(parts)


def apply_net(net: Net | PredictiveNets, x: jax.Array) -> jax.Array:
    """Return outputs [B, out] for inputs [B, in]: ReLU layers with skip connections, then linear.

    A skip connection adds the layer's input, cut or padded with zeros to the layer's width.
    """
    if isinstance(net, PredictiveNets):
        return jax.nn.relu(apply_net(net.cumulative, x)) + apply_net(net.instantaneous, x)
    for weights, biases in net[:-1]:
        x = jax.nn.relu(affine(x, weights, biases)) + resize_last_axis(x, weights.shape[-1])
    return affine(x, *net[-1])


def apply_net_to_sums(
    net: Net | PredictiveNets, rows: jax.Array, offsets: jax.Array, head: Callable[..., jax.Array]
) -> jax.Array:
    """Return head(k, outputs [B, out]) of all inputs `rows[b] + offsets[k]`, as [K, B, ...].

    The first layer is linear, so it is applied to rows [B, in] and offsets [K, in] apart.

    Args:
        net: the network.
        rows: first summands [B, in].
        offsets: second summands [K, in].
        head: called with k and the outputs.
    """
    if isinstance(net, PredictiveNets):
        parts = [_sum_first_layers(part, rows, offsets) for part in net]

        def evaluate(k: jax.Array) -> jax.Array:
            cumulative, instantaneous = (
                _apply_later_layers(part, layer(k)) for part, layer in zip(net, parts, strict=True)
            )
            return head(k, jax.nn.relu(cumulative) + instantaneous)
    else:
        layer = _sum_first_layers(net, rows, offsets)

        def evaluate(k: jax.Array) -> jax.Array:
            return head(k, _apply_later_layers(net, layer(k)))

    outputs: jax.Array = jax.lax.map(evaluate, jnp.arange(len(offsets)))
    return outputs


def _sum_first_layers(
    net: Net, rows: jax.Array, offsets: jax.Array
) -> Callable[[jax.Array], jax.Array]:
    """Return the function from k to the first hidden layer [B, width] of `rows + offsets[k]`."""
    weights, biases = net[0]
    width = weights.shape[-1]
    row_part, row_skip = rows @ weights + biases, resize_last_axis(rows, width)
    offset_part, offset_skip = offsets @ weights, resize_last_axis(offsets, width)
    return lambda k: jax.nn.relu(row_part + offset_part[k]) + (row_skip + offset_skip[k])


def _apply_later_layers(net: Net, x: jax.Array) -> jax.Array:
    """Return the outputs of a network, given its first hidden layer."""
    for weights, biases in net[1:-1]:
        x = jax.nn.relu(affine(x, weights, biases)) + resize_last_axis(x, weights.shape[-1])
    return affine(x, *net[-1])


@jax.custom_vjp
def affine(x: jax.Array, weights: jax.Array, biases: jax.Array) -> jax.Array:
    """Return x @ weights + biases, whose gradient for few rows is a sum of outer products.

    The compiler fuses such a sum with the operations after it, which halves the time of a step on
    Kuhn poker. For many rows the gradient of the biases is a matrix product too: summing columns
    takes two programs for each layer.
    """
    return x @ weights + biases


def _affine_forward(
    x: jax.Array, weights: jax.Array, biases: jax.Array
) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
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
    """Return vectors [..., X] cut or padded with zeros to a width."""
    part = x[..., :width]
    return jnp.pad(part, [(0, 0)] * (x.ndim - 1) + [(0, width - part.shape[-1])])


def softmax(logits: jax.Array, legal: jax.Array) -> jax.Array:
    """Return the softmax over legal actions; zero for the others."""
    return jax.nn.softmax(jnp.where(legal, logits, -jnp.inf), axis=-1)


def regret_matching(regret: jax.Array, legal: jax.Array) -> jax.Array:
    """Return probabilities in proportion to positive regrets.

    If no regret is positive, the largest has probability 1, shared if several are equal: a network
    whose outputs are all zero plays uniformly.
    """
    positive = jnp.where(legal, jnp.maximum(regret, 0.0), 0.0)
    total = positive.sum(-1, keepdims=True)
    masked = jnp.where(legal, regret, -jnp.inf)
    best = (masked == masked.max(-1, keepdims=True)) & legal
    fallback = best / best.sum(-1, keepdims=True)
    return jnp.where(total > 0.0, positive / jnp.where(total > 0.0, total, 1.0), fallback)


def greedy(values: jax.Array, legal: jax.Array) -> jax.Array:
    """Return probability 1 for the legal action with the largest value, the first of equals."""
    return jax.nn.one_hot(jnp.where(legal, values, -jnp.inf).argmax(-1), legal.shape[-1])


def uniform(legal: jax.Array) -> jax.Array:
    """Return equal probabilities for the legal actions."""
    return legal / legal.sum(-1, keepdims=True)


def centre_over_legal(logits: jax.Array, legal: jax.Array) -> jax.Array:
    """Return logits minus their mean over the legal actions; zero for the others."""
    mean = jnp.where(legal, logits, 0.0).sum(-1, keepdims=True) / legal.sum(-1, keepdims=True)
    return jnp.where(legal, logits - mean, 0.0)


def safe_log(policy: jax.Array) -> jax.Array:
    """Return logarithms of probabilities that stay finite, as does their gradient."""
    return jnp.log(jnp.maximum(policy, MIN_PROBABILITY))


def entropy(policy: jax.Array) -> jax.Array:
    """Return the entropy of each row of probabilities."""
    return -(policy * safe_log(policy)).sum(-1)
