"""Records as arrays: followed as they grow, the same as the library reads them, thinned fairly."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterplay as cp
from counterplay.errors import RunError
from counterplay.experiment.metrics import (
    MetricSeries,
    MetricsWriter,
    load_metrics,
    read_last_record,
    sample_records,
)
from counterplay.studio.server.compare import compare_runs
from counterplay.studio.server.metric_series import select_points
from counterplay.studio.server.run_index import RunIndex


def write(folder, records, mode="w"):
    with open(folder / "metrics.jsonl", mode) as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def make_records(first, last):
    return [
        {"step": k, "seconds": k / 7, "average": 1 / k, 'a b"c': 3e-320} for k in range(first, last)
    ]


def rows(series):
    names = series.column_names
    return [dict(zip(names, row, strict=True)) for row in series.values[: series.num_rows].tolist()]


def test_follows_a_file(tmp_path):
    series = MetricSeries(tmp_path)
    series.refresh()
    assert series.num_rows == 0
    write(tmp_path, make_records(1, 10))
    series.refresh()
    first = series.epoch
    assert rows(series) == load_metrics(tmp_path)
    write(tmp_path, make_records(10, 300), "a")
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write('{"step": 300, "sec')  # half a line
    series.refresh()
    assert (series.num_rows, series.epoch) == (299, first)
    assert rows(series) == load_metrics(tmp_path)


def test_notices_that_records_were_dropped(tmp_path):
    series = MetricSeries(tmp_path)
    write(tmp_path, make_records(1, 100))
    series.refresh()
    before = series.epoch
    write(tmp_path, make_records(1, 50))
    series.refresh()
    assert series.epoch != before and series.num_rows == 49
    before = series.epoch
    other = [
        record | {"seconds": 9.0} for record in make_records(40, 90)
    ]  # shorter, then longer again
    write(tmp_path, make_records(1, 40) + other)
    series.refresh()
    assert series.epoch != before and rows(series) == make_records(1, 40) + other
    os.unlink(tmp_path / "metrics.jsonl")
    series.refresh()
    assert series.num_rows == 0


@settings(max_examples=40)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_reads_every_number_as_json_does(tmp_path_factory, numbers):
    folder = tmp_path_factory.mktemp("metrics")
    records = [{"step": k, "seconds": 0.5, "average": x} for k, x in enumerate(numbers)]
    write(folder, records)
    series = MetricSeries(folder)
    series.refresh()
    assert rows(series) == records


def test_other_ways_to_write_json(tmp_path):
    lines = [
        '{"step":1,"seconds":0.1,"average":0.5}',
        '{ "step": 2, "seconds": 1, "average": 0.25 }',
    ]
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    series = MetricSeries(tmp_path)
    series.refresh()
    assert rows(series) == [json.loads(line) for line in lines]


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"step": 1}',
        '{"step": "x", "seconds": 1}',
        "x" * 5000,
        '{"step": 1, "seconds": 2}',
    ],
)
def test_damaged_records(tmp_path, line):
    write(tmp_path, make_records(1, 3))
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write(line + "\n")
    with pytest.raises(RunError, match="damaged"):
        MetricSeries(tmp_path).refresh()


@given(st.integers(0, 1000), st.integers(10, 400), st.booleans())
def test_thinned_curves_keep_their_extremes(seed, points, log):
    rng = np.random.default_rng(seed)
    x = np.cumsum(rng.integers(1, 50, size=3000)).astype(float)
    curves = [rng.exponential(size=3000), rng.normal(size=3000)]
    shown = select_points(x, curves, points, log)
    assert shown.size <= points + 2 + 4
    assert (np.diff(shown) > 0).all()
    assert {0, 2999} <= set(shown.tolist())
    for curve in curves:
        assert curve[shown].min() == curve.min() and curve[shown].max() == curve.max()
    few = select_points(x[:points], [curve[:points] for curve in curves], points, log)
    assert few.tolist() == list(range(points))


def test_sketches_read_little(tmp_path):
    write(tmp_path, make_records(1, 20_000))
    path = tmp_path / "metrics.jsonl"
    size = path.stat().st_size
    found = sample_records(path, size)
    assert 10 <= len(found) <= 40
    assert found[0] == make_records(1, 2)[0] and found[-1] == make_records(19_999, 20_000)[0]
    assert read_last_record(path, size) == found[-1]
    assert sample_records(tmp_path / "nothing", 100) == []
    assert read_last_record(tmp_path / "nothing", 100) is None


def test_checksums_are_no_curve(tmp_path):
    """Not even where an older version wrote the first lines without them."""
    old = b'{"step": 1, "seconds": 0.5, "average": 0.5}\n'
    path = tmp_path / "metrics.jsonl"
    for start in (b"", old):
        path.write_bytes(start)
        with MetricsWriter(tmp_path, len(start)) as metrics:
            for step in (2, 3):
                metrics.append({"step": step, "seconds": 0.6, "average": 0.25})
                series = MetricSeries(tmp_path)
                series.refresh()
                assert series.column_names == ("step", "seconds", "average")
                assert rows(series) == load_metrics(tmp_path)
                assert "crc32" not in read_last_record(path, path.stat().st_size)


def test_changed_bytes_do_not_match_the_checksum(tmp_path):
    """In lines read at once and in lines that were added later."""
    path = tmp_path / "metrics.jsonl"
    with MetricsWriter(tmp_path, 0) as metrics:
        for record in make_records(1, 50):
            metrics.append(record)
    content = path.read_bytes()
    half = content.index(b"\n", len(content) // 2) + 1
    place = content.index(b'"average": 0.0', half) + len('"average": 0.0')
    for start in (0, half):
        path.write_bytes(content[:start])
        series = MetricSeries(tmp_path)
        series.refresh()
        digit = b"1" if content[place : place + 1] != b"1" else b"2"
        with open(path, "ab") as file:
            file.write((content[:place] + digit + content[place + 1 :])[start:])
        with pytest.raises(RunError, match="does not match its checksum"):
            series.refresh()
        path.write_bytes(content)
        series.refresh()
        assert rows(series) == load_metrics(tmp_path)


def test_counts_of_runs_on_rules_are_not_compared_as_exploitability(tmp_path):
    config = {"name": "x", "algorithm": "external_sampling", "game": "kuhn_poker"}
    for name, arena in (("on_tree", "tree"), ("on_rules", "rules")):
        cp.run(config | {"arena": arena, "spec": {"max_steps": 20}}, tmp_path / name / "r")
    watch = RunIndex(tmp_path)
    watch.poll()
    groups = compare_runs(watch, list(watch.runs.values()))["groups"]
    rows = {group["exact"]: group["row"] for group in groups}
    assert {"average", "best", "current"} <= rows[True].keys()
    assert rows[False].keys() == {"step", "steps_per_second", "counts"}
    assert {"infosets", "touched"} <= rows[False]["counts"].keys()
