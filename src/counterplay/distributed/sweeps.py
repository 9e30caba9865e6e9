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

from counterplay.core.archive import sync_folder
from counterplay.distributed.executor import open_executor
from counterplay.distributed.proposals import TrialResult, check_optuna_available, propose_settings
from counterplay.distributed.ranking import (
    PROPOSALS_FILE,
    STUDY_FILE,
    MeanInterval,
    StudyRanking,
    describe_settings,
    judgement_run_folder,
    judgement_seeds,
    rank_proposals,
    read_proposals,
    search_run_folder,
    suffixes,
)
from counterplay.distributed.run_units import exploitability_at, make_run_unit
from counterplay.distributed.study import Study, load_study
from counterplay.distributed.units import Executor
from counterplay.errors import ConfigError, GameError, RunError
from counterplay.experiment.run_folder import METRICS_FILE, try_lock, write_json
from counterplay.experiment.run_status import STOP_REQUEST, send_request

LOCK_FILE = "lock"


@dataclass(frozen=True)
class SweepProgress:
    """How far a study has come."""

    steps: int  # of all runs that have reached their rung
    total_steps: int  # that the study will take
    message: str = ""  # something to tell, such as the best at a rung


@dataclass
class Sweep:
    """A study under way in its folder."""

    study: Study
    folder: Path
    executor: Executor
    report: Callable[[SweepProgress], None]
    stop: Callable[[], bool]
    proposals: list[dict[str, Any]] = field(default_factory=list)
    problem_by_run: dict[Path, str] = field(default_factory=dict)
    trials: list[TrialResult] = field(default_factory=list)
    steps: int = 0

    def run(self) -> bool:
        """Search and judge; whether it was stopped before the end."""
        self.proposals = read_proposals(self.folder, self.study)
        for numbers in self.study.batches():
            if not self._run_batch(numbers):
                return True
        best = rank_proposals(self.folder, self.study, self.proposals).best_by_game
        for game, winner in best.items():
            if winner.last_rung < self.study.rungs[-1]:
                first = next(iter(self.problem_by_run.values()), "")
                raise RunError(f"{self.folder}: no proposal of {game} came to the end; {first}")
        return not self._judge_winner({game: winner.settings for game, winner in best.items()})

    def _run_batch(self, numbers: range) -> bool:
        """Lead a batch through the rungs; False if it was stopped."""
        for number in numbers[max(0, len(self.proposals) - numbers[0]) :]:
            self.proposals.append(propose_settings(self.study, number, self.trials))
        write_json(self.folder / PROPOSALS_FILE, self.proposals)
        left, values = list(numbers), {number: dict[int, float]() for number in numbers}
        before = 0
        for rung in self.study.rungs:
            runs = [
                (search_run_folder(self.folder, n, seed), self.proposals[n], seed)
                for n in left
                for seed in range(self.study.seeds)
            ]
            if not self._advance_runs(runs, rung, rung - before):
                return False
            for n in left:
                values[n][rung] = self._mean_at_rung(n, rung).value
            left.sort(key=lambda n: (values[n][rung], n))
            kept = []
            for game in dict.fromkeys(self._game(n) for n in numbers):
                own = [n for n in left if self._game(n) == game]
                if own:
                    self._tell_best(rung, own, game)
                good = [n for n in own if math.isfinite(values[n][rung])]
                kept += good[: self.study.num_survivors(len(own))]
            left, before = kept, rung
            if not left:
                break
        for n in numbers:
            dropped = self.study.rungs[-1] not in values[n]
            self.trials.append(TrialResult(self.proposals[n], values[n], dropped))
        return True

    def _game(self, number: int) -> str:
        return self.study.game_of(self.proposals[number])

    def _tell_best(self, rung: int, own: Sequence[int], game: str) -> None:
        """Report the best proposal of a game, the first of `own`, at a rung."""
        where = f" of {game}" if self.study.varies_game else ""
        text = (
            f"{self._mean_at_rung(own[0], rung)} with {describe_settings(self.proposals[own[0]])}"
        )
        self._report_progress(
            f"{rung:,} steps: {len(own)} proposals{where}, best is {own[0]}: {text}"
        )

    def _mean_at_rung(self, number: int, rung: int) -> MeanInterval:
        places = [search_run_folder(self.folder, number, seed) for seed in range(self.study.seeds)]
        found = [exploitability_at(place, rung, self.study.policy) for place in places]
        return MeanInterval.from_values(math.inf if value is None else value for value in found)

    def _judge_winner(self, winners: Mapping[str, Mapping[str, Any]]) -> bool:
        """Run each game's winner and base with unseen seeds; False if it was stopped."""
        base = self.study.game_settings()
        runs = [
            (judgement_run_folder(self.folder, f"{role}{suffix}", seed), settings, seed)
            for suffix, game in suffixes(self.study).items()
            for role, settings in (("winner", winners[game]), ("base", base[game]))
            for seed in judgement_seeds(self.study)
        ]
        end = self.study.rungs[-1]
        if not self._advance_runs(runs, end, end):
            return False
        for who, mean in rank_proposals(
            self.folder, self.study, self.proposals
        ).judgement_by_config.items():
            self._report_progress(f"the {who} on {mean.num_seeds} unseen seeds: {mean}")
        return True

    def _advance_runs(
        self, runs: Sequence[tuple[Path, Mapping[str, Any], int]], rung: int, new_steps: int
    ) -> bool:
        """Bring runs to a rung; False if they were stopped before."""
        todo = []
        for place, settings, seed in runs:
            if exploitability_at(place, rung, self.study.policy) is None:
                todo.append((place, self.study.run_config(settings, seed).to_json()))
            else:
                self.steps += new_steps
        units = [make_run_unit(place, config, rung, self.folder) for place, config in todo]
        self._report_progress("")
        stopped = False

        def handle_result(number: int, result: dict[str, Any]) -> None:
            nonlocal stopped
            if result.get("problem"):
                self.problem_by_run[todo[number][0]] = result["problem"]
                self._report_progress(f"failed: {result['problem']}")
            stopped = stopped or bool(result.get("stopped"))
            self.steps += 0 if result.get("stopped") else new_steps
            self._report_progress("")

        def should_stop() -> bool:
            if not (self.stop() or stopped):
                return False
            for place, _ in todo:  # again and again: a run that is just beginning hears it later
                if place.exists() and exploitability_at(place, rung) is None:
                    send_request(place, STOP_REQUEST)
            return True

        results = self.executor.map(units, handle_result, should_stop)
        return not stopped and None not in results

    def _report_progress(self, message: str) -> None:
        self.report(SweepProgress(self.steps, self.study.total_steps(), message))


@dataclass(frozen=True)
class SweepResult(StudyRanking):
    """What a study has come to."""

    stopped: bool = False  # before its end


def sweep(
    study: str | Path | Mapping[str, Any],
    on: str | Executor = "local",
    *,
    runs_folder: str | Path = "runs",
    num_processes: int | None = None,
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
    check_optuna_available(checked)
    tell = report or (lambda progress: None)
    with open_executor(on, num_processes, lambda line: tell(SweepProgress(0, 0, line))) as executor:
        folder = Path(runs_folder) / checked.name
        with _lock_study_folder(folder, checked):
            never: Callable[[], bool] = lambda: False  # noqa: E731
            under_way = Sweep(checked, folder, executor, tell, stop or never)
            stopped = under_way.run()
            found = rank_proposals(folder, checked, under_way.proposals)
    return SweepResult(found.folder, checked, found.proposals, found.judgement_by_config, stopped)


@contextmanager
def _lock_study_folder(folder: Path, study: Study) -> Iterator[None]:
    """Inside, the folder is this study's, and this process's alone."""
    path = folder / STUDY_FILE
    is_new, is_locked_first = not folder.exists(), not (folder / LOCK_FILE).exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise RunError(f"cannot write {folder}: {error.strerror or error}") from error
    try:
        if try_lock(handle) is False:
            raise RunError(f"another process is at work on {folder} right now")
        if path.exists():
            found, wanted = load_study(path).to_json(), study.to_json()
            other = [key for key in wanted if found[key] != wanted[key]]
            if other:
                raise ConfigError(
                    f"{folder} holds another study: {', '.join(other)} differ; choose another name"
                )
        elif any(child.name != LOCK_FILE for child in folder.iterdir()):
            raise ConfigError(f"{folder} exists already and holds no study; choose another name")
        else:
            write_json(path, study.to_json())
            sync_folder(folder)
        yield
    except (ConfigError, GameError):  # refused: leave the place as it was, unless runs have begun
        if is_new and not any(f.stat().st_size for f in folder.rglob(METRICS_FILE)):
            shutil.rmtree(folder, ignore_errors=True)
        elif is_locked_first and not path.exists():
            (folder / LOCK_FILE).unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)
