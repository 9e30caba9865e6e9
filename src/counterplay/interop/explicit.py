"""Explicit games, as files have them: a list of all nodes of a tree, or of all cells of a table.

Numbers are exact fractions and all labels are kept, so that reading and writing a file loses
nothing. Both classes follow the game protocol, so that all algorithms run on them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from counterplay.core.game import CHANCE, TERMINAL

NO_INDEX = -1  # of the infoset of a terminal node; of the outcome of a node without payoffs


class ExplicitInfoset(NamedTuple):
    """An infoset of a player; one of chance has probabilities."""

    player: int
    number: int  # unique among the infosets of its player
    name: str
    actions: tuple[str, ...]
    probabilities: tuple[Fraction, ...] = ()


class ExplicitOutcome(NamedTuple):
    """The payoffs of all players at a node or in a cell."""

    number: int
    name: str
    payoffs: tuple[Fraction, ...]


class ExplicitNode(NamedTuple):
    """A node; its children come later in the list of nodes."""

    name: str
    infoset: int  # index into the game's infosets, or NO_INDEX
    outcome: int  # index into the game's outcomes, or NO_INDEX
    children: tuple[int, ...] = ()


@dataclass(frozen=True)
class FileGame:
    """The common part of trees and tables."""

    title: str
    players: tuple[str, ...]
    comment: str
    path: str = field(default="", compare=False, kw_only=True)  # the file it came from

    @property
    def spec(self) -> str:
        return self.path or type(self).__name__

    @property
    def num_players(self) -> int:
        return len(self.players)


@dataclass(frozen=True)
class ExplicitGame(FileGame):
    """A tree as a list of nodes in preorder: the root first, every subtree in one piece.

    A player's utility is the sum of its payoffs on the path to a terminal node.
    """

    infosets: tuple[ExplicitInfoset, ...]
    outcomes: tuple[ExplicitOutcome, ...]
    nodes: tuple[ExplicitNode, ...]

    def initial_state(self) -> int:
        return 0

    def player(self, state: int) -> int:
        infoset = self.nodes[state].infoset
        return TERMINAL if infoset == NO_INDEX else self.infosets[infoset].player

    def actions(self, state: int) -> tuple[int, ...]:
        return self._actions_by_infoset[self.nodes[state].infoset]

    def chance_outcomes(self, state: int) -> tuple[tuple[int, float], ...]:
        return self._chance_by_infoset[self.nodes[state].infoset]

    def next_state(self, state: int, action: int) -> int:
        return self.nodes[state].children[action]

    def utilities(self, state: int) -> tuple[float, ...]:
        return tuple(map(float, self._path_payoffs[state]))

    def exact_utilities(self, state: int) -> tuple[Fraction, ...]:
        """Return the utilities as exact fractions."""
        return self._path_payoffs[state]

    def infoset_key(self, state: int, player: int) -> str:
        """Return the key of the acting player's infoset.

        For other players, a file has only their last infoset and action, which are the key.
        """
        infoset = self.nodes[state].infoset
        if infoset != NO_INDEX and self.infosets[infoset].player == player:
            return self.infoset_keys[infoset]
        while state:
            parent, action = self._parents[state]
            infoset = self.nodes[parent].infoset
            if self.infosets[infoset].player == player:
                name = self.action_names_by_infoset[infoset][action]
                return f"{self.infoset_keys[infoset]}>{name}"
            state = parent
        return ""

    def action_name(self, state: int, action: int) -> str:
        return self.action_names_by_infoset[self.nodes[state].infoset][action]

    @cached_property
    def action_names_by_infoset(self) -> tuple[tuple[str, ...], ...]:
        """The action names of each infoset, distinct and not empty."""
        return tuple(make_distinct(infoset.actions) for infoset in self.infosets)

    @cached_property
    def infoset_keys(self) -> tuple[str, ...]:
        """The key of each infoset: its name, with its number if the name is not unique."""
        counts = Counter((infoset.player, infoset.name) for infoset in self.infosets)
        keys = []
        for player, number, name, *_ in self.infosets:
            is_unique = counts[player, name] == 1
            keys.append((name if is_unique else f"{name}#{number}") if name else str(number))
        return make_distinct_by_player(keys, self.infosets)

    @cached_property
    def _actions_by_infoset(self) -> list[tuple[int, ...]]:
        return [tuple(range(len(infoset.actions))) for infoset in self.infosets]

    @cached_property
    def _chance_by_infoset(self) -> list[tuple[tuple[int, float], ...]]:
        return [
            tuple(enumerate(map(float, infoset.probabilities))) if infoset.player == CHANCE else ()
            for infoset in self.infosets
        ]

    @cached_property
    def _parents(self) -> list[tuple[int, int]]:
        """The parent of each node, and the action that leads to it."""
        parents = [(NO_INDEX, NO_INDEX)] * len(self.nodes)
        for number, node in enumerate(self.nodes):
            for action, child in enumerate(node.children):
                parents[child] = number, action
        return parents

    @cached_property
    def _path_payoffs(self) -> list[tuple[Fraction, ...]]:
        """The payoffs of all players on the path to each node, the node included."""
        totals: list[tuple[Fraction, ...]] = []
        zeros = (Fraction(0),) * self.num_players
        for number, node in enumerate(self.nodes):
            before = totals[self._parents[number][0]] if number else zeros
            if node.outcome == NO_INDEX:
                totals.append(before)
            else:
                here = self.outcomes[node.outcome].payoffs
                totals.append(tuple(a + b for a, b in zip(before, here, strict=True)))
        return totals


@dataclass(frozen=True)
class StrategicGame(FileGame):
    """A table: all players choose a strategy at the same time, and the cell has the payoffs.

    The strategy of the first player changes fastest in the order of the cells.
    """

    strategies: tuple[tuple[str, ...], ...]
    outcomes: tuple[ExplicitOutcome, ...]
    cells: tuple[int, ...]  # index into the outcomes, or NO_INDEX

    def initial_state(self) -> tuple[int, ...]:
        return ()

    def player(self, state: tuple[int, ...]) -> int:
        return len(state) if len(state) < len(self.players) else TERMINAL

    def actions(self, state: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(range(len(self.strategies[len(state)])))

    def chance_outcomes(self, state: tuple[int, ...]) -> tuple[tuple[int, float], ...]:
        return ()

    def next_state(self, state: tuple[int, ...], action: int) -> tuple[int, ...]:
        return (*state, action)

    def utilities(self, state: tuple[int, ...]) -> tuple[float, ...]:
        return tuple(map(float, self.exact_utilities(state)))

    def exact_utilities(self, state: tuple[int, ...]) -> tuple[Fraction, ...]:
        """Return the utilities as exact fractions."""
        cell, size = 0, 1
        for choice, names in zip(state, self.strategies, strict=True):
            cell += size * choice
            size *= len(names)
        if self.cells[cell] == NO_INDEX:
            return (Fraction(0),) * len(self.players)
        return self.outcomes[self.cells[cell]].payoffs

    def infoset_key(self, state: tuple[int, ...], player: int) -> str:
        return self.players[player] or f"p{player}"

    def action_name(self, state: tuple[int, ...], action: int) -> str:
        return self._action_names[len(state)][action]

    @cached_property
    def _action_names(self) -> tuple[tuple[str, ...], ...]:
        return tuple(map(make_distinct, self.strategies))


def make_distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names with a number added to repeated ones and in place of empty ones."""
    distinct = [name or str(number) for number, name in enumerate(names, 1)]
    originals = set(distinct)
    suffix_by_name: dict[str, int] = {}  # the number last tried for each name
    for index, name in enumerate(distinct):
        suffix = suffix_by_name.get(name, 0) + 1
        while suffix > 1 and f"{name}#{suffix}" in originals:
            suffix += 1
        if suffix > 1:
            distinct[index] = f"{name}#{suffix}"
        suffix_by_name[name] = suffix
    return tuple(distinct)


def make_distinct_by_player(
    keys: list[str], infosets: Sequence[ExplicitInfoset]
) -> tuple[str, ...]:
    """Return the keys, made distinct among the infosets of each player."""
    indices_by_player: dict[int, list[int]] = {}
    for index, infoset in enumerate(infosets):
        indices_by_player.setdefault(infoset.player, []).append(index)
    for indices in indices_by_player.values():
        distinct = make_distinct([keys[index] for index in indices])
        for index, key in zip(indices, distinct, strict=True):
            keys[index] = key
    return tuple(keys)
