"""`counterplay games`: what can be played; `print_registry` serves `algorithms` too."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from counterplay.cli.common import JsonOption, print_json, print_table
from counterplay.registry import GAMES, find_class

LONGEST = 24  # characters of a default value worth a place in the table


def games(json: JsonOption = False) -> None:
    """List every game with its parameters and their defaults."""
    print_registry("game", GAMES, json)


def print_registry(kind: str, registry: dict[str, str], json: bool) -> None:
    """Print name, parameters and summary of everything in a registry."""
    entries = [_describe(name, find_class(registry, name)) for name in registry]
    if json:
        print_json(entries)
        return
    rows = [(entry["name"], _parameters(entry), entry["summary"]) for entry in entries]
    print_table((kind, "parameters", "what it is"), rows)


def _describe(name: str, cls: type) -> dict[str, Any]:
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
        "summary": _summary(cls.__doc__ or ""),
    }


def _summary(docstring: str) -> str:
    """The first line; what introduces equations, up to a colon, is left out."""
    line = docstring.strip().split("\n")[0]
    if not line.endswith(":"):
        return line
    sentence, _, _ = line.rpartition(". ")
    return f"{sentence or line[:-1]}."


def _parameters(entry: dict[str, Any]) -> str:
    parts = [f"{name}=(required)" for name in entry["required"]]
    for name, value in entry["parameters"].items():
        text = str(value)
        parts.append(f"{name}={text if len(text) <= LONGEST else '...'}")
    return ", ".join(parts) or "-"
