"""Spots with a short deck: order of hands, equities, EVs and input that is refused."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem.flop_report import ReportSettings, solve_flop_report
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.game_boards import strength_order
from counterplay.arenas.holdem.inspection import inspect_node
from counterplay.arenas.holdem.spot import Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.arenas.holdem.spot_game import SpotGame
from counterplay.arenas.preflop.deck import SHORT_DECK
from counterplay.arenas.preflop.multiway import multiway_equity
from counterplay.errors import ConfigError
from tests.arenas.holdem.spots import all_but, both

RIVER = Spot(
    "Th9h6h9d6s", ("AhKh", "TsTd"), 100, (50, 50), (both(),) * 3, deck="short_deck"
)  # a flush against a full house
FLOP = Spot("9h8d7s", ("TT,A6s,JTs", "99,AKs,T8s"), 60, (90, 90), (both(),) * 3, deck="short_deck")


def equity(spot):
    return inspect_node(cp.solve(SpotArena(spot), "dcfr", iterations=1).policy, "").equity


@pytest.mark.parametrize(("deck", "share"), [("standard", 0.0), ("short_deck", 1.0)])
def test_a_flush_beats_a_full_house(deck, share):
    spot = replace(RIVER, deck=deck)
    arena = SpotArena(spot)
    values = cp.solve(arena, "dcfr", iterations=1).policy.judge(arena).values
    assert values == pytest.approx([100 * share, 100 * (1 - share)])
    assert equity(spot) == pytest.approx([share])


def test_the_ace_is_below_the_six_and_trips_may_beat_straights():
    board = "9h8d7sKcQd"
    low_straight = replace(RIVER, board=board, ranges=("As6d", "KsKd"))
    assert equity(low_straight) == pytest.approx([1.0])
    assert equity(replace(low_straight, deck="short_deck_trips")) == pytest.approx([0.0])
    assert equity(replace(low_straight, deck="standard")) == pytest.approx([0.0])


def test_equities_are_those_of_the_enumeration_with_a_short_deck():
    arena = SpotArena(FLOP)
    policy = cp.solve(arena, "dcfr", iterations=1).policy
    expected = multiway_equity(list(FLOP.ranges), FLOP.board, deck=SHORT_DECK).values
    assert policy.judge(arena).values == pytest.approx(60 * expected, abs=1e-3)
    view = inspect_node(policy, "")
    share = view.weight * view.opponent_mass
    assert share @ view.equity / share.sum() == pytest.approx(expected[0], abs=1e-9)


def test_a_short_deck_spot_is_the_tree_of_its_rules():
    deck = "6c7c8c9c6d7d8d9dTdAdAcTc"
    spot = Spot(
        "8c9d6dTc", ("AdAc,7d7c,9c8d", "AcTd,7c6c,9c7d"), 20, (30, 30),
        (both(), both("50%", "a"), both("a")), deck="short_deck", dead=all_but(deck),
    )  # fmt: skip
    arena, tree = SpotArena(spot, "float64"), cp.build_tree(SpotGame(spot))
    policies = [cp.solve(x, "dcfr", iterations=30).policy for x in (arena, tree)]
    judgements = [cp.judge(x, p) for x, p in zip((arena, tree), policies, strict=True)]
    assert judgements[0].values == pytest.approx(judgements[1].values, abs=1e-9)
    assert judgements[0].best_values == pytest.approx(judgements[1].best_values, abs=1e-9)


def test_isomorphism_does_not_change_the_values():
    spot = replace(FLOP, board="9h8h7h", sizes=(both("a"), both(), both()))
    values = []
    for isomorphism in (True, False):
        arena = SpotArena(spot, "float64", isomorphism)
        values.append(cp.solve(arena, "dcfr", iterations=4).policy.judge(arena).values)
    assert np.allclose(*values, atol=1e-9)


@pytest.mark.parametrize("ranking", ["short_deck", "short_deck_trips"])
def test_games_order_hands_as_their_rules_do(ranking):
    game = cp.load_game(
        f"custom_holdem(board_cards=(0,4),num_ranks=5,num_suits=3,ranking={ranking})"
    )
    assert game.cards_name(game.deck[:1]) == "Tc"
    arena = HoldemGameArena(game)
    street = arena.streets[1]
    order = strength_order(street, game, has_showdowns=True)
    for board in range(0, street.num_boards, 7):
        hands, part = arena.hand_cards(1, board), slice(*order.live_offset[board : board + 2])
        cards = [(*hands[h].tolist(), *street.cards[board].tolist()) for h in order.hand[part]]
        strengths = [game._strength(hand) for hand in cards]
        assert strengths == sorted(strengths)
        ties = np.diff(order.rank[part]) == 0
        assert ties.tolist() == [a == b for a, b in pairwise(strengths)]


@pytest.mark.parametrize("parameters", ["ranking=low", "ranking=short_deck,num_hole_cards=1"])
def test_games_with_unknown_rankings_are_refused(parameters):
    with pytest.raises(ConfigError, match="ranking"):
        cp.load_game(f"custom_holdem({parameters})")


def test_cards_below_the_six_are_refused():
    with pytest.raises(ConfigError, match="5h is not in a short deck"):
        replace(RIVER, board="Th9h6h9d5h")
    with pytest.raises(ConfigError, match="or one below the six"):
        replace(RIVER, ranges=("55-22", "TT"))
    with pytest.raises(ConfigError, match="deck is 'tiny', must be one of standard, short_deck"):
        replace(RIVER, deck="tiny")
    with pytest.raises(ConfigError, match="the 25 flops stand for 52 cards"):
        solve_flop_report(FLOP, 25, ReportSettings(target=1.0))
    assert Spot.from_dict(RIVER.to_dict()) == RIVER
