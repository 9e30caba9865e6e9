"""Small networks as plain lists of arrays."""

from __future__ import annotations

from itertools import pairwise

import jax
import jax.numpy as jnp

Net = list[tuple[jax.Array, jax.Array]]  # (weights [in, out], biases [out]) of each layer


def new_net(key: jax.Array, sizes: tuple[int, ...]) -> Net:
    """A network of layers of the given sizes, input first and output last.

    Weights are Xavier-normal, biases uniform within 1/sqrt(inputs).
    """
    net = []
    for inputs, outputs in pairwise(sizes):
        key, for_weights, for_biases = jax.random.split(key, 3)
        scale = (2.0 / (inputs + outputs)) ** 0.5
        bound = inputs**-0.5
        net.append(
            (
                scale * jax.random.normal(for_weights, (inputs, outputs)),
                jax.random.uniform(for_biases, (outputs,), minval=-bound, maxval=bound),
            )
        )
    return net


def apply_net(net: Net, x: jax.Array) -> jax.Array:
    """Outputs [B, out] for inputs [B, in]: ReLU layers with skip connections, then a linear one.

    A skip connection adds the layer's input, cut or padded with zeros to the layer's width.
    """
    for weights, biases in net[:-1]:
        y = jax.nn.relu(x @ weights + biases)
        width = min(x.shape[-1], y.shape[-1])
        x = y + jnp.pad(x[..., :width], ((0, 0), (0, y.shape[-1] - width)))
    weights, biases = net[-1]
    return x @ weights + biases
