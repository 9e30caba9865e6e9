"""`counterplay convert`, and the other commands on files and on OpenSpiel's games."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Run


def test_there_and_back(run: Run, tmp_path) -> None:
    first, middle, last = (tmp_path / name for name in ("a.efg", "b.json", "c.efg"))
    assert run("convert", "leduc_poker", first).code == 0
    assert run("convert", first, middle).code == 0
    answer = run("convert", middle, last)
    assert (answer.code, answer.out, answer.err) == (0, "", f"wrote {last}\n")
    assert last.read_text() == first.read_text()
    assert json.loads(middle.read_text())["format"] == "counterplay game 1"


def test_tables_survive_conversion_and_back(run: Run, tmp_path) -> None:
    first, middle, last = (tmp_path / name for name in ("a.nfg", "b.json", "c.nfg"))
    assert run("convert", "kuhn_poker", first).code == 0
    assert run("convert", first, middle).code == 0
    assert run("convert", middle, last).code == 0
    assert last.read_text() == first.read_text()
    answer = run("solve", last, "--algorithm", "sequence_form_lp", "--json")
    assert json.loads(answer.lines[-1])["values"][0] == pytest.approx(-1 / 18, abs=1e-9)


def test_files_are_games_to_every_command(run: Run, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("convert", "kuhn_poker", "kuhn.efg")
    solved = run("solve", "kuhn.efg", "-a", "cfr_plus", "-i", 100, "--save", "kuhn.policy")
    assert solved.lines[-1] == "100  1.19e-03"
    assert run("evaluate", "kuhn.policy").lines[0] == "game  kuhn.efg"
    assert json.loads(run("inspect", "kuhn.efg", "--check", "--json").out)["nodes"] == 58
    played = run("play", "kuhn.efg", "--policy", "kuhn.policy", "--episodes", 1, "--seed", 1,
                 typed="pass\npass\npass\n")  # fmt: skip
    assert played.code == 0 and "Utilities" in played.out


def test_openspiel_games_work_in_commands(run: Run, tmp_path) -> None:
    pytest.importorskip("pyspiel")
    answer = run("solve", "openspiel:kuhn_poker", "-a", "cfr_plus", "--iterations", 100)
    assert answer.lines[-1] == "100  1.19e-03"
    assert run("convert", "openspiel:matrix_pd", tmp_path / "pd.nfg").code == 0
    assert run("inspect", tmp_path / "pd.nfg").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["convert", "kuhn_poker", "kuhn.txt"], 2, "must end in .efg, .nfg, .json"),
        (["convert", "kuhn_poker", "nowhere/kuhn.efg"], 2, "there is no directory nowhere"),
        (["convert", "nowhere.efg", "kuhn.json"], 2, "there is no file nowhere.efg"),
        (["convert", "leduc_poker", "leduc.nfg"], 1, "too many pure policies for a table"),
        (["solve", "bad.efg"], 2, "bad.efg, line 2, column 3: expected the name of the node"),
        (["solve", "."], 2, "unknown game '.'"),
    ],
)
def test_bad_usage(run: Run, tmp_path, monkeypatch, arguments, code, message) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.efg").write_text('EFG 2 R "bad" { "a" }\nt 0')
    answer = run(*arguments)
    assert answer.code == code
    assert message in answer.err and answer.err.count("\n") == 1
