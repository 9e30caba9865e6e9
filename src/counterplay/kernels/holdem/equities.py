"""Equity of two ranges over all boards: on each, one sweep over the hands sorted by strength."""

from __future__ import annotations

import numpy as np
from numpy import uint64

from counterplay.kernels.holdem.deal_walk import sort_hands
from counterplay.kernels.holdem.hand_strength import CARD_BIT, board_strengths
from counterplay.kernels.runtime.jit import fma_kernel as kernel
from counterplay.kernels.runtime.jit import noinline_kernel


@kernel
def score_showdowns(
    order, rank, cards, count, opposite, opposite_rank, other_cards, num, weight, same, out
):
    """Add to `out` [n, 2] the weight won (ties count half) and the weight faced by each hand."""
    by_card, weaker, total, less = np.zeros(52), np.zeros(52), 0.0, 0.0
    for j in range(num):
        o = opposite[j]
        total += weight[o]
        by_card[other_cards[o, 0]] += weight[o]
        by_card[other_cards[o, 1]] += weight[o]
    i, j = 0, 0
    while i < count:
        level, k = rank[i], i
        while j < num and opposite_rank[j] < level:
            o = opposite[j]
            less += weight[o]
            weaker[other_cards[o, 0]] += weight[o]
            weaker[other_cards[o, 1]] += weight[o]
            j += 1
        while k < count and rank[k] == level:
            o = order[k]
            out[o, 0] += 0.5 * (less - weaker[cards[o, 0]] - weaker[cards[o, 1]])
            k += 1
        while j < num and opposite_rank[j] == level:
            o = opposite[j]
            less += weight[o]
            weaker[other_cards[o, 0]] += weight[o]
            weaker[other_cards[o, 1]] += weight[o]
            j += 1
        for m in range(i, k):
            o = order[m]
            a, b, twice = cards[o, 0], cards[o, 1], weight[same[o]]
            out[o, 0] += 0.5 * (less - weaker[a] - weaker[b] + twice)
            out[o, 1] += total - by_card[a] - by_card[b] + twice
        i = k


@noinline_kernel
def add_pair_equity(strength, other_strength, weight, out):
    """Add to `out` [n, m] the weight of each pair that wins on a board, and half of it at ties.

    Hands of strength -1 are blocked by the board; no pair with one of them gets anything.
    """
    real = out.dtype.type
    zero, full, half = real(0), real(weight), real(0.5 * weight)
    for i in range(uint64(out.shape[0])):
        own = strength[i]
        if own < 0:
            continue
        for j in range(uint64(out.shape[1])):
            other = other_strength[j]
            won = full if own > other else (half if own == other else zero)
            out[i, j] += won if other >= 0 else zero


@noinline_kernel
def add_board_equity(board, cards, others, weight, other_weight, same, other_same, out, other_out):
    """Add both players' results on one board of five cards; the last entry of weights is zero."""
    strength = np.empty(cards.shape[0], np.int64)
    other_strength = np.empty(others.shape[0], np.int64)
    board_strengths(board, cards, strength)
    board_strengths(board, others, other_strength)
    add_strength_equity(
        strength,
        other_strength,
        cards,
        others,
        weight,
        other_weight,
        same,
        other_same,
        out,
        other_out,
    )


@noinline_kernel
def add_strength_equity(
    strength,
    other_strength,
    cards,
    others,
    weight,
    other_weight,
    same,
    other_same,
    out,
    other_out,
):
    """Add both players' results on a board, given the strengths of their hands, -1 if blocked."""
    n, m = cards.shape[0], others.shape[0]
    order, rank = np.empty(n, np.int64), np.empty(n, np.int64)
    opposite, opposite_rank = np.empty(m, np.int64), np.empty(m, np.int64)
    count, num = sort_hands(strength, other_strength, order, opposite, rank, opposite_rank)
    score_showdowns(
        order, rank, cards, count, opposite, opposite_rank, others, num, other_weight, same, out
    )
    score_showdowns(
        opposite,
        opposite_rank,
        others,
        num,
        order,
        rank,
        cards,
        count,
        weight,
        other_same,
        other_out,
    )


@noinline_kernel
def add_boards_equity(first, last, known, deck, missing, renamings, players, out, other_out):
    """Add all boards whose first new card is `deck[first]` to `deck[last - 1]`.

    Boards that the card permutations `renamings` [R, 52] map to each other are evaluated once and
    weighted by their number. Returns the number of boards, all of them counted.
    """
    cards, others, weight, other_weight, same, other_same = players
    n, size, num_boards = known.size, deck.size, 0
    board, chosen = np.zeros(5, np.int64), np.zeros(5, np.int64)
    board[:n] = known
    result, other_result = np.zeros_like(out), np.zeros_like(other_out)
    for k in range(missing):
        chosen[k] = first + k
    while missing == 0 or chosen[0] < last:
        if missing == 0 or chosen[missing - 1] < size:
            for k in range(missing):
                board[n + k] = deck[chosen[k]]
            multiplicity = orbit_size(board, n, missing, renamings)
            if multiplicity:
                result[:] = 0.0
                other_result[:] = 0.0
                add_board_equity(
                    board,
                    cards,
                    others,
                    weight,
                    other_weight,
                    same,
                    other_same,
                    result,
                    other_result,
                )
                out += multiplicity * result
                other_out += multiplicity * other_result
                num_boards += multiplicity
        if missing == 0:
            break
        k = missing - 1
        chosen[k] += 1
        while k > 0 and chosen[k] > size - missing + k:
            k -= 1
            chosen[k] += 1
        for j in range(k + 1, missing):
            chosen[j] = chosen[j - 1] + 1
    return num_boards


@kernel
def orbit_size(board, known, missing, renamings):
    """Return the number of boards isomorphic to a board, or 0 if another one represents them."""
    bits = np.uint64(0)
    for k in range(known, known + missing):
        bits |= CARD_BIT[board[k]]
    num_fixed = 0
    for r in range(renamings.shape[0]):
        image_bits = np.uint64(0)
        for k in range(known, known + missing):
            image_bits |= CARD_BIT[renamings[r, board[k]]]
        if image_bits < bits:
            return 0
        num_fixed += image_bits == bits
    return renamings.shape[0] // num_fixed
