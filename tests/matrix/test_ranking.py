"""Alpha-rank against its published table and against OpenSpiel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from pytest import approx

import counterplay as cp
from counterplay.matrix.normal_form import NormalForm, normal_form_from_game
from tests.matrix.forms import forms


def test_table_of_han_et_al():
    """Five strategies of commitment and defection, one population of 20 (Han et al., 2013)."""
    table = np.array(
        [
            [0.875, 0.75, 0, 2.75, 0.75],
            [1, 1, -1, -1, -1],
            [0, 2, 0, 0, 0],
            [-2, 2, 0, 0, 0],
            [1, 2, 0, 0, 0],
        ]
    )
    form = NormalForm([table, table.T])
    rank = cp.matrix.single_population_alpha_rank(form, alpha=0.1, population_size=20)
    assert rank == approx([0.40966787, 0.07959841, 0.20506998, 0.08505983, 0.2206039], abs=1e-8)


@pytest.mark.parametrize("alpha", [0.01, 0.1, 1.0])
def test_openspiel_agrees(alpha):
    theirs = pytest.importorskip("open_spiel.python.egt.alpharank")
    for seed in range(4):
        utility = np.random.default_rng(seed).normal(size=(2, 3, 4))
        expected = theirs.compute(list(utility), m=10, alpha=alpha)[2]
        found = cp.matrix.alpha_rank(NormalForm(utility), alpha=alpha, population_size=10)
        assert found.ravel() == approx(expected, abs=1e-6)


def test_openspiel_agrees_in_the_limit():
    theirs = pytest.importorskip("open_spiel.python.egt.alpharank")
    utility = np.random.default_rng(0).normal(size=(3, 2, 3, 2))
    expected = theirs.compute(list(utility), use_inf_alpha=True, inf_alpha_eps=0.01)[2]
    found = cp.matrix.alpha_rank(NormalForm(utility), alpha=float("inf"), noise=0.01)
    assert found.ravel() == approx(expected, abs=1e-6)


@given(forms(max_players=3, max_actions=3))
def test_stationary_at_any_intensity(form):
    for alpha in (0.1, 1.0, 1e4):
        rank = cp.matrix.alpha_rank(form, alpha=alpha)
        assert rank.sum() == approx(1.0)
        assert rank.min() >= 0.0


def test_known_ranks():
    def game(name):
        return normal_form_from_game(cp.load_game(name))

    assert cp.matrix.alpha_rank(game("prisoners_dilemma"))[1, 1] == approx(1.0)
    assert cp.matrix.alpha_rank(game("rock_paper_scissors")) == approx(
        np.full((3, 3), 1 / 9), abs=0.06
    )
    pure = cp.matrix.alpha_rank(game("battle_of_the_sexes"))
    assert pure == approx(np.diag([0.5, 0.5]))
    assert cp.matrix.single_population_alpha_rank(game("rock_paper_scissors")) == approx(
        [1 / 3] * 3
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": 0.0}, "alpha is 0.0"),
        ({"alpha": float("nan")}, "alpha is nan"),
        ({"population_size": 1}, "population_size is 1"),
        ({"noise": 0.7}, "noise is 0.7"),
    ],
)
def test_bad_calls(arguments, message):
    with pytest.raises(cp.ConfigError, match=message):
        cp.matrix.alpha_rank(NormalForm(np.zeros((2, 2, 2))), **arguments)


def test_sizes_and_kinds_that_are_refused():
    with pytest.raises(cp.ConfigError, match="at most 2,000 joint actions"):
        cp.matrix.alpha_rank(NormalForm(np.zeros((50, 50))))
    with pytest.raises(cp.ConfigError, match="symmetric"):
        cp.matrix.single_population_alpha_rank(NormalForm([[1, 2], [3, 4]]))
