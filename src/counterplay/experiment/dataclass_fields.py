"""What classes declare, read from their sources: importing some of them takes seconds."""

from __future__ import annotations

import ast
import importlib.util
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from counterplay.registry import parse_python


@dataclass(frozen=True)
class DeclaredField:
    """A field of a dataclass, as its source has it."""

    name: str
    type: str
    default: Any  # as JSON has it; its text where it is no literal
    required: bool


@cache
def read_dataclass_fields(class_path: str) -> tuple[DeclaredField, ...]:
    """The fields of the dataclass at `package.module:Class`, in their order."""
    module, name = class_path.split(":")
    lines = {ast.unparse(line.target): line for line in _field_nodes(_parse_module(module), name)}
    return tuple(
        DeclaredField(
            field, ast.unparse(line.annotation), _default_from_node(line.value), line.value is None
        )
        for field, line in lines.items()
        if "ClassVar" not in ast.unparse(line.annotation)
    )


def read_docstring(class_path: str) -> str:
    """The docstring of a class."""
    module, name = class_path.split(":")
    return inspect.cleandoc(ast.get_docstring(_find_class_node(_parse_module(module), name)) or "")


@cache
def _parse_module(module: str) -> ast.Module:
    found = importlib.util.find_spec(module)
    assert found is not None and found.origin is not None
    return parse_python(Path(found.origin).read_text(encoding="utf-8"))


def _find_class_node(tree: ast.Module, name: str) -> ast.ClassDef:
    return next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name)


def _field_nodes(tree: ast.Module, name: str) -> Iterator[ast.AnnAssign]:
    """The fields of a dataclass, those of its bases first."""
    found = _find_class_node(tree, name)
    marks = [ast.unparse(mark) for mark in found.decorator_list]
    if not any("dataclass" in mark or mark.startswith("settings(") for mark in marks):
        return
    for base in reversed(found.bases):  # as dataclasses collect them
        if isinstance(base, ast.Name):
            yield from _base_field_nodes(tree, base.id)
    for line in found.body:
        if isinstance(line, ast.AnnAssign):  # a ClassVar may become a field further down
            yield line


def _base_field_nodes(tree: ast.Module, base: str) -> Iterator[ast.AnnAssign]:
    """The fields of a base that this module has, or imports from another one of ours."""
    if any(isinstance(n, ast.ClassDef) and n.name == base for n in tree.body):
        yield from _field_nodes(tree, base)
        return
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("counterplay."):
            for alias in node.names:
                if (alias.asname or alias.name) == base:
                    yield from _field_nodes(_parse_module(str(node.module)), alias.name)


def _default_from_node(node: ast.expr | None) -> Any:
    """A default as JSON has it, or its text where it is no literal."""
    if node is None:
        return None
    try:
        return _to_json_value(ast.literal_eval(node))
    except ValueError:
        return ast.unparse(node)


def _to_json_value(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_to_json_value(inside) for inside in value]
    return value if isinstance(value, (int, float, str, bool)) or value is None else str(value)
