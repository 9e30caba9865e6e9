"""Equity of a hand against each hand of the opponent if both check or call to the end."""

from __future__ import annotations

import numpy as np
from numpy import uint64

from counterplay.kernels.holdem.hand_strength import CARD_BIT, strength
from counterplay.kernels.runtime.jit import kernel


@kernel
def card_bits(cards, num_suits):
    """Return a set of cards of a deck with this number of suits as bits."""
    bits = uint64(0)
    for card in cards:
        bits |= CARD_BIT[4 * (card // num_suits) + card % num_suits]
    return bits


@kernel
def add_board(own, hands, board, num_suits, equity, weight):
    """Add the results of one complete board against all hands [K, H] to `equity` and `weight`."""
    count = own.size + board.size
    public = card_bits(board, num_suits)
    own_strength = strength(public | card_bits(own, num_suits), count)
    for k in range(hands.shape[0]):
        private = card_bits(hands[k], num_suits)
        if private & public:
            continue
        other = strength(public | private, count)
        equity[k] += 1.0 if own_strength > other else 0.5 if own_strength == other else 0.0
        weight[k] += 1.0


@kernel
def enumerate_boards(own, hands, board, num_known, deck, num_suits, equity, weight):
    """Set the equity [K] of cards `own` against hands [K, H] over all complete boards.

    `board` starts with the `num_known` public cards; `deck` are the cards that are neither public
    nor own. Hands that share a card with either must be left out by the caller.
    """
    missing = board.size - num_known
    equity[:] = 0.0
    weight[:] = 0.0
    index = np.arange(missing)
    while True:
        for k in range(missing):
            board[num_known + k] = deck[index[k]]
        add_board(own, hands, board, num_suits, equity, weight)
        k = missing - 1
        while k >= 0 and index[k] == deck.size - missing + k:
            k -= 1
        if k < 0:
            break
        index[k] += 1
        for j in range(k + 1, missing):
            index[j] = index[j - 1] + 1
    equity /= weight


@kernel
def sample_boards(own, hands, boards, num_suits, equity, weight):
    """Set the equity [K] of cards `own` against hands [K, H] over these complete boards [N, B]."""
    equity[:] = 0.0
    weight[:] = 0.0
    for n in range(boards.shape[0]):
        add_board(own, hands, boards[n], num_suits, equity, weight)
    equity /= np.maximum(weight, 1.0)
