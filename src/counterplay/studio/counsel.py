"""Questions that need the library's classes but no tree: what exists, is this config right?"""

from __future__ import annotations

import re
import typing
from dataclasses import MISSING, fields
from typing import Any

from counterplay.cli.matrix import load_form, study
from counterplay.errors import ConfigError, CounterplayError
from counterplay.experiment.config import RunSection, load_config, network_fields
from counterplay.interop.files import check_game_file
from counterplay.matrix.normal_form import NormalForm
from counterplay.registry import ALGORITHMS, GAMES, SEARCHERS, find_class, load_game, spec_of
from counterplay.tree.estimating import available_memory, estimate_size

MOST_CELLS = 40_000  # of a matrix that is shown and solved


def catalogue() -> dict[str, Any]:
    """Every game and algorithm with its parameters, as forms need them."""
    return {
        "games": [_entry(GAMES, name) for name in GAMES],
        "algorithms": [_entry(ALGORITHMS, name) for name in ALGORITHMS],
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


def _entry(registry: dict[str, str], name: str) -> dict[str, Any]:
    try:
        cls = find_class(registry, name)
    except ConfigError as error:  # an extra that is not installed
        return {"name": name, "problem": str(error), "fields": [], "doc": "", "summary": ""}
    hints = typing.get_type_hints(cls)
    networks = network_fields(cls) if registry is ALGORITHMS else ()
    doc = (cls.__doc__ or "").strip()
    found = {
        "name": name,
        "summary": doc.split("\n")[0].rstrip(":"),
        "doc": re.sub(r"\n    ", "\n", doc),
        "fields": [
            {
                "name": field.name,
                "type": getattr(hints[field.name], "__name__", str(hints[field.name])),
                "default": _default(field),
                "required": field.default is MISSING and field.default_factory is MISSING,
                "network": field.name in networks,
            }
            for field in fields(cls)
        ],
    }
    if registry is ALGORITHMS:
        made = cls()
        found |= {"runs_on": list(made.runs_on), "needs": made.needs}
    return found


def _default(field: Any) -> Any:
    if field.default is not MISSING:
        return _plain(field.default)
    return None if field.default_factory is MISSING else _plain(field.default_factory())


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_plain(inside) for inside in value]
    return value if isinstance(value, (int, float, str, bool)) or value is None else str(value)


def check(config: dict[str, Any]) -> dict[str, Any]:
    """The complete config, or what is wrong with it and at which key."""
    try:
        return {"config": load_config(config).to_json()}
    except CounterplayError as error:
        text = str(error).removeprefix("config: ")
        match = re.match(r"(name|algorithm|arena|device|game|networks|spec)[.\w]*", text)
        return {"problem": text, "field": match[0] if match else ""}


def estimate(spec: str) -> dict[str, Any]:
    """How large the tree would be, and whether there is room for it."""
    game = load_game(spec)
    found = estimate_size(game, seconds=0.3)
    return {
        "spec": spec_of(game),
        "players": game.num_players,
        "nodes": found.num_nodes,
        "error": found.standard_error,
        "bytes": found.num_bytes,
        "free": available_memory(),
        "fits": found.num_bytes < 0.8 * available_memory(),
    }


def examine(path: str) -> dict[str, Any]:
    """What a game file holds; its faults are named by line."""
    check_game_file(path)
    return estimate(path)


def matrix(call: dict[str, Any]) -> dict[str, Any]:
    """Dominance and equilibria of a game in normal form, and its utilities."""
    if "utility" in call:
        names = tuple(tuple(map(str, row)) for row in call.get("names") or ())
        name, form = "matrix", NormalForm(call["utility"], names)
    else:
        name, form = load_form(str(call["game"]))
    if form.utility.size > MOST_CELLS:
        shape = " x ".join(map(str, form.shape))
        raise ConfigError(f"{name} has {shape} actions: too many to show as a table")
    return study(name, form) | {"utility": form.utility.tolist()}
