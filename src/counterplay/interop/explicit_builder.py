"""Explicit games built step by step, every step checked; readers only say where a step stands."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NoReturn

from counterplay.core.game import CHANCE
from counterplay.interop.explicit import (
    NO_INDEX,
    ExplicitGame,
    ExplicitInfoset,
    ExplicitNode,
    ExplicitOutcome,
)

ErrorReporter = Callable[[str], NoReturn]  # raises a GameError that names the place in the file

NUMBER_PATTERN = r"[+-]?(?:[0-9]+/[0-9]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
MAX_NUMBER_CHARACTERS = (
    400  # characters of a number; a longer one, or a larger exponent, is no payoff
)
MAX_ABS_PAYOFF = 1e300  # so that sums of a few payoffs stay finite


def parse_fraction(text: str, fail: ErrorReporter) -> Fraction:
    """The number that a text such as `-1/3`, `2` or `.25e1` stands for."""
    if not re.fullmatch(NUMBER_PATTERN, text):
        fail(f"{text[:40]!r} is not a number")
    exponent = re.search(r"[eE]([+-]?[0-9]+)", text)
    if len(text) > MAX_NUMBER_CHARACTERS or (
        exponent and abs(int(exponent[1])) > MAX_NUMBER_CHARACTERS
    ):
        fail(f"the number {text[:20]}... is too long")
    try:
        value = Fraction(text)
    except ZeroDivisionError:
        fail(f"{text} divides by zero")
    if abs(value) > MAX_ABS_PAYOFF:
        fail(f"the number {text[:20]} is too large")
    return value


class ExplicitGameBuilder:
    """An explicit game in the making: nodes are added root first, each subtree in one piece."""

    def __init__(self, title: str, players: Sequence[str], comment: str, fail: ErrorReporter):
        self.title, self.players, self.comment = title, tuple(players), comment
        self.fail = fail
        self.infosets: list[ExplicitInfoset] = []
        self.outcomes: list[ExplicitOutcome] = []
        self.nodes: list[tuple[str, int, int, list[int]]] = []
        self.open_nodes: list[int] = []  # nodes that still lack children, the deepest last
        self._infoset_indices: dict[tuple[int, int], int] = {}
        self._outcome_indices: dict[int, int] = {}
        if not players:
            fail("a game needs at least one player")

    def add_infoset(self, player: int, number: int, description: ExplicitInfoset | None) -> int:
        """The index of an infoset, described now or before."""
        if not CHANCE <= player < len(self.players):
            self.fail(f"there is no player {player + 1}, only {len(self.players)}")
        whose = "chance" if player == CHANCE else f"player {player + 1}"
        place = self._infoset_indices.get((player, number), NO_INDEX)
        if place == NO_INDEX and description is None:
            self.fail(f"infoset {number} of {whose} has not been described before")
        if description is None:
            return place
        self._check_infoset(description, f"infoset {number} of {whose}")
        if place == NO_INDEX:
            place = self._infoset_indices[player, number] = len(self.infosets)
            self.infosets.append(description)
        elif self.infosets[place] != description:
            self.fail(f"infoset {number} of {whose} was described differently before")
        return place

    def _check_infoset(self, infoset: ExplicitInfoset, what: str) -> None:
        if not infoset.actions:
            self.fail(f"{what} has no actions")
        if infoset.player != CHANCE:
            return
        if len(infoset.probabilities) != len(infoset.actions):
            self.fail(f"{what} has not one probability for each action")
        if min(infoset.probabilities) < 0:
            self.fail(f"{what} has a negative probability")
        total = sum(infoset.probabilities)
        if total != 1:
            self.fail(f"the probabilities of {what} sum to {total}, not to 1")

    def add_outcome(self, number: int, description: ExplicitOutcome | None) -> int:
        """The index of an outcome, described now or before; NONE for number 0."""
        if number == 0:
            if description is not None:
                self.fail("outcome 0 is no outcome and must not be described")
            return NO_INDEX
        if number < 0:
            self.fail(f"outcome {number} must be a positive number, or 0 for none")
        place = self._outcome_indices.get(number, NO_INDEX)
        if place == NO_INDEX and description is None:
            self.fail(f"outcome {number} has not been described before")
        if description is None:
            return place
        if len(description.payoffs) != len(self.players):
            count, wanted = len(description.payoffs), len(self.players)
            self.fail(f"outcome {number} has {count} payoffs for {wanted} players")
        if place == NO_INDEX:
            place = self._outcome_indices[number] = len(self.outcomes)
            self.outcomes.append(description)
        elif self.outcomes[place] != description:
            self.fail(f"outcome {number} was described differently before")
        return place

    def add_node(self, name: str, infoset: int, outcome: int) -> None:
        """Add the next node, as the next child of the deepest node that lacks one."""
        if self.nodes and not self.open_nodes:
            self.fail("the tree is complete, but here is one more node")
        number = len(self.nodes)
        if self.open_nodes:
            parent = self.nodes[self.open_nodes[-1]]
            parent[3].append(number)
            if len(parent[3]) == len(self.infosets[parent[1]].actions):
                self.open_nodes.pop()
        self.nodes.append((name, infoset, outcome, []))
        if infoset != NO_INDEX:
            self.open_nodes.append(number)

    def build(self, path: str) -> ExplicitGame:
        """The finished game."""
        if not self.nodes:
            self.fail("there are no nodes")
        if self.open_nodes:
            missing = sum(
                len(self.infosets[self.nodes[n][1]].actions) - len(self.nodes[n][3])
                for n in self.open_nodes
            )
            self.fail(f"the tree is not complete: at least {missing} more nodes must follow")
        return ExplicitGame(
            title=self.title,
            players=self.players,
            comment=self.comment,
            infosets=tuple(self.infosets),
            outcomes=tuple(self.outcomes),
            nodes=tuple(ExplicitNode(n, i, o, tuple(c)) for n, i, o, c in self.nodes),
            path=path,
        )


def count_cells(sizes: Sequence[int], max_cells: int, fail: ErrorReporter) -> int:
    """The number of cells of a table, if `room` things could fill it."""
    if not sizes or min(sizes) < 1:
        fail("every player needs at least one strategy")
    cells = math.prod(sizes)
    if cells > max_cells:
        fail(f"a table of {' x '.join(map(str, sizes))} strategies needs {cells:.3g} cells")
    return cells
