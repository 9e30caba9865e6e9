"""Liar's dice for two players: a vector over hands at every sequence of bids.

Bids only rise, so the bids made are a set. Bid b of B is bit B - 1 - b: the last bid is the lowest
bit, and the number of bids gives the acting player. Every nonempty set ends the game by the action
"liar" of the acting player. The last bidder wins if both hands together hold enough dice of the
face, so the payoff depends on the opponent's hand only through its number of matching dice.

H hands; `bids` is a `BidTable`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterplay.kernels.runtime.jit import kernel


class BidTable(NamedTuple):
    """Sequences by sets of bids [2**B], and hands with their probabilities and matching dice."""

    num_bids: int
    num_sides: int
    first: Any  # [2**B] first sequence of the first hand; all hands have equally many actions
    lowest_bit: Any  # [2**B] index of the lowest bit; B for the empty set
    acting_player: Any  # [2**B]
    hand_probability: Any  # [H]
    matches: Any  # [sides, H] number of dice that count as the face


@kernel
def payoff(bids, player, begin, end, reach, cf_value):
    """Set the player's `cf_value` [S + 1] at the sequences that reach sets `begin` to `end`."""
    num_hands, chance = bids.hand_probability.size, bids.hand_probability
    max_matches = 0
    for h in range(num_hands):
        max_matches = max(max_matches, bids.matches[0, h])
    held = np.zeros(max_matches + 2)
    for bid_set in range(begin, end):
        lowest, before = bids.lowest_bit[bid_set], bid_set & (bid_set - 1)
        bid_count, face = divmod(bids.num_bids - 1 - lowest, bids.num_sides)
        matches = bids.matches[face]
        # first sequences of the last bid and of "liar", and their strides over hands
        bid_stride, liar_stride = bids.lowest_bit[before] + (before != 0), lowest + 1
        bid = bids.first[before] + bids.lowest_bit[before] - 1 - lowest
        liar = bids.first[bid_set] + lowest
        is_caller = bids.acting_player[bid_set] == player
        theirs, their_step = (bid, bid_stride) if is_caller else (liar, liar_stride)
        mine, my_step = (liar, liar_stride) if is_caller else (bid, bid_stride)
        held[:] = 0.0
        for h in range(num_hands):
            held[matches[h]] += chance[h] * reach[theirs + h * their_step]
        for k in range(max_matches, -1, -1):  # held[k]: reach of hands with at least k matches
            held[k] += held[k + 1]
        sign = -1.0 if is_caller else 1.0
        for h in range(num_hands):
            missing = max(bid_count + 1 - matches[h], 0)
            true_reach = held[missing] if missing <= max_matches else 0.0
            cf_value[mine + h * my_step] = sign * chance[h] * (2.0 * true_reach - held[0])
