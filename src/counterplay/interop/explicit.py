"""Games written out in full, as files have them: every node of a tree, or every cell of a table.

Numbers are exact fractions and every label is kept, so that writing what was read loses nothing.
Both classes follow the game protocol; an algorithm sees no difference to any other game.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from counterplay.core.game import CHANCE, TERMINAL

NO_INDEX = -1  # no infoset: a terminal node; no outcome: nobody gets anything


class ExplicitInfoset(NamedTuple):
    """An infoset of a player, or of chance, which then has probabilities too."""

    player: int
    number: int  # unique among its player's
    name: str
    actions: tuple[str, ...]
    probabilities: tuple[Fraction, ...] = ()


class ExplicitOutcome(NamedTuple):
    """What every player gets when a node is reached or a cell is chosen."""

    number: int
    name: str
    payoffs: tuple[Fraction, ...]


class ExplicitNode(NamedTuple):
    """A node; its children are further down the list of nodes."""

    name: str
    infoset: int  # index into the game's infosets, or NONE
    outcome: int  # index into the game's outcomes, or NONE
    children: tuple[int, ...] = ()


@dataclass(frozen=True)
class FileGame:
    """What trees and tables have in common."""

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
    """A tree written out node by node, the root first and every subtree in one piece.

    A player's utility is the sum of what the outcomes on the way to a terminal node give it.
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
        return tuple(map(float, self._accumulated_payoffs[state]))

    def exact_utilities(self, state: int) -> tuple[Fraction, ...]:
        """The utilities as they stand in the file."""
        return self._accumulated_payoffs[state]

    def infoset_key(self, state: int, player: int) -> str:
        """The infoset's name; to the others, what they did last, which is all a file tells."""
        infoset = self.nodes[state].infoset
        if infoset != NO_INDEX and self.infosets[infoset].player == player:
            return self.infoset_keys[infoset]
        while state:
            parent, action = self._parents[state]
            infoset = self.nodes[parent].infoset
            if self.infosets[infoset].player == player:
                return (
                    f"{self.infoset_keys[infoset]}>{self.action_names_by_infoset[infoset][action]}"
                )
            state = parent
        return ""

    def action_name(self, state: int, action: int) -> str:
        return self.action_names_by_infoset[self.nodes[state].infoset][action]

    @cached_property
    def action_names_by_infoset(self) -> tuple[tuple[str, ...], ...]:
        """The names of each infoset's actions, no two alike and none empty."""
        return tuple(make_distinct(infoset.actions) for infoset in self.infosets)

    @cached_property
    def infoset_keys(self) -> tuple[str, ...]:
        """A key for each infoset: its name, with its number where the name is not enough."""
        taken = Counter((infoset.player, infoset.name) for infoset in self.infosets)
        keys = []
        for player, number, name, *_ in self.infosets:
            alone = taken[player, name] == 1
            keys.append((name if alone else f"{name}#{number}") if name else str(number))
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
        """Each node's parent and the action that leads to it."""
        parents = [(NO_INDEX, NO_INDEX)] * len(self.nodes)
        for number, node in enumerate(self.nodes):
            for action, child in enumerate(node.children):
                parents[child] = number, action
        return parents

    @cached_property
    def _accumulated_payoffs(self) -> list[tuple[Fraction, ...]]:
        """What each player has got on the way to each node, the node included."""
        totals: list[tuple[Fraction, ...]] = []
        nothing = (Fraction(0),) * self.num_players
        for number, node in enumerate(self.nodes):
            before = totals[self._parents[number][0]] if number else nothing
            if node.outcome == NO_INDEX:
                totals.append(before)
            else:
                here = self.outcomes[node.outcome].payoffs
                totals.append(tuple(a + b for a, b in zip(before, here, strict=True)))
        return totals


@dataclass(frozen=True)
class StrategicGame(FileGame):
    """A table: everyone chooses a strategy at the same time, and the cell says what all get.

    Cells stand in the order of counting, the first player's strategy changing fastest.
    """

    strategies: tuple[tuple[str, ...], ...]
    outcomes: tuple[ExplicitOutcome, ...]
    cells: tuple[int, ...]  # index into the outcomes, or NONE

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
        """The utilities as they stand in the file."""
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
    """The names, an empty one replaced by its number from 1, a repeated one with a number added."""
    named = [name or str(place) for place, name in enumerate(names, 1)]
    taken = set(named)
    count: dict[str, int] = {}  # the number last tried for each name
    for place, name in enumerate(named):
        count[name] = count.get(name, 0) + 1
        if count[name] == 1:
            continue
        while f"{name}#{count[name]}" in taken:
            count[name] += 1
        named[place] = f"{name}#{count[name]}"
    return tuple(named)


def make_distinct_by_player(
    keys: list[str], infosets: Sequence[ExplicitInfoset]
) -> tuple[str, ...]:
    """The keys, made distinct among those of one player."""
    groups: dict[int, list[int]] = {}
    for place, infoset in enumerate(infosets):
        groups.setdefault(infoset.player, []).append(place)
    for places in groups.values():
        for place, key in zip(places, make_distinct([keys[p] for p in places]), strict=True):
            keys[place] = key
    return tuple(keys)
