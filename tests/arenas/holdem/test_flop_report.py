"""Reports over flops: weights, averages, resuming, files and the page."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from counterplay.arenas.holdem.equity import compute_equity
from counterplay.arenas.holdem.flop_report import (
    FlopReport,
    ReportSettings,
    find_report_nodes,
    load_flop_report,
    solve_flop_report,
)
from counterplay.arenas.holdem.spot import BetSizes, Spot
from counterplay.cli.main import main
from counterplay.core.parallel import use_executor
from counterplay.display.flop_report_page import flop_report_page
from counterplay.distributed.remote_calls import make_call_mapper
from counterplay.errors import ConfigError
from tests.distributed.toy_units import InProcessExecutor

NO_BETS, PUSH = BetSizes(), BetSizes(bet="a")
FLOPS = "KsQs2h,8d8c5h"
CHECKED_DOWN = Spot("2c3d4h", ("AA", "KK,QQ"), 60, (90, 90), ((NO_BETS, NO_BETS),) * 3)
PUSHED = replace(CHECKED_DOWN, sizes=((PUSH, PUSH), (NO_BETS, NO_BETS), (NO_BETS, NO_BETS)))
SETTINGS = ReportSettings(target=0.0, iterations=4, evaluate_every=4)


@pytest.fixture(scope="module")
def report_of_pushes() -> FlopReport:
    return solve_flop_report(PUSHED, FLOPS, SETTINGS)


def without_seconds(report):
    results = tuple(replace(result, seconds=0.0) for result in report.results)
    return replace(report, results=results)


def test_without_bets_the_ev_is_the_equity():
    report = solve_flop_report(CHECKED_DOWN, FLOPS, SETTINGS)
    shares = []
    for row in report.rows:
        equity = compute_equity("AA", "KK,QQ", row.name).value
        assert row.equity == pytest.approx(equity, abs=1e-6)
        assert row.values[0] == pytest.approx(60 * equity, abs=1e-3)
        shares.append(equity)
    # 6 x 6 pairs of aces and queens or kings on 8d8c5h; 6 x (3 + 3) on KsQs2h
    assert [row.weight for row in report.rows] == pytest.approx([1 / 3, 2 / 3])
    assert report.average.equity == pytest.approx(shares[0] / 3 + 2 * shares[1] / 3, abs=1e-6)
    assert report.groups["pairing"][1].equity == pytest.approx(shares[1], abs=1e-6)


def test_nodes_have_the_actions_and_the_reach_of_their_lines(report_of_pushes):
    first, second = report_of_pushes.nodes
    assert (first.line, first.player, first.actions) == ("", 0, ("check", "all-in 90"))
    assert (second.line, second.player) == ("check", 1)
    for row in report_of_pushes.rows:
        assert row.nodes[0].reach == 1.0
        assert row.nodes[1].reach == pytest.approx(row.nodes[0].frequencies[0], abs=1e-6)
        assert sum(row.nodes[0].frequencies) == pytest.approx(1.0)
        assert row.nodes[0].ev == pytest.approx(row.values[0], abs=1e-3)
    (node,) = find_report_nodes(PUSHED, ("all-in 90",))
    assert (node.player, node.actions) == (1, ("fold", "call"))


def test_average_frequencies_are_weighted_by_reach(report_of_pushes):
    rows, node = report_of_pushes.rows, report_of_pushes.average.nodes[1]
    reach = [row.weight * row.nodes[1].reach for row in rows]
    expected = sum(r * row.nodes[1].frequencies[1] for r, row in zip(reach, rows, strict=True))
    assert node.reach == pytest.approx(sum(reach))
    assert node.frequencies[1] == pytest.approx(expected / sum(reach))


def test_a_stopped_report_goes_on_where_it_was(tmp_path, report_of_pushes):
    seen = []

    def stop() -> bool:
        return bool(seen)

    part = solve_flop_report(
        PUSHED, FLOPS, SETTINGS, folder=tmp_path, report=seen.append, stop=stop
    )
    assert not part.is_finished and len(part.results) == 1
    assert load_flop_report(tmp_path) == part
    seen.clear()
    whole = solve_flop_report(PUSHED, FLOPS, SETTINGS, folder=tmp_path, report=seen.append)
    assert len(seen) == 1 and whole.is_finished
    assert whole.results[0] == part.results[0]
    assert without_seconds(whole) == without_seconds(report_of_pushes)


def test_flops_on_an_executor_have_the_same_bits(report_of_pushes, tmp_path):
    with use_executor(make_call_mapper(InProcessExecutor())):
        report = solve_flop_report(PUSHED, FLOPS, SETTINGS, folder=tmp_path)
    assert without_seconds(report) == without_seconds(report_of_pushes)


def test_folders_of_other_reports_are_refused(tmp_path):
    solve_flop_report(CHECKED_DOWN, "8d8c5h", SETTINGS, folder=tmp_path)
    with pytest.raises(ConfigError, match="report of another spot or of other settings"):
        solve_flop_report(PUSHED, "8d8c5h", SETTINGS, folder=tmp_path)
    (tmp_path / "flops" / "8d8c5h.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"8d8c5h\.json is damaged; remove it"):
        solve_flop_report(CHECKED_DOWN, "8d8c5h", SETTINGS, folder=tmp_path)


def test_flops_without_hands_are_left_out():
    report = solve_flop_report(CHECKED_DOWN, "AsAhAd,8d8c5h", SETTINGS)
    assert report.num_flops == 1 and report.is_finished
    with pytest.raises(ConfigError, match="leave no hand on any of the flops"):
        solve_flop_report(CHECKED_DOWN, "AsAhAd", SETTINGS)


@pytest.mark.parametrize(
    ("spot", "flops", "problem"),
    [
        (replace(PUSHED, board="2c3d4h5s"), FLOPS, "needs a spot on the flop"),
        (replace(PUSHED, dead="7c"), FLOPS, "cannot have dead cards"),
        (replace(PUSHED, ranges=("AhAd", "KK")), FLOPS, "treat all suits alike"),
        (PUSHED, "30", "must be 25, 49, 95, 184, all"),
        (PUSHED, "8d8c5h,8s8h5c", "differ in the names of suits only"),
        (PUSHED, "8d8c8d", "occurs twice"),
    ],
)
def test_reports_that_are_impossible_are_refused(spot, flops, problem):
    with pytest.raises(ConfigError, match=problem):
        solve_flop_report(spot, flops, SETTINGS)


@pytest.mark.parametrize("line", ["all-in 90,call", "check,check", "bet 7"])
def test_lines_without_a_decision_on_the_flop_are_refused(line):
    with pytest.raises(ConfigError, match=r"no player acts on the flop|there is no 'bet 7'"):
        solve_flop_report(PUSHED, FLOPS, replace(SETTINGS, lines=(line,)))


def test_reports_are_json_csv_and_a_page(report_of_pushes):
    data = json.loads(json.dumps(report_of_pushes.to_json()))
    assert FlopReport.from_json(data) == report_of_pushes
    with pytest.raises(ConfigError, match="not a report over flops"):
        FlopReport.from_json({"spot": {}})
    table = list(csv.DictReader(io.StringIO(report_of_pushes.csv())))
    assert [row["flop"] for row in table] == ["KsQs2h", "8d8c5h"]
    assert float(table[0]["first: check"]) == report_of_pushes.results[0].nodes[0].frequencies[0]
    page = flop_report_page(report_of_pushes)
    content = page.split('id="report">')[1].split("</script>")[0]
    assert json.loads(content)["tables"]["average"]["equity"] == report_of_pushes.average.equity
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_the_command_writes_a_report(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PUSHED.save("spot.json")
    words = ["spot", "report", "spot.json", "--flops", "8d8c5h", "-n", "4", "--processes", "1"]
    main(words)
    printed = capsys.readouterr()
    assert "all flops" in printed.out and "IP after check" in printed.out
    assert "wrote spot-report/report.html" in printed.err
    main([*words, "--json"])
    assert json.loads(capsys.readouterr().out)["num_flops"] == 1
