"""Policies as text: bars, tables that fit the width, grids, and the tree as an outline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from counterplay.game import CHANCE, TERMINAL
from counterplay.policy import Policy
from counterplay.showing.infosets import Grid, InfosetRow
from counterplay.tree import Tree
from counterplay.tree.replaying import branch_name

FILLS = "░▒▓█"  # of the actions of a cell, if they are no more than these
PLAIN = ".-=#"  # the same where the terminal knows no others
BAR = 8  # characters of a bar
MOST_ACTIONS = 4  # shown of an infoset with many


class Marks(NamedTuple):
    """The characters that drawings are made of."""

    fills: str = FILLS
    full: str = "█"
    parts: str = " ▏▎▍▌▋▊▉"
    branch: str = "├─ "
    last: str = "└─ "
    down: str = "│  "
    dot: str = "•"


ASCII = Marks(PLAIN, "#", " ", "|- ", "`- ", "|  ", "*")


def marks_for(encoding: str | None) -> Marks:
    """The best characters that can be written in an encoding."""
    try:
        (FILLS + "├└│▏•").encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return Marks()


def bar(part: float, marks: Marks, width: int = BAR) -> str:
    """A bar of that part of the width, padded to the whole of it."""
    steps = len(marks.parts)
    whole, rest = divmod(round(part * width * steps), steps)
    return (marks.full * whole + (marks.parts[rest] if rest else "")).ljust(width)


def table(rows: Sequence[InfosetRow], marks: Marks) -> list[str]:
    """One line per infoset: what is played there, with bars, its reach, value and loss."""
    if not rows:
        return []
    keys = max(7, *(len(row.key) for row in rows))
    plays = [_plays(row, marks) for row in rows]
    width = max(5, *map(len, plays))
    lines = [f"{'infoset':{keys}}  {'plays':{width}}  {'reach':>7}  {'value':>8}  {'loses':>8}"]
    for row, text in zip(rows, plays, strict=True):
        numbers = f"{row.reach:7.2g}  {row.value:+8.3f}  {row.loss:8.1e}"
        lines.append(f"{row.key:{keys}}  {text:{width}}  {numbers}")
    return lines


def _plays(row: InfosetRow, marks: Marks) -> str:
    shown = list(row.plays.items())
    if len(shown) > MOST_ACTIONS:
        shown = sorted(shown, key=lambda pair: -pair[1])[: MOST_ACTIONS - 1]
    parts = [f"{name} {bar(p, marks)} {p:.3f}" for name, p in shown]
    left = len(row.plays) - len(shown)
    rest = 1.0 - sum(p for _, p in shown)
    return "  ".join(parts + ([f"{left} others {max(rest, 0.0):.3f}"] if left else []))


def grid(one: Grid, marks: Marks) -> list[str]:
    """A table whose cells are bars cut into the actions, or name the likeliest one."""
    actions = one.actions
    stacked = len(actions) <= len(marks.fills)
    fills = dict(zip(actions, marks.fills[-len(actions) :], strict=False))
    cells = {
        place: _stacked(row.plays, fills) if stacked else _likeliest(row.plays)
        for place, row in one.cells.items()
    }
    lead = max(map(len, one.rows))
    widths = [
        max([len(column), *(len(cells.get((row, column), "")) for row in one.rows)])
        for column in one.columns
    ]
    legend = "   ".join(f"{fills[name]} {name}" for name in actions) if stacked else ""
    where = f"player {one.player}" + (f", {one.panel}" if one.panel else "")
    lines = [f"{where}:  {legend}".rstrip(": ")]
    if any(one.columns):
        heads = [f"{name:{width}}" for name, width in zip(one.columns, widths, strict=True)]
        lines.append("  ".join([" " * lead, *heads]).rstrip())
    for row in one.rows:
        found = [
            f"{cells.get((row, column), '.'):{width}}"
            for column, width in zip(one.columns, widths, strict=True)
        ]
        lines.append("  ".join([f"{row:{lead}}", *found]).rstrip())
    return lines


def _stacked(plays: dict[str, float], fills: dict[str, str]) -> str:
    text, done = "", 0.0
    for name, p in plays.items():
        done += p
        text += fills[name] * (round(done * BAR) - len(text))
    return text


def _likeliest(plays: dict[str, float]) -> str:
    name, p = max(plays.items(), key=lambda pair: pair[1])
    return f"{name} {p:.0%}"


def outline(
    tree: Tree, depth: int, marks: Marks, policy: Policy | None = None, most: int = 400
) -> list[str]:
    """The tree down to a depth: who acts, what it knows, probabilities on the branches."""
    lines: list[str] = []
    for line in _outline(tree, depth, marks, policy):
        if len(lines) == most:
            lines.append(f"... more than {most} lines; choose a smaller depth")
            break
        lines.append(line)
    return lines


def _outline(tree: Tree, depth: int, marks: Marks, policy: Policy | None) -> Iterator[str]:
    names = _Names(tree, policy)
    stack = [(0, "", "", 0)]
    while stack:
        node, lead, branch, level = stack.pop()
        edge = f"{names.edge(node)}: " if node else ""
        first, last = tree.child_offset[node : node + 2].tolist()
        hidden = level == depth and last > first
        yield f"{lead}{branch}{edge}{names.node(node)}{' ...' if hidden else ''}"
        if hidden:
            continue
        below = lead + ("" if not node else " " * 3 if branch == marks.last else marks.down)
        for child in range(last - 1, first - 1, -1):
            mark = marks.last if child == last - 1 else marks.branch
            stack.append((child, below, mark, level + 1))


class _Names:
    """What nodes and the branches above them are called."""

    def __init__(self, tree: Tree, policy: Policy | None):
        self.tree, self.policy = tree, policy
        self.place = {node: number for number, node in enumerate(tree.terminals.tolist())}

    def edge(self, node: int) -> str:
        name, tree = branch_name(self.tree, node), self.tree
        if tree.player[tree.parent[node]] == CHANCE:
            return f"{name} {tree.chance[node]:.3g}"
        if self.policy is None:
            return name
        return f"{name} {self.policy.probabilities[tree.sequence_before[node]]:.3g}"

    def node(self, node: int) -> str:
        tree, player = self.tree, int(self.tree.player[node])
        if player == TERMINAL:
            return ", ".join(
                f"{utility:+g}" if utility else "0" for utility in tree.utility[self.place[node]]
            )
        if player == CHANCE:
            return "chance"
        return f"player {player} [{tree.key(int(tree.infoset[node]))}]"


def curve(
    points: Sequence[tuple[float, float]], marks: Marks, width: int = 60, height: int = 12
) -> list[str]:
    """Positive points on two log axes, as lines of text; nothing if there are fewer than two."""
    logs = [(math.log10(x), math.log10(y)) for x, y in points if x > 0.0 and y > 0.0]
    if len(logs) < 2:
        return []
    left, right = logs[0][0], logs[-1][0]
    low, high = math.floor(min(y for _, y in logs)), math.ceil(max(y for _, y in logs))
    steps = max(high - low, 1)
    rows = [[" "] * width for _ in range(height)]
    for (x, y), (to_x, to_y) in pairwise(logs):
        for part in range(width + 1):
            at = part / width
            across = (x + at * (to_x - x) - left) / max(right - left, 1e-9)
            down = (high - y - at * (to_y - y)) / steps
            rows[round(down * (height - 1))][round(across * (width - 1))] = marks.dot
    lines = []
    for number, row in enumerate(rows):
        power = high - number * steps / (height - 1)
        nearest = round(power)
        label = f"1e{nearest:+03d}" if abs(power - nearest) <= steps / (height - 1) / 2 else ""
        lines.append(f"{label:>6} {marks.down[0]}{''.join(row)}".rstrip())
    first, last = f"{points[0][0]:,.0f}", f"{points[-1][0]:,.0f}"
    return [*lines, f"{'':8}{first}{last:>{width - len(first)}}"]
