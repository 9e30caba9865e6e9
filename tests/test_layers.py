"""The layers of the package, and modules that `import counterplay` leaves out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import counterplay

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))
import layers

HEAVY = (
    *("numba", "numpy", "scipy", "pydantic", "jax", "ray", "optuna", "rich", "typer"),
    *("starlette", "uvicorn", "pyspiel", "open_spiel", "gymnasium", "pettingzoo"),
)


def test_imports_follow_the_layers():
    assert not layers.problems()


def test_an_import_of_a_later_layer_is_found(monkeypatch):
    monkeypatch.setattr(layers, "ALLOWED", set())
    assert "core.policy imports display.html, which is in a later layer" in layers.problems()


@pytest.mark.parametrize("path", layers.DOCUMENTS, ids=lambda path: path.name)
def test_documents_have_the_present_table_of_layers(path):
    assert path.read_text() == layers.with_table(path.read_text()), "run python tools/layers.py"


def test_import_is_light():
    code = f"import sys, counterplay; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_every_public_name_exists():
    for name in counterplay.__all__:
        assert getattr(counterplay, name) is not None
    for namespace in counterplay._NAMESPACES:
        module = getattr(counterplay, namespace)
        for name in module.__all__:
            assert getattr(module, name) is not None
    assert "solve" in dir(counterplay)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        counterplay.nothing  # noqa: B018


def test_top_level_names_stay_few():
    assert len(set(counterplay.__all__) - set(counterplay._NAMESPACES)) <= 55
