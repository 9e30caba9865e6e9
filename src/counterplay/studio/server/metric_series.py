"""The records of runs as arrays: read quickly, followed as they grow, thinned for a chart."""

from __future__ import annotations

import json
import math
import os
import secrets
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterplay.core.archive import open_regular
from counterplay.errors import RunError
from counterplay.experiment.run_folder import CHECKSUM, METRICS_FILE

Floats = NDArray[np.float64]
TAIL_BYTES = 256  # bytes before the end that must still be there when a file has grown
NUM_SKETCH_POINTS = 32  # points of a sketch


class MetricSeries:
    """metrics.jsonl of one run; `refresh` reads what is new.

    `epoch` changes whenever records that were seen are gone: a run that resumes drops those after
    its checkpoint.
    """

    def __init__(self, folder: Path):
        self.path = folder / METRICS_FILE
        self._reset()

    def _reset(self) -> None:
        self.epoch = secrets.token_hex(6)
        self.column_names: tuple[str, ...] = ()
        self.values: Floats = np.zeros((0, 0))
        self.num_rows = 0  # of the table, which has room for more
        self.offset, self.tail = 0, b""
        self.file_id: tuple[int, int] | None = None

    @property
    def policies(self) -> tuple[str, ...]:
        return tuple(name for name in self.column_names if name not in ("step", "seconds"))

    def column(self, name: str) -> Floats:
        return self.values[: self.num_rows, self.column_names.index(name)]

    def refresh(self) -> None:
        """Read what was added since; from the beginning if what was there has changed."""
        try:
            with open_regular(self.path) as file:
                info = os.fstat(file.fileno())
                if not self._is_continuation(file, info):
                    self._reset()
                    self.file_id = (info.st_dev, info.st_ino)
                file.seek(self.offset)
                block = file.read()
        except FileNotFoundError:
            self._reset()
            return
        except OSError as error:
            problem = error.strerror or error
            raise RunError(f"cannot read {self.path.name}: {problem}") from error
        block = block[: block.rfind(b"\n") + 1]  # a last line without end is being written
        if block:
            self._append_block(block)

    def _is_continuation(self, file: Any, info: os.stat_result) -> bool:
        if self.file_id != (info.st_dev, info.st_ino) or info.st_size < self.offset:
            return False
        file.seek(self.offset - len(self.tail))
        return bool(file.read(len(self.tail)) == self.tail)

    def _append_block(self, block: bytes) -> None:
        keys = tuple(_parse_record(self.path, block[: block.index(b"\n")]))
        names = tuple(name for name in keys if name != CHECKSUM)  # which is the last key
        self.column_names = self.column_names or names
        rows = _parse_numbers(block, keys) if names == self.column_names else None
        rows = self._parse_line_by_line(block) if rows is None else rows[:, : len(names)]
        step = rows[:, self.column_names.index("step")]
        before = self.column("step")[-1:] if self.num_rows else step[:1]
        if (np.diff(step, prepend=before) < 0.0).any():
            raise RunError(f"{self.path.name} is damaged: its steps go backwards")
        room = len(self.values)
        if self.num_rows + len(rows) > room or self.values.shape[1] != len(self.column_names):
            grown = np.empty((max(self.num_rows + len(rows), 2 * room, 64), len(self.column_names)))
            if self.num_rows:
                grown[: self.num_rows] = self.values[: self.num_rows]
            self.values = grown
        self.values[self.num_rows : self.num_rows + len(rows)] = rows
        self.num_rows += len(rows)
        self.offset += len(block)
        self.tail = (self.tail + block)[-TAIL_BYTES:]

    def _parse_line_by_line(self, block: bytes) -> Floats:
        """Line by line, for whatever was not written by this library."""
        rows = []
        for line in block.splitlines():
            record = _parse_record(self.path, line)
            record.pop(CHECKSUM, None)  # a run that an older version began has some lines without
            if tuple(record) != self.column_names:
                raise RunError(f"{self.path.name} is damaged: its records have different names")
            rows.append(list(record.values()))
        return np.array(rows, float)


def _parse_record(path: Path, line: bytes) -> dict[str, float]:
    """Return one record: numbers by name, among them a step and seconds that are finite."""
    try:
        numbers = {str(name): float(value) for name, value in json.loads(line).items()}
        if math.isfinite(numbers["step"]) and math.isfinite(numbers["seconds"]):
            return numbers
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        pass
    shown = line[:60].decode(errors="replace")
    raise RunError(f"{path.name} is damaged: {shown!r} is not a record")


def _parse_numbers(block: bytes, names: tuple[str, ...]) -> Floats | None:
    """The numbers of records as `json.dumps` writes them; None if some are written otherwise.

    Five times as fast as reading JSON: the text between the numbers is taken away.
    """
    num_lines = block.count(b"\n")
    for place, name in enumerate(names):
        before = ("{" if place == 0 else " ") + json.dumps(name) + ": "
        if block.count(before.encode()) != num_lines:
            return None
        block = block.replace(before.encode(), b"")
    if block.count(b"}\n") != num_lines or block.count(b'"'):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # raised where a number ends too early
        try:
            found = np.fromstring(block.replace(b"}\n", b",").decode("latin-1"), sep=",")
        except ValueError:
            return None
    if found.size != num_lines * len(names) or not np.isfinite(found).all():
        return None
    return found.reshape(num_lines, len(names))


def select_points(
    x: Floats, curves: list[Floats], max_points: int, log_x: bool
) -> NDArray[np.int64]:
    """Which of the points to draw: of every pixel column the least and largest of each curve.

    Columns are even in log x, or in x; the first and last point always stay.
    """
    if x.size <= max_points:
        return np.arange(x.size)
    columns = max(max_points // (2 * max(len(curves), 1)), 1)
    place = np.log(np.maximum(x, 1e-9)) if log_x else x
    low, high = place[0], place[-1]
    width = max(high - low, 1e-300)
    with np.errstate(over="ignore"):  # seconds of a damaged file need not grow
        column = np.clip((place - low) / width * columns, 0, columns - 1).astype(np.int64)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    chosen = [np.array([0, x.size - 1])]
    for curve in curves:
        order = np.lexsort((curve, column))
        chosen += [order[starts], order[np.append(starts[1:], x.size) - 1]]
    return np.unique(np.concatenate(chosen))


def sample_records(path: Path, size: int) -> list[dict[str, float]]:
    """A few records from the beginning to the end, without reading what lies between."""
    found: dict[int, dict[str, float]] = {}
    places = np.unique(
        np.geomspace(1, max(size, 2), NUM_SKETCH_POINTS).astype(np.int64) - 1
    ).tolist()
    try:
        with open_regular(path) as file:
            for place in places:
                file.seek(place)
                block = file.read(2048)
                if place:
                    block = block[block.find(b"\n") + 1 :] if b"\n" in block else b""
                line, end, _ = block.partition(b"\n")
                if end:
                    record = _parse_record(path, line)
                    found[int(record["step"])] = record
        last = read_last_record(path, size)
        if last:
            found[int(last["step"])] = last
    except (OSError, RunError):
        pass  # reported by whoever reads all records
    return [found[step] for step in sorted(found)]


def read_last_record(path: Path, size: int) -> dict[str, float] | None:
    """The last whole record of a file."""
    try:
        with open_regular(path) as file:
            file.seek(max(size - 4096, 0))
            lines = file.read().split(b"\n")[:-1]
        return _parse_record(path, lines[-1]) if lines else None
    except OSError:
        return None
