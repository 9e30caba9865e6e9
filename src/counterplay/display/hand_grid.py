"""Drawings of the policy at a hold'em node as a 13 x 13 grid of hands."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from counterplay.arenas.holdem.node_view import NodeView, action_colours
from counterplay.display.tree_drawing import MATPLOTLIB_STYLE, Drawing, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TEXT_COLOUR, FAINT_TEXT_COLOUR = "#222222", "#aaaaaa"
EMPTY_CELL_COLOUR, EDGE_COLOUR = "#ececec", "#ffffff"


def draw_hand_grid(view: NodeView) -> Drawing:
    """Draw the policy of the acting player for each hand.

    The height of the filled part of a cell is the weight of the hand in the range; the widths of
    its colours are the frequencies of the actions.
    """
    figure = new_figure(7.2, 7.9)
    from matplotlib import rc_context

    with rc_context(MATPLOTLIB_STYLE):
        axes = figure.add_axes((0.02, 0.02, 0.96, 0.86))
        axes.set(xlim=(0, 13), ylim=(13, 0))
        axes.set_axis_off()
        colours = action_colours(view.actions)
        for row, cells in enumerate(view.hand_grid()):
            for column, cell in enumerate(cells):
                _draw_cell(axes, (row, column), cell, colours)
        _draw_legend(figure, view, colours)
    return Drawing(figure)


def _draw_cell(
    axes: Axes, position: tuple[int, int], cell: dict[str, Any], colours: list[str]
) -> None:
    from matplotlib.patches import Rectangle

    row, column = position
    axes.add_patch(
        Rectangle((column, row), 1, 1, facecolor=EMPTY_CELL_COLOUR, edgecolor=EDGE_COLOUR)
    )
    left, weight = float(column), min(cell["weight"], 1.0)
    for frequency, colour in zip(cell["policy"], colours, strict=True):
        if weight > 0.0 and frequency > 0.0:
            corner = (left, row + 1.0 - weight)
            axes.add_patch(Rectangle(corner, frequency, weight, facecolor=colour, edgecolor="none"))
        left += frequency
    axes.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor=EDGE_COLOUR, linewidth=1.2))
    colour = TEXT_COLOUR if weight > 0.0 else FAINT_TEXT_COLOUR
    axes.text(column + 0.06, row + 0.3, cell["name"], fontsize=8, color=colour)
    if weight > 0.0:
        value = f"{cell['value']:.3g}"
        axes.text(column + 0.94, row + 0.9, value, fontsize=5.5, color=colour, ha="right")


def _draw_legend(figure: Figure, view: NodeView, colours: list[str]) -> None:
    from matplotlib.patches import Patch

    history = textwrap.shorten(view.history.replace("|", " | "), 60)
    after = f" after {history}" if history else ""
    never = "" if view.is_reached else ", never reached"
    title = f"{view.board}, pot {view.pot}: player {view.player}{after}{never}"
    figure.text(0.02, 0.965, title, fontsize=11, color=TEXT_COLOUR)
    names = [
        f"{name} {100.0 * frequency:.1f} %"
        for name, frequency in zip(view.actions, view.frequencies, strict=True)
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
