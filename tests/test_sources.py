"""The table of the source documents: every name exists, every figure has its command."""

from __future__ import annotations

import pytest
from tools import sources


@pytest.mark.parametrize("document", list(sources.TITLES))
def test_items_name_what_exists(document):
    items = [item for item in sources.load_items() if item["document"] == document]
    assert items
    assert [problem for item in items for problem in sources.find_problems(item)] == []


def test_page_is_up_to_date():
    assert sources.PAGE.read_text() == sources.format_page(), "run python tools/sources.py"


def test_wrong_items_are_reported():
    base = {"document": "000", "item": "x", "status": "works", "where": ["cp.solve"]}
    good = base | {"check": "tests/test_sources.py::test_page_is_up_to_date"}
    assert sources.find_problems(good) == []
    for change, message in (
        ({"where": ["cp.solvee"]}, "cp.solvee"),
        ({"where": ["algorithm:nfsp(no_option)"]}, "no_option"),
        ({"where": ["algorithm:unknown"]}, "unknown"),
        ({"check": "tests/missing.py::test_x"}, "no file"),
        ({"check": "tests/test_sources.py"}, "no code or no test"),
        ({"check": "tests/test_sources.py::test_missing"}, "no test test_missing"),
        ({"check": "tests/test_sources.py", "status": "open"}, "name one of its tests"),
        ({"figure": "0.1"}, "belong together"),
        ({"figure": "0.1", "command": "python -m benchmarks.none"}, "benchmarks/none.py"),
        ({"figure": "0.1", "command": "counterplay run none/kuhn"}, "configs/none/kuhn.json"),
        ({"status": "cannot work", "note": ""}, "no reason"),
        ({"status": "perhaps"}, "status"),
    ):
        (problem,) = sources.find_problems(good | change)
        assert message in problem
