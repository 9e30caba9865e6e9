"""ICM against its recursive definition, prizes of busted players, and side pots."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from counterplay.arenas.preflop.icm import divide_pots, icm_equities, tournament_prizes
from counterplay.errors import ConfigError


def recursive_equities(stacks, payouts):
    """The definition: who takes first place, then the same among the others for the rest."""
    stacks = tuple(stacks)

    @cache
    def equities(players, place):
        if place == len(payouts):
            return dict.fromkeys(players, 0.0)
        total = sum(stacks[player] for player in players)
        result = dict.fromkeys(players, 0.0)
        for first in players:
            chance = stacks[first] / total
            result[first] += chance * payouts[place]
            rest = tuple(player for player in players if player != first)
            if rest:
                for player, value in equities(rest, place + 1).items():
                    result[player] += chance * value
        return result

    result = equities(tuple(range(len(stacks))), 0)
    return [result[player] for player in range(len(stacks))]


@pytest.mark.parametrize("num_players", range(1, 11))
def test_equals_the_recursive_definition(num_players):
    rng = np.random.default_rng(num_players)
    for num_prizes in {1, (num_players + 1) // 2, num_players}:
        stacks = rng.integers(1, 1000, num_players).tolist()
        payouts = sorted(rng.random(num_prizes).tolist(), reverse=True)
        expected = recursive_equities(stacks, payouts)
        assert icm_equities(stacks, payouts) == pytest.approx(expected, abs=1e-12)


def test_equal_stacks_share_equally_and_prizes_add_up():
    assert icm_equities([7] * 5, [50, 30, 20]) == pytest.approx([20.0] * 5)
    assert icm_equities([9, 4, 2, 1], [50, 30, 20]).sum() == pytest.approx(100.0)
    assert icm_equities([3, 1], [1]) == pytest.approx([0.75, 0.25])  # winner takes all: chips


def test_busted_players_take_the_lowest_places():
    assert icm_equities([5, 5, 0], [50, 30, 20]) == pytest.approx([40, 40, 20])
    prizes = tournament_prizes([10, 6, 4], [20, 0, 0], [50, 30, 20])
    assert prizes.tolist() == [50, 30, 20]  # the larger stack of the two finishes second
    assert tournament_prizes([10, 5, 5], [20, 0, 0], [50, 30, 20]).tolist() == [50, 25, 25]


def test_side_pots():
    # a short stack wins the main pot only; the side pot goes to the better of the others
    final, pots = divide_pots([5, 10, 20, 1], {0: 0, 1: 1, 2: 2})
    assert [pot[0] for pot in pots] == [16, 10, 10]
    assert final.tolist() == [16, 10, 10, 0]
    final, _ = divide_pots([5, 10, 20, 1], {0: 1, 1: 1, 2: 1})
    assert final == pytest.approx([16 / 3, 16 / 3 + 5, 16 / 3 + 5 + 10, 0])


def test_rake_spares_uncalled_bets():
    final, _ = divide_pots([10, 20], {0: 0, 1: 1}, rake=0.05, cap=3.0)
    assert final == pytest.approx([19.0, 10.0])
    final, _ = divide_pots([10, 20], {0: 0, 1: 1}, rake=0.5, cap=3.0)
    assert final == pytest.approx([17.0, 10.0])
    final, _ = divide_pots([1, 20], {1: 0}, rake=0.05)
    assert final.tolist() == [0.0, 21.0]


@pytest.mark.parametrize(
    ("stacks", "payouts", "message"),
    [
        ([1, 2], [3, 2, 1], "3 payouts do not fit 2 players"),
        ([1] * 11, [1], "ICM has 1 to 10 players, not 11"),
        ([1, -2], [1], "must be numbers from 0 on"),
        ([0, 0], [1], "not all 0"),
        ([1, 2], [1, 2], "must not rise"),
        ([1, 2], [-1], "payouts are"),
    ],
)
def test_bad_input_is_one_sentence(stacks, payouts, message):
    with pytest.raises(ConfigError, match=message):
        icm_equities(stacks, payouts)
