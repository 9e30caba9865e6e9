"""Refinements: known games, checks that recognise bad choices, brute force over plans."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.concepts.rational_simplex import maximise
from counterplay.interop.game_files import save_game
from tests.concepts.test_correlation import load_efg, pure
from tests.random_games import RandomGame

GUESS_THE_ACE = """EFG 2 R "guess the ace" { "dealer" "guesser" }
c "" 1 "top card" { "ace" 1/52 "other" 51/52 } 0
p "" 1 1 "offer" { "stop" "play" } 0
t "" 1 "" { 0 0 }
p "" 2 1 "guess" { "ace" "other" } 0
t "" 2 "" { -1000 1000 }
t "" 3 "" { 0 0 }
p "" 1 1 "offer" { "stop" "play" } 0
t "" 1 "" { 0 0 }
p "" 2 1 "guess" { "ace" "other" } 0
t "" 3 "" { 0 0 }
t "" 2 "" { -1000 1000 }
"""
ENTRY = """EFG 2 R "entry" { "entrant" "incumbent" }
p "" 1 1 "enter" { "out" "in" } 0
t "" 1 "" { 0 2 }
p "" 2 1 "reply" { "fight" "share" } 0
t "" 2 "" { -1 -1 }
t "" 3 "" { 1 1 }
"""


def test_guess_the_ace(tmp_path):
    """Miltersen and Sorensen (2006): the dealer should never play; after it, guess not the ace."""
    tree = load_efg(GUESS_THE_ACE, tmp_path)
    silly = pure(tree, offer="stop", guess="ace")
    assert cp.nash_conv(tree, silly) == 0.0  # an equilibrium nevertheless
    assert not cp.concepts.is_sequential(tree, silly)
    losses = cp.concepts.off_path_losses(tree, silly)
    assert losses[tree.find_infoset("guess")] == approx(1000 * 50 / 52)
    refined = cp.concepts.quasi_perfect_equilibrium(tree)
    assert refined.value == 0
    assert refined.policy["guess"] == {"ace": 0.0, "other": 1.0}
    assert refined.policy["offer"] == {"stop": 1.0, "play": 0.0}
    undominated = cp.concepts.normal_form_perfect_equilibrium(tree)
    assert undominated["guess"]["other"] == approx(1.0)


def test_kuhn_poker(kuhn):
    refined = cp.concepts.quasi_perfect_equilibrium(kuhn)
    assert refined.value == Fraction(-1, 18)
    assert cp.nash_conv(refined.policy) < 1e-12
    assert cp.concepts.is_sequential(refined.policy)
    assert refined.policy["0b"] == {"pass": 1.0, "bet": 0.0}
    assert refined.policy["2b"] == {"pass": 0.0, "bet": 1.0}
    rows = {key: dict(refined.policy[key]) for key in refined.policy}
    rows["0b"] = {"pass": 0.0, "bet": 1.0}  # call with the worst card
    assert not cp.concepts.is_sequential(cp.Policy.from_dict(kuhn, rows))


def test_refined_policies_of_random_games_are_sequential():
    checked = 0
    for seed in range(30):
        tree = cp.build_tree(RandomGame(seed, 2, 4))
        if not 3 <= tree.num_infosets <= 14:
            continue
        refined = cp.concepts.quasi_perfect_equilibrium(tree)
        assert cp.nash_conv(tree, refined.policy) < 1e-9
        assert cp.concepts.is_sequential(tree, refined.policy), seed
        assert cp.concepts.is_subgame_perfect(tree, refined.policy), seed
        assert not dominating_plans(tree, refined.policy), seed
        checked += 1
    assert checked > 6


def dominating_plans(tree, policy):
    """Players for whom a mixture of plans weakly dominates the policy, by linear programming."""
    from scipy.optimize import linprog

    normal = cp.matrix.pure_policies(tree)
    profile = normal.profile_from_policy(policy)
    found = []
    for player in range(2):
        table = normal.normal_form.utility[player]
        table = table if player == 0 else table.T  # [own, other]
        own = profile[player] @ table
        gains = table - own
        result = linprog(
            -gains.sum(axis=1),
            A_ub=-gains.T,
            b_ub=np.full(gains.shape[1], 1e-11),
            A_eq=np.ones((1, gains.shape[0])),
            b_eq=[1.0],
        )
        if -result.fun > 1e-6:
            found.append(player)
    return found


def test_undominated_equilibria_of_random_games():
    checked = 0
    for seed in range(30):
        tree = cp.build_tree(RandomGame(seed, 2, 4))
        if not 3 <= tree.num_infosets <= 14:
            continue
        policy = cp.concepts.normal_form_perfect_equilibrium(tree)
        assert cp.nash_conv(tree, policy) < 1e-7
        assert not dominating_plans(tree, policy), seed
        checked += 1
    assert checked > 6


def solve_with_openspiel(spec, eps, monkeypatch):
    """OpenSpiel's equilibrium with floating trembles, as a policy of its game, by HiGHS."""
    lp_solver = pytest.importorskip("open_spiel.python.algorithms.lp_solver")
    solvers = pytest.importorskip("cvxpy").installed_solvers()
    programs = pytest.importorskip("open_spiel.python.algorithms.sequence_form_lp")
    if "HIGHS" not in solvers or not hasattr(programs, "solve_perturbed_zero_sum_game"):
        pytest.skip("OpenSpiel without perturbed programmes, or cvxpy without HiGHS")
    import pyspiel

    for option in list(lp_solver.DEFAULT_SOLVER_KWARGS):  # those of another solver
        monkeypatch.delitem(lp_solver.DEFAULT_SOLVER_KWARGS, option)
    game, tree = pyspiel.load_game(spec), cp.build_tree(f"openspiel:{spec}")
    *_, first, second = programs.solve_perturbed_zero_sum_game(game, solver="HIGHS", eps=eps)
    rows = []
    for i, key in enumerate(tree.infoset_keys):
        actions = tree.sequence_action[tree.offset[i] : tree.offset[i + 1]]
        row = (first, second)[tree.infoset_player[i]].policy_for_key(key)[actions]
        rows.append(row / row.sum())
    return tree, cp.Policy(tree, np.concatenate(rows))


@pytest.mark.parametrize("name", ["ace", "kuhn_poker", "random"])
def test_symbolic_trembles_leave_no_error_and_floating_ones_do(name, tmp_path, monkeypatch):
    """The error of OpenSpiel's equilibrium is proportional to its tremble; this one has none."""
    spec, file = name, tmp_path / "game.efg"
    if name == "ace":
        file.write_text(GUESS_THE_ACE)
    elif name == "random":
        save_game(RandomGame(0, 2, 4), file)
        text = re.sub(r"(\d+)/(\d+)", lambda m: repr(int(m[1]) / int(m[2])), file.read_text())
        file.write_text(text)  # OpenSpiel reads no large fractions
    if name != "kuhn_poker":
        spec = f"efg_game(filename={file})"
    gaps = []
    for eps in (1e-3, 1e-5):
        tree, noisy = solve_with_openspiel(spec, eps, monkeypatch)
        gaps.append(cp.nash_conv(tree, noisy))
    assert gaps[0] == approx(100.0 * gaps[1], rel=0.1)
    scale = float(np.abs(tree.utility).max())
    assert cp.concepts.is_sequential(tree, noisy, tolerance=1e-4)
    refined = cp.concepts.quasi_perfect_equilibrium(tree)
    assert cp.nash_conv(tree, refined.policy) < 1e-12 * scale
    assert cp.concepts.off_path_losses(tree, refined.policy).max() < 1e-12 * scale
    assert cp.expected_values(tree, noisy)[0] == approx(float(refined.value), abs=1e-4 * scale)


def test_normal_form_perfect_equilibrium_of_kuhn(kuhn):
    policy = cp.concepts.normal_form_perfect_equilibrium(kuhn)
    assert cp.nash_conv(policy) < 1e-8
    assert policy["0b"]["bet"] == policy["0pb"]["bet"] == 0.0


def test_leduc_poker_off_the_path():
    """A plain equilibrium loses up to 11 chips where it does not come; a perfect one nothing."""
    tree = cp.build_tree("leduc_poker(suit_isomorphism=true)")
    plain = cp.algorithms.solve_sequence_form_lp(tree).policy
    assert cp.concepts.off_path_losses(tree, plain).max() > 1.0
    perfect = cp.concepts.normal_form_perfect_equilibrium(tree)
    assert cp.nash_conv(tree, perfect) < 1e-7
    assert cp.concepts.is_sequential(tree, perfect, tolerance=1e-6)


def test_empty_threats_are_not_subgame_perfect(tmp_path):
    tree = load_efg(ENTRY, tmp_path)
    threat = pure(tree, enter="out", reply="fight")
    assert cp.nash_conv(tree, threat) == 0.0
    assert not cp.concepts.is_subgame_perfect(tree, threat)
    subgames = cp.concepts.find_subgames(tree, threat)
    assert [subgame.history for subgame in subgames] == [(), (1,)]
    assert subgames[1].gains == approx([0.0, 2.0])
    assert cp.concepts.is_subgame_perfect(tree, pure(tree, enter="in", reply="share"))


def test_gains_of_the_whole_game_are_those_of_best_responses():
    for seed in range(20):
        tree = cp.build_tree(RandomGame(seed, 3, 4, zero_sum=False))
        if not tree.num_infosets:
            continue
        policy = cp.random_policy(tree, seed=seed)
        judgement = cp.judge(tree, policy)
        subgame = cp.concepts.find_subgames(tree, policy)[0]
        assert subgame.gains == approx(judgement.best_values - judgement.values, abs=1e-9)


def test_kuhn_poker_has_one_subgame(kuhn):
    assert len(cp.concepts.find_subgames(cp.uniform_policy(kuhn))) == 1


def test_rational_simplex_against_scipy():
    from scipy.optimize import linprog

    rng = np.random.default_rng(4)
    for _ in range(30):
        rows = rng.integers(-3, 4, size=(3, 6))
        point = rng.integers(0, 3, size=6)
        right = rows @ point
        rows, right = np.vstack([rows, np.ones(6, int)]), np.append(right, point.sum())
        cost = rng.integers(-4, 5, size=6)
        exact = maximise(
            [[Fraction(int(c))] for c in cost],
            [[Fraction(int(v)) for v in row] for row in rows],
            [[Fraction(int(v))] for v in right],
        )
        exact = [polynomial[0] for polynomial in exact]
        expected = linprog(-cost, A_eq=rows, b_eq=right)
        assert float(sum(int(c) * x for c, x in zip(cost, exact, strict=True))) == approx(
            -expected.fun, abs=1e-9
        )
        assert all(
            sum(int(v) * x for v, x in zip(row, exact, strict=True)) == int(b)
            for row, b in zip(rows, right, strict=True)
        )


def test_large_games_are_refused():
    with pytest.raises(cp.ConfigError, match="take normal_form_perfect_equilibrium"):
        cp.concepts.quasi_perfect_equilibrium("leduc_poker")
    with pytest.raises(cp.ConfigError, match="two-player zero-sum"):
        cp.concepts.quasi_perfect_equilibrium("chicken")
