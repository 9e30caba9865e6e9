"""A study as a picture: which settings matter, which values did well, and who went how far."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.core.archive import write_file
from counterplay.distributed.ranking import (
    RankedProposal,
    StudyRanking,
    load_study_ranking,
    setting_importance,
)
from counterplay.distributed.study import SearchDimension
from counterplay.errors import ConfigError
from counterplay.experiment.plots.figure import MATPLOTLIB_STYLE
from counterplay.experiment.plots.run_plots import require_matplotlib

PLOT_SUFFIXES = (".png", ".svg", ".pdf")
BEST_COLOUR, OTHER_COLOUR = "#d55e00", "#0072b2"


def plot_study(folder: str | Path, output: str | Path, title: str | None = None) -> Path:
    """Draw a study; `output` ends in .png, .svg or .pdf."""
    output = Path(output)
    if output.suffix not in PLOT_SUFFIXES:
        raise ConfigError(
            f"cannot draw a study to {output}; it must end in {', '.join(PLOT_SUFFIXES)}"
        )
    require_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    found = load_study_ranking(folder)
    found.best_by_game  # noqa: B018  complains where there is nothing to draw yet
    file = io.BytesIO()
    with rc_context(MATPLOTLIB_STYLE):
        width = 9.0 + 1.2 * len(found.study.vary)
        figure = Figure(figsize=(min(width, 18.0), 4.6), layout="constrained")
        figure.suptitle(
            _escape_dollars(title or f"{found.study.name}: {found.study.base.game_name}")
        )
        weights = (1.0, 0.9 + 0.45 * len(found.study.vary), 1.2)
        left, middle, right = figure.subplots(1, 3, width_ratios=weights)
        _draw_importance(left, found)
        _draw_parallel(middle, found, figure)
        _draw_rungs(right, found)
        metadata: Any = {"Date": None} if output.suffix == ".svg" else None
        figure.savefig(file, format=output.suffix[1:], dpi=160, metadata=metadata)
    write_file(output, lambda handle: handle.write(file.getvalue()))
    return output


def _draw_importance(axes: Any, ranking: StudyRanking) -> None:
    shares = sorted(setting_importance(ranking).items(), key=lambda one: one[1])
    axes.barh(
        [_short_key(key) for key, _ in shares], [share for _, share in shares], color=OTHER_COLOUR
    )
    axes.set(xlim=(0.0, 1.0), title="importance", xlabel="variance explained, first rung")


def _draw_parallel(axes: Any, ranking: StudyRanking, figure: Any) -> None:
    """One axis per setting, one line per proposal, coloured by what it came to at the first rung"""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm

    vary, first = ranking.study.vary, ranking.study.rungs[0]
    there = [one for one in ranking.proposals if first in one.mean_by_rung]
    values = np.array([max(one.mean_by_rung[first].value, 1e-300) for one in there])
    norm = LogNorm(values.min(), max(values.max(), values.min() * 1.001))
    colours = colormaps["viridis_r"]
    for one, value in reversed(list(zip(there, values, strict=True))):
        heights = [_axis_position(varied, one.settings[varied.key]) for varied in vary]
        best = one is ranking.tables[one.game][0]
        places = range(len(vary)) if len(vary) > 1 else (0, 0.02)
        axes.plot(
            list(places),
            heights if len(vary) > 1 else heights * 2,
            color=BEST_COLOUR if best else colours(norm(value)),
            linewidth=2.6 if best else 1.1,
            marker="o",
            markersize=5 if best else 3,
            zorder=3 if best else 2,
        )
    for place, varied in enumerate(vary):
        axes.axvline(place, color="#bbbbbb", linewidth=0.8, zorder=1)
        for height, text in _axis_ticks(varied):
            axes.annotate(
                _escape_dollars(text), (place, height), xytext=(4, 0), textcoords="offset points",
                size=7.5, va="center", color="#555555",
            )  # fmt: skip
    axes.set_xticks(range(len(vary)), [_short_key(one.key) for one in vary])
    axes.set(yticks=[], ylim=(-0.06, 1.06), xlim=(-0.25, len(vary) - 0.55))
    axes.set_title(f"settings at {first:,} steps, the winner in orange")
    axes.spines["left"].set_visible(False)
    figure.colorbar(ScalarMappable(norm, colours), ax=axes, shrink=0.85, label="exploitability")


def _draw_rungs(axes: Any, ranking: StudyRanking) -> None:
    for one in reversed(ranking.proposals):
        if one.mean_by_rung:
            _draw_proposal(axes, one, is_best=one is ranking.tables[one.game][0])
    for who, mean in ranking.judgement_by_config.items():
        end = ranking.study.rungs[-1]
        colour, marker = (BEST_COLOUR, "D") if who == "winner" else ("#111111", "s")
        spread = [[mean.value - mean.low], [mean.high - mean.value]] if mean.num_seeds > 1 else None
        label = f"{who}, {mean.num_seeds} unseen seeds"
        place = end * (1.12 if who == "winner" else 1.3)
        axes.errorbar([place], [mean.value], spread, color=colour, marker=marker, label=label)
    axes.set(xscale="log", yscale="log", title="rungs", xlabel="steps", ylabel="exploitability")
    axes.set_xticks(ranking.study.rungs, [f"{rung:,}" for rung in ranking.study.rungs])
    axes.minorticks_off()
    if ranking.judgement_by_config:
        axes.legend(frameon=False, fontsize=8)


def _draw_proposal(axes: Any, proposal: RankedProposal, is_best: bool) -> None:
    axes.plot(
        list(proposal.mean_by_rung),
        [mean.value for mean in proposal.mean_by_rung.values()],
        color=BEST_COLOUR if is_best else OTHER_COLOUR,
        alpha=1.0 if is_best else 0.45,
        linewidth=2.2 if is_best else 1.0,
        marker="o",
        markersize=4,
        zorder=3 if is_best else 2,
    )


def _axis_position(dimension: SearchDimension, value: Any) -> float:
    """Where a value stands between the least and the largest."""
    if dimension.choices:
        return dimension.choices.index(value) / max(len(dimension.choices) - 1, 1)
    low, high, x = (
        np.log(v) if dimension.log else v for v in (dimension.low, dimension.high, value)
    )
    return float((x - low) / (high - low))


def _axis_ticks(dimension: SearchDimension) -> list[tuple[float, str]]:
    if dimension.choices:
        shown = (
            dimension.choices
            if len(dimension.choices) <= 8
            else (dimension.choices[0], dimension.choices[-1])
        )
        return [
            (_axis_position(dimension, value), dimension.format_value(value)) for value in shown
        ]
    middle = (
        (dimension.low * dimension.high) ** 0.5
        if dimension.log
        else (dimension.low + dimension.high) / 2.0
    )
    found = (float(dimension.low), float(middle), float(dimension.high))
    return [(_axis_position(dimension, value), dimension.format_value(value)) for value in found]


def _short_key(key: str) -> str:
    return _escape_dollars(key.split(".")[-1])


def _escape_dollars(text: str) -> str:
    """Text in which a dollar is a dollar."""
    return text.replace("$", r"\$")
