"""Sweeps of extensive-form regret minimisation (EFR); see `algorithms.cfr.efr`.

The layout of arrays is that of `sweeps`. Infoset i has memory states m from memory_offset[i] to
memory_offset[i + 1]; the weight of m is the player's reach of memory_sequence[m], times the
probabilities of the sequences heard[heard_offset[m] : heard_offset[m + 1]]. Regrets of an infoset
start at regret_offset[i]: for each memory state a row of A entries for external deviations (play
a), or A * A where is_internal[m] (play a when b is recommended).
"""

from __future__ import annotations

import numpy as np

from counterplay.kernels.runtime.jit import fma_kernel as kernel

MIXING = 1e-13  # uniform part of the chain of internal deviations, which makes it irreducible
SMALLEST_PROBABILITY = 1e-10  # smaller stationary probabilities are artefacts of it


@kernel
def update_deviation_regrets(form, first, last, layout, factors, reach, instant, policy, regret):
    """Add the instant regrets [S + 1] of infosets `first` to `last` to those of deviations.

    `factors` are (smallest regret, rounding errors [S]): 0 is RM+, minus infinity RM.
    """
    smallest, tiny = factors
    memory_offset, memory_sequence, regret_offset, is_internal, heard_offset, heard = layout
    for i in range(first, last):
        start, end = np.int64(form.offset[i]), np.int64(form.offset[i + 1])
        count = end - start
        at = regret_offset[i]
        for m in range(memory_offset[i], memory_offset[i + 1]):
            weight = reach[memory_sequence[m]]
            for h in range(heard_offset[m], heard_offset[m + 1]):
                weight *= policy[heard[h]]
            if is_internal[m]:
                for b in range(count):
                    for a in range(count):
                        gain = instant[start + a] - instant[start + b]
                        if abs(gain) > tiny[start]:
                            r = regret[at + b * count + a] + weight * policy[start + b] * gain
                            regret[at + b * count + a] = max(r, smallest)
                at += count * count
            else:
                for a in range(count):
                    gain = instant[start + a]
                    if abs(gain) > tiny[start]:
                        regret[at + a] = max(regret[at + a] + weight * gain, smallest)
                at += count


@kernel
def forward_deviations(form, first, last, layout, regret, policy, reach, chain):
    """Set the policy of infosets `first` to `last`, parents first, and `reach`.

    The policy is the fixed point of the deviations with positive regret, weighted by it and by the
    new reach of their memory states; `chain` [A, A] is scratch.
    """
    memory_offset, memory_sequence, regret_offset, is_internal, heard_offset, heard = layout
    for i in range(first, last):
        start, end = np.int64(form.offset[i]), np.int64(form.offset[i + 1])
        count = end - start
        at, total, any_internal = regret_offset[i], 0.0, False
        for b in range(count):
            for a in range(count):
                chain[b, a] = 0.0
        for m in range(memory_offset[i], memory_offset[i + 1]):
            weight = reach[memory_sequence[m]]
            for h in range(heard_offset[m], heard_offset[m + 1]):
                weight *= policy[heard[h]]
            if is_internal[m]:
                any_internal = True
                for b in range(count):
                    for a in range(count):
                        amount = weight * max(regret[at + b * count + a], 0.0)
                        chain[b, a] += amount
                        total += amount
                at += count * count
            else:
                for a in range(count):
                    amount = weight * max(regret[at + a], 0.0)
                    for b in range(count):
                        chain[b, a] += amount
                    total += amount
                at += count
        above = reach[form.parent[i]]
        if total > 0.0:
            if any_internal:
                set_stationary(chain, count, total, policy, start)
            else:
                for a in range(count):
                    policy[start + a] = chain[0, a] / total
        else:
            for a in range(count):
                policy[start + a] = 1.0 / count
        for a in range(count):
            reach[start + a] = above * policy[start + a]


@kernel
def set_stationary(chain, count, total, policy, start):
    """Set policy[start:] to the stationary distribution of a chain with rates `chain` / `total`.

    The method of Grassmann, Taksar and Heyman (1985), which subtracts nothing.
    """
    for b in range(count):
        for a in range(count):
            chain[b, a] = (1.0 - MIXING) * chain[b, a] / total + MIXING / count
    for n in range(count - 1, 0, -1):
        out = 0.0
        for a in range(n):
            out += chain[n, a]
        for b in range(n):
            chain[b, n] /= out
            for a in range(n):
                chain[b, a] += chain[b, n] * chain[n, a]
    policy[start] = 1.0
    sum_of_all = 1.0
    for n in range(1, count):
        value = 0.0
        for b in range(n):
            value += policy[start + b] * chain[b, n]
        policy[start + n] = value
        sum_of_all += value
    remaining = 0.0
    for a in range(count):
        if policy[start + a] < SMALLEST_PROBABILITY * sum_of_all:
            policy[start + a] = 0.0
        remaining += policy[start + a]
    for a in range(count):
        policy[start + a] /= remaining
