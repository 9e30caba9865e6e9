"""Phantom games in which a failed attempt costs nothing, without visiting their histories.

A skeleton is the order in which stones were placed, without failed attempts. Skeletons of L stones
are numbered by mixed radix: skeleton h with its k-th free cell filled is h * (N - L) + k among
those of L + 1 stones. An infoset is compatible with a skeleton if the player's stones agree and
each of its failures hits a stone that the other player had placed before. That does not depend on
the other's failures, so the payoff matrix factorises through skeletons:

    Y(h)   = sum of the other's reach over its sequences that end with the last stone of h
    V(h a) = Y(h) if a wins; otherwise minus the sum of Y(h a d) over winning replies d
    cf_value(i, a) = sum of V(h a) over the skeletons h compatible with infoset i, a free in h

Each infoset has a list of its skeletons. N cells; `board` is a `ClassicalBoard`, `own` an
`InfosetSkeletons`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterplay.kernels.runtime.jit import kernel


class ClassicalBoard(NamedTuple):
    """Tables of a board by sets of cells [2**N] and by skeletons [H]."""

    num_cells: int
    wins: Any  # [P, 2**N] True if these stones win
    count: Any  # [2**N] number of cells in a set
    lowest: Any  # [2**N] first cell of a set
    level: Any  # [N + 2] first skeleton by number of stones
    free: Any  # [H] set of free cells
    last_mover_cells: Any  # [H] stones of the player who placed the last one


class InfosetSkeletons(NamedTuple):
    """Infosets of both players, and the skeletons compatible with each."""

    offset: Any  # [I + 1] first sequence
    stones: Any  # [I] set of the player's stones
    tried: Any  # [I] set of these and of the cells where it failed
    skeleton_offset: Any  # [I + 1]
    skeleton: Any  # [E] number of the skeleton among those of as many stones


@kernel
def fill_skeletons(num_cells, level, free, mine):
    """Set `free` and `mine` (`last_mover_cells`) [H] of all skeletons, fewer stones first."""
    full = (1 << num_cells) - 1
    free[0], mine[0] = full, 0
    for stones in range(num_cells):
        for h in range(level[stones], level[stones + 1]):
            child = level[stones + 1] + (h - level[stones]) * (num_cells - stones)
            others = full & ~(free[h] | mine[h])  # stones of the player who places the next one
            left = int(free[h])
            while left:
                cell = left & -left
                left ^= cell
                free[child], mine[child] = free[h] ^ cell, others | cell
                child += 1


@kernel
def count_children(board, player, first, last, own, children, pairs):
    """Add to `children` and `pairs` [I] the numbers of child infosets and of their skeletons."""
    full, count = (1 << board.num_cells) - 1, board.count
    for i in range(first, last):
        stones, tried = int(own.stones[i]), int(own.tried[i])
        depth = 2 * count[stones] + player
        start = board.level[depth]
        untried = full & ~tried
        while untried:
            cell = untried & -untried
            untried ^= cell
            failed, placed = 0, 0
            for e in range(own.skeleton_offset[i], own.skeleton_offset[i + 1]):
                free = int(board.free[start + own.skeleton[e]])
                if not free & cell:
                    failed += 1
                elif not board.wins[player, stones | cell] and depth + 2 < board.num_cells:
                    theirs = full & ~(free | stones)
                    reply = free ^ cell
                    while reply:
                        placed += 1 - board.wins[1 - player, theirs | (reply & -reply)]
                        reply &= reply - 1
            children[i] += (failed > 0) + (placed > 0)
            pairs[i] += failed + placed


@kernel
def fill_children(board, player, first, last, own, child_first, pair_first, level):
    """Write the children of infosets `first` to `last` - 1 to the records of the next `level`.

    `child_first` and `pair_first` are the first child and the first skeleton of infoset `first`.
    """
    full, count = (1 << board.num_cells) - 1, board.count
    child, pair = child_first, pair_first
    for i in range(first, last):
        stones, tried = int(own.stones[i]), int(own.tried[i])
        depth = 2 * count[stones] + player
        start, num_free = board.level[depth], board.num_cells - depth
        untried = full & ~tried
        s = own.offset[i]
        while untried:
            cell = untried & -untried
            untried ^= cell
            begin = pair
            for e in range(own.skeleton_offset[i], own.skeleton_offset[i + 1]):
                if not int(board.free[start + own.skeleton[e]]) & cell:
                    level.skeleton[pair] = own.skeleton[e]
                    pair += 1
            if pair > begin:
                level.stones[child], level.tried[child] = stones, tried | cell
                level.parent[child], level.skeleton_offset[child] = s, begin
                child += 1
                begin = pair
            if not board.wins[player, stones | cell] and depth + 2 < board.num_cells:
                for e in range(own.skeleton_offset[i], own.skeleton_offset[i + 1]):
                    free = int(board.free[start + own.skeleton[e]])
                    if free & cell:
                        theirs = full & ~(free | stones)
                        placed = int(own.skeleton[e]) * num_free + count[free & (cell - 1)]
                        skeleton = placed * (num_free - 1)
                        reply = free ^ cell
                        while reply:
                            if not board.wins[1 - player, theirs | (reply & -reply)]:
                                level.skeleton[pair] = skeleton
                                pair += 1
                            skeleton += 1
                            reply &= reply - 1
                if pair > begin:
                    level.stones[child], level.tried[child] = stones | cell, tried | cell
                    level.parent[child], level.skeleton_offset[child] = s, begin
                    child += 1
            s += 1


@kernel
def add_reach_to_skeletons(board, player, first, last, own, reach, total):
    """Add the player's `reach` at infosets `first` to `last` - 1 to `total` [H] (Y)."""
    full, count, lowest = (1 << board.num_cells) - 1, board.count, board.lowest
    row = np.zeros(board.num_cells)
    for i in range(first, last):
        depth = 2 * count[own.stones[i]] + player
        start, after, num_free = board.level[depth], board.level[depth + 1], board.num_cells - depth
        untried, s = full & ~int(own.tried[i]), own.offset[i]
        while untried:
            row[lowest[untried]] = reach[s]
            s += 1
            untried &= untried - 1
        for e in range(own.skeleton_offset[i], own.skeleton_offset[i + 1]):
            h = int(own.skeleton[e])
            free, child = int(board.free[start + h]), after + h * num_free
            while free:
                total[child] += row[lowest[free]]
                child += 1
                free &= free - 1


@kernel
def set_skeleton_values(board, player, depth, total, value):
    """Set `value` [H] (V) of the skeletons of `depth` stones and one more of the player."""
    num_free = board.num_cells - depth
    before, here, after = board.level[depth], board.level[depth + 1], board.level[depth + 2]
    for h in range(after - here):
        if board.wins[player, board.last_mover_cells[here + h]]:
            value[here + h] = total[before + h // num_free]
        else:
            lost = 0.0
            for k in range(h * (num_free - 1), (h + 1) * (num_free - 1)):
                if board.wins[1 - player, board.last_mover_cells[after + k]]:
                    lost += total[after + k]
            value[here + h] = -lost


@kernel
def collect_cf_values(board, player, first, last, own, value, cf_value):
    """Set the player's `cf_value` at infosets `first` to `last` - 1 from `value` [H]."""
    full, count, lowest = (1 << board.num_cells) - 1, board.count, board.lowest
    row = np.zeros(board.num_cells)
    for i in range(first, last):
        depth = 2 * count[own.stones[i]] + player
        start, after, num_free = board.level[depth], board.level[depth + 1], board.num_cells - depth
        row[:] = 0.0
        for e in range(own.skeleton_offset[i], own.skeleton_offset[i + 1]):
            h = int(own.skeleton[e])
            free, child = int(board.free[start + h]), after + h * num_free
            while free:
                row[lowest[free]] += value[child]
                child += 1
                free &= free - 1
        untried, s = full & ~int(own.tried[i]), own.offset[i]
        while untried:
            cf_value[s] = row[lowest[untried]]
            s += 1
            untried &= untried - 1
