"""A study as a picture: which settings matter, which values did well, and who went how far."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.errors import ConfigError
from counterplay.experiment.drawing import STYLE
from counterplay.experiment.plotting import check_matplotlib
from counterplay.files import write_file
from counterplay.scale.standings import Standing, Standings, importance, standings
from counterplay.scale.study import Varied

FORMATS = (".png", ".svg", ".pdf")
BEST, REST = "#d55e00", "#0072b2"


def plot_study(folder: str | Path, output: str | Path, title: str | None = None) -> Path:
    """Draw a study; `output` ends in .png, .svg or .pdf."""
    output = Path(output)
    if output.suffix not in FORMATS:
        raise ConfigError(f"cannot draw a study to {output}; it must end in {', '.join(FORMATS)}")
    check_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    found = standings(folder)
    found.best_by_game  # noqa: B018  complains where there is nothing to draw yet
    file = io.BytesIO()
    with rc_context(STYLE):
        width = 9.0 + 1.2 * len(found.study.vary)
        figure = Figure(figsize=(min(width, 18.0), 4.6), layout="constrained")
        figure.suptitle(_safe(title or f"{found.study.name}: {found.study.base.game_name}"))
        weights = (1.0, 0.9 + 0.45 * len(found.study.vary), 1.2)
        left, middle, right = figure.subplots(1, 3, width_ratios=weights)
        _draw_importance(left, found)
        _draw_parallel(middle, found, figure)
        _draw_rungs(right, found)
        metadata: Any = {"Date": None} if output.suffix == ".svg" else None
        figure.savefig(file, format=output.suffix[1:], dpi=160, metadata=metadata)
    write_file(output, lambda handle: handle.write(file.getvalue()))
    return output


def _draw_importance(axes: Any, found: Standings) -> None:
    shares = sorted(importance(found).items(), key=lambda one: one[1])
    axes.barh([_name(key) for key, _ in shares], [share for _, share in shares], color=REST)
    axes.set(xlim=(0.0, 1.0), title="importance", xlabel="variance explained, first rung")


def _draw_parallel(axes: Any, found: Standings, figure: Any) -> None:
    """One axis per setting, one line per proposal, coloured by what it came to at the first rung"""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm

    vary, first = found.study.vary, found.study.rungs[0]
    there = [one for one in found.table if first in one.rungs]
    values = np.array([max(one.rungs[first].value, 1e-300) for one in there])
    norm = LogNorm(values.min(), max(values.max(), values.min() * 1.001))
    colours = colormaps["viridis_r"]
    for one, value in reversed(list(zip(there, values, strict=True))):
        heights = [_height(varied, one.settings[varied.key]) for varied in vary]
        best = one is found.tables[one.game][0]
        places = range(len(vary)) if len(vary) > 1 else (0, 0.02)
        axes.plot(
            list(places),
            heights if len(vary) > 1 else heights * 2,
            color=BEST if best else colours(norm(value)),
            linewidth=2.6 if best else 1.1,
            marker="o",
            markersize=5 if best else 3,
            zorder=3 if best else 2,
        )
    for place, varied in enumerate(vary):
        axes.axvline(place, color="#bbbbbb", linewidth=0.8, zorder=1)
        for height, text in _ticks(varied):
            axes.annotate(
                _safe(text), (place, height), xytext=(4, 0), textcoords="offset points",
                size=7.5, va="center", color="#555555",
            )  # fmt: skip
    axes.set_xticks(range(len(vary)), [_name(one.key) for one in vary])
    axes.set(yticks=[], ylim=(-0.06, 1.06), xlim=(-0.25, len(vary) - 0.55))
    axes.set_title(f"settings at {first:,} steps, the winner in orange")
    axes.spines["left"].set_visible(False)
    figure.colorbar(ScalarMappable(norm, colours), ax=axes, shrink=0.85, label="exploitability")


def _draw_rungs(axes: Any, found: Standings) -> None:
    for one in reversed(found.table):
        if one.rungs:
            _draw_climb(axes, one, best=one is found.tables[one.game][0])
    for who, mean in found.judged.items():
        end = found.study.rungs[-1]
        colour, marker = (BEST, "D") if who == "winner" else ("#111111", "s")
        spread = [[mean.value - mean.low], [mean.high - mean.value]] if mean.seeds > 1 else None
        label = f"{who}, {mean.seeds} unseen seeds"
        place = end * (1.12 if who == "winner" else 1.3)
        axes.errorbar([place], [mean.value], spread, color=colour, marker=marker, label=label)
    axes.set(xscale="log", yscale="log", title="rungs", xlabel="steps", ylabel="exploitability")
    axes.set_xticks(found.study.rungs, [f"{rung:,}" for rung in found.study.rungs])
    axes.minorticks_off()
    if found.judged:
        axes.legend(frameon=False, fontsize=8)


def _draw_climb(axes: Any, one: Standing, best: bool) -> None:
    axes.plot(
        list(one.rungs),
        [mean.value for mean in one.rungs.values()],
        color=BEST if best else REST,
        alpha=1.0 if best else 0.45,
        linewidth=2.2 if best else 1.0,
        marker="o",
        markersize=4,
        zorder=3 if best else 2,
    )


def _height(varied: Varied, value: Any) -> float:
    """Where a value stands between the least and the largest."""
    if varied.values:
        return varied.values.index(value) / max(len(varied.values) - 1, 1)
    low, high, x = (np.log(v) if varied.log else v for v in (varied.low, varied.high, value))
    return float((x - low) / (high - low))


def _ticks(varied: Varied) -> list[tuple[float, str]]:
    if varied.values:
        shown = varied.values if len(varied.values) <= 8 else (varied.values[0], varied.values[-1])
        return [(_height(varied, value), varied.text(value)) for value in shown]
    middle = (varied.low * varied.high) ** 0.5 if varied.log else (varied.low + varied.high) / 2.0
    found = (float(varied.low), float(middle), float(varied.high))
    return [(_height(varied, value), varied.text(value)) for value in found]


def _name(key: str) -> str:
    return _safe(key.split(".")[-1])


def _safe(text: str) -> str:
    """Text in which a dollar is a dollar."""
    return text.replace("$", r"\$")
