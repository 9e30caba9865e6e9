"""Equity histograms of all hands on a board, and the nearest cluster centre of each."""

from __future__ import annotations

import numpy as np

from counterplay.kernels.holdem.hand_strength import board_strengths, sort_by_strength
from counterplay.kernels.runtime.jit import fma_kernel as kernel
from counterplay.kernels.runtime.jit import noinline_kernel

NUM_OPPONENT_HANDS = 990.0  # pairs of the 45 cards unseen on the river
BOUND_TOLERANCE = 1e-9  # rounding errors of sums over bins


@kernel
def add_equity_counts(board, cards, strength, order, rank, out):
    """Add each hand's equity against a uniform range on a board of five cards to its histogram."""
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
            wins = i - weaker[a] - weaker[b]
            ties = (k - i) - equal[a] - equal[b] + 1.0
            bin_index = int((wins + 0.5 * ties) / NUM_OPPONENT_HANDS * bins)
            out[o, min(bin_index, bins - 1)] += 1.0
        for c in range(52):
            weaker[c] += equal[c]
        i = k


@noinline_kernel
def compute_histograms(known, cards, out):
    """Set `out` [hands, bins] to the distribution of equity over all boards that extend `known`."""
    n, size = known.size, cards.shape[0]
    strength, order = np.empty(size, np.int64), np.empty(size, np.int64)
    rank, board = np.empty(size, np.int64), np.zeros(5, np.int64)
    is_dealt = np.zeros(52, np.bool_)
    for k in range(n):
        board[k], is_dealt[known[k]] = known[k], True
    out[:] = 0.0
    for a in range(52 if n < 5 else 1):
        if n < 5 and is_dealt[a]:
            continue
        if n == 5:
            add_equity_counts(board, cards, strength, order, rank, out)
        elif n == 4:
            board[4] = a
            add_equity_counts(board, cards, strength, order, rank, out)
        else:
            board[3] = a
            for b in range(a):
                if not is_dealt[b]:
                    board[4] = b
                    add_equity_counts(board, cards, strength, order, rank, out)
    for h in range(size):
        total = out[h].sum()
        if total > 0.0:
            out[h] /= total


@noinline_kernel
def count_river_bins(boards, permuted, bins, cards, num_bins, out):
    """Set `out` [hands, bins] to the distribution of the bins of hands over boards.

    Args:
        boards: [n, 4] row in `bins`, permutation of the suits, and the two cards that complete a
            board, or one card twice.
        permuted: [permutations, hands] index of each hand after a permutation.
        bins: [rows, hands] bin of each hand on each canonical board of five cards.
        cards: [hands, 2]
        num_bins: number of bins.
        out: zero for hands that no board leaves, also for those that share a card with all boards.
    """
    out[:] = 0.0
    for n in range(boards.shape[0]):
        row, s, x, y = boards[n, 0], boards[n, 1], boards[n, 2], boards[n, 3]
        for h in range(cards.shape[0]):
            a, b = cards[h, 0], cards[h, 1]
            if a != x and a != y and b != x and b != y:
                out[h, bins[row, permuted[s, h]]] += 1.0
    for h in range(cards.shape[0]):
        total = 0.0
        for b in range(num_bins):
            total += out[h, b]
        if total > 0.0:
            for b in range(num_bins):
                out[h, b] /= total


@noinline_kernel
def assign_nearest(points, centres, out):
    """Set `out` [n] to the nearest of `centres` [k, bins] to each histogram [n, bins].

    The distance is the earth mover's. Centres are cumulative distributions. An empty histogram
    gets the centre nearest to zero. A distance is at least the difference of the sums over bins,
    so centres are tried in the order of this difference until it exceeds the best distance.
    """
    num_centres, num_bins = centres.shape
    sums = np.zeros(num_centres)
    for k in range(num_centres):
        for b in range(num_bins):
            sums[k] += centres[k, b]
    order = np.argsort(sums)
    cumulative = np.empty(num_bins)
    for i in range(points.shape[0]):
        running, total = 0.0, 0.0
        for b in range(num_bins):
            running += points[i, b]
            cumulative[b] = running
            total += running
        above = 0
        while above < num_centres and sums[order[above]] < total:
            above += 1
        below, best, nearest = above - 1, np.inf, 0
        while True:
            gap_above = sums[order[above]] - total if above < num_centres else np.inf
            gap_below = total - sums[order[below]] if below >= 0 else np.inf
            if min(gap_above, gap_below) > best + BOUND_TOLERANCE:  # also if none is left
                break
            if gap_above <= gap_below:
                k = order[above]
                above += 1
            else:
                k = order[below]
                below -= 1
            distance = 0.0
            for b in range(num_bins):
                distance += abs(cumulative[b] - centres[k, b])
            if distance < best or (distance == best and k < nearest):
                best, nearest = distance, k
        out[i] = nearest
