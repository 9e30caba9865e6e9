"""Layout of tree drawings: the likeliest nodes of a subtree, and an overview of all levels."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, NotRequired, TypedDict

import numpy as np

from counterplay.arenas.tree.node_values import subtree_sizes
from counterplay.arenas.tree.policy_analysis import PolicyAnalysis
from counterplay.core.arena import Floats, Ints
from counterplay.core.game import TERMINAL, State
from counterplay.studio.worker.queries import Call, JsonObject, query
from counterplay.studio.worker.tree_queries import TreeView, check_node, replay_path

if TYPE_CHECKING:
    from counterplay.studio.worker.studio_worker import StudioWorker

MAX_DRAWN_NODES = 48
MAX_DRAWN_CHILDREN = 12  # of one node
MAX_DRAWN_ANCESTORS = 3
MAX_OVERVIEW_RECTANGLES = 1_000


class Mark(TypedDict):
    """A drawn node, or a fan that stands for the children that are not drawn."""

    node: int  # of a fan: its parent
    x: int  # depth
    y: float
    reach: float
    parent: NotRequired[int]
    name: NotRequired[str]  # of the action that leads to the node
    by: NotRequired[int]  # the player of that action
    player: NotRequired[int]
    value: NotRequired[list[float]]
    infoset: NotRequired[int]
    probability: NotRequired[float]  # of that action
    fan: NotRequired[int]  # number of children that are not drawn
    nodes: NotRequired[int]  # number of nodes below them


@query("drawing")
def layout_subtree(worker: StudioWorker, call: Call) -> JsonObject:
    """Return the drawn nodes with coordinates: depth to the right, leaves below each other."""
    view = TreeView.from_call(worker, call)
    analysis, node = view.analysis, view.node
    tree = analysis.tree
    check_node(tree, node)
    ancestors = _ancestors(analysis, node)
    root = ancestors[0] if ancestors else node
    drawn = {*ancestors, node}
    _expand_likeliest(analysis, node, drawn)
    layout = _SubtreeLayout(analysis, drawn, [])
    state, path = replay_path(tree, root)
    layout.place_node(root, state, 0, "", TERMINAL)
    return {"marks": layout.marks, "rows": layout.next_row, "level": len(path), "here": node}


@dataclass
class _SubtreeLayout:
    """Places nodes in depth-first order; every leaf and every fan gets its own row."""

    analysis: PolicyAnalysis
    drawn: set[int]  # nodes
    marks: list[Mark]
    next_row: float = 0.0

    def place_node(
        self, number: int, state: State, column: int, action_name: str, action_player: int
    ) -> Mark:
        """Place a node and what is drawn below it; return its mark."""
        tree, values = self.analysis.tree, self.analysis.node_values
        mark: Mark = {
            "node": number,
            "x": column,
            "y": 0.0,
            "name": action_name,
            "by": action_player,
            "player": int(tree.player[number]),
            "reach": float(values.reach[number]),
            "value": values.value[number].tolist(),
            "infoset": int(tree.infoset[number]),
            "probability": 1.0,
        }
        self.marks.append(mark)
        rows, hidden = [], []
        for child in range(*tree.child_offset[number : number + 2].tolist()):
            if child in self.drawn:
                rows.append(self._place_child(number, child, state, column + 1))
            else:
                hidden.append(child)
        if hidden:
            rows.append(self._place_fan(number, hidden, column + 1))
        if not rows:
            rows.append(self._take_row())
        mark["y"] = (rows[0] + rows[-1]) / 2.0
        return mark

    def _place_child(self, parent: int, child: int, state: State, column: int) -> float:
        """Place a child and return its row."""
        tree = self.analysis.tree
        action, player = int(tree.action[child]), int(tree.player[parent])
        name, next_state = tree.game.action_name(state, action), tree.game.next_state(state, action)
        mark = self.place_node(child, next_state, column, name, player)
        mark["parent"] = parent
        sequence = int(tree.incoming_sequence[child])
        probabilities = self.analysis.policy.probabilities
        mark["probability"] = float(
            probabilities[sequence] if sequence >= 0 else tree.chance[child]
        )
        return mark["y"]

    def _place_fan(self, parent: int, children: list[int], column: int) -> float:
        """Place the fan of the children that are not drawn, and return its row."""
        row = self._take_row()
        sizes, reach = subtree_sizes(self.analysis.tree), self.analysis.node_values.reach
        self.marks.append(
            {
                "fan": len(children),
                "nodes": int(sizes[children].sum()),
                "reach": float(reach[children].sum()),
                "y": row,
                "parent": parent,
                "x": column,
                "node": parent,
            }
        )
        return row

    def _take_row(self) -> float:
        row = self.next_row
        self.next_row += 1.0
        return row


def _ancestors(analysis: PolicyAnalysis, node: int) -> list[int]:
    """Return the nearest ancestors of a node, the highest first."""
    ancestors: list[int] = []
    parent = int(analysis.tree.parent[node])
    while parent >= 0 and len(ancestors) < MAX_DRAWN_ANCESTORS:
        ancestors.insert(0, parent)
        parent = int(analysis.tree.parent[parent])
    return ancestors


def _expand_likeliest(analysis: PolicyAnalysis, node: int, drawn: set[int]) -> None:
    """Add the descendants of a node with the largest reach; siblings stay together if they fit."""
    tree, reach = analysis.tree, analysis.node_values.reach
    waiting = [(-1.0, node)]
    while waiting and len(drawn) < MAX_DRAWN_NODES:
        _, parent = heapq.heappop(waiting)
        first, last = tree.child_offset[parent : parent + 2].tolist()
        children = np.arange(first, last)
        if children.size > MAX_DRAWN_CHILDREN:
            children = children[
                np.argsort(-reach[first:last], kind="stable")[: MAX_DRAWN_CHILDREN - 1]
            ]
        if len(drawn) + children.size > MAX_DRAWN_NODES:
            continue
        for child in children.tolist():
            drawn.add(child)
            heapq.heappush(waiting, (-float(reach[child]), child))


@query("overview")
def layout_overview(worker: StudioWorker, call: Call) -> JsonObject:
    """Return rectangles for all levels of the tree, as wide as their reach probability.

    Nodes that are too narrow are merged with their neighbours; values are those of player 0.
    """
    analysis = TreeView.from_call(worker, call).analysis
    tree, reach, value = analysis.tree, analysis.node_values.reach, analysis.node_values.value[:, 0]
    levels = tree.level_offset.size - 1
    columns = max(MAX_OVERVIEW_RECTANGLES // max(levels, 1), 4)
    start = np.zeros(tree.num_nodes)
    rectangles = []
    for level, (first, last) in enumerate(
        zip(tree.level_offset[:-1], tree.level_offset[1:], strict=True)
    ):
        if level:
            before = np.cumsum(reach[first:last]) - reach[first:last]
            parent = tree.parent[first:last]
            first_sibling = tree.child_offset[parent] - first
            start[first:last] = start[parent] + before - before[first_sibling]
        bucket = np.minimum((start[first:last] * columns).astype(np.int64), columns - 1)
        cuts = np.flatnonzero(np.diff(bucket, prepend=-1))
        weight = np.add.reduceat(reach[first:last], cuts)
        total = np.add.reduceat(reach[first:last] * value[first:last], cuts)
        likeliest = _likeliest_per_segment(reach[first:last], cuts)
        mean = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0.0)
        rows = zip(
            start[first:last][cuts].tolist(),
            weight.tolist(),
            mean.tolist(),
            (likeliest + first).tolist(),
            tree.player[first + likeliest].tolist(),
            np.diff(np.append(cuts, last - first)).tolist(),
            strict=True,
        )
        rectangles.append([list(row) for row in rows if row[1] > 0.0])
    return {"levels": rectangles, "low": float(value.min()), "high": float(value.max())}


def _likeliest_per_segment(reach: Floats, segment_starts: Ints) -> Ints:
    """Return the index of the largest entry of every segment."""
    segment = np.repeat(
        np.arange(segment_starts.size), np.diff(np.append(segment_starts, reach.size))
    )
    order = np.lexsort((reach, segment))
    return order[np.append(segment_starts[1:], reach.size) - 1]
