"""Normal forms from files: JSON for any game, CSV for two players."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from counterplay.errors import ConfigError, FileError, suggestion
from counterplay.matrix.normal_form import NormalForm

SUFFIXES = (".json", ".csv")
JSON_KEYS = ("payoffs", "action_names")
MAX_FILE_BYTES = 100_000_000


def read_normal_form(path: str | Path) -> NormalForm:
    """Read a game from a file. A single matrix is player 0's in a two-player zero-sum game.

    JSON holds nested lists, one table per player, or an object with `payoffs` and, if the actions
    have names, `action_names`. CSV holds a matrix; after an empty line, player 1's. Its first line
    may name the columns, and the first cell of each line the rows.
    """
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise ConfigError(f"cannot read {path}; the name must end in {' or '.join(SUFFIXES)}")
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ConfigError(f"{path} is too large, more than {MAX_FILE_BYTES:,} bytes")
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise FileError(f"there is no file {path}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}") from error
    try:
        return _parse_json(text) if path.suffix == ".json" else _parse_csv(text)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def _parse_json(text: str) -> NormalForm:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"not JSON ({error})") from error
    given: dict[str, Any] = content if isinstance(content, dict) else {"payoffs": content}
    for key in given:
        if key not in JSON_KEYS:
            raise ConfigError(f"unknown key {key!r}{suggestion(key, JSON_KEYS)}")
    if not isinstance(given.get("payoffs"), list):
        raise ConfigError("payoffs must be a list of tables, one per player, or one matrix")
    names = given.get("action_names", ())
    if not isinstance(names, (list, tuple)) or not all(isinstance(row, list) for row in names):
        raise ConfigError("action_names must be one list of names per player")
    return NormalForm(given["payoffs"], tuple(tuple(row) for row in names))


NumberedLines = list[tuple[int, list[str]]]  # numbers and cells


def _parse_csv(text: str) -> NormalForm:
    blocks: list[NumberedLines] = [[]]
    for number, row in enumerate(csv.reader(text.splitlines()), 1):
        if any(cell.strip() for cell in row):
            blocks[-1].append((number, [cell.strip() for cell in row]))
        else:
            blocks.append([])
    blocks = [block for block in blocks if block]
    if len(blocks) not in (1, 2):
        raise ConfigError(f"{len(blocks)} matrices; must be one, or two with an empty line between")
    tables, names = zip(*map(_parse_table, blocks), strict=True)
    if len(set(names)) > 1 and all(any(one) for one in names):
        raise ConfigError("the two matrices name their actions differently")
    rows, columns = max(names, key=lambda one: sum(map(len, one)))
    shape = len(tables[0]), len(tables[0][0])
    given = rows or tuple(map(str, range(shape[0]))), columns or tuple(map(str, range(shape[1])))
    form = tables[0] if len(tables) == 1 else list(tables)
    return NormalForm(form, given if rows or columns else ())


def _parse_table(
    lines: NumberedLines,
) -> tuple[list[list[float]], tuple[tuple[str, ...], tuple[str, ...]]]:
    """The numbers of one matrix, and the names of its rows and columns, if it has any."""
    named_rows = len(lines) > 1 and not any(_is_number(row[0]) for _, row in lines)
    columns: tuple[str, ...] = ()
    if not any(map(_is_number, lines[0][1][named_rows:])):
        columns = tuple(lines[0][1][named_rows:])
        lines = lines[1:]
    rows = tuple(row[0] for _, row in lines) if named_rows else ()
    table = []
    for number, row in lines:
        try:
            table.append([float(cell) for cell in row[named_rows:]])
        except ValueError as error:
            raise ConfigError(f"line {number}: {error}") from error
    if not table:
        raise ConfigError(f"line 1: {', '.join(columns)} are names, and no numbers follow")
    return table, (rows, columns)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
