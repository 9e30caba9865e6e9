"""Equity histograms of all hands on a board, and which of some centres each is nearest to."""

from __future__ import annotations

import numpy as np

from counterplay.kernels.holdem.hand_strength import board_strengths, sort_by_strength
from counterplay.kernels.runtime.jit import fma_kernel as kernel
from counterplay.kernels.runtime.jit import noinline_kernel

NUM_OPPONENT_HANDS = 990.0  # hands of two of the 45 cards that a player does not see on the river


@kernel
def add_equity_counts(board, cards, strength, order, rank, out):
    """Add every hand's equity against all others on a board of five cards to its histogram."""
    board_strengths(board, cards, strength)
    count = sort_by_strength(strength, order, rank)
    bins, i = out.shape[1], 0
    weaker, equal = np.zeros(52), np.zeros(52)
    while i < count:
        k = i
        equal[:] = 0.0
        while k < count and rank[k] == rank[i]:
            o = order[k]
            equal[cards[o, 0]] += 1.0
            equal[cards[o, 1]] += 1.0
            k += 1
        for j in range(i, k):
            o = order[j]
            a, b = cards[o, 0], cards[o, 1]
            won = i - weaker[a] - weaker[b]
            tied = (k - i) - equal[a] - equal[b] + 1.0
            place = int((won + 0.5 * tied) / NUM_OPPONENT_HANDS * bins)
            out[o, min(place, bins - 1)] += 1.0
        for c in range(52):
            weaker[c] += equal[c]
        i = k


@noinline_kernel
def compute_histograms(known, cards, out):
    """Set `out` [hands, bins] to how often each equity comes, over all boards from `known` on."""
    n, size = known.size, cards.shape[0]
    strength, order, rank = (
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
    )
    board, gone = np.zeros(5, np.int64), np.zeros(52, np.bool_)
    for k in range(n):
        board[k], gone[known[k]] = known[k], True
    out[:] = 0.0
    for a in range(52 if n < 5 else 1):
        if n < 5 and gone[a]:
            continue
        if n == 5:
            add_equity_counts(board, cards, strength, order, rank, out)
        elif n == 4:
            board[4] = a
            add_equity_counts(board, cards, strength, order, rank, out)
        else:
            board[3] = a
            for b in range(a):
                if not gone[b]:
                    board[4] = b
                    add_equity_counts(board, cards, strength, order, rank, out)
    for h in range(size):
        total = out[h].sum()
        if total > 0.0:
            out[h] /= total


@noinline_kernel
def assign_nearest(points, centres, out):
    """Set `out` [n] to the centre [k, bins] that moves least earth to each histogram [n, bins].

    Centres are cumulative; histograms of nothing get 0.
    """
    for i in range(points.shape[0]):
        best = np.inf
        out[i] = 0
        for k in range(centres.shape[0]):
            far, height = 0.0, 0.0
            for b in range(points.shape[1]):
                height += points[i, b]
                far += abs(height - centres[k, b])
            if far < best:
                best = far
                out[i] = k
