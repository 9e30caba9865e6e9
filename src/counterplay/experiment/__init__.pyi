"""The public names of this package, written by tools/exports.py; do not edit."""

from counterplay.experiment.config import RunConfig as RunConfig
from counterplay.experiment.config import load_config as load_config
from counterplay.experiment.metrics import load_metrics as load_metrics
from counterplay.experiment.run_folder import find_runs as find_runs
from counterplay.experiment.run_groups import metrics_table as metrics_table
from counterplay.experiment.runner import Run as Run
from counterplay.experiment.runner import RunResult as RunResult
from counterplay.experiment.runner import load_run as load_run
from counterplay.experiment.runner import new_run as new_run
from counterplay.experiment.runner import open_run as open_run
from counterplay.experiment.runner import resume as resume
from counterplay.experiment.runner import run as run
from counterplay.experiment.saved_policies import load_policies as load_policies

__all__ = [
    "Run",
    "RunConfig",
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
