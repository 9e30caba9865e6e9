"""Options of all commands: short names, readable help, exit codes, closed stdout."""

from __future__ import annotations

import json
import os
import re
import sys

import pytest

from counterplay.cli.main import _command
from counterplay.cli.options import parse_integer, parse_seeds, split_specs
from counterplay.cli.output import print_table
from counterplay.errors import ConfigError

SHORT_OPTIONS = {
    "--algorithm": {"-a"},
    "--episodes": {"-e"},
    "--force": {"-f"},
    "--game": {"-g"},
    "--iterations": {"-i", "-n"},
    "--output": {"-o"},
    "--player": {"-p"},
    "--save": {"-o"},
    "--seed": {"-s"},
    "--target": {"-t"},
}


def all_commands(command=None, path=()):
    """Every command with its path, such as ("spot", "solve")."""
    command = command or _command()
    if not hasattr(command, "commands"):
        return {path: command}
    found = {}
    for name, inside in command.commands.items():
        found |= all_commands(inside, (*path, name))
    return found


COMMANDS = all_commands()


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_short_options(path):
    for parameter in COMMANDS[path].params:
        for long, short in SHORT_OPTIONS.items():
            if long in parameter.opts:
                assert short <= set(parameter.opts)


def test_short_options_mean_the_same(run):
    long = run("solve", "kuhn_poker", "--algorithm", "cfr", "--iterations", 20, "--seed", 1)
    short = run("solve", "kuhn_poker", "-a", "cfr", "-i", 20, "-s", 1)
    assert (long.code, long.out) == (short.code, short.out)
    assert short.lines[-1].startswith("20  ")


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_shows_words_instead_of_types(run, path):
    options = run(*path, "--help").out.split("Options:")[1]
    names = [line for line in options.splitlines() if re.match(r"  -", line)]
    assert names and not any("<" in re.split(r"\s{2,}", name.strip())[0] for name in names)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_wrong_usage_of_every_command(run, path):
    answer = run(*path, "--nonsense")
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("1000", 1000), ("1e6", 1_000_000), ("2.5e3", 2500), ("1_000", 1000), ("-3", -3)),
        *(("1.5", None), ("1e400", None), ("nan", None), ("inf", None), ("many", None)),
        ("1e-3", None),
    ],
)
def test_integers_are_parsed_in_all_notations(text, value):
    assert parse_integer(text) == value


def test_iterations_in_scientific_notation(run):
    facts = json.loads(run("solve", "kuhn_poker", "-n", "2e1", "--json").lines[-1])
    assert facts["iterations"] == 20
    assert "'1.5' is not an integer" in run("solve", "kuhn_poker", "-n", "1.5").err
    assert "must be at most 3" in run("spot", "show", "x", "--streets", 4).err


def test_seeds_and_lists():
    assert parse_seeds("--seeds", "0:3") == parse_seeds("--seeds", "0-2") == [0, 1, 2]
    assert parse_seeds("--seeds", "5, 1,1-2") == [5, 1, 2]
    for text in ("", "3:3", "2-1", "a", "0-99999"):
        with pytest.raises(ConfigError, match=r"--seeds is .*, must be a list such as 0:5"):
            parse_seeds("--seeds", text)
    assert split_specs("cfr, dcfr(alpha=1,gamma=3),cfr") == ["cfr", "dcfr(alpha=1,gamma=3)"]
    with pytest.raises(ConfigError, match="an empty name"):
        split_specs("cfr,,dcfr")


@pytest.mark.parametrize(
    ("arguments", "spec"),
    [
        (["solve", "kuhn_poker", "--players", "3"], "kuhn_poker(players=3)"),
        (["solve", "--players=3", "kuhn_poker"], "kuhn_poker(players=3)"),
        (["inspect", "kuhn_poker(players=3)", "--num-cards", "5"], "players=3, num_cards=5)"),
    ],
)
def test_parameters_of_games_as_options(run, arguments, spec):
    answer = run(*arguments)
    assert answer.code == 2
    assert f"parameters of a game are part of its name: '{spec}" in answer.err.replace(
        "kuhn_poker(players=3, num", "players=3, num"
    )


PRINTING = [
    *(["games"], ["games", "--json"], ["algorithms"], ["--help"], ["solve", "--help"]),
    *(["inspect", "kuhn_poker"], ["inspect", "kuhn_poker", "--episode"], ["matrix", "chicken"]),
    *(["solve", "kuhn_poker", "-n", "20"], ["solve", "kuhn_poker", "-n", "20", "--json"]),
    *(["match", "uniform", "uniform", "kuhn_poker"], ["compare", "run"], ["evaluate", "run"]),
    *(["show", "run"], ["run", "config.json"], ["run", "config.json", "--json"]),
    *(["resume", "run", "--steps", "4", "--json"], ["spot", "range", "AA"]),
    *(["spot", "equity", "AA", "KK", "--board", "Td9d6h2c3s"], ["play", "kuhn_poker"]),
]


@pytest.fixture
def config(tmp_path, monkeypatch):
    import counterplay as cp

    monkeypatch.chdir(tmp_path)
    whole = {"game": "kuhn_poker", "algorithm": "cfr", "spec": {"max_steps": 2}}
    (tmp_path / "config.json").write_text(json.dumps(whole))
    cp.run(whole, "run")


@pytest.mark.parametrize("how", ["broken", "closed"])
@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
def test_readers_that_leave(run, config, tmp_path, monkeypatch, arguments, how):
    """As in `counterplay games | head -1`, and with stdout closed by the shell (`>&-`)."""
    reader, writer = os.pipe()
    os.close(reader)
    stdout = open(writer, "w") if how == "broken" else None  # noqa: SIM115
    monkeypatch.setattr("sys.stdout", stdout)
    answer = run(*arguments)
    sys.stdout.close()
    if how == "closed":
        os.close(writer)
    assert answer.code == 0
    assert "error" not in answer.err and "Traceback" not in answer.err
    if arguments[0] == "run":  # it comes to its end nevertheless
        (process,) = tmp_path.glob("runs/config/*/process.json")
        assert json.loads(process.read_text())["ended"]["how"] == "finished"


def test_tables_fit_the_terminal(capsys, monkeypatch):
    rows = [("1", "a long text " * 20, "0.12345678901", "runs/with/a/very/long/path/" * 3)]
    for columns in (80, 120):
        monkeypatch.setenv("COLUMNS", str(columns))
        print_table(("number", "text", "value", "path"), rows)
        out = capsys.readouterr().out
        assert max(map(len, out.splitlines())) <= columns
        assert "0.12345678901" in out  # numbers stay in one piece


def test_wide_tables_of_commands(run, tmp_path):
    names = [f"a plan of {number} with many words in its long name" for number in range(14)]
    lines = [f",{','.join(names)}", *(f"{name},{','.join('3' * 14)}" for name in names)]
    (tmp_path / "wide.csv").write_text("\n".join(lines))
    for game in (tmp_path / "wide.csv", "king_ace_poker", "kuhn_poker"):
        options = ["--learner", "hedge"] if game == "kuhn_poker" else []
        answer = run("matrix", game, *options)
        assert answer.code == 0
        assert max(map(len, answer.lines[1:])) <= 80
    answer = run("match", "cfr", "uniform", "kuhn_poker(players=4)", "-n", 2)
    assert max(map(len, answer.lines)) <= 80
