"""Fields and docstrings of dataclasses, read from source, because some imports take seconds."""

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
    """A field of a dataclass, as written in the source."""

    name: str
    type: str
    default: Any  # as a JSON value; the source text if it is not a literal
    required: bool  # whether it has no default


@cache
def read_dataclass_fields(class_path: str) -> tuple[DeclaredField, ...]:
    """Return the fields of the dataclass at `package.module:Class`, in their order."""
    module, name = class_path.split(":")
    nodes = {ast.unparse(node.target): node for node in _field_nodes(_parse_module(module), name)}
    return tuple(
        DeclaredField(
            field, ast.unparse(node.annotation), _default_from_node(node.value), node.value is None
        )
        for field, node in nodes.items()
        if "ClassVar" not in ast.unparse(node.annotation)
    )


@cache
def read_class_constants(class_path: str) -> dict[str, Any]:
    """Return the class variables of the dataclass at `package.module:Class`, as JSON values."""
    module, name = class_path.split(":")
    return {
        ast.unparse(node.target): _default_from_node(node.value)
        for node in _field_nodes(_parse_module(module), name)
        if "ClassVar" in ast.unparse(node.annotation)
    }


def read_docstring(class_path: str) -> str:
    """Return the docstring of the class at `package.module:Class`."""
    module, name = class_path.split(":")
    return inspect.cleandoc(ast.get_docstring(_find_class_node(_parse_module(module), name)) or "")


@cache
def _parse_module(module: str) -> ast.Module:
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    return parse_python(Path(spec.origin).read_text(encoding="utf-8"))


def _find_class_node(tree: ast.Module, name: str) -> ast.ClassDef:
    return next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name)


def _field_nodes(tree: ast.Module, name: str) -> Iterator[ast.AnnAssign]:
    """Yield the field nodes of a dataclass, those of its bases first."""
    node = _find_class_node(tree, name)
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    if not any("dataclass" in text or text.startswith("settings(") for text in decorators):
        return
    for base in reversed(node.bases):  # the order in which dataclasses collect fields
        name_node = base.value if isinstance(base, ast.Subscript) else base  # as in Base[State]
        if isinstance(name_node, ast.Name):
            yield from _base_field_nodes(tree, name_node.id)
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign):  # a subclass may turn a ClassVar into a field
            yield statement


def _base_field_nodes(tree: ast.Module, base: str) -> Iterator[ast.AnnAssign]:
    """Yield the field nodes of a base class of this module, or of one it imports from us."""
    if any(isinstance(n, ast.ClassDef) and n.name == base for n in tree.body):
        yield from _field_nodes(tree, base)
        return
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("counterplay."):
            for alias in node.names:
                if (alias.asname or alias.name) == base:
                    yield from _field_nodes(_parse_module(str(node.module)), alias.name)


def _default_from_node(node: ast.expr | None) -> object:
    """Return a default as a JSON value, or its source text if it is not a literal."""
    if node is None:
        return None
    try:
        return _to_json_value(ast.literal_eval(node))
    except ValueError:
        return ast.unparse(node)


def _to_json_value(value: object) -> object:
    if isinstance(value, (tuple, list)):
        return [_to_json_value(item) for item in value]
    return value if isinstance(value, (int, float, str, bool)) or value is None else str(value)
