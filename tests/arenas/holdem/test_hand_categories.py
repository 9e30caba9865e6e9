"""Made hands and draws: known hands, and agreement with the strength of all five-card choices."""

from __future__ import annotations

import random

import pytest

from counterplay.arenas.holdem.hand_categories import (
    DRAWS,
    MADE_HANDS,
    check_category,
    classify_hand,
)
from counterplay.core.cards import parse_cards
from counterplay.errors import ConfigError
from counterplay.games.holdem_base import hand_strength

KNOWN = [
    ("AdKd", "Qd7d2s", "ace high", ("flush draw", "overcards")),
    ("AsAh", "KdQc2s", "overpair", ("no draw",)),
    ("7s7h", "7dQc2s", "set", ("no draw",)),
    ("7sKh", "7d7c2s", "trips", ("no draw",)),
    ("KsQh", "KdQc2s", "two pair", ("no draw",)),
    ("KsJh", "KdQc2s", "top pair", ("no draw",)),
    ("QsJd", "KdQc2s", "second pair", ("no draw",)),
    ("As2h", "KdQc2s", "low pair", ("no draw",)),
    ("JsJh", "KdQc2s", "pocket pair", ("no draw",)),
    ("2s2h", "KdQc3d", "underpair", ("no draw",)),
    ("JhTc", "9d8c2s", "no made hand", ("open-ended", "overcards")),
    ("JhTs", "8d7c2s", "no made hand", ("gutshot", "overcards")),
    ("Jh9s", "8d7cTs", "straight", ("no draw",)),
    ("Jh7s", "9d8cTs", "straight", ("no draw",)),
    ("Ah2s", "3d4c9s", "ace high", ("gutshot",)),
    ("QsJs", "Ts9d2h", "no made hand", ("open-ended", "backdoor flush draw", "overcards")),
    ("Ac2c", "KcQc9c", "flush", ("no draw",)),
    ("KsKh", "KdQcQs", "full house", ("no draw",)),
    ("KsKh", "KdKcQs", "quads", ("no draw",)),
    ("8s7s", "9sTsJs", "straight flush", ("no draw",)),
    ("AdKd", "Qd7d2s3c4h", "ace high", ("no draw",)),  # nothing comes after the river
    ("KsJh", "KdQcQs", "top pair", ("no draw",)),  # the pair of queens is everyone's
    ("Kd4s", "Ad9d2s8d", "king high", ("flush draw",)),
]


@pytest.mark.parametrize(("hand", "board", "made", "draws"), KNOWN)
def test_known_hands(hand, board, made, draws):
    found = classify_hand(parse_cards(hand), parse_cards(board))
    assert (found.made, found.draws) == (made, draws)


def test_categories_agree_with_the_strength_of_seven_cards():
    """Straights and better by name are those by rank; draws are made by one more card."""
    rng = random.Random(5)
    names = {4: "straight", 5: "flush", 6: "full house", 7: "quads", 8: "straight flush"}
    for _ in range(400):
        cards = rng.sample(range(52), rng.choice((5, 6, 7)))
        hand, board = cards[:2], cards[2:]
        found = classify_hand(hand, board)
        category = hand_strength(tuple(cards))[0]
        assert names.get(category, found.made) == found.made
        assert (found.made in names.values()) == (category in names)
        assert found.made in MADE_HANDS and set(found.draws) <= set(DRAWS)
        if len(board) == 5 or category >= 4:
            continue
        outs = {4: set(), 5: set()}  # ranks or cards that make it, and not on the board alone
        for card in set(range(52)) - set(cards):
            kind = hand_strength((*cards, card))[0]
            public = hand_strength((*board, card))[0] if len(board) == 4 else 0
            if kind in outs and public != kind:
                outs[kind].add(card // 4 if kind == 4 else card)
            elif kind == 8:
                outs[4].add(card // 4)
                outs[5].add(card)
        assert ("flush draw" in found.draws) == bool(outs[5])
        if not outs[5]:
            expected = "open-ended" if len(outs[4]) >= 2 else "gutshot" if outs[4] else None
            straight_draws = [d for d in found.draws if d in ("open-ended", "gutshot")]
            assert straight_draws == ([expected] if expected else [])


def test_unknown_categories_are_refused():
    assert check_category("top pair") == "top pair"
    with pytest.raises(ConfigError, match="did you mean 'gutshot'"):
        check_category("gutshoot")
