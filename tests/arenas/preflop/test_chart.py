"""Heads-up push/fold against the published chart, and linear programs against CFR."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from counterplay.arenas.holdem.hand_ranges import grid_cell
from counterplay.arenas.preflop.chart import push_fold_chart
from counterplay.arenas.preflop.deck import Deck
from counterplay.arenas.preflop.game import DeckConfig, PreflopGame
from counterplay.arenas.preflop.solution import solve_preflop
from counterplay.errors import ConfigError

PUBLISHED = json.loads((Path(__file__).parent / "heads_up_push_fold.json").read_text())
STACKS = [tenth / 10 for tenth in range(11, 201)]
# Two cells differ because the equilibrium mixes there: king-seven calls at 12.4 with 46 %, and
# queen-four, pushed always up to 7.9, is pushed again with 62 % at 8.3.
MIXED_CELLS = {("call", "K7o"): (12.4, 12.3), ("push", "Q4o"): (7.9, 8.3)}
# Parts of all hands that are pushed and called, in percent, by the same chart
WIDTHS = {5.0: (72.6, 62.3), 8.0: (62.3, 45.4), 10.0: (58.4, 37.3), 15.0: (45.7, 28.8)}
WIDTHS[20.0] = (40.3, 21.7)


@cache
def full_chart():
    return push_fold_chart(STACKS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["push", "call"])
def test_all_cells_equal_the_published_chart(kind):
    chart = full_chart()
    differences = {}
    for row in range(13):
        for column in range(13):
            name = grid_cell(row, column)[0]
            expected = min(PUBLISHED[kind][row][column], 20.0)
            stack = chart.largest_stack(name, kind)
            if stack != pytest.approx(expected, abs=0.01):
                differences[kind, name] = (expected, stack)
    assert differences == {key: v for key, v in MIXED_CELLS.items() if key[0] == kind}


@pytest.mark.slow
def test_mixed_cells_are_mixed():
    chart = full_chart()
    names = list(chart.deck.class_names)
    call = dict(zip(chart.stacks, chart.call[:, names.index("K7o")], strict=True))
    push = dict(zip(chart.stacks, chart.push[:, names.index("Q4o")], strict=True))
    assert call[12.4] == pytest.approx(0.461, abs=0.002)
    assert push[7.9] == pytest.approx(1.0) and push[8.0] < 0.5 and 0.5 < push[8.3] < 0.99


@pytest.mark.slow
@pytest.mark.parametrize("name", ["63s", "53s", "43s"])
def test_gaps_are_those_of_the_published_chart(name):
    """A gap such as "7.1-5.1, 2.3": pushed from 5.1 to 7.1 and up to 2.3, folded between."""
    upper, lowest = PUBLISHED["gaps"][name].split(", ")
    top, bottom = map(float, upper.split("-"))
    chart = full_chart()
    column = chart.push[:, list(chart.deck.class_names).index(name)]
    pushed = [stack for stack, part in zip(chart.stacks, column, strict=True) if part >= 0.5]
    assert max(pushed) == pytest.approx(top)
    assert min(stack for stack in pushed if stack > float(lowest) + 0.05) == pytest.approx(bottom)
    assert max(stack for stack in pushed if stack < bottom - 0.05) == pytest.approx(float(lowest))


@pytest.mark.slow
def test_widths_are_those_published():
    """The published width at a stack counts the hands whose cell is at least that stack."""
    chart = full_chart()
    sizes = chart.deck.class_sizes
    for stack, published in WIDTHS.items():
        for kind, percent in zip(("push", "call"), published, strict=True):
            cells = [
                MIXED_CELLS.get((kind, name), (chart.largest_stack(name, kind),))[0]
                for name in chart.deck.class_names
            ]
            width = 100.0 * sizes[np.array(cells) >= stack - 0.01].sum() / 1326
            assert width == pytest.approx(percent, abs=0.051)
    push, call = chart.widths(chart.stacks.index(10.0))
    assert (push, call) == pytest.approx((0.583, 0.374), abs=0.001)


@pytest.mark.parametrize("ante", [0.0, 0.25])
def test_linear_programs_equal_cfr(ante):
    small = {"ranks": 5, "suits": 3, "board": 3}
    deck = Deck(num_ranks=5, num_suits=3, num_board=3)
    chart = push_fold_chart([3.0, 8.0], ante=ante, deck=deck)
    for row, stack in enumerate(chart.stacks):
        game = PreflopGame(stacks=(stack, stack), ante=ante, deck=DeckConfig(**small))
        solution = solve_preflop(game, iterations=3000, target=1e-9)
        assert solution.values[0] == pytest.approx(chart.values[row], abs=1e-7)
        assert np.abs(solution.values.sum()) < 1e-12


def test_stacks_must_exceed_the_blind():
    with pytest.raises(ConfigError, match="leaves nothing to push"):
        push_fold_chart([1.0])
