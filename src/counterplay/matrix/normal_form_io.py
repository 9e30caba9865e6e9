"""Read normal forms from files: JSON for any game, CSV for two players."""

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

    A JSON file holds nested lists, one table per player, or an object with `payoffs` and optional
    `action_names`. A CSV file holds player 0's matrix and, after an empty line, player 1's. The
    first line of a matrix may name the columns, and the first cell of each line the rows.

    Args:
        path: a file that ends in .json or .csv.

    Raises:
        ConfigError: if the content is not a normal form.
        FileError: if the file cannot be read.
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
    fields: dict[str, Any] = content if isinstance(content, dict) else {"payoffs": content}
    for key in fields:
        if key not in JSON_KEYS:
            raise ConfigError(f"unknown key {key!r}{suggestion(key, JSON_KEYS)}")
    if not isinstance(fields.get("payoffs"), list):
        raise ConfigError("payoffs must be a list of tables, one per player, or one matrix")
    names = fields.get("action_names", ())
    if not isinstance(names, (list, tuple)) or not all(isinstance(row, list) for row in names):
        raise ConfigError("action_names must be one list of names per player")
    return NormalForm(fields["payoffs"], tuple(tuple(row) for row in names))


NumberedLines = list[tuple[int, list[str]]]  # line number and cells


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
    if len(set(names)) > 1 and all(any(table_names) for table_names in names):
        raise ConfigError("the two matrices name their actions differently")
    rows, columns = max(names, key=lambda table_names: sum(map(len, table_names)))
    utility = tables[0] if len(tables) == 1 else list(tables)
    if not (rows or columns):
        return NormalForm(utility)
    row_names = rows or tuple(map(str, range(len(tables[0]))))
    column_names = columns or tuple(map(str, range(len(tables[0][0]))))
    return NormalForm(utility, (row_names, column_names))


def _parse_table(
    lines: NumberedLines,
) -> tuple[list[list[float]], tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the numbers of one matrix and the names of its rows and columns (may be empty)."""
    has_row_names = len(lines) > 1 and not any(_is_number(row[0]) for _, row in lines)
    columns: tuple[str, ...] = ()
    if not any(map(_is_number, lines[0][1][has_row_names:])):
        columns = tuple(lines[0][1][has_row_names:])
        lines = lines[1:]
    rows = tuple(row[0] for _, row in lines) if has_row_names else ()
    table = []
    for number, row in lines:
        try:
            table.append([float(cell) for cell in row[has_row_names:]])
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
