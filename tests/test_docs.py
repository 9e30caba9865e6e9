"""The documentation: every block of code runs, every link leads somewhere, every name is there."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import operator
import re
import runpy
import typing
from dataclasses import fields
from pathlib import Path

import pytest
import typer.main

import counterplay as cp
from counterplay.cli.main import COMMANDS, app
from counterplay.experiment import config
from counterplay.registry import ALGORITHMS, GAMES
from tests.documents import BLOCK, run_page, write_files

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
GENERATED = {"api.md", "commands.md", "config.md"}
NOT_RUN = {  # page -> why its blocks are not run with the others
    "generated.md": "millions of infosets: run by `make test-slow`",
    "howto/many_machines.md": "commands that other pages have run, and for several machines",
}
FIRST = {  # page -> those whose files it takes for granted
    "compiled_rules.md": ["howto/own_game.md"],
}
PAGES = [
    p for p in sorted(DOCS.rglob("*.md")) if p.name not in GENERATED and "_build" not in p.parts
]


def name_of(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


TO_RUN = [page for page in PAGES if name_of(page) not in NOT_RUN]


@pytest.mark.parametrize("page", TO_RUN, ids=name_of)
def test_code_runs_and_prints_what_it_says(page, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    if name_of(page) == "howto/other_games.md":
        pytest.importorskip("pyspiel")
    for earlier in FIRST.get(name_of(page), ()):
        write_files(DOCS / earlier)
    count = run_page(page, monkeypatch, capsys)
    assert count > 0 or page.parent.name != "howto"


@pytest.mark.slow
def test_the_largest_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_page(DOCS / "generated.md", monkeypatch, capsys) == 1


def test_what_is_not_run_is_there_and_says_why():
    for name, reason in NOT_RUN.items():
        assert (DOCS / name).exists() and reason
        kinds = {kind for kind, *_ in BLOCK.findall((DOCS / name).read_text())}
        assert kinds & {"python", "console"}, f"{name} has nothing to run: strike it from the list"


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
    spaces = {space: getattr(cp, space).__all__ for space in cp._NAMESPACES}
    inner = [f"{space}.{name}" for space, names in spaces.items() for name in names]
    assert len(inner) > 150
    for name in [*cp.__all__, *inner]:
        assert f"\n### {name}\n" in text
        thing = operator.attrgetter(name)(cp)
        if callable(thing):
            doc, short = inspect.getdoc(thing) or "", name.rpartition(".")[2]
            assert doc and not doc.startswith(f"{short}("), f"{name} has no docstring"


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
    for name in f"{names} check_game matrix.nash_equilibria".split():
        assert ">>> " in inspect.getdoc(operator.attrgetter(name)(cp)), name


def test_every_command_and_option_is_documented(reference):
    """Each section of the page has all that the command line's own parser takes."""
    text = reference["commands"]()
    sections = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    group = typer.main.get_command(app)
    known = dict(reference["all_commands"](group))
    assert set(sections) == set(known)
    assert {name.split()[0] for name in known} == set(group.commands)
    assert {command.__name__ for command in COMMANDS} <= set(group.commands)
    for name, command in known.items():
        parameters = [one for one in command.params if not getattr(one, "hidden", False)]
        for one in parameters:
            is_option = one.param_type_name == "option"
            for word in one.opts if is_option else [one.metavar or one.name]:
                assert word.lower() in sections[name].lower(), (name, word)


def test_every_config_key_is_documented(reference):
    text = reference["config_keys"]()
    for name, field in config.ConfigOutline.model_fields.items():
        assert f"`{name}`" in text or f"`{name}." in text, name
        for choice in typing.get_args(field.annotation) if name in ("arena", "device") else ():
            assert f"`{choice}`" in text, (name, choice)
    for name in config.GameSection.model_fields:
        assert f"`game.{name}`" in text
    for name in config.RunSection.model_fields:
        assert f"| `spec.{name}` |" in text
    for name, place in (ALGORITHMS | GAMES).items():
        (row,) = re.findall(rf"^\| `{name}` \|.*$", text, re.M)
        module, attribute = place.split(":")
        for one in fields(getattr(importlib.import_module(module), attribute)):
            assert re.search(rf"`{one.name}[=`]", row), (name, one.name)


@pytest.mark.parametrize("path", sorted(DOCS.glob("course/*.ipynb")), ids=lambda p: p.name)
def test_notebooks_are_tidy(path):
    """Outputs, a title, an exercise with a hidden solution, and the errors of the source."""
    book = json.loads(path.read_text())
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    kinds = {kind for c in code for out in c["outputs"] for kind in out.get("data", ())}
    assert kinds & {"image/png", "text/html"}
    stored = json.dumps([cell["outputs"] for cell in code])
    assert not re.search(r"/home/\w|/root/|/tmp/|site-packages|\"stderr\"", stored)
    assert not any("execution" in cell["metadata"] for cell in book["cells"])
    assert set(book["metadata"]["language_info"]) == {"name"}
    words = "\n".join("".join(c["source"]) for c in book["cells"] if c["cell_type"] == "markdown")
    assert words.startswith("# ")
    assert "Exercise" in words
    assert "What the source gets wrong" in words
    assert any("hide-cell" in cell["metadata"].get("tags", []) for cell in code)
