"""Online outcome sampling on a tree, by a compiled kernel: for judging agents and their curves."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, Ints
from counterplay.core.game import State
from counterplay.kernels.sampling import oos_walk

CHUNK_SIMULATIONS = 256  # between two looks at the clock


class SamplingTree(NamedTuple):
    """The arrays of a tree with N nodes that simulations use."""

    player: Ints  # [N]
    parent: Ints  # [N]
    infoset: Ints  # [N]
    offset: Ints  # [I + 1] first sequence of each infoset
    child_offset: Ints  # [N + 1]
    chance: Floats  # [N] probability of the chance action before each node
    utility: Floats  # [Z, P]
    terminal_row: Ints  # [N] row of each terminal in `utility`


class Steps(NamedTuple):
    """Scratch arrays of one episode of at most D actions, of at most A each."""

    child: Ints  # [D] the node after each action
    policy: Floats  # [D, A]
    sampling: Floats  # [D, A]
    own: Floats  # [D] reach of the acting player before each action
    other: Floats  # [D] of all others and chance
    before: Floats  # [D] probability of sampling the history before each action


class TreeOOSAgent:
    """The agent `oos` on a tree: the same search, with all histories of the infoset as targets.

    Args:
        tree: the tree of the game.
        settings: the parameters, an `OOS`.
        seed: seed of all random numbers.
        parts: arrays of another agent of the tree.
    """

    def __init__(self, tree: TreeArena, settings: Any, seed: int = 0, parts: Any = None):
        self.tree, self.settings, self.seed = tree, settings, seed
        self.parts: tuple[SamplingTree, list[Ints]] = parts or self._make_parts()
        self.rng = np.array([np.uint64(seed)], np.uint64)
        # of one episode
        self.regret = np.zeros(tree.num_sequences)
        self.policy_sum = np.zeros(tree.num_sequences)

    @property
    def game(self) -> Any:
        return self.tree.game

    def for_episode(self, seed: int) -> TreeOOSAgent:
        """Return the agent for one episode, with an empty memory."""
        return TreeOOSAgent(self.tree, self.settings, seed, self.parts)

    def action_probabilities(self, state: State, player: int) -> list[float]:
        """Return the probabilities of the player's actions at a state."""
        tree, settings = self.tree, self.settings
        infoset = tree.find_infoset(tree.game.infoset_key(state, player), player)
        first, last = (int(s) for s in tree.offset[infoset : infoset + 2])
        if last - first == 1:
            return [1.0]
        arrays, nodes = self.parts
        toward = self._toward(nodes[infoset])
        depth, width = len(tree.level_offset), int(np.diff(arrays.child_offset).max())
        shape = depth, width
        steps = Steps(
            np.zeros(depth, np.int64),
            *(np.zeros(shape) for _ in range(2)),
            *(np.zeros(depth) for _ in range(3)),
        )
        deadline, done, total = time.perf_counter() + settings.seconds, 0, settings.simulations
        while done < total if not settings.seconds else time.perf_counter() < deadline or not done:
            count = CHUNK_SIMULATIONS if settings.seconds else total
            oos_walk.simulate(
                arrays, toward, settings.delta, settings.epsilon, settings.gamma, done, count,
                self.rng, self.regret, self.policy_sum, steps,
            )  # fmt: skip
            done += count
        row = self.policy_sum[first:last]
        if not row.sum() > 0.0:
            positive = np.maximum(self.regret[first:last], 0.0)
            uniform = np.full(row.size, 1.0 / row.size)
            if not positive.sum() > 0.0:
                return [float(p) for p in uniform]
            row = settings.gamma * uniform + (1.0 - settings.gamma) * positive / positive.sum()
        return [float(p) for p in row / row.sum()]

    def _toward(self, targets: Ints) -> Ints:
        """Return 1 for the nodes [N] above targets, 2 for the targets."""
        parent, toward = self.parts[0].parent, np.zeros(self.tree.num_nodes, np.int64)
        nodes = targets
        while nodes.size and nodes[0] > 0:
            nodes = np.unique(parent[nodes])
            toward[nodes] = 1
        toward[0] = 1
        toward[targets] = 2
        return toward

    def _make_parts(self) -> tuple[SamplingTree, list[Ints]]:
        tree = self.tree
        row = np.full(tree.num_nodes, -1)
        row[tree.terminals] = np.arange(tree.terminals.size)
        arrays = SamplingTree(
            tree.player.astype(np.int64),
            tree.parent.astype(np.int64),
            tree.infoset.astype(np.int64),
            tree.offset.astype(np.int64),
            tree.child_offset.astype(np.int64),
            np.asarray(tree.chance, np.float64),
            np.ascontiguousarray(tree.utility, np.float64),
            row,
        )
        order = np.argsort(tree.infoset, kind="stable")
        order = order[tree.infoset[order] >= 0]
        bounds = np.searchsorted(tree.infoset[order], np.arange(1, tree.num_infosets))
        return arrays, np.split(order, bounds)
