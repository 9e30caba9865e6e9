"""Units: multiplying all utilities by a power of two changes no bit of a policy."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from pytest import approx

pytest.importorskip("jax")

import counterplay as cp
from counterplay.algorithms.deep.common.utility_scale import (
    estimate_utility_scale,
    tree_utility_scale,
    uniform_reach,
)
from counterplay.registry import ALGORITHMS, load_algorithm
from tests.changed_games import Changed
from tests.conftest import game_tree

SMALL_NETWORKS = {"hidden_sizes": (8,), "num_episodes": 32}
SMALL_RING = SMALL_NETWORKS | {"replay_buffer_size": 500, "reservoir_size": 500, "batch_size": 64}
SMALL_SETTINGS = {
    **dict.fromkeys(("ach", "deep_mmd", "neurd", "ppo", "qpg"), SMALL_NETWORKS),
    **dict.fromkeys(("reinforce", "rmpg", "rpg"), SMALL_NETWORKS),
    "r_nad": SMALL_NETWORKS | {"magnet_update_every": 2},
    "nfsp": SMALL_RING,
    "nfsp_ppo": SMALL_NETWORKS | {"reservoir_size": 500},
    "nfsp_sac": SMALL_RING,
    "deep_hedge": {"hidden_sizes": (8,), "baseline_hidden_sizes": (8,)},
    "league": SMALL_NETWORKS | {"snapshot_every": 2, "pool_size": 4},
}
NUM_ITERATIONS = 5


@cache
def kuhn_in_units(factor):
    """Return Kuhn poker with all utilities multiplied by a factor."""
    return Changed(cp.games.KuhnPoker(), (factor, factor))


def policies_after_iterations(name, arena):
    algorithm = load_algorithm(name, **SMALL_SETTINGS[name])
    memory = algorithm.step(arena, algorithm.init(arena, 3), NUM_ITERATIONS)
    return algorithm.policies(arena, memory)


@pytest.mark.parametrize("name", SMALL_SETTINGS)
def test_powers_of_two_change_no_bit(name):
    assert name in ALGORITHMS
    expected = policies_after_iterations(name, cp.build_tree(kuhn_in_units(1.0)))
    for factor in (2.0**-10, 2.0**7):
        policies = policies_after_iterations(name, cp.build_tree(kuhn_in_units(factor)))
        for label, policy in policies.items():
            assert np.array_equal(policy.probabilities, expected[label].probabilities), label
    start = cp.uniform_policy(cp.build_tree(kuhn_in_units(1.0))).probabilities
    assert any(not np.allclose(policy.probabilities, start) for policy in expected.values())


@pytest.mark.parametrize("name", ["deep_hedge", "nfsp", "ppo"])
def test_powers_of_two_change_no_bit_on_rules(name):
    tree = cp.build_tree(kuhn_in_units(1.0))
    expected = policies_after_iterations(name, cp.RulesArena(kuhn_in_units(1.0)))
    for factor in (2.0**-10, 2.0**7):
        policies = policies_after_iterations(name, cp.RulesArena(kuhn_in_units(factor)))
        for label, policy in policies.items():
            probabilities = policy.tabulate(tree).probabilities
            assert np.array_equal(probabilities, expected[label].tabulate(tree).probabilities)


@pytest.mark.parametrize("name", ["deep_hedge", "ppo"])
def test_other_factors_change_rounding_only(name):
    expected = policies_after_iterations(name, cp.build_tree(kuhn_in_units(1.0)))
    policies = policies_after_iterations(name, cp.build_tree(kuhn_in_units(300.0)))
    current = policies["current"].probabilities
    assert current == approx(expected["current"].probabilities, abs=1e-3)


def test_scale_of_kuhn_poker_is_that_of_uniform_play(kuhn):
    """Uniform play has stakes of 2 with probability 3/8, else 1, and the value 1/8."""
    variance = 4.0 * 3 / 8 + 5 / 8 - (1 / 8) ** 2
    assert tree_utility_scale(kuhn) == approx(variance**0.5)


@pytest.mark.parametrize("spec", ["kuhn_poker(players=3)", "goofspiel(num_cards=3)"])
def test_reach_of_uniform_play_gives_its_values(spec):
    tree = game_tree(spec)
    probability = uniform_reach(tree)[tree.terminals]
    assert probability.sum() == approx(1.0)
    values = cp.expected_values(tree, cp.uniform_policy(tree))
    assert probability @ tree.utility == approx(values, abs=1e-12)


def test_scale_follows_factors_and_ignores_constants(kuhn):
    changed = cp.build_tree(Changed(cp.games.KuhnPoker(), (3.0, 3.0), (10.0, 10.0)))
    assert tree_utility_scale(changed) == approx(3.0 * tree_utility_scale(kuhn))
    utility = np.random.default_rng(0).normal(size=(50, 2))
    assert estimate_utility_scale(4.0 * utility) == 4.0 * estimate_utility_scale(utility)
    assert estimate_utility_scale(np.full((5, 2), 0.1)) == 1.0


def test_games_without_stakes_are_refused():
    tree = cp.build_tree(Changed(cp.games.KuhnPoker(), (0.0, 0.0), (0.1, 0.1)))
    with pytest.raises(cp.ConfigError, match="nothing to learn: each player's utility is constant"):
        cp.algorithms.PPO().init(tree)
