"""Cards, ranges and hand strengths."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterplay as cp
from counterplay.cards import canonical_flops, cards_name, hand_index, parse_cards
from counterplay.kernels import hands
from counterplay.public.ranges import Range, describe
from tests.public.spots import IP, OOP

pytestmark = pytest.mark.xdist_group("public")  # compiled once, by one worker


def test_cards():
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
        ("AA,AA:0.5", 3),
        (OOP, 247.4),
    ],
)
def test_ranges(text, count):
    found = Range.parse(text)
    assert found.num_hands == pytest.approx(count)
    np.testing.assert_array_equal(Range.parse(str(found)).weights, found.weights)


@given(st.lists(st.sampled_from([0.0, 0.0, 0.25, 1.0]), min_size=1326, max_size=1326))
def test_described_ranges_are_the_same(weights):
    weights = np.array(weights)
    weights[0] = 1.0
    np.testing.assert_array_equal(Range.parse(describe(weights)).weights, weights)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("88+,A5x", "position 5: cannot read 'A5x'"),
        ("AsAs", "position 1: 'AsAs' has the same card twice"),
        ("KK, AK:1.5", "position 5: the weight '1.5'"),
        ("AKs-QJs", "does not run"),
        ("88s", "neither suited nor offsuit"),
        ("", "has no hands"),
        ("AA:nan", "not a number from 0 to 1"),
    ],
)
def test_bad_ranges(text, problem):
    with pytest.raises(cp.ConfigError, match="(?s).*".join(problem.split("(")[:1])):
        Range.parse(text)


def test_five_card_hands():
    cards = np.array(list(combinations(range(52), 5)), np.uint8)
    found = np.zeros(len(cards), np.int64)
    hands.strengths(cards, found)
    counts = [1302540, 1098240, 123552, 54912, 10200, 5108, 3744, 624, 40]
    assert np.bincount(found >> hands.SHIFT).tolist() == counts
    assert np.unique(found).size == 7462


def test_all_seven_card_hands():
    counts = np.zeros(9, np.int64)
    hands.count_categories(6, 52, counts)
    wanted = [23294460, 58627800, 31433400, 6461620, 6180020, 4047644, 3473184, 224848, 41584]
    assert counts.tolist() == wanted and counts.sum() == 133_784_560


def test_seven_cards_are_as_strong_as_their_best_five():
    rng = np.random.default_rng(0)
    seven = np.array([rng.permutation(52)[:7] for _ in range(300)], np.uint8)
    found, part = np.zeros(300, np.int64), np.zeros(300, np.int64)
    hands.strengths(seven, found)
    best = np.zeros(300, np.int64)
    for chosen in combinations(range(7), 5):
        hands.strengths(np.ascontiguousarray(seven[:, chosen]), part)
        best = np.maximum(best, part)
    np.testing.assert_array_equal(found, best)
    boards = np.zeros(300, np.int64)
    for i, cards in enumerate(seven.astype(np.int64)):
        hands.board_strengths(cards[:5], np.sort(cards[5:]).reshape(1, 2), boards[i : i + 1])
    np.testing.assert_array_equal(found, boards)


def test_equity():
    assert cp.equity(OOP, IP, "QsJh2h").value == pytest.approx(0.55347, abs=1e-5)
    assert cp.equity("AsAh", "KsKh", "2s3h4d6c7c").value == 1.0
    assert cp.equity("AA", "AA", "2c6dTh").value == pytest.approx(0.5)
    sampled = cp.equity(OOP, IP, "QsJh2h", samples=300)
    assert abs(sampled.value - 0.55347) < 2 * sampled.error < 0.02


def test_equity_by_brute_force():
    board, one, other = parse_cards("QsJh2h9c"), ("AhKh", "Td8d"), ("QcQd", "KcTh", "7h6h")
    wins = np.zeros(2)
    for first in one:
        for second in other:
            held = parse_cards(first + second)
            for card in set(range(52)) - {*board, *held}:
                both = np.array([[*board, card, *held[:2]], [*board, card, *held[2:]]], np.uint8)
                found = np.zeros(2, np.int64)
                hands.strengths(both, found)
                wins += (1.0 + np.sign(found[0] - found[1])) / 2, 1.0
    found = cp.equity(",".join(one), ",".join(other), "QsJh2h9c")
    assert found.value == pytest.approx(wins[0] / wins[1], abs=1e-12)
    assert np.isfinite(found.by_hand[0]).sum() == 2
    assert 0.0 < found.by_hand[0][hand_index(*parse_cards("AhKh"))] < 1.0


def test_bad_equity():
    for arguments in (("AA", "KK", "AsAs"), ("AsAh", "AsKs"), ("AsAh", "KK", "As2c3c")):
        with pytest.raises(cp.ConfigError):
            cp.equity(*arguments)
