"""A whole policy of a public tree as numbers of 16 bits, piece by piece."""

from __future__ import annotations

import numpy as np
from numpy import uint64

from counterplay.kernels.holdem.street_walk import normalise_positive, override_policy
from counterplay.kernels.runtime.jit import noinline_kernel

UINT16_MAX = 65535.0  # stands for 1


@noinline_kernel
def pack_policy(walk, tables, room, policy, node, first, last, out):
    """Set a node's pieces of `out` for boards `first` to `last` to the policy there."""
    count = uint64(walk.count[node])
    size = uint64(walk.sizes[0 if walk.kind[node] == walk.player else 1])
    shown, otherwise, total = tables.policy_weights, tables.fallback_weights, room.hand_total
    row = uint64(0)
    for board in range(first, last):
        start = uint64(walk.start[node] + board * walk.stride[node])
        missing = normalise_positive(shown, start, count, size, total, row, policy)
        if missing and otherwise.size:
            override_policy(otherwise, start, count, size, total, row, policy)
        for a in range(count):
            for h in range(size):
                out[start + a * size + h] = np.uint16(policy[a, h] * UINT16_MAX + 0.5)
