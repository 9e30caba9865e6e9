"""Every game and algorithm with its parameters, read from their sources: nothing is imported."""

from __future__ import annotations

import ast
import importlib.util
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from counterplay.experiment.config import RunSection
from counterplay.registry import ALGORITHMS, EXTRAS, GAMES, SEARCHERS


@cache
def catalogue() -> dict[str, Any]:
    """What forms need: names, what they are, and fields with types and defaults."""
    return {
        "games": [_entry(name, where) for name, where in GAMES.items()],
        "algorithms": [_entry(name, where) for name, where in ALGORITHMS.items()],
        "searchers": list(SEARCHERS),
        "run": [
            {
                "name": name,
                "type": "int",
                "default": None if field.is_required() else field.default,
                "required": field.is_required(),
            }
            for name, field in RunSection.model_fields.items()
        ],
    }


def _entry(name: str, where: str) -> dict[str, Any]:
    module, cls = where.split(":")
    tree = _parsed(module)
    fields = {ast.unparse(line.target): line for line in _fields(tree, cls)}
    doc = inspect.cleandoc(ast.get_docstring(_class(tree, cls)) or "")
    return {
        "name": name,
        "summary": _summary(doc),
        "doc": doc,
        "problem": _missing(module),
        "fields": [
            {
                "name": field,
                "type": ast.unparse(line.annotation),
                "default": _value(line.value),
                "required": line.value is None,
                "network": field.endswith("_units"),
            }
            for field, line in fields.items()
        ],
    }


def _summary(doc: str) -> str:
    """The first line; what introduces equations is left out."""
    line = doc.split("\n")[0]
    return line.partition(" At t")[0].rstrip(":")


@cache
def _parsed(module: str) -> ast.Module:
    found = importlib.util.find_spec(module)
    assert found is not None and found.origin is not None
    return ast.parse(Path(found.origin).read_text(encoding="utf-8"))


def _class(tree: ast.Module, name: str) -> ast.ClassDef:
    return next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name)


def _fields(tree: ast.Module, name: str) -> Iterator[ast.AnnAssign]:
    """The fields of a dataclass, those of its bases first."""
    found = _class(tree, name)
    if not any("dataclass" in ast.unparse(mark) for mark in found.decorator_list):
        return
    for base in found.bases:
        if isinstance(base, ast.Name):
            yield from _inherited(tree, base.id)
    for line in found.body:
        if isinstance(line, ast.AnnAssign) and "ClassVar" not in ast.unparse(line.annotation):
            yield line


def _inherited(tree: ast.Module, base: str) -> Iterator[ast.AnnAssign]:
    """The fields of a base that this module has, or imports from another one of ours."""
    if any(isinstance(n, ast.ClassDef) and n.name == base for n in tree.body):
        yield from _fields(tree, base)
        return
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("counterplay."):
            for alias in node.names:
                if (alias.asname or alias.name) == base:
                    yield from _fields(_parsed(str(node.module)), alias.name)


def _value(node: ast.expr | None) -> Any:
    """A default as JSON has it, or its text where it is no literal."""
    if node is None:
        return None
    try:
        return _plain(ast.literal_eval(node))
    except ValueError:
        return ast.unparse(node)


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_plain(inside) for inside in value]
    return value if isinstance(value, (int, float, str, bool)) or value is None else str(value)


def _missing(module: str) -> str:
    """What has to be installed first, or nothing."""
    if not module.startswith("counterplay.deep."):
        return ""
    lacking = [name for name in ("jax", "optax") if importlib.util.find_spec(name) is None]
    return f"needs {lacking[0]}: pip install 'counterplay[{EXTRAS['jax']}]'" if lacking else ""
