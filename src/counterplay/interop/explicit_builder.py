"""Builder of explicit games: every step is checked; a reader says where a fault is."""

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
    StrategicGame,
)

ErrorReporter = Callable[[str], NoReturn]  # raises a GameError with the location in the file

NUMBER_PATTERN = r"[+-]?(?:[0-9]+/[0-9]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
MAX_NUMBER_CHARACTERS = 400  # also the largest exponent
MAX_ABS_PAYOFF = 1e300  # so that sums of a few payoffs stay finite


def parse_fraction(text: str, fail: ErrorReporter) -> Fraction:
    """Return the number of a text such as `-1/3`, `2` or `.25e1`."""
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
    """Builds an explicit game; nodes are added in preorder, each subtree in one piece.

    Args:
        title: title of the game.
        players: names of the players.
        comment: comment on the game.
        fail: raises the error for a fault; a reader replaces it as it goes through the file.
    """

    def __init__(self, title: str, players: Sequence[str], comment: str, fail: ErrorReporter):
        self.title, self.players, self.comment = title, tuple(players), comment
        self.fail = fail
        self.infosets: list[ExplicitInfoset] = []
        self.outcomes: list[ExplicitOutcome] = []
        self.nodes: list[tuple[str, int, int, list[int]]] = []
        self.open_nodes: list[int] = []  # nodes that lack children, the deepest last
        self._infoset_indices: dict[tuple[int, int], int] = {}
        self._outcome_indices: dict[int, int] = {}
        if not players:
            fail("a game needs at least one player")

    def add_infoset(self, player: int, number: int, description: ExplicitInfoset | None) -> int:
        """Return the index of an infoset; without a description it must have been added before."""
        if not CHANCE <= player < len(self.players):
            self.fail(f"there is no player {player + 1}, only {len(self.players)}")
        owner = "chance" if player == CHANCE else f"player {player + 1}"
        name = f"infoset {number} of {owner}"
        index = self._infoset_indices.get((player, number), NO_INDEX)
        if index == NO_INDEX and description is None:
            self.fail(f"{name} has not been described before")
        if description is None:
            return index
        self._check_infoset(description, name)
        if index == NO_INDEX:
            index = self._infoset_indices[player, number] = len(self.infosets)
            self.infosets.append(description)
        elif self.infosets[index] != description:
            self.fail(f"{name} was described differently before")
        return index

    def _check_infoset(self, infoset: ExplicitInfoset, name: str) -> None:
        if not infoset.actions:
            self.fail(f"{name} has no actions")
        if infoset.player != CHANCE:
            return
        if len(infoset.probabilities) != len(infoset.actions):
            self.fail(f"{name} has not one probability for each action")
        if min(infoset.probabilities) < 0:
            self.fail(f"{name} has a negative probability")
        total = sum(infoset.probabilities)
        if total != 1:
            self.fail(f"the probabilities of {name} sum to {total}, not to 1")

    def add_outcome(self, number: int, description: ExplicitOutcome | None) -> int:
        """Return the index of an outcome, added now or before; NO_INDEX for number 0."""
        if number == 0:
            if description is not None:
                self.fail("outcome 0 means no outcome and must not be described")
            return NO_INDEX
        if number < 0:
            self.fail(f"outcome {number} must be a positive number, or 0 for no outcome")
        index = self._outcome_indices.get(number, NO_INDEX)
        if index == NO_INDEX and description is None:
            self.fail(f"outcome {number} has not been described before")
        if description is None:
            return index
        if len(description.payoffs) != len(self.players):
            counts = f"{len(description.payoffs)} payoffs for {len(self.players)} players"
            self.fail(f"outcome {number} has {counts}")
        if index == NO_INDEX:
            index = self._outcome_indices[number] = len(self.outcomes)
            self.outcomes.append(description)
        elif self.outcomes[index] != description:
            self.fail(f"outcome {number} was described differently before")
        return index

    def add_node(self, name: str, infoset: int, outcome: int) -> None:
        """Add the next node as a child of the deepest node that lacks children."""
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
        """Return the game; its tree must be complete."""
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

    def build_table(
        self, strategies: tuple[tuple[str, ...], ...], cells: tuple[int, ...], path: str
    ) -> StrategicGame:
        """Return a table; `cells` are indices of outcomes, or NO_INDEX."""
        if len(strategies) != len(self.players):
            self.fail(f"{len(strategies)} lists for {len(self.players)} players")
        if count_cells([len(names) for names in strategies], len(cells), self.fail) != len(cells):
            self.fail(f"they do not make {len(cells)} cells")
        return StrategicGame(
            title=self.title,
            players=self.players,
            comment=self.comment,
            strategies=strategies,
            outcomes=tuple(self.outcomes),
            cells=cells,
            path=path,
        )


def count_cells(sizes: Sequence[int], max_cells: int, fail: ErrorReporter) -> int:
    """Return the number of cells of a table; more than `max_cells` are a fault of the file."""
    if not sizes or min(sizes) < 1:
        fail("every player needs at least one strategy")
    cells = math.prod(sizes)
    if cells > max_cells:
        fail(f"a table of {' x '.join(map(str, sizes))} strategies needs {cells:.3g} cells")
    return cells
