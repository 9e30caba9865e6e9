"""Reference curves: exploitability by step that somebody has measured before.

{"kuhn_2p": {"curve": [{"step": 250, "seconds": 2, "average": 0.22, "current": 0.25}, ...]}}
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.errors import ConfigError, suggestion
from counterplay.experiment.folder import policy_names
from counterplay.experiment.series import Curve


def load_references(source: str) -> list[Curve]:
    """The curves of a file, or the one that `FILE:name` chooses."""
    file, chosen = source, ""
    if not Path(source).exists() and ":" in source:
        file, chosen = source.rsplit(":", 1)
    try:
        content = json.loads(Path(file).read_bytes())
        assert isinstance(content, dict)
    except FileNotFoundError as error:
        raise ConfigError(f"there is no file {file}") from error
    except (OSError, ValueError, AssertionError) as error:
        raise ConfigError(f"{file}: not a file of reference curves") from error
    if chosen and chosen not in content:
        raise ConfigError(f"{file} has no curve {chosen!r}{suggestion(chosen, content)}")
    names = [chosen] if chosen else list(content)
    return [curve for name in names for curve in _curves(file, name, content[name])]


def _curves(file: str, name: str, entry: Any) -> list[Curve]:
    try:
        records = sorted(entry["curve"], key=lambda record: record["step"])
        policies = policy_names(records[:1])
        columns = {key: _column(records, key) for key in ("step", "seconds", *policies)}
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{file}: {name} is not a reference curve") from error
    return [
        Curve(
            label=f"reference {name}",
            policy=policy,
            num_runs=1,
            step=columns["step"],
            seconds=columns["seconds"],
            median=columns[policy],
            low=columns[policy],
            high=columns[policy],
        )
        for policy in policies
    ]


def _column(records: list[Any], key: str) -> Any:
    """A column of numbers; times may be missing."""
    missing = float("nan") if key == "seconds" else None
    return np.array([record.get(key, missing) for record in records], float)
