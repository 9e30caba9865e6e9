"""Normal forms, refusals, and conversion from a tree and back."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from pytest import approx

import counterplay as cp
from counterplay.matrix.normal_form import (
    NormalForm,
    normal_form_from_game,
    pure_profile,
    uniform_profile,
)
from counterplay.matrix.normal_form_io import read_normal_form
from counterplay.matrix.policy_enumeration import count_pure_policies, pure_policies
from tests.conftest import game_tree
from tests.matrix.forms import forms
from tests.random_games import random_games


@given(forms(max_players=3, max_actions=3))
def test_values_are_sums_over_joint_actions(form):
    rng = np.random.default_rng(0)
    profile = tuple(rng.dirichlet(np.ones(count)) for count in form.shape)
    expected = np.zeros(form.num_players)
    for joint in product(*map(range, form.shape)):
        chance = np.prod([mixture[a] for mixture, a in zip(profile, joint, strict=True)])
        expected += chance * form.utility[(slice(None), *joint)]
    assert form.values(profile) == approx(expected)
    assert form.joint_distribution(profile).sum() == approx(1.0)
    for player in range(form.num_players):
        for action in range(form.shape[player]):
            pure = (*profile[:player], np.eye(form.shape[player])[action], *profile[player + 1 :])
            value = form.action_values(player, profile)[action]
            assert value == approx(form.values(pure)[player])


@pytest.mark.parametrize(
    ("utility", "message"),
    [
        ([[1, float("nan")], [2, 3]], r"player 0 at joint action \(0, 1\) is nan"),
        ([[[1, 2]], [[3, float("inf")]]], r"player 1 at joint action \(0, 1\) is inf"),
        ([[1, 2], [3]], r"payoffs\[0\]\[1\] is \[3\], must have 2 entries"),
        ([[[1, 2], [3]], [[1, 2], [3, 4]]], r"payoffs\[0\]\[1\] is \[3\]"),
        ([[["a"]], [["b"]]], "payoffs.* is 'a', must be a finite number"),
        ([1, 2, 3], "at least two players"),
        ([[[1, 2, 3]]], "at least two players"),
        ([], "at least two players"),
        (5.0, "must have one table each"),
        ([[]], "must have one table each"),
        (np.zeros((2, 3, 3, 3)), r"shape \(2, 3, 3, 3\); for 2 players"),
        (np.zeros((1_000_000, 2)), "1000000 x 2 = 2,000,000 joint actions are too many"),
    ],
)
def test_bad_utilities_are_refused(utility, message):
    with pytest.raises(cp.ConfigError, match=message):
        NormalForm(utility)


def test_refuses_names_that_do_not_fit():
    with pytest.raises(cp.ConfigError, match="action_names"):
        NormalForm([[1, 2]], (("a",), ("b",)))


def test_a_player_with_one_action_is_a_player():
    form = NormalForm([[3.0, 1.0, 2.0]])
    assert form.shape == (1, 3)
    (one,) = cp.matrix.nash_equilibria(form).equilibria
    assert one.profile[1].tolist() == [0, 1, 0]
    assert cp.matrix.correlated_equilibrium(form, "entropy").values == approx([1, -1])
    assert cp.matrix.lemke_howson(form).values == approx([1, -1])
    assert cp.matrix.eliminate_dominated(form).remaining_actions == ((0,), (1,))


def test_refuses_profiles_and_joints_that_are_none():
    form = NormalForm([[1, 2], [3, 4]])
    for profile in [([1, 0],), ([1, 0], [0.5, 0.4]), ([1, 0], [1, 0, 0]), ([2, -1], [1, 0])]:
        with pytest.raises(cp.ConfigError):
            cp.matrix.nash_deviation(form, profile)
    for joint in [[[1, 0], [0, 1]], [[1, 0]], [[2, -1], [0, 0]]]:
        with pytest.raises(cp.ConfigError, match="joint must be probabilities"):
            cp.matrix.correlated_deviation(form, joint)


def test_king_ace_poker_is_the_matrix_of_the_lecture():
    """Rows: the action with an ace, then with a king; r raise, k check, c call, f fold."""
    form = pure_policies(game_tree("king_ace_poker")).normal_form
    expected = {
        "rr": {"cc": 0, "cf": -1 / 6, "ff": 1, "fc": 7 / 6},
        "kr": {"cc": -1 / 3, "cf": -1 / 6, "ff": 5 / 6, "fc": 2 / 3},
        "rk": {"cc": 1 / 3, "cf": 0, "ff": 1 / 6, "fc": 1 / 2},
        "kk": {"cc": 0, "cf": 0, "ff": 0, "fc": 0},
    }
    words = {"r": "raise", "k": "check", "c": "call", "f": "fold"}
    rows, columns = form.action_names
    for row, entries in expected.items():
        a = rows.index(f"A: {words[row[0]]}, K: {words[row[1]]}")
        for column, value in entries.items():
            b = columns.index(f"A:r {words[column[0]]}, K:r {words[column[1]]}")
            assert form.utility[0, a, b] == approx(value, abs=1e-15)
            assert form.utility[1, a, b] == approx(-value, abs=1e-15)
    assert form.shape == (4, 4)


def test_counts_of_pure_policies():
    assert count_pure_policies(game_tree("kuhn_poker")) == (27, 64)
    assert count_pure_policies(game_tree("king_ace_poker")) == (4, 4)
    assert count_pure_policies(game_tree("matching_pennies_3p")) == (2, 2, 2)


@pytest.mark.parametrize("spec", ["leduc_poker", "liars_dice(dice_sides=3)"])
def test_refuses_with_the_count(spec):
    with pytest.raises(
        cp.RunError, match=r"has .+ x .+ reduced pure policies, more than 1,000,000"
    ):
        pure_policies(game_tree(spec))
    with pytest.raises(cp.RunError, match="27 x 64 reduced pure policies, more than 1,000 in all"):
        pure_policies(game_tree("kuhn_poker"), max_joint_actions=1000)


def test_refuses_players_who_forget():
    with pytest.raises(cp.ConfigError, match="forget"):
        pure_policies(game_tree("goofspiel(forgetful=true)"))


def test_kuhn_by_its_matrix(kuhn):
    converted = pure_policies(kuhn)
    found = cp.matrix.zero_sum_lp(converted.normal_form)
    assert found.values == approx([-1 / 18, 1 / 18])
    assert cp.exploitability(kuhn, converted.policy_from_profile(found.profile)) < 1e-12


@given(random_games(max_players=3))
def test_tree_and_matrix_agree(game):
    """Values of mixtures and of the policies that they amount to, and the other way round."""
    tree = cp.build_tree(game)
    assume(tree.num_players > 1)
    counts = count_pure_policies(tree)
    assume(np.prod(counts) <= 20_000)
    converted = pure_policies(tree)
    assert converted.normal_form.shape == counts
    rng = np.random.default_rng(game.seed)
    profile = tuple(rng.dirichlet(np.ones(count)) for count in counts)
    policy = converted.policy_from_profile(profile)
    assert cp.expected_values(tree, policy) == approx(
        converted.normal_form.values(profile), abs=1e-9
    )
    policy = cp.random_policy(tree, seed=game.seed)
    profile = converted.profile_from_policy(policy)
    judged = cp.nash_conv(tree, policy)
    assert [mixture.sum() for mixture in profile] == approx([1.0] * tree.num_players)
    assert converted.normal_form.values(profile) == approx(
        cp.expected_values(tree, policy), abs=1e-9
    )
    gains = [
        converted.normal_form.action_values(p, profile).max()
        - converted.normal_form.values(profile)[p]
        for p in range(tree.num_players)
    ]
    assert sum(gains) == approx(judged, abs=1e-9)


@given(forms(max_players=3, max_actions=3))
def test_to_a_tree_and_back(form):
    tree = cp.build_tree(form.to_game())
    back = pure_policies(tree).normal_form
    assert np.array_equal(back.utility, form.utility)
    assert back.action_names == form.action_names
    assert np.array_equal(normal_form_from_game(form.to_game()).utility, form.utility)
    uniform = cp.expected_values(tree, cp.uniform_policy(tree))
    assert uniform == approx(form.values(uniform_profile(form)), abs=1e-12)


def test_only_matrix_games_are_normal_forms_at_once():
    with pytest.raises(cp.ConfigError, match="pure_policies"):
        normal_form_from_game(cp.load_game("kuhn_poker"))


def test_pure_profile():
    form = NormalForm(np.zeros((2, 2, 3)))
    assert [mixture.tolist() for mixture in pure_profile(form, (1, 2))] == [[0, 1], [0, 0, 1]]


def test_normal_forms_are_read_from_files(tmp_path):
    def read_text_as_form(name, text):
        (tmp_path / name).write_text(text)
        return read_normal_form(tmp_path / name)

    matrix = [[1.0, -2.0], [0.5, 3.0]]
    assert read_text_as_form("a.json", "[[1, -2], [0.5, 3]]").utility[0].tolist() == matrix
    assert read_text_as_form("a.csv", "1,-2\n0.5,3\n").utility[1].tolist() == [[-1, 2], [-0.5, -3]]
    two = read_text_as_form("b.csv", "1,-2\n0.5,3\n\n4,5\n6,7\n")
    assert two.utility[1].tolist() == [[4, 5], [6, 7]]
    named = '{"payoffs": [[[1, 2]], [[3, 4]]], "action_names": [["only"], ["left", "right"]]}'
    assert read_text_as_form("c.json", named).action_names == (("only",), ("left", "right"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "[[1, 2], [3]]", "must have 2 entries"),
        ("a.json", "[[1, NaN]]", "is nan, must be finite"),
        ("a.json", "{", "not JSON"),
        ("a.json", "[" * 100_000, "not JSON"),
        ("a.json", '{"payoff": [[1]]}', "unknown key 'payoff'; did you mean 'payoffs'"),
        ("a.json", '{"payoffs": 3}', "payoffs must be a list"),
        ("a.json", '{"payoffs": [[1]], "action_names": 3}', "action_names must be one list"),
        ("a.csv", "1,2\nx,3\n", "line 2: could not convert"),
        ("a.csv", "", "0 matrices"),
        ("a.csv", "1\n\n2\n\n3\n", "3 matrices"),
        ("a.csv", "1,2\n3\n", "must have 2 entries"),
        ("a.txt", "", "must end in .json or .csv"),
    ],
)
def test_bad_files(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(cp.ConfigError, match=message):
        read_normal_form(tmp_path / name)


def test_no_file(tmp_path):
    with pytest.raises(cp.RunError, match="there is no file"):
        read_normal_form(tmp_path / "none.json")
