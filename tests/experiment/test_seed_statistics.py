"""Statistics over seeds, against SciPy and hand-made values; tables for papers."""

from __future__ import annotations

import csv
import io
from itertools import product

import numpy as np
import pytest
from scipy import stats

from counterplay.errors import ConfigError
from counterplay.experiment import run
from counterplay.experiment.seed_statistics import (
    SeedStatistics,
    _holm,
    _test_against_baseline,
    format_table,
    seed_statistics,
)
from tests.experiment.conftest import config

VALUES = (0.011, 0.013, 0.012, 0.019, 0.016)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name, seed in product(("external_sampling", "outcome_sampling"), range(4)):
        run(config(name, 60, seed=seed) | {"name": name}, folder / f"{name}{seed}")
    run(config("cfr_plus", 60) | {"name": "cfr_plus"}, folder / "cfr_plus")
    return folder


def test_median_and_quartiles_are_those_of_numpy():
    row = SeedStatistics("g", "m", VALUES, 10)
    assert row.median == 0.013
    assert row.quartiles == tuple(np.quantile(VALUES, (0.25, 0.75)))


def test_interval_agrees_with_scipys_bootstrap():
    row = SeedStatistics("g", "m", VALUES, 10)
    expected = stats.bootstrap(
        (np.array(VALUES),), np.median, method="percentile", n_resamples=20_000, rng=1
    ).confidence_interval
    assert row.interval == pytest.approx((expected.low, expected.high), rel=0.02)
    assert SeedStatistics("g", "m", VALUES[:2], 10).interval is None


def test_holm_correction_of_known_values():
    # 0.01 * 3, then max(0.02 * 2, 0.03), then max(0.04 * 1, 0.04)
    assert _holm(np.array([0.02, 0.04, 0.01])) == pytest.approx([0.04, 0.04, 0.03])
    assert _holm(np.array([0.6, 0.5])) == pytest.approx([1.0, 1.0])


def test_p_values_are_of_rank_tests_within_one_game():
    base = SeedStatistics("g", "base", VALUES, 10)
    better = SeedStatistics("g", "better", tuple(v / 10 for v in VALUES), 10)
    elsewhere = SeedStatistics("h", "better", VALUES, 10)
    rows = _test_against_baseline([base, better, elsewhere], "base")
    assert [row.p_value is None for row in rows] == [True, False, True]
    assert rows[1].p_value == pytest.approx(2 / 252)  # exact: 2 of C(10, 5) orders
    with pytest.raises(ConfigError, match="no run is called 'bas'; did you mean 'base'"):
        _test_against_baseline([base, better], "bas")


def test_statistics_of_runs_use_the_last_records(runs):
    rows = seed_statistics([runs], baseline="cfr_plus")
    assert [(row.method, len(row.values), row.step) for row in rows] == [
        ("cfr_plus", 1, 60),
        ("external_sampling", 4, 60),
        ("outcome_sampling", 4, 60),
    ]
    early = seed_statistics([runs], max_step=20)
    assert [row.step for row in early] == [20, 20, 20]
    assert early[0].median > rows[0].median


def test_tables_have_a_line_per_method(runs):
    rows = seed_statistics([runs], baseline="outcome_sampling")
    lines = list(csv.DictReader(io.StringIO(format_table(rows, "csv"))))
    assert [line["method"] for line in lines] == [row.method for row in rows]
    assert float(lines[1]["median"]) == rows[1].median
    assert lines[0]["interval_low"] == ""
    assert lines[2]["p_value"] == ""
    markdown = format_table(rows, "markdown")
    assert "Exploitability on kuhn\\_poker" in markdown
    assert markdown.count("\n| ") == 5  # header, rule, three methods
    latex = format_table(rows, "latex")
    assert r"external\_sampling & 4 & 60 & " in latex
    assert latex.count(r"\\") == 4
    assert latex.count(r"\begin{tabular}{lrrrrrr}") == 1
    with pytest.raises(ConfigError, match="unknown table format 'html'"):
        format_table(rows, "html")


def test_special_characters_are_escaped_in_latex():
    row = SeedStatistics("a_b", "50 % {x}", VALUES, 10)
    assert r"50 \% \{x\}" in format_table([row], "latex")
