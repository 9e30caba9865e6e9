"""Buckets of hold'em hands by table: the index of a board, its canonical form, and lookups.

Boards of n cards are numbered from 0 to C(52, n) - 1: cards a < b < c < ... have the number
C(a, 1) + C(b, 2) + C(c, 3) + ... For each number a table has an entry
`row * PERMUTATION_UNITS + s`: the row of the canonical board, and the number of the permutation of
suits that leads to it.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numba import carray, int32, uint8, uint16  # type: ignore[attr-defined]

from counterplay.core.cards import SUIT_PERMUTATIONS
from counterplay.kernels.holdem.hand_strength import board_strengths, sort_by_strength
from counterplay.kernels.runtime.jit import kernel, no_alloc_kernel
from counterplay.kernels.sampling.lazy_nodes import as_pointer

NUM_HANDS = 1326
NUM_OPPONENT_HANDS = 990  # pairs of the 45 cards unseen on the river
PERMUTATION_UNITS = 32
BINOMIAL = np.array([[comb(card, k) for k in range(8)] for card in range(53)], np.int64)
PERMUTATIONS = np.array(SUIT_PERMUTATIONS, np.int64)  # [24, 4], in lexicographic order


@no_alloc_kernel
def board_number(cards, first, count):
    """Return the number of the board `cards[first : first + count]`, in any order."""
    number = 0
    for k in range(first, first + count):
        smaller = 0
        for j in range(first, first + count):
            smaller += cards[j] < cards[k]
        number += BINOMIAL[cards[k], smaller + 1]
    return number


@no_alloc_kernel
def permute_hand(a, b, s):
    """Return the index of the hand of cards a and b after permutation `s` of the suits."""
    low = a - a % 4 + PERMUTATIONS[s, a % 4]
    high = b - b % 4 + PERMUTATIONS[s, b % 4]
    if low > high:
        low, high = high, low
    return high * (high - 1) // 2 + low


@kernel  # numba refuses `carray` in a kernel without reference counting
def load_element(address, index, dtype):
    """Return an element of the array at an address."""
    return carray(as_pointer(address), (index + 1,), dtype)[index]


@no_alloc_kernel
def look_up_bucket(entries, buckets, width, cards, board, num_cards, a, b):
    """Return the bucket of the hand of cards a and b.

    `entries` and `buckets` are addresses: of the entries of all boards of this size, and of the
    buckets [rows, 1326] of `width` bytes each. The board is `cards[board : board + num_cards]`.
    """
    number = board_number(cards, board, num_cards)
    entry = np.int64(load_element(entries, number, int32))
    hand = permute_hand(a, b, entry % PERMUTATION_UNITS)
    index = entry // PERMUTATION_UNITS * NUM_HANDS + hand
    if width == 1:
        return np.int64(load_element(buckets, index, uint8))
    return np.int64(load_element(buckets, index, uint16))


@kernel
def canonical_code(board, permuted):
    """Return (code, s) of the canonical form of a board; `permuted` is scratch of its size.

    The code is the sorted board as a number in base 52, the smallest that a permutation gives; `s`
    is the first permutation that gives it.
    """
    n, best, best_s = board.size, np.int64(-1), 0
    for s in range(PERMUTATIONS.shape[0]):
        for k in range(n):
            card = board[k] - board[k] % 4 + PERMUTATIONS[s, board[k] % 4]
            j = k
            while j > 0 and permuted[j - 1] > card:
                permuted[j] = permuted[j - 1]
                j -= 1
            permuted[j] = card
        code = np.int64(0)
        for k in range(n):
            code = code * 52 + permuted[k]
        if best < 0 or code < best:
            best, best_s = code, s
    return best, best_s


@kernel
def canonical_codes(num_cards, codes, permutations):
    """Set the canonical code and permutation of every board of `num_cards` cards, by number."""
    board, permuted = np.empty(num_cards, np.int64), np.empty(num_cards, np.int64)
    for k in range(num_cards):
        board[k] = k
    for number in range(codes.size):
        codes[number], permutations[number] = canonical_code(board, permuted)
        k = 0  # the next board in the order of numbers
        while k + 1 < num_cards and board[k] + 1 == board[k + 1]:
            board[k] = k
            k += 1
        board[k] += 1


@kernel
def river_bins(codes, cards, num_bins, bucket_of_bin, out):
    """Set `out` [n, 1326] to the buckets of all hands on the boards with these codes [n].

    The bin of a hand is that of its equity against all hands, as in `equity_histograms`.
    """
    size = cards.shape[0]
    strength, order = np.empty(size, np.int64), np.empty(size, np.int64)
    rank, board = np.empty(size, np.int64), np.empty(5, np.int64)
    weaker, equal = np.empty(52, np.int64), np.empty(52, np.int64)
    for n in range(codes.size):
        code = codes[n]
        for k in range(4, -1, -1):
            board[k] = code % 52
            code //= 52
        board_strengths(board, cards, strength)
        count, i = sort_by_strength(strength, order, rank), 0
        weaker[:] = 0
        while i < count:
            k = i
            equal[:] = 0
            while k < count and rank[k] == rank[i]:
                equal[cards[order[k], 0]] += 1
                equal[cards[order[k], 1]] += 1
                k += 1
            for j in range(i, k):
                a, b = cards[order[j], 0], cards[order[j], 1]
                wins = i - weaker[a] - weaker[b]
                ties = (k - i) - equal[a] - equal[b] + 1
                equity = (wins + 0.5 * ties) / NUM_OPPONENT_HANDS
                out[n, order[j]] = bucket_of_bin[min(int(equity * num_bins), num_bins - 1)]
            for c in range(52):
                weaker[c] += equal[c]
            i = k
