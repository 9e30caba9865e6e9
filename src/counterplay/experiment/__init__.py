"""Experiments: configs, runs, metrics, checkpoints, plots and comparisons.

Public names are imported when they are first used.
"""

from __future__ import annotations

from counterplay.lazy_exports import lazy_exports

_EXPORTS = {
    "config": ["RunConfig", "load_config"],
    "metrics": ["load_metrics"],
    "run_folder": ["find_runs"],
    "run_groups": ["metrics_table"],
    "runner": ["Run", "RunResult", "load_run", "new_run", "open_run", "resume", "run"],
    "saved_policies": ["load_policies"],
}

__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
