"""Experiments: configs, runs, metrics, checkpoints, plots and comparisons.

Names are imported when they are first used: who only looks at folders needs no algorithm.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterplay.experiment.config import Config, load_config
    from counterplay.experiment.folder import find_runs, load_metrics
    from counterplay.experiment.running import (
        Run,
        RunResult,
        load_run,
        new_run,
        open_run,
        resume,
        run,
    )
    from counterplay.experiment.series import metrics_table
    from counterplay.experiment.stored import load_policies

__all__ = [
    "Config",
    "Run",
    "RunResult",
    "find_runs",
    "load_config",
    "load_metrics",
    "load_policies",
    "load_run",
    "metrics_table",
    "new_run",
    "open_run",
    "resume",
    "run",
]
_PLACES = {
    "Config": "config",
    "load_config": "config",
    "find_runs": "folder",
    "load_metrics": "folder",
    "metrics_table": "series",
    "load_policies": "stored",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'counterplay.experiment' has no attribute {name!r}")
    module = importlib.import_module(f"counterplay.experiment.{_PLACES.get(name, 'running')}")
    return getattr(module, name)
