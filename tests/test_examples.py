"""Every cell of every example notebook runs."""

from __future__ import annotations

import json
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
    assert "cfr_plus: step 500, average 9.07e-04" in capsys.readouterr().out
    assert (space["place"] / "runs.png").stat().st_size > 10_000
