"""The figure: exploitability on a log axis, one colour per group of runs, references in black."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from counterplay.experiment.series import Curve
from counterplay.tree import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = "osD^vPX*"  # tell reference curves apart
DASHES = ("-", "--", ":", "-.")  # of the first policy, the second, ...
MANY = 300  # points from which dashes would only be noise
UNITS = ((172_800.0, "days", 86_400.0), (7_200.0, "hours", 3_600.0), (600.0, "minutes", 60.0))
STYLE: dict[Any, Any] = {
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
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "counterplay",  # the same plot is the same file
}


@dataclass(frozen=True)
class Line:
    """A curve and how it is drawn."""

    curve: Curve
    colour: str
    rank: int = 0  # of the policy: 0 is drawn full, the others faint
    reference: int | None = None  # its number among the references, if it is one


@dataclass(frozen=True)
class Picture:
    """A figure, and where on it the points of each line lie: from 0 to 1, from the top left."""

    figure: Figure
    title: str
    lines: list[Line]
    places: list[Floats]  # [n, 2] for each line
    frame: tuple[float, float]  # top and bottom of the axes, likewise

    def render(self, kind: str) -> bytes:
        """The figure as a PNG, SVG or PDF file."""
        from matplotlib import rc_context

        file = io.BytesIO()
        with rc_context(STYLE):
            metadata: Any = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
            self.figure.savefig(file, format=kind, dpi=160, metadata=metadata)
        return file.getvalue()


def draw(lines: list[Line], x: str, title: str, log_x: bool = False) -> Picture:
    """Draw lines against `step` or `seconds`."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    unit, size = _unit(lines, x, log_x)
    points = [(getattr(line.curve, x) / size, _positive(line.curve.median)) for line in lines]
    if log_x:
        points = [(_positive(across), up) for across, up in points]
    with rc_context(STYLE):
        figure = Figure(figsize=(8.0, 5.2), layout="constrained")
        axes = figure.add_subplot()
        for line, (across, up) in zip(lines, points, strict=True):
            _draw(axes, line, across, up)
        axes.set(yscale="log", xlabel=unit, ylabel=_what(lines))
        axes.set_title(title.replace("$", r"\$"), pad=12)
        _scale(axes, x, log_x)
        _legend(figure, lines)
        figure.draw_without_rendering()
        places = [_places(figure, axes, *point) for point in points]
        box = axes.get_position()
    return Picture(figure, title, lines, places, (1.0 - float(box.y1), 1.0 - float(box.y0)))


def _draw(axes: Axes, line: Line, across: Floats, up: Floats) -> None:
    curve, rank = line.curve, line.rank
    if line.reference is not None:
        look: dict[str, Any] = {"lw": 1.1, "dashes": (5, 2.5), "zorder": 5 - rank}
        look |= {"marker": MARKERS[line.reference % len(MARKERS)], "ms": 3.5, "mew": 0.0}
        axes.plot(across, up, color=line.colour, alpha=1.0 if rank == 0 else 0.35, **look)
        return
    if rank == 0:
        axes.plot(across, up, color=line.colour, lw=1.8, zorder=4, marker=_dot(up), ms=3)
    else:
        dashes = "-" if across.size > MANY else DASHES[min(rank, len(DASHES) - 1)]
        axes.plot(across, up, color=line.colour, lw=0.9, ls=dashes, alpha=0.45, zorder=3)
    if curve.num_runs > 1 and rank == 0:
        low, high = _positive(curve.low), _positive(curve.high)
        axes.fill_between(across, low, high, color=line.colour, alpha=0.18, lw=0, zorder=2)


def _what(lines: Sequence[Line]) -> str:
    """What the vertical axis shows; if it is one policy, its name is not in the legend."""
    policies = {line.curve.policy for line in lines}
    return "exploitability" + (f", {policies.pop()} policy" if len(policies) == 1 else "")


def _dot(values: Floats) -> str:
    """A line of one point would not be seen."""
    return "o" if values.size == 1 else ""


def _scale(axes: Axes, x: str, log_x: bool) -> None:
    from matplotlib.ticker import EngFormatter

    axes.grid(which="major", color="#d9d9d9", lw=0.7)
    axes.grid(which="minor", axis="y", color="#eeeeee", lw=0.5)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", length=0)
    if log_x:
        axes.set_xscale("log")
    else:
        axes.set_xlim(left=0.0)
    if x == "step":
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.margins(x=0.02)


def _legend(figure: Figure, lines: Sequence[Line]) -> None:
    """One entry per colour, then what full and faint lines are."""
    from matplotlib.lines import Line2D

    entries: dict[str, Line2D] = {}
    for line in lines:
        look: dict[str, Any] = {"lw": 1.8}
        if line.reference is not None:
            marker = MARKERS[line.reference % len(MARKERS)]
            look = {"lw": 1.1, "dashes": (5, 2.5), "marker": marker, "ms": 3.5, "mew": 0.0}
        label = line.curve.label.replace("$", r"\$")
        if line.curve.num_runs > 1:
            label += f", {line.curve.num_runs} runs"
        entries.setdefault(label, Line2D([], [], color=line.colour, **look))
    policies = dict.fromkeys((line.curve.policy, line.rank) for line in lines)
    for policy, rank in sorted(policies, key=lambda pair: pair[1]) if len(policies) > 1 else ():
        look = {"lw": 1.8} if rank == 0 else {"lw": 0.9, "alpha": 0.6, "ls": DASHES[min(rank, 3)]}
        entries[f"{policy} policy"] = Line2D([], [], color="#777777", **look)
    longest = max(map(len, entries))
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",  # beside the curves, never over them
        ncols=max(1, min(4, len(entries), 96 // (longest + 8))),
        fontsize=9,
        frameon=False,
        handlelength=2.6,
    )


def _unit(lines: Sequence[Line], x: str, log_x: bool) -> tuple[str, float]:
    """What the horizontal axis counts."""
    if x == "step":
        return "step", 1.0
    longest = max(float(np.nanmax(line.curve.seconds, initial=0.0)) for line in lines)
    fitting = [(name, size) for least, name, size in UNITS if longest > least and not log_x]
    name, size = fitting[0] if fitting else ("s", 1.0)
    return f"time in the algorithm ({name})", size


def _positive(values: Floats) -> Floats:
    """A log axis has no zero: exact equilibria leave a gap."""
    return np.where(values > 0.0, values, np.nan)


def _places(figure: Figure, axes: Axes, across: Floats, up: Floats) -> Floats:
    pixels = axes.transData.transform(np.column_stack([across, up]))
    places = figure.transFigure.inverted().transform(pixels)
    return np.column_stack([places[:, 0], 1.0 - places[:, 1]])
