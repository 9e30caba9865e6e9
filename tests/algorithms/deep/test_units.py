"""Units: powers of two as factors, and constants, change no bit of the policies of networks."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from pytest import approx

jax = pytest.importorskip("jax")

import counterplay as cp  # noqa: E402
from counterplay.algorithms.deep.common.utility_scale import (  # noqa: E402
    estimate_utility_scale,
    tree_utility_scale,
)
from counterplay.arenas.tree.utility_scale import uniform_reach  # noqa: E402
from counterplay.registry import ALGORITHMS, load_algorithm  # noqa: E402
from tests.algorithms import contract  # noqa: E402
from tests.changed_games import Changed  # noqa: E402
from tests.conftest import game_tree  # noqa: E402

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
DEEP = sorted(name for name in ALGORITHMS if contract.is_deep(name))
DEEP_ON_RULES = [name for name in DEEP if "rules" in contract.tiny(name).runs_on]


@cache
def kuhn_in_units(factor, constant=0.0):
    """Return Kuhn poker with all utilities multiplied by a factor, plus a constant."""
    return Changed(cp.games.KuhnPoker(), (factor, factor), (constant, constant))


def policies_after_iterations(name, arena):
    if name in SMALL_SETTINGS:
        algorithm = load_algorithm(name, **SMALL_SETTINGS[name])
    else:
        algorithm = contract.tiny(name)
    memory = algorithm.step(arena, algorithm.init(arena, 3), NUM_ITERATIONS)
    return algorithm.policies(arena, memory)


EXACT_CHANGES = [(2.0**-10, 0.0), (2.0**10, 0.0), (1.0, 10.0)]  # factor and constant, no rounding
ROUNDED_CHANGES = [(0.001, 0.0), (1000.0, 0.0), (1.0, 0.1)]


@pytest.mark.slow
@pytest.mark.parametrize("name", contract.mark_large(DEEP))
def test_units_and_constants_change_no_bit(name):
    """Of the policies of any method; other numbers change rounding only."""
    plain = cp.build_tree(kuhn_in_units(1.0))
    expected = policies_after_iterations(name, plain)
    for change in EXACT_CHANGES:
        policies = policies_after_iterations(name, cp.build_tree(kuhn_in_units(*change)))
        for label, policy in policies.items():
            assert np.array_equal(policy.probabilities, expected[label].probabilities), label
    for change in ROUNDED_CHANGES:
        policies = policies_after_iterations(name, cp.build_tree(kuhn_in_units(*change)))
        for label, policy in policies.items():
            assert policy.probabilities == approx(expected[label].probabilities, abs=1e-3)
    start = cp.uniform_policy(plain).probabilities
    assert any(not np.allclose(policy.probabilities, start) for policy in expected.values())
    jax.clear_caches()


@pytest.mark.slow
@pytest.mark.parametrize("name", contract.mark_large(DEEP_ON_RULES))
def test_units_and_constants_change_no_bit_on_rules(name):
    tree = cp.build_tree(kuhn_in_units(1.0))
    expected = policies_after_iterations(name, cp.RulesArena(kuhn_in_units(1.0)))
    for change in EXACT_CHANGES:
        policies = policies_after_iterations(name, cp.RulesArena(kuhn_in_units(*change)))
        for label, policy in policies.items():
            probabilities = policy.tabulate(tree).probabilities
            assert np.array_equal(probabilities, expected[label].tabulate(tree).probabilities)
    jax.clear_caches()


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
