"""Fixtures of the tests of matrix games."""

from __future__ import annotations

import pytest


@pytest.fixture
def lp_solver(monkeypatch):
    """OpenSpiel's linear programmes, solved by scipy's HiGHS; its default is ecos, which is GPL."""
    module = pytest.importorskip("open_spiel.python.algorithms.lp_solver")
    highs = ("SCIPY", {"scipy_options": {"method": "highs"}})
    monkeypatch.setattr(module.LinearProgram.solve, "__defaults__", highs)
    return module
