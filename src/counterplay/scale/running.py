"""A run as a unit: brought to so many steps, wherever and however often that is tried."""

from __future__ import annotations

import json
import platform
import time
from pathlib import Path
from typing import Any

from counterplay.errors import ConfigError, RunError
from counterplay.experiment.config import load_config
from counterplay.experiment.folder import CONFIG, BusyError, FencedError, Record, load_metrics
from counterplay.experiment.process import status
from counterplay.experiment.running import new_run, open_run
from counterplay.scale.units import Unit

PATIENCE = 600.0  # seconds to wait for another process that has the run's folder
MOMENT = 0.2  # between two looks at it


def run_unit(folder: Path, config: dict[str, Any], steps: int, root: Path) -> Unit:
    """The unit that brings a run to so many steps; `root` is a folder that everybody must see."""
    gpus = int(config.get("device") == "gpu")
    own = str(folder.resolve()), config, steps, str(root.resolve())
    return Unit("counterplay.scale.running:advance", own, gpus)


def advance(folder: str, config: dict[str, Any], steps: int, root: str) -> dict[str, Any]:
    """Make a run or go on with it, up to so many steps.

    Returns `{"step": ...}`, with `stopped` if somebody has asked it to, or with `problem` if the
    algorithm has come to no good: numbers that are none, which going on would not mend. What may be
    mended, such as a full disk, is raised.
    """
    if not Path(root).is_dir():
        here = platform.node()
        raise ConfigError(f"{here} does not see {root}; all machines need to share that folder")
    place, until = Path(folder), time.monotonic() + PATIENCE
    while True:
        try:
            result = _opened(place, config, steps).advance()
            return {"step": result.step, "stopped": result.stopped}
        except BusyError as error:
            if time.monotonic() > until:
                who = status(place).process or {}
                text = f"process {who.get('pid')} on {who.get('host')}"
                raise RunError(f"{error}: {text}; waited {PATIENCE:.0f} s for it") from error
            time.sleep(MOMENT)
        except FencedError:
            raise
        except RunError as error:
            if _may_be_mended(error):
                raise RunError(f"{error} (on {platform.node()})") from error
            return {"problem": str(error)}


def _opened(place: Path, config: dict[str, Any], steps: int) -> Any:
    # the driver has checked its game; this allows the same code in the run's own folder
    checked = load_config(config)
    if not place.exists():
        try:
            return new_run(checked.with_steps(steps), place)
        except ConfigError:
            if not place.exists():  # somebody else was quicker
                raise
    at = last_step(load_metrics(place))
    return open_run(place, steps=max(at, steps))


def last_step(records: list[Record]) -> int:
    """How far records go."""
    return int(records[-1]["step"]) if records else 0


def value_at(folder: Path, steps: int, policy: str | None = None) -> float | None:
    """The exploitability that a run has recorded at this step; None if it has not come so far.

    A run that has ended before, because nothing was left to do, has that of its end.
    """
    if not folder.exists():
        return None
    records = [record for record in load_metrics(folder) if record["step"] <= steps]
    if not records or (records[-1]["step"] < steps and not _ended_early(folder)):
        return None
    names = [name for name in records[-1] if name not in ("step", "seconds")]
    if policy is not None and policy not in names:
        raise ConfigError(f"policy is {policy!r}, but {folder} has {', '.join(names)}")
    return float(records[-1][policy or names[0]])


def _ended_early(folder: Path) -> bool:
    """Whether the run has ended before it had to: more steps would change nothing."""
    found = status(folder)
    if found.state != "finished" or found.process is None:
        return False
    config = json.loads((folder / CONFIG).read_bytes())
    return int(found.process["ended"]["step"]) < int(config["spec"]["max_steps"])


def _may_be_mended(error: BaseException | None) -> bool:
    """Whether something outside of the algorithm was wrong."""
    while error is not None:
        if isinstance(error, OSError):
            return True
        error = error.__cause__
    return False
