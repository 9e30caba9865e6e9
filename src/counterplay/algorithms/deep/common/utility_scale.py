"""The scale of a game's utilities, by which policy gradients and Deep-Hedge divide them.

On a tree it is exact (see `arenas.tree.utility_scale`); on rules it is estimated from random
episodes that are always the same.
"""

from __future__ import annotations

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.utility_scale import largest_deviation
from counterplay.core.arena import Floats
from counterplay.errors import ConfigError


def tree_utility_scale(tree: TreeArena) -> float:
    """Return the scale of a tree's utilities.

    Raises:
        ConfigError: if each player's utility is the same at all terminals.
    """
    if not np.ptp(tree.utility, axis=0).any():
        raise ConfigError(
            f"networks have nothing to learn: each player's utility is constant in {tree.spec}"
        )
    return tree.utility_scale


def estimate_utility_scale(utility: Floats) -> float:
    """Return the scale of the utilities [N, P] of random episodes; 1 if they do not differ."""
    probability = np.full(len(utility), 1.0 / len(utility))
    return largest_deviation(np.asarray(utility, np.float64), probability) or 1.0
