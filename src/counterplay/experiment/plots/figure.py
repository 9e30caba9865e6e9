"""Figures of exploitability on a log axis: one colour per group of runs, references in black."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from counterplay.core.arena import Floats
from counterplay.experiment.run_groups import MetricCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REFERENCE_MARKERS = "osD^vPX*"  # by reference curve
LINE_STYLES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))  # by policy
TIME_UNITS = ((172_800.0, "days", 86_400.0), (7_200.0, "hours", 3_600.0), (600.0, "minutes", 60.0))
MATPLOTLIB_STYLE: dict[Any, Any] = {
    "font.size": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "axes.labelcolor": "#333333",
    "text.color": "#222222",
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "axes.titlesize": 12.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "svg.fonttype": "none",  # keep text as text
    "svg.hashsalt": "counterplay",  # make files reproducible
}


@dataclass(frozen=True)
class FigureStyle:
    """Size, fonts and line widths of a figure."""

    size: tuple[float, float]  # inches
    settings: dict[Any, Any]  # of matplotlib
    line_width: float
    legend_font: float  # points
    legend_width: int  # characters that fit into a line of the legend
    has_title: bool


SCREEN_STYLE = FigureStyle((8.0, 5.2), MATPLOTLIB_STYLE, 1.8, 9.0, 96, has_title=True)
PAPER_SETTINGS: dict[Any, Any] = {
    "font.size": 8.0,
    "font.family": "serif",
    "font.serif": ["STIX Two Text", "STIXGeneral", "Times New Roman", "DejaVu Serif"],
    "mathtext.fontset": "stix",
    "pdf.fonttype": 42,  # embed TrueType fonts, as publishers ask
    "axes.linewidth": 0.6,
    "axes.edgecolor": "black",
    "axes.labelcolor": "black",
    "text.color": "black",
    "xtick.color": "black",
    "ytick.color": "black",
}
# One column of a two-column page; a paper has captions instead of titles.
PAPER_STYLE = FigureStyle(
    (3.4, 2.6), MATPLOTLIB_STYLE | PAPER_SETTINGS, 1.2, 7.0, 52, has_title=False
)


@dataclass(frozen=True)
class PlotLine:
    """A curve with its colour and line style."""

    curve: MetricCurve
    colour: str
    dash: int = 0  # index into LINE_STYLES, modulo their number
    reference_index: int | None = None  # index among the references, if it is one


@dataclass(frozen=True)
class CurveFigure:
    """A figure, with positions on it as fractions of its width and height from the top left."""

    figure: Figure
    title: str
    lines: list[PlotLine]
    point_positions: list[Floats]  # [n, 2] of each line
    axes_extent: tuple[float, float]  # top and bottom of the axes
    style: FigureStyle = SCREEN_STYLE

    def render(self, file_format: str) -> bytes:
        """Return the content of a PNG, SVG or PDF file of the figure."""
        from matplotlib import rc_context

        file = io.BytesIO()
        with rc_context(self.style.settings):
            save_figure(self.figure, file, file_format)
        return file.getvalue()


def save_figure(figure: Figure, file: IO[bytes], file_format: str) -> None:
    """Write a figure as PNG, SVG or PDF, without the date, so that files are reproducible."""
    metadata: Any = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(file_format)
    figure.savefig(file, format=file_format, dpi=160, metadata=metadata)


def draw_curves(
    lines: list[PlotLine],
    x: str,
    title: str,
    log_x: bool = False,
    style: FigureStyle = SCREEN_STYLE,
) -> CurveFigure:
    """Draw lines over `step` or `seconds`.

    Args:
        x: "seconds"; or "step", "nodes" or "episodes", in which unit the curves have their `step`.
        log_x: whether that axis is logarithmic.
        style: size and fonts, of a screen or of a paper.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    unit, size = _x_label_and_scale(lines, x, log_x)
    points = [
        (
            (line.curve.seconds if x == "seconds" else line.curve.step) / size,
            _mask_nonpositive(line.curve.median),
        )
        for line in lines
    ]
    if log_x:
        points = [(_mask_nonpositive(across), up) for across, up in points]
    with rc_context(style.settings):
        figure = Figure(figsize=style.size, layout="constrained")
        axes = figure.add_subplot()
        for line, (across, up) in zip(lines, points, strict=True):
            _draw_line(axes, line, across, up, style.line_width)
        axes.set(yscale="log", xlabel=unit, ylabel=_y_label(lines))
        if style.has_title:
            axes.set_title(title.replace("$", r"\$"), pad=12)
        _format_axes(axes, x, log_x)
        _draw_legend(figure, lines, style)
        figure.draw_without_rendering()
        positions = [_figure_positions(figure, axes, *point) for point in points]
        box = axes.get_position()
    extent = 1.0 - float(box.y1), 1.0 - float(box.y0)
    return CurveFigure(figure, title, lines, positions, extent, style)


def _draw_line(axes: Axes, line: PlotLine, across: Floats, up: Floats, width: float) -> None:
    look = _line_look(line, width)
    if line.reference_index is not None:
        axes.plot(across, up, color=line.colour, zorder=5, **look)
        return
    axes.plot(across, up, color=line.colour, zorder=4, marker=_point_marker(up), ms=3, **look)
    if line.curve.num_runs > 1:
        low, high = _mask_nonpositive(line.curve.low), _mask_nonpositive(line.curve.high)
        axes.fill_between(across, low, high, color=line.colour, alpha=0.18, lw=0, zorder=2)


def _line_look(line: PlotLine, width: float) -> dict[str, Any]:
    """Return the width, line style and marker of a line."""
    dashes = LINE_STYLES[line.dash % len(LINE_STYLES)]
    if line.reference_index is None:
        return {"lw": width, "ls": dashes}
    marker = REFERENCE_MARKERS[line.reference_index % len(REFERENCE_MARKERS)]
    return {
        "lw": 0.6 * width,
        "ls": dashes,
        "marker": marker,
        "ms": 3.5,
        "mew": 0.0,
        "markevery": 0.05,
    }


def _y_label(lines: Sequence[PlotLine]) -> str:
    """Return the label of the vertical axis; it names the policy if all lines share it."""
    policies = {line.curve.policy for line in lines}
    return "exploitability" + (f", {policies.pop()} policy" if len(policies) == 1 else "")


def _point_marker(values: Floats) -> str:
    """Return a marker for a line of one point, which would be invisible without."""
    return "o" if values.size == 1 else ""


def _format_axes(axes: Axes, x: str, log_x: bool) -> None:
    from matplotlib.ticker import EngFormatter

    axes.grid(which="major", color="#d9d9d9", lw=0.7)
    axes.grid(which="minor", axis="y", color="#eeeeee", lw=0.5)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", length=0)
    if log_x:
        axes.set_xscale("log")
    else:
        axes.set_xlim(left=0.0)
    if x != "seconds":
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.margins(x=0.02)


def _draw_legend(figure: Figure, lines: Sequence[PlotLine], style: FigureStyle) -> None:
    """Draw one entry per group of runs and, if groups have several curves, one per policy."""
    from matplotlib.lines import Line2D

    policies = dict.fromkeys(line.curve.policy for line in lines)
    groups = dict.fromkeys((line.curve.label, line.reference_index) for line in lines)
    has_single_lines = len(groups) == len(lines)
    entries: dict[str, Line2D] = {}
    for line in lines:
        label = line.curve.label.replace("$", r"\$")
        if has_single_lines and len(policies) > 1:
            label += f" ({line.curve.policy})"
        if line.curve.num_runs > 1:
            label += f", {line.curve.num_runs} runs"
        plain = line if has_single_lines else replace(line, dash=0)
        entries.setdefault(
            label, Line2D([], [], color=line.colour, **_line_look(plain, style.line_width))
        )
    for policy in policies if not has_single_lines and len(policies) > 1 else ():
        dash = min(line.dash for line in lines if line.curve.policy == policy)
        solid: Any = {"lw": style.line_width, "ls": LINE_STYLES[dash % len(LINE_STYLES)]}
        entries[f"{policy} policy"] = Line2D([], [], color="#777777", **solid)
    longest = max(map(len, entries))
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",  # so that it never covers the curves
        ncols=max(1, min(4, len(entries), style.legend_width // (longest + 8))),
        fontsize=style.legend_font,
        frameon=False,
        handlelength=2.6,
    )


def _x_label_and_scale(lines: Sequence[PlotLine], x: str, log_x: bool) -> tuple[str, float]:
    """Return the label of the horizontal axis, and the number of its units in one label unit."""
    if x != "seconds":
        return {"nodes": "nodes touched"}.get(x, x), 1.0
    longest = max(float(np.nanmax(line.curve.seconds, initial=0.0)) for line in lines)
    fitting = [(name, size) for least, name, size in TIME_UNITS if longest > least and not log_x]
    name, size = fitting[0] if fitting else ("s", 1.0)
    return f"time in the algorithm ({name})", size


def _mask_nonpositive(values: Floats) -> Floats:
    """Replace values that a log axis cannot show by NaN; exact equilibria leave a gap."""
    return np.where(values > 0.0, values, np.nan)


def _figure_positions(figure: Figure, axes: Axes, across: Floats, up: Floats) -> Floats:
    pixels = axes.transData.transform(np.column_stack([across, up]))
    positions = figure.transFigure.inverted().transform(pixels)
    return np.column_stack([positions[:, 0], 1.0 - positions[:, 1]])
