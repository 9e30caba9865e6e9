"""Every game and algorithm with its parameters, as forms need them; nothing is imported."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

from counterplay.experiment.config import RunSection
from counterplay.experiment.declared import declared_fields, docstring
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
    doc = docstring(where)
    return {
        "name": name,
        "summary": doc.split("\n")[0].partition(" At t")[0].rstrip(":"),
        "doc": doc,
        "problem": _missing(where),
        "fields": [
            vars(field) | {"network": field.name.endswith("_units")}
            for field in declared_fields(where)
        ],
    }


def _missing(where: str) -> str:
    """What has to be installed first, or nothing."""
    if not where.startswith("counterplay.deep."):
        return ""
    lacking = [name for name in ("jax", "optax") if importlib.util.find_spec(name) is None]
    return f"needs {lacking[0]}: pip install 'counterplay[{EXTRAS['jax']}]'" if lacking else ""
