"""Drawings of small game trees, with infosets joined by dashes and probabilities on edges."""

from __future__ import annotations

import io
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.replay import incoming_action_name
from counterplay.core.archive import write_file
from counterplay.core.arena import Floats, Ints
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.core.policy import Policy, check_arena
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DRAWING_SUFFIXES = (".svg", ".png", ".pdf")
MAX_LEAVES = 240
TEXT_COLOUR, FAINT_COLOUR = "#333333", "#999999"
PLAYER_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # by player
MATPLOTLIB_STYLE: dict[Any, Any] = {
    "font.size": 8.0,
    "svg.fonttype": "none",  # text remains text
    "svg.hashsalt": "counterplay",  # equal drawings give equal files
}


@dataclass(frozen=True)
class Drawing:
    """A figure that notebooks display and `save` writes to a file."""

    figure: Figure

    def save(self, path: str | Path) -> None:
        """Write an .svg, .png or .pdf file."""
        check_drawing_file(path)
        content = self.render(Path(path).suffix[1:])
        write_file(path, lambda file: file.write(content))

    def render(self, file_format: str) -> bytes:
        """Return the drawing as `svg`, `png` or `pdf`."""
        from matplotlib import rc_context

        file = io.BytesIO()
        dates = {"svg": "Date", "pdf": "CreationDate"}
        metadata: Any = {dates[file_format]: None} if file_format in dates else None
        with rc_context(MATPLOTLIB_STYLE):
            self.figure.savefig(file, format=file_format, dpi=160, metadata=metadata)
        return file.getvalue()

    def _repr_svg_(self) -> str:
        return self.render("svg").decode()


class NodeLayout(NamedTuple):
    """The nodes to draw, the first in level order, and their positions."""

    num_shown: int
    across: Floats  # [num_shown] horizontal position
    down: Ints  # [num_shown] level

    def position(self, node: int) -> tuple[float, float]:
        return float(self.across[node]), -float(self.down[node])


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure with a size in inches; raise ConfigError without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        advice = "pip install 'counterplay[plot]'"
        raise ConfigError(f"drawings need the package matplotlib: {advice}") from error
    return Figure(figsize=(width, height))


def check_drawing_file(path: str | Path) -> None:
    """Raise ConfigError if a drawing cannot be written to a file of this name."""
    if Path(path).suffix not in DRAWING_SUFFIXES:
        raise ConfigError(
            f"cannot draw to {path}; the name must end in {', '.join(DRAWING_SUFFIXES)}"
        )


def draw_tree(
    tree: TreeArena, policy: Policy | None = None, *, depth: int | None = None
) -> Drawing:
    """Draw a tree from the root down.

    Nodes have the colour and number of the acting player; those of one infoset are joined by a
    dashed line with its key.

    Args:
        tree: the tree.
        policy: adds probabilities to the edges, whose widths are proportional to them.
        depth: levels below the root to draw; by default all.

    Raises:
        ConfigError: matplotlib is missing, or the tree has too many branches.

    Example:
        >>> import counterplay as cp
        >>> tree = cp.build_tree("kuhn_poker")
        >>> drawing = cp.draw_tree(tree, cp.uniform_policy(tree), depth=2)
        >>> drawing.render("svg")[:5]
        b'<?xml'
    """
    check_arena(tree)
    new_figure(1.0, 1.0)  # raises if matplotlib is missing
    from matplotlib import rc_context

    layout = lay_out_tree(tree, depth)
    leaves, height = int(layout.across.max()) + 1, layout.down.max()
    with rc_context(MATPLOTLIB_STYLE):
        figure = new_figure(max(4.0, 0.46 * leaves + 0.6), 1.15 * (height + 1))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        _draw_edges(axes, tree, policy, layout)
        _draw_infosets(axes, tree, layout)
        _draw_nodes(axes, tree, layout)
        axes.set(xlim=(-0.8, leaves - 0.2), ylim=(-height - 0.55, 0.4))
    return Drawing(figure)


def lay_out_tree(tree: TreeArena, depth: int | None) -> NodeLayout:
    """Place leaves side by side and parents above the middle of their children.

    Args:
        tree: the tree.
        depth: levels below the root to show; None for all.

    Raises:
        ConfigError: the tree has too many branches.
    """
    levels = len(tree.level_offset) - 1
    num_shown = int(tree.level_offset[min(levels, levels if depth is None else depth + 1)])
    layout = _lay_out_nodes(tree, num_shown)
    leaves = int(layout.across.max()) + 1
    if leaves > MAX_LEAVES:
        raise ConfigError(
            f"{tree.spec} has {leaves:,} branches to draw, and {MAX_LEAVES} fit; "
            "choose a smaller depth or smaller parameters"
        )
    return layout


def _lay_out_nodes(tree: TreeArena, num_shown: int) -> NodeLayout:
    across, down = np.zeros(num_shown), np.zeros(num_shown, np.int64)
    stack, num_leaves, order = [0], 0, []
    while stack:
        node = stack.pop()
        order.append(node)
        first, last = tree.child_offset[node : node + 2].tolist()
        children = range(first, min(last, num_shown))
        if not children:
            across[node], num_leaves = num_leaves, num_leaves + 1
        for child in reversed(children):
            down[child] = down[node] + 1
            stack.append(child)
    for node in reversed(order):
        first, last = tree.child_offset[node : node + 2].tolist()
        if first < min(last, num_shown):
            across[node] = (across[first] + across[min(last, num_shown) - 1]) / 2.0
    return NodeLayout(num_shown, across, down)


def player_colour(player: int) -> str:
    """Return the colour of a player as #rrggbb."""
    return PLAYER_COLOURS[player % len(PLAYER_COLOURS)]


def _draw_edges(axes: Axes, tree: TreeArena, policy: Policy | None, layout: NodeLayout) -> None:
    for node in range(1, layout.num_shown):
        parent = int(tree.parent[node])
        x, y = zip(layout.position(parent), layout.position(node), strict=True)
        player, text, width = int(tree.player[parent]), incoming_action_name(tree, node), 0.8
        probability = branch_probability(tree, policy, node)
        if probability is not None:
            text, width = f"{text}\n{format_probability(probability)}", 0.4 + 2.2 * probability
        never = probability is not None and probability < 5e-4
        colour = FAINT_COLOUR if player == CHANCE else player_colour(player)
        axes.plot(x, y, color=colour, lw=width, alpha=0.25 if never else 0.9, zorder=1)
        part = 0.56  # of the way down, where siblings are apart
        axes.text(
            x[0] + part * (x[1] - x[0]), y[0] + part * (y[1] - y[0]), text,
            ha="center", va="center", fontsize=6.5, linespacing=0.95, zorder=3,
            color=FAINT_COLOUR if never else TEXT_COLOUR,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85},
        )  # fmt: skip


def branch_probability(tree: TreeArena, policy: Policy | None, node: int) -> float | None:
    """Return the probability of the action that leads to a node; None if no policy gives it."""
    if int(tree.player[tree.parent[node]]) == CHANCE:
        return float(tree.chance[node])
    return None if policy is None else float(policy.probabilities[tree.incoming_sequence[node]])


def _draw_infosets(axes: Axes, tree: TreeArena, layout: NodeLayout) -> None:
    infosets, across = tree.infoset[: layout.num_shown], layout.across
    for infoset in np.unique(infosets[infosets >= 0]).tolist():
        nodes = np.flatnonzero(infosets == infoset)
        nodes = nodes[np.argsort(across[nodes])]
        colour = player_colour(int(tree.infoset_player[infoset]))
        for left, right in pairwise(nodes.tolist()):
            lift = 0.10 + 0.03 * min(abs(across[right] - across[left]), 8.0)
            curve = np.linspace(0.0, 1.0, 40)
            (start_x, start_y), (end_x, end_y) = layout.position(left), layout.position(right)
            x = start_x + curve * (end_x - start_x)
            y = start_y + curve * (end_y - start_y) + 4.0 * lift * curve * (1.0 - curve)
            axes.plot(x, y, color=colour, lw=0.9, ls=(0, (3, 3)), alpha=0.7, zorder=2)
        key = tree.infoset_key(infoset)
        if key:
            axes.annotate(
                key, layout.position(int(nodes[0])), (-6, 6), textcoords="offset points",
                ha="right", va="bottom", fontsize=6.5, color=colour, zorder=5,
            )  # fmt: skip


def _draw_nodes(axes: Axes, tree: TreeArena, layout: NodeLayout) -> None:
    utilities = dict(zip(tree.terminals.tolist(), tree.utility.tolist(), strict=True))
    for node in range(layout.num_shown):
        (x, y), player = layout.position(node), int(tree.player[node])
        if player == TERMINAL:
            text = "\n".join(f"{utility:+g}" if utility else "0" for utility in utilities[node])
            axes.text(
                x, y - 0.03, text, ha="center", va="top", fontsize=7, color=TEXT_COLOUR, zorder=5
            )
            axes.plot([x], [y], "s", color=TEXT_COLOUR, ms=2.6, zorder=4)
            continue
        colour, marker, edge, size = player_colour(player), "o", "white", 12.0
        if player == CHANCE:
            colour, marker, edge, size = "white", "D", FAINT_COLOUR, 6.5
        axes.plot([x], [y], marker, color=colour, mec=edge, mew=1.2, ms=size, zorder=4)
        if player != CHANCE:
            axes.text(x, y, str(player), ha="center", va="center_baseline", fontsize=7.5,
                      color="white", weight="bold", zorder=6)  # fmt: skip
        if int(tree.child_offset[node]) >= layout.num_shown:
            axes.text(x, y - 0.14, "...", ha="center", va="top", color=FAINT_COLOUR, zorder=5)


def format_probability(value: float) -> str:
    """Return a fraction with denominator up to 12 if it is one, or two or three digits."""
    near = Fraction(value).limit_denominator(12)
    if abs(float(near) - value) < 1e-9:
        return str(near)
    return f"{value:.2f}" if value >= 0.005 else f"{value:.0e}"
