"""Records of a run in `metrics.jsonl`: one writer, and one reader for all of the package.

Every line is a JSON object: `step`, `seconds`, the exploitability of each policy by name (or counts
of a run on rules), and at the end `crc32`, the CRC-32 of the file up to the comma before it. The
checksum covers all earlier lines too, so lost, repeated and swapped lines are found as well as
changed ones. Files of older versions have no checksums. A last line without an end is being written
and is ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import secrets
import tempfile
import warnings
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np

from counterplay.core.archive import open_regular
from counterplay.core.arena import Floats
from counterplay.errors import FileError, RunError
from counterplay.experiment.run_folder import METRICS_FILE, RunLockedError, try_lock

MetricsRecord = dict[str, float]  # `step`, which is an integer, `seconds`, and metrics by name

CHECKSUM = "crc32"  # last key of a line
CHECKSUM_MARK = f', "{CHECKSUM}": '.encode()
TAIL_BYTES = 256  # of a file read before that must be unchanged when it has grown
NUM_SAMPLED_RECORDS = 32  # of `sample_records`


class MetricsWriter:
    """Appends records to metrics.jsonl of a run, for one process at a time.

    Args:
        folder: the folder of the run.
        length: bytes of the file to keep; records after them are removed.
        sha256: of these bytes; "" if it is not known.

    Raises:
        RunLockedError: another process writes the file, or has changed it.
        RunError: the file cannot be written.
    """

    def __init__(self, folder: Path, length: int, sha256: str = ""):
        self.path, self.num_bytes = folder / METRICS_FILE, length
        try:
            self.file = open(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644), "r+b")  # noqa: SIM115
            try:
                is_locked = try_lock(self.file.fileno())
                if is_locked is False:
                    raise RunLockedError(f"another process is running {folder} right now")
                content = self.file.read(length)
                self.digest, self.crc = hashlib.sha256(content), zlib.crc32(content)
                if len(content) < length or sha256 not in ("", self.digest.hexdigest()):
                    raise RunLockedError(f"{self.path} has changed since it was read; resume again")
                if is_locked is None and os.name == "posix":
                    self._replace_file(content)
                self.file.truncate(length)
            except BaseException:
                self.file.close()
                raise
        except OSError as error:
            raise self._write_error(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(OSError):  # a full disk was reported when the record was added
            self.file.close()

    def _replace_file(self, content: bytes) -> None:
        """Write to a new file of the same name, on a file system without locks.

        A process that still writes keeps the old file, which has no name any more.
        """
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{METRICS_FILE}.")
        self.file.close()
        self.file = open(handle, "r+b")  # noqa: SIM115
        self.file.write(content)
        self.file.flush()
        os.chmod(name, 0o644)
        os.fsync(handle)
        os.replace(name, self.path)

    def append(self, record: Mapping[str, float]) -> None:
        """Append a record; readers see it at once."""
        body = json.dumps(record).encode().removesuffix(b"}")
        line = body + _line_ending(zlib.crc32(body, self.crc)) + b"\n"
        self._check_unchanged()
        try:
            self.file.write(line)
            self.file.flush()
        except OSError as error:
            raise self._write_error(error) from error
        self.digest.update(line)
        self.crc = zlib.crc32(line, self.crc)
        self.num_bytes += len(line)

    def sync(self) -> tuple[int, str]:
        """Wait until all records are on the disk, and return their length and SHA-256."""
        self._check_unchanged()
        try:
            os.fsync(self.file.fileno())
        except OSError as error:
            raise self._write_error(error) from error
        return self.num_bytes, self.digest.hexdigest()

    def _check_unchanged(self) -> None:
        """Raise RunError if the file was replaced, removed or changed by another process."""
        info = os.fstat(self.file.fileno())
        try:
            if os.path.samestat(info, os.stat(self.path)) and info.st_size == self.num_bytes:
                return
        except FileNotFoundError:
            pass
        except OSError as error:
            raise self._write_error(error) from error
        raise RunError(f"{self.path} was removed or changed by another program during the run")

    def _write_error(self, error: OSError) -> RunError:
        return RunError(f"cannot write {self.path}: {error.strerror or error}")


class RecordParser:
    """Parses successive blocks of whole lines, and checks every record.

    A record must continue the one before: the same keys, a larger step, no fewer seconds, and a
    checksum that matches the file up to here.

    Args:
        label: names the file in errors.
    """

    def __init__(self, label: str):
        self.label, self.num_lines, self.crc = label, 0, 0
        self.previous: MetricsRecord | None = None  # with its checksum

    def parse(self, block: bytes) -> list[MetricsRecord]:
        """Return the records of a block, without checksums.

        Raises:
            FileError: a line is damaged; the parser still expects the same block.
        """
        records: list[MetricsRecord] = []
        previous, crc = self.previous, self.crc
        for number, line in enumerate(block.split(b"\n")[:-1], self.num_lines + 1):
            record, problem = _parse_line(line, previous, crc)
            if problem:
                raise FileError(f"{self.label}: line {number} is damaged: {problem}")
            previous, crc = record, zlib.crc32(line + b"\n", crc)
            records.append({key: value for key, value in record.items() if key != CHECKSUM})
        self.previous, self.crc, self.num_lines = previous, crc, self.num_lines + len(records)
        return records

    def parse_quickly(self, block: bytes) -> tuple[tuple[str, ...], Floats] | None:
        """Return the keys and numbers [n, K] of a block, without checksums.

        This is five times as fast as `parse`, because it reads all numbers at once. The checksum of
        the last line covers the whole block. None if the block is not as `MetricsWriter` writes it;
        then `parse` decides whether it is damaged.
        """
        try:
            keys = tuple(json.loads(block[: block.index(b"\n")]))
        except (ValueError, TypeError, RecursionError):
            return None
        numbers = _parse_numbers(block, keys)
        if numbers is None or not self._is_continuation(block, keys, numbers):
            return None
        self.previous = dict(zip(keys, numbers[-1].tolist(), strict=True))
        self.num_lines += len(numbers)
        self.crc = zlib.crc32(block, self.crc)
        is_metric = [key != CHECKSUM for key in keys]
        return tuple(key for key in keys if key != CHECKSUM), numbers[:, is_metric]

    def _is_continuation(self, block: bytes, keys: tuple[str, ...], numbers: Floats) -> bool:
        """Return True if numbers [n, K] continue the records so far, and the checksum matches."""
        if len(set(keys)) < len(keys) or not {"step", "seconds"} <= set(keys):
            return False
        if self.previous is not None and tuple(self.previous) != keys:
            return False
        first = self.previous or {"step": -1.0, "seconds": 0.0}
        step, seconds = (numbers[:, keys.index(name)] for name in ("step", "seconds"))
        if (step % 1.0).any() or not (np.diff(step, prepend=first["step"]) > 0.0).all():
            return False
        if not (np.diff(seconds, prepend=first["seconds"]) >= 0.0).all() or step[-1] >= 2.0**53:
            return False
        if CHECKSUM not in keys:
            return True
        end = block.rfind(CHECKSUM_MARK)
        crc = zlib.crc32(block[:end], self.crc)
        return block[end:] == _line_ending(crc) + b"\n"


def _parse_line(line: bytes, previous: MetricsRecord | None, crc: int) -> tuple[MetricsRecord, str]:
    """Return a record and its problem or "", given the record before and the CRC-32 so far."""
    try:
        record = json.loads(line)
        problem = _find_record_problem(record, previous)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError, AttributeError):
        return {}, "not a record"
    if not problem and CHECKSUM in record:
        body = line[: line.rfind(CHECKSUM_MARK)]
        is_same = body + _line_ending(record[CHECKSUM]) == line
        if zlib.crc32(body, crc) != record[CHECKSUM] or not is_same:
            problem = "the file up to here does not match its checksum"
    return record, problem


def _line_ending(crc: float) -> bytes:
    return CHECKSUM_MARK + b"%d}" % crc


def _find_record_problem(record: MetricsRecord, previous: MetricsRecord | None) -> str:
    """Return why a record cannot follow the one before, or ""."""
    if type(record["step"]) is not int or not 0 <= record["step"] < 2**63:
        return f"step is {record['step']!r}"
    for name, value in record.items():
        if type(value) not in (int, float) or not math.isfinite(value):
            return f"{name} is {value!r}"
    if type(record.get(CHECKSUM, 0)) is not int:
        return f"{CHECKSUM} is {record[CHECKSUM]!r}"
    if record["seconds"] < (previous["seconds"] if previous else 0.0):
        return f"{record['seconds']} seconds after {previous['seconds'] if previous else 0.0}"
    if previous is None:
        return ""
    if record.keys() - {CHECKSUM} != previous.keys() - {CHECKSUM}:
        return f"it has {', '.join(record)}, and the one before {', '.join(previous)}"
    if CHECKSUM in previous and CHECKSUM not in record:
        return "it has no checksum, and the one before has"
    if record["step"] <= previous["step"]:
        return f"step {record['step']} after step {previous['step']:.0f}"
    return ""


def _parse_numbers(block: bytes, keys: tuple[str, ...]) -> Floats | None:
    """Return the finite numbers [n, K] of records as `json.dumps` writes them, or None."""
    num_lines = block.count(b"\n")
    for index, key in enumerate(keys):
        before = (("{" if index == 0 else " ") + json.dumps(key) + ": ").encode()
        if block.count(before) != num_lines:
            return None
        block = block.replace(before, b"")
    if block.count(b"}\n") != num_lines or block.count(b'"'):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # raised if a number ends too early
        try:
            numbers = np.fromstring(block.replace(b"}\n", b",").decode("latin-1"), sep=",")
        except ValueError:
            return None
    if numbers.size != num_lines * len(keys) or not np.isfinite(numbers).all():
        return None
    return numbers.reshape(num_lines, len(keys))


def load_metrics(folder: str | Path, length: int | None = None) -> list[MetricsRecord]:
    """Load the records of a run so far: step, seconds, and exploitability by policy name.

    Records of a run on rules have counts, such as `infosets`, instead of exploitabilities.

    Args:
        folder: the folder of the run, which may be running.
        length: read only this many bytes of the file.

    Raises:
        FileError: a line is damaged, or records of a run that has ended are missing. Files written
            before lines had checksums are checked for their keys and the order of steps only.
    """
    path = Path(folder) / METRICS_FILE
    content = _read_bytes(path)
    records = _parse_whole_lines(path, content[:length])
    if length is None:
        _check_ending(path, content, records)
    return records


def check_metrics(
    folder: Path, checkpoint: Path, length: int, sha256: str, last_recorded_step: int
) -> None:
    """Raise FileError unless metrics.jsonl begins with the records of a checkpoint."""
    path = folder / METRICS_FILE
    content = _read_bytes(path)[:length]
    if len(content) < length:
        raise FileError(f"{path} lacks records that {checkpoint} had")
    if sha256 not in ("", hashlib.sha256(content).hexdigest()):
        raise FileError(f"{path} has other records than {checkpoint} had")
    steps = [record["step"] for record in _parse_whole_lines(path, content)]
    if (content and not content.endswith(b"\n")) or last_recorded_step != max(steps, default=0):
        raise FileError(f"{path} has other records than {checkpoint} had")


def _check_ending(path: Path, content: bytes, records: list[MetricsRecord]) -> None:
    """Raise FileError if a run that has ended lacks records that it had written."""
    from counterplay.experiment.run_status import final_metrics_bytes, finished_at

    end, last = finished_at(path.parent), records[-1]["step"] if records else 0
    if end is not None and last < end:
        raise FileError(f"{path} is damaged: it ends at step {last}, but the run finished at {end}")
    size, complete = final_metrics_bytes(path.parent), content.rfind(b"\n") + 1
    if complete < size:
        problem = f"its last record ends at byte {complete:,}, but the run wrote {size:,} bytes"
        raise FileError(f"{path} is damaged: {problem}")


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error


def _parse_whole_lines(path: Path, content: bytes) -> list[MetricsRecord]:
    return RecordParser(str(path)).parse(content[: content.rfind(b"\n") + 1])


def policy_names(records: Iterable[MetricsRecord]) -> list[str]:
    """Return the names of the policies, or of the counts, in records, in their order."""
    return list(dict.fromkeys(key for r in records for key in r if key not in ("step", "seconds")))


class MetricSeries:
    """The records of one run as columns, which grow with the file; `refresh` reads new records.

    `epoch` changes whenever records that were read are gone, because a resumed run removes those
    after its checkpoint.
    """

    def __init__(self, folder: Path):
        self.path = folder / METRICS_FILE
        self._reset()

    def _reset(self) -> None:
        self.epoch = secrets.token_hex(6)
        self.column_names: tuple[str, ...] = ()
        self.values: Floats = np.zeros((0, 0))  # with room for more rows
        self.num_rows = 0
        self.parser = RecordParser(self.path.name)
        self.offset, self.tail = 0, b""
        self.file_id: tuple[int, int] | None = None

    @property
    def policies(self) -> tuple[str, ...]:
        """Names of the policies, or of the counts."""
        return tuple(name for name in self.column_names if name not in ("step", "seconds"))

    def column(self, name: str) -> Floats:
        """Return one column [n]."""
        return self.values[: self.num_rows, self.column_names.index(name)]

    def refresh(self) -> None:
        """Read the new records, or all of them if those read before have changed.

        Raises:
            RunError: the file cannot be read, or a line is damaged.
        """
        try:
            with open_regular(self.path) as file:
                info = os.fstat(file.fileno())
                if not self._has_only_grown(file, info):
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
        block = block[: block.rfind(b"\n") + 1]
        if block:
            self._append_block(block)

    def _has_only_grown(self, file: BinaryIO, info: os.stat_result) -> bool:
        if self.file_id != (info.st_dev, info.st_ino) or info.st_size < self.offset:
            return False
        file.seek(self.offset - len(self.tail))
        return file.read(len(self.tail)) == self.tail

    def _append_block(self, block: bytes) -> None:
        parsed = self.parser.parse_quickly(block)
        if parsed is None:
            records = self.parser.parse(block)
            names = self.column_names or tuple(records[0])
            rows = np.array([[record[name] for name in names] for record in records], float)
        else:
            names, rows = parsed
        self.column_names = names
        size, capacity = self.num_rows + len(rows), len(self.values)
        if size > capacity:
            grown = np.empty((max(size, 2 * capacity, 64), len(names)))
            if self.num_rows:
                grown[: self.num_rows] = self.values[: self.num_rows]
            self.values = grown
        self.values[self.num_rows : size] = rows
        self.num_rows = size
        self.offset += len(block)
        self.tail = (self.tail + block)[-TAIL_BYTES:]


def sample_records(path: Path, size: int) -> list[MetricsRecord]:
    """Return a few records from the first to the last, without reading the whole file.

    Single lines are checked for their keys and numbers only. A damaged or missing file gives fewer
    records, or none.

    Args:
        path: the file.
        size: its length in bytes.
    """
    by_step: dict[float, MetricsRecord] = {}
    offsets = np.unique(
        np.geomspace(1, max(size, 2), NUM_SAMPLED_RECORDS).astype(np.int64) - 1
    ).tolist()
    try:
        with open_regular(path) as file:
            for offset in offsets:
                file.seek(offset)
                block = file.read(2048)
                if offset:
                    block = block[block.find(b"\n") + 1 :] if b"\n" in block else b""
                line, end, _ = block.partition(b"\n")
                if end:
                    record = _parse_single_line(path, line)
                    by_step[record["step"]] = record
        last = read_last_record(path, size)
        if last:
            by_step[last["step"]] = last
    except (OSError, RunError):
        pass  # `MetricSeries.refresh` reports damage
    return [by_step[step] for step in sorted(by_step)]


def read_last_record(path: Path, size: int) -> MetricsRecord | None:
    """Return the last whole record of a file of a length in bytes; None without one.

    Raises:
        FileError: the line is damaged.
    """
    try:
        with open_regular(path) as file:
            file.seek(max(size - 4096, 0))
            lines = file.read().split(b"\n")[:-1]
    except OSError:
        return None
    return _parse_single_line(path, lines[-1]) if lines else None


def _parse_single_line(path: Path, line: bytes) -> MetricsRecord:
    """Return the record of a line, without its checksum, which needs the lines before."""
    body, mark, _ = line.rpartition(CHECKSUM_MARK)
    record, problem = _parse_line(body + b"}" if mark else line, None, 0)
    if problem:
        text = line[:60].decode(errors="replace")
        raise FileError(f"{path.name} is damaged: {text!r}: {problem}")
    return record
