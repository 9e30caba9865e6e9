"""Evaluation of networks once per distinct row: the same outputs, the same gradients."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

jax = pytest.importorskip("jax")

from counterplay.algorithms.deep.common.dedup import (  # noqa: E402
    error_gradient,
    find_unique_rows,
    gradient_from_cotangent,
    outputs_at_decisions,
)
from counterplay.algorithms.deep.common.networks import apply_net, new_net  # noqa: E402


@jax.jit
def evaluate_unique(net, observation, rows, live, cotangent):
    unique_rows = find_unique_rows(rows, live)
    outputs = outputs_at_decisions(net, observation, unique_rows)
    gradient = gradient_from_cotangent(net, observation, unique_rows, cotangent)
    by_error = error_gradient(
        net, observation, unique_rows, lambda outputs: cotangent + 0.0 * outputs
    )
    return unique_rows.num_unique, outputs, gradient, by_error


@jax.jit
def evaluate_all(net, observation, rows, cotangent):
    outputs, backward = jax.vjp(lambda n: apply_net(n, observation[rows.reshape(-1)]), net)
    return outputs.reshape(cotangent.shape), backward(cotangent.reshape(outputs.shape))[0]


@pytest.mark.parametrize("size", [(2, 8), (4, 16), (4, 32)])
@pytest.mark.parametrize("num_distinct", [1, 12, 17, 24, 40, 64])
def test_deduplication_changes_no_output_and_no_gradient(size, num_distinct):
    """Outputs and gradients equal those of evaluating every live decision."""
    rng = np.random.default_rng(num_distinct)
    net = new_net(rng, (5, 7, 6, 3))
    observation = rng.normal(size=(100, 5)).astype(np.float32)
    pool = rng.choice(100, num_distinct, replace=False)
    rows = rng.permutation(np.resize(pool, np.prod(size))).reshape(size).astype(np.int32)
    live = rng.random(size) < 0.8
    cotangent = (rng.normal(size=(*size, 3)) * live[..., None]).astype(np.float32)
    count, outputs, *gradients = evaluate_unique(net, observation, rows, live, cotangent)
    plain_outputs, plain_gradient = evaluate_all(net, observation, rows, cotangent)
    if rows.size > 40:
        assert int(count) == np.unique(rows[live]).size
    assert np.asarray(outputs)[live] == approx(np.asarray(plain_outputs)[live], abs=1e-5)
    for gradient in gradients:
        pairs = zip(jax.tree.leaves(gradient), jax.tree.leaves(plain_gradient), strict=True)
        for array, expected in pairs:
            assert np.asarray(array) == approx(np.asarray(expected), abs=1e-4)
