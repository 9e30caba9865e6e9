"""Cards, ranges and hand strengths."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterplay as cp
from counterplay.arenas.holdem.hand_ranges import Range, format_range, read_entries
from counterplay.core.cards import canonical_flops, cards_name, hand_index, parse_cards
from counterplay.kernels.holdem import hand_strength
from tests.arenas.holdem.spots import IP, OOP

pytestmark = pytest.mark.xdist_group("public")  # compiled once, by one worker


def test_cards_are_parsed_and_named():
    assert parse_cards("Td9d6h") == parse_cards("10d, 9D 6h") == (33, 29, 18)
    assert cards_name((33, 29, 18)) == "Td9d6h"
    flops = canonical_flops()
    assert len(flops) == 1755 and sum(flops.values()) == 22_100


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("88+", 42),
        ("22-55", 24),
        ("QQ-TT", 18),
        ("AKs", 4),
        ("AKo", 12),
        ("AK", 16),
        ("A8s+", 24),
        ("A5s-A2s:0.5", 8),
        ("AhKd", 1),
        ("92+", 112),
        ("random", 1326),
        ("AA,AA:0.5", 6),  # the first entry counts
        ("AA:0.5,QQ+", 15),
        ("AA:50%", 3),
        ("[50]AA,KK[/50],QQ", 12),
        ("Axs", 48),
        ("Kx", 176),
        (OOP, 247.4),
    ],
)
def test_ranges_have_known_numbers_of_combos(text, count):
    found = Range.parse(text)
    assert found.num_combos == pytest.approx(count)
    np.testing.assert_array_equal(Range.parse(str(found)).weights, found.weights)


@given(st.lists(st.sampled_from([0.0, 0.0, 0.25, 1.0]), min_size=1326, max_size=1326))
def test_described_ranges_are_the_same(weights):
    weights = np.array(weights)
    weights[0] = 1.0
    np.testing.assert_array_equal(Range.parse(format_range(weights)).weights, weights)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("88+,A5x", "position 5: cannot read 'A5x'"),
        ("AsAs", "position 1: 'AsAs' has the same card twice"),
        ("KK, AK:1.5", "position 5: the weight '1.5'"),
        ("AKs-QTs", "must keep the high card or the gap"),
        ("AKs-QJo", "must keep the high card or the gap"),
        ("[50]AA", "position 1: [50] is not closed"),
        ("AA[/50]", "position 3: [/50] closes nothing"),
        ("[50]AA:0.5[/50]", "position 5: 'AA:0.5' has a weight inside brackets"),
        ("[150]AA[/150]", "the weight '150%'"),
        ("2x", "no card is lower"),
        ("AK+-AJ", "cannot read"),
        ("88s", "neither suited nor offsuit"),
        ("", "has no hands"),
        ("AA:nan", "not a number from 0 to 1"),
    ],
)
def test_bad_ranges(text, problem):
    with pytest.raises(cp.ConfigError, match=re.escape(problem)):
        Range.parse(text)


@pytest.mark.parametrize(
    ("text", "same"),
    [  # as postflop-solver reads them
        ("88+", "AA,KK,QQ,JJ,TT,99,88"),
        ("98s+", "AKs,KQs,QJs,JTs,T9s,98s"),
        ("T9s+", "T9s,JTs,QJs,KQs,AKs"),
        ("T9o+", "T9o,JTo,QJo,KQo,AKo"),
        ("54+", "54,65,76,87,98,T9,JT,QJ,KQ,AK"),
        ("AKs+", "AKs"),
        ("T8s+", "T8s,T9s"),
        ("A8o+", "AKo,AQo,AJo,ATo,A9o,A8o"),
        ("88-55", "88,77,66,55"),
        ("98s-65s", "98s,87s,76s,65s"),
        ("KQs-JTs", "KQs,QJs,JTs"),
        ("AQo-86o", "AQo,KJo,QTo,J9o,T8o,97o,86o"),
        ("K5-K2", "K5,K4,K3,K2"),
        ("8s8h+", "AhAs,KhKs,QhQs,JhJs,ThTs,9h9s,8h8s"),
        ("9d8d-6d5d", "9d8d,8d7d,7d6d,6d5d"),
        ("AhAs-QhQs,JJ", "JJ,AhAs,KhKs,QhQs"),
        (" 98s - 65s : 0.25 ", "98s:.25,87s:.25,76s:.25,65s:.25"),
        # and forms that other programs write
        ("Axs", "A2s+"),
        ("Ax", "A2s+,A2o+"),
        ("Kxo", "K2o+"),
        ("22-55", "55-22"),
        ("[33.5]AA,AKs[/33.5]", "AA:33.5%,AKs:33.5%"),
    ],
)
def test_forms_of_entries(text, same):
    np.testing.assert_array_equal(Range.parse(text).weights, Range.parse(same).weights)


ENTRY = st.one_of(
    st.sampled_from(["T9s+", "T8s+", "KQs-JTs", "Axs", "Qxo", "88+", "QQ-TT", "AhKd", "random"]),
    st.tuples(st.sampled_from("23456789TJQKA"), st.sampled_from("23456789TJQKA")).map(
        lambda ranks: "".join(ranks) + ("" if ranks[0] == ranks[1] else "s+")
    ),
)


@given(st.lists(st.tuples(ENTRY, st.floats(0.001, 1.0)), min_size=1, max_size=8))
def test_texts_of_ranges_are_read_as_the_same_range(entries):
    text = ",".join(f"{entry}:{weight!r}" for entry, weight in entries)
    found = Range.parse(text)
    again = Range.parse(str(found))
    np.testing.assert_array_equal(again.weights, found.weights)
    assert str(again) == str(found)


def test_entries_say_what_was_read():
    entries = read_entries("T9s+:50%, [25]AA[/25];random")
    assert [entry.meaning for entry in entries] == [
        "T9s, JTs, QJs, KQs, AKs at 0.5",
        "AA at 0.25",
        "every hand",
    ]
    assert [len(entry.hands) for entry in entries] == [20, 6, 1326]


def test_five_card_hands():
    cards = np.array(list(combinations(range(52), 5)), np.uint8)
    found = np.zeros(len(cards), np.int64)
    hand_strength.strengths(cards, found)
    counts = [1302540, 1098240, 123552, 54912, 10200, 5108, 3744, 624, 40]
    assert np.bincount(found >> hand_strength.CATEGORY_SHIFT).tolist() == counts
    assert np.unique(found).size == 7462


def test_all_seven_card_hands():
    counts = np.zeros(9, np.int64)
    hand_strength.count_categories(6, 52, counts)
    wanted = [23294460, 58627800, 31433400, 6461620, 6180020, 4047644, 3473184, 224848, 41584]
    assert counts.tolist() == wanted and counts.sum() == 133_784_560


def test_seven_cards_are_as_strong_as_their_best_five():
    rng = np.random.default_rng(0)
    seven = np.array([rng.permutation(52)[:7] for _ in range(300)], np.uint8)
    found, part = np.zeros(300, np.int64), np.zeros(300, np.int64)
    hand_strength.strengths(seven, found)
    best = np.zeros(300, np.int64)
    for chosen in combinations(range(7), 5):
        hand_strength.strengths(np.ascontiguousarray(seven[:, chosen]), part)
        best = np.maximum(best, part)
    np.testing.assert_array_equal(found, best)
    boards = np.zeros(300, np.int64)
    for i, cards in enumerate(seven.astype(np.int64)):
        hand_strength.board_strengths(
            cards[:5], np.sort(cards[5:]).reshape(1, 2), boards[i : i + 1]
        )
    np.testing.assert_array_equal(found, boards)


def test_equity_equals_known_values():
    assert cp.holdem.compute_equity(OOP, IP, "QsJh2h").value == pytest.approx(0.55347, abs=1e-5)
    assert cp.holdem.compute_equity("AsAh", "KsKh", "2s3h4d6c7c").value == 1.0
    assert cp.holdem.compute_equity("AA", "AA", "2c6dTh").value == pytest.approx(0.5)
    sampled = cp.holdem.compute_equity(OOP, IP, "QsJh2h", num_samples=300)
    assert abs(sampled.value - 0.55347) < 2 * sampled.margin < 0.02


def test_equity_by_brute_force():
    board, one, other = parse_cards("QsJh2h9c"), ("AhKh", "Td8d"), ("QcQd", "KcTh", "7h6h")
    wins = np.zeros(2)
    for first in one:
        for second in other:
            held = parse_cards(first + second)
            for card in set(range(52)) - {*board, *held}:
                both = np.array([[*board, card, *held[:2]], [*board, card, *held[2:]]], np.uint8)
                found = np.zeros(2, np.int64)
                hand_strength.strengths(both, found)
                wins += (1.0 + np.sign(found[0] - found[1])) / 2, 1.0
    found = cp.holdem.compute_equity(",".join(one), ",".join(other), "QsJh2h9c")
    assert found.value == pytest.approx(wins[0] / wins[1], abs=1e-12)
    assert np.isfinite(found.by_hand[0]).sum() == 2
    assert 0.0 < found.by_hand[0][hand_index(*parse_cards("AhKh"))] < 1.0


def test_bad_equity():
    for arguments in (("AA", "KK", "AsAs"), ("AsAh", "AsKs"), ("AsAh", "KK", "As2c3c")):
        with pytest.raises(cp.ConfigError):
            cp.holdem.compute_equity(*arguments)
