"""Phantom games in which a failed attempt costs the turn, by dense contractions.

An infoset is a pattern (which attempts succeeded), the order c of own stones and the order F of the
cells where attempts failed. Two infosets share a history if each failure hits a stone that the
other player had placed before. That is a condition on the patterns and on the indices, in order of
placement, of the other's stones that the failures hit. For sets of stones O and P and patterns p
and q, let R(p, q) and S(p, q) be the allowed index sequences of the two players' failures. Then

    Y[c, d] = sum over rho in R(p, q) of reach[q, d, c.rho]
    Z[c, F] = sum over q, and over d and sigma in S(p, q) with d.sigma = F, of Y[c, d]

and the cf_values follow from Z. Actions that win use the other's reach at this turn; the others use
its reach after each winning reply. Inner loops run over all orders, contiguous in memory.

Orders are numbered as permutations, partial orders of k stones as (set, order). The infosets of a
pattern are sorted by (own stones, failed cells), then by order of failures, then by order of
stones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterplay.kernels.runtime.jit import kernel


class AbruptBoard(NamedTuple):
    """A board, and the first infosets of both players by pattern and stones."""

    num_cells: int
    wins: Any  # [P, 2**N] True if these stones win
    count: Any  # [2**N] number of cells in a set
    pair: Any  # [2**N, 2**N] number of (stones, failed cells) among those of their sizes
    start: Any  # first infoset by pattern, then pair; -1 if no infoset exists
    factorial: Any  # [N + 1]


class Permutations(NamedTuple):
    """Permutations of k elements, their last element, and the number of the rest without it."""

    order: Any  # [k!, k]
    last: Any  # [k!]
    rest: Any  # [k!]


class PatternBlock(NamedTuple):
    """The infosets of one nonempty pattern."""

    mine: Any  # [pairs] stones
    hit: Any  # [pairs] failed cells
    start: int  # index of the pattern in `AbruptBoard.start`
    parent_start: int  # the same of the pattern before the last attempt
    succeeded: bool  # the last attempt
    width: int  # number of actions
    own: Permutations
    failed: Permutations


class InfosetPairs(NamedTuple):
    """All pairs of infosets with certain numbers of attempts and stones, when `player` acts.

    `own` fields are the player's, `other` fields the other's. Sequences of infoset i start at
    base + i * width.
    """

    player: int
    own_sets: Any  # sets of stones that do not win
    other_sets: Any
    own_start: Any  # [A] index of each own pattern in `AbruptBoard.start`
    other_start: Any  # [B] the same of the other's patterns,
    other_parent_start: Any  # [B] and of its patterns before the last attempt
    other_last: Any  # [B] whether that attempt succeeded
    own_base: int
    own_width: int
    other_base: int
    other_width: int
    before_base: int  # of the other, before its last attempt
    own: Permutations  # of own stones
    other: Permutations
    own_failed: Permutations  # of own failures
    other_failed: Permutations
    hit_own: Any  # [., m] sets of own stones that the other's failures hit
    hit_other: Any
    through_own: Any  # [k!, .] number of (set, order) for an own order and rho
    through_other: Any
    rho_offset: Any  # [A, B + 1] first allowed rho of two patterns
    rho: Any
    sigma_offset: Any
    sigma: Any
    by_rho: Any  # [B, A] own patterns, grouped by equal sets of rho
    is_new_group: Any  # [B, A] True where a new group starts


@kernel
def list_cells(cells, out):
    """Write the cells of a set to `out`, lowest first."""
    k = 0
    while cells:
        low = cells & -cells
        cells ^= low
        cell = 0
        while low >> cell != 1:
            cell += 1
        out[k] = cell
        k += 1


@kernel
def fill_infosets(board, block, first_sequence, stones, tried, parent):
    """Set `stones`, `tried` and `parent` [I] at the infosets of a pattern."""
    size = board.num_cells
    own, failed = block.own, block.failed
    num_orders, width = own.last.size, block.width + 1
    my_cells, failed_cells = np.empty(size, np.int64), np.empty(size, np.int64)
    for number in range(block.mine.size):
        i = board.start[block.start + number]
        mine, hit = block.mine[number], block.hit[number]
        if i < 0:
            continue
        list_cells(mine, my_cells)
        list_cells(hit, failed_cells)
        for f in range(failed.last.size):
            for c in range(num_orders):
                stones[i], tried[i] = mine, mine | hit
                if block.succeeded:
                    cell = my_cells[own.last[c]]
                    parent_pair = board.pair[mine ^ (1 << cell), hit]
                    inside = f * board.factorial[own.order.shape[1] - 1] + own.rest[c]
                else:
                    cell = failed_cells[failed.last[f]]
                    parent_pair = board.pair[mine, hit ^ (1 << cell)]
                    inside = failed.rest[f] * num_orders + c
                above = board.start[block.parent_start + parent_pair] + inside
                lower = ((1 << cell) - 1) & ~(mine | hit)
                parent[i] = first_sequence + above * width + board.count[lower]
                i += 1


@kernel
def load_opponent_reach(
    board, shape, b, wins_now, replies, num_replies, theirs, mine, reach, table
):
    """Set `table` [choices, columns x orders] to the other's reach with its pattern `b`.

    If `wins_now`, the first column is the reach at this turn; the others are the reach after each
    winning reply.
    """
    count, size = board.count, board.num_cells
    full = (1 << size) - 1
    orders, failed = shape.other, shape.other_failed
    num_orders, num_failed = orders.last.size, failed.last.size
    their_cells, my_cells = np.empty(size, np.int64), np.empty(size, np.int64)
    list_cells(theirs, their_cells)
    list_cells(mine, my_cells)
    attempts = size - shape.other_width
    for choice in range(shape.hit_own.shape[0]):
        hit = 0
        for j in range(shape.hit_own.shape[1]):
            hit |= 1 << my_cells[shape.hit_own[choice, j]]
        first_infoset = board.start[shape.other_start[b] + board.pair[theirs, hit]]
        untried = full & ~(theirs | hit)
        for g in range(num_failed):
            row = table[choice * num_failed + g]
            if wins_now:
                for d in range(num_orders):
                    if attempts == 0:
                        row[d] = 1.0
                        continue
                    if shape.other_last[b]:
                        cell = their_cells[orders.last[d]]
                        parent_pair = board.pair[theirs ^ (1 << cell), hit]
                        inside = g * board.factorial[orders.order.shape[1] - 1] + orders.rest[d]
                    else:
                        cell = my_cells[shape.hit_own[choice, failed.last[g]]]
                        parent_pair = board.pair[theirs, hit ^ (1 << cell)]
                        inside = failed.rest[g] * num_orders + d
                    i = board.start[shape.other_parent_start[b] + parent_pair]
                    s = shape.before_base + (i + inside) * (shape.other_width + 1)
                    lower = (untried | 1 << cell) & ((1 << cell) - 1)
                    row[d] = reach[s + count[lower]] if i >= 0 else 0.0
            for r in range(num_replies):
                column = (r + wins_now) * num_orders
                rank = count[untried & ((1 << replies[r]) - 1)]
                for d in range(num_orders):
                    s = (
                        shape.other_base
                        + (first_infoset + g * num_orders + d) * shape.other_width
                        + rank
                    )
                    row[column + d] = reach[s] if first_infoset >= 0 else 0.0


@kernel
def contract(shape, b, columns, table, row_sum, flipped, result):
    """Add to `result` [A, choices, columns x own orders] the terms of the other's pattern `b`."""
    num_own, num_other = shape.own.last.size, shape.other.last.size
    for z in range(shape.own_start.size):
        a = shape.by_rho[b, z]
        if shape.rho_offset[a, b] == shape.rho_offset[a, b + 1]:
            continue
        if shape.is_new_group[b, z]:
            for c in range(num_own):
                first = shape.rho_offset[a, b]
                source = table[shape.through_own[c, shape.rho[first]]]
                for w in range(columns * num_other):
                    row_sum[w] = source[w]
                for e in range(first + 1, shape.rho_offset[a, b + 1]):
                    source = table[shape.through_own[c, shape.rho[e]]]
                    for w in range(columns * num_other):
                        row_sum[w] += source[w]
                for r in range(columns):
                    for d in range(num_other):
                        flipped[d, r * num_own + c] = row_sum[r * num_other + d]
        for d in range(num_other):
            source = flipped[d]
            for e in range(shape.sigma_offset[a, b], shape.sigma_offset[a, b + 1]):
                target = result[a, shape.through_other[d, shape.sigma[e]]]
                for w in range(columns * num_own):
                    target[w] += source[w]


@kernel
def add_cf_values(board, shape, wins_now, replies, num_replies, mine, theirs, result, cf_value):
    """Add the contracted reach `result` to the player's `cf_value`, signed by the outcome."""
    count, size = board.count, board.num_cells
    full = (1 << size) - 1
    free = full & ~(mine | theirs)
    num_own, num_failed = shape.own.last.size, shape.own_failed.last.size
    their_cells, reply_at = np.empty(size, np.int64), np.full(size, -1)
    list_cells(theirs, their_cells)
    for r in range(num_replies):
        reply_at[replies[r]] = r + wins_now
    cells = np.empty(size, np.int64)
    for a in range(shape.own_start.size):
        for choice in range(shape.hit_other.shape[0]):
            hit = 0
            for j in range(shape.hit_other.shape[1]):
                hit |= 1 << their_cells[shape.hit_other[choice, j]]
            first_infoset = board.start[shape.own_start[a] + board.pair[mine, hit]]
            if first_infoset < 0:
                continue
            untried = full & ~(mine | hit)
            list_cells(untried, cells)
            for f in range(num_failed):
                row = result[a, choice * num_failed + f]
                for c in range(num_own):
                    s = shape.own_base + (first_infoset + f * num_own + c) * shape.own_width
                    lost = 0.0
                    for r in range(num_replies):
                        lost += row[(r + wins_now) * num_own + c]
                    for k in range(count[untried]):
                        cell = cells[k]
                        if not free >> cell & 1:
                            cf_value[s + k] -= lost
                        elif board.wins[shape.player, mine | 1 << cell]:
                            cf_value[s + k] += row[c]
                        elif reply_at[cell] >= 0:
                            cf_value[s + k] -= lost - row[reply_at[cell] * num_own + c]
                        else:
                            cf_value[s + k] -= lost


@kernel
def add_gradient(board, shape, first, step, reach, cf_value):
    """Add the terms of a shape to the player's `cf_value`, for every `step`-th own set"""
    size, num_patterns = board.num_cells, shape.own_start.size
    full = (1 << size) - 1
    num_own, num_other = shape.own.last.size, shape.other.last.size
    choices = shape.hit_own.shape[0] * shape.other_failed.last.size
    own_choices = shape.hit_other.shape[0] * shape.own_failed.last.size
    replies = np.empty(size, np.int64)
    for o in range(first, shape.own_sets.size, step):
        mine = shape.own_sets[o]
        for theirs in shape.other_sets:
            free = full & ~(mine | theirs)
            if mine & theirs or not free:
                continue
            wins_now, num_replies = 0, 0
            for cell in range(size):
                if free >> cell & 1:
                    wins_now |= board.wins[shape.player, mine | 1 << cell]
                    if board.wins[1 - shape.player, theirs | 1 << cell]:
                        replies[num_replies] = cell
                        num_replies += 1
            columns = wins_now + num_replies
            if not columns:
                continue
            table = np.empty((choices, columns * num_other))
            row_sum = np.empty(columns * num_other)
            flipped = np.empty((num_other, columns * num_own))
            result = np.zeros((num_patterns, own_choices, columns * num_own))
            for b in range(shape.other_start.size):
                load_opponent_reach(
                    board, shape, b, wins_now, replies, num_replies, theirs, mine, reach, table
                )
                contract(shape, b, columns, table, row_sum, flipped, result)
            add_cf_values(
                board, shape, wins_now, replies, num_replies, mine, theirs, result, cf_value
            )
