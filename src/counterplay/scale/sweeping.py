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
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from counterplay.errors import ConfigError, GameError, RunError
from counterplay.experiment.folder import METRICS, lock, write_json
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
    suffixes,
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
        best = stand(self.folder, self.study, self.proposals).best_by_game
        for game, winner in best.items():
            if winner.steps < self.study.rungs[-1]:
                first = next(iter(self.problems.values()), "")
                raise RunError(f"{self.folder}: no proposal of {game} came to the end; {first}")
        return not self._judge({game: winner.settings for game, winner in best.items()})

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
            kept = []
            for game in dict.fromkeys(self._game(n) for n in numbers):
                own = [n for n in left if self._game(n) == game]
                if own:
                    self._tell_best(rung, own, game)
                good = [n for n in own if math.isfinite(values[n][rung])]
                kept += good[: self.study.survivors(len(own))]
            left, before = kept, rung
            if not left:
                break
        for n in numbers:
            dropped = self.study.rungs[-1] not in values[n]
            self.told.append(Told(self.proposals[n], values[n], dropped))
        return True

    def _game(self, number: int) -> str:
        return self.study.game_of(self.proposals[number])

    def _tell_best(self, rung: int, own: Sequence[int], game: str) -> None:
        """Report the best proposal of a game, the first of `own`, at a rung."""
        where = f" of {game}" if self.study.varies_game else ""
        text = f"{self._mean(own[0], rung)} with {describe(self.proposals[own[0]])}"
        self._tell(f"{rung:,} steps: {len(own)} proposals{where}, best is {own[0]}: {text}")

    def _mean(self, number: int, rung: int) -> Mean:
        places = [run_folder(self.folder, number, seed) for seed in range(self.study.seeds)]
        found = [value_at(place, rung, self.study.policy) for place in places]
        return Mean.of(math.inf if value is None else value for value in found)

    def _judge(self, winners: Mapping[str, Mapping[str, Any]]) -> bool:
        """Run each game's winner and base with unseen seeds; False if it was stopped."""
        base = self.study.game_settings()
        runs = [
            (judged_folder(self.folder, f"{role}{suffix}", seed), settings, seed)
            for suffix, game in suffixes(self.study).items()
            for role, settings in (("winner", winners[game]), ("base", base[game]))
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
    is_new, is_locked_first = not folder.exists(), not (folder / LOCK).exists()
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
    except (ConfigError, GameError):  # refused: leave the place as it was, unless runs have begun
        if is_new and not any(f.stat().st_size for f in folder.rglob(METRICS)):
            shutil.rmtree(folder, ignore_errors=True)
        elif is_locked_first and not path.exists():
            (folder / LOCK).unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)
