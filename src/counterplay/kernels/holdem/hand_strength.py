"""Strength of poker hands of 1 to 7 cards, and all hands of a board sorted by strength.

A set of cards is 64 bits, one per card: bit `16 * suit + rank`. The bits that the four 13-bit masks
of the suits have in common give the number of cards of each rank, so that a strength takes a few
bit operations and two small tables (benchmarks/holdem/holdem.md has the speed).
"""

from __future__ import annotations

import numpy as np

from counterplay.kernels.runtime.jit import kernel

CATEGORIES = (
    "high card",
    "pair",
    "two pair",
    "three of a kind",
    "straight",
    "flush",
    "full house",
    "four of a kind",
    "straight flush",
)
CATEGORY_SHIFT = 26  # strength: category, 13 bits of its ranks, 13 bits of kickers
_MASKS = np.arange(1 << 13)
BIT_COUNT = np.array([int(m).bit_count() for m in _MASKS], np.uint8)  # cards of a suit
HIGHEST_BIT = np.array([0] + [1 << (int(m).bit_length() - 1) for m in _MASKS[1:]], np.int32)
_LOW_ACE = (_MASKS << 1) | (_MASKS >> 12)
_RUNS = np.array([_LOW_ACE >> k for k in range(5)])
_RUN = np.bitwise_and.reduce(
    _RUNS, axis=0
)  # bit r: ranks r - 1 to r + 3; an ace is also below the deuce
STRAIGHT_TOP = np.array([0] + [int(m).bit_length() for m in _RUN[1:]], np.int32)
CARD_BIT = np.array([1 << (16 * (card % 4) + card // 4) for card in range(52)], np.uint64)
PAIR, TWO_PAIR, TRIPS, STRAIGHT_CATEGORY, FLUSH, FULL_HOUSE, QUADS, STRAIGHT_FLUSH = (
    k << CATEGORY_SHIFT for k in range(1, 9)
)


@kernel
def flush_strength(mask):
    """Return the strength of five or more cards of one suit."""
    if STRAIGHT_TOP[mask] > 0:
        return STRAIGHT_FLUSH | STRAIGHT_TOP[mask]
    for _ in range(BIT_COUNT[mask] - 5):
        mask &= mask - 1
    return FLUSH | mask


@kernel
def rank_strength(a, b, c, d, spare):
    """Return the strength of `5 + spare` cards without a flush; a to d are the ranks by suit.

    `spare` is negative for fewer than five cards, which cannot make a straight.
    """
    ranks = a | b | c | d
    pairs = (a & b) | (c & d) | ((a | b) & (c | d))
    if pairs == 0:
        if STRAIGHT_TOP[ranks] > 0:
            return STRAIGHT_CATEGORY | STRAIGHT_TOP[ranks]
        for _ in range(spare):
            ranks &= ranks - 1
        return ranks
    trips = (a & b & (c | d)) | (c & d & (a | b))
    quads = a & b & c & d
    if quads:
        return QUADS | quads << 13 | HIGHEST_BIT[ranks ^ quads]
    if trips:
        best = HIGHEST_BIT[trips]
        if pairs != best:
            return FULL_HOUSE | best << 13 | HIGHEST_BIT[pairs ^ best]
    if STRAIGHT_TOP[ranks] > 0:
        return STRAIGHT_CATEGORY | STRAIGHT_TOP[ranks]
    if trips:
        category, kickers = TRIPS, ranks ^ trips
    elif pairs & (pairs - 1):
        best = HIGHEST_BIT[pairs]
        best |= HIGHEST_BIT[pairs ^ best]
        return TWO_PAIR | best << 13 | HIGHEST_BIT[ranks ^ best]
    else:
        category, kickers = PAIR, ranks ^ pairs
    for _ in range(spare):
        kickers &= kickers - 1
    return category | (trips or pairs) << 13 | kickers


@kernel
def strength(cards, count):
    """Return the strength of a set of `count` cards, 1 to 7, given as bits."""
    bits = np.int64(cards)
    a, b, c, d = bits & 8191, (bits >> 16) & 8191, (bits >> 32) & 8191, (bits >> 48) & 8191
    for mask in (a, b, c, d):
        if BIT_COUNT[mask] >= 5:
            return flush_strength(mask)
    return rank_strength(a, b, c, d, count - 5)


@kernel
def strengths(cards, out):
    """Set `out` [n] to the strengths of the hands `cards` [n, 1 to 7]."""
    for i in range(cards.shape[0]):
        bits = np.uint64(0)
        for k in range(cards.shape[1]):
            bits |= CARD_BIT[cards[i, k]]
        out[i] = strength(bits, cards.shape[1])


@kernel
def count_categories(first, last, out):
    """Add to `out` [9] the numbers of 7-card hands by category.

    Covers the hands whose highest card is `first` to `last` - 1.
    """
    for a in range(first, last):
        for b in range(a):
            for c in range(b):
                three_cards = CARD_BIT[a] | CARD_BIT[b] | CARD_BIT[c]
                for d in range(c):
                    for e in range(d):
                        five_cards = three_cards | CARD_BIT[d] | CARD_BIT[e]
                        for f in range(e):
                            six_cards = five_cards | CARD_BIT[f]
                            for g in range(f):
                                out[strength(six_cards | CARD_BIT[g], 7) >> CATEGORY_SHIFT] += 1


@kernel
def board_strengths(board, cards, out):
    """Set `out` [n] to the strengths of hands `cards` [n, 2] with the five cards of `board`.

    Hands that share a card with the board get -1. Rank strengths are computed once per pair of
    ranks; flushes are checked only if the board has three cards of a suit.
    """
    bits = np.uint64(0)
    for k in range(5):
        bits |= CARD_BIT[board[k]]
    table = np.full((13, 13), -1, np.int64)
    suit, suit_mask = -1, np.int64(0)
    for s in range(4):
        mask = np.int64(bits >> np.uint64(16 * s)) & 8191
        if BIT_COUNT[mask] >= 3:
            suit, suit_mask = s, mask
    all_bits = np.int64(bits)
    a, b, c, d = (
        all_bits & 8191,
        (all_bits >> 16) & 8191,
        (all_bits >> 32) & 8191,
        (all_bits >> 48) & 8191,
    )
    for i in range(cards.shape[0]):
        low, high = cards[i, 0], cards[i, 1]
        pair = CARD_BIT[low] | CARD_BIT[high]
        if pair & bits:
            out[i] = -1
            continue
        if suit >= 0:
            mask = suit_mask | (np.int64(pair >> np.uint64(16 * suit)) & 8191)
            if BIT_COUNT[mask] >= 5:
                out[i] = flush_strength(mask)
                continue
        value = table[low >> 2, high >> 2]
        if value < 0:
            # suits do not matter here: use any suit whose card of that rank is free
            value = _rank_pair_strength(a, b, c, d, low >> 2, high >> 2)
            table[low >> 2, high >> 2] = value
        out[i] = value


@kernel
def _rank_pair_strength(a, b, c, d, low, high):
    for rank in (low, high):
        bit = 1 << rank
        if not a & bit:
            a |= bit
        elif not b & bit:
            b |= bit
        elif not c & bit:
            c |= bit
        else:
            d |= bit
    return rank_strength(a, b, c, d, 2)


@kernel
def sort_by_strength(strength, order, ranks):
    """Set `order` to the hands by rising strength and `ranks` to 0, 1, ... by strength.

    Hands of strength -1 are left out. Returns the number of hands.
    """
    keys = np.empty(strength.size, np.int64)
    count = 0
    for i in range(strength.size):
        if strength[i] >= 0:
            keys[count] = np.int64(strength[i]) << 11 | i
            count += 1
    keys = np.sort(keys[:count])
    last, rank = np.int64(-1), -1
    for k in range(count):
        if keys[k] >> 11 != last:
            last = keys[k] >> 11
            rank += 1
        order[k], ranks[k] = keys[k] & 2047, rank
    return count
