"""Batches of depth-limited subgames: CFR iterations with values of the leaves from outside.

A batch has B subgames, each with its own layout (see `arenas.belief_subgames`) and ranges. Arrays
of the batch are [B, n] with the n of the largest layout. The arrays of all layouts are joined;
`table` [layouts, 6] has the first infoset, payoff, leaf and leaf view of each, and the views of
both players.
"""

from __future__ import annotations

from counterplay.kernels.runtime.jit import fma_kernel as kernel


@kernel
def descend(layouts, kinds, reach, policy, row_offset, inputs, mass):
    """Set the reach of all sequences, and the normalised ranges at all leaves.

    Root sequences of `reach` [B, n] are the ranges of the batch. Ranges at a leaf have mean 1, in
    the order of players of its own layout; a range without mass is uniform.

    Args:
        layouts: record of the joined layouts.
        kinds: [B] layout of each subgame.
        reach: [B, n] reach of each sequence.
        policy: [B, n] probability of each sequence.
        row_offset: [B + 1] first row of the leaves of each subgame.
        inputs: [rows, 2 V] ranges at the leaves; entries beyond the views stay 0.
        mass: [rows, 2] mean reach of both players of the layout at the leaf.
    """
    num_columns = inputs.shape[1] // 2
    for b in range(kinds.size):
        k = kinds[b]
        first, parent = layouts.first, layouts.parent
        i0, i1 = layouts.table[k, 0], layouts.table[k + 1, 0]
        for i in range(i0, i1):
            r = reach[b, parent[i]]
            start, end = first[i, 0], first[i, 1]
            for s in range(start, end):
                reach[b, s] = r * policy[b, s]
        row = row_offset[b]
        for leaf in range(layouts.table[k, 2], layouts.table[k + 1, 2]):
            for p in range(2):
                v0, v1 = layouts.leaf_view[leaf, p], layouts.leaf_view[leaf, p + 1]
                total = 0.0
                for v in range(v0, v1):
                    total += reach[b, layouts.leaf_sequence[v]]
                count = v1 - v0
                mass[row, p] = total / count
                column = (p ^ layouts.leaf_swap[leaf]) * num_columns
                scale = count / total if total > 1e-30 else 0.0
                for v in range(v0, v1):
                    x = reach[b, layouts.leaf_sequence[v]] * scale if scale else 1.0
                    inputs[row, column + v - v0] = x
            row += 1


@kernel
def ascend(layouts, kinds, reach, policy, row_offset, values, mass, gradient):
    """Set the counterfactual value of all sequences, given the values of the leaves.

    Args:
        values: [rows, 2 V] value of each view of a leaf, for ranges of mean 1.
        gradient: [B, n] the result; at root sequences the value of the subgame.
    """
    num_columns = values.shape[1] // 2
    for b in range(kinds.size):
        k = kinds[b]
        first, parent = layouts.first, layouts.parent
        i0, i1 = layouts.table[k, 0], layouts.table[k + 1, 0]
        num_roots = layouts.table[k, 4] + layouts.table[k, 5]
        size = first[i1 - 1, 1] if i1 > i0 else num_roots
        for s in range(size):
            gradient[b, s] = 0.0
        for e in range(layouts.table[k, 1], layouts.table[k + 1, 1]):
            s, t, u = layouts.payoff[e, 0], layouts.payoff[e, 1], layouts.utility[e]
            gradient[b, s] += u * reach[b, t]
            gradient[b, t] -= u * reach[b, s]
        row = row_offset[b]
        for leaf in range(layouts.table[k, 2], layouts.table[k + 1, 2]):
            for p in range(2):
                scale = layouts.leaf_chance[leaf] * mass[row, 1 - p]
                column = (p ^ layouts.leaf_swap[leaf]) * num_columns
                v0 = layouts.leaf_view[leaf, p]
                for v in range(v0, layouts.leaf_view[leaf, p + 1]):
                    x = scale * layouts.view_chance[v] * values[row, column + v - v0]
                    gradient[b, layouts.leaf_sequence[v]] += x
            row += 1
        for i in range(i1 - 1, i0 - 1, -1):
            value = 0.0
            for s in range(first[i, 0], first[i, 1]):
                value += policy[b, s] * gradient[b, s]
            gradient[b, parent[i]] += value


@kernel
def match_regrets(layouts, kinds, gradient, regret, policy):
    """Add the instantaneous regrets, floor at zero, and set the predictive policy (PRM+)."""
    for b in range(kinds.size):
        k = kinds[b]
        for i in range(layouts.table[k, 0], layouts.table[k + 1, 0]):
            start, end = layouts.first[i, 0], layouts.first[i, 1]
            value = 0.0
            for s in range(start, end):
                value += policy[b, s] * gradient[b, s]
            total = 0.0
            for s in range(start, end):
                r = gradient[b, s] - value
                regret[b, s] = max(regret[b, s] + r, 0.0)
                policy[b, s] = max(regret[b, s] + r, 0.0)
                total += policy[b, s]
            for s in range(start, end):
                policy[b, s] = policy[b, s] / total if total > 0.0 else 1.0 / (end - start)


@kernel
def add_to_average(layouts, kinds, weight, reach, policy_sum):
    """Add weight * reach of an iteration to `policy_sum` [B, n]."""
    for b in range(kinds.size):
        k = kinds[b]
        i0, i1 = layouts.table[k, 0], layouts.table[k + 1, 0]
        if i1 > i0:
            for s in range(layouts.first[i0, 0], layouts.first[i1 - 1, 1]):
                policy_sum[b, s] += weight * reach[b, s]


@kernel
def normalise_average(layouts, kinds, policy_sum):
    """Turn sums of reach into probabilities; uniform where the sum is zero."""
    for b in range(kinds.size):
        k = kinds[b]
        for i in range(layouts.table[k, 0], layouts.table[k + 1, 0]):
            start, end = layouts.first[i, 0], layouts.first[i, 1]
            total = 0.0
            for s in range(start, end):
                total += policy_sum[b, s]
            for s in range(start, end):
                policy_sum[b, s] = policy_sum[b, s] / total if total > 0.0 else 1.0 / (end - start)
