"""Mixtures of policies, one of which is drawn for a whole episode, as one policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from counterplay.core.arena import Floats
from counterplay.core.policy import Policy, policy_from_weights
from counterplay.kernels.sequence_form import sweeps


def mix_policies(arena: Any, tables: Sequence[Floats], weights: Sequence[float]) -> Policy:
    """The policy [S] that plays as a random one of the tables: each counts by its own reach."""
    total = np.zeros(arena.num_sequences)
    reach = np.ones(arena.num_sequences + 1)
    for table, weight in zip(tables, weights, strict=True):
        for player in range(arena.num_players):
            for parts in arena.levels(player, 1):
                for first, last in parts:
                    sweeps.forward(arena.form, first, last, table, reach)
        total += weight * reach[:-1]
    return policy_from_weights(arena, total)
