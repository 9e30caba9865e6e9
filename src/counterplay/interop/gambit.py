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

from counterplay.core.game import CHANCE
from counterplay.errors import GameError
from counterplay.interop.explicit import (
    NO_INDEX,
    ExplicitGame,
    ExplicitInfoset,
    ExplicitOutcome,
    StrategicGame,
)
from counterplay.interop.explicit_builder import (
    NUMBER_PATTERN,
    ExplicitGameBuilder,
    count_cells,
    parse_fraction,
)

TOKEN_PATTERN = re.compile(
    rf"""(?P<text>"(?:\\"|[^"])*+")
    | (?P<number>{NUMBER_PATTERN})(?![^\s{{}},"])
    | (?P<mark>[{{}},])
    | (?P<symbol>[^\s{{}},"]+)
    | (?P<open>")""",
    re.VERBOSE,
)
END_OF_FILE = "the end of the file"


class Token(NamedTuple):
    kind: str  # text, number, mark, symbol or end
    value: str  # of a text, without quotes
    offset: int


class GambitReader:
    """The words of a file, one after the other, and complaints that say where."""

    def __init__(self, text: str, path: str):
        self.text, self.path = text, path
        self.number_cache: dict[str, Fraction] = {}  # met so far: a file repeats a few many times
        self.tokens = self._iter_tokens()
        self.token = next(self.tokens)

    def _iter_tokens(self) -> Iterator[Token]:
        for match in TOKEN_PATTERN.finditer(self.text):
            kind, value = str(match.lastgroup), match[0]
            if kind == "open":
                self.fail("this quote is never closed", match.start())
            if kind == "text":
                value = value[1:-1].replace('\\"', '"')
            yield Token(kind, value, match.start())
        while True:
            yield Token("end", "", len(self.text.rstrip()))

    def fail(self, problem: str, offset: int | None = None) -> NoReturn:
        where = self.token.offset if offset is None else offset
        line = self.text.count("\n", 0, where) + 1
        column = where - self.text.rfind("\n", 0, where)
        name = f"{self.path}, " if self.path else ""
        raise GameError(f"{name}line {line}, column {column}: {problem}")

    def take_token(self, kind: str, expected: str) -> str:
        """The next word, which must be of that kind."""
        word = self.token
        if word.kind != kind:
            found = END_OF_FILE if word.kind == "end" else repr(word.value[:40])
            self.fail(f"expected {expected}, found {found}")
        self.token = next(self.tokens)
        return word.value

    def is_at(self, kind: str, *values: str) -> bool:
        return self.token.kind == kind and (not values or self.token.value in values)

    def take_mark(self, mark: str, context: str) -> None:
        if not self.is_at("mark", mark):
            self.take_token("none", f"'{mark}' {context}")
        self.take_token("mark", mark)

    def take_label(self, expected: str) -> str:
        return self.take_token("text", f"{expected}, in quotes")

    def take_number(self, expected: str) -> Fraction:
        here = self.token.offset
        text = self.take_token("number", expected)
        value = self.number_cache.get(text)
        if value is None:
            value = self.number_cache[text] = parse_fraction(
                text, lambda problem: self.fail(problem, here)
            )
        return value

    def take_integer(self, expected: str) -> int:
        here = self.token.offset
        value = self.take_number(expected)
        if value.denominator != 1:
            self.fail(f"{expected} is {value}, must be a whole number", here)
        return int(value)

    def take_labels(self, expected: str) -> list[str]:
        self.take_mark("{", f"before {expected}")
        found = []
        while self.is_at("text"):
            found.append(self.take_label(expected))
        self.take_mark("}", f"after {expected}")
        return found

    def take_payoffs(self) -> tuple[Fraction, ...]:
        """Numbers up to a closing brace, with or without commas between them."""
        found = []
        while not self.is_at("mark", "}"):
            found.append(self.take_number("a payoff or '}'"))
            if self.is_at("mark", ","):
                self.take_token("mark", ",")
        self.take_mark("}", "after the payoffs")
        return tuple(found)

    def take_header(self, kind: str, version: str) -> tuple[str, list[str]]:
        """Title and players, once the file has been recognised."""
        for what, wanted in ((kind, [kind]), (version, [version]), ("R", ["R", "D"])):
            if self.token.value not in wanted or self.is_at("text"):
                self.take_token("none", f"'{what}' (the file must begin with {kind} {version} R)")
            self.take_token(self.token.kind, what)
        return self.take_label("the title"), self.take_labels("the names of the players")

    def take_comment(self) -> str:
        return self.take_label("the comment") if self.is_at("text") else ""


def game_from_efg(text: str, path: str = "") -> ExplicitGame:
    """The game that the text of an `.efg` file describes.

    Raises:
        GameError: the first fault found, with its line and column.
    """
    reader = GambitReader(text, path)
    title, players = reader.take_header("EFG", "2")
    builder = ExplicitGameBuilder(title, players, reader.take_comment(), reader.fail)
    while not reader.is_at("end"):
        if not reader.is_at("symbol", "c", "p", "t"):
            reader.take_token("none", "a node, which begins with c, p or t")
        _read_node(reader, builder)
    return builder.build(path)


def _read_node(reader: GambitReader, builder: ExplicitGameBuilder) -> None:
    begin = reader.token.offset

    def fail(problem: str) -> NoReturn:  # what is wrong with a node is told at its beginning
        reader.fail(problem, begin)

    builder.fail = fail
    kind = reader.take_token("symbol", "a node")
    name = reader.take_label("the name of the node")
    infoset = NO_INDEX
    if kind != "t":
        player = reader.take_integer("the number of the player") - 1 if kind == "p" else CHANCE
        if kind == "p" and player < 0:
            fail(f"there is no player {player + 1}; players count from 1")
        number = reader.take_integer("the number of the infoset")
        infoset = builder.add_infoset(player, number, _read_infoset(reader, player, number))
    outcome = reader.take_integer("the number of the outcome")
    described = None
    if reader.is_at("text"):
        label = reader.take_label("the name of the outcome")
        reader.take_mark("{", "before the payoffs")
        described = ExplicitOutcome(outcome, label, reader.take_payoffs())
    builder.add_node(name, infoset, builder.add_outcome(outcome, described))
    builder.fail = reader.fail


def _read_infoset(reader: GambitReader, player: int, number: int) -> ExplicitInfoset | None:
    """Name and actions of an infoset, or nothing if they are left out."""
    if not reader.is_at("text"):
        return None
    name = reader.take_label("the name of the infoset")
    if player != CHANCE:
        return ExplicitInfoset(player, number, name, tuple(reader.take_labels("the actions")))
    reader.take_mark("{", "before the actions")
    actions, probabilities = [], []
    while reader.is_at("text"):
        actions.append(reader.take_label("an action"))
        probabilities.append(reader.take_number("the probability of the action"))
    reader.take_mark("}", "after the actions")
    return ExplicitInfoset(player, number, name, tuple(actions), tuple(probabilities))


def game_from_nfg(text: str, path: str = "") -> StrategicGame:
    """The game that the text of an `.nfg` file describes, in payoff or in outcome form."""
    reader = GambitReader(text, path)
    title, players = reader.take_header("NFG", "1")
    if not players:
        reader.fail("a game needs at least one player")
    strategies = _read_strategies(reader, len(players))
    comment = reader.take_comment()
    num_cells = count_cells([len(names) for names in strategies], len(text), reader.fail)
    outcomes: list[ExplicitOutcome] = []
    if reader.is_at("mark", "{"):
        outcomes = _read_outcomes(reader, len(players))
        cells = []
        for _ in range(num_cells):
            number = reader.take_integer(f"the outcome of one of the {num_cells} cells")
            if not 0 <= number <= len(outcomes):
                reader.fail(f"there is no outcome {number}, only {len(outcomes)}")
            cells.append(number - 1)
    else:
        for number in range(1, num_cells + 1):
            payoffs = [
                reader.take_number(f"one of {num_cells * len(players)} payoffs") for _ in players
            ]
            outcomes.append(ExplicitOutcome(number, "", tuple(payoffs)))
        cells = list(range(num_cells))
    if not reader.is_at("end"):
        reader.take_token("none", END_OF_FILE)
    return StrategicGame(
        title, tuple(players), comment, strategies, tuple(outcomes), tuple(cells), path=path
    )


def _read_strategies(reader: GambitReader, num_players: int) -> tuple[tuple[str, ...], ...]:
    reader.take_mark("{", "before the strategies")
    strategies = []
    for _ in range(num_players):
        if reader.is_at("mark", "{"):
            strategies.append(tuple(reader.take_labels("the names of a player's strategies")))
        else:
            count = reader.take_integer("the number of a player's strategies")
            count_cells([count], len(reader.text), reader.fail)
            strategies.append(tuple(map(str, range(1, count + 1))))
    reader.take_mark("}", "after the strategies of all players")
    return tuple(strategies)


def _read_outcomes(reader: GambitReader, num_players: int) -> list[ExplicitOutcome]:
    reader.take_mark("{", "before the outcomes")
    outcomes: list[ExplicitOutcome] = []
    while reader.is_at("mark", "{"):
        reader.take_mark("{", "before an outcome")
        name = reader.take_label("the name of the outcome")
        payoffs = reader.take_payoffs()
        if len(payoffs) != num_players:
            reader.fail(f"an outcome has {len(payoffs)} payoffs for {num_players} players")
        outcomes.append(ExplicitOutcome(len(outcomes) + 1, name, payoffs))
    reader.take_mark("}", "after the outcomes")
    return outcomes


def efg_from_game(game: ExplicitGame) -> str:
    """The text of an `.efg` file; reading it gives an equal game."""
    lines = [
        f"EFG 2 R {_quote(game.title)} {_format_labels(game.players)}",
        _quote(game.comment),
        "",
    ]
    infosets = [_format_infoset(infoset) for infoset in game.infosets]
    outcomes = [
        f"{o.number} {_quote(o.name)} {{ {_format_numbers(o.payoffs)} }}" for o in game.outcomes
    ]
    for node in game.nodes:
        kind = (
            "t" if node.infoset == NO_INDEX else "pc"[game.infosets[node.infoset].player == CHANCE]
        )
        words = [kind, _quote(node.name)]
        words += [] if node.infoset == NO_INDEX else [infosets[node.infoset]]
        words += ["0" if node.outcome == NO_INDEX else outcomes[node.outcome]]
        lines.append(" ".join(words))
    return "\n".join(lines) + "\n"


def _format_infoset(infoset: ExplicitInfoset) -> str:
    player, number, name, actions, probabilities = infoset
    if player != CHANCE:
        return f"{player + 1} {number} {_quote(name)} {_format_labels(actions)}"
    pairs = zip(actions, probabilities, strict=True)
    return f"{number} {_quote(name)} {{ {' '.join(f'{_quote(a)} {p}' for a, p in pairs)} }}"


def nfg_from_game(game: StrategicGame) -> str:
    """The text of an `.nfg` file: payoffs where every cell has its own, else outcomes."""
    counts = [tuple(map(str, range(1, len(names) + 1))) for names in game.strategies]
    numbered = list(game.strategies) == counts
    strategies = " ".join(str(len(n)) if numbered else _format_labels(n) for n in game.strategies)
    lines = [f"NFG 1 R {_quote(game.title)} {_format_labels(game.players)}", f"{{ {strategies} }}"]
    lines += [_quote(game.comment), ""] if game.comment else [""]
    plain = all(not outcome.name for outcome in game.outcomes)
    if plain and game.cells == tuple(range(len(game.outcomes))):
        lines += [" ".join(map(str, outcome.payoffs)) for outcome in game.outcomes]
    else:
        rows = [f"{{ {_quote(o.name)} {_format_numbers(o.payoffs)} }}" for o in game.outcomes]
        lines += ["{", *rows, "}", " ".join(str(cell + 1) for cell in game.cells)]
    return "\n".join(lines) + "\n"


def _format_numbers(values: tuple[Fraction, ...]) -> str:
    return ", ".join(map(str, values))


def _format_labels(names: tuple[str, ...]) -> str:
    return f"{{ {' '.join(map(_quote, names))} }}"


def _quote(label: str) -> str:
    if label.endswith("\\"):
        raise GameError(f"the label {label!r} ends in a backslash, which the format cannot hold")
    return '"' + label.replace('"', '\\"') + '"'
