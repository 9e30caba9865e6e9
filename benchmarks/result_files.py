"""Read and write the measured curves of `benchmarks/results/`, one file per experiment family.

A family such as `deep_regret` is a file `results/deep_regret.jsonl` with one line per run:

    {"run": "sd_cfr_leduc", "algorithm": "sd_cfr", "game": "leduc_poker", "seed": 0,
     "config": {...}, "curve": {"step": [20, 40], "average": [0.9, 0.5], "seconds": [1.2, 2.4]}}

`save_run` replaces the line of the same run and seed, so a script may save after every evaluation,
and `find_run` returns what an interrupted script has saved. Families without curves, such as
`openspiel_games`, have free rows: `load_rows` and `append_row`.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RESULTS_FOLDER = Path(__file__).resolve().parent / "results"
Record = dict[str, Any]  # one evaluation of a run, such as {"step": 20, "average": 0.5}


@dataclass(frozen=True)
class Run:
    """One algorithm on one game with one seed, and its evaluations in order."""

    run: str  # name of the config; equal for all seeds
    algorithm: str  # its name, or its spec with hyper-parameters
    game: str
    seed: int
    records: list[Record]
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def last(self) -> Record:
        """The last evaluation."""
        return self.records[-1]

    def column(self, name: str) -> list[Any]:
        """One quantity over all evaluations."""
        return [record[name] for record in self.records]

    @classmethod
    def from_line(cls, line: str) -> Run:
        """Parse a line of a family's file."""
        fields = json.loads(line)
        curve = fields.pop("curve")
        rows = zip(*curve.values(), strict=True)
        records = [dict(zip(curve, row, strict=True)) for row in rows]
        return cls(records=records, **fields)

    def to_line(self) -> str:
        """Return the run as a line of its family's file."""
        names = list(self.records[0]) if self.records else []
        fields: Record = {"run": self.run, "algorithm": self.algorithm, "game": self.game}
        fields["seed"] = self.seed
        if self.config:
            fields["config"] = self.config
        fields["curve"] = {name: self.column(name) for name in names}
        return json.dumps(fields)


def family_path(family: str) -> Path:
    """Return the file of a family."""
    return RESULTS_FOLDER / f"{family}.jsonl"


def load_family(family: str) -> list[Run]:
    """Return all runs of a family, sorted by name and seed."""
    runs = [Run.from_line(line) for line in _read_lines(family)]
    return sorted(runs, key=lambda run: (run.run, run.seed))


def group_by_name(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Return the seeds of every run by its name."""
    groups: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.run].append(run)
    return dict(groups)


def find_run(family: str, name: str, seed: int) -> Run | None:
    """Return a saved run, or None."""
    runs = (run for run in load_family(family) if (run.run, run.seed) == (name, seed))
    return next(runs, None)


def save_run(family: str, run: Run) -> None:
    """Write a run to its family's file, in place of an earlier one of the same name and seed."""
    with _lock_results():
        others = [
            other for other in load_family(family) if (other.run, other.seed) != (run.run, run.seed)
        ]
        runs = sorted([*others, run], key=lambda one: (one.run, one.seed))
        text = "".join(f"{one.to_line()}\n" for one in runs)
        path = family_path(family)
        part = path.with_suffix(".part")
        part.write_text(text)
        part.replace(path)


def load_rows(family: str) -> list[Record]:
    """Return the rows of a family without curves, in the order they were written."""
    return [json.loads(line) for line in _read_lines(family)]


def append_row(family: str, row: Record) -> None:
    """Add a row to a family without curves."""
    with _lock_results(), family_path(family).open("a") as file:
        file.write(json.dumps(row) + "\n")


def replace_row(family: str, row: Record, key: Sequence[str]) -> None:
    """Add a row in place of those with the same values in the columns `key`."""
    with _lock_results():
        rows = [one for one in load_rows(family) if any(one[name] != row[name] for name in key)]
        path = family_path(family)
        part = path.with_suffix(".part")
        part.write_text("".join(json.dumps(one) + "\n" for one in [*rows, row]))
        part.replace(path)


def _read_lines(family: str) -> list[str]:
    path = family_path(family)
    return path.read_text().splitlines() if path.exists() else []


@contextmanager
def _lock_results() -> Iterator[None]:
    """Hold a lock on the folder: several scripts may write to one family at the same time."""
    handle = os.open(RESULTS_FOLDER, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
