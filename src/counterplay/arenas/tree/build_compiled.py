"""Walk compiled rules level by level; the tree equals that of the readable rules."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterplay.arenas.tree.level_walk import LevelWalk, NodeLevel
from counterplay.core.arena import Ints
from counterplay.core.game import TERMINAL
from counterplay.games.compiled.protocol import CompiledGame
from counterplay.kernels.runtime import hash_index


class CompiledTreeWalk(LevelWalk):
    """A breadth-first walk; infosets are numbered in order of first occurrence."""

    def __init__(self, compiled_game: CompiledGame, num_players: int):
        super().__init__(num_players)
        self.compiled_game = compiled_game
        self.hash_table = np.full(1 << 10, -1, np.int32)
        self.hash_keys = np.zeros((1 << 9, 3), np.int64)  # key, last sequence, player

    def run(self, check: Callable[[int, int], None]) -> None:
        """Walk all levels; `check(nodes, infosets)` is called for each and may raise."""
        rules, num_nodes = self.compiled_game, 0
        states = rules.initial_state[None]
        parent, action, chance = np.zeros(1, np.int64), np.full(1, -1), np.ones(1)
        reach, last = np.ones(1), np.full((1, self.num_players), -1)
        while len(states):
            num_nodes += len(states)
            player, count = rules.find_players(states)
            acting = np.flatnonzero(player >= 0)
            infoset = np.full(len(states), -1)
            infoset[acting] = self.number_infosets(
                states[acting], player[acting], last[acting], count[acting]
            )
            utility = rules.compute_utilities(states[player == TERMINAL], self.num_players)
            level = NodeLevel(parent, player, action, chance, reach, last, infoset, utility)
            self.levels.append(level)
            first = np.append(0, np.cumsum(count))
            check(num_nodes + int(first[-1]), self.num_infosets)
            action, chance = rules.list_actions(states, player, first)
            parent = np.repeat(np.arange(len(player)), count)
            states = rules.take_actions(states, parent, player, action)
            reach, last = reach[parent] * chance, last[parent]
            children = np.flatnonzero(player[parent] >= 0)
            above = parent[children]
            position = children - first[above]
            last[children, player[above]] = self.first_sequence[infoset[above]] + position

    def number_infosets(self, states: Ints, player: Ints, last: Ints, count: Ints) -> Ints:
        """Return the infosets of states, with perfect recall; new ones get the next numbers."""
        own_last = last[np.arange(len(player)), player]
        while 2 * (self.num_infosets + len(states)) > self.hash_table.size:
            self.hash_table = np.full(2 * self.hash_table.size, -1, np.int32)
            self.hash_keys = np.concatenate([self.hash_keys, np.zeros_like(self.hash_keys)])
            hash_index.rebuild_table(self.num_infosets, self.hash_table, self.hash_keys)
        infoset, before = np.empty(len(states), np.int64), self.num_infosets
        key = self.compiled_game.compute_infoset_keys(states, player)
        self.num_infosets = hash_index.assign_indices(
            key, own_last, player, before, self.hash_table, self.hash_keys, infoset
        )
        numbers, first = np.unique(infoset, return_index=True)
        first = first[numbers >= before]  # the first state of each new infoset
        ends = self.first_sequence[-1] + np.cumsum(count[first])
        parent = np.searchsorted(self.first_sequence, own_last[first], side="right") - 1
        depth = np.where(own_last[first] >= 0, self.infoset_depth[parent] + 1 if before else 0, 0)
        self.first_sequence = np.concatenate([self.first_sequence, ends])
        self.infoset_depth = np.concatenate([self.infoset_depth, depth])
        return infoset
