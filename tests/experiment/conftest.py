"""Configs and the means to compare runs."""

from __future__ import annotations

import json

import pytest

from counterplay.experiment.checkpoint import load_checkpoint
from counterplay.experiment.metrics import load_metrics
from counterplay.experiment.run_folder import load_run_config
from counterplay.registry import ALGORITHMS


@pytest.fixture(autouse=True)
def _toys(monkeypatch):
    monkeypatch.setitem(ALGORITHMS, "toy", "tests.experiment.toy_algorithms:Toy")
    monkeypatch.setitem(ALGORITHMS, "no_policy", "tests.experiment.toy_algorithms:NoPolicy")


def config(algorithm="cfr_plus", max_steps=200, game="kuhn_poker", params=None, **spec):
    """A small config; evaluations at 1, 20, 40, ... and checkpoints at 50, 100, ..."""
    spec = {"max_steps": max_steps, "evaluate_every": 20, "checkpoint_every": 50} | spec
    whole = {"name": "small", "algorithm": algorithm, "game": {"name": game}, "spec": spec}
    whole["game"]["params"] = params or {}
    return whole


def load_untimed_records(folder):
    """The records of a run without their times."""
    return [{k: v for k, v in r.items() if k != "seconds"} for r in load_metrics(folder)]


def load_final_state(folder, game="kuhn_poker"):
    """Contents of the last checkpoint, arrays as bytes, without times."""
    found = load_checkpoint(folder, load_run_config(folder), game)
    arrays = {k: (a.dtype.str, a.shape, a.tobytes()) for k, a in found.leaves.arrays.items()}
    return found.progress.step, found.progress.recorded, arrays, found.leaves.scalars


def file_contents(folder):
    """Every file of a folder, byte for byte."""
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def dump_json(path, value):
    path.write_text(json.dumps(value))
    return path
