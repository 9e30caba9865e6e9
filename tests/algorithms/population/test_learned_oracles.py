"""Learned responses in the loop, and races between mixtures and learners."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.algorithms.population.learned_oracles import (
    learn_least_exploitable_mixture,
    load_oracle,
)
from counterplay.algorithms.population.least_exploitable import solve_least_exploitable_mixture
from counterplay.algorithms.population.oracles import WeightedPolicy
from counterplay.algorithms.population.population import (
    Population,
    add_plans,
    new_population,
    plan_from_policy,
    plan_gradient,
    policy_from_plans,
)
from counterplay.algorithms.population.restricted_arena import RestrictedArena
from counterplay.core.parallel import use_executor
from counterplay.core.state_io import memory_leaves
from counterplay.distributed.remote_calls import make_call_mapper
from tests.conftest import main_policy
from tests.distributed.toy_units import InProcessExecutor

SMALL_ORACLE = "dqn(hidden_sizes=(16,), num_episodes=128, batch_size=256, replay_buffer_size=5000)"
PART = 1_024  # episodes: one program, compiled once for each player, serves all tests
ANYTIME = {"training_episodes": 6 * PART, "num_rounds": 6, "initial_policy": "uniform"}
METHODS = {
    "p2sro": {"training_episodes": PART, "num_active_levels": 2, "plateau_gain": 0.02},
    "psro": {"training_episodes": PART},
    "anytime_psro": ANYTIME,
    "sp_psro": ANYTIME,
}
METHODS = {name: {"oracle": SMALL_ORACLE} | choices for name, choices in METHODS.items()}


@pytest.fixture(params=sorted(METHODS))
def method(request):
    return cp.load_algorithm(request.param, **METHODS[request.param])


def test_solves_kuhn_and_resumes(method, kuhn):
    memory, error = method.init(kuhn, 1), []
    count = 40 if isinstance(method, cp.algorithms.PSRO | cp.algorithms.P2SRO) else 14
    for iteration in range(1, count + 1):
        memory = method.step(kuhn, memory)
        error.append(cp.exploitability(kuhn, main_policy(method, kuhn, memory)))
        if iteration == 3:
            stored = {key: np.copy(value) for key, value in memory.to_arrays().items()}
    assert min(error) < 0.03 and error[-1] < 0.06
    assert memory.learner_episodes > 0 and not memory.finished
    plain = {key: value[()] if value.ndim == 0 else value for key, value in stored.items()}
    other = type(memory).from_arrays(plain)
    other = method.step(kuhn, other, count - 3)
    for part in fields(memory):
        mine, theirs = getattr(memory, part.name), getattr(other, part.name)
        if isinstance(mine, list):
            assert all(map(np.array_equal, mine, theirs)), part.name
        else:
            assert np.array_equal(mine, theirs), part.name


def test_one_level_is_psro(kuhn):
    """If it is fixed after every lesson: the same bits, those of the learners too."""
    psro = cp.load_algorithm("psro", **METHODS["psro"])
    fixed = {"num_active_levels": 1, "plateau_gain": 0.99}
    p2sro = cp.load_algorithm("p2sro", **METHODS["p2sro"] | fixed)
    one, other = (method.step(kuhn, method.init(kuhn, 4), 6) for method in (psro, p2sro))
    for name in ("plans", "payoffs", "learner_arrays", "meta_strategy_history"):
        assert all(map(np.array_equal, getattr(one, name), getattr(other, name))), name
    assert one.learner_episodes == other.learner_episodes > 0


@pytest.mark.parametrize("name", ["p2sro", "psro"])
def test_levels_and_oracles_that_learn_are_units(name, kuhn):
    method = cp.load_algorithm(name, **METHODS[name])
    alone = memory_leaves(method.step(kuhn, method.init(kuhn), 4))
    with use_executor(make_call_mapper(InProcessExecutor())):
        away = memory_leaves(method.step(kuhn, method.init(kuhn), 4))
    assert alone.keys() == away.keys() and alone["learner_arrays.size"] > 0
    assert all(np.array_equal(alone[name], away[name]) for name in alone)


def test_a_race_finds_a_mixture_that_loses_little(kuhn):
    """Among three policies, by a race and by linear programming."""
    rng = np.random.default_rng(0)
    pools = [
        np.array(
            [plan_from_policy(kuhn, cp.Policy(kuhn, _pure(kuhn, rng)), player) for _ in range(3)]
        )
        for player in range(2)
    ]
    memory = new_population(kuhn, 0, Population)
    add_plans(kuhn, memory, pools)
    pools = memory.plans
    found = learn_least_exploitable_mixture(
        kuhn, 0, memory, load_oracle("x", SMALL_ORACLE, 6 * PART), 6, 5, None
    )
    assert found.mixture.sum() == approx(1.0)
    least = solve_least_exploitable_mixture(kuhn, 0, pools[0])

    def loss(mixture):
        policy = policy_from_plans(kuhn, [mixture @ pools[0], pools[1][0]])
        return cp.judge(kuhn, policy).best_values[1]

    assert loss(least.mixture) == approx(least.value)
    assert loss(found.mixture) < least.value + 0.05
    earned = max(
        pools[0] @ plan_gradient(kuhn, 0, found.opponent)[:-1]
    )  # the opponent holds the pool
    assert earned <= max(pools[0] @ plan_gradient(kuhn, 0, least.opponent)[:-1]) + 0.05


def _pure(tree, rng):
    chosen = np.zeros(tree.num_sequences)
    chosen[tree.offset[:-1] + rng.integers(0, tree.num_actions)] = 1.0
    return chosen


def test_what_a_pool_is_worth_in_a_race(kuhn):
    rng = np.random.default_rng(1)
    for player in range(2):
        first, second = (cp.Policy(kuhn, _pure(kuhn, rng)) for _ in range(2))
        own = np.repeat(kuhn.infoset_player == player, kuhn.num_actions)
        worth = []
        for policy in (first, second):
            mixed = np.where(own, policy.probabilities, first.probabilities)
            worth.append(cp.expected_values(kuhn, cp.Policy(kuhn, mixed))[player])
        slope = plan_gradient(kuhn, player, plan_from_policy(kuhn, first, 1 - player))
        plans = [plan_from_policy(kuhn, policy, player) for policy in (first, second)]
        assert [slope[:-1] @ plan + slope[-1] for plan in plans] == approx(worth)


def test_learners_go_on(kuhn):
    """A second lesson against the same opponent begins where the first ended."""
    oracle = load_oracle("psro", SMALL_ORACLE, PART)
    met = [WeightedPolicy(1.0, cp.uniform_policy(kuhn))]
    value, response = [], None
    for seed in range(4):
        found = oracle.respond(kuhn, 0, met, seed, response)
        response = found.policy
        value.append(found.value)
    best = cp.judge(kuhn, met[0].policy).best_values[0]
    assert max(value) <= best + 1e-9 and value[-1] > 0.8 * best


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("psro(oracle=guess)", "psro: oracle is 'guess', must be one of exact, dqn, ppo, sac"),
        (
            "anytime_psro(oracle=dqn, num_rounds=0)",
            "anytime_psro: num_rounds is 0, must be at least 1",
        ),
        ("sp_psro(training_episodes=0)", "sp_psro: training_episodes is 0, must be at least 1"),
        (
            "p2sro(oracle=dqn, step_size=0.5)",
            "p2sro: step_size is 0.5, must be 1 with the learned oracle dqn",
        ),
        (
            "p2sro(oracle=dqn, training_episodes=0)",
            "p2sro: training_episodes is 0, must be at least 1",
        ),
        ("p2sro(oracle=guess)", "p2sro: oracle is 'guess', must be one of exact, dqn, ppo, sac"),
        ("nxdo(oracle=exact)", "nxdo: oracle is exact, must be learned"),
        ("nxdo(solver=cfr)", "nxdo: solver is cfr, must learn on the device"),
        ("nxdo(solver_iterations=0)", "nxdo: solver_iterations is 0, must be at least 1"),
    ],
)
def test_bad_oracles_are_refused(spec, problem):
    with pytest.raises(cp.ConfigError, match=problem.replace("(", "\\(")):
        cp.load_algorithm(spec)


def test_learners_need_a_tree(kuhn):
    arena = RestrictedArena(kuhn, np.ones(kuhn.num_sequences, bool))
    with pytest.raises(cp.ConfigError, match="needs a stored tree"):
        cp.load_algorithm("psro(oracle=dqn)").init(arena)


def test_nxdo_allows_what_is_learned(kuhn):
    solver = "deep_mmd(hidden_sizes=(16,), num_episodes=500, schedule_iterations=100)"
    nxdo = cp.load_algorithm(
        "nxdo", solver=solver, solver_iterations=20, oracle=SMALL_ORACLE, training_episodes=PART
    )
    memory = nxdo.step(kuhn, nxdo.init(kuhn), 1)
    before = memory.allowed_sequences.copy()
    assert kuhn.num_infosets <= before.sum() < kuhn.num_sequences
    policy = main_policy(nxdo, kuhn, memory).probabilities
    assert (policy[~before] == 0.0).all() and policy[before].max() > 0.0
    memory = nxdo.step(kuhn, memory, 2)
    assert (memory.allowed_sequences >= before).all() and memory.learner_episodes > 0
    assert min(memory.pool_sizes) >= 1 and max(memory.pool_sizes) <= 3  # the responses are its pool
    assert memory.meta_strategy_history.size == 3 * kuhn.num_sequences
