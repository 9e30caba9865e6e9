"""A run as a unit: brought to so many steps, wherever and however often that is tried."""

from __future__ import annotations

import json
import platform
import time
from pathlib import Path
from typing import Any

from counterplay.distributed.units import Unit
from counterplay.errors import ConfigError, RunError
from counterplay.experiment.config import load_config
from counterplay.experiment.run_folder import (
    CONFIG_FILE,
    MetricsRecord,
    RunLockedError,
    RunTakenOverError,
    load_metrics,
)
from counterplay.experiment.run_status import read_status
from counterplay.experiment.runner import new_run, open_run

FOLDER_TIMEOUT_SECONDS = 600.0  # seconds to wait for another process that has the run's folder
POLL_SECONDS = 0.2  # between two looks at it


def make_run_unit(
    folder: Path, config: dict[str, Any], max_steps: int, shared_folder: Path
) -> Unit:
    """The unit that brings a run to so many steps; `root` is a folder that everybody must see."""
    gpus = int(config.get("device") == "gpu")
    own = str(folder.resolve()), config, max_steps, str(shared_folder.resolve())
    return Unit("counterplay.distributed.run_units:advance_run", own, gpus)


def advance_run(
    folder: str, config: dict[str, Any], max_steps: int, shared_folder: str
) -> dict[str, Any]:
    """Make a run or go on with it, up to so many steps.

    Returns `{"step": ...}`, with `stopped` if somebody has asked it to, or with `problem` if the
    algorithm has come to no good: numbers that are none, which going on would not mend. What may be
    mended, such as a full disk, is raised.
    """
    if not Path(shared_folder).is_dir():
        here = platform.node()
        raise ConfigError(
            f"{here} does not see {shared_folder}; all machines need to share that folder"
        )
    place, until = Path(folder), time.monotonic() + FOLDER_TIMEOUT_SECONDS
    while True:
        try:
            result = _create_or_open_run(place, config, max_steps).advance()
            return {"step": result.step, "stopped": result.stopped}
        except RunLockedError as error:
            if time.monotonic() > until:
                who = read_status(place).process or {}
                text = f"process {who.get('pid')} on {who.get('host')}"
                raise RunError(
                    f"{error}: {text}; waited {FOLDER_TIMEOUT_SECONDS:.0f} s for it"
                ) from error
            time.sleep(POLL_SECONDS)
        except RunTakenOverError:
            raise
        except RunError as error:
            if _is_retryable(error):
                raise RunError(f"{error} (on {platform.node()})") from error
            return {"problem": str(error)}


def _create_or_open_run(folder: Path, config: dict[str, Any], max_steps: int) -> Any:
    # the driver has checked its game; this allows the same code in the run's own folder
    checked = load_config(config)
    if not folder.exists():
        try:
            return new_run(checked.with_max_steps(max_steps), folder)
        except ConfigError:
            if not folder.exists():  # somebody else was quicker
                raise
    at = last_step(load_metrics(folder))
    return open_run(folder, max_steps=max(at, max_steps))


def last_step(records: list[MetricsRecord]) -> int:
    """How far records go."""
    return int(records[-1]["step"]) if records else 0


def exploitability_at(folder: Path, step: int, policy: str | None = None) -> float | None:
    """The exploitability that a run has recorded at this step; None if it has not come so far.

    A run that has ended before, because nothing was left to do, has that of its end.
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
    """Whether the run has ended before it had to: more steps would change nothing."""
    found = read_status(folder)
    if found.state != "finished" or found.process is None:
        return False
    config = json.loads((folder / CONFIG_FILE).read_bytes())
    return int(found.process["ended"]["step"]) < int(config["spec"]["max_steps"])


def _is_retryable(error: BaseException | None) -> bool:
    """Whether something outside of the algorithm was wrong."""
    while error is not None:
        if isinstance(error, OSError):
            return True
        error = error.__cause__
    return False
