"""Pot-limit Omaha on the river, against plain definitions and ordinary trees."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem.array_layout import leaf_payoffs
from counterplay.arenas.holdem.betting import FOLD
from counterplay.arenas.preflop.deck import FULL_DECK
from counterplay.core.cards import parse_cards
from counterplay.errors import ConfigError
from counterplay.holdem import BetSizes, OmahaArena, OmahaSpot, parse_omaha_range
from counterplay.kernels.holdem.omaha import omaha_strengths
from tests.arenas.preflop.plain_poker import plain_strength

BOARD = "2s7d9cJhKs"


def plain_omaha_strength(hand, board):
    """The best of all sets of two cards of the hand and three of the board."""
    return max(
        plain_strength([*two, *three], FULL_DECK)
        for two in combinations(hand, 2)
        for three in combinations(board, 3)
    )


def test_strengths_order_hands_as_the_definition():
    rng = np.random.default_rng(3)
    for _ in range(3):
        cards = rng.permutation(52)
        board = np.sort(cards[:5])
        hands = np.array([np.sort(rng.choice(cards[5:], 4, replace=False)) for _ in range(40)])
        ours = np.empty(len(hands), np.int64)
        omaha_strengths(board, hands, *FULL_DECK.strength_rules, ours)
        plain = [plain_omaha_strength(hand, board) for hand in hands.tolist()]
        for i, j in combinations(range(len(hands)), 2):
            expected = int(plain[i] > plain[j]) - int(plain[i] < plain[j])
            assert np.sign(ours[i] - ours[j]) == expected


def test_exactly_two_cards_of_the_hand_play():
    """A royal flush on the board, or four aces in the hand, are worth nothing."""
    board = np.array(parse_cards("AsKsQsJsTs"))
    hands = np.array([sorted(parse_cards(h)) for h in ("2c3d4h5c", "9s8s2d2h", "AhAdAc2h")])
    strength = np.empty(3, np.int64)
    omaha_strengths(board, hands, *FULL_DECK.strength_rules, strength)
    assert strength[1] > strength[2] > strength[0]


@dataclass(frozen=True)
class PlainOmaha:
    """A spot as ordinary rules; a deal is a pair of hands without a common card."""

    spot: Any
    num_players = 2

    @cached_property
    def deals(self):
        (first, v), (second, w) = (self.spot.live_hands(player) for player in (0, 1))
        pairs = [
            ((tuple(a), tuple(b)), x * y)
            for a, x in zip(first.tolist(), v, strict=True)
            for b, y in zip(second.tolist(), w, strict=True)
            if not set(a) & set(b)
        ]
        total = sum(weight for _, weight in pairs)
        return [(pair, weight / total) for pair, weight in pairs]

    def initial_state(self):
        return None, 0

    def player(self, state):
        if state[0] is None:
            return cp.CHANCE
        kind = self.spot.betting.nodes[state[1]].kind
        return kind if kind < FOLD else cp.TERMINAL

    def actions(self, state):
        return range(len(self.spot.betting.nodes[state[1]].actions))

    def chance_outcomes(self, state):
        return [(number, chance) for number, (_, chance) in enumerate(self.deals)]

    def next_state(self, state, action):
        if state[0] is None:
            return self.deals[action][0], 0
        return state[0], self.spot.betting.nodes[state[1]].first_child + action

    def utilities(self, state):
        hands, number = state
        first, second = (plain_omaha_strength(hand, self.spot.hold_em.cards) for hand in hands)
        place = 0 if first > second else 1 if first == second else 2
        node = self.spot.betting.nodes[number]
        payoffs = [leaf_payoffs(self.spot.hold_em, node, player) for player in (0, 1)]
        return [payoffs[0][place], payoffs[1][2 - place]]

    def infoset_key(self, state, player):
        if state[0] is None:
            return ""
        history = ",".join(self.spot.betting.actions_by_street(state[1])[0])
        return f"{cp.core.cards.cards_name(reversed(state[0][player]))}:{history}"

    def action_name(self, state, action):
        if state[0] is None:
            return str(action)
        return self.spot.betting.nodes[state[1]].actions[action]


SPOTS = {
    "pot bets": OmahaSpot(
        BOARD,
        ("KhKdQhTh,AcKcJdTd:0.5,QsTcTd3s,9h9s8c8d", "JsJdTsTd:25%,AdKcQdTc,AA77ds"),
        10,
        (40, 70),
    ),
    "sizes and rake": OmahaSpot(
        BOARD,
        ("KhKdQhTh,AcKcJdTd,QsTcTd3s", "KhQdTc8d,JsJdTsTd,7s7h6d5d"),
        20,
        (200, 200),
        (BetSizes("50% 100%", "100%"), BetSizes("75%", "2.5x")),
        rake=0.05,
        rake_cap=4,
        raise_cap=3,
    ),
}


@pytest.mark.parametrize("name", SPOTS)
def test_iterates_and_judgements_equal_those_of_the_tree(name):
    arena = OmahaArena(SPOTS[name], "float64")
    tree = cp.build_tree(PlainOmaha(SPOTS[name]))
    for iterations in (1, 7):
        ours = cp.solve(arena, "cfr_plus", iterations=iterations).policy
        plain = cp.solve(tree, "cfr_plus", iterations=iterations).policy
        same = {tree.infoset_key(i): ours[tree.infoset_key(i)] for i in range(tree.num_infosets)}
        copied = cp.Policy.from_dict(tree, same)
        assert copied.probabilities == pytest.approx(plain.probabilities, abs=1e-8)
        ours_judged, plain_judged = cp.judge(arena, ours), cp.judge(tree, plain)
        assert ours_judged.values == pytest.approx(plain_judged.values, abs=1e-9)
        assert ours_judged.best_values == pytest.approx(plain_judged.best_values, abs=1e-9)


def test_a_polar_range_bluffs_half_as_often_as_it_bets_for_value():
    """Pot-sized bet: the caller calls half of the time, and the pot is won at three quarters."""
    spot = OmahaSpot(BOARD, ("KhKdQhTh,3c3d4c5d", "JsJd8h8d"), 20, (20, 20))
    arena = OmahaArena(spot, "float64")
    policy = cp.solve(arena, cp.algorithms.DCFR(), iterations=3000).policy
    assert cp.judge(arena, policy).values == pytest.approx([15.0, 5.0], abs=0.01)
    assert policy["KhKdQhTh:"]["all-in 20"] == pytest.approx(1.0, abs=1e-3)
    assert policy["5d4c3d3c:"]["all-in 20"] == pytest.approx(0.5, abs=0.01)
    assert policy["JsJd8h8d:all-in 20"]["call"] == pytest.approx(0.5, abs=0.01)
    assert arena.frequencies(policy)["all-in 20"] == pytest.approx(0.75, abs=0.01)
    facing = arena.frequencies(policy, "all-in 20")
    assert facing["call"] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("text", "hands"),
    [
        ("random", 270_725),
        ("AAxx", 6 * 48 * 47 // 2 + 4 * 48 + 1),
        ("AAKK", 36),
        ("AAKKds", 6),
        ("JT98r", 24),
        ("AsKsQhJh", 1),
    ],
)
def test_ranges_have_the_number_of_hands_they_mean(text, hands):
    assert parse_omaha_range(text).sum() == hands


def test_the_first_entry_that_holds_a_hand_counts():
    weights = parse_omaha_range("AsAhKsKh:50%, AAKK:0.25, AAxx")
    assert sorted({*weights.tolist()}) == [0.0, 0.25, 0.5, 1.0]
    assert (weights == 0.5).sum() == 1 and (weights == 0.25).sum() == 35


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"board": "2s7d9cJh"}, "must have 5 cards"),
        ({"ranges": ("AAKQJ", "KKxx")}, "range entry 'AAKQJ'"),
        ({"ranges": ("AsAhKs", "KKxx")}, "has 3 cards, must have 4"),
        ({"ranges": ("AAxx:2", "KKxx")}, "weight must be from 0 to 1"),
        ({"ranges": ("KsAhAdAc", "KKxx")}, "has no hand on 2s7d9cJhKs"),
        ({"sizes": (BetSizes("150%", ""),) * 2}, "bet 30 is above the pot of 20"),
        ({"pot": 0}, "pot is 0"),
    ],
)
def test_wrong_spots_are_refused(changes, message):
    values = {"board": BOARD, "ranges": ("AAxx", "KKxx"), "pot": 20, "stacks": (99, 99)}
    with pytest.raises(ConfigError, match=message):
        OmahaSpot(**(values | changes))


def test_wrong_arenas_and_nodes_are_refused():
    spot = OmahaSpot(BOARD, ("AsAhAdAc", "AsAhAdAc"), 20, (99, 99))
    with pytest.raises(ConfigError, match="block each other"):
        OmahaArena(spot)
    spot = OmahaSpot(BOARD, ("KhKdQhTh", "JsJd8h8d"), 20, (20, 20))
    with pytest.raises(ConfigError, match="precision is 'int16'"):
        OmahaArena(spot, "int16")
    arena = OmahaArena(spot)
    with pytest.raises(ConfigError, match="no decision follows 'call'"):
        arena.find_node("call")
    with pytest.raises(ConfigError, match="has no infoset 'AA'"):
        arena.find_infoset("AA")
