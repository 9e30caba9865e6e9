"""Lazy names as type checkers and editors see them."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from mypy import api

import counterplay as cp

ROOT = Path(__file__).parent.parent

PROGRAM = """\
import counterplay as cp

tree = cp.build_tree(cp.load_game("kuhn_poker"))
result = cp.solve(tree, cp.algorithms.CFRPlus(delay=10), iterations=10)
reveal_type(result)
reveal_type(result.records[0])
reveal_type(cp.exploitability(tree, result.policy))
reveal_type(cp.judge(tree, cp.uniform_policy(tree)))
cp.exploitabilty(tree, result.policy)
cp.algorithms.CFRPlus(dealy=10)
"""


def test_stubs_list_what_is_exported():
    tool = runpy.run_path(str(ROOT / "tools" / "exports.py"))
    stubs = tool["stubs"]()
    assert len(stubs) == 1 + len(cp._NAMESPACES)
    for path, wanted in stubs.items():
        assert path.read_text() == wanted, "run python tools/exports.py"


def test_exported_types_are_those_of_returned_objects(kuhn):
    result = cp.solve(kuhn, cp.algorithms.CFRPlus(), iterations=2)
    assert type(result) is cp.Result
    assert type(cp.judge(kuhn, result.policy)) is cp.Judgement
    assert type(cp.best_response(kuhn, result.policy, 0)) is cp.BestResponse
    assert type(result.policy) is cp.Policy
    assert type(kuhn) is cp.TreeArena
    assert isinstance(cp.load_game("kuhn_poker"), cp.Game)
    assert not isinstance(kuhn, cp.Game)


def test_mypy_sees_the_real_types(tmp_path, monkeypatch):
    monkeypatch.setenv("MYPYPATH", str(Path(cp.__file__).parent.parent))
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    options = tmp_path / "mypy.ini"  # what is large and not asked about is not followed
    large = "jax,jaxlib,optax,matplotlib,scipy,numba,pydantic,typer,rich,gymnasium,pettingzoo"
    sections = [f"[mypy-{name}.*]\nfollow_imports = skip\n" for name in large.split(",")]
    options.write_text("[mypy]\n" + "".join(sections))
    limit = sys.getrecursionlimit()
    found, problem, _ = api.run(
        [
            *("--strict", "--no-error-summary", "--follow-imports=silent"),
            *("--config-file", str(options), f"--cache-dir={tmp_path / 'cache'}"),
            "--ignore-missing-imports",
            *("--python-executable", sys.executable, str(file)),
        ]
    )
    sys.setrecursionlimit(limit)  # mypy raises it, for the whole process
    lines = [line.split(": ", 1)[1] for line in found.splitlines()]
    assert problem == ""
    assert 'note: Revealed type is "counterplay.core.solve.Result"' in lines
    assert 'note: Revealed type is "counterplay.core.solve.Record"' in lines
    assert any(line.startswith('note: Revealed type is "') and "float" in line for line in lines)
    assert 'note: Revealed type is "counterplay.core.evaluation.Judgement"' in lines
    assert any('has no attribute "exploitabilty"' in line for line in lines)
    assert any('Unexpected keyword argument "dealy"' in line for line in lines)
    assert sum("error:" in line for line in lines) == 2, found
