"""Continual re-solving with a value network: the policy of a player who plays average policies.

A search of a public state keeps, at each of its leaves, the player's range under the average policy
and the opponent's values, averaged over the iterations. The search of the leaf maximises the
smallest margin by which the opponent gets less than these values (DeepStack; Moravcik et al., 2017;
max-margin: Moravcik et al., 2016). Nothing is drawn at random, so that the policy can be judged as
it is played, and one search per decision is enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplay.core.arena import Floats, Ints
from counterplay.core.policy import Policy
from counterplay.search.belief_solver import BeliefSolver, MarginGadget, ValueNetwork
from counterplay.search.belief_tabulation import MAX_BATCH_ROWS

NO_MASS = 1e-12  # relative to a range of mean 1


@dataclass(frozen=True, eq=False)
class SafeRoot:
    """A public state at which a player searches."""

    state: int
    player: int  # who searches, 0 or 1
    own_range: Floats  # [V] of mean 1
    alternatives: Floats  # [V] values of the opponent's views; empty at the start of the game


@dataclass(frozen=True, eq=False)
class SafeSolution:
    """The average policy of a search, and the roots below."""

    root: SafeRoot
    sequences: Ints  # [n] the player's sequences of the tree
    probabilities: Floats  # [n]
    leaves: list[SafeRoot]
    opponent_range: Floats  # [V] the choice of the opponent's gadget in the last iteration


class SafeSearch:
    """Searches of a player at public states, each with the ranges and values of the one above.

    Args:
        solver: the solver of depth-limited subgames.
        network: values at the leaves.
        iterations: of the solver.
    """

    def __init__(self, solver: BeliefSolver, network: ValueNetwork, iterations: int):
        self.solver, self.network, self.iterations = solver, network, iterations

    def first_root(self, player: int) -> SafeRoot:
        """Return the start of the game."""
        game = self.solver.game
        seat = player ^ int(game.first_player[0])
        own_range = (np.arange(game.max_views) < game.views[0, seat]).astype(np.float64)
        return SafeRoot(0, player, own_range, np.zeros(0))

    def solve(self, roots: list[SafeRoot]) -> list[SafeSolution]:
        """Return the solutions of public states below the start, or of the start."""
        solver, game = self.solver, self.solver.game
        states = np.array([root.state for root in roots])
        classes = game.state_class[states]
        seats = np.array([root.player for root in roots]) ^ game.first_player[states]
        ranges = (np.arange(game.max_views) < game.views[classes][:, :, None]).astype(np.float64)
        ranges[np.arange(len(roots)), seats] = [root.own_range for root in roots]
        gadget = None
        if roots[0].alternatives.size:
            alternatives = np.array([root.alternatives for root in roots])
            gadget = MarginGadget(game, classes, 1 - seats, alternatives)
        solution = solver.solve(
            classes,
            ranges,
            self.network,
            self.iterations,
            np.random.default_rng(0),
            gadget=gadget,
            keep_leaf_values=True,
        )
        row_offset, beliefs, masses = solver.masses_at_leaves(classes, ranges, solution.average)
        width = game.max_views
        results = []
        for b, root in enumerate(roots):
            sequence, leaf_states = solver.state_sequences(root.state)
            own = np.flatnonzero((solver.owners[classes[b]] == seats[b]) & (sequence >= 0))
            leaves = []
            for number, leaf in enumerate(leaf_states.tolist()):
                row = int(row_offset[b]) + number
                seat = root.player ^ int(game.first_player[leaf])
                own_columns = slice(seat * width, (seat + 1) * width)
                other_columns = slice((1 - seat) * width, (2 - seat) * width)
                mass = max(float(masses[row, seats[b]]), NO_MASS)
                leaves.append(
                    SafeRoot(
                        leaf,
                        root.player,
                        beliefs[row, own_columns].astype(np.float64),
                        solution.leaf_values[row, other_columns] / mass,
                    )
                )
            choice = gadget.choice[b] if gadget else ranges[b, 1 - seats[b]]
            results.append(
                SafeSolution(root, sequence[own], solution.average[b, own], leaves, choice)
            )
        return results

    def policy(self) -> Policy:
        """Return the policy of both players at all infosets."""
        tree = self.solver.game.tree
        probabilities = np.zeros(tree.num_sequences)
        queue = self._solve_parts([self.first_root(0)]) + self._solve_parts([self.first_root(1)])
        while queue:
            roots = []
            for solution in queue:
                probabilities[solution.sequences] = solution.probabilities
                roots += solution.leaves
            queue = self._solve_parts(roots)
        return Policy(tree, probabilities)

    def _solve_parts(self, roots: list[SafeRoot]) -> list[SafeSolution]:
        """Return the solutions of roots, some at a time."""
        game, results = self.solver.game, []
        states = np.array([root.state for root in roots], np.int64)
        leaves = np.maximum(self.solver.num_leaves[game.state_class[states]], 1)
        part = np.cumsum(leaves) // MAX_BATCH_ROWS
        for number in np.unique(part).tolist():
            results += self.solve([roots[k] for k in np.flatnonzero(part == number)])
        return results
