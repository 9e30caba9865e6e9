"""Nodes and episodes per step, and plots over them."""

from __future__ import annotations

from pathlib import Path

import pytest

import counterplay as cp
from counterplay.experiment.plots import run_plots
from counterplay.experiment.work_counts import work_per_step
from tests.documents import write_files
from tests.experiment.conftest import config

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "own_algorithm.md"


def make_run(folder, algorithm, **spec):
    cp.run(config(algorithm, **({"max_steps": 20} | spec)), folder)
    return folder


def test_a_full_sweep_touches_every_node_once_per_player(tmp_path):
    assert work_per_step(make_run(tmp_path / "a", "cfr_plus"), "nodes") == 58 * 2


def test_sampling_counts_the_nodes_of_its_walks(tmp_path):
    folder = make_run(tmp_path / "a", "outcome_sampling", max_steps=50)
    tree = cp.build_tree("kuhn_poker")
    memory = cp.solve(tree, "outcome_sampling", iterations=50).memory
    assert work_per_step(folder, "nodes") == memory.nodes_touched.sum() / 50
    assert 2 * 4 <= work_per_step(folder, "nodes") <= 2 * 6  # two episodes of 4 to 6 nodes
    assert work_per_step(folder, "episodes") == 2


def test_a_method_that_does_not_count_is_refused(tmp_path):
    with pytest.raises(cp.ConfigError, match="cfr_plus does not count episodes"):
        work_per_step(make_run(tmp_path / "a", "cfr_plus"), "episodes")


def test_an_own_algorithm_counts_by_a_method(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(PAGE)
    text = (tmp_path / "my_rules.py").read_text()
    more = "\n    def nodes_per_step(self, tree):\n        return 7\n\n    def current("
    (tmp_path / "my_rules.py").write_text(text.replace("\n    def current(", more))
    spec = "my_rules.py:MyCFR"
    cp.load_algorithm(spec)
    cp.run({"algorithm": spec, "game": "kuhn_poker", "spec": {"max_steps": 4}}, tmp_path / "a")
    assert work_per_step(tmp_path / "a", "nodes") == 7


def test_curves_over_nodes_have_steps_times_nodes(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    make_run(tmp_path / "runs" / "a", "cfr_plus")
    make_run(tmp_path / "runs" / "b", "outcome_sampling")
    drawn = []
    draw = run_plots.draw_curves
    monkeypatch.setattr(run_plots, "draw_curves", lambda *args: drawn.append(args) or draw(*args))
    notes = []
    for x in ("nodes", "episodes"):
        run_plots.plot_runs([tmp_path / "runs"], tmp_path / f"{x}.svg", x=x, note=notes.append)
    (by_nodes, axis, *_), (by_episodes, *_) = drawn
    assert axis == "nodes" and by_nodes[0].curve.step[-1] == 20 * 116
    assert [line.curve.step[-1] for line in by_episodes] == [40]
    assert len(notes) == 1 and "cfr_plus does not count episodes" in notes[0]


def test_wrong_axes_are_refused(tmp_path):
    folder = make_run(tmp_path / "a", "cfr_plus")
    with pytest.raises(cp.ConfigError, match="step, seconds, nodes or episodes"):
        run_plots.plot_runs([folder], tmp_path / "a.svg", x="hours")
    with pytest.raises(cp.ConfigError, match="no run counts episodes"):
        run_plots.plot_runs([folder], tmp_path / "a.svg", x="episodes")
