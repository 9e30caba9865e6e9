"""Reference curves: exploitability by step, from earlier or published measurements.

{"kuhn_2p": {"config": {"game": {"name": "kuhn_poker", "params": {"players": 2}}},
             "curve": [{"step": 250, "seconds": 2, "average": 0.22, "current": 0.25}, ...]}}

The config is optional; with it, a curve is only drawn over runs of the same game.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

import numpy as np

from counterplay.core.arena import Floats
from counterplay.errors import ConfigError, suggestion
from counterplay.experiment.config import JsonObject
from counterplay.experiment.metrics import MetricsRecord, policy_names
from counterplay.experiment.run_groups import MetricCurve, game_name


def load_reference_curves(source: str, games: Collection[str] | None = None) -> list[MetricCurve]:
    """Load the reference curves of a file.

    Args:
        source: a file, for all of its curves, or `FILE:name` for one of them.
        games: the games that are plotted, as in `RecordedRun.game`. Curves of other games are left
            out, but not those that do not name their game. None for all curves.

    Raises:
        ConfigError: the file is not one of reference curves, or has none of these games.
    """
    file, curve_name = source, ""
    if not Path(source).exists() and ":" in source:
        file, curve_name = source.rsplit(":", 1)
    try:
        content = json.loads(Path(file).read_bytes())
    except FileNotFoundError as error:
        raise ConfigError(f"there is no file {file}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: not a file of reference curves") from error
    if not isinstance(content, dict) or not content:
        raise ConfigError(f"{file}: not a file of reference curves")
    if curve_name and curve_name not in content:
        raise ConfigError(f"{file} has no curve {curve_name!r}{suggestion(curve_name, content)}")
    names = [curve_name] if curve_name else list(content)
    curves = {name: _curves_from_entry(file, name, content[name]) for name in names}
    fitting = [name for name in names if games is None or _fits(content[name], games)]
    if not fitting:
        available = ", ".join(f"{name} ({_game(content[name])})" for name in names)
        raise ConfigError(
            f"{file} has no curve of {', '.join(sorted(games or ()))} among {available}"
        )
    return [curve for name in fitting for curve in curves[name]]


def _fits(entry: JsonObject, games: Collection[str]) -> bool:
    game = _game(entry)
    return game is None or game in games


def _game(entry: JsonObject) -> str | None:
    """Return the game of a reference curve, or None if the file does not name it."""
    section = entry.get("config", {}).get("game", {})
    return game_name(section) if "name" in section else None


def _curves_from_entry(file: str, name: str, entry: JsonObject) -> list[MetricCurve]:
    try:
        records = sorted(entry["curve"], key=lambda record: record["step"])
        policies = policy_names(records[:1])
        columns = {key: _column(records, key) for key in ("step", "seconds", *policies)}
        _game(entry)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"{file}: {name} is not a reference curve") from error
    return [
        MetricCurve(
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


def _column(records: list[MetricsRecord], key: str) -> Floats:
    """Return the values of a key; `seconds` may be missing and is then NaN."""
    missing = float("nan") if key == "seconds" else None
    return np.array([record.get(key, missing) for record in records], float)
