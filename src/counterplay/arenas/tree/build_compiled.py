"""Walk compiled rules level by level; the tree equals that of the readable rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np

from counterplay.arenas.tree.builder import TreeBuilder
from counterplay.core.arena import Floats, Ints
from counterplay.core.game import TERMINAL
from counterplay.games.compiled.protocol import CompiledGame
from counterplay.kernels.runtime import hash_index

SEARCH_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


class NodeLevel(NamedTuple):
    """The nodes after a number of actions, in the order of their parents."""

    parent: Ints  # index in the level before
    player: Ints
    action: Ints
    chance: Floats
    chance_reach: Floats
    last_sequence: Ints  # [N, P] last sequence of each player, or -1
    infoset: Ints
    utility: Floats  # [Z, P] of the terminals of the level


class CompiledTreeWalk:
    """A breadth-first walk; infosets are numbered in order of first occurrence."""

    def __init__(self, compiled_game: CompiledGame, num_players: int):
        self.compiled_game, self.num_players = compiled_game, num_players
        self.levels: list[NodeLevel] = []
        self.num_infosets = 0
        self.hash_table = np.full(1 << 10, -1, np.int32)
        self.hash_keys = np.zeros((1 << 9, 3), np.int64)  # key, last sequence, player
        self.first_sequence = np.zeros(1, np.int64)  # [I + 1] first sequence of each infoset
        self.infoset_depth = np.zeros(0, np.int64)  # [I] number of earlier infosets of the player
        # set by `fill_builder`: first node of each infoset in depth-first order; for each number in
        # depth-first order the number by level; parents by level, without the root
        self.first_nodes, self.order, self.parent_nodes = np.zeros((3, 0), np.int64)

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

    def fill_builder(self, builder: TreeBuilder) -> None:
        """Set the arrays of a builder, in depth-first order, without keys and names."""
        levels = self.levels
        starts = np.cumsum([0, *(level.player.size for level in levels)])
        number = np.concatenate(_depth_first_order(levels))  # of each node, by level
        order = self.order = np.empty_like(number)
        order[number] = np.arange(number.size)

        def join_levels(name: str) -> Any:
            return np.concatenate([getattr(level, name) for level in levels])[order]

        parents = [level.parent + start for level, start in zip(levels[1:], starts, strict=False)]
        self.parent_nodes = np.concatenate([*parents, starts[:0]])
        builder.parent = np.append(-1, number[self.parent_nodes])[order].astype(np.int32)
        builder.player = join_levels("player").astype(np.int8)
        builder.action = join_levels("action").astype(np.int32)
        builder.chance = join_levels("chance")
        sizes = [level.player.size for level in levels]
        builder.depth = np.repeat(np.arange(len(levels)), sizes)[order].astype(np.uint16)
        is_terminal = builder.player == TERMINAL
        builder.chance_reach = join_levels("chance_reach")[is_terminal]
        utility = np.concatenate([level.utility for level in levels])
        level_terminals = np.concatenate([level.player == TERMINAL for level in levels])
        builder.utility = utility[np.argsort(number[level_terminals])].ravel()
        last_sequence = join_levels("last_sequence")[is_terminal]
        self._fill_infosets(builder, join_levels("infoset"), last_sequence)

    def _fill_infosets(self, builder: TreeBuilder, infoset: Ints, last_sequence: Ints) -> None:
        """Renumber infosets by their first nodes, sequences likewise, and set their arrays."""
        acting = np.flatnonzero(infoset >= 0)
        _, first_acting = np.unique(infoset[acting], return_index=True)
        rank = np.argsort(np.argsort(first_acting))
        size = np.diff(self.first_sequence)
        old = np.argsort(rank)
        first = np.append(0, np.cumsum(size[old]))
        shift = np.repeat(first[rank] - self.first_sequence[:-1], size)
        renumber = np.append(
            np.arange(shift.size) + shift, -1
        )  # new sequence by old one; the last entry is for -1
        builder.last_sequence = renumber[last_sequence].ravel()
        builder.infoset = np.append(rank, -1)[infoset].astype(np.int32)
        builder.infoset_player = self.hash_keys[old, 2].astype(np.int8)
        builder.parent_sequence = renumber[self.hash_keys[old, 1]].astype(np.int32)
        builder.infoset_level = self.infoset_depth[old].astype(np.int32)
        builder.first_sequence = first.astype(np.int32)
        keys = self.hash_keys[old][:, [0, 2]]
        _, first_key, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        builder.game_infoset = np.argsort(np.argsort(first_key))[inverse.ravel()].astype(np.int32)
        self.first_nodes = acting[np.sort(first_acting)][np.sort(first_key)]

    def iter_infosets(self, builder: TreeBuilder) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """Yield the first node of every infoset of the game, its player and its actions."""
        begins, ends = (
            1 + np.searchsorted(self.parent_nodes, self.order[self.first_nodes], s)
            for s in SEARCH_SIDES
        )
        counts = ends - begins
        position = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        node_actions = np.concatenate([level.action for level in self.levels])
        actions = iter(node_actions[np.repeat(begins, counts) + position].tolist())
        players = builder.player[self.first_nodes].tolist()
        nodes = self.first_nodes.tolist()
        for node, player, count in zip(nodes, players, counts.tolist(), strict=True):
            yield node, player, tuple(islice(actions, count))


def _depth_first_order(levels: list[NodeLevel]) -> list[Ints]:
    """Return the number of every node, level by level, in a depth-first walk."""
    sizes = [np.ones(level.player.size, np.int64) for level in levels]
    for k in range(len(levels) - 1, 0, -1):
        below = np.bincount(levels[k].parent, sizes[k], sizes[k - 1].size)
        sizes[k - 1] += below.astype(np.int64)
    numbers = [np.zeros(1, np.int64)]
    for level, size in zip(levels[1:], sizes[1:], strict=True):
        before = np.cumsum(size) - size
        first_sibling = np.searchsorted(level.parent, level.parent)
        numbers.append(numbers[-1][level.parent] + 1 + before - before[first_sibling])
    return numbers
