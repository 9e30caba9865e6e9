"""Explicit games as JSON, for programs that would rather not parse: all that Gambit's files hold.

    {"format": "counterplay game 1", "title": ..., "comment": ..., "players": [names],
     "infosets": [{"player": 0, "number": 1, "name": ..., "actions": [names]}, ...],
     "outcomes": [{"number": 1, "name": ..., "payoffs": ["1", "-1/3"]}, ...],
     "nodes": [{"name": ..., "infoset": 0, "outcome": null}, ...]}

Infosets and outcomes are referred to by their place in the list; nodes stand root first, each
subtree in one piece; a node without infoset is terminal. Chance is player -1 and has
"probabilities". A table has "strategies" and "cells" instead of "infosets" and "nodes". Numbers are
strings, because JSON's own are not exact; plain numbers are read too.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NoReturn

from counterplay.core.game import CHANCE
from counterplay.errors import GameError
from counterplay.interop.explicit import (
    NO_INDEX,
    ExplicitGame,
    ExplicitInfoset,
    ExplicitOutcome,
    StrategicGame,
)
from counterplay.interop.explicit_builder import ExplicitGameBuilder, count_cells, parse_fraction

GAME_FORMAT = "counterplay game 1"


def json_from_game(game: ExplicitGame | StrategicGame) -> str:
    """The text of a `.json` file; reading it gives an equal game."""
    head: dict[str, Any] = {"format": GAME_FORMAT, "title": game.title, "comment": game.comment}
    head["players"] = list(game.players)
    outcomes = [
        {"number": o.number, "name": o.name, "payoffs": list(map(str, o.payoffs))}
        for o in game.outcomes
    ]
    lists: dict[str, list[Any]] = {"outcomes": outcomes}
    if isinstance(game, StrategicGame):
        lists |= {
            "strategies": list(game.strategies),
            "cells": list(map(_index_or_null, game.cells)),
        }
    else:
        lists["infosets"] = [_infoset_row(infoset) for infoset in game.infosets]
        lists["nodes"] = [
            {
                "name": n.name,
                "infoset": _index_or_null(n.infoset),
                "outcome": _index_or_null(n.outcome),
            }
            for n in game.nodes
        ]
    parts = [f'"{name}": {json.dumps(value)}' for name, value in head.items()]
    for name, rows in lists.items():  # one line for each, to be read by people too
        body = ",\n  ".join(map(json.dumps, rows))
        parts.append(f'"{name}": [\n  {body}\n ]' if rows else f'"{name}": []')
    return "{" + ",\n ".join(parts) + "}\n"


def _infoset_row(infoset: ExplicitInfoset) -> dict[str, Any]:
    row: dict[str, Any] = infoset._asdict()
    odds = list(map(str, row.pop("probabilities")))
    return row | {"probabilities": odds} if odds else row


def _index_or_null(place: int) -> int | None:
    return None if place == NO_INDEX else place


def game_from_json(text: str, path: str = "") -> ExplicitGame | StrategicGame:
    """The game that the text of a `.json` file describes.

    Raises:
        GameError: the first fault found, with line and column, or with the place in the document.
    """
    reader = _JsonReader(path)
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        reader.fail(error.msg, f"line {error.lineno}, column {error.colno}")
    except (RecursionError, ValueError) as error:  # too deep, or a number of too many digits
        reader.fail(str(error), "line 1, column 1")
    reader.check(isinstance(document, dict), "must be an object", "line 1, column 1")
    if document.get("format") != GAME_FORMAT:
        found = repr(document.get("format"))[:60]
        reader.fail(f"this is {found}, not a {GAME_FORMAT!r} file", "line 1, column 1: format")
    return _read_table(reader, document) if "cells" in document else _read_tree(reader, document)


class _JsonReader:
    """Values out of a document, each complained about by its place."""

    def __init__(self, path: str):
        self.path = path

    def fail(self, problem: str, where: str) -> NoReturn:
        name = f"{self.path}, " if self.path else ""
        raise GameError(f"{name}{where}: {problem}")

    def error_reporter(self, where: str) -> Callable[[str], NoReturn]:
        return lambda problem: self.fail(problem, where)

    def check(self, condition: bool, problem: str, where: str) -> None:
        if not condition:
            self.fail(problem, where)

    def text(self, row: dict[str, Any], key: str, where: str) -> str:
        value = row.get(key, "")
        self.check(isinstance(value, str), "must be a text", f"{where}{key}")
        return value

    def integer(self, value: Any, where: str) -> int:
        plain = isinstance(value, int) and not isinstance(value, bool)
        self.check(plain, "must be a whole number", where)
        return value

    def rows(self, row: dict[str, Any], key: str, where: str = "") -> list[Any]:
        value = row.get(key, [])
        self.check(isinstance(value, list), "must be a list", f"{where}{key}")
        return value

    def objects(self, row: dict[str, Any], key: str) -> list[tuple[str, dict[str, Any]]]:
        """The entries of a list, each with its place."""
        places = [(f"{key}[{n}]", value) for n, value in enumerate(self.rows(row, key))]
        for place, value in places:
            self.check(isinstance(value, dict), "must be an object", place)
        return [(f"{place}.", value) for place, value in places]

    def texts(self, row: dict[str, Any], key: str, where: str = "") -> tuple[str, ...]:
        values = self.rows(row, key, where)
        for number, value in enumerate(values):
            self.check(isinstance(value, str), "must be a text", f"{where}{key}[{number}]")
        return tuple(values)

    def numbers(self, row: dict[str, Any], key: str, where: str) -> tuple[Fraction, ...]:
        found = []
        for number, value in enumerate(self.rows(row, key, where)):
            place = f"{where}{key}[{number}]"
            plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
            self.check(plain, "must be a number", place)
            found.append(parse_fraction(_number_text(value), self.error_reporter(place)))
        return tuple(found)

    def index(self, row: dict[str, Any], key: str, num_entries: int, where: str) -> int:
        """Where in a list of so many places an entry points; NONE for null."""
        if row.get(key) is None:
            return NO_INDEX
        value = self.integer(row[key], f"{where}{key}")
        self.check(
            0 <= value < num_entries, f"{value} is not one of {num_entries} places", f"{where}{key}"
        )
        return value


def _number_text(value: str | float) -> str:
    try:
        return str(value)
    except ValueError:  # an integer of thousands of digits
        return "a number of thousands of digits"


def _read_header(reader: _JsonReader, document: dict[str, Any]) -> ExplicitGameBuilder:
    title, comment = reader.text(document, "title", ""), reader.text(document, "comment", "")
    players = reader.texts(document, "players")
    builder = ExplicitGameBuilder(title, players, comment, reader.error_reporter("players"))
    for where, row in reader.objects(document, "outcomes"):
        builder.fail = reader.error_reporter(where.rstrip("."))
        number = reader.integer(row.get("number"), f"{where}number")
        payoffs = reader.numbers(row, "payoffs", where)
        place = builder.add_outcome(
            number, ExplicitOutcome(number, reader.text(row, "name", where), payoffs)
        )
        reader.check(place == len(builder.outcomes) - 1, "this number is taken", f"{where}number")
    return builder


def _read_tree(reader: _JsonReader, document: dict[str, Any]) -> ExplicitGame:
    builder = _read_header(reader, document)
    for where, row in reader.objects(document, "infosets"):
        builder.fail = reader.error_reporter(where.rstrip("."))
        player = reader.integer(row.get("player"), f"{where}player")
        number = reader.integer(row.get("number"), f"{where}number")
        name, actions = reader.text(row, "name", where), reader.texts(row, "actions", where)
        chances = reader.numbers(row, "probabilities", where) if player == CHANCE else ()
        place = builder.add_infoset(
            player, number, ExplicitInfoset(player, number, name, actions, chances)
        )
        reader.check(place == len(builder.infosets) - 1, "this number is taken", f"{where}number")
    for where, row in reader.objects(document, "nodes"):
        builder.fail = reader.error_reporter(where.rstrip("."))
        infoset = reader.index(row, "infoset", len(builder.infosets), where)
        outcome = reader.index(row, "outcome", len(builder.outcomes), where)
        builder.add_node(reader.text(row, "name", where), infoset, outcome)
    builder.fail = reader.error_reporter("nodes")
    return builder.build(reader.path)


def _read_table(reader: _JsonReader, document: dict[str, Any]) -> StrategicGame:
    builder = _read_header(reader, document)
    strategies = tuple(
        reader.texts({"strategies": row}, "strategies", f"[{number}] of ")
        for number, row in enumerate(reader.rows(document, "strategies"))
    )
    rows = reader.rows(document, "cells")
    fail = reader.error_reporter("strategies")
    if len(strategies) != len(builder.players):
        fail(f"{len(strategies)} lists for {len(builder.players)} players")
    if count_cells([len(names) for names in strategies], len(rows), fail) != len(rows):
        fail(f"they do not make {len(rows)} cells")
    cells = tuple(
        reader.index({"cells": value}, "cells", len(builder.outcomes), f"[{number}] of ")
        for number, value in enumerate(rows)
    )
    outcomes, players = tuple(builder.outcomes), builder.players
    return StrategicGame(
        builder.title, players, builder.comment, strategies, outcomes, cells, path=reader.path
    )
