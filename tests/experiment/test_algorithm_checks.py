"""Algorithms of users: loaded from files, checked, run, resumed and installed as packages."""

from __future__ import annotations

import json
import textwrap

import pytest

import counterplay as cp
from counterplay.cli.main import main
from counterplay.errors import ConfigError
from counterplay.experiment.algorithm_checks import check_algorithm
from counterplay.registry import ALGORITHMS, get_spec, load_algorithm

SOURCE = '''
from dataclasses import dataclass

from counterplay.algorithms import CFRPlus


@dataclass(frozen=True)
class MyCFR(CFRPlus):
    """CFR+ with an option that this file adds."""

    extra: int = 0


class Forgetful(CFRPlus):
    """Keeps state outside its memory, so a run cannot be resumed."""

    count = 0

    def step(self, arena, memory, iterations=1):
        Forgetful.count += 1
        return super().step(arena, memory, iterations + Forgetful.count % 3)


class Unfinished:
    runs_on = ("sequences",)

    def policies(self, arena, memory):
        return {}
'''


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "my_rules.py"
    path.write_text(textwrap.dedent(SOURCE))
    return path


def test_algorithm_of_a_file_solves_like_a_registered_one(source):
    algorithm = load_algorithm(f"{source}:MyCFR(delay=2)", extra=3)
    assert (algorithm.delay, algorithm.extra) == (2, 3)
    assert get_spec(algorithm) == f"{source}:MyCFR(delay=2,extra=3)"
    mine = cp.solve("kuhn_poker", algorithm, iterations=50).policy
    known = cp.solve("kuhn_poker", "cfr_plus(delay=2)", iterations=50).policy
    assert mine.probabilities.tobytes() == known.probabilities.tobytes()


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("{}:MyCfr", "has no algorithm 'MyCfr'; did you mean 'MyCFR'"),
        ("{}:MyCFR(delays=1)", "MyCFR has no parameter 'delays'"),
        ("nowhere.py:MyCFR", "there is no file nowhere.py"),
    ],
)
def test_wrong_names_are_reported(source, spec, problem):
    with pytest.raises(ConfigError, match=problem.replace("(", r"\(")):
        load_algorithm(spec.format(source))


def test_check_reports_which_relations_hold(source):
    good = list(check_algorithm(load_algorithm(f"{source}:MyCFR"), iterations=200))
    assert [result.holds for result in good] == [True] * 6, good
    bad = {r.name: r for r in check_algorithm(load_algorithm(f"{source}:Forgetful"), 200)}
    assert not bad["any split into steps"].holds
    assert not bad["same seed, same bits"].holds
    (only,) = check_algorithm(load_algorithm(f"{source}:Unfinished"), 200)
    assert only.detail == "it has no method init"


def test_check_command_fails_for_an_algorithm_that_fails(source, capsys):
    assert main(["check", "my_rules.py:MyCFR", "--iterations", "100"]) == 0
    assert capsys.readouterr().out.count("holds") == 6
    assert main(["check", "my_rules.py:Unfinished"]) == 1
    assert "FAILS" in capsys.readouterr().out


def test_runs_of_an_algorithm_of_a_file_are_resumed(source, capsys, tmp_path):
    config = {
        "game": "kuhn_poker",
        "algorithm": "my_rules.py:MyCFR(delay=1)",
        "spec": {"max_steps": 40, "evaluate_every": 20, "extra": 2},
    }
    (tmp_path / "study.json").write_text(json.dumps(config))
    assert main(["run", "study.json"]) == 2  # the config names code that is not allowed yet
    assert "my_rules.py" in capsys.readouterr().err
    assert main(["run", "study.json", "--trust", "my_rules.py"]) == 0
    assert main(["resume", "runs/*/*", "--steps", "60"]) == 0
    assert main(["compare", "runs"]) == 0
    assert " 60 " in capsys.readouterr().out
    source.write_text(source.read_text() + "\n# changed\n")
    assert main(["resume", "runs/*/*", "--steps", "80"]) == 2
    assert "has changed since you allowed it" in capsys.readouterr().err


def test_solve_takes_an_algorithm_of_a_file(source, capsys):
    assert main(["solve", "kuhn_poker", "--algorithm", "my_rules.py:MyCFR"]) == 0
    assert "exploitability" in capsys.readouterr().out


def test_installed_packages_register_games_and_algorithms(tmp_path, monkeypatch):
    package = tmp_path / "site"
    (package / "their_games-1.0.dist-info").mkdir(parents=True)
    (package / "their_games.py").write_text(textwrap.dedent(SOURCE))
    (package / "their_games-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: their-games\nVersion: 1.0\n"
    )
    (package / "their_games-1.0.dist-info" / "entry_points.txt").write_text(
        "[counterplay.algorithms]\ntheir_cfr = their_games:MyCFR\ncfr = their_games:MyCFR\n"
    )
    monkeypatch.syspath_prepend(str(package))
    before = dict(ALGORITHMS)
    try:
        algorithm = load_algorithm("their_cfr(extra=4)")
        assert algorithm.extra == 4
        assert get_spec(algorithm) == "their_cfr(extra=4)"
        assert ALGORITHMS["cfr"] == before["cfr"]  # names of this package are not replaced
    finally:
        ALGORITHMS.clear()
        ALGORITHMS.update(before)
