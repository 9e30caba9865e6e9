"""Rows of hands: which hands share one, and inputs that permuted suits do not change."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.hand_rows import check_two_rounds, make_hand_rows, row_features
from counterplay.core.cards import permute_suits
from counterplay.games.holdem_base import hand_strength

GAME = "custom_holdem(num_ranks=5,num_suits=3,board_cards=(0,3),stacks=(7,7),sizes='a')"


@pytest.fixture(scope="module")
def arenas():
    """The game with merged boards and with all boards."""
    game = cp.load_game(GAME)
    return [HoldemGameArena(game, "float64", isomorphism) for isomorphism in (True, False)]


def features_by_cards(arena):
    """Features by (board, hand), both as sets of cards."""
    rows = make_hand_rows(arena)
    features, result = row_features(arena, rows, True), {}
    for board, cards in enumerate(arena.streets[1].cards.tolist()):
        hands = arena.hand_cards(1, board).tolist()
        for hand, row in zip(hands, rows.row_of_hand[board], strict=True):
            key = frozenset(cards), frozenset(hand)
            result[key] = features[rows.first[board] + row]
    return result


def test_inputs_do_not_change_if_suits_are_permuted(arenas):
    all_boards = features_by_cards(arenas[1])
    count = 0
    for (board, hand), numbers in list(all_boards.items())[::29]:
        for order in permutations(range(3)):
            suits = (*order, 3)
            image = tuple(
                frozenset(permute_suits(card, suits) for card in part) for part in (board, hand)
            )
            np.testing.assert_array_equal(all_boards[image], numbers)
            count += 1
    assert count > 500


def test_merged_boards_have_the_inputs_of_all_boards(arenas):
    merged, every = (features_by_cards(arena) for arena in arenas)
    assert len(merged) < len(every)
    for key, numbers in merged.items():
        np.testing.assert_array_equal(numbers, every[key])


def test_hands_of_a_row_have_one_strength_and_other_rows_other_ranks(arenas):
    arena = arenas[0]
    rows = make_hand_rows(arena)
    assert rows.num_hands.sum() == rows.row_of_hand.size
    for board, cards in enumerate(arena.streets[1].cards.tolist()):
        hands, seen = arena.hand_cards(1, board), {}
        for hand, row in zip(hands.tolist(), rows.row_of_hand[board], strict=True):
            ranks = sorted(card // 4 for card in hand)
            name = hand_strength((*cards, *hand)), ranks
            assert seen.setdefault(int(row), name) == name
        assert len(seen) == rows.first[board + 1] - rows.first[board]


def test_flop_holdem_has_346632_rows_of_169_kinds():
    arena = HoldemGameArena(cp.load_game("flop_holdem"))
    rows = make_hand_rows(arena)
    assert (rows.num_rows, rows.num_kinds) == (346_632, 169)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("ms0", "1 betting round;"),
        ("custom_holdem(num_ranks=3,num_hole_cards=1,board_cards=(0,1,1))", "3 betting rounds;"),
        ("custom_holdem(num_ranks=3,num_suits=2,board_cards=(0,1),stacks=(2,2))", "no player acts"),
    ],
)
def test_games_of_other_shapes_are_refused_in_a_sentence(spec, reason):
    arena = HoldemGameArena(cp.load_game(spec))
    with pytest.raises(cp.ConfigError, match=reason):
        check_two_rounds(arena)
