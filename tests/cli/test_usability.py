"""Small things that stopped people once."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

OWN = '''
from dataclasses import dataclass
import counterplay as cp

@dataclass(frozen=True)
class Pennies:
    """The player who matches wins the stake."""
    stake: float = 1.0
    num_players = 2
    def initial_state(self): return ()
    def player(self, state): return len(state) if len(state) < 2 else cp.TERMINAL
    def actions(self, state): return (0, 1)
    def chance_outcomes(self, state): return []
    def next_state(self, state, action): return (*state, action)
    def utilities(self, state):
        gain = self.stake * {(0, 0): 2.0, (1, 1): 1.0}.get(state, -1.0)
        return gain, -gain
    def infoset_key(self, state, player): return f"player {player}"
    def action_name(self, state, action): return ("heads", "tails")[action]
'''
CONFIG = {"spec": {"max_steps": 50, "evaluate_every": 10}, "algorithm": "cfr_plus"}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mygame.py").write_text(OWN)
    return tmp_path


def test_own_games_everywhere(run, here, monkeypatch):
    game = "mygame.py:Pennies(stake=2)"
    assert run("solve", game, "--save", "p.policy").code == 0
    assert run("evaluate", "p.policy").lines[0] == "game  mygame.py:Pennies(stake=2)"
    assert run("inspect", game).lines[0].split() == ["game", "mygame.py:Pennies(stake=2)"]
    assert run("play", game, "--policy", "p.policy", typed="heads\nq\n").code == 0
    assert run("match", "p.policy", "uniform", game).code == 0
    assert run("show", "p.policy").code == 0
    (here / "c.json").write_text(json.dumps({**CONFIG, "game": game}))
    assert run("run", "c.json").code == 0
    assert run("evaluate", "runs/c/*").code == 0
    monkeypatch.syspath_prepend(here)
    assert run("solve", "mygame:Pennies").code == 0
    assert "runs that file's code" in " ".join(run("solve", "--help").out.split())


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("mygame.py", "mygame.py is a Python file; name one of its games: mygame.py:Class"),
        ("mygame.py:Penny", "mygame.py has no game 'Penny'; did you mean 'Pennies'?"),
        ("mygame.py:MatchingPennies", "mygame.py has no game 'MatchingPennies'"),
        ("nothing.py:Pennies", "there is no file nothing.py"),
        ("mygame.py:Pennies(stakes=2)", "did you mean 'stake'?"),
    ],
)
def test_own_games_that_are_not_there(run, here, spec, message):
    answer = run("solve", spec)
    assert answer.code == 2
    assert message in answer.err
    assert "matching_pennies" not in answer.err


@pytest.mark.parametrize("game", ["kuhn.efg", "chicken.nfg", "kuhn.json", "openspiel:kuhn_poker"])
def test_any_game_in_a_config(run, here, game):
    if game.startswith("openspiel"):
        pytest.importorskip("pyspiel")
    else:
        name = {"kuhn": "kuhn_poker"}.get(game.split(".")[0], "chicken")
        run("convert", name, game)
    (here / "c.json").write_text(json.dumps({**CONFIG, "game": game}))
    assert run("run", "c.json").code == 0
    found = json.loads(run("evaluate", "runs/c/*@average", "--json").out)["game"]
    assert found == (game if game.startswith("openspiel") else str(here / game))


def test_a_config_must_name_its_algorithm(run, here):
    (here / "c.json").write_text(json.dumps({"game": "kuhn_poker", "spec": {"max_steps": 5}}))
    answer = run("run", "c.json")
    assert (answer.code, answer.err) == (2, "error: c.json: algorithm: missing key\n")


@pytest.mark.parametrize("name", ["CFR", "cfr-plus", "CFRPlus", "DCFR(gamma=3)"])
def test_names_in_capitals_are_understood(run, name):
    assert run("solve", "kuhn_poker", "--algorithm", name, "--iterations", 5).code == 0
    assert run("solve", "Kuhn_Poker", "--iterations", 5).code == 0


def test_advice_that_can_be_followed(run):
    answer = run("inspect", "connect_four")
    assert answer.code == 1
    assert "inspect --estimate" in answer.err
    assert run("inspect", "connect_four", "--estimate").code == 0


def test_what_convert_writes_matrix_reads(run, here):
    assert run("convert", "chicken", "c.json").code == 0
    for name in ("c.json", "chicken"):
        text = run("matrix", name).out.split("\n", 1)[1]
        assert "dare" in text
        assert "Nash equilibria found: 3" in text
    (here / "p.json").write_text("[[1, 0], [0, 2]]")
    assert run("solve", "p.json", "--algorithm", "sequence_form_lp").code == 0


def test_tables_with_names(run, here):
    (here / "m.csv").write_text(",L,R\nT,3,0\nB,1,2\n")
    out = run("matrix", "m.csv").out
    assert "   L  R\nT  3  0\nB  1  2\n" in out
    (here / "h.csv").write_text("L,R\n3,0\n1,2\n")
    assert "   L  R\n0  3  0\n1  1  2\n" in run("matrix", "h.csv").out
    (here / "two.csv").write_text(",L,R\nT,3,0\nB,1,2\n\n,L,R\nT,1,0\nB,0,1\n")
    assert "T  3, 1  0, 0" in run("matrix", "two.csv").out


def test_json_lines_come_while_it_goes(here):
    command = [sys.executable, "-m", "counterplay", "solve", "leduc_poker", "--json"]
    command += ["--iterations", "100000000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, noise = process.communicate()
    assert json.loads(first)["iteration"] == 1
    assert process.returncode == 130
    assert json.loads(rest.splitlines()[-1])["stopped"] is True
    assert b"stopping after this step; again to abort" in noise


def test_narrow_terminals_keep_numbers_whole(run, here, monkeypatch):
    run("solve", "leduc_poker", "--iterations", 10, "--save", "a.policy")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "34")
    monkeypatch.setenv("TERM", "dumb")
    out = run("evaluate", "a.policy").out
    assert len(re.findall(r"\d\.\d\de-?\+?\d\d", out)) >= 4
    assert "…" not in out


def test_resume_many_and_run_many_seeds(run, here):
    (here / "c.json").write_text(json.dumps({**CONFIG, "game": "kuhn_poker"}))
    assert run("run", "c.json", "--seeds", "0-2").code == 0
    folders = sorted((here / "runs" / "c").iterdir())
    assert [json.loads((f / "config.json").read_text())["spec"]["seed"] for f in folders] == [
        0,
        1,
        2,
    ]
    assert run("resume", *folders, "--steps", 80).code == 0
    answer = run("resume", "runs/c/*", "--steps", 80)
    assert answer.err.count("is finished, at step 80") == 3
    assert "to continue them all: runs/c/*" in run("resume", "runs/c").err
    for wrong in ("4-0", "x", "", "0-99999999999"):
        assert run("run", "c.json", "--seeds", wrong).code == 2
    assert run("run", "c.json", "--seeds", "1", "--seed", 1).code == 2


def test_labels_name_the_game_and_leave_defaults_out(run, here):
    for name, algorithm, game in [
        ("a", "cfr", "kuhn_poker"),
        ("a", "dcfr(gamma=3)", "kuhn_poker"),
        ("b", "cfr", "kuhn_poker(players=3)"),
    ]:
        (here / "c.json").write_text(
            json.dumps({**CONFIG, "name": name, "algorithm": algorithm, "game": game})
        )
        assert run("run", "c.json").code == 0
    labels = [row["name"] for row in json.loads(run("compare", "runs", "--json").out)]
    assert labels == [
        *("a (kuhn_poker, cfr)", "a (kuhn_poker, dcfr, gamma=3.0)"),
        "b (kuhn_poker(players=3))",
    ]


def test_plot_to_pdf(run, here):
    pytest.importorskip("matplotlib")
    (here / "c.json").write_text(json.dumps({**CONFIG, "game": "kuhn_poker"}))
    run("run", "c.json")
    assert run("plot", "runs", "-o", "x.pdf").code == 0
    assert (here / "x.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("command", [["games"], ["algorithms"], ["show", "a.policy"]])
def test_a_closed_pipe_is_no_failure(run, here, command):
    run("solve", "leduc_poker", "--iterations", 1, "--save", "a.policy")
    line = f"{sys.executable} -m counterplay {' '.join(command)} | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "0"
    assert done.stderr == ""


def test_shell_completion(here):
    environment = os.environ | {
        "_COUNTERPLAY_COMPLETE": "complete_bash",
        "COMP_WORDS": "counterplay solve leduc",
        "COMP_CWORD": "2",
    }
    code = "import sys; from counterplay.cli.main import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert done.stdout.split() == ["leduc_poker"]


def test_compiling_is_said_and_rates_leave_it_out(monkeypatch):
    from counterplay.cli.progress import ProgressBar

    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr("sys.stderr", io.StringIO())
    bar = ProgressBar("running", "steps", total=100)
    clock[0] = 50.0  # seconds of compilation
    bar.restart_rate(1)
    clock[0] = 60.0
    assert bar.rate(101) == pytest.approx(10.0)
