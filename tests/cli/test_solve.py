"""`solve`, and `evaluate` of saved policies."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from counterplay.kernels.runtime.threads import num_threads, set_num_threads

LOPSIDED = "matrix_game(payoffs=(((1,-2),(-1,1)),((-1,2),(1,-1))))"


def test_prints_one_record_per_line(run):
    answer = run("solve", "kuhn_poker", "--algorithm", "cfr_plus", "--iterations", 1000)
    assert answer.code == 0
    assert answer.lines[0] == "iteration  exploitability"
    assert answer.lines[1] == "1  4.58e-01"
    assert answer.lines[-1] == "1000  8.74e-05"
    assert [int(line.split()[0]) for line in answer.lines[1:]] == [
        *(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
    ]
    assert answer.err.startswith("1,000 iterations in ")
    assert answer.err.endswith("player values -0.055556, 0.055556\n")
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("game", "algorithm"),
    [
        ("kuhn_poker", "rpcfr_plus"),
        ("liars_dice(dice_sides=2)", "pdcfr_plus"),
        ("kuhn_poker(players=3)", "cfr_plus"),
        ("chicken", "cfr_plus"),
    ],
)
def test_defaults_are_a_thousand_iterations_of_the_winner_of_the_class(run, game, algorithm):
    answer = run("solve", game)
    assert answer.lines[-1].startswith("1000  ")
    assert answer.err.rstrip().endswith(f"; algorithm {algorithm}")
    explicit = run("solve", game, "--algorithm", algorithm)
    assert explicit.lines[-1] == answer.lines[-1]
    assert "; algorithm" not in explicit.err


def test_refined_equilibria(run, tmp_path):
    file = tmp_path / "kuhn.policy"
    answer = run("solve", "kuhn_poker", "--refine", "quasi_perfect", "--save", file)
    assert "largest loss off the path  0.00e+00" in answer.lines
    facts = json.loads(
        run(
            "solve",
            "leduc_poker(suit_isomorphism=true)",
            "--refine",
            "normal_form_perfect",
            "--json",
        ).lines[-1]
    )
    assert facts["largest_loss_off_the_path"] < 1e-6
    assert facts["exploitability"] < 1e-8
    assert json.loads(run("evaluate", file, "--json").out)["exploitability"] < 1e-12
    assert (
        "known: quasi_perfect, normal_form_perfect"
        in run("solve", "kuhn_poker", "--refine", "proper").err
    )
    assert (
        "--refine takes no --algorithm"
        in run("solve", "kuhn_poker", "--refine", "quasi_perfect", "--algorithm", "cfr").err
    )


def test_json_has_records_and_a_result(run):
    answer = run("solve", "kuhn_poker", "--algorithm", "dcfr(gamma=3.0)", "--json")
    *records, result = map(json.loads, answer.lines)
    assert result["game"] == "kuhn_poker"
    assert result["algorithm"] == "dcfr(gamma=3.0)"
    assert result["iterations"] == 1000
    assert result["stopped"] is False
    assert result["nash_conv"] == pytest.approx(2 * result["exploitability"])
    assert result["exploitability"] == records[-1]["exploitability"] < 1e-3
    assert result["values"] == pytest.approx([-1 / 18, 1 / 18], abs=1e-3)
    assert [record["iteration"] for record in records][:3] == [1, 2, 5]


def test_json_agrees_with_the_table(run):
    result = json.loads(run("solve", "kuhn_poker", "--algorithm", "cfr_plus", "--json").lines[-1])
    assert result["nash_conv"] == pytest.approx(0.0001747, abs=1e-7)


def test_target_stops_early(run):
    lines = run("solve", "kuhn_poker", "--iterations", 100_000, "--target", 1e-3).lines
    exploitabilities = [float(line.split()[1]) for line in lines[1:]]
    assert exploitabilities[-1] <= 1e-3 < min(exploitabilities[:-1])
    assert int(lines[-1].split()[0]) < 100_000


def test_threads_option_sets_the_number_of_threads(run):
    try:
        assert run("solve", "kuhn_poker", "--threads", 1).lines[-1] == "1000  2.16e-13"
        assert num_threads() == 1
    finally:
        set_num_threads(None)


def test_abstraction_reports_the_full_game(run, tmp_path):
    """The table, the JSON and the saved policy are all about the full game."""
    file = tmp_path / "leduc.policy"
    rule = "by_rank(groups=('JQ','K'))"
    options = ("solve", "leduc_poker", "--iterations", 50, "--abstraction", rule)
    solved = run(*options, "--json", "--save", file)
    assert "leduc_poker with 162 of 936 infosets, perfect recall" in solved.err
    facts = json.loads(solved.lines[-1])
    assert facts["game"] == "leduc_poker"
    assert facts["abstraction"] == "by_rank(groups=('JQ', 'K'))"
    assert 0.2 < facts["exploitability"] < 0.5
    evaluated = json.loads(run("evaluate", file, "--json").out)
    assert evaluated["exploitability"] == facts["exploitability"]
    assert run(*options).lines[-1] == f"50  {facts['exploitability']:.2e}"


@pytest.mark.parametrize(
    ("game", "rule", "message"),
    [
        ("leduc_poker", "by_card", "unknown abstraction 'by_card'; did you mean 'by_rank'?"),
        ("leduc_poker", "by_rank(groups=('JQ','QK'))", "rank 'Q' is in two groups"),
        ("rock_paper_scissors", "by_rank", "no infoset of rock_paper_scissors shows a card"),
        (
            "kuhn_poker",
            "by_equity(rollout_action=call)",
            "no action is called 'call'; there are bet",
        ),
    ],
)
def test_bad_abstractions(run, game, rule, message):
    answer = run("solve", game, "--abstraction", rule)
    assert answer.code == 2
    assert message in answer.err


def test_saved_policies_evaluate_to_the_same(run, tmp_path):
    file = tmp_path / "kuhn.policy"
    solved = run("solve", "kuhn_poker", "--save", file, "--json")
    assert f"wrote {file}\n" in solved.err
    evaluated = json.loads(run("evaluate", file, "--json").out)
    assert evaluated["exploitability"] == json.loads(solved.lines[-1])["exploitability"]
    assert evaluated["game"] == "kuhn_poker"


def test_exports_write_json_and_csv(run, tmp_path):
    as_json, as_csv = tmp_path / "kuhn.json", tmp_path / "kuhn.csv"
    assert run("solve", "kuhn_poker", "--export", as_json).code == 0
    assert run("solve", "kuhn_poker", "--export", as_csv).code == 0
    content = json.loads(as_json.read_text())
    assert content["game"] == "kuhn_poker"
    assert [len(player) for player in content["players"]] == [6, 6]
    assert content["players"][1]["2b"]["bet"] == pytest.approx(1.0, abs=1e-3)  # never folds a king
    rows = list(csv.DictReader(as_csv.read_text().splitlines()))
    assert len(rows) == 24
    for row in rows:
        exact = content["players"][int(row["player"])][row["infoset"]][row["action"]]
        assert float(row["probability"]) == exact


@pytest.mark.parametrize("option", ["--save", "--export"])
def test_unwritable_places_are_refused_before_any_work(run, tmp_path, monkeypatch, option):
    monkeypatch.setattr("counterplay.arenas.tree.build.build_tree", None)  # calling it would fail
    missing = tmp_path / "nowhere" / "kuhn.json"
    answer = run("solve", "kuhn_poker", option, missing)
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err == f"error: cannot write {missing}: there is no directory {missing.parent}\n"


def test_a_directory_is_no_file(run, tmp_path):
    answer = run("solve", "kuhn_poker", "--save", tmp_path)
    assert (answer.code, answer.err) == (2, f"error: cannot write {tmp_path}: it is a directory\n")


def test_bad_export_name_is_refused_before_any_work(run, monkeypatch):
    monkeypatch.setattr("counterplay.arenas.tree.build.build_tree", None)
    answer = run("solve", "kuhn_poker", "--export", "kuhn.txt")
    assert answer.code == 2
    assert answer.err == "error: cannot export to kuhn.txt; the name must end in .json or .csv\n"


def test_interrupted_run_ends_with_its_best_policy(run, tmp_path, monkeypatch):
    file = tmp_path / "best.policy"
    _stop_at_question(monkeypatch, 2)
    answer = run("solve", LOPSIDED, "--algorithm", "cfr_plus", "--save", file)
    assert answer.code == 130
    assert answer.lines[1:] == ["1  2.50e-01", "2  5.83e-01", "1  2.50e-01"]
    assert answer.err.startswith("interrupted after 2 iterations ")
    assert "best at 1;" in answer.err
    assert json.loads(run("evaluate", file, "--json").out)["exploitability"] == 0.25


def test_interrupted_run_as_json(run, monkeypatch):
    _stop_at_question(monkeypatch, 2)
    answer = run("solve", LOPSIDED, "--json")
    *records, result = map(json.loads, answer.lines)
    assert answer.code == 130
    assert result["stopped"] is True
    assert result["exploitability"] == 0.25
    assert len(records) == 2


def _stop_at_question(monkeypatch, count):
    """Let the signal that `solve` waits for come when it asks for the `count`-th time."""

    @contextmanager
    def first_signal():
        answers = iter([False] * (count - 1) + [True])
        yield lambda: next(answers)

    monkeypatch.setattr("counterplay.cli.progress.catch_first_signal", first_signal)


def test_interrupt_while_building_writes_nothing(run, tmp_path, monkeypatch):
    def interrupt(game, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("counterplay.arenas.build.build_tree", interrupt)
    answer = run("solve", "kuhn_poker", "--save", tmp_path / "kuhn.policy")
    assert (answer.code, answer.out) == (130, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_a_long_run_in_good_order(run, tmp_path, number):
    file = tmp_path / "leduc.policy"
    command = [sys.executable, "-m", "counterplay.cli.main", "solve", "leduc_poker"]
    options = ["--iterations", "1000000000", "--save", str(file)]
    with subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        first = [process.stdout.readline() for _ in range(4)]
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert first[0] == "iteration  exploitability\n"
    assert err.startswith("stopping after this step; again to abort\ninterrupted after ")
    last = out.splitlines()[-1].split()
    evaluated = json.loads(run("evaluate", file, "--json").out)
    assert f"{evaluated['exploitability']:.2e}" == last[1]


def test_seconds_are_turned_into_iterations_and_stated(run):
    answer = run("solve", "kuhn_poker", "--seconds", 0.05)
    assert answer.code == 0
    assert "iterations in about 0.05 s" in answer.err.splitlines()[0]
    assert run("solve", "kuhn_poker", "--seconds", 1, "--iterations", 5).code != 0
