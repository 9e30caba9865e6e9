"""Experiments: configs, runs, metrics, checkpoints, plots and comparisons."""

from __future__ import annotations

from counterplay.experiment.config import Config, load_config
from counterplay.experiment.folder import find_runs, load_metrics
from counterplay.experiment.running import Run, RunResult, load_run, new_run, open_run, resume, run
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
