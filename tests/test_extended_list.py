"""The list of extended tests: sorted, without duplicates, and every test in it exists."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
LISTED = (Path(__file__).parent / "extended_tests.txt").read_text().splitlines()


def test_listed_tests_exist():
    """A renamed test would run among the quick ones again without being noticed."""
    names_by_file: dict[str, set[str]] = {}
    for line in LISTED:
        file, name = line.split("::")
        if file not in names_by_file:
            tree = ast.parse((ROOT / file).read_text())
            names_by_file[file] = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
        assert name.split("[")[0] in names_by_file[file], line


def test_list_is_sorted_and_without_duplicates():
    assert sorted(set(LISTED)) == LISTED
