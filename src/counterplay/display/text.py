"""Text of policies and trees: bars, tables, grids, outlines and curves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.replay import incoming_action_name
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.core.policy import Policy
from counterplay.display.infoset_table import InfosetRow, PolicyGrid

ACTION_FILLS = "░▒▓█"  # of the actions of a cell; with more actions, a cell names the likeliest
ASCII_FILLS = ".-=#"  # the same for terminals without block characters
BAR_WIDTH = 8  # characters of a bar
MAX_SHOWN_ACTIONS = 4  # of an infoset


class DrawingCharacters(NamedTuple):
    """The characters of bars, outlines and curves."""

    fills: str = ACTION_FILLS
    full_block: str = "█"
    partial_blocks: str = " ▏▎▍▌▋▊▉"
    branch: str = "├─ "
    last_branch: str = "└─ "
    vertical: str = "│  "
    dot: str = "•"


ASCII_CHARACTERS = DrawingCharacters(ASCII_FILLS, "#", " ", "|- ", "`- ", "|  ", "*")


def characters_for_encoding(encoding: str | None) -> DrawingCharacters:
    """Return block characters if an encoding has them, or ASCII characters."""
    try:
        (ACTION_FILLS + "├└│▏•").encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII_CHARACTERS
    return DrawingCharacters()


def format_bar(fraction: float, characters: DrawingCharacters, width: int = BAR_WIDTH) -> str:
    """Return a bar that fills a fraction of the width, padded to the width."""
    steps = len(characters.partial_blocks)
    whole, rest = divmod(round(fraction * width * steps), steps)
    tip = characters.partial_blocks[rest] if rest else ""
    return (characters.full_block * whole + tip).ljust(width)


def format_table(rows: Sequence[InfosetRow], characters: DrawingCharacters) -> list[str]:
    """Return one line per infoset: probabilities with bars, reach, value, best-response gain."""
    if not rows:
        return []
    keys = max(7, *(len(row.key) for row in rows))
    policies = [_format_policy(row, characters) for row in rows]
    width = max(6, *map(len, policies))
    lines = [f"{'infoset':{keys}}  {'policy':{width}}  {'reach':>7}  {'value':>8}  {'gain':>8}"]
    for row, text in zip(rows, policies, strict=True):
        numbers = f"{row.reach:7.2g}  {row.value:+8.3f}  {row.best_response_gain:8.1e}"
        lines.append(f"{row.key:{keys}}  {text:{width}}  {numbers}")
    return lines


def _format_policy(row: InfosetRow, characters: DrawingCharacters) -> str:
    actions = list(row.probabilities.items())
    if len(actions) > MAX_SHOWN_ACTIONS:
        actions = sorted(actions, key=lambda pair: -pair[1])[: MAX_SHOWN_ACTIONS - 1]
    parts = [f"{name} {format_bar(p, characters)} {p:.3f}" for name, p in actions]
    num_others = len(row.probabilities) - len(actions)
    if num_others:
        rest = 1.0 - sum(p for _, p in actions)
        parts.append(f"{num_others} others {max(rest, 0.0):.3f}")
    return "  ".join(parts)


def format_grid(grid: PolicyGrid, characters: DrawingCharacters) -> list[str]:
    """Return a table whose cells are bars divided by action, or name the likeliest action."""
    actions = grid.actions
    is_stacked = len(actions) <= len(characters.fills)
    fills = dict(zip(actions, characters.fills[-len(actions) :], strict=False))
    cells = {
        position: _format_stacked_bar(row.probabilities, fills)
        if is_stacked
        else _format_likeliest(row.probabilities)
        for position, row in grid.cells.items()
    }
    lead = max(map(len, grid.rows))
    widths = [
        max([len(column), *(len(cells.get((row, column), "")) for row in grid.rows)])
        for column in grid.columns
    ]
    legend = "   ".join(f"{fills[name]} {name}" for name in actions) if is_stacked else ""
    title = f"player {grid.player}" + (f", {grid.panel}" if grid.panel else "")
    lines = [f"{title}:  {legend}".rstrip(": ")]
    if any(grid.columns):
        heads = [f"{name:{width}}" for name, width in zip(grid.columns, widths, strict=True)]
        lines.append("  ".join([" " * lead, *heads]).rstrip())
    for row in grid.rows:
        texts = [
            f"{cells.get((row, column), '.'):{width}}"
            for column, width in zip(grid.columns, widths, strict=True)
        ]
        lines.append("  ".join([f"{row:{lead}}", *texts]).rstrip())
    return lines


def _format_stacked_bar(probabilities: dict[str, float], fills: dict[str, str]) -> str:
    text, total = "", 0.0
    for name, p in probabilities.items():
        total += p
        text += fills[name] * (round(total * BAR_WIDTH) - len(text))
    return text


def _format_likeliest(probabilities: dict[str, float]) -> str:
    name, p = max(probabilities.items(), key=lambda pair: pair[1])
    return f"{name} {p:.0%}"


def format_outline(
    tree: TreeArena,
    depth: int,
    characters: DrawingCharacters,
    policy: Policy | None = None,
    max_lines: int = 400,
) -> list[str]:
    """Return the tree as lines, with players, infoset keys and probabilities of branches.

    Args:
        tree: the tree.
        depth: levels below the root.
        characters: characters of the branches.
        policy: adds the probabilities of the players' actions.
        max_lines: number of lines after which the outline is cut.
    """
    lines: list[str] = []
    for line in _iter_outline(tree, depth, characters, policy):
        if len(lines) == max_lines:
            lines.append(f"... more than {max_lines} lines; choose a smaller depth")
            break
        lines.append(line)
    return lines


def _iter_outline(
    tree: TreeArena, depth: int, characters: DrawingCharacters, policy: Policy | None
) -> Iterator[str]:
    names = _NodeNames(tree, policy)
    stack = [(0, "", "", 0)]
    while stack:
        node, lead, branch, level = stack.pop()
        edge = f"{names.edge_name(node)}: " if node else ""
        first, last = tree.child_offset[node : node + 2].tolist()
        is_cut = level == depth and last > first
        yield f"{lead}{branch}{edge}{names.node_name(node)}{' ...' if is_cut else ''}"
        if is_cut:
            continue
        if node:
            lead += " " * 3 if branch == characters.last_branch else characters.vertical
        for child in range(last - 1, first - 1, -1):
            child_branch = characters.last_branch if child == last - 1 else characters.branch
            stack.append((child, lead, child_branch, level + 1))


class _NodeNames:
    """Labels of nodes and of the branches to them."""

    def __init__(self, tree: TreeArena, policy: Policy | None):
        self.tree, self.policy = tree, policy
        self.terminal_index = {node: number for number, node in enumerate(tree.terminals.tolist())}

    def edge_name(self, node: int) -> str:
        name, tree = incoming_action_name(self.tree, node), self.tree
        if tree.player[tree.parent[node]] == CHANCE:
            return f"{name} {tree.chance[node]:.3g}"
        if self.policy is None:
            return name
        return f"{name} {self.policy.probabilities[tree.incoming_sequence[node]]:.3g}"

    def node_name(self, node: int) -> str:
        tree, player = self.tree, int(self.tree.player[node])
        if player == TERMINAL:
            return ", ".join(
                f"{utility:+g}" if utility else "0"
                for utility in tree.utility[self.terminal_index[node]]
            )
        if player == CHANCE:
            return "chance"
        return f"player {player} [{tree.infoset_key(int(tree.infoset[node]))}]"


def format_curve(
    points: Sequence[tuple[float, float]],
    characters: DrawingCharacters,
    width: int = 60,
    height: int = 12,
) -> list[str]:
    """Return the positive points on two log axes as lines of text; [] if there are under two."""
    logs = [(math.log10(x), math.log10(y)) for x, y in points if x > 0.0 and y > 0.0]
    if len(logs) < 2:
        return []
    left, right = logs[0][0], logs[-1][0]
    low, high = math.floor(min(y for _, y in logs)), math.ceil(max(y for _, y in logs))
    steps = max(high - low, 1)
    rows = [[" "] * width for _ in range(height)]
    for (x, y), (to_x, to_y) in pairwise(logs):
        for step in range(width + 1):
            t = step / width
            across = (x + t * (to_x - x) - left) / max(right - left, 1e-9)
            down = (high - y - t * (to_y - y)) / steps
            rows[round(down * (height - 1))][round(across * (width - 1))] = characters.dot
    lines = []
    for number, row in enumerate(rows):
        power = high - number * steps / (height - 1)
        nearest = round(power)
        label = f"1e{nearest:+03d}" if abs(power - nearest) <= steps / (height - 1) / 2 else ""
        lines.append(f"{label:>6} {characters.vertical[0]}{''.join(row)}".rstrip())
    first, last = f"{points[0][0]:,.0f}", f"{points[-1][0]:,.0f}"
    return [*lines, f"{'':8}{first}{last:>{width - len(first)}}"]
