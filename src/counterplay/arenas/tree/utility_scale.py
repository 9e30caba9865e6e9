"""The scale of a game's utilities, to which step sizes, temperatures and thresholds refer.

The scale is the standard deviation of a player's utility when all players act uniformly at random,
the largest of all players. Multiplying all utilities by a positive number multiplies it, and adding
a constant leaves it as it is, so that hyper-parameters such as temperatures mean the same in any
units. A factor that is a power of two changes no bit of the divided utilities.

It is 1.45 in Kuhn poker, 4.51 in Leduc poker, 0.85 in Goofspiel with 3 cards, and 1.00 in liar's
dice. The largest utility (2, 13, 1 and 1) would be a worse unit: in Leduc poker it is rarely paid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counterplay.core.arena import Floats
from counterplay.core.game import CHANCE

if TYPE_CHECKING:
    from counterplay.arenas.tree.arena import TreeArena


def largest_deviation(utility: Floats, probability: Floats) -> float:
    """Return the largest standard deviation of the columns of utilities [N, P]."""
    if not np.ptp(utility, axis=0).any():
        return 0.0
    deviation = utility - probability @ utility / probability.sum()
    return float(np.sqrt(probability @ deviation**2).max())


def uniform_reach(tree: TreeArena) -> Floats:
    """Return the probability of reaching each node [N] by uniform play."""
    reach = np.ones(tree.num_nodes)
    first, end = 0, 1  # nodes of a level, which stand together
    while first < end:
        counts = np.diff(tree.child_offset[first : end + 1])
        is_chance = np.repeat(tree.player[first:end] == CHANCE, counts)
        children = slice(int(tree.child_offset[first]), int(tree.child_offset[end]))
        share = np.where(is_chance, tree.chance[children], 1.0 / np.repeat(counts, counts))
        reach[children] = np.repeat(reach[first:end], counts) * share
        first, end = children.start, children.stop
    return reach
