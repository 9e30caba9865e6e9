"""Nash, correlated and coarse correlated equilibria: known answers, brute force, other programs."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

import counterplay as cp
from counterplay.matrix import correlated
from counterplay.matrix.normal_form import (
    NormalForm,
    normal_form_from_game,
    pure_profile,
    uniform_profile,
)
from counterplay.matrix.solvers.nash_nlp import find_pure_equilibria
from counterplay.matrix.verification import (
    is_nash,
    verify_correlated_equilibrium,
    verify_equilibrium,
)
from tests.matrix.forms import forms, joints

BIASED_RPS = NormalForm([[0, -0.25, 0.5], [0.25, 0, -0.05], [-0.5, 0.05, 0]])
DEGENERATE = [
    NormalForm(np.zeros((2, 3, 3))),  # everything is an equilibrium
    NormalForm([[[1, 1], [1, 1]], [[1, 1], [1, 1]]]),
    NormalForm([[[3, 3], [2, 5], [0, 6]], [[3, 3], [2, 6], [3, 1]]]),  # von Stengel's example
    NormalForm([[[0, 0, 1], [0, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 1, 0], [0, 0, 1]]]),
    NormalForm([[[1, 0], [1, 0]], [[0, 0], [1, 1]]]),
]


def game(name):
    return normal_form_from_game(cp.load_game(name))


def profiles(equilibria):
    return sorted(tuple(np.round(np.concatenate(one.profile), 7).tolist()) for one in equilibria)


def test_checkers_by_hand():
    bos = game("battle_of_the_sexes")
    assert cp.matrix.nash_deviation(bos, ([1, 0], [0, 1])).gain == 1.0
    worst = cp.matrix.nash_deviation(bos, ([0.5, 0.5], [1, 0]))
    assert (worst.gain, worst.player, worst.action) == (1.0, 0, 0)
    coin = [[0.5, 0], [0, 0.5]]
    assert cp.matrix.correlated_deviation(bos, coin).gain == 0.0
    assert cp.matrix.coarse_deviation(bos, coin).gain == 0.0
    told_apart = cp.matrix.correlated_deviation(bos, [[0, 0.5], [0.5, 0]])
    # told "movie" half the time, player 0 knows that player 1 goes to the game
    assert (told_apart.gain, told_apart.recommended_action) == (approx(1.0), 1)
    assert cp.matrix.coarse_deviation(bos, [[0, 0.5], [0.5, 0]]).gain == approx(1.0)


@given(forms(max_players=3, max_actions=3))
def test_checkers_against_brute_force(form):
    rng = np.random.default_rng(1)
    for joint in joints(form, rng, 3):
        coarse, swaps = [0.0], [0.0]
        for player in range(form.num_players):
            utility = np.moveaxis(form.utility[player], player, 0)
            chance = np.moveaxis(joint, player, 0)
            for b in range(form.shape[player]):
                parts = [(chance[a] * (utility[b] - utility[a])).sum() for a in range(len(utility))]
                swaps += parts
                coarse.append(sum(parts))
        assert cp.matrix.correlated_deviation(form, joint).gain == approx(max(swaps))
        assert cp.matrix.coarse_deviation(form, joint).gain == approx(max(coarse), abs=1e-12)
    product = form.joint_distribution(uniform_profile(form))
    nash = cp.matrix.nash_deviation(form, uniform_profile(form)).gain
    assert cp.matrix.coarse_deviation(form, product).gain == approx(nash, abs=1e-12)


def test_profiles_that_are_not_equilibria_are_never_returned():
    bos = game("battle_of_the_sexes")
    with pytest.raises(cp.RunError, match="player 0 would gain"):
        verify_equilibrium(bos, ((np.array([0.0, 1.0])), np.array([1.0, 0.0])), "a guess")
    with pytest.raises(cp.RunError, match="would gain"):
        verify_correlated_equilibrium(
            bos, np.array([[0, 0.5], [0.5, 0]]), coarse=True, method="a guess"
        )


@pytest.mark.parametrize(("scale", "move"), [(1e6, 0), (1e-6, 0), (1, 1e9), (1e12, -1e12)])
def test_units_do_not_matter(scale, move):
    for seed in range(4):
        utility = np.random.default_rng(seed).integers(-2, 3, (2, 3, 3)).astype(float)
        form, other = NormalForm(utility), NormalForm(utility * scale + move)
        assert profiles(cp.matrix.support_enumeration(form).equilibria) == [
            approx(one, abs=1e-6)
            for one in profiles(cp.matrix.support_enumeration(other).equilibria)
        ]
        assert cp.matrix.lemke_howson(form).profile[0] == approx(
            cp.matrix.lemke_howson(other).profile[0]
        )
        one, two = (cp.matrix.coarse_correlated_equilibrium(f, "entropy") for f in (form, other))
        assert one.joint_distribution == approx(two.joint_distribution, abs=1e-6)
        assert (
            cp.matrix.eliminate_dominated(form).remaining_actions
            == cp.matrix.eliminate_dominated(other).remaining_actions
        )


# -- zero-sum


def test_zero_sum_known():
    assert cp.matrix.zero_sum_lp(BIASED_RPS).profile[0] == approx([1 / 16, 10 / 16, 5 / 16])
    pure = cp.matrix.zero_sum_lp(NormalForm([[2, 1, 5], [-3, -4, -2]]))
    assert [mixture.tolist() for mixture in pure.profile] == [[1, 0], [0, 1, 0]]
    assert pure.values == approx([1, -1])
    assert cp.matrix.zero_sum_lp(game("rock_paper_scissors")).profile[1] == approx([1 / 3] * 3)


@given(forms(max_actions=6, zero_sum=True))
def test_zero_sum_methods_agree(form):
    value = cp.matrix.zero_sum_lp(form).values[0]
    assert cp.matrix.lemke_howson(form).values[0] == approx(value, abs=1e-8)
    for one in cp.matrix.support_enumeration(form).equilibria:
        assert one.values[0] == approx(value, abs=1e-7)


def test_constant_sum_is_enough():
    form = NormalForm([[[0, 3], [2, 1]], [[3, 0], [1, 2]]])
    assert cp.matrix.zero_sum_lp(form).values == approx([1.5, 1.5])
    for other in ("chicken", "matching_pennies_3p"):
        with pytest.raises(cp.ConfigError, match="two players whose utilities"):
            cp.matrix.zero_sum_lp(game(other))


def test_openspiel_agrees_on_zero_sum(lp_solver):
    pyspiel = pytest.importorskip("pyspiel")
    for seed in range(10):
        rng = np.random.default_rng(seed)
        matrix = rng.normal(size=rng.integers(1, 7, 2))
        theirs = lp_solver.solve_zero_sum_matrix_game(
            pyspiel.create_matrix_game(matrix.tolist(), (-matrix).tolist())
        )
        assert cp.matrix.zero_sum_lp(NormalForm(matrix)).values == approx(
            [theirs[2], theirs[3]], abs=1e-6
        )


# -- two players


def test_battle_of_the_sexes_and_chicken():
    for method in ("support_enumeration", "nash_nlp"):
        assert profiles(
            cp.matrix.nash_equilibria(game("battle_of_the_sexes"), method).equilibria
        ) == [
            (0, 1, 0, 1),
            approx((2 / 3, 1 / 3, 1 / 3, 2 / 3), abs=1e-6),
            (1, 0, 1, 0),
        ]
        values = [
            tuple(one.values) for one in cp.matrix.nash_equilibria(game("chicken")).equilibria
        ]
        assert sorted(values) == [(2, 7), approx((14 / 3, 14 / 3)), (7, 2)]


def test_prisoners_dilemma_and_shapley():
    (one,) = cp.matrix.support_enumeration(game("prisoners_dilemma")).equilibria
    assert [mixture.tolist() for mixture in one.profile] == [[0, 1], [0, 1]]
    (one,) = cp.matrix.support_enumeration(game("shapleys_game")).equilibria
    assert one.values == approx([1 / 3, 1 / 3])


def test_nashpy_agrees_on_all_equilibria():
    """Random utilities are not degenerate: both list every equilibrium."""
    nashpy = pytest.importorskip("nashpy")
    for seed in range(15):
        rng = np.random.default_rng(seed)
        first, second = rng.normal(size=(2, *rng.integers(2, 6, 2)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = list(nashpy.Game(first, second).vertex_enumeration())
        expected = sorted(tuple(np.round(np.concatenate(pair), 7).tolist()) for pair in theirs)
        result = cp.matrix.support_enumeration(NormalForm([first, second]))
        assert profiles(result.equilibria) == [approx(one, abs=1e-6) for one in expected]
        assert not result.is_degenerate


def brute_force(form, steps=6):
    """All equilibria on a grid of probabilities: a subset of the true ones."""
    grids = []
    for count in form.shape:
        cuts = combinations(range(steps + count - 1), count - 1)
        parts = [np.diff([-1, *cut, steps + count - 1]) - 1 for cut in cuts]
        grids.append([np.array(part) / steps for part in parts])
    return [(x, y) for x in grids[0] for y in grids[1] if is_nash(form, (x, y))]


def in_hull(point, points):
    """Return True if a mixture is a mixture of others."""
    from scipy.optimize import linprog

    stacked = np.vstack([np.array(points).T, np.ones(len(points))])
    return linprog(np.zeros(len(points)), A_eq=stacked, b_eq=[*point, 1.0]).status == 0


@settings(max_examples=40)
@given(forms(max_actions=3, least=0, most=2))
def test_support_enumeration_misses_nothing(form):
    """Every equilibrium is a mixture of listed ones that are equilibria with the same opponent."""
    result = cp.matrix.support_enumeration(form)
    assert result.equilibria
    for x, y in brute_force(form):
        fits_y = [e.profile[0] for e in result.equilibria if is_nash(form, (e.profile[0], y))]
        fits_x = [e.profile[1] for e in result.equilibria if is_nash(form, (x, e.profile[1]))]
        assert fits_y and in_hull(x, fits_y)
        assert fits_x and in_hull(y, fits_x)
    if not result.is_degenerate:
        assert len(result.equilibria) % 2 == 1


@given(forms(max_actions=5, least=0, most=1), st.integers(0, 100))
def test_lemke_howson_always_ends_at_an_equilibrium(form, label):
    one = cp.matrix.lemke_howson(form, label % sum(form.shape))
    assert one.gain <= 1e-12
    assert is_nash(form, one.profile)


@pytest.mark.parametrize("number", range(len(DEGENERATE)))
def test_degenerate_games(number):
    form = DEGENERATE[number]
    result = cp.matrix.support_enumeration(form)
    assert result.is_degenerate and result.equilibria
    assert "degenerate" in cp.matrix.nash_equilibria(form).note
    for label in range(sum(form.shape)):
        assert cp.matrix.lemke_howson(form, label).gain <= 1e-12


def test_a_degenerate_game_with_an_edge_of_equilibria():
    """An isolated mixed equilibrium, and an edge between two others (von Stengel, 2002)."""
    result = profiles(cp.matrix.support_enumeration(DEGENERATE[2]).equilibria)
    assert result == [
        approx((0, 1 / 3, 2 / 3, 1 / 3, 2 / 3), abs=1e-6),
        approx((1, 0, 0, 2 / 3, 1 / 3), abs=1e-6),
        (1, 0, 0, 1, 0),
    ]


@given(forms(max_actions=4))
def test_lemke_howson_finds_listed_equilibria(form):
    result = cp.matrix.support_enumeration(form)
    if not result.is_degenerate:
        ones = [cp.matrix.lemke_howson(form, label) for label in range(sum(form.shape))]
        listed = profiles(result.equilibria)
        for one in profiles(ones):
            assert any(one == approx(other, abs=1e-6) for other in listed)


def test_sizes_that_are_refused():
    large = NormalForm(np.random.default_rng(0).normal(size=(2, 70, 70)))
    with pytest.raises(cp.ConfigError, match="vertices, too many to visit"):
        cp.matrix.support_enumeration(large)
    with pytest.raises(cp.ConfigError, match="too many for exact pivoting"):
        cp.matrix.lemke_howson(large)
    with pytest.raises(cp.ConfigError, match="at most 60 actions"):
        cp.matrix.nash_nlp(large)
    with pytest.raises(cp.ConfigError, match="label is 7, must be from 0 to 3"):
        cp.matrix.lemke_howson(game("chicken"), 7)
    with pytest.raises(cp.RunError, match="has not ended after 1 pivots from label 0"):
        cp.matrix.lemke_howson(BIASED_RPS, 0, max_pivots=1)
    with pytest.raises(cp.ConfigError, match="unknown method 'lemke'; did you mean 'lemke_howson'"):
        cp.matrix.nash_equilibria(BIASED_RPS, "lemke")
    with pytest.raises(cp.ConfigError, match="dominance among 1,000,000 actions"):
        cp.matrix.eliminate_dominated(NormalForm(np.zeros((1_000_000, 1))))
    with pytest.raises(cp.ConfigError, match="entries in its constraints"):
        cp.matrix.correlated_equilibrium(NormalForm(np.zeros((1_000_000, 1))))


def test_the_method_suits_the_game():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(40, 40))
    assert cp.matrix.nash_equilibria(NormalForm(matrix)).method == "zero_sum_lp"
    few = NormalForm(rng.integers(0, 9, (2, 12, 12)))
    result = cp.matrix.nash_equilibria(few)
    assert result.method == "lemke_howson" and result.equilibria
    assert cp.matrix.nash_equilibria(game("matching_pennies_3p")).method == "support_systems"
    assert cp.matrix.nash_equilibria(game("chicken")).is_complete


# -- more players


def test_three_players_known():
    (one,) = cp.matrix.nash_nlp(game("matching_pennies_3p"))
    for mixture in one.profile:
        assert mixture == approx([0.5, 0.5])
    (one,) = cp.matrix.nash_equilibria(game("matching_pennies_3p")).equilibria
    assert one.gain < 1e-12


@settings(max_examples=15)
@given(forms(max_players=3, max_actions=3))
def test_programme_finds_verified_equilibria(form):
    result = cp.matrix.nash_nlp(form, num_starts=12)
    assert result
    for one in result:
        assert cp.matrix.nash_deviation(form, one.profile).gain <= 1e-7 * form.utility_range.max()
    for joint in find_pure_equilibria(form):
        assert any(np.allclose(form.joint_distribution(one.profile)[joint], 1.0) for one in result)


@settings(max_examples=15)
@given(forms(max_actions=3))
def test_programme_finds_what_enumeration_lists(form):
    listed = cp.matrix.support_enumeration(form)
    if not listed.is_degenerate:
        known = profiles(listed.equilibria)
        for one in profiles(cp.matrix.nash_nlp(form, num_starts=6)):
            assert any(one == approx(other, abs=1e-5) for other in known)


def test_pure_equilibria():
    assert find_pure_equilibria(game("battle_of_the_sexes")) == [(0, 0), (1, 1)]
    assert find_pure_equilibria(game("matching_pennies")) == []
    form = NormalForm(np.random.default_rng(5).integers(0, 3, (3, 2, 3, 2)))
    for joint in np.ndindex(form.shape):
        stable = is_nash(form, pure_profile(form, joint))
        assert (joint in find_pure_equilibria(form)) == stable


# -- correlated


def test_chicken_with_a_mediator():
    best = cp.matrix.correlated_equilibrium(game("chicken"))
    assert best.values.sum() == approx(10.5)
    assert best.joint_distribution == approx(np.array([[0, 0.25], [0.25, 0.5]]))
    third = np.array([[0, 1], [1, 1]]) / 3
    assert cp.matrix.correlated_deviation(game("chicken"), third).gain == 0.0
    assert (game("chicken").utility * third).sum() == approx(10)
    assert cp.matrix.correlated_equilibrium(game("chicken"), 0).values == approx([7, 2])


def test_battle_of_the_sexes_fairly():
    coin = np.array([[0.5, 0], [0, 0.5]])
    bos = game("battle_of_the_sexes")
    assert cp.matrix.correlated_deviation(bos, coin).gain == 0.0
    assert (bos.utility * coin).reshape(2, -1).sum(axis=1) == approx([1.5, 1.5])
    assert cp.matrix.correlated_equilibrium(bos).values.sum() == approx(3)


def test_coarse_is_coarser():
    """A game with a coarse equilibrium better than any correlated one (Moulin and Vial, 1978)."""
    form = NormalForm([[[3, 1, 4], [1, 5, 0], [1, 0, 2]], [[3, 1, 1], [4, 2, 0], [1, 0, 5]]])
    assert cp.matrix.correlated_equilibrium(form).values == approx([3, 3])
    assert cp.matrix.coarse_correlated_equilibrium(form).values.sum() == approx(7)
    assert cp.matrix.coarse_deviation(form, np.eye(3) / 3).gain == 0.0
    assert cp.matrix.correlated_deviation(form, np.eye(3) / 3).gain > 0.0


@pytest.mark.parametrize("objective", ["welfare", 0, 1, "entropy"])
@pytest.mark.parametrize(
    "solve", [cp.matrix.correlated_equilibrium, cp.matrix.coarse_correlated_equilibrium]
)
def test_only_defection_is_rational(solve, objective):
    assert solve(game("prisoners_dilemma"), objective).joint_distribution == approx(
        np.diag([0.0, 1.0])
    )


@settings(max_examples=15)
@given(forms(max_players=3, max_actions=3))
def test_objectives_are_reached(form):
    """Nash equilibria are correlated, those are coarse; so the best of each kind are ordered."""
    nash = cp.matrix.nash_equilibria(form).equilibria
    goals = ["welfare", *range(form.num_players)]
    for goal in goals:

        def worth(values, goal=goal):
            return values.sum() if goal == "welfare" else values[goal]

        fine = cp.matrix.correlated_equilibrium(form, goal)
        coarse = cp.matrix.coarse_correlated_equilibrium(form, goal)
        assert (
            cp.matrix.correlated_deviation(form, fine.joint_distribution).gain
            <= 1e-7 * form.utility_range.max()
        )
        assert (
            cp.matrix.coarse_deviation(form, coarse.joint_distribution).gain
            <= 1e-7 * form.utility_range.max()
        )
        best = max((worth(one.values) for one in nash), default=-np.inf)
        assert best <= worth(fine.values) + 1e-6
        assert worth(fine.values) <= worth(coarse.values) + 1e-6


def entropy(joint):
    positive = joint[joint > 0.0]
    return float(-(positive * np.log(positive)).sum())


@settings(max_examples=12)
@given(forms(max_players=3, max_actions=3))
def test_entropy_is_maximal(form):
    """Nothing between the most random equilibrium and another one is more random."""
    solvers = (
        (cp.matrix.correlated_equilibrium, False),
        (cp.matrix.coarse_correlated_equilibrium, True),
    )
    for solve, coarse in solvers:
        most = solve(form, "entropy").joint_distribution
        others = [solve(form, goal).joint_distribution for goal in ("welfare", 0, 1)]
        others += [
            form.joint_distribution(one.profile)
            for one in cp.matrix.nash_equilibria(form).equilibria
        ]
        if coarse:
            others.append(cp.matrix.correlated_equilibrium(form, "entropy").joint_distribution)
        for other in others:
            assert entropy(most) >= entropy(other) - 1e-6
            for step in (1e-3, 0.1):
                assert entropy(most) >= entropy((1 - step) * most + step * other) - 1e-7


def test_unknown_objective():
    for objective in ("fun", 2, -1, 0.5):
        with pytest.raises(cp.ConfigError, match="must be 'welfare', 'entropy', 'gini' or"):
            cp.matrix.correlated_equilibrium(game("chicken"), objective)


@pytest.mark.parametrize("coarse", [True, False])
def test_gini_is_that_of_another_solver(coarse):
    """Random and degenerate games of two and three players, joint actions counted several times."""
    import cvxpy

    rng = np.random.default_rng(5)
    for number in range(24):
        shape = tuple(rng.integers(1, 5, size=rng.integers(2, 4)))
        size = (len(shape), *shape)
        utility = rng.normal(size=size) if number % 2 else 1.0 * rng.integers(-3, 4, size=size)
        form, copies = cp.matrix.NormalForm(utility), 1.0 * rng.integers(1, 4, size=shape)
        solve = (
            cp.matrix.coarse_correlated_equilibrium if coarse else cp.matrix.correlated_equilibrium
        )
        result = solve(form, "gini", copies)
        gains = (correlated._coarse_gains if coarse else correlated._correlated_gains)(
            form
        ).toarray()
        joint = cvxpy.Variable(copies.size)
        limits = [joint >= 0, cvxpy.sum(joint) == 1, *([gains @ joint <= 0] if gains.size else [])]
        goal = cvxpy.Minimize(cvxpy.sum(cvxpy.multiply(1 / copies.ravel(), joint**2)))
        cvxpy.Problem(goal, limits).solve(solver=cvxpy.CLARABEL)
        assert result.joint_distribution.ravel() == approx(joint.value, abs=1e-4)
        assert result.gain <= 1e-8
