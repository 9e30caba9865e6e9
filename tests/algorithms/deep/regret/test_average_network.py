"""Deep CFR's average network as in the paper's listing: squared error, reservoir, one fit."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

jax = pytest.importorskip("jax")

import counterplay as cp  # noqa: E402
from counterplay.algorithms.deep.regret.average_fit import average_loss  # noqa: E402
from counterplay.algorithms.deep.regret.tree_sampler import TreeSampler  # noqa: E402
from tests.conftest import game_tree  # noqa: E402

SMALL_SETTINGS = {"hidden_sizes": (8,), "average_hidden_sizes": (16,), "num_traversals": 20}
LISTING = {
    "warm_start": False,
    "reservoir_size": 2_000,
    "average_reservoir_size": 100_000,
    "average_loss": "squared_error",
    "average_at_end": True,
    "average_train_steps": 1_500,
    "average_learning_rate": 1e-2,
    "batch_size": 256,
    "train_steps": 20,
}


def test_losses_equal_plain_sums():
    rng = np.random.default_rng(0)
    logits, legal = rng.normal(size=(7, 3)), rng.random((7, 3)) < 0.7
    legal[:, 0] = True
    policy = rng.random((7, 3)) * legal
    policy /= policy.sum(axis=1, keepdims=True)
    weight = rng.random(7)
    squared, cross = 0.0, 0.0
    for row in range(7):
        odds = np.exp(logits[row]) * legal[row]
        odds /= odds.sum()
        for action in np.flatnonzero(legal[row]):
            squared += weight[row] * (policy[row, action] - odds[action]) ** 2 / weight.sum()
            cross -= weight[row] * policy[row, action] * np.log(odds[action]) / weight.sum()
    arguments = logits.astype("f4"), legal, policy.astype("f4"), weight.astype("f4")
    assert float(average_loss("squared_error", *arguments)) == approx(squared, rel=1e-4)
    assert float(average_loss("cross_entropy", *arguments)) == approx(cross, rel=1e-4)


@pytest.mark.parametrize("spec", ["kuhn_poker", "kuhn_poker(players=3)"])
def test_reservoirs_hold_every_policy_that_the_sums_hold(spec):
    """As long as nothing is forgotten, the weighted sums of both are equal."""
    tree = game_tree(spec)
    algorithm = cp.algorithms.DeepCFR(average_reservoir_size=50_000, **SMALL_SETTINGS)
    memory = algorithm.step(tree, algorithm.init(tree), 4)
    arrays = memory.state.sampler
    total = np.zeros((tree.num_infosets, tree.max_actions))
    for player, reservoir in enumerate(arrays.policy_samples):
        count = int(reservoir.num_seen[0])
        assert count > 20 and (tree.infoset_player[reservoir.infoset[:count]] == player).all()
        rows = reservoir.weight[:count, None] * reservoir.policy[:count]
        np.add.at(total, reservoir.infoset[:count], rows)
        assert set(reservoir.weight[:count]) == {1.0, 2.0, 3.0, 4.0}
    is_legal = np.arange(tree.max_actions) < tree.num_actions[:, None]
    assert total[is_legal] == approx(arrays.policy_sum, rel=1e-4, abs=1e-3)


def test_a_full_reservoir_forgets_uniformly(kuhn):
    algorithm = cp.algorithms.DeepCFR(average_reservoir_size=300, **SMALL_SETTINGS)
    memory = algorithm.step(kuhn, algorithm.init(kuhn), 30)
    for reservoir in memory.state.sampler.policy_samples:
        assert reservoir.num_seen[0] > 600
        old = (reservoir.weight <= 15).mean()  # of iterations with as many visits as the others
        assert 0.35 < old < 0.65


@pytest.mark.parametrize("arena_kind", ["tree", "rules"])
def test_the_network_is_trained_once_at_the_end(arena_kind, kuhn):
    """No step trains it; `policies` fits it from scratch, and always to the same weights."""
    arena = kuhn if arena_kind == "tree" else cp.RulesArena(cp.games.KuhnPoker())
    algorithm = cp.algorithms.DeepCFR(**SMALL_SETTINGS | LISTING | {"average_train_steps": 30})
    memory = algorithm.init(arena)
    start = jax.tree.map(np.array, memory.state.averages.network.params)
    memory = algorithm.step(arena, memory, 3)
    stored = memory.state.averages.network.params
    assert all(jax.tree.leaves(jax.tree.map(np.array_equal, stored, start)))
    networks = [algorithm.policies(arena, memory)["network"] for _ in range(2)]
    if arena_kind == "tree":
        first, second = (network.probabilities for network in networks)
        assert np.array_equal(first, second)
        assert np.abs(first - 0.5).max() > 0.01


def test_the_fit_of_the_listing_is_the_average_of_its_policies(kuhn):
    """With enough steps, the network plays the weighted mean of the stored policies."""
    algorithm = cp.algorithms.DeepCFR(**SMALL_SETTINGS | LISTING)
    memory = algorithm.step(kuhn, algorithm.init(kuhn), 15)
    policies = algorithm.policies(kuhn, memory)
    sampler = TreeSampler(algorithm, kuhn, memory.state.sampler)
    sums = sampler.arrays.policy_sum.reshape(-1, 2)
    is_common = sums.sum(axis=1) > 0.02 * sums.sum()
    mean = sums / sums.sum(axis=1, keepdims=True).clip(1e-30)
    network = policies["network"].probabilities.reshape(-1, 2)
    assert is_common.sum() >= 8
    assert np.abs(network - mean)[is_common].max() < 0.08


def test_unknown_losses_are_refused():
    with pytest.raises(cp.ConfigError, match="average_loss is hinge, must be cross_entropy or"):
        cp.load_algorithm("deep_cfr(average_loss='hinge')")
