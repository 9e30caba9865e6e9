"""Equities of pairs of hands over the cards to come, against walks of all boards."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem.array_layout import build_walks
from counterplay.arenas.holdem.equity import compute_equity
from counterplay.arenas.holdem.runout_equity import (
    RunoutEquity,
    build_runout_equity,
    find_runouts,
)
from counterplay.arenas.holdem.spot import Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from tests.arenas.holdem.spots import both

RANGES = ("AA,KK,AKs,76s", "QQ,JTs,AQo")


def all_in_spot(board, rake=0.0):
    sizes = both("a", "a")
    return Spot(board, RANGES, 60, (90, 90), (sizes, sizes, sizes), rake=rake)


@pytest.mark.parametrize("board", ["Td9d6hQc", "Td9d6h"])
def test_equity_of_two_hands_is_that_of_the_equity_calculator(board):
    arena = SpotArena(Spot(board, ("AhKh", "QsQd"), 60, (90, 90), (both("a", "a"),) * 3), "float64")
    runouts = build_runout_equity(
        arena.spot, arena.betting, arena.boards, arena.hands, arena.compute_dtype
    )
    expected = compute_equity("AhKh", "QsQd", board).value
    assert runouts.equity[runouts.row[0], 0, 0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("rake", [0.0, 0.05])
def test_iterates_equal_those_of_walks_of_all_boards(rake):
    spot = all_in_spot("Td9d6hQc", rake)
    arena, walked = SpotArena(spot, "float64"), SpotArena(spot, "float64")
    assert find_runouts(arena.betting)
    empty = RunoutEquity.empty(len(walked.boards.cards), np.float64)
    walked.__dict__["walks"] = build_walks(
        walked.spot, walked.betting, walked.piece_layout, walked.boards, walked.hands, empty
    )
    algorithm = cp.load_algorithm("cfr_plus")
    memory = algorithm.step(arena, algorithm.init(arena), 5)
    other = algorithm.step(walked, algorithm.init(walked), 5)
    np.testing.assert_allclose(memory.regret, other.regret, rtol=1e-9, atol=1e-12)
