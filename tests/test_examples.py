"""Every cell of every example notebook runs, and every script."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

import counterplay as cp

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_notebook_cells_run(path, capsys):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    cells = json.loads(path.read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    space: dict[str, object] = {}
    exec(compile(code, str(path), "exec"), space)
    assert "cfr_plus: step 500, linear_average 9.07e-04" in capsys.readouterr().out
    assert (space["place"] / "runs.png").stat().st_size > 10_000


def test_grafting_regains_the_loss_of_abstraction(tmp_path, capsys):
    """Grafts in turn regain much of the abstraction's loss."""
    pytest.importorskip("matplotlib")
    script = runpy.run_path(str(EXAMPLES[0].parent / "abstraction.py"))
    picture = tmp_path / "abstraction.svg"
    (row,) = script["main"](
        ["--ranks", "3", "--buckets", "2", "--iterations", "100", "--output", str(picture)]
    )
    assert (row.infosets, row.left) == (288, 174)
    assert row.solved < 0.02 < 0.6 < row.lifted
    assert row.in_turn < 0.4 * row.lifted
    assert "| 6 | 2 | 288 | 174 |" in capsys.readouterr().out
    assert picture.stat().st_size > 10_000


def test_own_deep_algorithm():
    """The one that CONTRIBUTING shows learns, and the same bits however it is split."""
    pytest.importorskip("jax")
    script = runpy.run_path(str(EXAMPLES[0].parent / "own_deep_algorithm.py"))
    tree, algorithm = cp.build_tree(cp.load_game("kuhn_poker")), script["TinyHedge"]()
    whole = algorithm.step(tree, algorithm.init(tree), 1000)
    parts = algorithm.step(tree, algorithm.step(tree, algorithm.init(tree), 300), 700)
    one, other = (algorithm.policies(tree, memory)["average"] for memory in (whole, parts))
    assert cp.exploitability(tree, one) < 0.1  # uniform play: 0.458
    assert (one.probabilities == other.probabilities).all()


def test_ppo_learns_and_its_agent_is_matched_and_bounded_elsewhere(tmp_path, capsys):
    """PPO comes near the best response; its weights play in a program that only has NumPy."""
    pytest.importorskip("jax")
    pytest.importorskip("gymnasium")
    folder = Path(__file__).parent.parent / "examples"
    weights = str(tmp_path / "ppo.npz")
    words = ["--game", "kuhn_poker", "--updates", "25", "--save", weights]
    judgements = runpy.run_path(str(folder / "ppo.py"))["main"](words)
    for judgement, uniform in zip(judgements, (0.125, -0.125), strict=True):
        assert judgement.gap < 0.1 < judgement.value - uniform
    script = runpy.run_path(str(folder / "agent_from_elsewhere.py"))
    report = script["main"]([weights, "--game", "kuhn_poker", "--episodes", "800"])
    assert report.match.low <= report.exact_match <= report.match.high
    assert 0.0 < report.bound.mean - 4.0 * report.bound.standard_error <= report.nash_conv
    assert "NashConv at least" in capsys.readouterr().out
