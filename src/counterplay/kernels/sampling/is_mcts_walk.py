"""Information set Monte Carlo tree search on the arrays of a tree."""

from __future__ import annotations

import numpy as np

from counterplay.kernels.runtime.jit import CHANCE, TERMINAL
from counterplay.kernels.runtime.jit import fma_kernel as kernel
from counterplay.kernels.sampling.primitives import draw_uniform


@kernel
def simulate(tree, starts, cumulated, constant, count, rng, slots, scale, path):
    """Run simulations from the nodes of one infoset; see `search.is_mcts`.

    Args:
        tree: record with player, child_offset, chance, slot and utility by node.
        starts: nodes of the infoset.
        cumulated: their cumulated probabilities; the last is 1.
        constant: exploration constant.
        count: number of simulations.
        rng: [1] state of the generator.
        slots: [slots, 3] visits, sum of values and number of times available of each action.
        scale: [2] lowest and highest utility so far.
        path: [max depth] scratch.
    """
    for _ in range(count):
        x, k = draw_uniform(rng), 0
        while x >= cumulated[k] and k < starts.size - 1:
            k += 1
        node, length, is_new = starts[k], 0, False
        while tree.player[node] != TERMINAL:
            first, last = tree.child_offset[node], tree.child_offset[node + 1]
            if tree.player[node] == CHANCE:
                x, child = draw_uniform(rng), first
                x -= tree.chance[child]
                while x >= 0.0 and child < last - 1:
                    child += 1
                    x -= tree.chance[child]
            elif is_new:
                child = first + int(draw_uniform(rng) * (last - first))
            else:
                untried = 0
                for c in range(first, last):
                    untried += slots[tree.slot[c], 0] == 0.0
                child = first
                if untried:
                    is_new = True
                    left = int(draw_uniform(rng) * untried)
                    for c in range(first, last):
                        if slots[tree.slot[c], 0] == 0.0:
                            if left == 0:
                                child = c
                                break
                            left -= 1
                else:
                    child = _select(tree, first, last, constant, rng, slots, scale)
                path[length] = child
                length += 1
            node = child
        row = tree.terminal_row[node]
        for p in range(tree.utility.shape[1]):
            scale[0] = min(scale[0], tree.utility[row, p])
            scale[1] = max(scale[1], tree.utility[row, p])
        for k in range(length):
            child = path[k]
            parent = tree.parent[child]
            s = tree.slot[child]
            slots[s, 0] += 1.0
            slots[s, 1] += tree.utility[row, tree.player[parent]]
            for c in range(tree.child_offset[parent], tree.child_offset[parent + 1]):
                slots[tree.slot[c], 2] += 1.0


@kernel
def _select(tree, first, last, constant, rng, slots, scale):
    """Return the child with the largest upper confidence bound, ties at random."""
    width = scale[1] - scale[0]
    factor = 1.0 / width if width > 0.0 else 0.0
    best, child, ties = -np.inf, first, 0
    last_count, log_count = 1.0, 0.0
    for c in range(first, last):
        s = tree.slot[c]
        visits = slots[s, 0]
        mean = (slots[s, 1] / visits - scale[0]) * factor
        if slots[s, 2] != last_count:  # most siblings were available equally often
            last_count = slots[s, 2]
            log_count = np.log(last_count)
        score = mean + constant * np.sqrt(log_count / visits)
        if score > best:
            best, child, ties = score, c, 1
        elif score == best:
            ties += 1
            if draw_uniform(rng) * ties < 1.0:
                child = c
    return child
