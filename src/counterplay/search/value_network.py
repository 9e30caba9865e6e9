"""Values of public beliefs for the leaves of searches: networks in NumPy, and exact solutions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from counterplay.arenas.belief_subgames import BeliefGame
from counterplay.core.arena import Ints
from counterplay.search.belief_solver import BeliefSolver, Inputs, LeafValues

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]


class NumpyValueNetwork:
    """Values of public beliefs by a network of ReLU layers with skip connections.

    The input has both ranges, then the class of the public state one-hot. Values are shifted so
    that the players' expected values under the ranges sum to zero.

    Args:
        game: the classes of public states.
        net: weights [in, out] and biases [out] of each layer.
        scale: unit of the outputs.
    """

    def __init__(self, game: BeliefGame, net: Sequence[Layer], scale: float = 1.0):
        self.game, self.net, self.scale = game, list(net), np.float32(scale)
        self.width = 2 * game.max_views
        self.view_chance = game.view_chance.reshape(-1, self.width).astype(np.float32)

    def __call__(self, classes: Ints) -> LeafValues:
        """Return the function of the ranges [N, 2 V] of rows of these classes [N]."""
        width, (weights, biases) = self.width, self.net[0]
        # the part of the first layer that does not depend on the ranges
        constant = weights[width:][classes] + biases
        range_weights = np.ascontiguousarray(weights[:width])
        chance, hidden = self.view_chance[classes], weights.shape[1]
        one_hot = np.zeros((classes.size, min(hidden, width + len(self.view_chance))), np.float32)
        inside = np.flatnonzero(width + classes < one_hot.shape[1])
        one_hot[inside, width + classes[inside]] = 1.0

        def leaf_values(ranges: Inputs) -> Inputs:
            x = ranges @ range_weights
            x += constant
            np.maximum(x, 0.0, out=x)
            skip = min(width, hidden)
            one_hot[:, :skip] = ranges[:, :skip]
            x[:, : one_hot.shape[1]] += one_hot
            for weights, biases in self.net[1:-1]:
                y = x @ weights
                y += biases
                np.maximum(y, 0.0, out=y)
                common = min(x.shape[1], y.shape[1])
                y[:, :common] += x[:, :common]
                x = y
            values = (x @ self.net[-1][0]).astype(np.float32, copy=False)
            values += self.net[-1][1]
            weight = ranges * chance
            gap = np.einsum("nv,nv->n", weight, values) / weight.sum(axis=1)
            values -= gap[:, None]
            values *= self.scale
            return values

        return leaf_values


class SolvedValues:
    """Values of public beliefs by solving their subgames to the end of the game.

    They are exact up to the error of the solver: a control for networks, and targets for small
    games. Each call solves all of its rows.

    Args:
        game: the classes of public states.
        iterations: of the solver.
    """

    def __init__(self, game: BeliefGame, iterations: int = 256):
        self.solver, self.iterations = BeliefSolver(game, None), iterations

    def __call__(self, classes: Ints) -> LeafValues:
        """Return the function of the ranges [N, 2 V] of rows of these classes [N]."""
        rng = np.random.default_rng(0)  # without effect: nothing is drawn where all is solved

        def no_leaves(classes: Ints) -> LeafValues:
            raise AssertionError("a subgame to its end has no leaves")

        def leaf_values(ranges: Inputs) -> Inputs:
            beliefs = ranges.reshape(len(ranges), 2, -1).astype(np.float64)
            solution = self.solver.solve(classes, beliefs, no_leaves, self.iterations, rng)
            return solution.values.reshape(ranges.shape).astype(np.float32)

        return leaf_values
