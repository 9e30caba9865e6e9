"""EVs over all flops from a report over some of them, by regression on the equity.

The equity of two ranges is cheap, so it is computed exactly on all 1,755 flops. Over the flops of a
report, EV = a + b * equity is fitted with the report's weights; with the exact mean of the equity,
it gives the mean EV over all flops (the regression estimator of survey sampling; Cochran, 1977,
chapter 7). What the chosen flops have too much or too little of the equity no longer counts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from counterplay.arenas.holdem.boards import RangeHands
from counterplay.arenas.holdem.equity import compute_equity
from counterplay.arenas.holdem.flop_report import FlopReport
from counterplay.arenas.holdem.flops import all_flops
from counterplay.core.archive import write_text
from counterplay.core.arena import Floats
from counterplay.core.cards import parse_cards
from counterplay.core.json_values import load_json
from counterplay.core.parallel import Stop, map_calls
from counterplay.errors import ConfigError

EQUITY_FILE = "equities.json"
FLOPS_PER_CALL = 45
FlopEquities = dict[str, tuple[float, float]]  # mass of pairs of hands and OOP's equity, by flop


@dataclass(frozen=True)
class AllFlopsEV:
    """Averages over all 1,755 flops: exact equity, estimated EVs."""

    equity: float  # of OOP's range; exact
    values: tuple[float, float]  # EV in chips by player; estimated
    slopes: tuple[float, float]  # chips for a whole of equity, by player


def estimate_all_flops_ev(
    report: FlopReport, folder: str | Path | None = None, stop: Stop | None = None
) -> AllFlopsEV | None:
    """Return EVs over all flops from a finished report over a weighted set, or None if stopped.

    Args:
        report: a report over 25, 49, 95 or 184 flops.
        folder: keeps the equities, which take a second to a minute.
        stop: once it returns True no further flop is begun.

    Raises:
        ConfigError: the report is not finished, or its flops are not a set for all flops.
    """
    if not report.flops.isdecimal() or not report.is_finished:
        raise ConfigError("EVs over all flops need a finished report over 25, 49, 95 or 184 flops")
    equities = flop_equities(report.spot.ranges, folder, stop)
    if equities is None:
        return None
    masses = np.array([flop.weight * equities[flop.name][0] for flop in all_flops()])
    mean = float(masses @ [equities[flop.name][1] for flop in all_flops()] / masses.sum())
    rows = report.rows
    weights = np.array([row.weight for row in rows])
    values, slopes = fit_on_equity(
        weights,
        np.array([row.equity for row in rows]),
        np.array([row.values for row in rows]),
        mean,
    )
    return AllFlopsEV(mean, (values[0], values[1]), (slopes[0], slopes[1]))


def fit_on_equity(
    weights: Floats, equity: Floats, values: Floats, mean: float
) -> tuple[list[float], list[float]]:
    """Return the fitted values [P] at a mean equity, and the slopes [P].

    Args:
        weights: [n] of the flops.
        equity: [n].
        values: [n, P].
        mean: the equity at which the fit is read.
    """
    share = weights / weights.sum()
    centre, middle = share @ equity, share @ values
    spread = share @ (equity - centre) ** 2
    slopes = np.zeros(values.shape[1])
    if spread > 1e-12:
        slopes = (share * (equity - centre)) @ (values - middle) / spread
    return (middle + slopes * (mean - centre)).tolist(), slopes.tolist()


def flop_equities(
    ranges: tuple[str, str], folder: str | Path | None = None, stop: Stop | None = None
) -> FlopEquities | None:
    """Return the mass of pairs and the equity of two ranges on all flops, or None if stopped."""
    path = Path(folder) / EQUITY_FILE if folder else None
    if path and path.exists():
        stored = load_json(path, lambda content: content)
        if isinstance(stored, dict) and stored.get("ranges") == list(ranges):
            return {name: (row[0], row[1]) for name, row in stored["equities"].items()}
    names = [flop.name for flop in all_flops()]
    parts = [names[k : k + FLOPS_PER_CALL] for k in range(0, len(names), FLOPS_PER_CALL)]
    equities: FlopEquities = {}

    def add(_: int, part: FlopEquities) -> None:
        equities.update(part)

    map_calls(part_equities, [(ranges, tuple(part)) for part in parts], add, stop)
    if len(equities) < len(names):
        return None
    if path:
        content = {"ranges": list(ranges), "equities": equities}
        write_text(path, json.dumps(content) + "\n")
    return equities


def part_equities(ranges: tuple[str, str], flops: tuple[str, ...]) -> FlopEquities:
    """Return the mass of pairs and the equity on some flops; 0 where no two hands can be dealt."""
    result = {}
    for flop in flops:
        cards = parse_cards(flop)
        first, second = (RangeHands.from_range(text, cards) for text in ranges)
        mass = 0.0
        if first.size and second.size:
            mass = float(first.weight @ first.compatible_mass(second, second.weight))
        equity = compute_equity(*ranges, flop).value if mass > 0.0 else 0.0
        result[flop] = mass, equity
    return result
