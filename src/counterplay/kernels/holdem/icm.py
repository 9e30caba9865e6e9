"""The independent chip model (Malmuth and Harville): prizes that stacks are expected to win."""

from __future__ import annotations

import numpy as np

from counterplay.kernels.runtime.jit import noinline_kernel


@noinline_kernel
def expected_prizes(stacks, payouts, out):
    """Set `out` [P] to the expected prizes of stacks [P] > 0; `payouts` [Q] are first to last.

    The probability that the players of a set S take the first |S| places, in any order, is

        p(S) = sum over i in S of p(S - i) * stack(i) / (total - stack(S - i))

    so that P players need 2**P sets instead of P! orders.
    """
    n = stacks.size
    places = min(payouts.size, n)
    total = stacks.sum()
    probability, taken = np.zeros(1 << n), np.zeros(1 << n)
    probability[0] = 1.0
    out[:] = 0.0
    for players in range((1 << n) - 1):
        place = 0
        for i in range(n):
            place += players >> i & 1
        if place >= places:
            continue
        left = total - taken[players]
        for i in range(n):
            if not players >> i & 1:
                chance = probability[players] * stacks[i] / left
                out[i] += chance * payouts[place]
                probability[players | 1 << i] += chance
                taken[players | 1 << i] = taken[players] + stacks[i]
