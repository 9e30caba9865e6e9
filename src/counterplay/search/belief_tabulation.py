"""The policy of a search with public beliefs, at all infosets of a tree."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, Ints
from counterplay.core.policy import Policy, policy_from_weights
from counterplay.kernels.sequence_form import sweeps
from counterplay.search.belief_solver import BeliefSolver, ValueNetwork

MAX_BATCH_ROWS = 30_000  # leaves of the subgames that are solved at a time


def tabulate_search(
    solver: BeliefSolver,
    network: ValueNetwork,
    iterations: int,
    num_policies: int,
    rng: np.random.Generator,
) -> Policy:
    """Return the mean of policies that a searching agent plays; see `sample_policies`."""
    policies = sample_policies(solver, network, iterations, num_policies, rng)
    return average_policies(solver.game.tree, policies)


def average_policies(tree: TreeArena, policies: Floats) -> Policy:
    """Return the policy of a player who draws one of several policies [n, S] for each episode.

    It is the mean of their realization plans: probabilities are weighted by own reach.
    """
    form = tree.form
    total, reach = np.zeros(tree.num_sequences), np.ones(tree.num_sequences + 1)
    for probabilities in policies:
        sweeps.forward(form, 0, form.parent.size, probabilities, reach)
        total += reach[:-1]
    return policy_from_weights(tree, total)


def sample_policies(
    solver: BeliefSolver,
    network: ValueNetwork,
    iterations: int,
    num_policies: int,
    rng: np.random.Generator,
) -> Floats:
    """Return policies [n, S] that a searching agent plays, each with its own draws.

    A searching agent solves the subgame at the root, plays the policy of a random iteration in it,
    and solves again at the leaf that it comes to, with the ranges of that iteration. All policies
    share the first search.

    Args:
        solver: the solver of depth-limited subgames.
        network: values at the leaves.
        iterations: of the solver.
        num_policies: number of policies.
        rng: draws the iterations.
    """
    game = solver.game
    policies = np.zeros((num_policies, game.tree.num_sequences))
    root = (np.arange(game.max_views) < game.views[0][:, None]).astype(np.float64)
    first = solver.solve(np.zeros(1, np.int64), root[None], network, iterations, rng, num_policies)
    index, state = np.arange(num_policies), np.zeros(num_policies, np.int64)
    ranges, drawn = np.repeat(root[None], num_policies, axis=0), first.drawn
    while state.size:
        parts = []
        for rows in _chunks(solver, game.state_class[state]):
            classes = game.state_class[state[rows]]
            if state[0]:
                drawn = solver.solve(classes, ranges[rows], network, iterations, rng).drawn
            policy = drawn[rows] if not state[0] else drawn
            offset, beliefs, _ = solver.ranges_at_leaves(classes, ranges[rows], policy)
            for b, (number, root_state) in enumerate(
                zip(index[rows].tolist(), state[rows].tolist(), strict=True)
            ):
                sequence, leaves = solver.state_sequences(root_state)
                inside = slice(int(solver.layouts[classes[b]].first[0]), sequence.size)
                policies[number, sequence[inside]] = policy[b, inside]
                below = beliefs[offset[b] : offset[b + 1]].reshape(-1, 2, game.max_views)
                parts.append((np.full(leaves.size, number), leaves, below))
        index = np.concatenate([part[0] for part in parts])
        state = np.concatenate([part[1] for part in parts])
        ranges = np.concatenate([part[2] for part in parts]).astype(np.float64)
        order = np.argsort(state, kind="stable")
        index, state, ranges = index[order], state[order], ranges[order]
    return policies


def _chunks(solver: BeliefSolver, classes: Ints) -> list[slice]:
    """Return consecutive parts of a list of subgames with few leaves each."""
    rows = np.cumsum(np.maximum(solver.num_leaves[classes], 1))
    part = rows // MAX_BATCH_ROWS
    bounds = [*np.flatnonzero(np.diff(part, prepend=-1)).tolist(), classes.size]
    return [slice(first, last) for first, last in pairwise(bounds)]
