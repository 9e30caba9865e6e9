"""Runs as units: a unit advances a run to a step, on any machine and after any failure."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypedDict

from counterplay.distributed.units import POLL_SECONDS, Executor, Stop, Unit
from counterplay.errors import ConfigError, RunError
from counterplay.experiment.config import JsonObject, load_config
from counterplay.experiment.metrics import MetricsRecord, load_metrics
from counterplay.experiment.run_folder import CONFIG_FILE, RunLockedError, RunTakenOverError
from counterplay.experiment.run_status import STOP_REQUEST, read_status, send_request
from counterplay.experiment.runner import Run, new_run, open_run

FOLDER_TIMEOUT_SECONDS = 600.0  # to wait for another process that runs the same run


class AdvanceResult(TypedDict, total=False):
    """The result of advancing a run."""

    step: int  # that it has reached
    stopped: bool  # on request, before that
    problem: str  # why the algorithm cannot continue


def make_run_unit(
    folder: Path,
    config: JsonObject,
    max_steps: int,
    shared_folder: Path,
    function: str = "counterplay.distributed.run_units:advance_run",
) -> Unit:
    """Return the unit that advances a run to a step.

    Args:
        folder: the folder of the run.
        config: its config.
        max_steps: the step to reach.
        shared_folder: a folder that all machines must share.
        function: `advance_run`, or a function with the same arguments.
    """
    num_gpus = int(config.get("device") == "gpu")
    arguments = str(folder.resolve()), config, max_steps, str(shared_folder.resolve())
    return Unit(function, arguments, num_gpus)


def advance_run(
    folder: str, config: JsonObject, max_steps: int, shared_folder: str
) -> AdvanceResult:
    """Create a run or resume it, and advance it to a step.

    Returns:
        The step and whether it was stopped on request; or the problem of an algorithm that
        diverged (NaN or inf), where retrying cannot help.

    Raises:
        RunError: an error that may be temporary, such as a full disk.
        ConfigError: this machine does not see the shared folder.
    """
    if not Path(shared_folder).is_dir():
        raise ConfigError(
            f"{platform.node()} does not see {shared_folder}; all machines must share that folder"
        )
    path, deadline = Path(folder), time.monotonic() + FOLDER_TIMEOUT_SECONDS
    while True:
        try:
            result = _create_or_open_run(path, config, max_steps).advance()
            return {"step": result.step, "stopped": result.stopped}
        except RunLockedError as error:
            if time.monotonic() > deadline:
                process = read_status(path).process or {}
                owner = f"process {process.get('pid')} on {process.get('host')}"
                raise RunError(
                    f"{error}: {owner}; waited {FOLDER_TIMEOUT_SECONDS:.0f} s for it"
                ) from error
            time.sleep(POLL_SECONDS)
        except RunTakenOverError:
            raise
        except RunError as error:
            if _is_retryable(error):
                raise RunError(f"{error} (on {platform.node()})") from error
            return {"problem": str(error)}


def _create_or_open_run(folder: Path, config: JsonObject, max_steps: int) -> Run:
    # the sender has checked the game; loading it here allows its code in the run's folder, too
    checked = load_config(config)
    if not folder.exists():
        try:
            return new_run(checked.with_max_steps(max_steps), folder)
        except ConfigError:
            if not folder.exists():  # else another process has just created it
                raise
    return open_run(folder, max_steps=max(last_step(load_metrics(folder)), max_steps))


def map_run_units(
    executor: Executor,
    units: Sequence[Unit],
    folders: Sequence[Path],
    is_done: Callable[[Path], bool],
    report: Callable[[int, AdvanceResult], None],
    stop: Stop,
) -> bool:
    """Run units that advance runs, and return False if one was stopped before its goal.

    Args:
        folders: the folder of each unit's run.
        is_done: whether the run of a folder has reached its goal.
        report: called with every result.
        stop: called several times a second; True lets runs write a checkpoint and end.
    """
    is_stopped = False

    def handle_result(number: int, result: AdvanceResult) -> None:
        nonlocal is_stopped
        is_stopped = is_stopped or bool(result.get("stopped"))
        report(number, result)

    def should_stop() -> bool:
        if not (stop() or is_stopped):
            return False
        for folder in folders:  # repeatedly, because a run that is just starting removes requests
            if folder.exists() and not is_done(folder):
                send_request(folder, STOP_REQUEST)
        return True

    results = executor.map(units, handle_result, should_stop)
    return not is_stopped and None not in results


def last_step(records: list[MetricsRecord]) -> int:
    """Return the step of the last record, or 0."""
    return int(records[-1]["step"]) if records else 0


def exploitability_at(folder: Path, step: int, policy: str | None = None) -> float | None:
    """Return the exploitability that a run has recorded at a step, or None before that step.

    For a run that finished earlier, because more steps would change nothing, it is that of its end.

    Args:
        policy: the policy; by default that with the guarantee.
    """
    if not folder.exists():
        return None
    records = [record for record in load_metrics(folder) if record["step"] <= step]
    if not records or (records[-1]["step"] < step and not _has_ended_early(folder)):
        return None
    names = [name for name in records[-1] if name not in ("step", "seconds")]
    if policy is not None and policy not in names:
        raise ConfigError(f"policy is {policy!r}, but {folder} has {', '.join(names)}")
    return float(records[-1][policy or names[0]])


def _has_ended_early(folder: Path) -> bool:
    """Return True if a run finished before `max_steps`."""
    status = read_status(folder)
    if status.state != "finished" or status.process is None:
        return False
    config = json.loads((folder / CONFIG_FILE).read_bytes())
    return int(status.process["ended"]["step"]) < int(config["spec"]["max_steps"])


def _is_retryable(error: BaseException | None) -> bool:
    """Return True if an error was caused by the operating system, not by the algorithm."""
    while error is not None:
        if isinstance(error, OSError):
            return True
        error = error.__cause__
    return False
