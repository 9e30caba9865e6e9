"""EVs over all flops by regression on the equity, which is exact on all of them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from counterplay.arenas.holdem import all_flops_ev, flop_report
from counterplay.arenas.holdem.all_flops_ev import estimate_all_flops_ev, fit_on_equity
from counterplay.arenas.holdem.flop_report import FlopReport, FlopResult, ReportSettings
from counterplay.arenas.holdem.flops import all_flops, flop_subset
from counterplay.arenas.holdem.spot import Spot
from counterplay.cli.main import main
from counterplay.errors import ConfigError

SPOT = Spot("Td9d6h", ("AA", "KK"), 60, (90, 90))


def plain_equity(flop):
    """Made-up masses and equities that differ from flop to flop."""
    number = sum(ord(letter) * k for k, letter in enumerate(flop, 3))
    return 1.0 + number % 7, 0.3 + 0.4 * (number % 89) / 88.0


def example_report(evs, name="49"):
    flops = flop_subset(49)
    results = [
        FlopResult(
            f.name, plain_equity(f.name)[0], plain_equity(f.name)[1], evs(f.name), 0, 1, 0, ()
        )
        for f in flops
    ]
    weights = tuple(flop.weight for flop in flops)
    return FlopReport(SPOT, name, 49, ReportSettings(1.0), (), tuple(results), weights)


@pytest.fixture
def example_equities(monkeypatch):
    calls = []

    def compute(ranges, flops):
        calls.append(ranges)
        return {flop: plain_equity(flop) for flop in flops}

    monkeypatch.setattr(all_flops_ev, "part_equities", compute)
    return calls


def test_evs_that_are_linear_in_the_equity_are_exact(example_equities, tmp_path):
    def evs(flop):
        equity = plain_equity(flop)[1]
        return 10.0 + 80.0 * equity, 50.0 - 80.0 * equity

    report = example_report(evs)
    rows = [(flop.weight * plain_equity(flop.name)[0], *evs(flop.name)) for flop in all_flops()]
    weights, *values = np.array(rows).T
    exact = [float(weights @ column / weights.sum()) for column in values]
    result = estimate_all_flops_ev(report, tmp_path)
    assert result.values == pytest.approx(exact, abs=1e-9)
    assert result.slopes == pytest.approx([80.0, -80.0])
    assert abs(report.average.values[0] - exact[0]) > 0.01  # the average of the flops is not
    count = len(example_equities)
    assert count == 39
    assert estimate_all_flops_ev(report, tmp_path) == result  # equities are stored
    assert len(example_equities) == count


def test_evs_that_do_not_depend_on_the_equity_keep_their_average():
    weights, equity = np.array([0.2, 0.3, 0.5]), np.array([0.4, 0.4, 0.4])
    values = np.array([[1.0], [2.0], [4.0]])
    assert fit_on_equity(weights, equity, values, 0.9)[0] == pytest.approx([2.8])
    fitted, slopes = fit_on_equity(weights, np.array([0.1, 0.2, 0.3]), np.ones((3, 1)), 0.9)
    assert fitted == pytest.approx([1.0]) and slopes == pytest.approx([0.0])


def test_equities_of_flops_are_those_of_the_equity_function():
    found = all_flops_ev.part_equities(("AA,KQs", "QQ,A5s"), ("QsJh2h", "AsAhAd"))
    from counterplay.arenas.holdem.equity import compute_equity

    for flop, (mass, equity) in found.items():
        assert mass > 0.0
        assert equity == compute_equity("AA,KQs", "QQ,A5s", flop).value
    assert all_flops_ev.part_equities(("AA", "KK"), ("AsAhAd",)) == {"AsAhAd": (0.0, 0.0)}


def test_a_stopped_run_has_no_result(example_equities):
    report = example_report(lambda flop: (1.0, 2.0))
    assert estimate_all_flops_ev(report, stop=lambda: True) is None


def test_the_command_prints_the_estimate(example_equities, monkeypatch, tmp_path, capsys):
    report = example_report(lambda flop: (10.0 + 80.0 * plain_equity(flop)[1], 1.0))
    monkeypatch.setattr(flop_report, "solve_flop_report", lambda *_, **__: report)
    SPOT.save(tmp_path / "spot.json")
    words = ["spot", "report", str(tmp_path / "spot.json"), "--flops", "49", "--processes", "1"]
    words += ["--out", str(tmp_path)]
    main(words)
    expected = estimate_all_flops_ev(report)
    assert f"EV OOP {expected.values[0]:.2f}" in " ".join(capsys.readouterr().out.split())
    main([*words, "--json"])
    printed = json.loads(capsys.readouterr().out)["all_flops"]
    assert printed["values"] == pytest.approx(expected.values)


def test_only_finished_sets_for_all_flops_are_estimated(example_equities):
    report = example_report(lambda flop: (1.0, 2.0))
    for wrong in (replace(report, num_flops=50), replace(report, flops="QsJh2h,8d8c5h")):
        with pytest.raises(ConfigError, match="need a finished report over 25, 49"):
            estimate_all_flops_ev(wrong)
