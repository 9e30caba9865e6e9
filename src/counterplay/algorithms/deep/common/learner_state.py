"""Conversion of learned responses to lists of arrays, and back, for checkpoints."""

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
    """Return the arrays of the learners' states, one learner after the other."""
    states = [response.state for response in responses]
    return [np.asarray(leaf) for leaf in jax.tree.leaves(states)]


def learners_from_arrays(
    tree: TreeArena, oracle: Any, players: Sequence[int], arrays: Sequence[Any]
) -> list[LearnedPolicy]:
    """Return the learners of these players to continue from, with uniform policies.

    Args:
        tree: the game.
        oracle: the responder that learned them.
        players: the player of each learner.
        arrays: the result of `arrays_from_learners`.
    """
    count, uniform = len(arrays) // len(players), uniform_policy(tree).probabilities
    learners = []
    for index, player in enumerate(players):
        state = oracle.init_state(graph_from_tree(tree), np.random.default_rng(0), (player,))
        leaves = arrays[index * count : (index + 1) * count]
        state = jax.tree.unflatten(jax.tree.structure(state), leaves)
        learners.append(LearnedPolicy(tree, uniform, oracle, state))
    return learners
