"""Equilibria in rational numbers: known values, certificates, random games."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.algorithms.exact import rational
from counterplay.matrix.policy_enumeration import list_pure_plans
from tests.random_games import RandomGame

LEDUC_VALUE = Fraction(-1454920850547486749701863871533, 16995463438839962469905132501930)
VALUES = {
    "kuhn_poker": Fraction(-1, 18),
    "matching_pennies": Fraction(0),
    "rock_paper_scissors": Fraction(0),
    "king_ace_poker": Fraction(0),
    "leduc_poker(suit_isomorphism=true)": LEDUC_VALUE,
}


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    equilibrium = cp.concepts.exact_equilibrium(name)
    assert equilibrium.value == VALUES[name]
    assert equilibrium.guarantees == (equilibrium.value, equilibrium.value)
    assert cp.nash_conv(equilibrium.policy) < 1e-12


@pytest.mark.slow
def test_leduc_with_suits_has_the_same_value():
    assert cp.concepts.exact_equilibrium("leduc_poker").value == LEDUC_VALUE


def test_guarantees_by_enumeration_of_plans():
    """The guarantee of a policy is its worst case over all pure plans of the opponent."""
    for seed in range(12):
        tree = cp.build_tree(RandomGame(seed, 2, 4))
        if tree.num_infosets < 2:
            continue
        equilibrium = cp.concepts.exact_equilibrium(tree)
        payoffs = rational.RationalProgram(tree).payoffs
        weights = [*equilibrium.weights, Fraction(1)]
        for player in range(2):
            results = []
            for plan in list_pure_plans(tree, player, 10_000):
                taken = [Fraction(int(x)) for x in plan]
                results.append(
                    sum(
                        payoff * (taken[s] * weights[t] if player == 0 else weights[s] * taken[t])
                        for (s, t), payoff in payoffs.items()
                    )
                )
            assert (max if player == 0 else min)(results) == equilibrium.value
        lp = cp.algorithms.solve_sequence_form_lp(tree)
        assert float(equilibrium.value) == approx(lp.value, abs=1e-9)


def test_policies_are_distributions(kuhn):
    equilibrium = cp.concepts.exact_equilibrium(kuhn)
    for infoset in range(kuhn.num_infosets):
        row = equilibrium.probabilities[kuhn.offset[infoset] : kuhn.offset[infoset + 1]]
        assert sum(row) == 1
        assert min(row) >= 0


def test_floats_stand_for_simple_fractions():
    assert rational.to_fraction(1 / 3) == Fraction(1, 3)
    assert rational.to_fraction(0.1) == Fraction(1, 10)
    assert rational.to_fraction(np.pi) == Fraction(np.pi)


def test_other_games_are_refused():
    with pytest.raises(cp.ConfigError, match="needs a two-player zero-sum game"):
        cp.concepts.exact_equilibrium("chicken")


def test_all_optimal_policies_of_kuhn_poker(kuhn):
    """Player 0 bets a jack with a, calls a queen with a + 1/3 and bets a king with 3a, a <= 1/3."""
    first, second = (cp.concepts.optimal_vertices(kuhn, player) for player in range(2))
    bluffs = []
    for row in first.probabilities:
        policy = cp.Policy(kuhn, np.array([float(p) for p in row]))
        assert policy["0"]["bet"] * 3 == approx(policy["2"]["bet"])
        assert policy["1pb"]["bet"] == approx(policy["0"]["bet"] + 1 / 3)
        bluffs.append(policy["0"]["bet"])
    assert sorted(bluffs) == approx([0.0, 1 / 3])
    assert len(second.weights) == 1


def test_vertices_of_optimal_sets_by_brute_force():
    """In matrix games: all subsets of tight inequalities, by Cramer's rule in floats."""
    rng = np.random.default_rng(0)
    for _ in range(12):
        matrix = rng.integers(-1, 2, (3, 3))
        tree = cp.build_tree(cp.games.MatrixGame((matrix, -matrix)))
        optimal = cp.concepts.optimal_vertices(tree, 0)
        expected = set()
        for subset in combinations(range(6), 2):
            tight = [np.eye(3)[k] if k < 3 else matrix[:, k - 3] for k in subset]
            rows = np.vstack([np.ones(3), *tight])
            right = [1.0, *(0.0 if k < 3 else float(optimal.value) for k in subset)]
            if abs(np.linalg.det(rows)) > 1e-9:
                x = np.linalg.solve(rows, right)
                if x.min() > -1e-9 and (x @ matrix).min() > float(optimal.value) - 1e-9:
                    expected.add(tuple(np.round(x, 6) + 0.0))
        assert {
            tuple(np.round([float(x) for x in row[:3]], 6)) for row in optimal.weights
        } == expected


def test_large_games_have_no_list_of_vertices():
    with pytest.raises(cp.ConfigError, match="take exact_equilibrium"):
        cp.concepts.optimal_vertices("leduc_poker", 0)
    with pytest.raises(cp.ConfigError, match="player is 2, must be 0 or 1"):
        cp.concepts.optimal_vertices("kuhn_poker", 2)
