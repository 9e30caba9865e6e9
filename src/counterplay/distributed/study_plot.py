"""Plots of a study: importance of settings, their values, and exploitability at the rungs."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from counterplay.experiment.plots.figure import MATPLOTLIB_STYLE, save_figure
from counterplay.experiment.plots.run_plots import require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLOT_SUFFIXES = (".png", ".svg", ".pdf")
MAX_CHOICE_TICKS = 8  # with more choices, only the first and the last are labelled
BEST_COLOUR, OTHER_COLOUR = "#d55e00", "#0072b2"


def plot_study(folder: str | Path, output: str | Path, title: str | None = None) -> Path:
    """Draw a study.

    Args:
        folder: the folder of the study.
        output: a file that ends in .png, .svg or .pdf.
        title: by default the names of the study and its game.
    """
    output = Path(output)
    if output.suffix not in PLOT_SUFFIXES:
        raise ConfigError(
            f"cannot draw a study to {output}; it must end in {', '.join(PLOT_SUFFIXES)}"
        )
    require_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    ranking = load_study_ranking(folder)
    ranking.best_by_game  # noqa: B018  raises an error if there is nothing to draw yet
    study = ranking.study
    file = io.BytesIO()
    with rc_context(MATPLOTLIB_STYLE):
        width = 9.0 + 1.2 * len(study.vary)
        figure = Figure(figsize=(min(width, 18.0), 4.6), layout="constrained")
        figure.suptitle(_escape_dollars(title or f"{study.name}: {study.base.game_name}"))
        weights = (1.0, 0.9 + 0.45 * len(study.vary), 1.2)
        left, middle, right = figure.subplots(1, 3, width_ratios=weights)
        _draw_importance(left, ranking)
        _draw_parallel(middle, ranking, figure)
        _draw_rungs(right, ranking)
        save_figure(figure, file, output.suffix[1:])
    write_file(output, lambda handle: handle.write(file.getvalue()))
    return output


def _draw_importance(axes: Axes, ranking: StudyRanking) -> None:
    fractions = sorted(setting_importance(ranking).items(), key=lambda item: item[1])
    labels, widths = [_short_key(key) for key, _ in fractions], [value for _, value in fractions]
    axes.barh(labels, widths, color=OTHER_COLOUR)
    axes.set(xlim=(0.0, 1.0), title="importance", xlabel="variance explained, first rung")


def _draw_parallel(axes: Axes, ranking: StudyRanking, figure: Figure) -> None:
    """Draw one axis per setting, and one line per proposal, coloured by its first rung."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm

    vary, first = ranking.study.vary, ranking.study.rungs[0]
    proposals = [proposal for proposal in ranking.proposals if first in proposal.mean_by_rung]
    values = np.array([max(p.mean_by_rung[first].value, 1e-300) for p in proposals])
    norm = LogNorm(values.min(), max(values.max(), values.min() * 1.001))
    colours = colormaps["viridis_r"]
    for proposal, value in reversed(list(zip(proposals, values, strict=True))):
        heights = [_axis_position(part, proposal.settings[part.key]) for part in vary]
        is_best = proposal is ranking.tables[proposal.game][0]
        axes.plot(
            list(range(len(vary))) if len(vary) > 1 else [0, 0.02],
            heights if len(vary) > 1 else heights * 2,
            color=BEST_COLOUR if is_best else colours(norm(value)),
            linewidth=2.6 if is_best else 1.1,
            marker="o",
            markersize=5 if is_best else 3,
            zorder=3 if is_best else 2,
        )
    for index, dimension in enumerate(vary):
        axes.axvline(index, color="#bbbbbb", linewidth=0.8, zorder=1)
        for height, text in _axis_ticks(dimension):
            axes.annotate(
                _escape_dollars(text), (index, height), xytext=(4, 0), textcoords="offset points",
                size=7.5, va="center", color="#555555",
            )  # fmt: skip
    axes.set_xticks(range(len(vary)), [_short_key(dimension.key) for dimension in vary])
    axes.set(yticks=[], ylim=(-0.06, 1.06), xlim=(-0.25, len(vary) - 0.55))
    axes.set_title(f"settings at {first:,} steps, the winner in orange")
    axes.spines["left"].set_visible(False)
    figure.colorbar(ScalarMappable(norm, colours), ax=axes, shrink=0.85, label="exploitability")


def _draw_rungs(axes: Axes, ranking: StudyRanking) -> None:
    """Draw exploitability over steps for all proposals, and the judgements at the end."""
    for proposal in reversed(ranking.proposals):
        if proposal.mean_by_rung:
            is_best = proposal is ranking.tables[proposal.game][0]
            _draw_proposal(axes, proposal, is_best)
    for name, mean in ranking.judgement_by_config.items():
        end = ranking.study.rungs[-1]
        colour, marker = (BEST_COLOUR, "D") if name == "winner" else ("#111111", "s")
        error = [[mean.value - mean.low], [mean.high - mean.value]] if mean.num_seeds > 1 else None
        label = f"{name}, {mean.num_seeds} unseen seeds"
        x = end * (1.12 if name == "winner" else 1.3)
        axes.errorbar([x], [mean.value], error, color=colour, marker=marker, label=label)
    axes.set(xscale="log", yscale="log", title="rungs", xlabel="steps", ylabel="exploitability")
    axes.set_xticks(ranking.study.rungs, [f"{rung:,}" for rung in ranking.study.rungs])
    axes.minorticks_off()
    if ranking.judgement_by_config:
        axes.legend(frameon=False, fontsize=8)


def _draw_proposal(axes: Axes, proposal: RankedProposal, is_best: bool) -> None:
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
    """Return the position of a value on its axis, from 0 to 1."""
    if dimension.choices:
        return dimension.choices.index(value) / max(len(dimension.choices) - 1, 1)
    low, high, x = (
        np.log(v) if dimension.log else v for v in (dimension.low, dimension.high, value)
    )
    return float((x - low) / (high - low))


def _axis_ticks(dimension: SearchDimension) -> list[tuple[float, str]]:
    if dimension.choices:
        values = dimension.choices
        if len(values) > MAX_CHOICE_TICKS:
            values = (values[0], values[-1])
    else:
        low, high = dimension.low, dimension.high
        middle = (low * high) ** 0.5 if dimension.log else (low + high) / 2.0
        values = (float(low), float(middle), float(high))
    return [(_axis_position(dimension, value), dimension.format_value(value)) for value in values]


def _short_key(key: str) -> str:
    return _escape_dollars(key.split(".")[-1])


def _escape_dollars(text: str) -> str:
    """Escape dollar signs, which matplotlib would take as mathematics."""
    return text.replace("$", r"\$")
