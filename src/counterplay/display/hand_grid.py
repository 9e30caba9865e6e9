"""The 13 x 13 grid of a view as a drawing."""

from __future__ import annotations

import textwrap
from typing import Any

from counterplay.arenas.holdem.node_view import NodeView, action_colours
from counterplay.display.tree_drawing import MATPLOTLIB_STYLE, Drawing, new_figure

TEXT_COLOUR, EMPTY_CELL_COLOUR, EDGE_COLOUR = "#222222", "#ececec", "#ffffff"


def draw_hand_grid(view: NodeView) -> Drawing:
    """Draw what a player does with each hand: a cell is as full as it is often held there.

    Inside, actions stand side by side, each as wide as it is often taken.
    """
    figure = new_figure(7.2, 7.9)
    from matplotlib import rc_context

    with rc_context(MATPLOTLIB_STYLE):
        axes = figure.add_axes((0.02, 0.02, 0.96, 0.86))
        axes.set(xlim=(0, 13), ylim=(13, 0))
        axes.set_axis_off()
        colours = action_colours(view.actions)
        for row, cells in enumerate(view.hand_grid()):
            for column, here in enumerate(cells):
                _draw_cell(axes, row, column, here, colours)
        _draw_legend(figure, view, colours)
    return Drawing(figure)


def _draw_cell(axes: Any, row: int, column: int, here: dict[str, Any], colours: list[str]) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(
        Rectangle((column, row), 1, 1, facecolor=EMPTY_CELL_COLOUR, edgecolor=EDGE_COLOUR)
    )
    left, weight = float(column), min(here["weight"], 1.0)
    for part, colour in zip(here["policy"], colours, strict=True):
        if weight > 0.0 and part > 0.0:
            corner = (left, row + 1.0 - weight)
            axes.add_patch(Rectangle(corner, part, weight, facecolor=colour, edgecolor="none"))
        left += part
    axes.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor=EDGE_COLOUR, linewidth=1.2))
    ink = TEXT_COLOUR if weight > 0.0 else "#aaaaaa"
    axes.text(column + 0.06, row + 0.3, here["name"], fontsize=8, color=ink)
    if weight > 0.0:
        value = f"{here['value']:.3g}"
        axes.text(column + 0.94, row + 0.9, value, fontsize=5.5, color=ink, ha="right")


def _draw_legend(figure: Any, view: NodeView, colours: list[str]) -> None:
    from matplotlib.patches import Patch

    shown = textwrap.shorten(view.history.replace("|", " | "), 60)
    record = f" after {shown}" if shown else ""
    never = "" if view.is_reached else ", never reached"
    title = f"{view.board}, pot {view.pot}: player {view.player}{record}{never}"
    figure.text(0.02, 0.965, title, fontsize=11, color=TEXT_COLOUR)
    names = [
        f"{name} {100.0 * part:.1f} %"
        for name, part in zip(view.actions, view.frequencies, strict=True)
    ]
    figure.legend(
        [Patch(facecolor=colour) for colour in colours],
        names,
        loc="upper left",
        bbox_to_anchor=(0.012, 0.955),
        ncols=4,
        frameon=False,
        fontsize=9,
    )
