"""Rows: hands of a board that a network does not tell apart, and tables with a column per row.

A table of rows is an array [C, n]: one line for each (decision, action) pair of a street, one
column for each row of n rows on some boards. `decisions` [D, 4] gives for each decision its first
line, its number of actions, and the start and stride of its pieces (see
`arenas.holdem.array_layout`).
"""

from __future__ import annotations

from numpy import uint64

from counterplay.kernels.runtime.jit import noinline_kernel


@noinline_kernel
def spread_rows(table, first, row_of_hand, decisions, slots, out):
    """Set the pieces of some slots in `out` to the numbers of the hands' rows.

    Args:
        table: [C, n] numbers of the rows.
        first: [slots + 1] first row of each slot's board in `table`.
        row_of_hand: [slots, hands] the row of each hand, counted from the first of its board.
        slots: [2] first slot and the last one plus 1; the pieces of the first one are slot 0's.
        out: [S] pieces.
    """
    size = uint64(row_of_hand.shape[1])
    for slot in range(slots[0], slots[1]):
        base, at = uint64(first[slot]), uint64(slot)
        for d in range(decisions.shape[0]):
            start = decisions[d, 2] + (slot - slots[0]) * decisions[d, 3]
            for a in range(decisions[d, 1]):
                line, to = uint64(decisions[d, 0] + a), uint64(start) + uint64(a) * size
                for h in range(size):
                    out[to + h] = table[line, base + uint64(row_of_hand[at, h])]


@noinline_kernel
def gather_rows(pieces, first, row_of_hand, decisions, player_of, player, slots, factor, out):
    """Set lines of `out` [C, n] to the mean over each row's hands, times the slot's factor.

    Args:
        pieces: [S] pieces, as in `spread_rows`.
        player_of: [D] player of each decision; lines of the other player are left alone.
        factor: [rows of all slots] divided by the number of hands of the row.
    """
    size = uint64(row_of_hand.shape[1])
    for slot in range(slots[0], slots[1]):
        base, at = uint64(first[slot]), uint64(slot)
        for d in range(decisions.shape[0]):
            if player_of[d] != player:
                continue
            start = decisions[d, 2] + (slot - slots[0]) * decisions[d, 3]
            for a in range(decisions[d, 1]):
                line, of = uint64(decisions[d, 0] + a), uint64(start) + uint64(a) * size
                for r in range(base, uint64(first[slot + 1])):
                    out[line, r] = 0.0
                for h in range(size):
                    out[line, base + uint64(row_of_hand[at, h])] += pieces[of + h]
                for r in range(base, uint64(first[slot + 1])):
                    out[line, r] *= factor[r]


@noinline_kernel
def match_regrets(regret, decisions, rows, out):
    """Set `out` [C, n] to regret matching of `regret` [C, n] at the rows from `rows[0]` on.

    If no regret of a row is positive, the largest has probability 1, shared if several are equal.
    """
    for d in range(decisions.shape[0]):
        line, count = uint64(decisions[d, 0]), uint64(decisions[d, 1])
        for r in range(uint64(rows[0]), uint64(rows[1])):
            total, largest = regret.dtype.type(0), regret[line, r]
            for a in range(count):
                total += max(regret[line + a, r], regret.dtype.type(0))
                largest = max(largest, regret[line + a, r])
            if total > 0.0:
                for a in range(count):
                    out[line + a, r] = max(regret[line + a, r], regret.dtype.type(0)) / total
                continue
            ties = regret.dtype.type(0)
            for a in range(count):
                ties += regret[line + a, r] == largest
            for a in range(count):
                out[line + a, r] = (regret[line + a, r] == largest) / ties


@noinline_kernel
def multiply_own_reach(policy, previous, root_line, root_reach, kind, lines, rows, out):
    """Set lines of `out` [C, n] to the acting player's own reach of each action.

    Args:
        policy: [C, n] probabilities.
        previous: [C] line of the same player's action before, or -1 at its first decision.
        root_line: [C] line of `root_reach` that holds at the root of the line's block.
        root_reach: [., kinds] own reach before the deal.
        kind: [n] kind of each row's hands before the deal.
        lines: the lines to set, in an order in which `previous` comes first.
    """
    for k in range(lines.size):
        line = uint64(lines[k])
        before, root = previous[lines[k]], uint64(root_line[lines[k]])
        for r in range(uint64(rows[0]), uint64(rows[1])):
            reach = root_reach[root, kind[r]] if before < 0 else out[uint64(before), r]
            out[line, r] = reach * policy[line, r]


@noinline_kernel
def add_at_boards(values, weight, lines, first, to, slots, sums):
    """Add weighted lines of `values` [C, n] to those of `sums` [C, rows of all boards].

    Args:
        to: [slots] first row of each slot's board in `sums`.
    """
    for k in range(lines.size):
        line = uint64(lines[k])
        for slot in range(slots[0], slots[1]):
            base, at = uint64(first[slot]), uint64(to[slot])
            for r in range(uint64(first[slot + 1]) - base):
                sums[line, at + r] += weight * values[line, base + r]
