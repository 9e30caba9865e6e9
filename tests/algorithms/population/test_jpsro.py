"""Joint PSRO: gaps checked by the normal form of all pure policies."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from tests.conftest import game_tree
from tests.random_games import RandomGame


def solve_jpsro(tree, meta_solver, iterations=60):
    algorithm = cp.algorithms.JPSRO(meta_solver=meta_solver)
    memory = algorithm.init(tree)
    while memory.iteration < iterations and not memory.finished:
        memory = algorithm.step(tree, memory)
    return memory, algorithm.policies(tree, memory)["joint"]


@pytest.mark.parametrize("meta_solver", ["mgcce", "mwcce"])
def test_coarse_equilibrium_of_three_player_kuhn(meta_solver):
    tree = game_tree("kuhn_poker(players=3)")
    memory, device = solve_jpsro(tree, meta_solver)
    found = cp.judge(tree, device)
    assert memory.finished and found.nash_conv <= 1e-6
    assert cp.matrix.coarse_deviation(memory.meta_game, device.joint).gain <= 1e-6
    assert cp.nash_conv(tree, device.marginal_policy) > 1e-3  # not what players alone can do


@pytest.mark.parametrize("meta_solver", ["mgcce", "mgce", "mwcce", "mwce"])
@pytest.mark.parametrize("num_players", [2, 3])
def test_equilibria_of_random_games(meta_solver, num_players):
    """Pure policies are put into the table of all of them, where `matrix` checks the device."""
    checked = 0
    for seed in range(30):
        game = RandomGame(seed, num_players, max_depth=3, zero_sum=False)
        tree = cp.build_tree(game)
        if np.prod(cp.matrix.count_pure_policies(tree)) > 2_000:
            continue
        _, device = solve_jpsro(tree, meta_solver)
        assert cp.judge(tree, device).nash_conv <= 1e-6
        every = cp.matrix.pure_policies(tree)
        joint = np.zeros(every.normal_form.shape)
        parts = [shares(device.memory.plans[p], every.plans[p], tree) for p in range(num_players)]
        for place in np.argwhere(device.joint > 0.0):
            share = np.ones(())
            for player, k in enumerate(place):
                share = np.multiply.outer(share, parts[player][k])
            joint += device.joint[tuple(place)] * share
        deviation = (
            cp.matrix.coarse_deviation if "cce" in meta_solver else cp.matrix.correlated_deviation
        )
        if "cce" in meta_solver or all(is_pure(plans) for plans in device.memory.plans):
            assert deviation(every.normal_form, joint).gain <= 1e-6
            checked += 1
    assert checked


def shares(plans, pure, tree):
    """Frequency of each pure policy among the players who follow each plan."""
    policies = [cp.Policy(tree, behaviour(plan, pure, tree)) for plan in plans]
    chosen = [np.append(policy.probabilities, 1.0) for policy in policies]
    return [np.where(pure > 0.0, one, 1.0).prod(axis=1) for one in chosen]


def behaviour(plan, pure, tree):
    """Probabilities of the plan, uniform for the other players."""
    weights = np.zeros(tree.num_sequences)
    mine = np.flatnonzero(pure.max(axis=0)[:-1] > 0.0)
    weights[mine] = plan
    sums = np.repeat(np.add.reduceat(weights, tree.offset[:-1]), tree.num_actions)
    uniform = cp.uniform_policy(tree).probabilities
    return np.where(sums > 0.0, weights / np.where(sums > 0.0, sums, 1.0), uniform)


def is_pure(plans):
    return bool(np.isin(plans, (0.0, 1.0)).all())


@pytest.mark.parametrize("meta_solver", ["mgcce", "mgce", "mwcce", "mwce"])
def test_equilibria_of_sheriff(meta_solver):
    parameters = "item_penalty=1.0,item_value=5.0,max_bribe=3,max_items=3,num_rounds=2"
    tree = game_tree(f"openspiel:sheriff({parameters},sheriff_penalty=1.0)")
    memory, device = solve_jpsro(tree, meta_solver)
    assert memory.finished and cp.judge(tree, device).nash_conv <= 1e-6
    check = cp.matrix.coarse_deviation if device.coarse else cp.matrix.correlated_deviation
    assert check(memory.meta_game, device.joint).gain <= 1e-6


def test_zero_sum_value_is_the_games(kuhn):
    _, device = solve_jpsro(kuhn, "mgce")
    assert cp.judge(kuhn, device).values == approx([-1 / 18, 1 / 18], abs=1e-9)


def test_device_saves_what_players_can_do_alone(tmp_path, kuhn):
    _, device = solve_jpsro(kuhn, "mgcce")
    device.save(tmp_path / "a.policy")
    assert (cp.load_policy(tmp_path / "a.policy", kuhn).probabilities == device.probabilities).all()
    assert device["0"] == device.marginal_policy["0"]
