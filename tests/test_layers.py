"""What may import what, and what `import counterplay` leaves alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import counterplay

ROOT = Path(counterplay.__file__).parent
LAYERS = [  # each module may import only from its own layer and from those before it
    {"errors", "game", "calls", "rule_checks"},
    {"games", "kernels", "registry", "settings", "files", "memory", "splitmix", "cards"}
    | {"consent"},
    {"arena", "tree", "policy", "policy_files", "evaluate", "sampled", "playing", "solving"}
    | {"abstraction", "showing", "observing", "generated", "bounding", "control_variates"},
    {"matrix", "search", "tabular", "deep", "public"},
    {"population"},
    {"experiment"},
    {"interop", "scale", "cli", "studio"},
]


def layer(module):
    name = module.split(".")[1] if "." in module else module
    return next(i for i, names in enumerate(LAYERS) if name in names)


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "counterplay":
                yield from (f"counterplay.{alias.name}" for alias in node.names)
            else:
                yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_layers(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts in (("__init__",), ("__main__",)):
        return
    here = layer("counterplay." + ".".join(parts))
    for module in imports(path):
        if module.startswith("counterplay."):
            name = module.split(".")[1]
            if any(name in names for names in LAYERS):
                assert layer(module) <= here, f"{path.name} imports {module}"
        if module.split(".")[0] in {"ray", "optuna"}:
            assert parts[0] == "scale"
        if module.split(".")[0] in {"jax", "optax"}:
            assert parts[0] == "deep"
        if module.split(".")[0] in {"starlette", "uvicorn"}:
            assert parts[0] == "studio"
        if module.split(".")[0] in {"pyspiel", "open_spiel", "gymnasium", "pettingzoo"}:
            assert parts[0] == "interop"


def test_the_map_of_the_house_is_complete():
    text = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text()
    first, last = text.index("## A map of the house"), text.index("*From rules to judgement.*")
    rows = [line[4:54] for line in text[first:last].splitlines() if line.startswith("    ")]
    named = [name.strip("/") for row in rows for name in row.split()]
    assert sorted(named) == sorted(name for names in LAYERS for name in names)


def test_import_is_light():
    heavy = [
        "numba",
        "numpy",
        "scipy",
        "jax",
        "ray",
        "optuna",
        "rich",
        "typer",
        "starlette",
        "uvicorn",
        "pyspiel",
    ]
    heavy += ["open_spiel", "gymnasium", "pettingzoo"]
    code = f"import sys, counterplay; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_export_exists():
    for name in counterplay.__all__:
        assert getattr(counterplay, name) is not None
    assert "solve" in dir(counterplay)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        counterplay.nothing  # noqa: B018


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: p.name)
def test_files_are_short(path):
    lines = path.read_text().count("\n")
    assert lines <= 600
    if path.parent.name == "kernels":
        assert lines <= 330
    if path.parent.name in {"games", "tabular"}:
        assert lines <= 300
