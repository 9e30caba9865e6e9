"""Information set MCTS on a tree, by a compiled kernel: for judging agents and their curves."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from counterplay.arenas.public_states import player_views
from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.node_values import incoming_probabilities
from counterplay.core.arena import Floats, Ints
from counterplay.core.game import State
from counterplay.core.policy import uniform_policy
from counterplay.errors import ConfigError
from counterplay.kernels.sampling import is_mcts_walk

CHUNK_SIMULATIONS = 256  # between two looks at the clock


class SearchTree(NamedTuple):
    """The arrays of a tree that simulations use; `slot` numbers the actions of search nodes."""

    player: Ints  # [N]
    parent: Ints  # [N]
    child_offset: Ints  # [N + 1]
    chance: Floats  # [N] probability of the chance action before each node
    slot: Ints  # [N] number of the action before each node; 0 after chance
    utility: Floats  # [Z, P]
    terminal_row: Ints  # [N] row of each terminal in `utility`


class TreeISMCTSAgent:
    """The agent `is_mcts` on a tree: the same search, with exact probabilities of the states.

    Args:
        tree: the tree of the game.
        settings: the parameters, an `ISMCTS`.
        seed: seed of all random numbers.
        parts: arrays of another agent of the tree with the same settings.
    """

    def __init__(self, tree: TreeArena, settings: Any, seed: int = 0, parts: Any = None):
        self.tree, self.settings, self.seed = tree, settings, seed
        self.parts = parts or self._make_parts()
        self.rng = np.array([np.uint64(seed)], np.uint64)

    @property
    def game(self) -> Any:
        return self.tree.game

    def for_episode(self, seed: int) -> TreeISMCTSAgent:
        """Return the agent for one episode."""
        return TreeISMCTSAgent(self.tree, self.settings, seed, self.parts)

    def action_probabilities(self, state: State, player: int) -> list[float]:
        """Return the probabilities of the player's actions at a state."""
        from counterplay.search.is_mcts import finish

        tree, settings = self.tree, self.settings
        infoset = tree.find_infoset(tree.game.infoset_key(state, player), player)
        arrays, sizes, nodes, reach = self.parts
        observer = player if settings.observer == "single" else 0
        search_tree: SearchTree = arrays[observer]
        starts = nodes[infoset]
        weights = reach[starts, player]
        if not weights.sum() > 0.0:
            weights = np.ones(starts.size)
        cumulated = np.cumsum(weights / weights.sum())
        slots, scale = np.zeros((sizes[observer], 3)), np.array([np.inf, -np.inf])
        path = np.zeros(len(tree.level_offset), np.int64)
        constant, total = settings.exploration_constant, settings.simulations
        deadline, done = time.perf_counter() + settings.seconds, 0
        while done < total if not settings.seconds else time.perf_counter() < deadline or not done:
            count = CHUNK_SIMULATIONS if settings.seconds else total
            is_mcts_walk.simulate(
                search_tree, starts, cumulated, constant, count, self.rng, slots, scale, path
            )
            done += count
        first = int(tree.child_offset[starts[0]])
        visits = slots[search_tree.slot[first : int(tree.child_offset[starts[0] + 1])], 0]
        shares = visits / visits.sum()
        return finish([float(share) for share in shares], settings.final)

    def _make_parts(self) -> tuple[list[SearchTree], list[int], list[Ints], Floats]:
        tree = self.tree
        if self.settings.observer == "single":
            views = player_views(tree)
            if views is None:
                raise ConfigError(
                    "is_mcts with a single observer needs the infoset keys of all players at all "
                    f"states, which {tree.spec} does not define; take is_mcts(observer=multiple)"
                )
            columns = [views[:, player] for player in range(tree.num_players)]
        else:
            columns = [tree.infoset]
        arrays, sizes = [], []
        row = np.full(tree.num_nodes, -1)
        row[tree.terminals] = np.arange(tree.terminals.size)
        for column in columns:
            slot = np.zeros(tree.num_nodes, np.int64)
            below = np.flatnonzero(tree.player[tree.parent] >= 0)
            below = below[below > 0]
            parent = tree.parent[below]
            codes = np.column_stack([tree.player[parent], column[parent], tree.action[below]])
            numbers, slot[below] = np.unique(codes, axis=0, return_inverse=True)
            arrays.append(
                SearchTree(
                    tree.player.astype(np.int64),
                    tree.parent.astype(np.int64),
                    tree.child_offset.astype(np.int64),
                    np.asarray(tree.chance, np.float64),
                    slot,
                    np.ascontiguousarray(tree.utility, np.float64),
                    row,
                )
            )
            sizes.append(len(numbers))
        step = incoming_probabilities(tree, uniform_policy(tree).probabilities)
        reach = np.ones((tree.num_nodes, tree.num_players))  # without each player's own actions
        for first, last in zip(tree.level_offset[1:-1], tree.level_offset[2:], strict=True):
            parent = tree.parent[first:last]
            is_own = tree.player[parent][:, None] == np.arange(tree.num_players)
            reach[first:last] = reach[parent] * np.where(is_own, 1.0, step[first:last, None])
        order = np.argsort(tree.infoset, kind="stable")
        order = order[tree.infoset[order] >= 0]
        bounds = np.searchsorted(tree.infoset[order], np.arange(1, tree.num_infosets))
        return arrays, sizes, np.split(order, bounds), reach
