"""Liar's dice for two: a vector over hands at every sequence of bids.

The bids made are a set, because they only rise: bid b of B is bit B - 1 - b, so that the last bid
is the lowest bit and whoever is to act follows from how many there are. Every set but the empty one
ends in one way only: by "liar" of the one to act. The one who bid last wins if both hands together
hold enough dice of its face, so the other's hands count only by how many they hold.

H hands; `bids` is a `Bids`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterplay.kernels.runtime.jit import kernel


class BidTable(NamedTuple):
    """Where sequences stand, by sets of bids [2**B], and what hands are worth."""

    num_bids: int
    num_sides: int
    first: Any  # [2**B] first sequence of the set's first hand; hands have as many actions each
    lowest_bit: Any  # [2**B] the lowest bit's number; B for the empty set
    acting_player: Any  # [2**B] who is to act
    hand_probability: Any  # [H] probability of a hand
    matches: Any  # [sides, H] dice that count as the face


@kernel
def payoff(bids, player, begin, end, reach, cf_value):
    """Set the player's `cf_value` [S + 1] at the sequences that lead to sets `begin` to `end`."""
    num_hands, chance = bids.hand_probability.size, bids.hand_probability
    most = 0
    for h in range(num_hands):
        most = max(most, bids.matches[0, h])
    held = np.zeros(most + 2)
    for bidden in range(begin, end):
        lowest, before = bids.lowest_bit[bidden], bidden & (bidden - 1)
        more, face = divmod(bids.num_bids - 1 - lowest, bids.num_sides)
        matches = bids.matches[face]
        # the last bid's sequence, by hand, and that of "liar"
        stride, wide = bids.lowest_bit[before] + (before != 0), lowest + 1
        bid = bids.first[before] + bids.lowest_bit[before] - 1 - lowest
        liar = bids.first[bidden] + lowest
        calls = bids.acting_player[bidden] == player
        theirs, step = (bid, stride) if calls else (liar, wide)
        mine, own_step = (liar, wide) if calls else (bid, stride)
        held[:] = 0.0
        for h in range(num_hands):
            held[matches[h]] += chance[h] * reach[theirs + h * step]
        for k in range(most, -1, -1):  # now: at least so many
            held[k] += held[k + 1]
        sign = -1.0 if calls else 1.0
        for h in range(num_hands):
            wanted = max(more + 1 - matches[h], 0)
            stands = held[wanted] if wanted <= most else 0.0
            cf_value[mine + h * own_step] = sign * chance[h] * (2.0 * stands - held[0])
