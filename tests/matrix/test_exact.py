"""Exact enumeration is complete and does not depend on scales, shifts or permutations."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from benchmarks.matrix.all_equilibria import extreme_equilibria, find_difference, random_game
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

import counterplay as cp
from counterplay.matrix.normal_form import NormalForm
from counterplay.matrix.tableau import fraction_from_float
from counterplay.matrix.verification import is_nash
from counterplay.registry import LEARNERS, load_learner
from tests.matrix.forms import forms

POWERS = st.integers(-60, 60)

# von Stengel's 6 x 6 game with 75 equilibria, more than 2^6 - 1 (1999), as it was first written
# (1997) and with small utilities (Savani and von Stengel, 2006)
SEVENTY_FIVE = [
    [
        [
            [9504, -660, 19976, -20526, 1776, -8976],
            [-111771, 31680, -130944, 168124, -8514, 52764],
            [397584, -113850, 451176, -586476, 29216, -178761],
            [171204, -45936, 208626, -263076, 14124, -84436],
            [1303104, -453420, 1227336, -1718376, 72336, -461736],
            [737154, -227040, 774576, -1039236, 48081, -300036],
        ],
        [
            [72336, 48081, 29216, 14124, 1776, -8514],
            [-461736, -300036, -178761, -84436, -8976, 52764],
            [1227336, 774576, 451176, 208626, 19976, -130944],
            [-1718376, -1039236, -586476, -263076, -20526, 168124],
            [1303104, 737154, 397584, 171204, 9504, -111771],
            [-453420, -227040, -113850, -45936, -660, 31680],
        ],
    ],
    [
        [
            [-81, 36, -126, 126, -36, 90],
            [-180, 72, -333, 297, -153, 270],
            [20, -3, 42, -33, 17, -30],
            [-30, 17, -33, 42, -3, 20],
            [270, -153, 297, -333, 72, -180],
            [90, -36, 126, -126, 36, -81],
        ],
        [
            [72, 36, 17, -3, -36, -153],
            [-180, -81, -30, 20, 90, 270],
            [297, 126, 42, -33, -126, -333],
            [-333, -126, -33, 42, 126, 297],
            [270, 90, 20, -30, -81, -180],
            [-153, -36, -3, 17, 36, 72],
        ],
    ],
]


def profiles(form):
    return [np.concatenate(one.profile) for one in cp.matrix.support_enumeration(form).equilibria]


def solve_by_all_methods(form):
    """Results of every method, in the order of the methods; the program with few starts."""
    exact = [
        cp.matrix.zero_sum_lp(form),
        cp.matrix.lemke_howson(form),
        *cp.matrix.support_enumeration(form).equilibria,
    ]
    return [*exact, *cp.matrix.nash_nlp(form, num_starts=2)]


def same(ours, theirs, tolerance=1e-9):
    """Return True if two lists hold the same profiles in any order."""
    left = list(theirs)
    for one in ours:
        near = [k for k, other in enumerate(left) if np.allclose(one, other, tolerance, 1e-15)]
        if not near:
            return False
        del left[near[0]]
    return not left


def cyclic(count):
    """Rock paper scissors for an odd number of actions."""
    gap = (np.arange(count)[:, None] - np.arange(count)) % count
    return np.where(gap == 0, 0, np.where(gap % 2 == 1, 1, -1)).astype(float)


# -- games that were lost


@pytest.mark.parametrize("size", [0.0, 1.0, 100.0, 1e6, 1e12, 1e19])
@pytest.mark.parametrize("count", [3, 5, 7])
def test_a_dominated_action_changes_nothing(count, size):
    matrix = np.full((count + 1, count + 1), -size)
    matrix[:, -1] = size
    matrix[-1, -1] = 0.0
    matrix[:count, :count] = cyclic(count)
    found = cp.matrix.nash_equilibria(NormalForm(matrix))
    uniform = [*[1 / count] * count, 0.0] * 2
    if size > 1.0:  # otherwise it is not dominated
        assert same([np.concatenate(one.profile) for one in found.equilibria], [uniform])
        assert found.is_complete and found.note == "these are all"
        for equilibrium in solve_by_all_methods(NormalForm(matrix)):
            assert np.concatenate(equilibrium.profile) == approx(uniform, abs=1e-7)
    assert found.equilibria


@pytest.mark.parametrize("scale", [1.0, 1 / 3, 1e-9, 1e9])
@pytest.mark.parametrize("number", [0, 1])
def test_seventy_five_equilibria(number, scale):
    found = cp.matrix.nash_equilibria(NormalForm(np.array(SEVENTY_FIVE[number]) * scale))
    assert len(found.equilibria) == 75
    assert found.is_complete and found.note == "these are all"


@pytest.mark.parametrize("large", [1e6, 1e12, 1e15, 1e16, 1e19, 1e40])
def test_one_zero_sum_game_has_one_value(large):
    """By all methods that answer: exactly, or not at all."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        matrix = rng.integers(-3, 4, rng.integers(2, 5, 2)).astype(float)
        matrix[tuple(rng.integers(0, matrix.shape))] = large * rng.choice([-1.0, 1.0])
        form = NormalForm(matrix)
        value = cp.matrix.lemke_howson(form).values[0]
        for equilibrium in solve_by_all_methods(form):
            assert equilibrium.values[0] == approx(value, rel=1e-6, abs=1e-6)
        for solve in (cp.matrix.correlated_equilibrium, cp.matrix.coarse_correlated_equilibrium):
            try:
                found = solve(form, 0)
            except cp.RunError:  # it says that floats do not hold this
                continue
            assert found.values[0] == approx(value, rel=1e-5, abs=1e-5)


def test_utilities_that_are_refused():
    for size in (1e150, 1e-150):
        with pytest.raises(cp.ConfigError, match="for floats to hold their products"):
            NormalForm(size * cyclic(3))


# -- beside the enumeration in fractions


@settings(max_examples=100)
@given(st.integers(0, 10**6), st.sampled_from([0, 3, 6, 15]))
def test_as_many_as_exact_enumeration_finds(seed, outliers):
    game = random_game(np.random.default_rng(seed), outliers, max_actions=4)
    assert not find_difference(game, *extreme_equilibria(*game))


def test_what_floats_stand_for():
    assert [fraction_from_float(v) for v in (1 / 3, -0.1 - 0.2, 0.0, 2.5)] == [
        Fraction(1, 3),
        Fraction(-3, 10),
        0,
        Fraction(5, 2),
    ]
    for value in np.random.default_rng(0).normal(size=100):
        assert abs(fraction_from_float(value) - Fraction(value)) <= abs(Fraction(value)) / 2**50
        assert fraction_from_float(value * 2.0**-60) == fraction_from_float(value) / 2**60
    for large in (1e19, 2.0**60, 123456789.0):
        assert fraction_from_float(large) == int(large)


@given(forms(least=0, most=2), st.sampled_from([3.0, 10.0, 7.0]))
def test_ties_survive_division(form, divisor):
    """Thirds and tenths are rounded, and degenerate all the same."""
    other = NormalForm(form.utility / divisor)
    assert (
        cp.matrix.support_enumeration(other).is_degenerate
        == cp.matrix.support_enumeration(form).is_degenerate
    )
    assert same(profiles(other), profiles(form))


# -- what must not matter


@settings(max_examples=12)
@given(forms(max_actions=3), POWERS, POWERS)
def test_units_of_each_player(form, first, second):
    """Powers of two do not round: every result is the same to the last bit."""
    scale = np.array([2.0**first, 2.0**second])
    other = NormalForm(form.utility * scale[:, None, None])
    for solve in (
        lambda f: cp.matrix.support_enumeration(f).equilibria,
        lambda f: cp.matrix.nash_equilibria(f, "lemke_howson").equilibria,
        lambda f: cp.matrix.nash_nlp(f, num_starts=2),
    ):
        for one, two in zip(solve(form), solve(other), strict=True):
            assert all(map(np.array_equal, one.profile, two.profile))
            assert np.array_equal(one.values * scale, two.values)
            assert is_nash(other, one.profile)
    for weak in (False, True):
        assert (
            cp.matrix.eliminate_dominated(form, weak).remaining_actions
            == cp.matrix.eliminate_dominated(other, weak).remaining_actions
        )
    for solve in (cp.matrix.correlated_equilibrium, cp.matrix.coarse_correlated_equilibrium):
        for objective in (0, 1):
            one, two = solve(form, objective), solve(other, objective)
            assert one.values * scale == approx(two.values, rel=1e-7, abs=1e-9 * scale.min())
    for name in LEARNERS:
        one, two = (
            cp.matrix.run_learners(f, load_learner(name), iterations=20) for f in (form, other)
        )
        assert all(map(np.array_equal, one.average_profile, two.average_profile))
        assert np.array_equal(one.regret * scale, two.regret)


@settings(max_examples=40)
@given(forms(max_actions=4, zero_sum=True), POWERS)
def test_units_of_zero_sum_games(form, power):
    other = NormalForm(form.utility * 2.0**power)
    assert other.is_zero_sum and other.is_constant_sum
    one, two = cp.matrix.zero_sum_lp(form), cp.matrix.zero_sum_lp(other)
    assert all(map(np.array_equal, one.profile, two.profile))
    single = NormalForm(form.utility * np.array([2.0**power, 0.0])[:, None, None])
    assert single.is_constant_sum == (np.ptp(form.utility[0]) == 0.0)


@settings(max_examples=15)
@given(forms(max_actions=4), st.integers(0, 10**6))
def test_order_of_actions_and_players(form, seed):
    rng = np.random.default_rng(seed)
    order = [rng.permutation(count) for count in form.shape]
    other = form.restrict(order)
    turned = NormalForm(form.utility[::-1].transpose(0, 2, 1))
    ones = profiles(form)
    rows = form.shape[0]
    assert same(profiles(other), [[*one[:rows][order[0]], *one[rows:][order[1]]] for one in ones])
    assert same(profiles(turned), [[*one[rows:], *one[:rows]] for one in ones])
    kept = cp.matrix.eliminate_dominated(form).remaining_actions
    for player, own in enumerate(cp.matrix.eliminate_dominated(other).remaining_actions):
        assert {int(order[player][a]) for a in own} == set(kept[player])
    assert cp.matrix.eliminate_dominated(turned).remaining_actions == kept[::-1]
    for goal in ("welfare", 0, 1):
        best = cp.matrix.correlated_equilibrium(form, goal).values
        worth = best.sum() if goal == "welfare" else best[goal]
        again = cp.matrix.correlated_equilibrium(other, goal).values
        assert worth == approx(again.sum() if goal == "welfare" else again[goal], abs=1e-8)


@settings(max_examples=40)
@given(forms(max_actions=4, least=-8, most=8), st.integers(-40, 20), st.integers(0, 10**6))
def test_moved_utilities(form, power, seed):
    """By whole numbers, as far as floats hold; by others for each action of the other player."""
    whole = NormalForm(np.round(form.utility * 4) / 4)
    rng = np.random.default_rng(seed)
    shift = rng.integers(-(2**20), 2**20, (2, *form.shape)).astype(float)
    shift[0], shift[1] = shift[0, :1], shift[1, :, :1]
    moved = NormalForm((whole.utility + shift) * 2.0**power)
    assert same(profiles(moved), profiles(whole))
    assert (
        cp.matrix.eliminate_dominated(moved).remaining_actions
        == cp.matrix.eliminate_dominated(whole).remaining_actions
    )


@settings(max_examples=40)
@given(forms(max_actions=3), st.integers(3, 15), st.booleans())
def test_huge_losses_of_dominated_actions_change_nothing(form, power, zero_sum):
    """A strictly dominated action, however bad, changes no equilibrium and no dominance."""
    utility = np.pad(form.utility, [(0, 0), (0, 1), (0, 1)])
    utility[0, -1], utility[1, :, -1] = -(10.0**power), -(10.0**power)
    utility[0, :-1, -1], utility[1, -1, :-1] = 0.0, 0.0
    larger = NormalForm(utility)
    rows, columns = form.shape
    played = [*range(rows), *range(rows + 1, rows + 1 + columns)]
    assert same([one[played] for one in profiles(larger)], profiles(form))
    assert (
        cp.matrix.eliminate_dominated(larger).remaining_actions
        == cp.matrix.eliminate_dominated(form).remaining_actions
    )
