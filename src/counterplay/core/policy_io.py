"""Policy files: archives, JSON and CSV, read as rows by player and infoset key."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from counterplay.core.archive import DamagedFileError, read_archive, write_text
from counterplay.core.arena import Floats, row_lengths
from counterplay.errors import RunError

POLICY_FORMAT = "counterplay policy 1"
CSV_COLUMNS = ("player", "infoset", "action", "probability")
UNIFORM = "uniform"
MISSING_KEY = "missing_infosets"  # in a JSON policy that may lack infosets
MISSING_LINE = ("*", "*", "*", UNIFORM)  # in a CSV policy that may lack infosets
SUM_TOLERANCE = 1e-6  # allowed distance of a sum of probabilities from 1
MAX_TEXT_FILE_BYTES = 1_000_000_000  # size limit of JSON and CSV files
PARSE_ERRORS = (
    *(ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError),
    csv.Error,
)

# (player, infoset key, action name -> probability) of every infoset
PolicyItems = Iterable[tuple[int, str, dict[str, float]]]
# (player, infoset key) -> names and probabilities of actions
StoredPolicyRows = dict[tuple[int, str], tuple[tuple[str, ...], Floats]]


class StoredPolicy(NamedTuple):
    """The content of a policy file."""

    spec: str  # the game; "" if the file does not name it
    partial: bool  # whether infosets may be missing, where the policy is uniform
    rows: StoredPolicyRows
    num_players: int | None  # None if the file does not say


def read_policy_rows(path: str | Path) -> StoredPolicy:
    """Read a policy file with keys: an archive, JSON, or CSV, which does not name its game.

    Raises:
        RunError: the file is missing, damaged, too large, or not a policy.
    """
    reader = {".json": _parse_json, ".csv": _parse_csv}.get(Path(path).suffix)
    if reader is None:
        return _read_archive_rows(path)
    try:
        if Path(path).stat().st_size > MAX_TEXT_FILE_BYTES:
            raise RunError(f"{path} is too large, more than {MAX_TEXT_FILE_BYTES:,} bytes")
        stored = reader(Path(path).read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise RunError(f"there is no file {path}") from error
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror or error}") from error
    except PARSE_ERRORS as error:
        raise RunError(f"{path}: not a policy as --export writes it ({error})") from error
    for (_, key), (names, row) in stored.rows.items():
        if not names or not np.isfinite(row).all():
            raise RunError(f"{path}: no probabilities at {key!r}")
        if not abs(row.sum() - 1.0) <= SUM_TOLERANCE or row.min() < 0.0:
            raise RunError(f"{path}: not a probability distribution at {key!r}: {row}")
    return stored


def read_numbered_policy(path: str | Path) -> tuple[str, Floats] | None:
    """Return the game and the probabilities of a file without keys; None for other files.

    Such files come from arenas whose infosets are numbered by the game alone.
    """
    if Path(path).suffix in (".json", ".csv"):
        return None
    values = read_archive(path, POLICY_FORMAT)
    if values.get("numbered") is not True:
        return None
    spec, probabilities = values.get("spec"), values.get("probabilities")
    is_array = isinstance(probabilities, np.ndarray) and probabilities.dtype == np.float64
    if not isinstance(spec, str) or not is_array:
        raise RunError(f"{path}: not a whole policy file (it has no probabilities)")
    return spec, np.asarray(probabilities)


def _parse_json(text: str) -> StoredPolicy:
    content: Any = json.loads(text, object_pairs_hook=_unique_names)
    if not isinstance(content, dict):
        raise ValueError("it must be an object with the keys game and players")
    unknown = content.keys() - {"game", "players", MISSING_KEY}
    if unknown:
        raise ValueError(f"it has no key {min(unknown)!r}")
    spec, players = content["game"], content["players"]
    if not isinstance(spec, str) or not isinstance(players, list):
        raise ValueError("game must be a text, players a list")
    if content.get(MISSING_KEY, UNIFORM) != UNIFORM:
        raise ValueError(f"{MISSING_KEY} can only be {UNIFORM!r}")
    rows: StoredPolicyRows = {}
    for player, infosets in enumerate(players):
        if not isinstance(infosets, dict):
            raise ValueError(f"player {player} must be an object of infosets")
        for key, row in infosets.items():
            if not isinstance(row, dict):
                raise ValueError(f"{key!r} must be an object of actions")
            for name, probability in row.items():
                if isinstance(probability, bool) or not isinstance(probability, (int, float)):
                    raise ValueError(f"{name!r} at {key!r} is {probability!r}, not a number")
            rows[player, key] = tuple(row), np.array(list(row.values()), np.float64)
    return StoredPolicy(spec, MISSING_KEY in content, rows, len(players))


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a dict; raise ValueError if a name occurs twice."""
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{repeated!r} occurs twice")
    return values


def _parse_csv(text: str) -> StoredPolicy:
    lines = csv.DictReader(io.StringIO(text, newline=""))
    if tuple(lines.fieldnames or ()) != CSV_COLUMNS:
        raise ValueError(f"the first line must be {','.join(CSV_COLUMNS)}")
    rows: dict[tuple[int, str], dict[str, float]] = {}
    partial = False
    for line in lines:
        if any(value is None for value in line.values()) or None in line:
            raise ValueError(f"line {lines.line_num} must have {len(CSV_COLUMNS)} entries")
        if tuple(line.values()) == MISSING_LINE:
            partial = True
            continue
        row = rows.setdefault((int(line["player"]), line["infoset"]), {})
        if line["action"] in row:
            raise ValueError(f"line {lines.line_num}: {line['action']!r} occurs twice")
        row[line["action"]] = float(line["probability"])
    arrays: StoredPolicyRows = {
        pair: (tuple(row), np.array(list(row.values()), np.float64)) for pair, row in rows.items()
    }
    return StoredPolicy("", partial, arrays, None)


def _read_archive_rows(path: str | Path) -> StoredPolicy:
    content = read_archive(path, POLICY_FORMAT)
    if content.get("numbered") is True:
        raise RunError(
            f"{path} has no keys: it is for the generated arena of {content.get('spec')}"
        )
    try:
        spec, keys, names = (content[name] for name in ("spec", "infoset_keys", "sequence_names"))
        arrays = [content[name] for name in ("infoset_player", "offset", "probabilities")]
        if not all(isinstance(array, np.ndarray) and array.ndim == 1 for array in arrays):
            raise DamagedFileError("its arrays have wrong shapes")
        if [array.dtype.kind for array in arrays] != ["i", "i", "f"]:
            raise DamagedFileError("its arrays have wrong types")
        if not all(isinstance(text, str) for text in (spec, *keys, *names)):
            raise DamagedFileError("its names are not text")
        players, offset, values = arrays
        if len(keys) != players.size or len(keys) != offset.size - 1 or len(names) != values.size:
            raise DamagedFileError("its parts have different lengths")
        if offset[0] != 0 or offset[-1] != values.size or (row_lengths(offset) < 1).any():
            raise DamagedFileError("its offsets are not in order")
        slices = [slice(first, last) for first, last in pairwise(offset.tolist())]
        infosets = zip(players.tolist(), keys, strict=True)
        rows = dict(zip(infosets, ((names[s], values[s]) for s in slices), strict=True))
        if len(rows) < len(keys):
            raise DamagedFileError("an infoset occurs twice")
    except (KeyError, TypeError, DamagedFileError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else error
        raise RunError(f"{path}: not a whole policy file ({reason})") from error
    return StoredPolicy(spec, content.get("partial") is True, rows, None)


def write_policy_json(
    path: str | Path, spec: str, num_players: int, items: PolicyItems, partial: bool = False
) -> None:
    """Write the items of a policy as JSON, one object per player.

    Args:
        path: the file.
        spec: the game.
        num_players: number of players.
        items: `policy.items()`.
        partial: whether infosets may be missing, which is noted in the file.
    """
    players: list[dict[str, dict[str, float]]] = [{} for _ in range(num_players)]
    for player, key, probabilities in items:
        players[player][key] = probabilities
    missing = {MISSING_KEY: UNIFORM} if partial else {}
    write_text(path, json.dumps({"game": spec, **missing, "players": players}, indent=1))


def write_policy_csv(path: str | Path, items: PolicyItems, partial: bool = False) -> None:
    """Write the items of a policy as CSV, one line per action, and a last line if it is partial."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(CSV_COLUMNS)
    for player, key, probabilities in items:
        for action, probability in probabilities.items():
            writer.writerow((player, key, action, repr(probability)))
    if partial:
        writer.writerow(MISSING_LINE)
    write_text(path, text.getvalue())
