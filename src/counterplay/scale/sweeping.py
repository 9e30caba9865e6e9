"""Search settings: proposals in batches, each batch through rungs, the winner judged anew.

    result = sweep("study.json")           # again after any crash: goes on
    result.best.settings, result.table, result.judged

Every run is a folder like any other. At a rung the runs have checkpoints, the worse proposals are
left where they are, and the others go on. All that decides about the future is in those folders,
so that starting again comes to the same, bit for bit.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from counterplay.errors import ConfigError, RunError
from counterplay.experiment.folder import lock, write_json
from counterplay.experiment.process import STOP, ask
from counterplay.files import sync_folder
from counterplay.scale.choosing import executor_on
from counterplay.scale.proposing import Told, check_proposals, propose
from counterplay.scale.running import run_unit, value_at
from counterplay.scale.standings import (
    PROPOSALS,
    STUDY,
    Mean,
    Standings,
    describe,
    judged_folder,
    read_proposals,
    run_folder,
    stand,
    unseen,
)
from counterplay.scale.study import Study, load_study
from counterplay.scale.units import Executor

LOCK = "lock"


@dataclass(frozen=True)
class SweepProgress:
    """How far a study has come."""

    steps: int  # of all runs that have reached their rung
    total: int  # that the study will take
    line: str = ""  # something to tell, such as the best at a rung


@dataclass
class Sweep:
    """A study under way in its folder."""

    study: Study
    folder: Path
    executor: Executor
    report: Callable[[SweepProgress], None]
    stop: Callable[[], bool]
    proposals: list[dict[str, Any]] = field(default_factory=list)
    problems: dict[Path, str] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    steps: int = 0

    def run(self) -> bool:
        """Search and judge; whether it was stopped before the end."""
        self.proposals = read_proposals(self.folder, self.study)
        for numbers in self.study.batches():
            if not self._batch(numbers):
                return True
        found = stand(self.folder, self.study, self.proposals)
        if found.best.steps < self.study.rungs[-1]:
            first = next(iter(self.problems.values()), "")
            raise RunError(f"{self.folder}: no proposal came to the end; {first}")
        return not self._judge(found.best.settings)

    def _batch(self, numbers: range) -> bool:
        """Lead a batch through the rungs; False if it was stopped."""
        for number in numbers[max(0, len(self.proposals) - numbers[0]) :]:
            self.proposals.append(propose(self.study, number, self.told))
        write_json(self.folder / PROPOSALS, self.proposals)
        left, values = list(numbers), {number: dict[int, float]() for number in numbers}
        before = 0
        for rung in self.study.rungs:
            runs = [
                (run_folder(self.folder, n, seed), self.proposals[n], seed)
                for n in left
                for seed in range(self.study.seeds)
            ]
            if not self._advance(runs, rung, rung - before):
                return False
            for n in left:
                values[n][rung] = self._mean(n, rung).value
            left.sort(key=lambda n: (values[n][rung], n))
            best = left[0]
            text = f"{self._mean(best, rung)} with {describe(self.proposals[best])}"
            self._tell(f"{rung:,} steps: {len(left)} proposals, best is {best}: {text}")
            good = [n for n in left if math.isfinite(values[n][rung])]
            left, before = good[: self.study.survivors(len(left))], rung
            if not left:
                break
        for n in numbers:
            dropped = self.study.rungs[-1] not in values[n]
            self.told.append(Told(self.proposals[n], values[n], dropped))
        return True

    def _mean(self, number: int, rung: int) -> Mean:
        places = [run_folder(self.folder, number, seed) for seed in range(self.study.seeds)]
        found = [value_at(place, rung, self.study.policy) for place in places]
        return Mean.of(math.inf if value is None else value for value in found)

    def _judge(self, settings: Mapping[str, Any]) -> bool:
        """Run the winner and the base with seeds that were not seen; False if it was stopped."""
        runs = [
            (judged_folder(self.folder, who, seed), given, seed)
            for who, given in (("winner", settings), ("base", {}))
            for seed in unseen(self.study)
        ]
        end = self.study.rungs[-1]
        if not self._advance(runs, end, end):
            return False
        for who, mean in stand(self.folder, self.study, self.proposals).judged.items():
            self._tell(f"the {who} on {mean.seeds} unseen seeds: {mean}")
        return True

    def _advance(
        self, runs: Sequence[tuple[Path, Mapping[str, Any], int]], rung: int, more: int
    ) -> bool:
        """Bring runs to a rung; False if they were stopped before."""
        todo = []
        for place, settings, seed in runs:
            if value_at(place, rung, self.study.policy) is None:
                todo.append((place, self.study.config(settings, seed).to_json()))
            else:
                self.steps += more
        units = [run_unit(place, config, rung, self.folder) for place, config in todo]
        self._tell("")
        stopped = False

        def note(number: int, result: dict[str, Any]) -> None:
            nonlocal stopped
            if result.get("problem"):
                self.problems[todo[number][0]] = result["problem"]
                self._tell(f"failed: {result['problem']}")
            stopped = stopped or bool(result.get("stopped"))
            self.steps += 0 if result.get("stopped") else more
            self._tell("")

        def asked() -> bool:
            if not (self.stop() or stopped):
                return False
            for place, _ in todo:  # again and again: a run that is just beginning hears it later
                if place.exists() and value_at(place, rung) is None:
                    ask(place, STOP)
            return True

        results = self.executor.map(units, note, asked)
        return not stopped and None not in results

    def _tell(self, line: str) -> None:
        self.report(SweepProgress(self.steps, self.study.steps(), line))


@dataclass(frozen=True)
class SweepResult(Standings):
    """What a study has come to."""

    stopped: bool = False  # before its end


def sweep(
    study: str | Path | Mapping[str, Any],
    on: str | Executor = "local",
    *,
    runs: str | Path = "runs",
    processes: int | None = None,
    report: Callable[[SweepProgress], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> SweepResult:
    """Search settings as a study says; in the folder of one that was begun, go on with it.

    Args:
        study: a JSON file, or what one would hold.
        on: `local`, for processes of this machine; `auto` or `host:port`, for a Ray cluster;
            or an executor that is there already.
        runs: the study lives in `runs/<its name>`.
        processes: how many runs at once on this machine; as many as there are cores.
        report: called with the progress of the whole study.
        stop: asked several times a second; True lets runs write checkpoints and ends.
    """
    checked = load_study(study)
    check_proposals(checked)
    tell = report or (lambda progress: None)
    with executor_on(on, processes, lambda line: tell(SweepProgress(0, 0, line))) as executor:
        folder = Path(runs) / checked.name
        with _own(folder, checked):
            never: Callable[[], bool] = lambda: False  # noqa: E731
            under_way = Sweep(checked, folder, executor, tell, stop or never)
            stopped = under_way.run()
            found = stand(folder, checked, under_way.proposals)
    return SweepResult(found.folder, checked, found.table, found.judged, stopped)


@contextmanager
def _own(folder: Path, study: Study) -> Iterator[None]:
    """Inside, the folder is this study's, and this process's alone."""
    path = folder / STUDY
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise RunError(f"cannot write {folder}: {error.strerror or error}") from error
    try:
        if lock(handle) is False:
            raise RunError(f"another process is at work on {folder} right now")
        if path.exists():
            found, wanted = load_study(path).to_json(), study.to_json()
            other = [key for key in wanted if found[key] != wanted[key]]
            if other:
                raise ConfigError(
                    f"{folder} holds another study: {', '.join(other)} differ; choose another name"
                )
        elif any(child.name != LOCK for child in folder.iterdir()):
            raise ConfigError(f"{folder} exists already and holds no study; choose another name")
        else:
            write_json(path, study.to_json())
            sync_folder(folder)
        yield
    finally:
        os.close(handle)
