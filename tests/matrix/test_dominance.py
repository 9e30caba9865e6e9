"""Dominated actions: the reference cases, brute force over mixtures, and the order shown."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from pytest import approx

import counterplay as cp
from counterplay.matrix.normal_form import NormalForm, normal_form_from_game
from tests.matrix.forms import forms


def rows(*table):
    """A game in which player 1 does not care."""
    table = np.array(table, float)
    return NormalForm([table, np.zeros_like(table)])


def test_reference_cases():
    """OpenSpiel's three tests for row 0."""
    assert cp.matrix.find_dominating_mixture(rows([1, 1], [2, 0], [0, 2]), 0, 0) is None
    assert cp.matrix.find_dominating_mixture(rows([1, 1], [2, 0], [0, 2]), 0, 0, weak=True) is None
    mixed = cp.matrix.find_dominating_mixture(rows([1, 1], [2.1, 0], [0, 2]), 0, 0)
    assert mixed.is_strict and mixed.margin > 0
    assert 0 < mixed.mixture[1] < 1
    weakly = rows([1, 1, 1], [2, 0, 1], [0, 2, 2])
    assert cp.matrix.find_dominating_mixture(weakly, 0, 0) is None
    result = cp.matrix.find_dominating_mixture(weakly, 0, 0, weak=True)
    assert not result.is_strict
    assert result.mixture == approx([0, 0.5, 0.5])


def test_openspiel_agrees(lp_solver):
    pyspiel = pytest.importorskip("pyspiel")
    for seed in range(10):
        rng = np.random.default_rng(seed)
        first, second = rng.integers(0, 4, (2, 4, 3)).astype(float)
        theirs = pyspiel.create_matrix_game(first.tolist(), second.tolist())
        form = NormalForm([first, second])
        for player in (0, 1):
            for action in range(form.shape[player]):
                for weak, mode in (
                    (False, lp_solver.DominanceType.DOMINANCE_STRICT),
                    (True, lp_solver.DominanceType.DOMINANCE_WEAK),
                ):
                    expected = lp_solver.is_dominated(action, theirs, player, mode)
                    result = cp.matrix.find_dominating_mixture(form, player, action, weak)
                    assert (result is not None) == expected


@given(forms(max_players=3, max_actions=3))
def test_what_is_found_dominates(form):
    for weak in (False, True):
        for one in cp.matrix.find_dominated_actions(form, weak):
            table = form.payoff_matrix(one.player)
            gap = one.mixture @ table - table[one.action]
            assert one.mixture[one.action] == 0.0
            assert one.mixture.sum() == approx(1.0)
            if weak:
                assert gap.min() >= -1e-7 and gap.max() > 0.0
            else:
                assert gap.min() == approx(one.margin) and one.margin > 0.0


@given(forms(max_actions=4))
def test_nothing_is_overlooked(form):
    """An action is strictly dominated if and only if it is never a best response."""
    strictly = {(one.player, one.action) for one in cp.matrix.find_dominated_actions(form)}
    weakly = {(one.player, one.action) for one in cp.matrix.find_dominated_actions(form, weak=True)}
    assert strictly <= weakly
    rng = np.random.default_rng(0)
    for player in (0, 1):
        table = form.payoff_matrix(player)
        belief = rng.dirichlet(np.ones(table.shape[1]), 2_000)
        best = np.unique((table @ belief.T).argmax(axis=0))
        for action in best:  # of a belief that excludes nothing
            assert (player, int(action)) not in strictly
            ties = np.isclose(table[action], table).all(axis=1).sum()
            assert ties > 1 or (player, int(action)) not in weakly


def test_order_of_elimination():
    form = NormalForm(
        [[[1, 1, 0], [0, 0, 2]], [[0, 2, 1], [3, 1, 0]]], (("up", "down"), ("l", "m", "r"))
    )
    done = cp.matrix.eliminate_dominated(form)
    assert [(step.player, step.action) for step in done.steps] == [(1, 2), (0, 1), (1, 0)]
    assert done.remaining_actions == ((0,), (1,))
    assert done.reduced_form.action_names == (("up",), ("m",))
    assert done.steps[2].mixture.tolist() == [0, 1, 0]  # numbered as at the beginning


def test_weak_elimination_depends_on_the_order():
    form = NormalForm([[[1, 0], [1, 1]], [[1, 1], [0, 1]]])
    assert cp.matrix.eliminate_dominated(form).steps == ()
    done = cp.matrix.eliminate_dominated(form, weak=True)
    assert [(step.player, step.action, step.is_strict) for step in done.steps] == [
        (0, 0, False),
        (1, 0, False),
    ]


@given(forms(max_actions=3))
def test_equilibria_survive_strict_elimination(form):
    kept = cp.matrix.eliminate_dominated(form).remaining_actions
    for one in cp.matrix.support_enumeration(form).equilibria:
        for player, mixture in enumerate(one.profile):
            gone = np.delete(mixture, kept[player])
            assert gone.sum() == approx(0.0, abs=1e-9)


def test_prisoners_cooperate_in_vain():
    steps = cp.matrix.eliminate_dominated(
        normal_form_from_game(cp.load_game("prisoners_dilemma"))
    ).steps
    assert [(step.player, step.action, step.margin) for step in steps] == [(0, 0, 1.0), (1, 0, 1.0)]
    with pytest.raises(cp.ConfigError, match="there is no action 5 of player 0"):
        cp.matrix.find_dominating_mixture(normal_form_from_game(cp.load_game("chicken")), 0, 5)
