"""Gambit's file formats, read and written whole: `.efg` (trees) and `.nfg` (tables).

The formats are those of https://gambitproject.readthedocs.io (version 2 of EFG, 1 of NFG). Blanks
separate words and mean nothing else; labels stand in double quotes, with `\\"` for a quote inside;
numbers are exact, whether written 0.1 or 1/10.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple, NoReturn

from counterplay.errors import GameError
from counterplay.game import CHANCE
from counterplay.interop.building import NUMBER, Builder, check_cells, exact
from counterplay.interop.explicit import NONE, ExplicitGame, Infoset, Outcome, StrategicGame

WORDS = re.compile(
    rf"""(?P<text>"(?:\\"|[^"])*+")
    | (?P<number>{NUMBER})(?![^\s{{}},"])
    | (?P<mark>[{{}},])
    | (?P<symbol>[^\s{{}},"]+)
    | (?P<open>")""",
    re.VERBOSE,
)
END = "the end of the file"


class Word(NamedTuple):
    kind: str  # text, number, mark, symbol or end
    value: str  # of a text, without quotes
    offset: int


class Reader:
    """The words of a file, one after the other, and complaints that say where."""

    def __init__(self, text: str, path: str):
        self.text, self.path = text, path
        self.numbers: dict[str, Fraction] = {}  # met so far: a file repeats a few many times
        self.words = self._words()
        self.word = next(self.words)

    def _words(self) -> Iterator[Word]:
        for match in WORDS.finditer(self.text):
            kind, value = str(match.lastgroup), match[0]
            if kind == "open":
                self.fail("this quote is never closed", match.start())
            if kind == "text":
                value = value[1:-1].replace('\\"', '"')
            yield Word(kind, value, match.start())
        while True:
            yield Word("end", "", len(self.text.rstrip()))

    def fail(self, problem: str, offset: int | None = None) -> NoReturn:
        where = self.word.offset if offset is None else offset
        line = self.text.count("\n", 0, where) + 1
        column = where - self.text.rfind("\n", 0, where)
        name = f"{self.path}, " if self.path else ""
        raise GameError(f"{name}line {line}, column {column}: {problem}")

    def take(self, kind: str, what: str) -> str:
        """The next word, which must be of that kind."""
        word = self.word
        if word.kind != kind:
            found = END if word.kind == "end" else repr(word.value[:40])
            self.fail(f"expected {what}, found {found}")
        self.word = next(self.words)
        return word.value

    def at(self, kind: str, *values: str) -> bool:
        return self.word.kind == kind and (not values or self.word.value in values)

    def mark(self, mark: str, what: str) -> None:
        if not self.at("mark", mark):
            self.take("none", f"'{mark}' {what}")
        self.take("mark", mark)

    def label(self, what: str) -> str:
        return self.take("text", f"{what}, in quotes")

    def number(self, what: str) -> Fraction:
        here = self.word.offset
        text = self.take("number", what)
        value = self.numbers.get(text)
        if value is None:
            value = self.numbers[text] = exact(text, lambda problem: self.fail(problem, here))
        return value

    def integer(self, what: str) -> int:
        here = self.word.offset
        value = self.number(what)
        if value.denominator != 1:
            self.fail(f"{what} is {value}, must be a whole number", here)
        return int(value)

    def labels(self, what: str) -> list[str]:
        self.mark("{", f"before {what}")
        found = []
        while self.at("text"):
            found.append(self.label(what))
        self.mark("}", f"after {what}")
        return found

    def payoffs(self) -> tuple[Fraction, ...]:
        """Numbers up to a closing brace, with or without commas between them."""
        found = []
        while not self.at("mark", "}"):
            found.append(self.number("a payoff or '}'"))
            if self.at("mark", ","):
                self.take("mark", ",")
        self.mark("}", "after the payoffs")
        return tuple(found)

    def header(self, kind: str, version: str) -> tuple[str, list[str]]:
        """Title and players, once the file has been recognised."""
        for what, wanted in ((kind, [kind]), (version, [version]), ("R", ["R", "D"])):
            if self.word.value not in wanted or self.at("text"):
                self.take("none", f"'{what}' (the file must begin with {kind} {version} R)")
            self.take(self.word.kind, what)
        return self.label("the title"), self.labels("the names of the players")

    def comment(self) -> str:
        return self.label("the comment") if self.at("text") else ""


def read_efg(text: str, path: str = "") -> ExplicitGame:
    """The game that the text of an `.efg` file describes.

    Raises:
        GameError: the first fault found, with its line and column.
    """
    reader = Reader(text, path)
    title, players = reader.header("EFG", "2")
    builder = Builder(title, players, reader.comment(), reader.fail)
    while not reader.at("end"):
        if not reader.at("symbol", "c", "p", "t"):
            reader.take("none", "a node, which begins with c, p or t")
        _read_node(reader, builder)
    return builder.game(path)


def _read_node(reader: Reader, builder: Builder) -> None:
    begin = reader.word.offset

    def fail(problem: str) -> NoReturn:  # what is wrong with a node is told at its beginning
        reader.fail(problem, begin)

    builder.fail = fail
    kind = reader.take("symbol", "a node")
    name = reader.label("the name of the node")
    infoset = NONE
    if kind != "t":
        player = reader.integer("the number of the player") - 1 if kind == "p" else CHANCE
        if kind == "p" and player < 0:
            fail(f"there is no player {player + 1}; players count from 1")
        number = reader.integer("the number of the infoset")
        infoset = builder.infoset(player, number, _described_infoset(reader, player, number))
    outcome = reader.integer("the number of the outcome")
    described = None
    if reader.at("text"):
        label = reader.label("the name of the outcome")
        reader.mark("{", "before the payoffs")
        described = Outcome(outcome, label, reader.payoffs())
    builder.node(name, infoset, builder.outcome(outcome, described))
    builder.fail = reader.fail


def _described_infoset(reader: Reader, player: int, number: int) -> Infoset | None:
    """Name and actions of an infoset, or nothing if they are left out."""
    if not reader.at("text"):
        return None
    name = reader.label("the name of the infoset")
    if player != CHANCE:
        return Infoset(player, number, name, tuple(reader.labels("the actions")))
    reader.mark("{", "before the actions")
    actions, probabilities = [], []
    while reader.at("text"):
        actions.append(reader.label("an action"))
        probabilities.append(reader.number("the probability of the action"))
    reader.mark("}", "after the actions")
    return Infoset(player, number, name, tuple(actions), tuple(probabilities))


def read_nfg(text: str, path: str = "") -> StrategicGame:
    """The game that the text of an `.nfg` file describes, in payoff or in outcome form."""
    reader = Reader(text, path)
    title, players = reader.header("NFG", "1")
    if not players:
        reader.fail("a game needs at least one player")
    strategies = _read_strategies(reader, len(players))
    comment = reader.comment()
    num_cells = check_cells([len(names) for names in strategies], len(text), reader.fail)
    outcomes: list[Outcome] = []
    if reader.at("mark", "{"):
        outcomes = _read_outcomes(reader, len(players))
        cells = []
        for _ in range(num_cells):
            number = reader.integer(f"the outcome of one of the {num_cells} cells")
            if not 0 <= number <= len(outcomes):
                reader.fail(f"there is no outcome {number}, only {len(outcomes)}")
            cells.append(number - 1)
    else:
        for number in range(1, num_cells + 1):
            payoffs = [reader.number(f"one of {num_cells * len(players)} payoffs") for _ in players]
            outcomes.append(Outcome(number, "", tuple(payoffs)))
        cells = list(range(num_cells))
    if not reader.at("end"):
        reader.take("none", END)
    return StrategicGame(
        title, tuple(players), comment, strategies, tuple(outcomes), tuple(cells), path=path
    )


def _read_strategies(reader: Reader, num_players: int) -> tuple[tuple[str, ...], ...]:
    reader.mark("{", "before the strategies")
    strategies = []
    for _ in range(num_players):
        if reader.at("mark", "{"):
            strategies.append(tuple(reader.labels("the names of a player's strategies")))
        else:
            count = reader.integer("the number of a player's strategies")
            check_cells([count], len(reader.text), reader.fail)
            strategies.append(tuple(map(str, range(1, count + 1))))
    reader.mark("}", "after the strategies of all players")
    return tuple(strategies)


def _read_outcomes(reader: Reader, num_players: int) -> list[Outcome]:
    reader.mark("{", "before the outcomes")
    outcomes: list[Outcome] = []
    while reader.at("mark", "{"):
        reader.mark("{", "before an outcome")
        name = reader.label("the name of the outcome")
        payoffs = reader.payoffs()
        if len(payoffs) != num_players:
            reader.fail(f"an outcome has {len(payoffs)} payoffs for {num_players} players")
        outcomes.append(Outcome(len(outcomes) + 1, name, payoffs))
    reader.mark("}", "after the outcomes")
    return outcomes


def write_efg(game: ExplicitGame) -> str:
    """The text of an `.efg` file; reading it gives an equal game."""
    lines = [f"EFG 2 R {_quote(game.title)} {_labels(game.players)}", _quote(game.comment), ""]
    infosets = [_infoset_text(infoset) for infoset in game.infosets]
    outcomes = [f"{o.number} {_quote(o.name)} {{ {_numbers(o.payoffs)} }}" for o in game.outcomes]
    for node in game.nodes:
        kind = "t" if node.infoset == NONE else "pc"[game.infosets[node.infoset].player == CHANCE]
        words = [kind, _quote(node.name)]
        words += [] if node.infoset == NONE else [infosets[node.infoset]]
        words += ["0" if node.outcome == NONE else outcomes[node.outcome]]
        lines.append(" ".join(words))
    return "\n".join(lines) + "\n"


def _infoset_text(infoset: Infoset) -> str:
    player, number, name, actions, probabilities = infoset
    if player != CHANCE:
        return f"{player + 1} {number} {_quote(name)} {_labels(actions)}"
    pairs = zip(actions, probabilities, strict=True)
    return f"{number} {_quote(name)} {{ {' '.join(f'{_quote(a)} {p}' for a, p in pairs)} }}"


def write_nfg(game: StrategicGame) -> str:
    """The text of an `.nfg` file: payoffs where every cell has its own, else outcomes."""
    counts = [tuple(map(str, range(1, len(names) + 1))) for names in game.strategies]
    numbered = list(game.strategies) == counts
    strategies = " ".join(str(len(n)) if numbered else _labels(n) for n in game.strategies)
    lines = [f"NFG 1 R {_quote(game.title)} {_labels(game.players)}", f"{{ {strategies} }}"]
    lines += [_quote(game.comment), ""] if game.comment else [""]
    plain = all(not outcome.name for outcome in game.outcomes)
    if plain and game.cells == tuple(range(len(game.outcomes))):
        lines += [" ".join(map(str, outcome.payoffs)) for outcome in game.outcomes]
    else:
        rows = [f"{{ {_quote(o.name)} {_numbers(o.payoffs)} }}" for o in game.outcomes]
        lines += ["{", *rows, "}", " ".join(str(cell + 1) for cell in game.cells)]
    return "\n".join(lines) + "\n"


def _numbers(values: tuple[Fraction, ...]) -> str:
    return ", ".join(map(str, values))


def _labels(names: tuple[str, ...]) -> str:
    return f"{{ {' '.join(map(_quote, names))} }}"


def _quote(label: str) -> str:
    if label.endswith("\\"):
        raise GameError(f"the label {label!r} ends in a backslash, which the format cannot hold")
    return '"' + label.replace('"', '\\"') + '"'
