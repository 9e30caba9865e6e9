"""Small networks as plain lists of arrays."""

from __future__ import annotations

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np

FEW_ROWS = 16  # up to which a sum of outer products is faster than a matrix product

Net = list[tuple[jax.Array, jax.Array]]  # (weights [in, out], biases [out]) of each layer
# each layer's inputs, and which of its units are on
Kept = list[tuple[jax.Array, jax.Array | None]]


def new_net(rng: np.random.Generator, sizes: tuple[int, ...]) -> Net:
    """A network of layers of the given sizes, input first and output last.

    Weights are Xavier-normal, biases uniform within 1/sqrt(inputs). NumPy draws them: JAX would
    compile a program for every shape.
    """
    net = []
    for inputs, outputs in pairwise(sizes):
        weights = rng.normal(0.0, (2.0 / (inputs + outputs)) ** 0.5, (inputs, outputs))
        biases = rng.uniform(-(inputs**-0.5), inputs**-0.5, outputs)
        net.append((jnp.asarray(weights, jnp.float32), jnp.asarray(biases, jnp.float32)))
    return net


def apply_net(net: Net, x: jax.Array) -> jax.Array:
    """Outputs [B, out] for inputs [B, in]."""
    return run_net(net, x)[0]


def run_net(net: Net, x: jax.Array) -> tuple[jax.Array, Kept]:
    """Outputs [B, out] for inputs [B, in]: ReLU layers with skip connections, then a linear one.

    A skip connection adds the layer's input, cut or padded with zeros to the layer's width.
    """
    kept: Kept = []
    for weights, biases in net[:-1]:
        z = x @ weights + biases
        kept.append((x, z > 0.0))
        x = jax.nn.relu(z) + fitted(x, z.shape[-1])
    weights, biases = net[-1]
    return x @ weights + biases, [*kept, (x, None)]


def net_gradient(net: Net, kept: Kept, slope: jax.Array) -> Net:
    """The gradient of outputs times `slope` [B, out], summed, from what `run_net` kept."""
    gradient: Net = []
    for (weights, _), (x, on) in zip(net[::-1], kept[::-1], strict=True):
        through = slope if on is None else jnp.where(on, slope, 0.0)
        gradient.insert(0, (summed_products(x, through), through.sum(axis=0)))
        back = through @ weights.T
        slope = back if on is None else back + fitted(slope, x.shape[-1])
    return gradient


def fitted(x: jax.Array, width: int) -> jax.Array:
    """Vectors [B, ...] cut or padded with zeros to a width."""
    kept = x[:, :width]
    return jnp.pad(kept, ((0, 0), (0, width - kept.shape[1])))


def summed_products(x: jax.Array, y: jax.Array) -> jax.Array:
    """x.T @ y."""
    if len(x) > FEW_ROWS:
        return x.T @ y
    return (x[:, :, None] * y[:, None, :]).sum(axis=0)  # goes into whatever is done with it
