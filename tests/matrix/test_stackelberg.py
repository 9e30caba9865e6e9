"""Strong Stackelberg equilibria of matrix games: published values, grids, zero-sum games."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

import counterplay as cp

PUBLISHED = [  # Conitzer and Sandholm (2006), as in OpenSpiel's test
    ([[2, 4], [1, 3]], [[1, 0], [0, 1]], [0.5, 0.5], 3.5),
    ([[2, 0, 0], [1, 0, 0]], [[0, 2, 5], [0, -1, -4]], [1 / 3, 2 / 3], 4 / 3),
    ([[3, 9], [9, 1]], [[0, 0], [1, 8]], [1.0, 0.0], 9.0),
]


@pytest.mark.parametrize(("rows", "columns", "mixture", "value"), PUBLISHED)
def test_published_examples(rows, columns, mixture, value):
    form = cp.matrix.NormalForm([rows, columns])
    solution = cp.matrix.stackelberg_equilibrium(form)
    assert solution.values[0] == approx(value)
    assert solution.commitment == approx(mixture)
    swapped = cp.matrix.NormalForm([np.transpose(columns), np.transpose(rows)])
    assert cp.matrix.stackelberg_equilibrium(swapped, leader=1).values[1] == approx(value)
    for equilibrium in cp.matrix.nash_equilibria(form).equilibria:
        assert equilibrium.values[0] <= value + 1e-9


def test_no_mixture_on_a_grid_is_better():
    rng = np.random.default_rng(2)
    grid = np.linspace(0.0, 1.0, 201)
    for _ in range(20):
        utility = rng.integers(-5, 6, size=(2, 2, 3)).astype(float)
        solution = cp.matrix.stackelberg_equilibrium(cp.matrix.NormalForm(utility))
        best = -np.inf
        for x in grid:
            mixture = np.array([x, 1.0 - x])
            answers = mixture @ utility[1]
            preferred = (mixture @ utility[0])[answers >= answers.max() - 1e-12].max()
            best = max(best, preferred)
        assert solution.values[0] >= best - 1e-9
        answers = solution.commitment @ utility[1]
        assert answers[solution.response] == approx(answers.max(), abs=1e-9)


def test_commitment_has_no_value_in_zero_sum_games():
    form = cp.matrix.NormalForm([[0, -1, 2], [1, 0, -1], [-2, 1, 0]])
    solution = cp.matrix.stackelberg_equilibrium(form)
    assert solution.values[0] == approx(cp.matrix.zero_sum_lp(form).values[0])


def test_bad_arguments_are_refused():
    form = cp.matrix.NormalForm([[1, 0], [0, 1]])
    with pytest.raises(cp.ConfigError, match="leader is 2, must be 0 or 1"):
        cp.matrix.stackelberg_equilibrium(form, leader=2)
    with pytest.raises(cp.ConfigError, match="needs two players"):
        cp.matrix.stackelberg_equilibrium(cp.matrix.NormalForm(np.zeros((3, 2, 2, 2))))
