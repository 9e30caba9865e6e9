"""`counterplay games`: what can be played; `print_registry` serves `algorithms` too."""

from __future__ import annotations

import ast
import importlib.util
import shutil
import textwrap
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from counterplay.cli.common import JsonOption, print_json
from counterplay.errors import ConfigError
from counterplay.registry import GAMES, import_registered

MAX_DEFAULT_LENGTH = 24  # characters of a default value worth a place in the list
DEFAULT_COLUMNS = 100  # columns where no terminal says otherwise


def games(json: JsonOption = False) -> None:
    """List every game with its parameters and their defaults."""
    print_registry(GAMES, json)


def print_registry(registry: dict[str, str], json: bool) -> None:
    """Print name, summary and parameters of everything in a registry, at any width."""
    entries = [_describe_class(registry, name) for name in registry]
    if json:
        print_json(entries)
        return
    width = shutil.get_terminal_size((DEFAULT_COLUMNS, 24)).columns
    longest = max(map(len, registry))
    for entry in entries:
        needs = f" Needs {entry['needs']}." if entry["needs"] else ""
        parameters = _format_parameters(entry)
        lines = [f"{entry['summary']}{needs}"] + ([f"({parameters})"] if parameters else [])
        if longest + 30 > width:  # too narrow for two columns
            print(entry["name"])
            lead, indent = "  ", "  "
        else:
            lead, indent = f"{entry['name']:{longest}}  ", " " * (longest + 2)
        for line in lines:
            print(
                textwrap.fill(line, max(width, 24), initial_indent=lead, subsequent_indent=indent)
            )
            lead = indent


def _describe_class(registry: dict[str, str], name: str) -> dict[str, Any]:
    """What is known about a class; from its source alone where a package is missing."""
    try:
        cls, needs = import_registered(registry, name), ""
    except ConfigError as error:
        needs = str(error).partition("needs ")[2]
        return {"name": name} | _describe_source(*registry[name].split(":")) | {"needs": needs}
    parameters: dict[str, Any] = {}
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
        "needs": needs,
    }


def _describe_source(module: str, name: str) -> dict[str, Any]:
    """Parameters and summary of a dataclass, as its source has them."""
    place = importlib.util.find_spec(module)
    assert place is not None and place.origin is not None
    tree = ast.parse(Path(place.origin).read_text(encoding="utf-8"))
    found = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name)
    own = [n for n in found.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]
    parameters: dict[str, Any] = {}
    for line in own:
        if "ClassVar" not in ast.unparse(line.annotation) and line.value is not None:
            try:
                value = ast.literal_eval(line.value)
            except ValueError:
                value = ast.unparse(line.value)
            parameters[ast.unparse(line.target)] = value
    summary = _summary_line(ast.get_docstring(found) or "")
    return {"parameters": parameters, "required": [], "summary": summary}


def _summary_line(docstring: str) -> str:
    """The first line; what introduces equations, up to a colon, is left out."""
    line = docstring.strip().split("\n")[0]
    if not line.endswith(":"):
        return line
    sentence, _, _ = line.rpartition(". ")
    return f"{sentence or line[:-1]}."


def _format_parameters(entry: dict[str, Any]) -> str:
    parts = [f"{name}=(required)" for name in entry["required"]]
    for name, value in entry["parameters"].items():
        text = str(value)
        parts.append(f"{name}={text if len(text) <= MAX_DEFAULT_LENGTH else '...'}")
    return ", ".join(parts)
