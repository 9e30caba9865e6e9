"""Nodes by level, from a walk through rules, as the arrays of a `TreeBuilder`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np

from counterplay.arenas.tree.builder import TreeBuilder
from counterplay.core.arena import Floats, Ints
from counterplay.core.game import TERMINAL

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


class LevelWalk:
    """The nodes and infosets of a walk, with a number for each (infoset, last own sequence)."""

    def __init__(self, num_players: int):
        self.num_players = num_players
        self.levels: list[NodeLevel] = []
        self.num_infosets = 0
        self.hash_keys = np.zeros((0, 3), np.int64)  # [I, 3] key, last sequence, player
        self.first_sequence = np.zeros(1, np.int64)  # [I + 1] first sequence of each infoset
        self.infoset_depth = np.zeros(0, np.int64)  # [I] number of earlier infosets of the player
        self.infoset_keys: list[int] = []  # set by `fill_builder`: key of each infoset of the game
        # set by `fill_builder`: first node of each infoset in depth-first order; for each number in
        # depth-first order the number by level; parents by level, without the root
        self.first_nodes, self.order, self.parent_nodes = np.zeros((3, 0), np.int64)

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
        first_acting = first_of_each(infoset[acting])
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
        key, player = self.hash_keys[old, 0], self.hash_keys[old, 2]
        by_key = np.lexsort((player, key))  # stable: the first infoset of a key comes first
        is_first = np.ones(old.size, bool)
        is_first[1:] = (np.diff(key[by_key]) != 0) | (np.diff(player[by_key]) != 0)
        first_key = by_key[is_first]
        game_infoset = np.empty(old.size, np.int32)
        game_infoset[by_key] = np.argsort(np.argsort(first_key))[np.cumsum(is_first) - 1]
        builder.game_infoset = game_infoset
        first_key.sort()
        self.infoset_keys = key[first_key].tolist()
        self.first_nodes = acting[np.sort(first_acting)][first_key]

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


def first_of_each(numbers: Ints, start: int = 0) -> Ints:
    """Return the index of the first of each number from `start` on; none of them is left out."""
    index = np.flatnonzero(numbers >= start) if start else np.arange(numbers.size)
    new = numbers[index]
    first = np.empty(int(new.max(initial=start - 1)) + 1 - start, np.int64)
    first[new[::-1] - start] = index[::-1]  # the last assignment stays
    return first


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
