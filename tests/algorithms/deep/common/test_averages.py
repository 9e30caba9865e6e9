"""Averages: the gradient of the average network against automatic differentiation."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax")
import jax
import jax.numpy as jnp

import counterplay as cp
from counterplay.algorithms.deep.common.averages import cross_entropy_gradient
from counterplay.algorithms.deep.common.graph import graph_from_tree
from counterplay.algorithms.deep.common.networks import apply_net, new_net, softmax


@pytest.mark.parametrize("batch_size", [10, 100])
def test_the_gradient_is_that_of_the_mean_cross_entropy(batch_size):
    """Few decisions are evaluated one by one, many once per distinct infoset."""
    graph = graph_from_tree(cp.build_tree("kuhn_poker"))
    rng = np.random.default_rng(batch_size)
    net = new_net(rng, (graph.num_features, 4, graph.max_actions))
    infoset = jnp.array(rng.integers(0, graph.num_infosets, batch_size))
    legal = graph.legal[infoset]
    policy = jnp.array(rng.dirichlet(np.ones(graph.max_actions), batch_size), jnp.float32)
    weight = jnp.array(rng.random(batch_size) * (rng.random(batch_size) < 0.5), jnp.float32)

    def loss(net):
        logits = apply_net(net, graph.observation[graph.own_observation_row[infoset]])
        return -(weight[:, None] * policy * jnp.log(softmax(logits, legal))).sum() / weight.sum()

    expected = jax.grad(loss)(net)
    gradient = cross_entropy_gradient(net, graph, infoset, policy, weight)
    for actual, wanted in zip(jax.tree.leaves(gradient), jax.tree.leaves(expected), strict=True):
        assert np.abs(wanted).max() > 1e-4
        np.testing.assert_allclose(actual, wanted, atol=1e-6)


def test_no_decision_of_a_player_gives_no_gradient():
    graph = graph_from_tree(cp.build_tree("kuhn_poker"))
    net = new_net(np.random.default_rng(0), (graph.num_features, 4, graph.max_actions))
    infoset = jnp.zeros(10, jnp.int32)
    policy = jnp.full((10, graph.max_actions), 0.5)
    gradient = cross_entropy_gradient(net, graph, infoset, policy, jnp.zeros(10))
    assert all(not np.asarray(leaf).any() for leaf in jax.tree.leaves(gradient))
