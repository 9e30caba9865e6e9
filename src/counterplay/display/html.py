"""HTML of trees, policies, results and equilibria for notebooks: small tables, and a curve."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from counterplay.arenas.tree.arena import TreeArena
from counterplay.display.infoset_table import InfosetRow, infoset_rows
from counterplay.display.tree_drawing import PLAYER_COLOURS as ACTION_COLOURS

if TYPE_CHECKING:
    from counterplay.core.policy import Policy
    from counterplay.core.solve import Result

MAX_SHOWN_ROWS = 12
MAX_RANKED_INFOSETS = 200_000  # larger policies are shown without a table


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return an HTML table; header and caption are escaped, the cells are HTML already."""
    head = "".join(f"<th style='text-align:left'>{escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{cell}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    title = f"<caption style='text-align:left'>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def tree_html(tree: TreeArena) -> str:
    """Return a table of a tree's counts and properties."""
    facts = {
        "players": f"{tree.num_players}",
        "nodes": f"{tree.num_nodes:,}",
        "terminals": f"{tree.num_terminals:,}",
        "infosets": f"{tree.num_infosets:,}",
        "longest episode": f"{tree.max_episode_length} decisions",
        "zero-sum": "yes" if tree.is_zero_sum else "constant-sum" if tree.is_constant_sum else "no",
        "perfect recall": "yes" if tree.has_perfect_recall else "no",
    }
    return html_table(("tree", escape(tree.spec)), [(k, escape(v)) for k, v in facts.items()])


def policy_html(policy: Policy) -> str:
    """Return a table of the infosets with the largest best-response gains, with bars."""
    tree = policy.arena
    if not isinstance(tree, TreeArena) or tree.num_infosets > MAX_RANKED_INFOSETS:
        return f"<code>{escape(repr(policy))}</code>"
    rows = infoset_rows(policy)
    cells = [
        (
            str(row.player),
            f"<code>{escape(row.key)}</code>",
            _action_bars(row),
            f"{row.reach:.2g}",
            f"{row.value:+.3f}",
            f"{row.best_response_gain:.1e}",
        )
        for row in rows[:MAX_SHOWN_ROWS]
    ]
    more = f"; {len(rows) - MAX_SHOWN_ROWS:,} more infosets" if len(rows) > MAX_SHOWN_ROWS else ""
    caption = f"{tree.spec}: infosets with the largest best-response gains{more}"
    return html_table(("player", "infoset", "policy", "reach", "value", "gain"), cells, caption)


def _action_bars(row: InfosetRow) -> str:
    parts = []
    for number, (name, p) in enumerate(row.probabilities.items()):
        colour = ACTION_COLOURS[number % len(ACTION_COLOURS)]
        style = f"display:inline-block;height:0.8em;width:{60 * p:.1f}px;background:{colour}"
        parts.append(f"<span style='{style}'></span> {escape(name)} {p:.3f}")
    return " &nbsp; ".join(parts)


def result_html(result: Result) -> str:
    """Return a summary of a result and its curve of exploitability."""
    points = [(r.iteration, r.exploitability) for r in result.records if r.is_exact]
    return f"<p>{escape(repr(result))}</p>{curve_svg(points)}"


def curve_svg(points: Sequence[tuple[float, float]], size: tuple[int, int] = (360, 150)) -> str:
    """Return the positive points on two log axes as SVG; "" if there are fewer than two."""
    points = [(x, y) for x, y in points if x > 0 and y > 0]
    if len(points) < 2:
        return ""
    width, height = size
    logs = [(math.log10(x), math.log10(y)) for x, y in points]
    left, right = min(x for x, _ in logs), max(x for x, _ in logs)
    low, high = math.floor(min(y for _, y in logs)), math.ceil(max(y for _, y in logs))

    def pixel(x: float, y: float) -> tuple[float, float]:
        across = 46 + (x - left) / max(right - left, 1e-9) * (width - 60)
        return across, 10 + (high - y) / max(high - low, 1e-9) * (height - 40)

    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in (pixel(x, y) for x, y in logs))
    parts = [
        f"<polyline points='{line}' fill='none' stroke='{ACTION_COLOURS[0]}' stroke-width='2'/>"
    ]
    for power in range(low, high + 1):
        _, y = pixel(left, power)
        parts.append(
            f"<line x1='46' x2='{width - 14}' y1='{y:.1f}' y2='{y:.1f}' stroke='#8884'/>"
            f"<text x='40' y='{y + 4:.1f}' text-anchor='end'>1e{power}</text>"
        )
    for x in (points[0][0], points[-1][0]):
        a, _ = pixel(math.log10(x), low)
        parts.append(f"<text x='{a:.1f}' y='{height - 14}' text-anchor='middle'>{x:,.0f}</text>")
    parts.append(f"<text x='{width / 2}' y='{height - 1}' text-anchor='middle'>iterations</text>")
    style = "font:11px sans-serif;fill:currentColor"
    label = "exploitability by iteration"
    return (
        f"<svg width='{width}' height='{height}' style='{style}' role='img' aria-label='{label}'>"
        f"{''.join(parts)}</svg>"
    )


def equilibrium_html(equilibrium: Any) -> str:
    """Return a table of an equilibrium: mixtures and values, or the joint distribution of two."""
    joint = getattr(equilibrium, "joint_distribution", None)
    if joint is None:
        rows = [
            (str(player), f"{value:.6g}", ", ".join(f"{p:.4g}" for p in mixture))
            for player, (value, mixture) in enumerate(
                zip(equilibrium.values, equilibrium.profile, strict=True)
            )
        ]
        return html_table(("player", "value", "mixture"), rows)
    if joint.ndim != 2:
        return f"<code>{escape(repr(equilibrium))}</code>"
    cells = [(str(a), *(f"{p:.4g}" for p in row)) for a, row in enumerate(joint)]
    return html_table(("", *map(str, range(joint.shape[1]))), cells, repr(equilibrium))
