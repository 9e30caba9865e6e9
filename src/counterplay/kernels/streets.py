"""Walks of a public tree: a vector over hands at every node, one street's block after another.

A walk is one player's. Down the tree go the opponent's reach, chance included, and the player's
own; up come its counterfactual values. What a policy is made of stands in tables, for each node and
board one piece [actions, hands]: see `public.tree` for the layout, `Walk` for the names.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterplay.kernels.compiling import fused_kernel as kernel

FOLD, SHOWDOWN, DEAL = 2, 3, 4  # as in `public.betting`
LEARN, BEST, MEAN = 0, 1, 2  # what happens on the way up
FULL = 32767.0  # the largest 16-bit number


class Walk(NamedTuple):
    """What a walk of one player needs to know; nothing here changes.

    N betting nodes, B blocks, G boards of all streets, the first street's first.
    """

    player: int
    sizes: Any  # [2] hands of this player and of the opponent
    kind: Any  # [N] player, FOLD, SHOWDOWN or DEAL
    first: Any  # [N] first child
    count: Any  # [N] children
    start: Any  # [N] where board 0 would have its piece of the tables
    place: Any  # [N] the same among pieces
    payoff: Any  # [N, 4] win - tie, tie - lose, lose, tie
    next_block: Any  # [N] after a deal
    own_row: Any  # [N] where in its block the own reach changed last
    opponent_row: Any  # [N]
    block: Any  # [B + 1] first node
    leaf: Any  # showdowns, folds and deals of each block
    ends: Any  # [B, 4] first showdown, fold, deal in `leaf`, and where they end
    card: Any  # [G] dealt last
    dealt: Any  # [G + 1] first board after it
    chance: Any  # [G] probability of each card dealt next
    twin: Any  # [G + 1] first of the boards left out because they are like this one
    renaming: Any  # which renaming of hands makes each of them this one
    renamed: Any  # [., hands] hand by hand
    cards: Any  # [hands, 2] of this player
    opponent_cards: Any
    same: Any  # [hands] the opponent's index of the same hand, or one past its last
    live: Any  # [G + 1] first of each board's hands in `order`
    order: Any  # the player's hands that the board allows, by rising strength
    strength: Any  # 0, 1, ... shared by both players; boards without showdown have zeros
    opponent_live: Any
    opponent_order: Any
    opponent_strength: Any
    holding: Any  # [53] first of each card's hands in `holders`
    holders: Any
    opponent_holding: Any
    opponent_holders: Any


class Tables(NamedTuple):
    """What is learned, and how. Pieces of 16 bits have a scale each; the others need none."""

    shown: Any  # the policy is proportional to what is positive here
    otherwise: Any  # and where nothing is, to this; uniform if that has nothing either
    regret: Any
    regret_scale: Any
    shown_scale: Any  # of predictions, which are kept apart from regrets
    sums: Any  # [K, S]
    sums_scale: Any  # [K, places]
    locked: Any  # [places] where in `lock` a piece begins, or -1; empty without locks
    lock: Any
    rule: Any  # positive, negative, prediction
    fade: Any  # [K] of the sums so far
    add: Any  # [K] whether the policy is added


class Rows(NamedTuple):
    """Room for one block: a row per node."""

    own: Any  # [rows, hands] reach
    opponent: Any  # [rows, opponent's hands] cf_reach
    policy: Any  # [rows, either's hands] of the action that leads to the node
    value: Any  # [rows, hands]


class Room(NamedTuple):
    """Scratch of one thread."""

    upper: Rows
    lower: Rows
    fresh: Any  # a piece
    other: Any  # a piece
    total: Any  # [2, hands]
    reach: Any  # [opponent's hands + 1, 8] of eight leaves; the last row is zero
    found: Any  # [hands, 8] their values
    sums: Any  # [2, 53, 8] reach by card: all of it, and what is weaker
    amount: Any  # [4, 8]


@kernel
def match(table, start, count, size, total, row, policy):
    """Set rows of `policy` to what is positive in a piece, scaled; returns hands without any."""
    real = policy.dtype.type
    zero, one = real(0), real(1)
    for h in range(size):
        total[0, h] = zero
    for a in range(count):
        at = start + a * size
        for h in range(size):
            x = real(table[at + h])
            x = x if x > zero else zero
            policy[row + a, h] = x
            total[0, h] += x
    even, missing = one / real(count), 0
    for h in range(size):
        x = total[0, h]
        some = x > zero
        total[0, h] = one / x if some else zero
        total[1, h] = zero if some else even
        missing += not some
    for a in range(count):
        for h in range(size):
            policy[row + a, h] = policy[row + a, h] * total[0, h] + total[1, h]
    return missing


@kernel
def replace(table, start, count, size, wanted, row, policy):
    """Set a hand's policy to its part of a piece, where that has any; only at `wanted` hands."""
    real = policy.dtype.type
    zero = real(0)
    for h in range(size):
        if wanted[h] > zero:
            total = zero
            for a in range(count):
                total += max(real(table[start + a * size + h]), zero)
            if total > zero:
                for a in range(count):
                    x = max(real(table[start + a * size + h]), zero)
                    policy[row + a, h] = x / total


@kernel
def set_policy(walk, tables, room, node, board, rows, row):
    """Set the policy at a node, one row per child."""
    count, size = walk.count[node], walk.sizes[0 if walk.kind[node] == walk.player else 1]
    start = walk.start[node] + board * count * size
    missing = match(tables.shown, start, count, size, room.total, row, rows.policy)
    if missing and tables.otherwise.size:
        replace(tables.otherwise, start, count, size, room.total[1], row, rows.policy)
    if tables.locked.size:
        lock = tables.locked[walk.place[node] + board]
        if lock >= 0:
            room.total[1, :size] = 1.0
            replace(tables.lock, lock, count, size, room.total[1], row, rows.policy)


@kernel
def keep(values, length, table, start, scales, place):
    """Write a piece; in 16 bits, with its scale."""
    if scales.size == 0:
        for i in range(length):
            table[start + i] = values[i]
        return
    real = values.dtype.type
    largest = real(0)
    for i in range(length):
        largest = max(largest, abs(values[i]))
    scales[place] = largest / real(FULL)
    factor = real(FULL) / largest if largest > real(0) else real(0)
    half = real(0.5)
    for i in range(length):
        x = values[i] * factor
        table[start + i] = np.int16(x + half if x > real(0) else x - half)


@kernel
def add_average(walk, tables, room, node, board, rows, row, above):
    """Add reach times policy to the sums of a node of the player."""
    count, size = walk.count[node], walk.sizes[0]
    real = rows.own.dtype.type
    length = count * size
    start, place = walk.start[node] + board * length, walk.place[node] + board
    for a in range(count):
        for h in range(size):
            rows.own[row + a, h] = rows.own[above, h] * rows.policy[row + a, h]
    for k in range(tables.add.size):
        scales = tables.sums_scale[k]
        fade = real(tables.fade[k]) * (real(scales[place]) if scales.size else real(1))
        more, sums = real(tables.add[k]), tables.sums[k]
        for a in range(count):
            at = a * size
            for h in range(size):
                x = real(sums[start + at + h]) * fade + more * rows.own[row + a, h]
                room.fresh[at + h] = x
        keep(room.fresh, length, sums, start, scales, place)


@kernel
def descend(walk, tables, room, rows, block, board, mode):
    """Set the reach of every node of a block, whose first row is given."""
    base = walk.block[block]
    for node in range(base, walk.block[block + 1]):
        if walk.kind[node] >= FOLD:
            continue
        row = walk.first[node] - base
        set_policy(walk, tables, room, node, board, rows, row)
        if walk.kind[node] == walk.player:
            if mode == LEARN:
                above = walk.own_row[node]
                add_average(walk, tables, room, node, board, rows, row, above)
        else:
            above, size = walk.opponent_row[node], walk.sizes[1]
            for a in range(walk.count[node]):
                for h in range(size):
                    x = rows.opponent[above, h] * rows.policy[row + a, h]
                    rows.opponent[row + a, h] = x


@kernel
def learn(walk, tables, room, node, board, rows, row, first, tiny):
    """Add a node's instant regrets, which are values less their mean, to its regrets."""
    count, size = walk.count[node], walk.sizes[0]
    length = count * size
    start, place = walk.start[node] + board * length, walk.place[node] + board
    real = rows.value.dtype.type
    zero, up, down = real(0), real(tables.rule[0]), real(tables.rule[1])
    again = real(tables.rule[2])
    scale = real(tables.regret_scale[place]) if tables.regret_scale.size else real(1)
    predicts = again != zero
    for a in range(count):
        at = a * size
        for h in range(size):
            gain = rows.value[first + a, h] - rows.value[row, h]
            gain = gain if abs(gain) > tiny else zero
            x = real(tables.regret[start + at + h]) * scale + gain
            x *= up if x > zero else down
            room.fresh[at + h] = x if abs(x) > tiny else zero
            if predicts:
                x += again * gain
                room.other[at + h] = x if x > tiny else zero
    keep(room.fresh, length, tables.regret, start, tables.regret_scale, place)
    if predicts:
        keep(room.other, length, tables.shown, start, tables.shown_scale, place)


@kernel
def ascend(walk, tables, room, rows, block, board, mode, tiny):
    """Set the values of a block's nodes from those of its leaves; and learn, if that is wanted."""
    base, size = walk.block[block], walk.sizes[0]
    for node in range(walk.block[block + 1] - 1, base - 1, -1):
        if walk.kind[node] >= FOLD:
            continue
        row, first, count = node - base, walk.first[node] - base, walk.count[node]
        value = rows.value
        if walk.kind[node] != walk.player:
            for h in range(size):
                value[row, h] = value[first, h] + value[first + 1, h]
            for a in range(2, count):
                for h in range(size):
                    value[row, h] += value[first + a, h]
        elif mode == BEST:
            best_values(walk, tables, node, board, rows, row, first)
        else:
            for h in range(size):
                value[row, h] = rows.policy[first, h] * value[first, h]
            for a in range(1, count):
                for h in range(size):
                    value[row, h] += rows.policy[first + a, h] * value[first + a, h]
            if mode == LEARN:
                learn(walk, tables, room, node, board, rows, row, first, tiny)


@kernel
def best_values(walk, tables, node, board, rows, row, first):
    """The best action's value; where a hand is locked, that of what it must do."""
    count, size, value = walk.count[node], walk.sizes[0], rows.value
    for h in range(size):
        value[row, h] = value[first, h]
    for a in range(1, count):
        for h in range(size):
            value[row, h] = max(value[row, h], value[first + a, h])
    lock = tables.locked[walk.place[node] + board] if tables.locked.size else -1
    if lock < 0:
        return
    for h in range(size):
        total, mean = 0.0, 0.0
        for a in range(count):
            total += tables.lock[lock + a * size + h]
            mean += rows.policy[first + a, h] * value[first + a, h]
        if total > 0.0:
            value[row, h] = mean
