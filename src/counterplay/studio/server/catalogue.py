"""Every game and algorithm with its parameters, as forms need them; nothing is imported."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

from counterplay.experiment.config import RunSection
from counterplay.experiment.dataclass_fields import read_dataclass_fields, read_docstring
from counterplay.registry import ALGORITHMS, EXTRA_BY_PACKAGE, GAMES, SEARCHERS


@cache
def build_catalogue() -> dict[str, Any]:
    """What forms need: names, what they are, and fields with types and defaults."""
    return {
        "games": [_catalogue_entry(name, where) for name, where in GAMES.items()],
        "algorithms": [_catalogue_entry(name, where) for name, where in ALGORITHMS.items()],
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


def _catalogue_entry(name: str, class_path: str) -> dict[str, Any]:
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
    """What has to be installed first, or nothing."""
    if not class_path.startswith("counterplay.algorithms.deep."):
        return ""
    lacking = [name for name in ("jax", "optax") if importlib.util.find_spec(name) is None]
    return (
        f"needs {lacking[0]}: pip install 'counterplay[{EXTRA_BY_PACKAGE['jax']}]'"
        if lacking
        else ""
    )
