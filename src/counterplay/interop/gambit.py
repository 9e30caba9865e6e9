"""Gambit's file formats: `.efg` (trees) and `.nfg` (tables).

The formats are those of https://gambitproject.readthedocs.io (version 2 of EFG, 1 of NFG). White
space separates tokens; labels are in double quotes, with `\\"` for a quote inside; numbers are
exact, whether written 0.1 or 1/10.
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
    """A token of a file."""

    kind: str  # text, number, mark, symbol or end
    value: str  # of a text, without quotes
    offset: int


class GambitReader:
    """Reads the tokens of a file in order; errors name line and column."""

    def __init__(self, text: str, path: str):
        self.text, self.path = text, path
        self.number_cache: dict[str, Fraction] = {}  # a file repeats a few numbers many times
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
        """Raise an error at an offset, by default that of the current token."""
        offset = self.token.offset if offset is None else offset
        line = self.text.count("\n", 0, offset) + 1
        column = offset - self.text.rfind("\n", 0, offset)
        file = f"{self.path}, " if self.path else ""
        raise GameError(f"{file}line {line}, column {column}: {problem}")

    def take_token(self, kind: str, expected: str) -> str:
        """Return the next token, which must be of this kind."""
        token = self.token
        if token.kind != kind:
            self.fail_expected(expected)
        self.token = next(self.tokens)
        return token.value

    def fail_expected(self, expected: str) -> NoReturn:
        """Raise the error for a token that is not the expected one."""
        token = self.token
        actual = END_OF_FILE if token.kind == "end" else repr(token.value[:40])
        self.fail(f"expected {expected}, found {actual}")

    def is_at(self, kind: str, *values: str) -> bool:
        return self.token.kind == kind and (not values or self.token.value in values)

    def take_mark(self, mark: str, context: str) -> None:
        if not self.is_at("mark", mark):
            self.fail_expected(f"'{mark}' {context}")
        self.take_token("mark", mark)

    def take_label(self, expected: str) -> str:
        return self.take_token("text", f"{expected}, in quotes")

    def take_number(self, expected: str) -> Fraction:
        """Return the next token, which must be a number."""
        offset = self.token.offset
        text = self.take_token("number", expected)
        value = self.number_cache.get(text)
        if value is None:
            value = self.number_cache[text] = parse_fraction(
                text, lambda problem: self.fail(problem, offset)
            )
        return value

    def take_integer(self, expected: str) -> int:
        """Return the next token, which must be a whole number."""
        offset = self.token.offset
        value = self.take_number(expected)
        if value.denominator != 1:
            self.fail(f"{expected} is {value}, must be a whole number", offset)
        return int(value)

    def take_labels(self, expected: str) -> list[str]:
        """Return the labels in the next pair of braces."""
        self.take_mark("{", f"before {expected}")
        labels = []
        while self.is_at("text"):
            labels.append(self.take_label(expected))
        self.take_mark("}", f"after {expected}")
        return labels

    def take_payoffs(self) -> tuple[Fraction, ...]:
        """Return the numbers up to a closing brace, with or without commas between them."""
        payoffs = []
        while not self.is_at("mark", "}"):
            payoffs.append(self.take_number("a payoff or '}'"))
            if self.is_at("mark", ","):
                self.take_token("mark", ",")
        self.take_mark("}", "after the payoffs")
        return tuple(payoffs)

    def take_header(self, kind: str, version: str) -> tuple[str, list[str]]:
        """Check the first tokens of a file, and return its title and its players."""
        for first, allowed in ((kind, [kind]), (version, [version]), ("R", ["R", "D"])):
            if self.token.value not in allowed or self.is_at("text"):
                self.fail_expected(f"'{first}' (the file must begin with {kind} {version} R)")
            self.take_token(self.token.kind, first)
        return self.take_label("the title"), self.take_labels("the names of the players")

    def take_comment(self) -> str:
        return self.take_label("the comment") if self.is_at("text") else ""


def game_from_efg(text: str, path: str = "") -> ExplicitGame:
    """Return the game in the text of an `.efg` file.

    Raises:
        GameError: the first fault, with its line and column.
    """
    reader = GambitReader(text, path)
    title, players = reader.take_header("EFG", "2")
    builder = ExplicitGameBuilder(title, players, reader.take_comment(), reader.fail)
    while not reader.is_at("end"):
        if not reader.is_at("symbol", "c", "p", "t"):
            reader.fail_expected("a node, which begins with c, p or t")
        _read_node(reader, builder)
    return builder.build(path)


def _read_node(reader: GambitReader, builder: ExplicitGameBuilder) -> None:
    offset = reader.token.offset

    def fail(problem: str) -> NoReturn:  # faults of a node are located at its first token
        reader.fail(problem, offset)

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
    description = None
    if reader.is_at("text"):
        label = reader.take_label("the name of the outcome")
        reader.take_mark("{", "before the payoffs")
        description = ExplicitOutcome(outcome, label, reader.take_payoffs())
    builder.add_node(name, infoset, builder.add_outcome(outcome, description))
    builder.fail = reader.fail


def _read_infoset(reader: GambitReader, player: int, number: int) -> ExplicitInfoset | None:
    """Return the description of an infoset; None if the file leaves it out."""
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
    """Return the game in the text of an `.nfg` file, in payoff or in outcome form.

    Raises:
        GameError: the first fault, with its line and column.
    """
    reader = GambitReader(text, path)
    title, players = reader.take_header("NFG", "1")
    builder = ExplicitGameBuilder(title, players, "", reader.fail)
    strategies = _read_strategies(reader, len(players))
    builder.comment = reader.take_comment()
    num_cells = count_cells([len(names) for names in strategies], len(text), reader.fail)
    if reader.is_at("mark", "{"):
        cells = _read_outcome_cells(reader, builder, num_cells)
    else:
        cells = _read_payoff_cells(reader, builder, num_cells)
    if not reader.is_at("end"):
        reader.fail_expected(END_OF_FILE)
    return builder.build_table(strategies, tuple(cells), path)


def _read_outcome_cells(
    reader: GambitReader, builder: ExplicitGameBuilder, num_cells: int
) -> list[int]:
    """Read outcomes and the number of the outcome in each cell; 0 means no outcome."""
    reader.take_mark("{", "before the outcomes")
    while reader.is_at("mark", "{"):
        reader.take_mark("{", "before an outcome")
        name, number = reader.take_label("the name of the outcome"), len(builder.outcomes) + 1
        builder.add_outcome(number, ExplicitOutcome(number, name, reader.take_payoffs()))
    reader.take_mark("}", "after the outcomes")
    cells = []
    for _ in range(num_cells):
        number = reader.take_integer(f"the outcome of one of the {num_cells} cells")
        if not 0 <= number <= len(builder.outcomes):
            reader.fail(f"there is no outcome {number}, only {len(builder.outcomes)}")
        cells.append(number - 1)
    return cells


def _read_payoff_cells(
    reader: GambitReader, builder: ExplicitGameBuilder, num_cells: int
) -> list[int]:
    """Read the payoffs of each cell."""
    num_players = len(builder.players)
    expected = f"one of {num_cells * num_players} payoffs"
    for number in range(1, num_cells + 1):
        payoffs = tuple(reader.take_number(expected) for _ in range(num_players))
        builder.add_outcome(number, ExplicitOutcome(number, "", payoffs))
    return list(range(num_cells))


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


def efg_from_game(game: ExplicitGame) -> str:
    """Return the text of an `.efg` file; reading it gives an equal game."""
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
    """Return the text of an `.nfg` file, in payoff form if every cell has its own outcome."""
    counts = [tuple(map(str, range(1, len(names) + 1))) for names in game.strategies]
    has_default_names = list(game.strategies) == counts
    strategies = " ".join(
        str(len(n)) if has_default_names else _format_labels(n) for n in game.strategies
    )
    lines = [f"NFG 1 R {_quote(game.title)} {_format_labels(game.players)}", f"{{ {strategies} }}"]
    lines += [_quote(game.comment), ""] if game.comment else [""]
    has_names = any(outcome.name for outcome in game.outcomes)
    if not has_names and game.cells == tuple(range(len(game.outcomes))):
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
