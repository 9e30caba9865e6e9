"""The documentation: every block of code runs, every link leads somewhere, every name is there."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import re
import runpy
from pathlib import Path

import pytest

import counterplay as cp
from counterplay.cli.main import COMMANDS
from counterplay.registry import ALGORITHMS, GAMES
from tests.documents import run_page

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
GENERATED = {"api.md", "commands.md", "config.md"}
OLD = {"interop.md", "openspiel.md", "monte_carlo.md"}  # tables, written by benchmarks
OLD |= {"generated.md", "compiled_rules.md"}  # large games, which have tests of their own
SLOW = {"many_machines.md"}  # what other pages have run already
PAGES = [
    p for p in sorted(DOCS.rglob("*.md")) if p.name not in GENERATED and "_build" not in p.parts
]
TO_RUN = [page for page in PAGES if page.name not in OLD | SLOW]


@pytest.mark.parametrize("page", TO_RUN, ids=lambda page: str(page.relative_to(DOCS)))
def test_code_runs_and_prints_what_it_says(page, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    if page.parent.name == "howto" and page.name == "other_games.md":
        pytest.importorskip("pyspiel")
    count = run_page(page, monkeypatch, capsys)
    assert count > 0 or page.parent.name != "howto"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=str)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not target.startswith(("http://", "https://")):
            place = page.parent / target
            assert place.exists() or place.name in GENERATED, target


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for page in PAGES:
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), re.DOTALL):
            names = [line.strip() for line in block.splitlines() if line and line[0] != ":"]
            listed |= {(page.parent / name).resolve() for name in names}
    notebooks = [p for p in DOCS.rglob("*.ipynb") if "_build" not in p.parts]
    for page in [*PAGES, *notebooks]:
        if page.name != "index.md" or page.parent != DOCS:
            assert page.with_suffix("") in listed, f"{page} is in no toctree"


@pytest.fixture(scope="module")
def reference():
    return runpy.run_path(str(ROOT / "tools" / "reference.py"))


def test_every_public_name_is_documented(reference):
    text = reference["api"]()
    for name in cp.__all__:
        assert f"\n### {name}\n" in text
        thing = getattr(cp, name)
        if callable(thing):
            doc = inspect.getdoc(thing) or ""
            assert doc and not doc.startswith(f"{name}("), f"{name} has no docstring"


WITH_EXAMPLES = [
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    for path in sorted((ROOT / "src").rglob("*.py"))
    if ">>> " in path.read_text()
]


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_in_docstrings(module):
    found = doctest.testmod(importlib.import_module(module))
    assert found.failed == 0


def test_the_main_functions_have_examples():
    names = "load_game build_tree solve exploitability best_response mistakes infoset_rows"
    for name in f"{names} check_game nash_equilibria".split():
        assert ">>> " in inspect.getdoc(getattr(cp, name)), name


def test_every_command_and_key_is_documented(reference):
    commands, keys = reference["commands"](), reference["config_keys"]()
    for command in COMMANDS:
        assert f"\n## {command.__name__}\n" in commands
        for name in inspect.signature(command).parameters:
            plain = name.rstrip("_").replace("_", "-").removesuffix("s")  # RUN... for runs
            assert plain in commands.lower(), (command, name)
    for name in ALGORITHMS | GAMES:
        assert f"| `{name}` |" in keys


@pytest.mark.parametrize("path", sorted(DOCS.glob("course/*.ipynb")), ids=lambda p: p.name)
def test_notebooks_are_tidy(path):
    """Without outputs, with a title, an exercise, its hidden solution, and the source's errors."""
    book = json.loads(path.read_text())
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)
    words = "\n".join("".join(c["source"]) for c in book["cells"] if c["cell_type"] == "markdown")
    assert words.startswith("# ")
    assert "Exercise" in words
    assert "What the source gets wrong" in words
    assert any("hide-cell" in cell["metadata"].get("tags", []) for cell in code)
