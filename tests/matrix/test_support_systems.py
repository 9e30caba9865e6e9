"""Three players with two actions: every equilibrium, against grids, restarts and known games."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

import counterplay as cp
from counterplay.matrix.normal_form import NormalForm, normal_form_from_game
from counterplay.matrix.solvers.nash_nlp import nash_nlp
from counterplay.matrix.solvers.support_systems import support_systems


def form_from_seed(seed):
    return NormalForm(np.random.default_rng(seed).normal(size=(3, 2, 2, 2)))


def distance(first, second):
    return max(np.abs(a - b).max() for a, b in zip(first.profile, second.profile, strict=True))


def test_matching_pennies_of_three_have_one_equilibrium():
    form = normal_form_from_game(cp.load_game("matching_pennies_3p"))
    result = cp.matrix.nash_equilibria(form)
    assert result.is_complete and "these are all" in result.note
    (equilibrium,) = result.equilibria
    assert np.concatenate(equilibrium.profile) == approx(0.5)


def test_nine_equilibria_of_the_game_of_mckelvey_and_mclennan():
    """Nine is the most that isolated equilibria of such a game can be (their paper of 1997)."""
    utility = np.zeros((3, 2, 2, 2))
    utility[:, 0, 0, 0] = 9, 8, 12
    utility[:, 1, 1, 0] = 9, 8, 2
    utility[:, 0, 1, 1] = 3, 4, 6
    utility[:, 1, 0, 1] = 3, 4, 4
    result = cp.matrix.nash_equilibria(NormalForm(utility))
    assert result.is_complete and len(result.equilibria) == 9
    sizes = [[np.count_nonzero(mixture) for mixture in e.profile] for e in result.equilibria]
    assert sizes.count([1, 1, 1]) == 4 and sizes.count([2, 2, 2]) == 2


@pytest.mark.parametrize("seed", range(25))
def test_restarts_find_nothing_else(seed):
    """Generic games have an odd number of equilibria, and those of restarts are among them."""
    form = form_from_seed(seed)
    result = support_systems(form)
    assert not result.is_degenerate and len(result.equilibria) % 2 == 1
    for other in nash_nlp(form):
        assert min(distance(other, equilibrium) for equilibrium in result.equilibria) < 1e-5


def test_some_games_have_irrational_and_several_mixed_equilibria():
    interior = [
        sum(all(0.0 < m[0] < 1.0 for m in e.profile) for e in support_systems(form).equilibria)
        for form in map(form_from_seed, range(400))
    ]
    assert {0, 1, 2} <= set(interior) and max(interior) == 2


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.tuples(*[st.integers(1, 2)] * 3))
def test_whole_numbers_and_single_actions(seed, shape):
    """Degenerate games say so; otherwise every equilibrium of a fine grid is near one listed."""
    rng = np.random.default_rng(seed)
    form = NormalForm(rng.integers(-2, 3, (3, *shape)).astype(float))
    result = cp.matrix.nash_equilibria(form, "support_systems")
    assert result.equilibria
    if not result.is_complete:
        assert "degenerate" in result.note
        return
    assert len(result.equilibria) % 2 == 1  # of a game without continua of candidates
    for joint in np.ndindex(*shape):
        profile = tuple(np.eye(count)[a] for a, count in zip(joint, shape, strict=True))
        values = [form.action_values(p, profile) for p in range(3)]
        if all(values[p][joint[p]] >= values[p].max() - 1e-12 for p in range(3)):
            matches = [e for e in result.equilibria if all(map(np.array_equal, e.profile, profile))]
            assert len(matches) == 1


def test_other_sizes_are_refused():
    with pytest.raises(cp.ConfigError, match="needs three players with two actions, not 2 x 2"):
        support_systems(NormalForm([[1, 0], [0, 1]]))
