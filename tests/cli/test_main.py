"""Start-up, exit codes and error messages of all commands."""

from __future__ import annotations

import subprocess
import sys

import pytest

from counterplay import __version__
from counterplay.cli import games

COMMANDS = ["games", "algorithms", "inspect", "solve", "evaluate", "play", "match"]
COMMANDS += ["run", "resume", "sweep", "plot", "compare", "grid", "trace"]


def test_version_is_printed(run):
    assert run("--version") == (0, f"counterplay {__version__}\n", "")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_names_every_command(run, arguments):
    answer = run(*arguments)
    assert answer.code == 0
    assert all(f"\n  {command} " in answer.out for command in COMMANDS)
    assert "..." not in answer.out.split("Commands:")[1]  # summaries short enough to be shown whole


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(run, command):
    answer = run(command, "--help")
    assert answer.code == 0
    assert answer.out.startswith(f"Usage: counterplay {command}")


def test_help_imports_nothing_heavy():
    program = (
        "import sys; from counterplay.cli.main import main; main(['--help']);"
        "print(sorted({'numpy', 'numba', 'scipy', 'jax'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["slove"], ["No such command 'slove'", "'solve'"]),
        (["--nope"], ["No such option", "--nope", "counterplay --help"]),
        (["solve"], ["Missing argument", "GAME", "counterplay solve --help"]),
        (["solve", "kuhn_poker", "--iteration", "5"], ["--iteration", "--iterations"]),
        (["solve", "kuhn_poker", "leduc_poker"], ["leduc_poker"]),
        (["solve", "kuhn_poker", "--iterations", "0"], ["--iterations"]),
        (["solve", "kuhn_poker", "--iterations", "many"], ["--iterations"]),
        (["solve", "kuhn_poker", "--threads", "0"], ["--threads"]),
        (["solve", "kuhn_poker", "--target", "-1"], ["--target"]),
        (["solve", "kuhn_poker", "--seed", "-1"], ["--seed"]),
        (["solve", "kuhn"], ["unknown game 'kuhn'; did you mean 'kuhn_poker'?"]),
        (["inspect", "xyzzy"], ["unknown game 'xyzzy'", "counterplay games lists all"]),
        (
            ["solve", "kuhn_poker", "--algorithm", "cfrplus"],
            ["unknown algorithm 'cfrplus'; did you mean 'cfr_plus'?"],
        ),
        (["solve", "kuhn_poker(cards=3)"], ["no parameter 'cards'; did you mean 'num_cards'?"]),
        (["solve", "kuhn_poker(players=two)"], ["players is 'two', must be of type int"]),
        (["solve", "kuhn_poker(players=1)"], ["players is 1, must be from 2"]),
        (["solve", "kuhn_poker(players"], ["cannot read game"]),
        (["inspect", "matrix_game"], ["matrix_game needs the parameter 'payoffs'"]),
        (
            ["solve", "kuhn_poker(players=3)", "--algorithm", "sequence_form_lp"],
            ["sequence_form_lp needs a two-player zero-sum game"],
        ),
        (["solve", "kuhn_poker", "--export", "policy.txt"], [".json or .csv"]),
        (["play", "kuhn_poker", "--player", "2"], ["--player is 2, must be from 0 to 1"]),
        (["play", "kuhn_poker", "--policy", "x", "--iterations", "5"], ["--policy"]),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(run, arguments, parts):
    answer = run(*arguments)
    assert answer.code == 2
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    assert all(part in answer.err for part in parts)


def test_too_large_a_game_fails_in_one_line(run, monkeypatch):
    monkeypatch.setattr("counterplay.arenas.tree.build.available_memory", lambda: 1_000_000)
    answer = run("inspect", "liars_dice")
    assert answer.code == 1
    assert answer.err.startswith("error: liars_dice has about ")
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (MemoryError(), 1, "error: out of memory; choose smaller parameters\n"),
        (OSError(28, "No space left on device"), 1, "error: No space left on device\n"),
        (BrokenPipeError(32, "Broken pipe"), 0, ""),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_failures_from_outside(run, monkeypatch, error, code, message):
    def fail(*_):
        raise error

    monkeypatch.setattr(games, "print_registry", fail)
    monkeypatch.setattr("counterplay.cli.main.silence_stdout", lambda: None)
    answer = run("games")
    assert (answer.code, answer.err.lstrip()) == (code, message)


def test_a_reader_that_leaves_is_no_error():
    command = [sys.executable, "-m", "counterplay.cli.main", "games"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()  # as `head` does once it has had enough
        assert process.stderr.read() == b""
    assert process.returncode == 0
