"""Mixtures of policies, of which one is drawn for each episode, as a single policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from counterplay.core.arena import Floats
from counterplay.core.policy import Policy, policy_from_weights
from counterplay.kernels.sequence_form import sweeps


def mix_policies(arena: Any, tables: Sequence[Floats], weights: Sequence[float]) -> Policy:
    """Return the policy equivalent to drawing one of the policies [S] for each episode.

    At an infoset each policy counts in proportion to its weight times its own reach.
    """
    total = np.zeros(arena.num_sequences)
    reach = np.ones(arena.num_sequences + 1)
    for table, weight in zip(tables, weights, strict=True):
        for player in range(arena.num_players):
            for parts in arena.levels(player, 1):
                for first, last in parts:
                    sweeps.forward(arena.form, first, last, table, reach)
        total += weight * reach[:-1]
    return policy_from_weights(arena, total)
