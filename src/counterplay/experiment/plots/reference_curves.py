"""Reference curves: exploitability by step, from earlier or published measurements.

{"kuhn_2p": {"config": {"game": {"name": "kuhn_poker", "params": {"players": 2}}},
             "curve": [{"step": 250, "seconds": 2, "average": 0.22, "current": 0.25}, ...]}}

The config is optional; with it, a curve is only drawn over runs of the same game.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.errors import ConfigError, suggestion
from counterplay.experiment.run_folder import policy_names
from counterplay.experiment.run_groups import MetricCurve, game_name


def load_reference_curves(source: str, games: Collection[str] | None = None) -> list[MetricCurve]:
    """Load the reference curves of a file.

    Args:
        source: a file, for all of its curves, or `FILE:name` for one of them.
        games: the games that are plotted, as `RecordedRun.game` writes them. Curves of other games
            are left out; curves that do not name their game are kept. None: keep all.

    Raises:
        ConfigError: the file is not one of reference curves, or has none of these games.
    """
    file, chosen = source, ""
    if not Path(source).exists() and ":" in source:
        file, chosen = source.rsplit(":", 1)
    try:
        content = json.loads(Path(file).read_bytes())
    except FileNotFoundError as error:
        raise ConfigError(f"there is no file {file}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: not a file of reference curves") from error
    if not isinstance(content, dict) or not content:
        raise ConfigError(f"{file}: not a file of reference curves")
    if chosen and chosen not in content:
        raise ConfigError(f"{file} has no curve {chosen!r}{suggestion(chosen, content)}")
    names = [chosen] if chosen else list(content)
    curves = {name: _curves_from_entry(file, name, content[name]) for name in names}
    fitting = [name for name in names if games is None or _fits(content[name], games)]
    if not fitting:
        known = ", ".join(f"{name} ({_game(content[name])})" for name in names)
        wanted = ", ".join(sorted(games or ()))
        raise ConfigError(f"{file} has no curve of {wanted} among {known}")
    return [curve for name in fitting for curve in curves[name]]


def _fits(entry: Any, games: Collection[str]) -> bool:
    game = _game(entry)
    return game is None or game in games


def _game(entry: Any) -> str | None:
    """The game of a reference curve, or None if the file does not say."""
    section = entry.get("config", {}).get("game", {})
    return game_name(section) if "name" in section else None


def _curves_from_entry(file: str, name: str, entry: Any) -> list[MetricCurve]:
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


def _column(records: list[Any], key: str) -> Any:
    """A column of numbers; times may be missing."""
    missing = float("nan") if key == "seconds" else None
    return np.array([record.get(key, missing) for record in records], float)
