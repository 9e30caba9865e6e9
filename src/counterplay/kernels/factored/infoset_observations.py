"""Observations at infosets of phantom games and of liar's dice."""

from __future__ import annotations

from counterplay.kernels.runtime.jit import kernel


@kernel
def find_last_attempts(num_cells, parent, offset, tried, parent_infoset, tried_cell):
    """Set each infoset's `parent_infoset` [I] and the `tried_cell` [I] that led from it, or -1."""
    size = offset[offset.size - 1]
    for i in range(parent.size):
        parent_infoset[i], tried_cell[i] = -1, -1
        if parent[i] >= size:
            continue
        sequence = int(parent[i])
        low, high = 0, i  # parents precede their children
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
    """Set `observation` [N, X] of infosets `first` to `first + N - 1`.

    The encoding is that of `games.compiled.phantom_board.observation`.
    """
    observation[:] = 0.0
    for n in range(observation.shape[0]):
        i = first + n
        count = 0
        for c in range(num_cells):
            is_tried = tried[i] >> c & 1
            kind = is_tried * (1 + (stones[i] >> c & 1))
            observation[n, kind * num_cells + c] = 1.0
            count += is_tried
        while parent_infoset[i] >= 0:
            count -= 1
            observation[n, (3 + count) * num_cells + tried_cell[i]] = 1.0
            i = parent_infoset[i]


@kernel
def write_bid_observations(first, player, num_bids, sides, order, hands, observation):
    """Set `observation` [N, X] of infosets `first` to `first + N - 1` of one player.

    The encoding is that of `games.compiled.liars_dice.observation`.
    """
    observation[:] = 0.0
    for n in range(observation.shape[0]):
        position, hand = divmod(first + n, hands.shape[0])
        observation[n, player] = 1.0
        for d in range(hands.shape[1]):
            observation[n, 2 + d * sides + hands[hand, d] - 1] = 1.0
        for bid in range(num_bids):
            is_made = order[position] >> (num_bids - 1 - bid) & 1
            observation[n, 2 + hands.shape[1] * sides + bid] = is_made
