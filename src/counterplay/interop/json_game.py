"""Explicit games as JSON: the same content as Gambit's files, for programs.

    {"format": "counterplay game 1", "title": ..., "comment": ..., "players": [names],
     "infosets": [{"player": 0, "number": 1, "name": ..., "actions": [names]}, ...],
     "outcomes": [{"number": 1, "name": ..., "payoffs": ["1", "-1/3"]}, ...],
     "nodes": [{"name": ..., "infoset": 0, "outcome": null}, ...]}

Nodes refer to infosets and outcomes by their index in the list. Nodes are in preorder: the root
first, each subtree in one piece. A node without infoset is terminal. Chance is player -1 and has
"probabilities". A table has "strategies" and "cells" instead of "infosets" and "nodes". Numbers are
strings, because JSON numbers are not exact; plain numbers are accepted too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NoReturn

from counterplay.core.game import CHANCE
from counterplay.errors import GameError
from counterplay.interop.explicit import (
    NO_INDEX,
    ExplicitGame,
    ExplicitInfoset,
    ExplicitOutcome,
    StrategicGame,
)
from counterplay.interop.explicit_builder import ExplicitGameBuilder, parse_fraction

GAME_FORMAT = "counterplay game 1"

JsonObject = Mapping[str, object]


def json_from_game(game: ExplicitGame | StrategicGame) -> str:
    """Return the text of a `.json` file; reading it gives an equal game."""
    head: dict[str, object] = {
        "format": GAME_FORMAT,
        "title": game.title,
        "comment": game.comment,
        "players": list(game.players),
    }
    lists: dict[str, Sequence[object]] = {
        "outcomes": [
            {"number": o.number, "name": o.name, "payoffs": list(map(str, o.payoffs))}
            for o in game.outcomes
        ]
    }
    if isinstance(game, StrategicGame):
        lists["strategies"] = game.strategies
        lists["cells"] = list(map(_index_or_null, game.cells))
    else:
        lists["infosets"] = [_infoset_row(infoset) for infoset in game.infosets]
        lists["nodes"] = [
            {
                "name": node.name,
                "infoset": _index_or_null(node.infoset),
                "outcome": _index_or_null(node.outcome),
            }
            for node in game.nodes
        ]
    parts = [f'"{name}": {json.dumps(value)}' for name, value in head.items()]
    for name, rows in lists.items():  # one line per entry, which people can read
        body = ",\n  ".join(map(json.dumps, rows))
        parts.append(f'"{name}": [\n  {body}\n ]' if rows else f'"{name}": []')
    return "{" + ",\n ".join(parts) + "}\n"


def _infoset_row(infoset: ExplicitInfoset) -> dict[str, object]:
    row: dict[str, object] = infoset._asdict()
    del row["probabilities"]
    if infoset.probabilities:
        row["probabilities"] = list(map(str, infoset.probabilities))
    return row


def _index_or_null(index: int) -> int | None:
    return None if index == NO_INDEX else index


def game_from_json(text: str, path: str = "") -> ExplicitGame | StrategicGame:
    """Return the game in the text of a `.json` file.

    Raises:
        GameError: the first fault, with its line and column or its location in the document.
    """
    reader = _JsonReader(path)
    start = "line 1, column 1"
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        reader.fail(error.msg, f"line {error.lineno}, column {error.colno}")
    except (RecursionError, ValueError) as error:  # nested too deeply, or a number too long
        reader.fail(str(error), start)
    if not isinstance(document, dict):
        reader.fail("must be an object", start)
    if document.get("format") != GAME_FORMAT:
        file_format = repr(document.get("format"))[:60]
        reader.fail(f"this is {file_format}, not a {GAME_FORMAT!r} file", f"{start}: format")
    return _read_table(reader, document) if "cells" in document else _read_tree(reader, document)


class _JsonReader:
    """Reads typed values from a document; errors name their location."""

    def __init__(self, path: str):
        self.path = path

    def fail(self, problem: str, location: str) -> NoReturn:
        file = f"{self.path}, " if self.path else ""
        raise GameError(f"{file}{location}: {problem}")

    def error_reporter(self, location: str) -> Callable[[str], NoReturn]:
        """Return a function that raises an error at a location."""
        return lambda problem: self.fail(problem, location)

    def text(self, row: JsonObject, key: str, prefix: str) -> str:
        return self._text(row.get(key, ""), f"{prefix}{key}")

    def _text(self, value: object, location: str) -> str:
        if not isinstance(value, str):
            self.fail("must be a text", location)
        return value

    def integer(self, value: object, location: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            self.fail("must be a whole number", location)
        return value

    def rows(self, row: JsonObject, key: str, prefix: str = "") -> list[object]:
        value = row.get(key, [])
        if not isinstance(value, list):
            self.fail("must be a list", f"{prefix}{key}")
        return value

    def objects(self, row: JsonObject, key: str) -> list[tuple[str, JsonObject]]:
        """Return the entries of a list, each with its location."""
        entries: list[tuple[str, JsonObject]] = []
        for index, value in enumerate(self.rows(row, key)):
            if not isinstance(value, dict):
                self.fail("must be an object", f"{key}[{index}]")
            entries.append((f"{key}[{index}]", value))
        return entries

    def texts(self, row: JsonObject, key: str, prefix: str = "") -> tuple[str, ...]:
        values = self.rows(row, key, prefix)
        return tuple(self._text(value, f"{prefix}{key}[{i}]") for i, value in enumerate(values))

    def numbers(self, row: JsonObject, key: str, prefix: str) -> tuple[Fraction, ...]:
        fractions = []
        for index, value in enumerate(self.rows(row, key, prefix)):
            location = f"{prefix}{key}[{index}]"
            if not isinstance(value, (str, int, float)) or isinstance(value, bool):
                self.fail("must be a number", location)
            fractions.append(parse_fraction(_number_text(value), self.error_reporter(location)))
        return tuple(fractions)

    def index(self, value: object, num_entries: int, location: str) -> int:
        """Return an index into a list of `num_entries`; NO_INDEX for null."""
        if value is None:
            return NO_INDEX
        index = self.integer(value, location)
        if not 0 <= index < num_entries:
            self.fail(f"{index} is not an index into a list of {num_entries}", location)
        return index


def _number_text(value: str | float) -> str:
    try:
        return str(value)
    except ValueError:  # an integer of thousands of digits
        return "a number of thousands of digits"


def _read_header(reader: _JsonReader, document: JsonObject) -> ExplicitGameBuilder:
    title, comment = reader.text(document, "title", ""), reader.text(document, "comment", "")
    players = reader.texts(document, "players")
    builder = ExplicitGameBuilder(title, players, comment, reader.error_reporter("players"))
    for location, row in reader.objects(document, "outcomes"):
        builder.fail = reader.error_reporter(location)
        number = reader.integer(row.get("number"), f"{location}.number")
        payoffs = reader.numbers(row, "payoffs", f"{location}.")
        outcome = ExplicitOutcome(number, reader.text(row, "name", f"{location}."), payoffs)
        if builder.add_outcome(number, outcome) != len(builder.outcomes) - 1:
            reader.fail("an earlier outcome has this number", f"{location}.number")
    return builder


def _read_tree(reader: _JsonReader, document: JsonObject) -> ExplicitGame:
    builder = _read_header(reader, document)
    for location, row in reader.objects(document, "infosets"):
        builder.fail = reader.error_reporter(location)
        infoset = _read_infoset(reader, row, f"{location}.")
        index = builder.add_infoset(infoset.player, infoset.number, infoset)
        if index != len(builder.infosets) - 1:
            reader.fail("an earlier infoset has this number", f"{location}.number")
    for location, row in reader.objects(document, "nodes"):
        builder.fail = reader.error_reporter(location)
        num_infosets, num_outcomes = len(builder.infosets), len(builder.outcomes)
        index = reader.index(row.get("infoset"), num_infosets, f"{location}.infoset")
        outcome = reader.index(row.get("outcome"), num_outcomes, f"{location}.outcome")
        builder.add_node(reader.text(row, "name", f"{location}."), index, outcome)
    builder.fail = reader.error_reporter("nodes")
    return builder.build(reader.path)


def _read_infoset(reader: _JsonReader, row: JsonObject, prefix: str) -> ExplicitInfoset:
    player = reader.integer(row.get("player"), f"{prefix}player")
    return ExplicitInfoset(
        player=player,
        number=reader.integer(row.get("number"), f"{prefix}number"),
        name=reader.text(row, "name", prefix),
        actions=reader.texts(row, "actions", prefix),
        probabilities=reader.numbers(row, "probabilities", prefix) if player == CHANCE else (),
    )


def _read_table(reader: _JsonReader, document: JsonObject) -> StrategicGame:
    builder = _read_header(reader, document)
    strategies = tuple(
        reader.texts({"strategies": row}, "strategies", f"[{index}] of ")
        for index, row in enumerate(reader.rows(document, "strategies"))
    )
    cells = tuple(
        reader.index(value, len(builder.outcomes), f"[{index}] of cells")
        for index, value in enumerate(reader.rows(document, "cells"))
    )
    builder.fail = reader.error_reporter("strategies")
    return builder.build_table(strategies, cells, reader.path)
