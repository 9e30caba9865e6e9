"""Networks asked once per view: the same outputs, the same gradients."""

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
def evaluate_distinct_rows(net, observation, view, live, push):
    met = find_unique_rows(view, live)
    outputs = outputs_at_decisions(net, observation, met)
    by_blocks = gradient_from_cotangent(net, observation, met, push)
    by_error = error_gradient(net, observation, met, lambda outputs: push + 0.0 * outputs)
    return met.num_unique, outputs, by_blocks, by_error


@jax.jit
def evaluate_all_rows(net, observation, view, push):
    outputs, back = jax.vjp(lambda n: apply_net(n, observation[view.reshape(-1)]), net)
    return outputs.reshape(push.shape), back(push.reshape(outputs.shape))[0]


@pytest.mark.parametrize("size", [(2, 8), (4, 16), (4, 32)])
@pytest.mark.parametrize("different", [1, 12, 17, 24, 40, 64])
def test_asking_once_per_infoset_changes_nothing(size, different):
    """Outputs and gradients are those of asking at every decision, dead ones aside."""
    rng = np.random.default_rng(different)
    net = new_net(rng, (5, 7, 6, 3))
    observation = rng.normal(size=(100, 5)).astype(np.float32)
    pool = rng.choice(100, different, replace=False)
    view = rng.permutation(np.resize(pool, np.prod(size))).reshape(size).astype(np.int32)
    live = rng.random(size) < 0.8
    push = (rng.normal(size=(*size, 3)) * live[..., None]).astype(np.float32)
    count, outputs, *gradients = evaluate_distinct_rows(net, observation, view, live, push)
    plain_outputs, plain_gradient = evaluate_all_rows(net, observation, view, push)
    if view.size > 40:
        assert int(count) == np.unique(view[live]).size
    assert np.asarray(outputs)[live] == approx(np.asarray(plain_outputs)[live], abs=1e-5)
    for gradient in gradients:
        pairs = zip(jax.tree.leaves(gradient), jax.tree.leaves(plain_gradient), strict=True)
        for mine, other in pairs:
            assert np.asarray(mine) == approx(np.asarray(other), abs=1e-4)
