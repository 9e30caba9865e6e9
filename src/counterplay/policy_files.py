"""Policies in files: archives, JSON and CSV, read as rows by player and infoset key."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.arena import Floats
from counterplay.errors import RunError
from counterplay.files import DamageError, read_arrays, write_text
from counterplay.tree import row_lengths

FORMAT = "counterplay policy 1"
COLUMNS = ("player", "infoset", "action", "probability")
MOST_BYTES = 1_000_000_000  # of a text file
Items = Iterable[tuple[int, str, dict[str, float]]]  # player, infoset key, action -> probability
Rows = dict[tuple[int, str], tuple[tuple[str, ...], Floats]]  # names and probabilities of actions


def read_rows(path: str | Path) -> tuple[str, bool, Rows]:
    """The game of a policy file, whether infosets may lack, and action names and probabilities.

    A CSV file does not name its game, which is "" then.
    """
    reader = {".json": _from_json, ".csv": _from_csv}.get(Path(path).suffix)
    if reader is None:
        return _from_archive(path)
    try:
        if Path(path).stat().st_size > MOST_BYTES:
            raise RunError(f"{path} is too large, more than {MOST_BYTES:,} bytes")
        spec, found = reader(Path(path).read_text(encoding="utf-8-sig"))
        rows: Rows = {
            where: (tuple(row), np.array(list(row.values()), np.float64))
            for where, row in found.items()
        }
    except FileNotFoundError as error:
        raise RunError(f"there is no file {path}") from error
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror or error}") from error
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
        OverflowError,
        csv.Error,
    ) as error:
        raise RunError(f"{path}: not a policy as --export writes it ({error})") from error
    for (_, key), (names, row) in rows.items():
        if not names or not np.isfinite(row).all():
            raise RunError(f"{path}: no probabilities at {key!r}")
    return spec, True, rows


def read_numbered(path: str | Path) -> tuple[str, Floats] | None:
    """The game and the probabilities of a file without keys; nothing of other files.

    Such files are made on arenas whose infosets have their numbers from the game alone.
    """
    if Path(path).suffix in (".json", ".csv"):
        return None
    found = read_arrays(path, FORMAT)
    if found.get("numbered") is not True:
        return None
    spec, values = found.get("spec"), found.get("probabilities")
    whole = isinstance(spec, str) and isinstance(values, np.ndarray) and values.dtype == np.float64
    if not whole:
        raise RunError(f"{path}: not a whole policy file (it has no probabilities)")
    return str(spec), np.asarray(values)


def _from_json(text: str) -> tuple[str, dict[tuple[int, str], dict[str, float]]]:
    content: Any = json.loads(text)
    rows = {}
    for player, infosets in enumerate(content["players"]):
        for key, row in infosets.items():
            rows[player, key] = {name: float(p) for name, p in row.items()}
    return str(content["game"]), rows


def _from_csv(text: str) -> tuple[str, dict[tuple[int, str], dict[str, float]]]:
    lines = csv.DictReader(io.StringIO(text, newline=""))
    if tuple(lines.fieldnames or ()) != COLUMNS:
        raise ValueError(f"the first line must be {','.join(COLUMNS)}")
    rows: dict[tuple[int, str], dict[str, float]] = {}
    for line in lines:
        row = rows.setdefault((int(line["player"]), line["infoset"]), {})
        if line["action"] in row:
            raise ValueError(f"line {lines.line_num}: {line['action']!r} is there twice")
        row[line["action"]] = float(line["probability"])
    return "", rows


def _from_archive(path: str | Path) -> tuple[str, bool, Rows]:
    found = read_arrays(path, FORMAT)
    if found.get("numbered") is True:
        raise RunError(f"{path} has no keys: it is for the generated arena of {found.get('spec')}")
    try:
        spec, keys, names = (found[name] for name in ("spec", "infoset_keys", "sequence_names"))
        arrays = [found[name] for name in ("infoset_player", "offset", "probabilities")]
        if not all(isinstance(array, np.ndarray) and array.ndim == 1 for array in arrays):
            raise DamageError("its arrays have wrong shapes")
        if [array.dtype.kind for array in arrays] != ["i", "i", "f"]:
            raise DamageError("its arrays have wrong types")
        if not all(isinstance(text, str) for text in (spec, *keys, *names)):
            raise DamageError("its names are not text")
        owners, offset, values = arrays
        if len(keys) != owners.size or len(keys) != offset.size - 1 or len(names) != values.size:
            raise DamageError("its parts have different lengths")
        if offset[0] != 0 or offset[-1] != values.size or (row_lengths(offset) < 1).any():
            raise DamageError("its offsets are not in order")
        slices = [slice(first, last) for first, last in pairwise(offset.tolist())]
        infosets = zip(owners.tolist(), keys, strict=True)
        rows = dict(zip(infosets, ((names[s], values[s]) for s in slices), strict=True))
        if len(rows) < len(keys):
            raise DamageError("an infoset is there twice")
    except (KeyError, TypeError, DamageError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else error
        raise RunError(f"{path}: not a whole policy file ({why})") from error
    return spec, found.get("partial") is True, rows


def write_json(path: str | Path, spec: str, num_players: int, items: Items) -> None:
    """Write a policy's `items()` as JSON, one dict per player."""
    players: list[dict[str, dict[str, float]]] = [{} for _ in range(num_players)]
    for player, key, probabilities in items:
        players[player][key] = probabilities
    write_text(path, json.dumps({"game": spec, "players": players}, indent=1))


def write_csv(path: str | Path, items: Items) -> None:
    """Write a policy's `items()` as CSV, one line per action."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for player, key, probabilities in items:
        for action, probability in probabilities.items():
            writer.writerow((player, key, action, repr(probability)))
    write_text(path, text.getvalue())
