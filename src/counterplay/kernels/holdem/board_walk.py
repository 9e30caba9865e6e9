"""Walks of a public tree from the first card: every street has boards and hands of its own.

Cards that a board leaves are numbered 0, 1, ... in rising order, so that all boards of a street
have the same hands; only the order of their strengths differs. A canonical board stands for all
deals that suit permutations of its parent board make of it, so the value of a hand before the deal
is the mean over its orbit under these permutations. See `street_walk` for the walk of one street.
"""

from __future__ import annotations

import numpy as np
from numpy import uint64

from counterplay.kernels.holdem.deal_walk import evaluate_leaves, value_tolerance, walk_block
from counterplay.kernels.holdem.hand_strength import CARD_BIT, sort_by_strength, strength
from counterplay.kernels.holdem.street_walk import ascend, descend
from counterplay.kernels.runtime.jit import fma_row_kernel as kernel
from counterplay.kernels.runtime.jit import noinline_kernel, outlined_row_kernel
from counterplay.kernels.runtime.references import dereference, reference, reference_item

ZERO = np.uint64(0)


@kernel
def set_reach_on_board(walk, street, above, node, board, below):
    """Set the first row of the next block to the reach after the deal of `board`.

    `walk` is that of the street before the deal, `street` the record of the boards after it.
    """
    own_reach, next_own_reach = above.own_reach, below.own_reach
    opponent, next_opponent = above.opponent_reach, below.opponent_reach
    parent_hand, chance = street.parent_hand, next_opponent.dtype.type(street.chance)
    row, other_row = uint64(walk.own_row[node]), uint64(walk.opponent_row[node])
    at = uint64(board)
    for h in range(uint64(parent_hand.shape[1])):
        hand = uint64(parent_hand[at, h])
        next_own_reach[ZERO, h] = own_reach[row, hand]
        next_opponent[ZERO, h] = opponent[other_row, hand] * chance


@kernel
def add_values_of_board(street, value, board, total, to):
    """Add the first row of values on a board to row `to` of `total`, once per merged deal."""
    parent_hand, at = street.parent_hand, uint64(board)
    weight = total.dtype.type(street.num_merged[board])
    for h in range(uint64(parent_hand.shape[1])):
        total[to, uint64(parent_hand[at, h])] += weight * value[ZERO, h]


@kernel
def average_orbits(orbit, size, row, total, scratch):
    """Set each hand of a row of `total` to the mean of its orbit; `orbit` [hands] names them."""
    for h in range(size):
        scratch[ZERO, h] = 0.0
        scratch[np.uint64(1), h] = 0.0
    for h in range(size):
        k = uint64(orbit[h])
        scratch[ZERO, k] += total[row, h]
        scratch[np.uint64(1), k] += 1.0
    for h in range(size):
        k = uint64(orbit[h])
        total[row, h] = scratch[ZERO, k] / scratch[np.uint64(1), k]


@outlined_row_kernel
def walk_roots(
    walks, streets, tables, scratch, rows, stack, top, roots, reach, part, num_parts, mode, rounding
):
    """Walk blocks on boards, the roots, and all blocks after them.

    Numba cannot store recursive functions on disk, hence the stack. It optimises the code of
    called functions again in each caller, hence one large function.

    Args:
        walks: one record per street, and so are `streets` and `rows`.
        stack: [streets, 4] scratch: block, board, deal and next board of every street.
        top: the rows of the block before the roots, if their reach comes from it.
        roots: [R, 4] street, block, board, and the deal before the root as a number of `top`.
        reach: own and opponent's reach [R, hands] of the roots, and where their values go: [R,
            hands]; or arrays of length zero and the values [deals, hands] before the deals.
        part: every `num_parts`-th root is walked, from this one on.
    """
    own_reach, opponent_reach, values = reach
    all_walks, all_streets, all_rows = reference(walks), reference(streets), reference(rows)
    tables, scratch = reference(tables), reference(scratch)
    hand_total = dereference(scratch).hand_total
    for root in range(part, roots.shape[0], num_parts):
        level, block, board, deal = roots[root, 0], roots[root, 1], roots[root, 2], roots[root, 3]
        start, is_new = level, True
        if own_reach.shape[0]:
            here, at = dereference(reference_item(all_rows, level)), uint64(root)
            for h in range(uint64(own_reach.shape[1])):
                here.own_reach[ZERO, h] = own_reach[at, h]
                here.opponent_reach[ZERO, h] = opponent_reach[at, h]
        else:
            before = dereference(reference_item(all_walks, level - 1))
            set_reach_on_board(
                before, dereference(reference_item(all_streets, level)), top,
                before.leaf[before.leaf_range[0, 3] + deal], board,
                dereference(reference_item(all_rows, level)),
            )  # fmt: skip
        while level >= start:
            by_walk, by_rows = reference_item(all_walks, level), reference_item(all_rows, level)
            walk, here = dereference(by_walk), dereference(by_rows)
            street, size = dereference(reference_item(all_streets, level)), uint64(walk.sizes[0])
            if is_new:
                descend(by_walk, tables, scratch, by_rows, block, board, mode)
                evaluate_leaves(by_walk, scratch, by_rows, block, board)
                stack[level, 0], stack[level, 1] = block, board
                stack[level, 2], stack[level, 3] = walk.leaf_range[block, 3], -1
                is_new = False
            block, board = stack[level, 0], stack[level, 1]
            base, last_deal = walk.block[block], walk.leaf_range[block, 4]
            next_block, child = 0, 0
            while stack[level, 2] < last_deal:
                node = walk.leaf[stack[level, 2]]
                row, next_block = uint64(node - base), walk.next_block[node]
                by_below = reference_item(all_rows, level + 1)
                next_street, below = (
                    dereference(reference_item(all_streets, level + 1)),
                    dereference(by_below),
                )
                child = stack[level, 3]
                if child < 0:
                    child = street.next_boards[board]
                    for h in range(size):
                        here.value[row, h] = 0.0
                else:  # the walk of this board is done
                    add_values_of_board(next_street, below.value, child, here.value, row)
                    child += 1
                if walk.leaf_range[next_block, 3] == walk.leaf_range[next_block, 4]:
                    # no deals after this one: walk all boards here, without the stack
                    next_walk = reference_item(all_walks, level + 1)
                    while child < street.next_boards[board + 1]:
                        set_reach_on_board(walk, next_street, here, node, child, below)
                        walk_block(
                            next_walk, tables, scratch, by_below, next_block, child, mode, rounding
                        )
                        add_values_of_board(next_street, below.value, child, here.value, row)
                        child += 1
                if child < street.next_boards[board + 1]:
                    set_reach_on_board(walk, next_street, here, node, child, below)
                    stack[level, 3] = child
                    is_new = True
                    break
                if street.orbit_row[board] >= 0:
                    orbit = street.orbit[street.orbit_row[board]]
                    average_orbits(orbit, size, row, here.value, hand_total)
                stack[level, 2] += 1
                stack[level, 3] = -1
            if is_new:
                level, block, board = level + 1, next_block, child
                continue
            tiny = value_tolerance(here, walk.sizes[1], rounding)
            ascend(by_walk, tables, scratch, by_rows, block, board, mode, tiny)
            level -= 1
        here = dereference(reference_item(all_rows, start))
        if own_reach.shape[0]:
            for h in range(uint64(values.shape[1])):
                values[uint64(root), h] = here.value[ZERO, h]
        else:
            first_street = dereference(reference_item(all_streets, start))
            add_values_of_board(first_street, here.value, roots[root, 2], values, uint64(deal))


@noinline_kernel
def sort_hands_on_boards(boards, free_cards, num_hole_cards, order, rank):
    """Set `order` and `rank` [boards, hands] to the hands of every board by rising strength.

    Args:
        boards: [boards, b] cards.
        free_cards: [boards, n] the cards that each board leaves.
        num_hole_cards: 1 or 2.
        order: hands, the weakest first; hand b * (b - 1) / 2 + a holds the free cards a < b.
        rank: 0, 1, ... by strength; equal ranks tie.
    """
    values = np.empty(order.shape[1], np.int64)
    count = boards.shape[1] + num_hole_cards
    for g in range(boards.shape[0]):
        bits = np.uint64(0)
        for k in range(boards.shape[1]):
            bits |= CARD_BIT[boards[g, k]]
        h = 0
        for b in range(free_cards.shape[1]):
            with_b = bits | CARD_BIT[free_cards[g, b]]
            if num_hole_cards == 1:
                values[h] = strength(with_b, count)
                h += 1
                continue
            for a in range(b):
                values[h] = strength(with_b | CARD_BIT[free_cards[g, a]], count)
                h += 1
        sort_by_strength(values, order[g], rank[g])
