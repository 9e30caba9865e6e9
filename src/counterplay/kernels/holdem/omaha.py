"""Omaha hands on a full board: the best five cards of exactly two of a hand and three of the board.

Two cards of four and three of five make sixty sets, of which the strongest counts. Cards and
strengths are those of `preflop_tables`.
"""

from __future__ import annotations

import numpy as np

from counterplay.kernels.holdem.hand_strength import CARD_BIT
from counterplay.kernels.holdem.preflop_tables import deck_strength
from counterplay.kernels.runtime.jit import noinline_kernel


@noinline_kernel
def omaha_strengths(board, hands, straight_top, category_order, out):
    """Set `out` [n] to the strengths of hands [n, 4] on a board of five cards."""
    triples, count = np.zeros(10, np.uint64), 0
    for i in range(5):
        for j in range(i):
            for k in range(j):
                triples[count] = CARD_BIT[board[i]] | CARD_BIT[board[j]] | CARD_BIT[board[k]]
                count += 1
    for h in range(hands.shape[0]):
        best = np.int64(-1)
        for i in range(4):
            for j in range(i):
                pair = CARD_BIT[hands[h, i]] | CARD_BIT[hands[h, j]]
                for triple in triples:
                    value = deck_strength(pair | triple, 5, straight_top, category_order)
                    best = max(best, value)
        out[h] = best


@noinline_kernel
def compare_hands(cards, others, strength, other_strength, disjoint, result):
    """Set `disjoint` [n, m] to 1 where two hands share no card, and `result` to who wins there.

    Args:
        cards: [n] bits of the hands.
        others: [m] bits of the other player's hands.
        strength: [n].
        other_strength: [m].
        disjoint: 1 or 0.
        result: 1 if the first hand wins, -1 if the other one does, 0 for ties and shared cards.
    """
    for i in range(cards.size):
        for j in range(others.size):
            if cards[i] & others[j]:
                disjoint[i, j], result[i, j] = 0.0, 0.0
            else:
                disjoint[i, j] = 1.0
                x, y = strength[i], other_strength[j]
                result[i, j] = int(x > y) - int(x < y)
