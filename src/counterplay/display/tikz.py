r"""Small game trees as TikZ pictures, to be included in papers with `\input`."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.replay import incoming_action_name
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.core.policy import Policy, check_arena
from counterplay.display.latex import escape_latex
from counterplay.display.tree_drawing import (
    NodeLayout,
    branch_probability,
    format_probability,
    lay_out_tree,
    player_colour,
)

LEAF_DISTANCE = 1.1  # cm
LEVEL_HEIGHT = 1.6  # cm


def tikz_tree(tree: TreeArena, policy: Policy | None = None, *, depth: int | None = None) -> str:
    r"""Return a tree as a TikZ picture, for `\usepackage{tikz}`.

    Nodes carry the number of the acting player; those of one infoset are joined by a dashed line.

    Args:
        tree: the tree.
        policy: adds probabilities to the edges.
        depth: levels below the root to draw; by default all.

    Raises:
        ConfigError: the tree has too many branches.

    Example:
        >>> import counterplay as cp
        >>> from counterplay.display.tikz import tikz_tree
        >>> print(tikz_tree(cp.build_tree("matching_pennies")).splitlines()[1])
        \definecolor{player1}{HTML}{D55E00}
    """
    check_arena(tree)
    layout = lay_out_tree(tree, depth)
    colours = [
        rf"\definecolor{{player{p}}}{{HTML}}{{{player_colour(p)[1:].upper()}}}"
        for p in range(tree.num_players)
    ]
    lines = [
        *_edges(tree, policy, layout),
        *_infosets(tree, layout),
        *_nodes(tree, layout),
    ]
    return "\n".join([*colours, *PICTURE_START, *(f"  {x}" for x in lines), PICTURE_END, ""])


PICTURE_START = (
    r"\begin{tikzpicture}[",
    r"  decision/.style={circle, fill=#1, text=white, font=\scriptsize\bfseries, inner sep=1.5pt},",
    r"  chance/.style={draw=gray, fill=white, rotate=45, minimum size=4pt, inner sep=0pt},",
    r"  terminal/.style={fill=black, minimum size=3pt, inner sep=0pt},",
    r"  action/.style={midway, fill=white, font=\tiny, inner sep=1pt, align=center},",
    r"  utility/.style={below=1pt, font=\tiny, align=center},",
    r"]",
)
PICTURE_END = r"\end{tikzpicture}"


def _edges(tree: TreeArena, policy: Policy | None, layout: NodeLayout) -> list[str]:
    lines = []
    for node in range(1, layout.num_shown):
        parent = int(tree.parent[node])
        player = int(tree.player[parent])
        text = escape_latex(incoming_action_name(tree, node))
        probability = branch_probability(tree, policy, node)
        if probability is not None:
            text += rf"\\{format_probability(probability)}"
        colour = "gray" if player == CHANCE else f"player{player}"
        start, end = _point(layout, parent), _point(layout, node)
        lines.append(rf"\draw[{colour}] {start} -- {end} node[action, text=black] {{{text}}};")
    return lines


def _infosets(tree: TreeArena, layout: NodeLayout) -> list[str]:
    lines = []
    infosets = tree.infoset[: layout.num_shown]
    for infoset in np.unique(infosets[infosets >= 0]).tolist():
        nodes = np.flatnonzero(infosets == infoset)
        nodes = nodes[np.argsort(layout.across[nodes])]
        colour = f"player{int(tree.infoset_player[infoset])}"
        for left, right in pairwise(nodes.tolist()):
            start, end = _point(layout, left), _point(layout, right)
            lines.append(rf"\draw[{colour}, dashed] {start} to[bend left=12] {end};")
        key = tree.infoset_key(infoset)
        if key:
            start, text = _point(layout, int(nodes[0])), escape_latex(key)
            style = rf"above left=2pt, text={colour}, font=\tiny"
            lines.append(rf"\node[{style}] at {start} {{{text}}};")
    return lines


def _nodes(tree: TreeArena, layout: NodeLayout) -> list[str]:
    utilities = dict(zip(tree.terminals.tolist(), tree.utility.tolist(), strict=True))
    lines = []
    for node in range(layout.num_shown):
        point, player = _point(layout, node), int(tree.player[node])
        if player == TERMINAL:
            text = r"\\".join(f"${value:+g}$" if value else "$0$" for value in utilities[node])
            lines.append(rf"\node[terminal] at {point} {{}};")
            lines.append(rf"\node[utility] at {point} {{{text}}};")
            continue
        if player == CHANCE:
            lines.append(rf"\node[chance] at {point} {{}};")
        else:
            lines.append(rf"\node[decision=player{player}] at {point} {{{player}}};")
        if int(tree.child_offset[node]) >= layout.num_shown:
            lines.append(rf"\node[utility] at {point} {{$\cdots$}};")
    return lines


def _point(layout: NodeLayout, node: int) -> str:
    x, y = layout.position(node)
    return f"({LEAF_DISTANCE * x:.3g}, {LEVEL_HEIGHT * y:.3g})"
