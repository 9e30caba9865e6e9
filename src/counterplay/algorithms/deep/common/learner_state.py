"""What responders have learned, as a list of arrays, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from counterplay.algorithms.deep.common.best_response import LearnedPolicy
from counterplay.algorithms.deep.common.graph import graph_from_tree
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.policy import uniform_policy


def arrays_from_learners(responses: Sequence[Any]) -> list[Any]:
    """All that the learners of some responses know, one after the other."""
    states = [response.state for response in responses]
    return [np.asarray(leaf) for leaf in jax.tree.leaves(states)]


def learners_from_arrays(
    tree: TreeArena, oracle: Any, players: Sequence[int], arrays: Sequence[Any]
) -> list[LearnedPolicy]:
    """The learners in the seats of these players, to go on from; what they play is not known."""
    count, nowhere = len(arrays) // len(players), uniform_policy(tree).probabilities
    found = []
    for place, player in enumerate(players):
        state = oracle.init_state(graph_from_tree(tree), np.random.default_rng(0), (player,))
        leaves = arrays[place * count : (place + 1) * count]
        state = jax.tree.unflatten(jax.tree.structure(state), leaves)
        found.append(LearnedPolicy(tree, nowhere, oracle, state))
    return found
