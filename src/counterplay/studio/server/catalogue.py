"""The catalogue of games and algorithms for forms, read from their sources without imports."""

from __future__ import annotations

import importlib.util
from functools import cache

from counterplay.experiment.config import RunSection
from counterplay.experiment.dataclass_fields import (
    read_class_constants,
    read_dataclass_fields,
    read_docstring,
)
from counterplay.registry import ALGORITHMS, EXTRA_BY_PACKAGE, GAMES, SEARCH_AGENTS, SEARCHERS

NEED_JAX = ("counterplay.algorithms.deep.", "counterplay.search.belief_search:")
OWN_ENTRY_AGENTS = ("blueprint_search", "hunl")  # not offered for all games on the page Play


@cache
def build_catalogue() -> dict[str, object]:
    """Return names, summaries and fields with types and defaults."""
    return {
        "games": [_catalogue_entry(name, path) for name, path in GAMES.items()],
        "algorithms": [_catalogue_entry(name, path) for name, path in ALGORITHMS.items()],
        "searchers": list(SEARCHERS),
        "search_agents": [
            _catalogue_entry(name, path) | {"needs": read_class_constants(path)["needs"]}
            for name, path in SEARCH_AGENTS.items()
            if name not in OWN_ENTRY_AGENTS
        ],
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


def _catalogue_entry(name: str, class_path: str) -> dict[str, object]:
    doc = read_docstring(class_path)
    return {
        "name": name,
        "summary": doc.split("\n")[0].partition(" At t")[0].rstrip(":"),
        "doc": doc,
        "problem": _missing_package_hint(class_path),
        "fields": [
            vars(field) | {"network": field.name.endswith("hidden_sizes")}
            for field in read_dataclass_fields(class_path)
        ],
    }


def _missing_package_hint(class_path: str) -> str:
    """Return what has to be installed first, or ""."""
    if not class_path.startswith(NEED_JAX):
        return ""
    missing = [name for name in ("jax", "optax") if importlib.util.find_spec(name) is None]
    extra = EXTRA_BY_PACKAGE["jax"]
    return f"needs {missing[0]}: pip install 'counterplay[{extra}]'" if missing else ""
