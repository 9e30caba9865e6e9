"""The parts of a tree made by a machine, level by level: the same tree as the rules make."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np

from counterplay.arena import Floats, Ints
from counterplay.game import TERMINAL
from counterplay.kernels import numbering
from counterplay.tree.assembling import Parts
from counterplay.tree.machines import Machine

SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


class Level(NamedTuple):
    """The nodes after so many actions, in the order of their parents."""

    parent: Ints  # within the level before
    player: Ints
    action: Ints
    chance: Floats
    reach: Floats  # chance's
    last: Ints  # [N, P] everybody's last sequence
    infoset: Ints
    utility: Floats  # [Z, P] of the terminals among them


class MachineWalk:
    """One walk through all levels; infosets get their numbers as they are met."""

    def __init__(self, machine: Machine, num_players: int):
        self.machine, self.num_players = machine, num_players
        self.levels: list[Level] = []
        self.count = 0  # of infosets
        self.table = np.full(1 << 10, -1, np.int32)
        self.known = np.zeros((1 << 9, 3), np.int64)  # key, last sequence, player
        self.first = np.zeros(1, np.int64)  # [I + 1] first sequence of each infoset
        self.depth = np.zeros(0, np.int64)  # [I] own infosets before
        # once nodes are in order: the first of every infoset; and by level, of all nodes but the
        # root, the one above
        self.nodes, self.order, self.above = np.zeros((3, 0), np.int64)

    def run(self, check: Callable[[int, int], None]) -> None:
        """Make all levels; `check` is asked before each, with the nodes so far and infosets."""
        machine, met = self.machine, 0
        states = machine.start[None]
        parent, action, chance = np.zeros(1, np.int64), np.full(1, -1), np.ones(1)
        reach, last = np.ones(1), np.full((1, self.num_players), -1)
        while len(states):
            met += len(states)
            player, count = machine.looked_at(states)
            acting = np.flatnonzero(player >= 0)
            infoset = np.full(len(states), -1)
            infoset[acting] = self.number(
                states[acting], player[acting], last[acting], count[acting]
            )
            utility = machine.paid(states[player == TERMINAL], self.num_players)
            level = Level(parent, player, action, chance, reach, last, infoset, utility)
            self.levels.append(level)
            first = np.append(0, np.cumsum(count))
            check(met + int(first[-1]), self.count)
            action, chance = machine.offered(states, player, first)
            parent = np.repeat(np.arange(len(player)), count)
            states = machine.stepped(states, parent, player, action)
            reach, last = reach[parent] * chance, last[parent]
            own = np.flatnonzero(player[parent] >= 0)
            above = parent[own]
            inside = own - first[above]
            last[own, player[above]] = self.first[infoset[above]] + inside

    def number(self, states: Ints, player: Ints, last: Ints, count: Ints) -> Ints:
        """Infosets as a player with perfect recall tells them apart."""
        own = last[np.arange(len(player)), player]
        while 2 * (self.count + len(states)) > self.table.size:
            self.table = np.full(2 * self.table.size, -1, np.int32)
            self.known = np.concatenate([self.known, np.zeros_like(self.known)])
            numbering.place_again(self.count, self.table, self.known)
        found, before = np.empty(len(states), np.int64), self.count
        key = self.machine.seen(states, player)
        self.count = numbering.number(key, own, player, before, self.table, self.known, found)
        new, where = np.unique(found, return_index=True)
        where = where[new >= before]
        ends = self.first[-1] + np.cumsum(count[where])
        above = np.searchsorted(self.first, own[where], side="right") - 1
        depth = np.where(own[where] >= 0, self.depth[above] + 1 if before else 0, 0)
        self.first = np.concatenate([self.first, ends])
        self.depth = np.concatenate([self.depth, depth])
        return found

    def fill(self, parts: Parts) -> None:
        """Put all but texts, in the order of a depth-first walk, where a tree is made of it."""
        levels = self.levels
        starts = np.cumsum([0, *(level.player.size for level in levels)])
        place = np.concatenate(_depth_first(levels))  # of each node, by level
        order = self.order = np.empty_like(place)
        order[place] = np.arange(place.size)

        def joined(name: str) -> Any:
            return np.concatenate([getattr(level, name) for level in levels])[order]

        parents = [level.parent + start for level, start in zip(levels[1:], starts, strict=False)]
        self.above = np.concatenate([*parents, starts[:0]])
        parts.parent = np.append(-1, place[self.above])[order].astype(np.int32)
        parts.player = joined("player").astype(np.int8)
        parts.action = joined("action").astype(np.int32)
        parts.chance = joined("chance")
        sizes = [level.player.size for level in levels]
        parts.depth = np.repeat(np.arange(len(levels)), sizes)[order].astype(np.uint16)
        over = parts.player == TERMINAL
        parts.reach = joined("reach")[over]
        utility = np.concatenate([level.utility for level in levels])
        ended = np.concatenate([level.player == TERMINAL for level in levels])
        parts.utility = utility[np.argsort(place[ended])].ravel()

        infoset = joined("infoset")
        acting = np.flatnonzero(infoset >= 0)
        _, where = np.unique(infoset[acting], return_index=True)
        rank = np.argsort(np.argsort(where))  # by the first node of each
        size = np.diff(self.first)
        old = np.argsort(rank)
        first = np.append(0, np.cumsum(size[old]))
        shift = np.repeat(first[rank] - self.first[:-1], size)
        renumber = np.append(np.arange(shift.size) + shift, -1)  # of sequences
        parts.last = renumber[joined("last")[over]].ravel()
        parts.infoset = np.append(rank, -1)[infoset].astype(np.int32)
        parts.owner = self.known[old, 2].astype(np.int8)
        parts.above = renumber[self.known[old, 1]].astype(np.int32)
        parts.level = self.depth[old].astype(np.int32)
        parts.first = first.astype(np.int32)
        named = self.known[old][:, [0, 2]]
        _, met, again = np.unique(named, axis=0, return_index=True, return_inverse=True)
        parts.merged = np.argsort(np.argsort(met))[again.ravel()].astype(np.int32)
        self.nodes = acting[np.sort(where)][np.sort(met)]  # the first of every infoset

    def shown(self, parts: Parts) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """The first node of every infoset as the game names them, its player and actions."""
        begins, ends = (1 + np.searchsorted(self.above, self.order[self.nodes], s) for s in SIDES)
        counts = ends - begins
        inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        below = np.concatenate([level.action for level in self.levels])
        actions = iter(below[np.repeat(begins, counts) + inside].tolist())
        players = parts.player[self.nodes].tolist()
        for node, player, count in zip(self.nodes.tolist(), players, counts.tolist(), strict=True):
            yield node, player, tuple(islice(actions, count))


def _depth_first(levels: list[Level]) -> list[Ints]:
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
