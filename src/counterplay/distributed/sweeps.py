"""Search for settings: batches of proposals go through rungs, and the winner is judged.

    result = sweep("study.json")           # the same call continues after a crash
    result.best.settings, result.proposals, result.judgement_by_config

Every run has an ordinary run folder. At a rung all runs have checkpoints; the worse proposals stop
there and the others continue. All decisions depend on these folders only, so that a restarted
search gives the same result, bit for bit.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from counterplay.core.archive import sync_folder
from counterplay.distributed.executor import open_executor
from counterplay.distributed.proposals import TrialResult, check_optuna_available, propose_settings
from counterplay.distributed.ranking import (
    PROPOSALS_FILE,
    STUDY_FILE,
    MeanInterval,
    StudyRanking,
    describe_settings,
    game_by_suffix,
    judgement_run_folder,
    judgement_seeds,
    rank_proposals,
    read_proposals,
    search_run_folder,
)
from counterplay.distributed.run_units import (
    AdvanceResult,
    exploitability_at,
    make_run_unit,
    map_run_units,
)
from counterplay.distributed.study import Settings, Study, load_study
from counterplay.distributed.units import Executor
from counterplay.errors import ConfigError, GameError, RunError
from counterplay.experiment.config import JsonObject
from counterplay.experiment.run_folder import METRICS_FILE, try_lock, write_json

LOCK_FILE = "lock"


@dataclass(frozen=True)
class SweepProgress:
    """The progress of a study."""

    steps: int  # of all runs that have reached their rung
    total_steps: int  # of the whole study
    message: str = ""  # for the user, such as the best proposal at a rung


@dataclass
class Sweep:
    """A running study."""

    study: Study
    folder: Path
    executor: Executor
    report: Callable[[SweepProgress], None]
    stop: Callable[[], bool]
    proposals: list[JsonObject] = field(default_factory=list)
    problem_by_run: dict[Path, str] = field(default_factory=dict)
    trials: list[TrialResult] = field(default_factory=list)
    steps: int = 0

    def run(self) -> bool:
        """Search, judge the winners, and return True if it was stopped before the end."""
        self.proposals = read_proposals(self.folder, self.study)
        for numbers in self.study.batches():
            if not self._run_batch(numbers):
                return True
        best = rank_proposals(self.folder, self.study, self.proposals).best_by_game
        for game, winner in best.items():
            if winner.last_rung < self.study.rungs[-1]:
                first = next(iter(self.problem_by_run.values()), "")
                raise RunError(f"{self.folder}: no proposal of {game} reached the end; {first}")
        return not self._judge_winner({game: winner.settings for game, winner in best.items()})

    def _run_batch(self, numbers: range) -> bool:
        """Run a batch through the rungs; return False if it was stopped."""
        for number in numbers[max(0, len(self.proposals) - numbers[0]) :]:
            self.proposals.append(propose_settings(self.study, number, self.trials))
        write_json(self.folder / PROPOSALS_FILE, self.proposals)
        active, values = list(numbers), {number: dict[int, float]() for number in numbers}
        last_rung = 0
        for rung in self.study.rungs:
            runs = [
                (search_run_folder(self.folder, n, seed), self.proposals[n], seed)
                for n in active
                for seed in range(self.study.seeds)
            ]
            if not self._advance_runs(runs, rung, rung - last_rung):
                return False
            for n in active:
                values[n][rung] = self._mean_at_rung(n, rung).value
            active.sort(key=lambda n: (values[n][rung], n))
            survivors = []
            for game in dict.fromkeys(self._game(n) for n in numbers):
                candidates = [n for n in active if self._game(n) == game]
                if candidates:
                    self._report_best(rung, candidates, game)
                finite = [n for n in candidates if math.isfinite(values[n][rung])]
                survivors += finite[: self.study.num_survivors(len(candidates))]
            active, last_rung = survivors, rung
            if not active:
                break
        for n in numbers:
            is_pruned = self.study.rungs[-1] not in values[n]
            self.trials.append(TrialResult(self.proposals[n], values[n], is_pruned))
        return True

    def _game(self, number: int) -> str:
        return self.study.game_of(self.proposals[number])

    def _report_best(self, rung: int, candidates: Sequence[int], game: str) -> None:
        """Report the best proposal of a game, the first of the candidates, at a rung."""
        of_game = f" of {game}" if self.study.varies_game else ""
        best = candidates[0]
        text = f"{self._mean_at_rung(best, rung)} with {describe_settings(self.proposals[best])}"
        self._report_progress(
            f"{rung:,} steps: {len(candidates)} proposals{of_game}, best is {best}: {text}"
        )

    def _mean_at_rung(self, number: int, rung: int) -> MeanInterval:
        """Return the mean of a proposal at a rung, infinite if a seed has not reached it."""
        runs = [search_run_folder(self.folder, number, seed) for seed in range(self.study.seeds)]
        values = [exploitability_at(run, rung, self.study.policy) for run in runs]
        return MeanInterval.from_values(math.inf if value is None else value for value in values)

    def _judge_winner(self, winners: Mapping[str, Settings]) -> bool:
        """Run each game's winner and base with unseen seeds; return False if it was stopped."""
        base = self.study.game_settings()
        runs = [
            (judgement_run_folder(self.folder, f"{role}{suffix}", seed), settings, seed)
            for suffix, game in game_by_suffix(self.study).items()
            for role, settings in (("winner", winners[game]), ("base", base[game]))
            for seed in judgement_seeds(self.study)
        ]
        end = self.study.rungs[-1]
        if not self._advance_runs(runs, end, end):
            return False
        ranking = rank_proposals(self.folder, self.study, self.proposals)
        for name, mean in ranking.judgement_by_config.items():
            self._report_progress(f"the {name} on {mean.num_seeds} unseen seeds: {mean}")
        return True

    def _advance_runs(
        self, runs: Sequence[tuple[Path, Settings, int]], rung: int, new_steps: int
    ) -> bool:
        """Advance runs to a rung; return False if they were stopped before.

        Args:
            runs: folder, settings and seed of each run.
            rung: the step to reach.
            new_steps: steps since the last rung, for the progress.
        """
        waiting = []
        for folder, settings, seed in runs:
            if exploitability_at(folder, rung, self.study.policy) is None:
                waiting.append((folder, self.study.run_config(settings, seed).to_json()))
            else:
                self.steps += new_steps
        units = [make_run_unit(folder, config, rung, self.folder) for folder, config in waiting]
        self._report_progress("")

        def handle_result(number: int, result: AdvanceResult) -> None:
            if problem := result.get("problem"):
                self.problem_by_run[waiting[number][0]] = problem
                self._report_progress(f"failed: {problem}")
            self.steps += 0 if result.get("stopped") else new_steps
            self._report_progress("")

        return map_run_units(
            self.executor,
            units,
            [folder for folder, _ in waiting],
            lambda folder: exploitability_at(folder, rung) is not None,
            handle_result,
            self.stop,
        )

    def _report_progress(self, message: str) -> None:
        self.report(SweepProgress(self.steps, self.study.total_steps(), message))


@dataclass(frozen=True)
class SweepResult(StudyRanking):
    """The result of a sweep: the ranking of its proposals."""

    stopped: bool = False  # whether it was stopped before its end


def sweep(
    study: str | Path | Settings,
    on: str | Executor = "local",
    *,
    runs_folder: str | Path = "runs",
    num_processes: int | None = None,
    report: Callable[[SweepProgress], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> SweepResult:
    """Search for settings as a study describes; a study that has begun is continued.

    Args:
        study: a JSON file, or its content.
        on: "local" for processes of this machine, "auto" or "host:port" for a Ray cluster, or an
            executor.
        runs_folder: the folder of the study is `runs_folder/<its name>`.
        num_processes: number of local processes; by default one per core.
        report: called with the progress of the whole study.
        stop: called several times a second; True lets runs write checkpoints and ends.

    Raises:
        ConfigError: the study is wrong, or its folder contains another one.
        RunError: no proposal of a game has reached the end.
    """
    checked = load_study(study)
    check_optuna_available(checked)
    report = report or (lambda progress: None)
    notify = partial(_report_message, report)
    with open_executor(on, num_processes, notify) as executor:
        folder = Path(runs_folder) / checked.name
        with _lock_study_folder(folder, checked):
            search = Sweep(checked, folder, executor, report, stop or (lambda: False))
            stopped = search.run()
            ranking = rank_proposals(folder, checked, search.proposals)
    return SweepResult(folder, checked, ranking.proposals, ranking.judgement_by_config, stopped)


def _report_message(report: Callable[[SweepProgress], None], message: str) -> None:
    report(SweepProgress(0, 0, message))


@contextmanager
def _lock_study_folder(folder: Path, study: Study) -> Iterator[None]:
    """Create and lock the folder of a study during the `with` block.

    Raises:
        ConfigError: the folder contains something else.
        RunError: another process has locked it, or it cannot be written.
    """
    path = folder / STUDY_FILE
    is_new, is_locked_first = not folder.exists(), not (folder / LOCK_FILE).exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise RunError(f"cannot write {folder}: {error.strerror or error}") from error
    try:
        if try_lock(handle) is False:
            raise RunError(f"another process is running {folder} right now")
        if path.exists():
            stored, expected = load_study(path).to_json(), study.to_json()
            differing = [key for key in expected if stored[key] != expected[key]]
            if differing:
                raise ConfigError(
                    f"{folder} contains another study: {', '.join(differing)} differ; "
                    "choose another name"
                )
        elif any(child.name != LOCK_FILE for child in folder.iterdir()):
            raise ConfigError(f"{folder} exists already and is not a study; choose another name")
        else:
            write_json(path, study.to_json())
            sync_folder(folder)
        yield
    except (ConfigError, GameError):  # remove what was created, unless runs have begun
        if is_new and not any(f.stat().st_size for f in folder.rglob(METRICS_FILE)):
            shutil.rmtree(folder, ignore_errors=True)
        elif is_locked_first and not path.exists():
            (folder / LOCK_FILE).unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)
