"""Pack a policy of a public tree into numbers of 16 bits."""

from __future__ import annotations

import numpy as np
from numpy import uint64

from counterplay.kernels.holdem.street_walk import normalise_positive, override_policy
from counterplay.kernels.runtime.jit import outlined_row_kernel

UINT16_MAX = 65535.0  # represents probability 1


@outlined_row_kernel
def pack_policy(walk, tables, scratch, policy, node, first, last, out):
    """Set the pieces of `out` of a node on boards `first` to `last` - 1 to its policy."""
    count = uint64(walk.count[node])
    size = uint64(walk.sizes[0 if walk.kind[node] == walk.player else 1])
    weights, fallback, total = tables.policy_weights, tables.fallback_weights, scratch.hand_total
    row = uint64(0)
    for board in range(first, last):
        start = uint64(walk.start[node] + board * walk.stride[node])
        missing = normalise_positive(weights, start, count, size, total, row, policy)
        if missing and fallback.size:
            override_policy(fallback, start, count, size, total, row, policy)
        for a in range(count):
            for h in range(size):
                out[start + a * size + h] = np.uint16(policy[a, h] * UINT16_MAX + 0.5)
