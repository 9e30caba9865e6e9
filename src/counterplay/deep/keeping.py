"""What responders have learned, as a list of arrays, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from counterplay.deep.graph import graph_of
from counterplay.deep.responders import LearnedPolicy
from counterplay.policy import uniform_policy
from counterplay.tree import Tree


def arrays_of_learners(responses: Sequence[Any]) -> list[Any]:
    """All that the learners of some responses know, one after the other."""
    states = [response.state for response in responses]
    return [np.asarray(leaf) for leaf in jax.tree.leaves(states)]


def learners_of_arrays(
    tree: Tree, oracle: Any, seats: Sequence[int], arrays: Sequence[Any]
) -> list[LearnedPolicy]:
    """The learners in the seats of these players, to go on from; what they play is not known."""
    count, nowhere = len(arrays) // len(seats), uniform_policy(tree).probabilities
    found = []
    for place, player in enumerate(seats):
        state = oracle.start(graph_of(tree), np.random.default_rng(0), (player,))
        leaves = arrays[place * count : (place + 1) * count]
        state = jax.tree.unflatten(jax.tree.structure(state), leaves)
        found.append(LearnedPolicy(tree, nowhere, oracle, state))
    return found
