"""A piece of the tree as a drawing: the likeliest nodes below one, the rest folded into fans."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from counterplay.arenas.tree.node_values import subtree_sizes
from counterplay.arenas.tree.policy_analysis import PolicyAnalysis
from counterplay.core.game import TERMINAL
from counterplay.studio.worker.tree_queries import check_node, replay_path

MAX_MARKS = 48  # nodes and fans
MAX_DRAWN_CHILDREN = 12  # of one node that are drawn
MAX_DRAWN_ANCESTORS = 3  # above the node that are drawn
MAX_OVERVIEW_RECTANGLES = 1_000  # rectangles of an overview


def layout_subtree(analysis: PolicyAnalysis, node: int) -> dict[str, Any]:
    """Nodes with places: depth to the right, leaves one below the other."""
    tree = analysis.tree
    check_node(tree, node)
    above = _ancestors(analysis, node)
    root = above[0] if above else node
    shown = {*above, node}
    _expand_likeliest(analysis, node, shown)
    sizes, reach = subtree_sizes(tree), analysis.node_values.reach
    marks: list[dict[str, Any]] = []
    next_row = 0.0
    base = len(replay_path(tree, root)[1])

    def place_node(number: int, state: Any, column: int, name: str, by: int) -> float:
        nonlocal next_row
        player = int(tree.player[number])
        mark = {
            "node": number,
            "x": column,
            "name": name,
            "by": by,
            "player": player,
            "reach": float(reach[number]),
            "value": analysis.node_values.value[number].tolist(),
            "infoset": int(tree.infoset[number]),
            "probability": 1.0,
        }
        marks.append(mark)
        rows = []
        hidden = hidden_nodes = 0
        hidden_reach = 0.0
        for child in range(*tree.child_offset[number : number + 2].tolist()):
            if child not in shown:
                hidden += 1
                hidden_nodes += int(sizes[child])
                hidden_reach += float(reach[child])
                continue
            action = int(tree.action[child])
            named = tree.game.action_name(state, action)
            below = tree.game.next_state(state, action)
            at = len(marks)
            rows.append(place_node(child, below, column + 1, named, player))
            marks[at]["parent"] = number
            sequence = int(tree.incoming_sequence[child])
            marks[at]["probability"] = float(
                analysis.policy.probabilities[sequence] if sequence >= 0 else tree.chance[child]
            )
        if hidden:
            rows.append(next_row)
            fan = {"fan": hidden, "nodes": hidden_nodes, "reach": hidden_reach, "y": next_row}
            marks.append(fan | {"parent": number, "x": column + 1, "node": number})
            next_row += 1.0
        if not rows:
            rows.append(next_row)
            next_row += 1.0
        mark["y"] = (rows[0] + rows[-1]) / 2.0
        return float(mark["y"])

    place_node(root, replay_path(tree, root)[0], 0, "", TERMINAL)
    return {"marks": marks, "rows": next_row, "level": base, "here": node}


def _ancestors(analysis: PolicyAnalysis, node: int) -> list[int]:
    found: list[int] = []
    above = int(analysis.tree.parent[node])
    while above >= 0 and len(found) < MAX_DRAWN_ANCESTORS:
        found.insert(0, above)
        above = int(analysis.tree.parent[above])
    return found


def _expand_likeliest(analysis: PolicyAnalysis, node: int, shown_nodes: set[int]) -> None:
    """Show what lies below a node, the likeliest first; families stay whole where they fit."""
    tree, reach = analysis.tree, analysis.node_values.reach
    waiting = [(-1.0, node)]
    while waiting and len(shown_nodes) < MAX_MARKS:
        _, here = heapq.heappop(waiting)
        first, last = tree.child_offset[here : here + 2].tolist()
        children = np.arange(first, last)
        if children.size > MAX_DRAWN_CHILDREN:
            children = children[
                np.argsort(-reach[first:last], kind="stable")[: MAX_DRAWN_CHILDREN - 1]
            ]
        if len(shown_nodes) + children.size > MAX_MARKS:
            continue
        for child in children.tolist():
            shown_nodes.add(child)
            heapq.heappush(waiting, (-float(reach[child]), child))


def layout_overview(analysis: PolicyAnalysis) -> dict[str, Any]:
    """The whole tree, level by level: rectangles as wide as what they stand for is likely.

    Nodes too thin to see are joined with their neighbours; the value is that to player 0.
    """
    tree, reach, value = analysis.tree, analysis.node_values.reach, analysis.node_values.value[:, 0]
    levels = tree.level_offset.size - 1
    columns = max(MAX_OVERVIEW_RECTANGLES // max(levels, 1), 4)
    start = np.zeros(tree.num_nodes)
    found = []
    for level, (first, last) in enumerate(
        zip(tree.level_offset[:-1], tree.level_offset[1:], strict=True)
    ):
        if level:
            before = np.cumsum(reach[first:last]) - reach[first:last]
            parent = tree.parent[first:last]
            eldest = tree.child_offset[parent] - first
            start[first:last] = start[parent] + before - before[eldest]
        bucket = np.minimum((start[first:last] * columns).astype(np.int64), columns - 1)
        cuts = np.flatnonzero(np.diff(bucket, prepend=-1))
        weight = np.add.reduceat(reach[first:last], cuts)
        worth = np.add.reduceat(reach[first:last] * value[first:last], cuts)
        likely = _likeliest_per_segment(reach[first:last], cuts)
        mean = np.divide(worth, weight, out=np.zeros_like(worth), where=weight > 0.0)
        rows = zip(
            start[first:last][cuts].tolist(),
            weight.tolist(),
            mean.tolist(),
            (likely + first).tolist(),
            tree.player[first + likely].tolist(),
            np.diff(np.append(cuts, last - first)).tolist(),
            strict=True,
        )
        found.append([list(row) for row in rows if row[1] > 0.0])
    return {"levels": found, "low": float(value.min()), "high": float(value.max())}


def _likeliest_per_segment(reach: Any, segment_starts: Any) -> Any:
    """The place of the largest in every piece between cuts."""
    piece = np.repeat(
        np.arange(segment_starts.size), np.diff(np.append(segment_starts, reach.size))
    )
    order = np.lexsort((reach, piece))
    return order[np.append(segment_starts[1:], reach.size) - 1]
