"""Exact equities before the flop: published figures, brute force on small decks, the cache."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from counterplay.arenas.holdem.hand_ranges import hand_class
from counterplay.arenas.preflop import equity_tables
from counterplay.arenas.preflop.deck import FULL_DECK, SHORT_DECK, Deck
from counterplay.arenas.preflop.equity_tables import build_equity_table, equity_table
from counterplay.arenas.preflop.multiway import multiway_equity, range_weights
from counterplay.core.cards import ALL_HANDS, parse_cards
from counterplay.errors import ConfigError
from counterplay.kernels.holdem.hand_strength import CARD_BIT
from counterplay.kernels.holdem.preflop_tables import deck_strength
from tests.arenas.preflop.plain_poker import plain_counts, plain_shares, plain_strength

SMALL_DECKS = [
    Deck(num_ranks=3, num_suits=2, num_board=0),
    Deck(num_ranks=5, num_suits=2, num_board=3),
    Deck(num_ranks=6, num_suits=2, num_board=5),
    Deck(num_ranks=4, num_suits=3, num_board=4),
    Deck(num_ranks=6, num_suits=2, num_board=5, ranking="short_deck"),
    Deck(num_ranks=6, num_suits=2, num_board=5, ranking="short_deck_trips"),
]


@pytest.mark.parametrize("deck", [FULL_DECK, SHORT_DECK, *SMALL_DECKS], ids=lambda d: d.name)
def test_strengths_order_hands_as_plain_poker_does(deck):
    rng = np.random.default_rng(1)
    hands = [rng.choice(deck.cards, deck.num_board + 2, replace=False) for _ in range(200)]
    if deck.num_board == 5:  # random hands are seldom flushes and full houses
        suited = [c for c in deck.cards if c % 4 == 0]
        hands += [np.append(rng.choice(suited, 5, replace=False), [1, 2]) for _ in range(20)]
        hands += [np.array([51, 50, 47, 46, 43, 42, 38]), np.array([51, 50, 49, 47, 46, 43, 39])]
        lowest = 4 * (13 - deck.num_ranks)
        hands += [np.array([48, lowest, lowest + 5, lowest + 8, lowest + 12, 49, 45])]
    ours = [
        deck_strength(np.bitwise_or.reduce(CARD_BIT[hand]), len(hand), *deck.strength_rules)
        for hand in hands
    ]
    plain = [plain_strength(hand.tolist(), deck) for hand in hands]
    for (a, b), (x, y) in zip(combinations(ours, 2), combinations(plain, 2), strict=True):
        assert (a > b, a == b) == (x > y, x == y)


def test_flushes_beat_full_houses_in_short_deck_only():
    flush, full = parse_cards("AhJhTh8h6hKcQd"), parse_cards("AcAdAsKhKdQs9c")
    trips, straight = parse_cards("AcAdAsKhQd9s7c"), parse_cards("AcKdQsJhTd8s6c")

    def strength(cards, deck):
        return deck_strength(np.bitwise_or.reduce(CARD_BIT[list(cards)]), 7, *deck.strength_rules)

    trips_deck = Deck(num_ranks=9, ranking="short_deck_trips")
    assert strength(flush, SHORT_DECK) > strength(full, SHORT_DECK)
    assert strength(flush, FULL_DECK) < strength(full, FULL_DECK)
    assert strength(straight, SHORT_DECK) > strength(trips, SHORT_DECK)
    assert strength(straight, trips_deck) < strength(trips, trips_deck)


def test_classes_are_those_of_the_full_deck():
    assert [hand_class(*hand) for hand in ALL_HANDS] == FULL_DECK.hand_class.tolist()
    assert FULL_DECK.hand_cards.tolist() == [list(hand) for hand in ALL_HANDS]
    sizes = dict(zip(FULL_DECK.class_names, FULL_DECK.class_sizes.tolist(), strict=True))
    assert (sizes["AKs"], sizes["AKo"], sizes["77"], sum(sizes.values())) == (4, 12, 6, 1326)


@pytest.mark.parametrize("deck", SMALL_DECKS, ids=lambda d: d.name)
def test_every_pair_of_hands_equals_brute_force(deck):
    table = build_equity_table(deck)
    wins, ties = table.hand_counts()
    hands = deck.hand_cards.tolist()
    rng = np.random.default_rng(2)
    for i in rng.choice(len(hands), 6, replace=False):
        for j in rng.choice(len(hands), 6, replace=False):
            if set(hands[i]) & set(hands[j]):
                continue
            assert (wins[i, j], ties[i, j]) == plain_counts(hands[i], hands[j], deck)


def test_counts_are_consistent():
    table = build_equity_table(Deck(num_ranks=5, num_suits=3, num_board=3))
    total = table.class_pairs * table.num_boards
    assert (table.class_wins + table.class_wins.T + table.class_ties == total).all()
    assert (table.class_ties == table.class_ties.T).all()
    equities = table.class_equities
    assert np.nanmax(np.abs(equities + equities.T - 1.0)) < 1e-12


def test_number_of_boards_up_to_suits():
    boards, weights = equity_tables.canonical_boards(FULL_DECK)
    assert (len(boards), int(weights.sum())) == (134_459, math.comb(52, 5))


@pytest.mark.parametrize("damage", ["truncate", "flip", "foreign"])
def test_damaged_table_is_built_again(damage, tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTERPLAY_CACHE", str(tmp_path))
    deck = Deck(num_ranks=4, num_suits=2, num_board=3)
    monkeypatch.setattr(equity_tables, "_tables", {})
    first = equity_table(deck)
    (file,) = tmp_path.iterdir()
    content = bytearray(file.read_bytes())
    if damage == "truncate":
        content = content[: len(content) // 2]
    elif damage == "flip":
        content[len(content) // 2] ^= 0xFF
    else:
        content = bytearray(b"not a table")
    file.write_bytes(content)
    monkeypatch.setattr(equity_tables, "_tables", {})
    again = equity_table(deck)
    assert (again.wins == first.wins).all() and (again.ties == first.ties).all()
    assert file.read_bytes() != bytes(content)
    monkeypatch.setattr(equity_tables, "_tables", {})
    assert (equity_table(deck).wins == first.wins).all()


# Boards won, lost and tied, counted by poker-eval (https://brainwagon.org/2005/04/09/texas-holdem-trivia)
PUBLISHED_COUNTS = {
    ("AdAc", "KhKs"): (1_388_072, 317_694, 6_538),
    ("AdAc", "Td9d"): (1_338_249, 367_143, 6_912),
    ("AdAc", "QcJh"): (1_450_987, 254_763, 6_554),
}
# The most one-sided match-up, kings against king-deuce: boards won and tied, from
# https://preflop26.rssing.com/chan-21442239/article8.html
KINGS_AGAINST_KING_DEUCE = ("KcKd", "Kh2c"), (1_612_287, 26_192)


@pytest.mark.slow
def test_full_deck_against_published_counts():
    table = equity_table()
    wins, ties = table.hand_counts()
    index = {hand: number for number, hand in enumerate(ALL_HANDS)}

    def counts(names):
        row, column = (index[tuple(sorted(parse_cards(name)))] for name in names)
        return int(wins[row, column]), int(wins[column, row]), int(ties[row, column])

    for names, expected in PUBLISHED_COUNTS.items():
        assert counts(names) == expected
    names, expected = KINGS_AGAINST_KING_DEUCE
    assert (counts(names)[0], counts(names)[2]) == expected
    exact = multiway_equity(["AdAc", "KhKs"])
    assert exact.values[0] == pytest.approx((1_388_072 + 6_538 / 2) / 1_712_304, abs=1e-12)
    assert table.class_equity("AA", "KK") == pytest.approx(0.8195, abs=5e-5)
    weights = range_weights("QQ+,AKs:0.5"), range_weights("random")
    assert table.range_equity(*weights) == pytest.approx(
        1.0 - table.range_equity(*reversed(weights)), abs=1e-12
    )


def test_ranges_against_ranges_equal_enumeration():
    deck = Deck(num_ranks=5, num_suits=3, num_board=3)
    table = build_equity_table(deck)
    texts = "AA,KQs:0.5,JTo", "TT+,AKo:0.25"
    weights = [range_weights(text, deck) for text in texts]
    exact = multiway_equity(texts, deck=deck)
    assert table.range_equity(*weights) == pytest.approx(exact.values[0], abs=1e-12)


def test_three_ranges_equal_plain_enumeration():
    deck = Deck(num_ranks=5, num_suits=2, num_board=3)
    texts = ["AA,KK", "QQ,AJo", "JTs,AQs"]
    hands = [
        [
            hand
            for hand, w in zip(deck.hand_cards.tolist(), range_weights(t, deck), strict=True)
            if w
        ]
        for t in texts
    ]
    exact = multiway_equity(texts, deck=deck)
    assert exact.values == pytest.approx(plain_shares(hands, deck), abs=1e-12)
    sampled = multiway_equity(texts, deck=deck, num_samples=20_000, seed=3)
    assert (np.abs(sampled.values - exact.values) <= 1.6 * sampled.margins).all()
    assert (sampled.margins < 0.01).all()


def test_boards_are_respected():
    exact = multiway_equity(["AhAd", "KhKd"], "2c7d9hJs")
    assert exact.values[0] == pytest.approx(42 / 44)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["AhAd", "AhAd"],), "block each other"),
        ((["AhAd", "KhKd"], "AhKs2d"), "holds a card of the board"),
        ((["random"] * 3,), "too many to enumerate"),
        ((["AA"],), "must be 2 to 10"),
        ((["AA", "KK"], "2c3c4c5c6c7c"), "more than 5"),
    ],
)
def test_bad_input_is_one_sentence(arguments, message):
    with pytest.raises(ConfigError, match=message):
        multiway_equity(*arguments)
    with pytest.raises(ConfigError, match="block each other"):
        multiway_equity(["AhAd", "AhAd"], num_samples=10)
    with pytest.raises(ConfigError, match="block each other"):  # six aces
        multiway_equity(["AA", "AA", "AA"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"num_ranks": 14}, "num_ranks is 14, must be a whole number from 2 to 13"),
        ({"ranking": "omaha"}, "ranking is 'omaha'"),
        ({"num_ranks": 3, "num_suits": 2}, "6 cards are too few"),
    ],
)
def test_impossible_decks_are_refused(parameters, message):
    with pytest.raises(ConfigError, match=message):
        Deck(**parameters)
