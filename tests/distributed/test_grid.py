"""Grids of algorithms, games and seeds."""

from __future__ import annotations

import json

import pytest

import counterplay as cp
from counterplay.cli.main import main
from counterplay.distributed import executor
from counterplay.distributed.grid import make_cells, run_grid
from counterplay.experiment.metrics import load_metrics
from counterplay.experiment.run_folder import find_runs
from tests.distributed.toy_units import InProcessExecutor
from tests.experiment.conftest import load_untimed_records

ALGORITHMS, GAMES = ("cfr", "dcfr(gamma=3)"), ("kuhn_poker", "kuhn_poker(players=3)")


def test_cells_are_ordinary_runs_and_are_skipped_when_finished(tmp_path):
    cells = make_cells(ALGORITHMS, GAMES, (0, 1), 40, tmp_path / "grid")
    seen = []
    result = run_grid(cells, tmp_path / "grid", InProcessExecutor(), report=seen.append)
    assert not result.stopped and not result.problems
    assert [progress.done for progress in seen] == list(range(9))
    assert len(find_runs([tmp_path / "grid"])) == 8
    folder = tmp_path / "grid" / "kuhn_poker-players_3" / "dcfr-gamma_3" / "seed-1"
    assert folder in result.folders("kuhn_poker(players=3)")
    alone = cp.run(cells[-1].config, tmp_path / "alone")
    assert load_untimed_records(folder) == load_untimed_records(alone.folder)
    again = run_grid(cells, tmp_path / "grid", None)  # nothing is left for an executor
    assert again.cells == cells and not again.stopped
    longer = make_cells(ALGORITHMS, GAMES, (0, 1), 60, tmp_path / "grid")
    run_grid(longer, tmp_path / "grid", InProcessExecutor())
    assert load_metrics(folder)[-1]["step"] == 60


def test_a_stopped_grid_goes_on(tmp_path):
    cells = make_cells(ALGORITHMS, GAMES[:1], (0, 1), 20, tmp_path)
    seen = []
    first = run_grid(
        cells, tmp_path, InProcessExecutor(), report=seen.append, stop=lambda: len(seen) > 2
    )
    assert first.stopped and 0 < sum(cell.is_finished for cell in cells) < len(cells)
    assert not run_grid(cells, tmp_path, InProcessExecutor()).stopped
    assert all(cell.is_finished for cell in cells)


def test_a_cell_that_cannot_be_run_is_told_and_the_others_go_on(tmp_path):
    cells = make_cells(("sequence_form_lp", "cfr"), GAMES, (0,), 4, tmp_path)
    result = run_grid(cells, tmp_path, InProcessExecutor())
    (problem,) = result.problems.values()
    assert "needs a two-player zero-sum game" in problem
    assert len(find_runs([tmp_path])) == 3


def test_what_is_refused(tmp_path):
    with pytest.raises(cp.ConfigError, match="unknown algorithm 'cfrr'"):
        make_cells(("cfrr",), GAMES, (0,), 4, tmp_path)
    with pytest.raises(cp.ConfigError, match="the same algorithm, game and seed twice"):
        make_cells(("cfr",), ("kuhn_poker", "kuhn_poker(players=2)"), (0,), 4, tmp_path)
    cells = make_cells(("cfr",), GAMES[:1], (0,), 4, tmp_path)
    cp.run({"game": "kuhn_poker", "algorithm": "dcfr", "spec": {"max_steps": 2}}, cells[0].folder)
    with pytest.raises(cp.ConfigError, match="seed-0 contains another run"):
        make_cells(("cfr",), GAMES[:1], (0,), 4, tmp_path)


def test_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(executor, "LocalExecutor", lambda num_processes, notify: Inside())
    options = ["grid", "--algorithms", "cfr_plus,dcfr", "--games", "leduc_poker,kuhn_poker"]
    options += ["--seeds", "0:2", "--iterations", "1e2", "-o", "out"]
    assert main(options) == 0
    lines = capsys.readouterr().out.splitlines()
    tables = "\n".join(lines).split("\n\n")
    assert [table.split("\n")[0] for table in tables] == ["leduc_poker", "kuhn_poker"]
    assert all(max(map(len, table.split("\n"))) <= 80 for table in tables)
    assert main([*options, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    for rows in facts["games"].values():
        values = [row["average"]["median"] for row in rows]
        assert len(values) == 2 and values == sorted(values)


class Inside(InProcessExecutor):
    def __enter__(self):
        return self

    def __exit__(self, *problem):
        pass


@pytest.fixture
def in_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(executor, "LocalExecutor", lambda num_processes, notify: Inside())
    return tmp_path


def test_a_study_file_has_the_options_and_draws_a_figure_per_game(in_process, capsys):
    pytest.importorskip("matplotlib")
    study = {"algorithms": ["cfr", "outcome_sampling"], "games": ["kuhn_poker", "king_ace_poker"]}
    study |= {"seeds": "0:2", "iterations": 40, "figures": "svg", "x": "nodes"}
    (in_process / "paper.json").write_text(json.dumps(study))
    assert main(["grid", "paper.json"]) == 0
    assert len(find_runs([in_process / "paper"])) == 8
    for game in study["games"]:
        assert (in_process / "paper" / f"{game}.svg").stat().st_size > 5_000
    capsys.readouterr()
    words = [
        "--algorithms",
        "cfr",
        "--seeds",
        "5",
        "-o",
        "other",
        "--figures",
        "png",
        "--x",
        "step",
    ]
    assert main(["grid", "paper.json", *words]) == 0  # options take precedence
    assert [run.name for run in find_runs([in_process / "other"])] == ["seed-5", "seed-5"]
    assert (in_process / "other" / "kuhn_poker.png").exists()


@pytest.mark.parametrize(
    ("study", "words", "message"),
    [
        (None, ["-a", "cfr", "-o", "out"], "games"),
        ({"algorithms": "cfr"}, [], "games"),
        ({"algorithms": "cfr", "games": "kuhn_poker", "seed": 1}, [], "seed"),
        ({"algorithms": "cfr", "games": "kuhn_poker", "iterations": 0}, [], "iterations"),
        ({"algorithms": "cfr", "games": "kuhn_poker", "figures": "gif"}, [], "figures"),
        ({"algorithms": "cfr", "games": "kuhn_poker", "x": "nodes"}, [], "--figures"),
        ({"algorithms": "cfr", "games": "kuhn_poker", "seeds": "a"}, [], "seeds"),
        ({"algorithms": "theirs.py:A", "games": "kuhn_poker"}, [], "wants to run the code"),
        ([1], [], "must be an object"),
    ],
)
def test_wrong_studies_are_one_line(in_process, capsys, study, words, message):
    (in_process / "theirs.py").write_text("raise SystemExit('ran')\n")
    if study is not None:
        (in_process / "s.json").write_text(json.dumps(study))
        words = ["s.json", *words]
    assert main(["grid", *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
