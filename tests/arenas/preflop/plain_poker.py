"""Plain Python poker: strengths by looking at every five of the cards, for comparison."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations

CATEGORY_ORDERS = {
    "standard": "high pair two trips straight flush full quads straight_flush",
    "short_deck": "high pair two trips straight full flush quads straight_flush",
    "short_deck_trips": "high pair two straight trips full flush quads straight_flush",
}


def plain_strength(cards, deck):
    """The strength of the best five cards, or of all if they are fewer, as a tuple."""
    size = min(5, len(cards))
    return max(five_strength(part, deck) for part in combinations(cards, size))


def five_strength(cards, deck):
    ranks = sorted((card // 4 for card in cards), reverse=True)
    count = Counter(ranks)
    by_count = sorted(count, key=lambda rank: (count[rank], rank), reverse=True)
    shape = tuple(sorted(count.values(), reverse=True))
    is_flush = len(cards) == 5 and len({card % 4 for card in cards}) == 1
    lowest = 13 - deck.num_ranks
    top = 0
    if len(count) == 5 and len(cards) == 5:
        if ranks[0] - ranks[4] == 4:
            top = ranks[0]
        elif ranks == [12, lowest + 3, lowest + 2, lowest + 1, lowest]:
            top = lowest + 3
    if is_flush and top:
        name, key = "straight_flush", [top]
    elif shape[0] == 4:
        name, key = "quads", by_count
    elif shape[:2] == (3, 2):
        name, key = "full", by_count
    elif is_flush:
        name, key = "flush", ranks
    elif top:
        name, key = "straight", [top]
    elif shape[0] == 3:
        name, key = "trips", by_count
    elif shape[:2] == (2, 2):
        name, key = "two", by_count
    elif shape[0] == 2:
        name, key = "pair", by_count
    else:
        name, key = "high", ranks
    return CATEGORY_ORDERS[deck.ranking].split().index(name), tuple(key)


def plain_counts(first, second, deck):
    """Boards that the first hand wins and ties against the second."""
    left = [card for card in deck.cards.tolist() if card not in (*first, *second)]
    wins = ties = 0
    for board in combinations(left, deck.num_board):
        one, other = (plain_strength([*hand, *board], deck) for hand in (first, second))
        wins, ties = wins + (one > other), ties + (one == other)
    return wins, ties


def plain_shares(ranges, deck):
    """Exact shares of the pot of ranges that are lists of hands, over every deal."""
    total, shares = 0, [Fraction(0)] * len(ranges)

    def deal(hands, used):
        nonlocal total
        if len(hands) < len(ranges):
            for hand in ranges[len(hands)]:
                if not used & set(hand):
                    deal([*hands, hand], used | set(hand))
            return
        left = [card for card in deck.cards.tolist() if card not in used]
        for board in combinations(left, deck.num_board):
            strengths = [plain_strength([*hand, *board], deck) for hand in hands]
            best = [p for p, strength in enumerate(strengths) if strength == max(strengths)]
            total += 1
            for player in best:
                shares[player] += Fraction(1, len(best))

    deal([], set())
    return [float(share / total) for share in shares]
