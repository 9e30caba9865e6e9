"""The parts of a tree made by a machine, level by level: the same tree as the rules make."""

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
    """The nodes after so many actions, in the order of their parents."""

    parent: Ints  # within the level before
    player: Ints
    action: Ints
    chance: Floats
    chance_reach: Floats  # chance's
    last_sequence: Ints  # [N, P] everybody's last sequence
    infoset: Ints
    utility: Floats  # [Z, P] of the terminals among them


class CompiledTreeWalk:
    """One walk through all levels; infosets get their numbers as they are met."""

    def __init__(self, compiled_game: CompiledGame, num_players: int):
        self.compiled_game, self.num_players = compiled_game, num_players
        self.levels: list[NodeLevel] = []
        self.num_infosets = 0  # of infosets
        self.hash_table = np.full(1 << 10, -1, np.int32)
        self.hash_keys = np.zeros((1 << 9, 3), np.int64)  # key, last sequence, player
        self.first_sequence = np.zeros(1, np.int64)  # [I + 1] first sequence of each infoset
        self.infoset_depth = np.zeros(0, np.int64)  # [I] own infosets before
        # once nodes are in order: the first of every infoset; and by level, of all nodes but the
        # root, the one above
        self.first_nodes, self.order, self.parent_nodes = np.zeros((3, 0), np.int64)

    def run(self, check: Callable[[int, int], None]) -> None:
        """Make all levels; `check` is asked before each, with the nodes so far and infosets."""
        machine, met = self.compiled_game, 0
        states = machine.initial_state[None]
        parent, action, chance = np.zeros(1, np.int64), np.full(1, -1), np.ones(1)
        reach, last = np.ones(1), np.full((1, self.num_players), -1)
        while len(states):
            met += len(states)
            player, count = machine.find_players(states)
            acting = np.flatnonzero(player >= 0)
            infoset = np.full(len(states), -1)
            infoset[acting] = self.number_infosets(
                states[acting], player[acting], last[acting], count[acting]
            )
            utility = machine.compute_utilities(states[player == TERMINAL], self.num_players)
            level = NodeLevel(parent, player, action, chance, reach, last, infoset, utility)
            self.levels.append(level)
            first = np.append(0, np.cumsum(count))
            check(met + int(first[-1]), self.num_infosets)
            action, chance = machine.list_actions(states, player, first)
            parent = np.repeat(np.arange(len(player)), count)
            states = machine.take_actions(states, parent, player, action)
            reach, last = reach[parent] * chance, last[parent]
            own = np.flatnonzero(player[parent] >= 0)
            above = parent[own]
            inside = own - first[above]
            last[own, player[above]] = self.first_sequence[infoset[above]] + inside

    def number_infosets(self, states: Ints, player: Ints, last: Ints, count: Ints) -> Ints:
        """Infosets as a player with perfect recall tells them apart."""
        own = last[np.arange(len(player)), player]
        while 2 * (self.num_infosets + len(states)) > self.hash_table.size:
            self.hash_table = np.full(2 * self.hash_table.size, -1, np.int32)
            self.hash_keys = np.concatenate([self.hash_keys, np.zeros_like(self.hash_keys)])
            hash_index.rebuild_table(self.num_infosets, self.hash_table, self.hash_keys)
        found, before = np.empty(len(states), np.int64), self.num_infosets
        key = self.compiled_game.compute_infoset_keys(states, player)
        self.num_infosets = hash_index.assign_indices(
            key, own, player, before, self.hash_table, self.hash_keys, found
        )
        new, where = np.unique(found, return_index=True)
        where = where[new >= before]
        ends = self.first_sequence[-1] + np.cumsum(count[where])
        above = np.searchsorted(self.first_sequence, own[where], side="right") - 1
        depth = np.where(own[where] >= 0, self.infoset_depth[above] + 1 if before else 0, 0)
        self.first_sequence = np.concatenate([self.first_sequence, ends])
        self.infoset_depth = np.concatenate([self.infoset_depth, depth])
        return found

    def fill_builder(self, builder: TreeBuilder) -> None:
        """Put all but texts, in the order of a depth-first walk, where a tree is made of it."""
        levels = self.levels
        starts = np.cumsum([0, *(level.player.size for level in levels)])
        place = np.concatenate(_depth_first_order(levels))  # of each node, by level
        order = self.order = np.empty_like(place)
        order[place] = np.arange(place.size)

        def join_levels(name: str) -> Any:
            return np.concatenate([getattr(level, name) for level in levels])[order]

        parents = [level.parent + start for level, start in zip(levels[1:], starts, strict=False)]
        self.parent_nodes = np.concatenate([*parents, starts[:0]])
        builder.parent = np.append(-1, place[self.parent_nodes])[order].astype(np.int32)
        builder.player = join_levels("player").astype(np.int8)
        builder.action = join_levels("action").astype(np.int32)
        builder.chance = join_levels("chance")
        sizes = [level.player.size for level in levels]
        builder.depth = np.repeat(np.arange(len(levels)), sizes)[order].astype(np.uint16)
        over = builder.player == TERMINAL
        builder.chance_reach = join_levels("chance_reach")[over]
        utility = np.concatenate([level.utility for level in levels])
        ended = np.concatenate([level.player == TERMINAL for level in levels])
        builder.utility = utility[np.argsort(place[ended])].ravel()

        infoset = join_levels("infoset")
        acting = np.flatnonzero(infoset >= 0)
        _, where = np.unique(infoset[acting], return_index=True)
        rank = np.argsort(np.argsort(where))  # by the first node of each
        size = np.diff(self.first_sequence)
        old = np.argsort(rank)
        first = np.append(0, np.cumsum(size[old]))
        shift = np.repeat(first[rank] - self.first_sequence[:-1], size)
        renumber = np.append(np.arange(shift.size) + shift, -1)  # of sequences
        builder.last_sequence = renumber[join_levels("last_sequence")[over]].ravel()
        builder.infoset = np.append(rank, -1)[infoset].astype(np.int32)
        builder.infoset_player = self.hash_keys[old, 2].astype(np.int8)
        builder.parent_sequence = renumber[self.hash_keys[old, 1]].astype(np.int32)
        builder.infoset_level = self.infoset_depth[old].astype(np.int32)
        builder.first_sequence = first.astype(np.int32)
        named = self.hash_keys[old][:, [0, 2]]
        _, met, again = np.unique(named, axis=0, return_index=True, return_inverse=True)
        builder.game_infoset = np.argsort(np.argsort(met))[again.ravel()].astype(np.int32)
        self.first_nodes = acting[np.sort(where)][np.sort(met)]  # the first of every infoset

    def iter_infosets(self, builder: TreeBuilder) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """The first node of every infoset as the game names them, its player and actions."""
        begins, ends = (
            1 + np.searchsorted(self.parent_nodes, self.order[self.first_nodes], s)
            for s in SEARCH_SIDES
        )
        counts = ends - begins
        inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        below = np.concatenate([level.action for level in self.levels])
        actions = iter(below[np.repeat(begins, counts) + inside].tolist())
        players = builder.player[self.first_nodes].tolist()
        for node, player, count in zip(
            self.first_nodes.tolist(), players, counts.tolist(), strict=True
        ):
            yield node, player, tuple(islice(actions, count))


def _depth_first_order(levels: list[NodeLevel]) -> list[Ints]:
    """The number of every node, level by level, in a walk that goes down first."""
    sizes = [np.ones(level.player.size, np.int64) for level in levels]
    for k in range(len(levels) - 1, 0, -1):
        below = np.bincount(levels[k].parent, sizes[k], sizes[k - 1].size)
        sizes[k - 1] += below.astype(np.int64)
    places = [np.zeros(1, np.int64)]
    for level, size in zip(levels[1:], sizes[1:], strict=True):
        before = np.cumsum(size) - size
        eldest = np.searchsorted(level.parent, level.parent)
        places.append(places[-1][level.parent] + 1 + before - before[eldest])
    return places
