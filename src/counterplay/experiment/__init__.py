"""Experiments: configs, runs, metrics, checkpoints, plots and comparisons."""

from __future__ import annotations

from counterplay.experiment.config import Config, load_config
from counterplay.experiment.folder import find_runs, load_metrics
from counterplay.experiment.running import Run, RunResult, new_run, open_run, resume, run

__all__ = [
    "Config",
    "Run",
    "RunResult",
    "find_runs",
    "load_config",
    "load_metrics",
    "new_run",
    "open_run",
    "resume",
    "run",
]
