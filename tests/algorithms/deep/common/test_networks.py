"""Networks, and policies from their outputs."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

from counterplay.algorithms.deep.common.networks import (  # noqa: E402
    apply_net,
    new_net,
    new_nets,
    regret_matching,
    select_player,
)


def test_networks_skip_and_pad():
    net = new_net(np.random.default_rng(0), (3, 5, 2, 4))
    x = np.array([[1.0, -2.0, 0.5], [0.0, 1.0, 1.0]], np.float32)
    (w1, b1), (w2, b2), (w3, b3) = [(np.asarray(w), np.asarray(b)) for w, b in net]
    h = np.maximum(x @ w1 + b1, 0.0) + np.pad(x, ((0, 0), (0, 2)))
    h = np.maximum(h @ w2 + b2, 0.0) + h[:, :2]
    assert np.asarray(apply_net(net, x)) == approx(h @ w3 + b3, abs=1e-5)


@pytest.mark.parametrize("rows", [3, 40])
def test_gradient_of_few_and_many_rows(rows):
    """The sum of outer products and the matrix product, against JAX's own derivative."""
    rng = np.random.default_rng(rows)
    net, x = new_net(rng, (4, 6, 3)), rng.normal(size=(rows, 4)).astype(np.float32)

    def plain(net):
        (w1, b1), (w2, b2) = net
        h = jax.nn.relu(x @ w1 + b1) + jnp.pad(x, ((0, 0), (0, 2)))
        return ((h @ w2 + b2) ** 2).sum()

    gradient = jax.grad(lambda net: (apply_net(net, x) ** 2).sum())(net)
    pairs = zip(jax.tree.leaves(gradient), jax.tree.leaves(jax.grad(plain)(net)), strict=True)
    for array, expected in pairs:
        assert np.asarray(array) == approx(np.asarray(expected), rel=1e-4, abs=1e-4)


def test_a_network_with_a_zero_head_plays_uniformly():
    nets = new_nets(np.random.default_rng(0), 2, (4, 6, 3), zero_head=True)
    outputs = apply_net(select_player(nets, 1), np.ones((2, 4), np.float32))
    legal = np.array([[True, True, True], [True, False, True]])
    policy = np.asarray(regret_matching(outputs, legal))
    assert policy == approx(np.array([[1 / 3, 1 / 3, 1 / 3], [0.5, 0.0, 0.5]]))


def test_regret_matching_falls_back_to_the_largest():
    regret = np.array([[2.0, -1.0, 1.0], [-3.0, -1.0, -2.0], [-1.0, 5.0, -1.0]])
    legal = np.array([[True, True, True], [True, True, True], [True, False, True]])
    policy = np.asarray(regret_matching(regret, legal))
    assert policy == approx(np.array([[2 / 3, 0, 1 / 3], [0, 1, 0], [0.5, 0, 0.5]]))
