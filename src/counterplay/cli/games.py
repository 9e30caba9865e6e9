"""`counterplay games`: list the games; `print_registry` lists the algorithms too."""

from __future__ import annotations

import ast
import importlib.util
import shutil
import textwrap
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TypedDict

from counterplay.cli.options import JsonOption
from counterplay.cli.output import print_json
from counterplay.errors import ConfigError
from counterplay.registry import GAMES, import_registered, register_entry_points

MAX_DEFAULT_LENGTH = 24  # characters of a default value that are printed
DEFAULT_COLUMNS = 100  # if stdout is not a terminal
MIN_TEXT_COLUMNS = 30  # beside the names; a narrower terminal gets one column


class RegistryEntry(TypedDict):
    """A registered class as JSON has it."""

    name: str
    parameters: dict[str, object]  # with their defaults
    required: list[str]  # parameters without a default
    summary: str
    needs: str  # the package that must be installed first, or ""


def games(json: JsonOption = False) -> None:
    """List every game with its parameters and their defaults."""
    print_registry(GAMES, json)


def print_registry(registry: dict[str, str], json: bool) -> None:
    """Print name, summary and parameters of every entry of a registry, installed packages too."""
    register_entry_points()
    entries = [_describe_class(registry, name) for name in registry]
    if json:
        print_json(entries)
        return
    columns = shutil.get_terminal_size((DEFAULT_COLUMNS, 24)).columns
    name_width = max(map(len, registry))
    for entry in entries:
        needs = f" Needs {entry['needs']}." if entry["needs"] else ""
        parameters = _format_parameters(entry)
        lines = [f"{entry['summary']}{needs}"] + ([f"({parameters})"] if parameters else [])
        if name_width + MIN_TEXT_COLUMNS > columns:
            print(entry["name"])
            start, indent = "  ", "  "
        else:
            start, indent = f"{entry['name']:{name_width}}  ", " " * (name_width + 2)
        for line in lines:
            width = max(columns, MAX_DEFAULT_LENGTH)
            print(textwrap.fill(line, width, initial_indent=start, subsequent_indent=indent))
            start = indent


def _describe_class(registry: dict[str, str], name: str) -> RegistryEntry:
    """Return the entry of a class; from its source alone if a package is missing."""
    try:
        cls = import_registered(registry, name)
    except ConfigError as error:
        module, class_name = registry[name].split(":")
        return _describe_source(name, module, class_name, str(error).partition("needs ")[2])
    parameters: dict[str, object] = {}
    required = []
    for field in fields(cls):
        if field.default is not MISSING:
            parameters[field.name] = field.default
        elif field.default_factory is not MISSING:
            parameters[field.name] = field.default_factory()
        else:
            required.append(field.name)
    return {
        "name": name,
        "parameters": parameters,
        "required": required,
        "summary": _summary_line(cls.__doc__ or ""),
        "needs": "",
    }


def _describe_source(name: str, module: str, class_name: str, needs: str) -> RegistryEntry:
    """Return the entry of a dataclass whose module cannot be imported."""
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    class_node = next(
        node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == class_name
    )
    parameters: dict[str, object] = {}
    for node in class_node.body:
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        if "ClassVar" not in ast.unparse(node.annotation) and node.value is not None:
            try:
                value = ast.literal_eval(node.value)
            except ValueError:
                value = ast.unparse(node.value)
            parameters[node.target.id] = value
    return {
        "name": name,
        "parameters": parameters,
        "required": [],
        "summary": _summary_line(ast.get_docstring(class_node) or ""),
        "needs": needs,
    }


def _summary_line(docstring: str) -> str:
    """Return the first line of a docstring, without a last part that introduces equations."""
    line = docstring.strip().split("\n")[0]
    if not line.endswith(":"):
        return line
    sentence, _, _ = line.rpartition(". ")
    return f"{sentence or line[:-1]}."


def _format_parameters(entry: RegistryEntry) -> str:
    parts = [f"{name}=(required)" for name in entry["required"]]
    for name, value in entry["parameters"].items():
        text = str(value)
        parts.append(f"{name}={text if len(text) <= MAX_DEFAULT_LENGTH else '...'}")
    return ", ".join(parts)
