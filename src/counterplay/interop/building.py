"""Explicit games built step by step, every step checked; readers only say where a step stands."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NoReturn

from counterplay.game import CHANCE
from counterplay.interop.explicit import NONE, ExplicitGame, Infoset, Node, Outcome

Fail = Callable[[str], NoReturn]  # raises a GameError that names the place in the file

NUMBER = r"[+-]?(?:[0-9]+/[0-9]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
LONGEST = 400  # characters of a number; a longer one, or a larger exponent, is no payoff
LARGEST = 1e300  # so that sums of a few payoffs stay finite


def exact(text: str, fail: Fail) -> Fraction:
    """The number that a text such as `-1/3`, `2` or `.25e1` stands for."""
    if not re.fullmatch(NUMBER, text):
        fail(f"{text[:40]!r} is not a number")
    exponent = re.search(r"[eE]([+-]?[0-9]+)", text)
    if len(text) > LONGEST or (exponent and abs(int(exponent[1])) > LONGEST):
        fail(f"the number {text[:20]}... is too long")
    try:
        value = Fraction(text)
    except ZeroDivisionError:
        fail(f"{text} divides by zero")
    if abs(value) > LARGEST:
        fail(f"the number {text[:20]} is too large")
    return value


class Builder:
    """An explicit game in the making: nodes are added root first, each subtree in one piece."""

    def __init__(self, title: str, players: Sequence[str], comment: str, fail: Fail):
        self.title, self.players, self.comment = title, tuple(players), comment
        self.fail = fail
        self.infosets: list[Infoset] = []
        self.outcomes: list[Outcome] = []
        self.nodes: list[tuple[str, int, int, list[int]]] = []
        self.open: list[int] = []  # nodes that still lack children, the deepest last
        self._infoset_at: dict[tuple[int, int], int] = {}
        self._outcome_at: dict[int, int] = {}
        if not players:
            fail("a game needs at least one player")

    def infoset(self, player: int, number: int, described: Infoset | None) -> int:
        """The index of an infoset, described now or before."""
        if not CHANCE <= player < len(self.players):
            self.fail(f"there is no player {player + 1}, only {len(self.players)}")
        whose = "chance" if player == CHANCE else f"player {player + 1}"
        place = self._infoset_at.get((player, number), NONE)
        if place == NONE and described is None:
            self.fail(f"infoset {number} of {whose} has not been described before")
        if described is None:
            return place
        self._check_infoset(described, f"infoset {number} of {whose}")
        if place == NONE:
            place = self._infoset_at[player, number] = len(self.infosets)
            self.infosets.append(described)
        elif self.infosets[place] != described:
            self.fail(f"infoset {number} of {whose} was described differently before")
        return place

    def _check_infoset(self, infoset: Infoset, what: str) -> None:
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

    def outcome(self, number: int, described: Outcome | None) -> int:
        """The index of an outcome, described now or before; NONE for number 0."""
        if number == 0:
            if described is not None:
                self.fail("outcome 0 is no outcome and must not be described")
            return NONE
        if number < 0:
            self.fail(f"outcome {number} must be a positive number, or 0 for none")
        place = self._outcome_at.get(number, NONE)
        if place == NONE and described is None:
            self.fail(f"outcome {number} has not been described before")
        if described is None:
            return place
        if len(described.payoffs) != len(self.players):
            count, wanted = len(described.payoffs), len(self.players)
            self.fail(f"outcome {number} has {count} payoffs for {wanted} players")
        if place == NONE:
            place = self._outcome_at[number] = len(self.outcomes)
            self.outcomes.append(described)
        elif self.outcomes[place] != described:
            self.fail(f"outcome {number} was described differently before")
        return place

    def node(self, name: str, infoset: int, outcome: int) -> None:
        """Add the next node, as the next child of the deepest node that lacks one."""
        if self.nodes and not self.open:
            self.fail("the tree is complete, but here is one more node")
        number = len(self.nodes)
        if self.open:
            parent = self.nodes[self.open[-1]]
            parent[3].append(number)
            if len(parent[3]) == len(self.infosets[parent[1]].actions):
                self.open.pop()
        self.nodes.append((name, infoset, outcome, []))
        if infoset != NONE:
            self.open.append(number)

    def game(self, path: str) -> ExplicitGame:
        """The finished game."""
        if not self.nodes:
            self.fail("there are no nodes")
        if self.open:
            missing = sum(
                len(self.infosets[self.nodes[n][1]].actions) - len(self.nodes[n][3])
                for n in self.open
            )
            self.fail(f"the tree is not complete: at least {missing} more nodes must follow")
        return ExplicitGame(
            title=self.title,
            players=self.players,
            comment=self.comment,
            infosets=tuple(self.infosets),
            outcomes=tuple(self.outcomes),
            nodes=tuple(Node(n, i, o, tuple(c)) for n, i, o, c in self.nodes),
            path=path,
        )


def check_cells(sizes: Sequence[int], room: int, fail: Fail) -> int:
    """The number of cells of a table, if `room` things could fill it."""
    if not sizes or min(sizes) < 1:
        fail("every player needs at least one strategy")
    cells = math.prod(sizes)
    if cells > room:
        fail(f"a table of {' x '.join(map(str, sizes))} strategies needs {cells:.3g} cells")
    return cells
