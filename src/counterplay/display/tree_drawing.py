"""A small game tree as a drawing: chance, infosets joined by dashes, probabilities on edges."""

from __future__ import annotations

import io
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.replay import incoming_action_name
from counterplay.core.archive import write_file
from counterplay.core.arena import Floats, Ints
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.core.policy import Policy, check_arena
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWING_SUFFIXES = (".svg", ".png", ".pdf")
MAX_LEAVES = 240
TEXT_COLOUR, FAINT_COLOUR = "#333333", "#999999"
PLAYER_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # by player
MATPLOTLIB_STYLE: dict[Any, Any] = {
    "font.size": 8.0,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "counterplay",  # the same drawing is the same file
}


@dataclass(frozen=True)
class Drawing:
    """A drawing; notebooks show it, `save` writes it."""

    figure: Figure

    def save(self, path: str | Path) -> None:
        """Write an .svg, .png or .pdf file."""
        check_drawing_file(path)
        content = self.render(Path(path).suffix[1:])
        write_file(path, lambda file: file.write(content))

    def render(self, file_format: str) -> bytes:
        """The drawing as `svg`, `png` or `pdf`."""
        from matplotlib import rc_context

        file = io.BytesIO()
        dates = {"svg": "Date", "pdf": "CreationDate"}
        metadata: Any = {dates[file_format]: None} if file_format in dates else None
        with rc_context(MATPLOTLIB_STYLE):
            self.figure.savefig(file, format=file_format, dpi=160, metadata=metadata)
        return file.getvalue()

    def _repr_svg_(self) -> str:
        return self.render("svg").decode()


class TreeDrawing(Drawing):
    """A drawing of a tree."""


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of so many inches, or advice where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        advice = "pip install 'counterplay[plot]'"
        raise ConfigError(f"drawings need the package matplotlib: {advice}") from error
    return Figure(figsize=(width, height))


def check_drawing_file(path: str | Path) -> None:
    """Refuse a name that a drawing cannot be written to."""
    if Path(path).suffix not in DRAWING_SUFFIXES:
        raise ConfigError(
            f"cannot draw to {path}; the name must end in {', '.join(DRAWING_SUFFIXES)}"
        )


def draw_tree(
    tree: TreeArena, policy: Policy | None = None, *, depth: int | None = None
) -> TreeDrawing:
    """Draw a tree from the root down, all of it or to a depth.

    Nodes have the colour and number of who acts; those of one infoset are joined by a dashed line
    with its key. With a policy, edges carry its probabilities and are as thick as they are likely.
    """
    check_arena(tree)
    new_figure(1.0, 1.0)  # or it is said what is missing
    from matplotlib import rc_context

    levels = len(tree.level_offset) - 1
    shown = int(tree.level_offset[min(levels, levels if depth is None else depth + 1)])
    across, down = _node_positions(tree, shown)
    leaves = int(across.max()) + 1
    if leaves > MAX_LEAVES:
        raise ConfigError(
            f"{tree.spec} has {leaves:,} branches to draw, and {MAX_LEAVES} fit; "
            "choose a smaller depth or smaller parameters"
        )
    with rc_context(MATPLOTLIB_STYLE):
        figure = new_figure(max(4.0, 0.46 * leaves + 0.6), 1.15 * (down.max() + 1))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        _draw_edges(axes, tree, policy, shown, across, down)
        _draw_infosets(axes, tree, shown, across, down)
        _draw_nodes(axes, tree, shown, across, down)
        axes.set(xlim=(-0.8, leaves - 0.2), ylim=(-down.max() - 0.55, 0.4))
    return TreeDrawing(figure)


def _node_positions(tree: TreeArena, num_shown: int) -> tuple[Floats, Ints]:
    """Where the first `shown` nodes stand: leaves side by side, parents above their middle."""
    across, down = np.zeros(num_shown), np.zeros(num_shown, np.int64)
    stack, place, order = [0], 0, []
    while stack:
        node = stack.pop()
        order.append(node)
        first, last = tree.child_offset[node : node + 2].tolist()
        inside = range(first, min(last, num_shown))
        if not inside:
            across[node], place = place, place + 1
        for child in reversed(inside):
            down[child] = down[node] + 1
            stack.append(child)
    for node in reversed(order):
        first, last = tree.child_offset[node : node + 2].tolist()
        if first < min(last, num_shown):
            across[node] = (across[first] + across[min(last, num_shown) - 1]) / 2.0
    return across, down


def _draw_edges(
    axes: Any, tree: TreeArena, policy: Policy | None, num_shown: int, across: Floats, down: Ints
) -> None:
    for node in range(1, num_shown):
        above = int(tree.parent[node])
        x, y = (across[above], across[node]), (-down[above], -down[node])
        player, text, width = int(tree.player[above]), incoming_action_name(tree, node), 0.8
        likely = None
        if player == CHANCE:
            likely = float(tree.chance[node])
        elif policy is not None:
            likely = float(policy.probabilities[tree.incoming_sequence[node]])
        if likely is not None:
            text, width = f"{text}\n{_format_probability(likely)}", 0.4 + 2.2 * likely
        colour = FAINT_COLOUR if player == CHANCE else PLAYER_COLOURS[player % len(PLAYER_COLOURS)]
        never = likely is not None and likely < 5e-4
        axes.plot(x, y, color=colour, lw=width, alpha=0.25 if never else 0.9, zorder=1)
        part = 0.56  # of the way down: siblings are apart there
        spot = (x[0] + part * (x[1] - x[0]), y[0] + part * (y[1] - y[0]))
        axes.text(
            *spot, text, ha="center", va="center", fontsize=6.5, color=FAINT_COLOUR if never else TEXT_COLOUR,
            linespacing=0.95, zorder=3,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85},
        )  # fmt: skip


def _draw_infosets(axes: Any, tree: TreeArena, num_shown: int, across: Floats, down: Ints) -> None:
    infoset = tree.infoset[:num_shown]
    for number in np.unique(infoset[infoset >= 0]).tolist():
        nodes = np.flatnonzero(infoset == number)
        nodes = nodes[np.argsort(across[nodes])]
        colour = PLAYER_COLOURS[int(tree.infoset_player[number]) % len(PLAYER_COLOURS)]
        for left, right in pairwise(nodes.tolist()):
            lift = 0.10 + 0.03 * min(abs(across[right] - across[left]), 8.0)
            curve = np.linspace(0.0, 1.0, 40)
            x = across[left] + curve * (across[right] - across[left])
            start, end = -down[left], -down[right]
            y = start + curve * (end - start) + 4.0 * lift * curve * (1.0 - curve)
            axes.plot(x, y, color=colour, lw=0.9, ls=(0, (3, 3)), alpha=0.7, zorder=2)
        key = tree.infoset_key(number)
        if key:
            axes.annotate(
                key, (across[nodes[0]], -down[nodes[0]]), (-6, 6), textcoords="offset points",
                ha="right", va="bottom", fontsize=6.5, color=colour, zorder=5,
            )  # fmt: skip


def _draw_nodes(axes: Any, tree: TreeArena, num_shown: int, across: Floats, down: Ints) -> None:
    place = {node: number for number, node in enumerate(tree.terminals.tolist())}
    for node in range(num_shown):
        x, y, player = across[node], -down[node], int(tree.player[node])
        if player == TERMINAL:
            text = "\n".join(
                f"{utility:+g}" if utility else "0" for utility in tree.utility[place[node]]
            )
            axes.text(
                x, y - 0.03, text, ha="center", va="top", fontsize=7, color=TEXT_COLOUR, zorder=5
            )
            axes.plot([x], [y], "s", color=TEXT_COLOUR, ms=2.6, zorder=4)
            continue
        colour = "white" if player == CHANCE else PLAYER_COLOURS[player % len(PLAYER_COLOURS)]
        marker, edge = ("D", FAINT_COLOUR) if player == CHANCE else ("o", "white")
        size = 6.5 if player == CHANCE else 12
        axes.plot([x], [y], marker, color=colour, mec=edge, mew=1.2, ms=size, zorder=4)
        if player != CHANCE:
            axes.text(x, y, str(player), ha="center", va="center_baseline", fontsize=7.5,
                      color="white", weight="bold", zorder=6)  # fmt: skip
        if int(tree.child_offset[node]) >= num_shown:
            axes.text(x, y - 0.14, "...", ha="center", va="top", color=FAINT_COLOUR, zorder=5)


def _format_probability(value: float) -> str:
    """A simple fraction where it is one, else two or three digits."""
    near = Fraction(value).limit_denominator(12)
    if abs(float(near) - value) < 1e-9:
        return str(near)
    return f"{value:.2f}" if value >= 0.005 else f"{value:.0e}"
