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
class Declared:
    """A field of a dataclass, as its source has it."""

    name: str
    type: str
    default: Any  # as JSON has it; its text where it is no literal
    required: bool


@cache
def declared_fields(where: str) -> tuple[Declared, ...]:
    """The fields of the dataclass at `package.module:Class`, in their order."""
    module, name = where.split(":")
    lines = {ast.unparse(line.target): line for line in _fields(_parsed(module), name)}
    return tuple(
        Declared(field, ast.unparse(line.annotation), _value(line.value), line.value is None)
        for field, line in lines.items()
        if "ClassVar" not in ast.unparse(line.annotation)
    )


def docstring(where: str) -> str:
    """The docstring of a class."""
    module, name = where.split(":")
    return inspect.cleandoc(ast.get_docstring(_class(_parsed(module), name)) or "")


@cache
def _parsed(module: str) -> ast.Module:
    found = importlib.util.find_spec(module)
    assert found is not None and found.origin is not None
    return parse_python(Path(found.origin).read_text(encoding="utf-8"))


def _class(tree: ast.Module, name: str) -> ast.ClassDef:
    return next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name)


def _fields(tree: ast.Module, name: str) -> Iterator[ast.AnnAssign]:
    """The fields of a dataclass, those of its bases first."""
    found = _class(tree, name)
    marks = [ast.unparse(mark) for mark in found.decorator_list]
    if not any("dataclass" in mark or mark.startswith("settings(") for mark in marks):
        return
    for base in reversed(found.bases):  # as dataclasses collect them
        if isinstance(base, ast.Name):
            yield from _inherited(tree, base.id)
    for line in found.body:
        if isinstance(line, ast.AnnAssign):  # a ClassVar may become a field further down
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
