"""Published and independently computed series, and games with known outcomes."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from pytest import approx
from scipy.optimize import linprog

import counterplay as cp
from counterplay.algorithms.population.oracles import ExactResponse
from counterplay.algorithms.population.psro_loop import PSROLoop, compute_responses
from tests.conftest import game_tree, main_policy


def series(algorithm, tree, iterations, seed=0):
    """NashConv after every iteration, and the memory; shorter where it ends."""
    memory, found = algorithm.init(tree, seed), []
    while memory.iteration < iterations and not memory.finished:
        memory = algorithm.step(tree, memory)
        found.append(cp.nash_conv(tree, main_policy(algorithm, tree, memory)))
    return found, memory


def two_programmes(memory):
    """Both players' own linear programmes on the payoffs as they are."""
    table, found = memory.payoffs[0], []
    for matrix in (table, -table.T):
        rows, columns = matrix.shape
        result = linprog(
            np.append(np.zeros(rows), -1.0),
            A_ub=np.hstack([-matrix.T, np.ones((columns, 1))]),
            b_ub=np.zeros(columns),
            A_eq=np.append(np.ones(rows), 0.0)[None],
            b_eq=[1.0],
            bounds=[(0, None)] * rows + [(None, None)],
        )
        mixture = np.maximum(result.x[:-1], 0.0)
        found.append(mixture / mixture.sum())
    return found


@pytest.mark.parametrize("name", ["double_oracle", "psro", "p2sro(num_active_levels=1)", "p2sro"])
def test_double_oracle_solves_kuhn(kuhn, name):
    found, memory = series(cp.load_algorithm(name), kuhn, 20)
    assert found[:3] == approx([2.0, 2.5, 1.0]) and found[-1] == approx(0.0, abs=1e-9)
    assert max(memory.pool_sizes) <= 9
    assert (
        memory.stop_reason == "ended at iteration 9: no player gains by a policy outside its pool"
    )


def test_psro_series_on_kuhn_and_leduc(kuhn, leduc):
    """As computed elsewhere with one programme per player: which vertex is taken decides."""
    respond = partial(compute_responses, oracle=ExactResponse())
    known = {
        kuhn: [(1, 2.0), (2, 2.5), (3, 1.0), (4, 1 / 3), (5, 0.23), (6, 2 / 9), (7, 0.135417)],
        leduc: [(1, 2.0), (2, 8.0), (5, 3.85), (10, 3.94), (20, 4.83), (30, 2.87), (50, 1.10)],
    }
    for tree, points in known.items():
        algorithm = cp.algorithms.DoubleOracle()
        memory = algorithm.init(tree)
        for iteration, value in points:
            more = iteration - memory.iteration
            PSROLoop("first", 1e-7, respond, two_programmes).iterate(tree, memory, more)
            got = cp.nash_conv(tree, main_policy(algorithm, tree, memory))
            assert got == approx(value, abs=1e-5 if tree is kuhn else 6e-3)


def test_uniform_psro_is_fictitious_play(kuhn):
    found, _ = series(cp.algorithms.PSRO(meta_solver="uniform"), kuhn, 300)
    assert [found[t - 1] for t in (10, 100, 300)] == approx([0.4833, 0.0617, 0.0306], abs=6e-5)


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker", "liars_dice(dice_sides=3)"])
def test_uniform_psro_equals_xfp_step_by_step(game):
    tree, psro, xfp = (
        game_tree(game),
        cp.algorithms.PSRO(meta_solver="uniform", initial_policy="uniform"),
        cp.algorithms.XFP(),
    )
    mine, theirs = psro.step(tree, psro.init(tree)), xfp.init(tree)
    for _ in range(40):
        mine, theirs = psro.step(tree, mine), xfp.step(tree, theirs)
        one, two = (main_policy(a, tree, m).probabilities for a, m in ((psro, mine), (xfp, theirs)))
        assert one == approx(two, abs=1e-9)


XDO_ALWAYS = [
    (3.416667, 1, 936),
    (2.340625, 2, 1454),
    (2.321528, 3, 1584),
    (1.361322, 54, 1644),
    (0.562141, 105, 1748),
    (0.248056, 156, 1836),
    (0.165724, 207, 1840),
    (0.094460, 308, 1840),
    (0.058660, 459, 1844),
    (0.030541, 710, 1852),
    (0.014499, 1361, 1856),
]
XDO_REACHED = [
    (3.416667, 1, 936),
    (3.183333, 2, 1166),
    (1.898958, 3, 1350),
    (1.568750, 4, 1458),
    (0.794903, 55, 1474),
    (0.593299, 106, 1626),
    (0.134578, 157, 1712),
    (0.088207, 208, 1734),
    (0.088722, 259, 1738),
    (0.043457, 360, 1738),
    (0.027015, 561, 1738),
]


@pytest.mark.parametrize(("unreached", "known"), [(True, XDO_ALWAYS), (False, XDO_REACHED)])
def test_xdo_series_on_leduc(leduc, unreached, known):
    algorithm = cp.algorithms.XDO(
        solver="cfr", expand_unreached=unreached, initial_threshold=16.0 / leduc.utility_scale
    )
    memory = algorithm.init(leduc)
    for value, inner, allowed in known:
        memory = algorithm.step(leduc, memory)
        got = cp.exploitability(leduc, main_policy(algorithm, leduc, memory))
        assert got == approx(value, abs=1e-6)
        assert (memory.solver_iterations, memory.allowed_sequences.sum()) == (inner, allowed)


@pytest.mark.parametrize(
    ("spec", "iterations"),
    [("leduc_poker", 16), ("liars_dice(dice_sides=4)", 25), ("goofspiel(num_cards=4)", 25)],
)
def test_xdo_reaches_a_thousandth(spec, iterations):
    after = {"target": 1e-3, "evaluate_at": lambda iteration: iteration + 1}
    assert (
        cp.solve(
            game_tree(spec), cp.algorithms.XDO(), iterations=iterations, **after
        ).exploitability
        <= 1e-3
    )


@pytest.mark.parametrize("start", ["first", "uniform", "random", "response"])
@pytest.mark.parametrize("name", ["anytime_psro", "sp_psro"])
def test_anytime_solves_kuhn_without_rising(kuhn, name, start):
    found, memory = series(cp.load_algorithm(name, initial_policy=start), kuhn, 8, seed=3)
    assert found[-1] == approx(0.0, abs=1e-9) and memory.finished
    assert (np.diff(found) <= 1e-9).all()


MULLER = np.array(  # table 2 of Muller et al. (2020): X, the last, beats all others by a little
    [
        [0, -10, 1, 10, -0.01],
        [10, 0, -100, 1, -0.01],
        [-1, 100, 0, -10, -0.01],
        [-10, -1, 10, 0, -0.01],
        [0.01, 0.01, 0.01, 0.01, 0],
    ]
)
MCALEER = np.array(  # of McAleer et al. (2020): the last beats rock, paper and scissors by 2/5
    [[0, -1, 1, -0.4], [1, 0, -1, -0.4], [-1, 1, 0, -0.4], [0.4, 0.4, 0.4, 0]]
)


def actions_found(matrix, algorithm):
    tree = cp.build_tree(cp.matrix.NormalForm(matrix).to_game())
    found, memory = series(algorithm, tree, 30)
    assert memory.finished
    return found[-1], [set(plans.argmax(axis=1).tolist()) for plans in memory.plans]


def test_best_responses_to_alpha_rank_miss_what_preferences_find():
    _, found = actions_found(MULLER, cp.algorithms.AlphaPSRO(oracle="best_response"))
    assert all(4 not in actions for actions in found)
    _, found = actions_found(MULLER, cp.algorithms.AlphaPSRO())
    assert all(4 in actions for actions in found)


def test_rectified_responses_miss_what_best_responses_find():
    gap, found = actions_found(MCALEER, cp.algorithms.RectifiedPSRO())
    assert found == [{0, 1, 2}] * 2 and gap == approx(0.8)
    gap, found = actions_found(MCALEER, cp.algorithms.PSRO())
    assert found == [{0, 1, 2, 3}] * 2 and gap == approx(0.0)
