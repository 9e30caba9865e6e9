"""Statistics over seeds, and tables of them for papers."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from counterplay.core.arena import Floats
from counterplay.display.latex import escape_latex
from counterplay.errors import ConfigError, suggestion
from counterplay.experiment.run_folder import find_runs
from counterplay.experiment.run_groups import RunGroup, load_run_groups

NUM_RESAMPLES = 10_000
CONFIDENCE = 0.95
MIN_RUNS_FOR_INTERVAL = 3  # with fewer values the bootstrap of a median is useless
COLUMNS = ("method", "seeds", "step", "median", "quartiles", "95 % interval", "p")
CSV_COLUMNS = (
    *("game", "method", "seeds", "step", "median", "quartile_1", "quartile_3"),
    *("interval_low", "interval_high", "p_value"),
)


@dataclass(frozen=True)
class SeedStatistics:
    """Exploitability of one method on one game, over runs that differ only in their seed."""

    game: str
    method: str
    values: tuple[float, ...]  # the last exploitability of every run
    step: int  # the smallest last step
    p_value: float | None = None  # against the baseline, corrected for several comparisons

    @property
    def median(self) -> float:
        """The median over runs."""
        return float(np.median(self.values))

    @property
    def quartiles(self) -> tuple[float, float]:
        """The first and third quartile, by linear interpolation."""
        low, high = np.quantile(self.values, (0.25, 0.75))
        return float(low), float(high)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % percentile bootstrap interval of the median; None for fewer than 3 runs."""
        if len(self.values) < MIN_RUNS_FOR_INTERVAL:
            return None
        values = np.array(self.values)
        rows = np.random.default_rng(0).integers(len(values), size=(NUM_RESAMPLES, len(values)))
        tail = (1.0 - CONFIDENCE) / 2.0
        low, high = np.quantile(np.median(values[rows], axis=1), (tail, 1.0 - tail))
        return float(low), float(high)


def seed_statistics(
    paths: Iterable[str | Path], max_step: int | None = None, baseline: str | None = None
) -> list[SeedStatistics]:
    """Return the statistics of every method on every game, from the last records of its runs.

    Args:
        paths: run folders, folders that contain some, or patterns.
        max_step: ignore records after this step.
        baseline: name of the method that the others are tested against: two-sided Mann-Whitney U
            tests, with Holm's correction for the number of methods on the same game.

    Raises:
        ConfigError: runs on rules have no exact exploitability, a run has no record up to
            `max_step`, or no run has the name of the baseline.
    """
    groups = [g for g in load_run_groups(find_runs(paths)) if g.is_exact]
    if not groups:
        raise ConfigError("these runs have no exact exploitability: they are on rules")
    rows = [_group_statistics(group, max_step) for group in groups]
    return rows if baseline is None else _test_against_baseline(rows, baseline)


def _group_statistics(group: RunGroup, max_step: int | None) -> SeedStatistics:
    policy = group.policies[0]
    last = []
    for run in group.runs:
        history = [r for r in run.records if max_step is None or r["step"] <= max_step]
        if not history:
            raise ConfigError(f"{run.folder} has no record up to step {max_step}")
        last.append(history[-1])
    values = tuple(float(record[policy]) for record in last)
    step = int(min(record["step"] for record in last))
    return SeedStatistics(group.game, group.label, values, step)


def _test_against_baseline(rows: Sequence[SeedStatistics], baseline: str) -> list[SeedStatistics]:
    from scipy.stats import mannwhitneyu

    methods = list(dict.fromkeys(row.method for row in rows))
    if baseline not in methods:
        near = suggestion(baseline, methods)
        raise ConfigError(f"no run is called {baseline!r}{near}; there is {', '.join(methods)}")
    tested = []
    for game in dict.fromkeys(row.game for row in rows):
        of_game = [row for row in rows if row.game == game]
        base = next((row for row in of_game if row.method == baseline), None)
        others = [row for row in of_game if base is not None and row is not base]
        p_values = [float(mannwhitneyu(row.values, base.values).pvalue) for row in others if base]
        corrected = dict(zip(map(id, others), _holm(np.array(p_values)), strict=True))
        for row in of_game:
            p_value = corrected.get(id(row))
            fields = (row.game, row.method, row.values, row.step)
            tested.append(SeedStatistics(*fields, None if p_value is None else float(p_value)))
    return tested


def _holm(p_values: Floats) -> Floats:
    """Return p-values corrected by Holm's step-down procedure."""
    order = np.argsort(p_values)
    factors = np.arange(len(p_values), 0, -1)
    corrected = np.empty(len(p_values))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(p_values[order] * factors))
    return corrected


def format_table(rows: Sequence[SeedStatistics], table_format: str) -> str:
    """Return the statistics as text, one table per game.

    Args:
        rows: the statistics.
        table_format: `latex` (for the package booktabs), `markdown` or `csv`.

    Raises:
        ConfigError: the format is unknown.
    """
    check_table_format(table_format)
    return TABLE_FORMATS[table_format](rows)


def check_table_format(table_format: str) -> None:
    """Raise ConfigError if there is no such format of tables."""
    if table_format not in TABLE_FORMATS:
        known = ", ".join(TABLE_FORMATS)
        raise ConfigError(f"unknown table format {table_format!r} (there are {known})")


def _cells(row: SeedStatistics) -> tuple[str, ...]:
    interval = row.interval
    return (
        row.method,
        str(len(row.values)),
        f"{row.step:,}",
        f"{row.median:.3g}",
        _format_range(row.quartiles),
        _format_range(interval) if interval else "-",
        "-" if row.p_value is None else f"{row.p_value:.2g}",
    )


def _format_range(values: tuple[float, float]) -> str:
    return f"{values[0]:.3g} to {values[1]:.3g}"


def _tables(rows: Sequence[SeedStatistics]) -> list[tuple[str, tuple[str, ...], list[list[str]]]]:
    """Return (game, header, lines) of every game; p-values only if there are any."""
    with_p = any(row.p_value is not None for row in rows)
    header = COLUMNS if with_p else COLUMNS[:-1]
    games = dict.fromkeys(row.game for row in rows)
    return [
        (game, header, [list(_cells(row)[: len(header)]) for row in rows if row.game == game])
        for game in games
    ]


def _markdown(rows: Sequence[SeedStatistics]) -> str:
    parts = []
    for game, header, lines in _tables(rows):
        table = [list(header), ["---", *["---:"] * (len(header) - 1)], *lines]
        text = "\n".join("| " + " | ".join(cells) + " |" for cells in table)
        parts.append(f"Exploitability on {game}\n\n{text}\n".replace("_", "\\_"))
    return "\n".join(parts)


def _latex(rows: Sequence[SeedStatistics]) -> str:
    parts = []
    for game, header, lines in _tables(rows):
        body = [" & ".join(map(escape_latex, cells)) + r" \\" for cells in [list(header), *lines]]
        parts += [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{Exploitability on {escape_latex(game)}.}}",
            rf"  \begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
            r"    \toprule",
            f"    {body[0]}",
            r"    \midrule",
            *(f"    {line}" for line in body[1:]),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]
    return "\n".join(parts) + "\n"


def _csv(rows: Sequence[SeedStatistics]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for row in rows:
        interval = row.interval or ("", "")
        p_value = "" if row.p_value is None else row.p_value
        numbers = (len(row.values), row.step, row.median, *row.quartiles, *interval, p_value)
        writer.writerow((row.game, row.method, *numbers))
    return text.getvalue()


TABLE_FORMATS: dict[str, Callable[[Sequence[SeedStatistics]], str]] = {
    "latex": _latex,
    "markdown": _markdown,
    "csv": _csv,
}
