"""Pools, payoffs, mixtures, meta-solvers, oracles: each against an independent computation."""

from __future__ import annotations

from copy import deepcopy
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

import counterplay as cp
from counterplay.algorithms.population import meta_solvers, oracles, population
from counterplay.algorithms.population.least_exploitable import (
    decompose_plan,
    solve_least_exploitable_mixture,
)
from counterplay.algorithms.population.meta_solvers import INDEPENDENT_SOLVERS
from counterplay.core.state_io import flatten_memory, restore_memory
from counterplay.registry import load_algorithm
from tests.algorithms.test_algorithms import memories_equal
from tests.changed_games import Changed
from tests.conftest import game_tree, main_policy
from tests.random_games import RandomGame, random_games

METHODS = [
    "double_oracle",
    "psro",
    "rectified_psro",
    "p2sro(step_size=0.5)",
    "anytime_psro",
    "sp_psro",
]


def small(tree):
    return all(n <= 60 for n in cp.matrix.count_pure_policies(tree))


def random_pools(tree, sizes, seed=0):
    """Pools of random policies."""
    memory = population.new_population(tree, seed, population.Population)
    found = []
    for player, size in enumerate(sizes):
        plans = [
            population.reach_from_probabilities(
                tree, cp.random_policy(tree, 10 * player + k).probabilities
            )
            for k in range(size)
        ]
        found.append(np.array(plans)[:, population.player_sequences(tree, player)])
    population.add_plans(tree, memory, found)
    return memory


@given(random_games(), st.integers(1, 3), st.integers(1, 3))
def test_payoffs_are_expected_values(game, one, two):
    tree = cp.build_tree(game)
    memory = random_pools(tree, [one, two, 2][: tree.num_players])
    for joint in product(*map(range, memory.pool_sizes)):
        plans = [memory.plans[p][k] for p, k in enumerate(joint)]
        wanted = cp.expected_values(tree, population.policy_from_plans(tree, plans))
        assert memory.payoffs[(slice(None), *joint)] == approx(wanted, abs=1e-9)


def test_payoffs_grow_as_if_made_at_once(kuhn):
    memory = random_pools(kuhn, [2, 3])
    whole = random_pools(kuhn, [4, 5])
    new = [plans[before:] for plans, before in zip(whole.plans, (2, 3), strict=True)]
    assert population.add_plans(kuhn, memory, new)
    assert memory.payoffs == approx(whole.payoffs, abs=1e-13)
    assert not population.add_plans(
        kuhn, memory, [plans[:1] for plans in whole.plans]
    )  # duplicates
    assert memory.counts[0].tolist() == [2, 1, 1, 1] and memory.pool_sizes == (4, 5)


@given(random_games(max_players=2, num_players=2))
def test_mixtures_are_worth_the_same_against_every_pure_policy(game):
    tree = cp.build_tree(game)
    if not small(tree):
        return
    memory = random_pools(tree, [3, 3])
    if memory.pool_sizes != (3, 3):
        return  # a player without decisions has one policy
    mixtures = [np.array([0.5, 0.2, 0.3]), np.array([0.1, 0.0, 0.9])]
    policy = population.policy_from_mixtures(tree, memory, mixtures)
    every = cp.matrix.pure_policies(tree)
    for player in range(2):
        for plan in every.plans[1 - player]:
            mine, theirs = (
                population.player_sequences(tree, player),
                population.player_sequences(tree, 1 - player),
            )
            reach = population.reach_from_probabilities(tree, policy.probabilities)
            reach[theirs] = plan[theirs]
            cf_value = np.zeros(reach.size)
            tree.gradient(player, reach, cf_value)
            each = memory.plans[player] @ cf_value[mine] + cf_value[-1]
            assert reach[mine] @ cf_value[mine] + cf_value[-1] == approx(
                mixtures[player] @ each, abs=1e-9
            )


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 5))
def test_nash_mixtures_have_the_value_of_the_matrix(seed, rows, columns):
    matrix = np.random.default_rng(seed).normal(size=(rows, columns))
    memory = fake(np.stack([matrix, -matrix]))
    one, two = meta_solvers.nash(memory)
    assert (one @ matrix).min() == approx((matrix @ two).max(), abs=1e-9)
    value = (
        cp.matrix.nash_equilibria(cp.matrix.NormalForm(matrix), "support_enumeration")
        .equilibria[0]
        .values[0]
    )
    assert one @ matrix @ two == approx(value, abs=1e-9)


def fake(payoffs):
    """A population known by its payoffs alone."""
    shape = payoffs.shape[1:]
    counts = [np.ones(n, np.int64) for n in shape]
    return population.Population(1, 0, [np.zeros((n, 0)) for n in shape], counts, payoffs)


@pytest.mark.parametrize("name", sorted(INDEPENDENT_SOLVERS))
def test_meta_solvers_give_mixtures(name):
    payoffs = np.random.default_rng(1).normal(size=(2, 3, 4))
    payoffs[1] = -payoffs[0]
    for mixture, size in zip(INDEPENDENT_SOLVERS[name](fake(payoffs)), (3, 4), strict=True):
        assert mixture.shape == (size,) and mixture.sum() == approx(1.0) and mixture.min() >= 0.0


def test_learning_meta_solvers_come_near_an_equilibrium():
    matrix = np.array([[0.0, -0.25, 0.5], [0.25, 0.0, -0.05], [-0.5, 0.05, 0.0]])
    memory = fake(np.stack([matrix, -matrix]))
    for name, error in (("regret_matching", 1e-3), ("projected_replicator", 0.05)):
        profile = tuple(INDEPENDENT_SOLVERS[name](memory))
        assert cp.matrix.nash_deviation(cp.matrix.NormalForm(matrix), profile).gain < error


def test_bad_payoffs_are_refused():
    with pytest.raises(cp.ConfigError, match="a pool is empty"):
        meta_solvers.nash(fake(np.zeros((2, 0, 0))))
    with pytest.raises(cp.ConfigError, match=r"player 0 at joint action \(0, 1\) is nan"):
        meta_solvers.nash(fake(np.array([[[0.0, np.nan]], [[0.0, 1.0]]])))
    for payoffs in (np.zeros((3, 1, 1, 1)), np.array([[[1.0, 0.0]], [[1.0, 0.5]]])):
        with pytest.raises(cp.ConfigError, match="nash needs a two-player zero-sum game; take"):
            meta_solvers.nash(fake(payoffs))


@given(random_games(max_players=3))
def test_exact_response_to_a_weighted_pool(game):
    tree = cp.build_tree(game)
    policies = [cp.random_policy(tree, seed) for seed in (1, 2)]
    weighted = [oracles.WeightedPolicy(0.3, policies[0]), oracles.WeightedPolicy(0.7, policies[1])]
    for player in range(tree.num_players):
        found = oracles.ExactResponse().respond(tree, player, weighted)
        mine = population.player_sequences(tree, player)
        total = 0.0
        for weight, policy in weighted:
            both = policy.probabilities.copy()
            both[mine] = found.policy.probabilities[mine]
            total += weight * cp.expected_values(tree, cp.Policy(tree, both))[player]
            alone = oracles.ExactResponse().respond(
                tree, player, [oracles.WeightedPolicy(1.0, policy)]
            )
            assert alone.value == approx(cp.judge(tree, policy).best_values[player], abs=1e-9)
        assert found.value == approx(total, abs=1e-9)


@given(random_games(max_players=2, num_players=2, zero_sum=True))
def test_least_exploitable_mixture(game):
    tree = cp.build_tree(game)
    memory = random_pools(tree, [3, 3])
    for player in range(2):
        found = solve_least_exploitable_mixture(tree, player, memory.plans[player])
        mixtures = [np.ones(n) / n for n in memory.pool_sizes]
        mixtures[player] = found.mixture
        policy = population.policy_from_mixtures(tree, memory, mixtures)
        assert found.value == approx(cp.judge(tree, policy).best_values[1 - player], abs=1e-7)
        plans = [found.opponent, found.opponent]
        plans[player] = found.mixture @ memory.plans[player]
        memory.plans[1 - player][0] = found.opponent  # no policy of the pool does better against it
        assert population.plan_values(tree, memory, player, (0, 0)).max() == approx(
            -found.value, abs=1e-7
        )
        weights, pure = decompose_plan(tree, 1 - player, found.opponent)
        assert weights.sum() == approx(1.0, abs=1e-6)
        assert weights @ pure == approx(found.opponent, abs=1e-6)
        assert set(np.unique(pure)) <= {0.0, 1.0}


def run(algorithm, tree, iterations=60, seed=0):
    memory, found = algorithm.init(tree, seed), []
    while memory.iteration < iterations and not memory.finished:
        memory = algorithm.step(tree, memory)
        found.append(cp.nash_conv(tree, main_policy(algorithm, tree, memory)))
    return np.array(found), memory


@pytest.mark.parametrize("name", ["anytime_psro", "sp_psro"])
def test_anytime_never_rises_and_ends_at_an_equilibrium(name):
    """A thousand random games: see benchmarks/population/exact_responses.py; here some of them."""
    for seed in range(60):
        tree = cp.build_tree(RandomGame(seed=seed, max_depth=4))
        start = population.INITIAL_POLICIES[seed % len(population.INITIAL_POLICIES)]
        found, memory = run(load_algorithm(name, initial_policy=start), tree, 200, seed)
        assert (np.diff(found) <= 1e-8).all() and memory.finished
        assert found[-1] == approx(0.0, abs=1e-7)


@pytest.mark.parametrize("name", ["double_oracle", "psro", "p2sro", "xdo"])
def test_ends_at_an_equilibrium_of_random_games(name):
    for seed in range(40):
        tree = cp.build_tree(RandomGame(seed=seed, max_depth=4))
        found, memory = run(load_algorithm(name), tree, 20 if name == "xdo" else 40)
        assert found[-1] == approx(0.0, abs=1e-7 if name != "xdo" else 2e-3)
        assert memory.finished or name == "xdo"


def test_one_level_of_the_pipeline_is_psro_bit_for_bit(leduc):
    one, many, psro = (
        cp.algorithms.P2SRO(num_active_levels=1),
        cp.algorithms.P2SRO(num_active_levels=3),
        cp.algorithms.PSRO(),
    )
    a, b, c = (method.step(leduc, method.init(leduc), 12) for method in (one, many, psro))
    for pipeline in (a, b):
        assert memories_equal(pipeline.plans, c.plans) and memories_equal(
            pipeline.meta_strategy, c.meta_strategy
        )
        assert memories_equal(pipeline.payoffs, c.payoffs) and memories_equal(
            pipeline.meta_strategy_history, c.meta_strategy_history
        )


def test_more_levels_learn_in_fewer_iterations(kuhn):
    found = {}
    for levels in (1, 4):
        algorithm = cp.algorithms.P2SRO(num_active_levels=levels, step_size=0.3)
        memory = algorithm.step(kuhn, algorithm.init(kuhn), 30)
        found[levels] = cp.nash_conv(kuhn, main_policy(algorithm, kuhn, memory))
    assert found[4] < 0.01 < 0.2 < found[1]


@pytest.mark.parametrize("name", [*METHODS, "alpha_psro", "jpsro", "xdo"])
def test_memory_is_arrays_and_comes_back(kuhn, name):
    algorithm = load_algorithm(name)
    memory = algorithm.step(kuhn, algorithm.init(kuhn), 4)
    leaves = deepcopy(flatten_memory(memory))  # steps may change arrays in place
    back = restore_memory(algorithm.init(kuhn), leaves)
    assert memories_equal(memory, back)
    assert not hasattr(back, "find_mismatch") or not back.find_mismatch(kuhn)
    assert memories_equal(algorithm.step(kuhn, memory, 3), algorithm.step(kuhn, back, 3))


def test_a_memory_of_another_game_is_refused(kuhn):
    other = game_tree("leduc_poker")
    memory = cp.algorithms.PSRO().step(kuhn, cp.algorithms.PSRO().init(kuhn), 3)
    assert memory.find_mismatch(other) == "the plans of player 0 have other sequences"
    memory.payoffs = memory.payoffs[:, :1]
    assert memory.find_mismatch(kuhn) == "the payoffs are those of other pools"
    for name, part in (("p2sro", "active_plans"), ("sp_psro", "opponent_plans")):
        algorithm = load_algorithm(name)
        memory = algorithm.step(kuhn, algorithm.init(kuhn), 3)
        assert not memory.find_mismatch(kuhn)
        setattr(memory, part, [array[..., 1:] for array in getattr(memory, part)])
        assert memory.find_mismatch(kuhn) == "the plans of player 0 have other sequences"
    with pytest.raises(cp.ConfigError, match="the stored population lacks"):
        population.Population.from_arrays({"iteration": 1})


@pytest.mark.parametrize("name", ["double_oracle", "anytime_psro", "sp_psro", "jpsro"])
@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
def test_units_change_no_bit(kuhn, name, unit):
    other = cp.build_tree(Changed(kuhn.game, (unit, unit)))
    algorithm = load_algorithm(name)
    one, two = (algorithm.step(tree, algorithm.init(tree), 12) for tree in (kuhn, other))
    assert memories_equal(one.plans, two.plans) and (one.payoffs * unit == two.payoffs).all()
    assert one.stop_reason == two.stop_reason


def test_what_finds_nothing_new_says_why(kuhn):
    algorithm = cp.algorithms.PSRO(meta_solver="last")
    _, memory = run(algorithm, kuhn)
    assert memory.stop_reason.endswith(
        "every response is in the pools already, though a best response gains 1.50e+00; this is "
        "not a Nash equilibrium, NashConv is 1.50e+00"
    )


STUCK = "every response is in the pools already, though a best response gains"


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("alpha_psro", "no player prefers a policy outside its pool to the ranked joint policies"),
        ("alpha_psro(oracle=best_response)", STUCK),
        ("rectified_psro", STUCK),
    ],
)
def test_an_exploitable_end_states_its_nash_conv(kuhn, spec, reason):
    """The policies are judged by the evaluation of the whole game."""
    found, memory = run(load_algorithm(spec), kuhn)
    assert memory.finished and reason in memory.stop_reason and found[-1] > 0.1
    assert memory.stop_reason.endswith(
        f"; this is not a Nash equilibrium, NashConv is {found[-1]:.2e}"
    )


def test_an_end_at_an_equilibrium_names_no_nash_conv():
    pennies = cp.build_tree(cp.matrix.NormalForm(np.array([[3.0, 0.0], [0.0, 1.0]])).to_game())
    found, memory = run(cp.algorithms.RectifiedPSRO(), pennies)
    assert found[-1] == approx(0.0, abs=1e-9)
    assert memory.stop_reason.endswith(": no player gains by a policy outside its pool")
