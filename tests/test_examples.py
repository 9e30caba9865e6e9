"""Every cell of every example notebook runs, and every script."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_notebook(path, capsys):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    cells = json.loads(path.read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    space: dict[str, object] = {}
    exec(compile(code, str(path), "exec"), space)
    assert "cfr_plus: step 500, linear_average 9.07e-04" in capsys.readouterr().out
    assert (space["place"] / "runs.png").stat().st_size > 10_000


def test_abstraction(tmp_path, capsys):
    """Grafts made in turn regain much of what the abstraction lost."""
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
