"""What players of phantom games and of liar's dice observe, infoset by infoset."""

from __future__ import annotations

from counterplay.kernels.runtime.jit import kernel


@kernel
def find_last_attempts(num_cells, parent, offset, tried, parent_infoset, tried_cell):
    """Set the infoset `above` [I] each one and the `cell` tried there; -1 before any attempt."""
    size = offset[offset.size - 1]
    for i in range(parent.size):
        parent_infoset[i], tried_cell[i] = -1, -1
        if parent[i] >= size:
            continue
        sequence = int(parent[i])
        low, high = 0, i  # parents come first
        while high - low > 1:
            middle = (low + high) // 2
            if offset[middle] <= sequence:
                low = middle
            else:
                high = middle
        left = sequence - int(offset[low])
        for c in range(num_cells):
            if not tried[low] >> c & 1:
                if left == 0:
                    parent_infoset[i], tried_cell[i] = low, c
                    break
                left -= 1


@kernel
def write_attempt_observations(
    num_cells, first, stones, tried, parent_infoset, tried_cell, observation
):
    """As `machine_phantom.watch`, at the infosets from `first` on."""
    observation[:] = 0.0
    for n in range(observation.shape[0]):
        i = first + n
        count = 0
        for c in range(num_cells):
            known = tried[i] >> c & 1
            kind = known * (1 + (stones[i] >> c & 1))
            observation[n, kind * num_cells + c] = 1.0
            count += known
        while parent_infoset[i] >= 0:
            count -= 1
            observation[n, (3 + count) * num_cells + tried_cell[i]] = 1.0
            i = parent_infoset[i]


@kernel
def write_bid_observations(first, player, num_bids, sides, order, hands, observation):
    """As `machine_dice.watch`, at infosets of one player from `first` on."""
    observation[:] = 0.0
    for n in range(observation.shape[0]):
        place, hand = divmod(first + n, hands.shape[0])
        observation[n, player] = 1.0
        for d in range(hands.shape[1]):
            observation[n, 2 + d * sides + hands[hand, d] - 1] = 1.0
        for bid in range(num_bids):
            made = order[place] >> (num_bids - 1 - bid) & 1
            observation[n, 2 + hands.shape[1] * sides + bid] = made
