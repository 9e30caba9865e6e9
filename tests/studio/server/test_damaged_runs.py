"""Damaged run folders: each is a row with its reason and hides no other run."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil

import pytest

from counterplay.errors import RunError
from counterplay.experiment import run
from counterplay.studio.server.app_state import StudioState
from counterplay.studio.server.compare import compare_runs
from counterplay.studio.server.responses import json_response
from counterplay.studio.server.run_index import RunIndex
from tests.experiment.conftest import config

FILES = ["config.json", "metrics.jsonl", "process.json", "heartbeat.json", "env.json"]
VALUES = [None, "x", [], {}, -1, 1e400, "NaN", True, 10**400, [[[]]], {"a": {"b": 1}}, "\ud800"]
LINES = [
    b'{"step":201,"seconds":null,"average":1}\n',
    b'{"step": 5, "seconds": 1}\n',
    b'{"step": 1e999, "seconds": 1, "average": 2}\n',
    b'{"step": NaN, "seconds": NaN, "average": NaN}\n',
    b'{"step": {}, "seconds": [], "average": "x"}\n',
    b"[1, 2]\n",
    b"\xff\xfe\x00\n",
    b"\n",
    b"{" * 2000 + b"\n",
    b'{"step": ' + b"9" * 5000 + b', "seconds": 1}\n',
    b'{"seconds": 1}\n',
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    whole = config(max_steps=60) | {"name": "sound"}
    return run(whole, tmp_path_factory.mktemp("sound") / "20260101T000000Z").folder


def spoil(folder, rng):
    """Damage one file of a run folder."""
    path = folder / rng.choice(FILES)
    data = path.read_bytes() if path.exists() else b"{}"
    kind = rng.randrange(8)
    if kind == 0:
        path.write_bytes(data[: rng.randrange(len(data) + 1)])
    elif kind == 1:
        place = rng.randrange(len(data) + 1)
        path.write_bytes(data[:place] + rng.randbytes(rng.randrange(1, 9)) + data[place:])
    elif kind == 2:
        path.write_bytes(data + rng.choice(LINES))
    elif kind == 3:
        path.write_bytes(rng.choice(LINES) + data)
    elif kind == 4:
        path.write_text(json.dumps(rng.choice(VALUES)))
    elif kind == 5:
        path.unlink(missing_ok=True)
        rng.choice([path.mkdir, lambda: os.mkfifo(path), lambda: path.symlink_to("/etc/passwd")])()
    elif path.suffix == ".json":
        found = json.loads(data)
        found[rng.choice([*found, "name", "ended", "spec"])] = rng.choice(VALUES)
        path.write_text(json.dumps(found))
    else:
        lines = data.splitlines(keepends=True)
        rng.shuffle(lines)
        path.write_bytes(b"".join(lines))


def test_damaged_folders_hide_no_other_run(sound, tmp_path):
    rng = random.Random(5)
    shutil.copytree(sound, tmp_path / "sound" / sound.name)
    for number in range(300):
        shutil.copytree(sound, tmp_path / f"hurt{number}" / sound.name)
        spoil(tmp_path / f"hurt{number}" / sound.name, rng)
    studio = StudioState(tmp_path)
    studio.run_index.poll(force=True)
    rows = {name: studio.summarise_run(seen) for name, seen in studio.run_index.runs.items()}
    good = rows.pop(f"sound/{sound.name}")
    assert (good["state"], good["step"], good["damage"]) == ("finished", 60, "")
    json.loads(json_response(list(rows.values())).body)
    damaged = [row for row in rows.values() if row["state"] == "damaged"]
    assert len(rows) > 200 and len(damaged) > 50
    assert all(row["problem"] for row in damaged)
    for seen in studio.run_index.runs.values():
        with contextlib.suppress(RunError):  # any other error is a fault
            studio.run_index.load_series(seen)
    runs = list(studio.run_index.runs.values())
    found = compare_runs(studio.run_index, runs)
    json.loads(json_response(found).body)
    assert any(good["id"] in group["runs"] for group in found["groups"])
    assert all(one["problem"] for one in found["damaged"])
    studio.run_index.last_query_time = -10.0  # long ago
    while studio.run_index.update_one_best():
        pass


def test_a_record_without_seconds(sound, tmp_path):
    """The list once answered 409 for all runs because of this line."""
    for name in ("good", "hurt"):
        shutil.copytree(sound, tmp_path / name / "1")
    with open(tmp_path / "hurt" / "1" / "metrics.jsonl", "ab") as file:
        file.write(LINES[0])
    watch = RunIndex(tmp_path)
    watch.poll(force=True)
    assert watch.runs["good/1"].summary()["state"] == "finished"
    row = watch.runs["hurt/1"].summary()
    assert row["state"] == "damaged" and "metrics.jsonl is damaged" in row["problem"]
