"""Questions about a tree and a policy on it: nodes, infosets, grids, losses and files."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict

import numpy as np

from counterplay.arenas.tree.arena import TreeArena, cache_on_tree
from counterplay.arenas.tree.node_values import public_history_hashes, subtree_sizes
from counterplay.arenas.tree.policy_analysis import PolicyAnalysis
from counterplay.arenas.tree.replay import node_history
from counterplay.core.arena import Ints
from counterplay.core.game import (
    CHANCE,
    TERMINAL,
    DrawnGame,
    State,
    action_labels,
    describe_situation,
    grid_position,
)
from counterplay.errors import ConfigError
from counterplay.studio.worker.queries import Call, JsonObject, query

if TYPE_CHECKING:
    from counterplay.studio.worker.studio_worker import StudioWorker

PAGE_SIZE = 100  # children or infosets in one answer
GRID_PAGE_SIZE = 300  # cells of a grid in one answer
MAX_PANEL_INFOSETS = 400_000  # of a game whose grid positions are computed for all infosets
MAX_LISTED_NODES = 50  # of an infoset
MAX_MIXTURE_INFOSETS = 2_000  # whose action names the mixture of a grid has
MAX_EXPORT_NODES = 200_000  # of a game file


class ActionAnswer(TypedDict):
    """An action of an infoset."""

    name: str
    probability: float
    value: float
    regret: float
    best: float  # value if a best response follows
    loss: float
    versus: NotRequired[float]  # probability in the policy to compare with


class ChildAnswer(TypedDict):
    """A child of a node, with the action that leads to it."""

    node: int
    name: str
    words: str
    player: int
    probability: float
    reach: float
    size: int
    value: list[float]
    versus: NotRequired[float]


class PathStep(TypedDict):
    """A step on the path to a node."""

    node: int  # after the action
    name: str  # of the action
    player: int


class InfosetMatch(TypedDict):
    """An infoset that a search has found."""

    infoset: int
    key: str
    player: int
    node: NotRequired[int]


@dataclass(frozen=True)
class TreeView:
    """The part of a tree that a call is about."""

    analysis: PolicyAnalysis
    comparison: PolicyAnalysis | None  # of the policy to compare with
    node: int
    start: int  # of a page of results

    @classmethod
    def from_call(cls, worker: StudioWorker, call: Call) -> TreeView:
        """Return the view; the tree is built and the policy is solved at the first call."""
        analysis = worker.policy_sources.get(call.get("policy") or {})
        source = call.get("versus")
        comparison = worker.policy_sources.get_comparison(source, analysis) if source else None
        start = max(int(call.get("start", 0)), 0)
        return cls(analysis, comparison, int(call.get("node", 0)), start)


def describe_analysis(analysis: PolicyAnalysis) -> JsonObject:
    """Return the size of a tree, and the values and exploitability of a policy on it."""
    tree, judgement = analysis.tree, analysis.judgement
    return {
        "spec": tree.spec,
        "source": analysis.source,
        "step": analysis.step,
        "policies": list(analysis.policy_names),
        "locked": [{"infoset": n, "key": tree.infoset_key(n)} for n in analysis.locked_infosets],
        "players": tree.num_players,
        "nodes": tree.num_nodes,
        "terminals": tree.num_terminals,
        "infosets": tree.num_infosets,
        "zero_sum": tree.is_zero_sum,
        "constant_sum": tree.is_constant_sum,
        "perfect_recall": tree.has_perfect_recall,
        "values": judgement.values.tolist(),
        "best_values": judgement.best_values.tolist(),
        "exploitability": judgement.exploitability,
    }


@query("view")
def describe_node(worker: StudioWorker, call: Call) -> JsonObject:
    """Return a node: the path to it, its infoset and a page of its children."""
    view = TreeView.from_call(worker, call)
    analysis, node, start = view.analysis, view.node, view.start
    tree, nodes = analysis.tree, analysis.node_values
    check_node(tree, node)
    state, path = replay_path(tree, node)
    player = int(tree.player[node])
    answer: JsonObject = {
        "node": node,
        "player": player,
        "level": len(path),
        "reach": float(nodes.reach[node]),
        "size": int(subtree_sizes(tree)[node]),
        "value": nodes.value[node].tolist(),
        "path": path,
        "board": tree.game.board(state) if isinstance(tree.game, DrawnGame) else "",
        "facts": describe_analysis(analysis),
    }
    if player >= 0:
        infoset = int(tree.infoset[node])
        answer["infoset"] = describe_infoset(analysis, view.comparison, infoset)
        answer["words"] = describe_situation(tree.game, state, player)
    children, total = _describe_children(view, state)
    return answer | {"children": children, "total": total, "start": start}


def _describe_children(view: TreeView, state: State) -> tuple[list[ChildAnswer], int]:
    """Return a page of the children and their number; those of chance are sorted by probability."""
    analysis, node, start = view.analysis, view.node, view.start
    tree, nodes, sizes = analysis.tree, analysis.node_values, subtree_sizes(analysis.tree)
    first, last = tree.child_offset[node : node + 2].tolist()
    player = int(tree.player[node])
    order = np.arange(first, last)
    if player == CHANCE and order.size > 1:
        order = order[np.argsort(-tree.chance[first:last], kind="stable")]
    labels = _action_labels(tree, state) if player >= 0 else {}
    children = []
    for child in order[start : start + PAGE_SIZE].tolist():
        sequence = int(tree.incoming_sequence[child])
        action = int(tree.action[child])
        name = tree.game.action_name(state, action)
        entry: ChildAnswer = {
            "node": child,
            "name": name,
            "words": labels.get(action, name),
            "player": int(tree.player[child]),
            "probability": float(
                analysis.policy.probabilities[sequence] if player >= 0 else tree.chance[child]
            ),
            "reach": float(nodes.reach[child]),
            "size": int(sizes[child]),
            "value": nodes.value[child].tolist(),
        }
        if view.comparison and player >= 0:
            entry["versus"] = float(view.comparison.policy.probabilities[sequence])
        children.append(entry)
    return children, int(order.size)


@query("infoset")
def describe_infoset_by_number(worker: StudioWorker, call: Call) -> JsonObject:
    """Return the infoset of a number."""
    view = TreeView.from_call(worker, call)
    return describe_infoset(view.analysis, view.comparison, int(call["infoset"]))


def describe_infoset(
    analysis: PolicyAnalysis, comparison: PolicyAnalysis | None, number: int
) -> JsonObject:
    """Return an infoset: its reach, its nodes, and its actions with probability, value and loss."""
    tree, values, mistakes = analysis.tree, analysis.infoset_values, analysis.mistakes
    if not 0 <= number < tree.num_infosets:
        raise ConfigError(f"there is no infoset {number}")
    first, last = tree.offset[number : number + 2].tolist()
    members = _infoset_nodes(tree, number)
    reach = analysis.node_values.reach[members]
    order = np.argsort(-reach, kind="stable")[:MAX_LISTED_NODES]
    best = mistakes.best_value[first:last]
    actions = []
    for index, sequence in enumerate(range(first, last)):
        entry: ActionAnswer = {
            "name": tree.sequence_names[sequence],
            "probability": float(analysis.policy.probabilities[sequence]),
            "value": float(values.action_value[sequence]),
            "regret": float(values.regret[sequence]),
            "best": float(best[index]),
            "loss": float(best.max() - best[index]),
        }
        if comparison:
            entry["versus"] = float(comparison.policy.probabilities[sequence])
        actions.append(entry)
    return {
        "number": number,
        "key": tree.infoset_key(number),
        "player": int(tree.infoset_player[number]),
        "reach": float(values.reach[number]),
        "cf_reach": float(values.cf_reach[number]),
        "probability": float(reach.sum()),
        "value": float(values.value[number]),
        "loss": float(mistakes.gain[number]),
        "actions": actions,
        "size": int(members.size),
        "members": [{"node": int(members[k]), "reach": float(reach[k])} for k in order.tolist()],
    }


@query("grid")
def describe_grid(worker: StudioWorker, call: Call) -> JsonObject:
    """Return the infosets in the same grid as that of a node, and the mixture over all of them."""
    view = TreeView.from_call(worker, call)
    analysis, start = view.analysis, view.start
    tree = analysis.tree
    node = next_decision_node(analysis, view.node)
    if node < 0:
        return {"cells": [], "total": 0, "actions": [], "node": -1}
    infoset = int(tree.infoset[node])
    infosets, panel = _infosets_in_panel(tree, node)
    reach = analysis.infoset_reach[infosets]
    positions = [grid_position(tree.game, tree.infoset_key(int(i))) for i in infosets]
    is_list = not any(column for _, _, column in positions)
    order = list(range(len(infosets)))
    if is_list:
        order.sort(key=lambda k: _natural_sort_key(positions[k][1]))
    page = PAGE_SIZE if is_list else GRID_PAGE_SIZE
    named = [int(infosets[k]) for k in order[:MAX_MIXTURE_INFOSETS]]
    names = list(dict.fromkeys(name for number in named for name in tree.action_names(number)))
    cells = [
        _describe_cell(view, int(infosets[k]), positions[k], float(reach[k]))
        for k in order[start : start + page]
    ]
    weight = reach / reach.sum() if reach.sum() > 0.0 else np.full(len(reach), 1.0 / len(reach))
    mixture = dict.fromkeys(names, 0.0)
    for k, number in enumerate(infosets.tolist()):
        first, last = tree.offset[number : number + 2]
        row = analysis.policy.probabilities[first:last]
        for name, p in zip(tree.action_names(number), row.tolist(), strict=True):
            if name in mixture:
                mixture[name] += float(weight[k]) * p
    return {
        "node": node,
        "player": int(tree.infoset_player[infoset]),
        "panel": panel,
        "here": infoset,
        "actions": names,
        "cells": cells,
        "total": len(infosets),
        "start": start,
        "page": page,
        "mixture": mixture,
        "value": float(weight @ analysis.infoset_values.value[infosets]),
        "loss": float(analysis.mistakes.gain[infosets].sum()),
        "probability": float(reach.sum()),
    }


def _describe_cell(
    view: TreeView, number: int, position: tuple[str, str, str], reach: float
) -> JsonObject:
    analysis, comparison = view.analysis, view.comparison
    tree = analysis.tree
    first, last = tree.offset[number : number + 2].tolist()
    cell: JsonObject = {
        "infoset": number,
        "key": tree.infoset_key(number),
        "row": position[1],
        "column": position[2],
        "names": list(tree.action_names(number)),
        "policy": analysis.policy.probabilities[first:last].tolist(),
        "reach": reach,
        "value": float(analysis.infoset_values.value[number]),
        "loss": float(analysis.mistakes.gain[number]),
        "node": int(likeliest_node(analysis, number)),
    }
    if comparison:
        cell["versus"] = comparison.policy.probabilities[first:last].tolist()
    return cell


def _infosets_in_panel(tree: TreeArena, node: int) -> tuple[Ints, str]:
    """Return the infosets in the same grid as that of a node, and the name of the grid.

    A game may define grids by `grid_position`. Otherwise a grid has the player's infosets after the
    same actions of players, for all outcomes of chance.
    """
    infoset = int(tree.infoset[node])
    player = int(tree.infoset_player[infoset])
    if hasattr(tree.game, "grid_position") and tree.num_infosets <= MAX_PANEL_INFOSETS:
        panel = grid_position(tree.game, tree.infoset_key(infoset))[0]
        return np.array(infosets_by_panel(tree)[player, panel]), panel
    hashes = public_history_hashes(tree)
    nodes = np.flatnonzero(hashes == hashes[node])
    return np.unique(tree.infoset[nodes[tree.player[nodes] == player]]), ""


@cache_on_tree
def infosets_by_panel(tree: TreeArena) -> dict[tuple[int, str], list[int]]:
    """Return the infosets of every grid, by player and name."""
    infosets: dict[tuple[int, str], list[int]] = {}
    for number in range(tree.num_infosets):
        panel = grid_position(tree.game, tree.infoset_key(number))[0]
        infosets.setdefault((int(tree.infoset_player[number]), panel), []).append(number)
    return infosets


@query("leaks")
def list_infoset_losses(worker: StudioWorker, call: Call) -> JsonObject:
    """Return a page of infosets with the largest losses; the losses of all sum to NashConv."""
    view, player = TreeView.from_call(worker, call), call.get("player")
    analysis, start = view.analysis, view.start
    tree, gain = analysis.tree, analysis.mistakes.gain
    loss = gain if player is None else np.where(tree.infoset_player == int(player), gain, 0.0)
    order = np.argsort(-loss, kind="stable")
    order = order[loss[order] > 0.0]
    total, cumulative = float(loss.sum()), float(loss[order[:start]].sum())
    rows: list[JsonObject] = []
    for number in order[start : start + PAGE_SIZE].tolist():
        first, last = tree.offset[number : number + 2].tolist()
        best = analysis.mistakes.best_value[first:last]
        cumulative += float(loss[number])
        rows.append(
            {
                "infoset": number,
                "key": tree.infoset_key(number),
                "player": int(tree.infoset_player[number]),
                "node": int(likeliest_node(analysis, number)),
                "loss": float(loss[number]),
                "share": float(loss[number]) / total,
                "sum": cumulative / total,
                "probability": float(analysis.infoset_reach[number]),
                "names": list(tree.action_names(number)),
                "policy": analysis.policy.probabilities[first:last].tolist(),
                "best": tree.sequence_names[first + int(best.argmax())],
            }
        )
    return {
        "leaks": rows,
        "total": int(order.size),
        "start": start,
        "nash_conv": float(gain.sum()),
        "by_player": np.bincount(tree.infoset_player, gain, tree.num_players).tolist(),
        "exploitability": analysis.judgement.exploitability,
    }


@query("find")
def find_infosets(worker: StudioWorker, call: Call) -> list[InfosetMatch]:
    """Return infosets whose key equals, starts with or contains a text, in this order."""
    analysis, text = TreeView.from_call(worker, call).analysis, str(call.get("text", ""))
    tree = analysis.tree
    equal: list[int] = []
    starting: list[int] = []
    containing: list[int] = []
    for number, key in enumerate(tree.infoset_keys):
        if text in key:
            kind = equal if key == text else starting if key.startswith(text) else containing
            kind.append(number)
        if len(equal) + len(starting) >= PAGE_SIZE:
            break
    return [
        {
            "infoset": number,
            "key": tree.infoset_key(number),
            "player": int(tree.infoset_player[number]),
            "node": likeliest_node(analysis, number),
        }
        for number in (*equal, *starting, *containing)[:PAGE_SIZE]
    ]


@query("export")
def export_policy(worker: StudioWorker, call: Call) -> str:
    """Return the policy as JSON or CSV."""
    policy = TreeView.from_call(worker, call).analysis.policy
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy"
        (policy.to_csv if call.get("form") == "csv" else policy.to_json)(path)
        return path.read_text()


@query("game_file")
def export_game(worker: StudioWorker, call: Call) -> str:
    """Return the game as an .efg file of Gambit."""
    from counterplay.interop.game_files import save_game

    tree = TreeView.from_call(worker, call).analysis.tree
    if tree.num_nodes > MAX_EXPORT_NODES:
        problem = f"{tree.num_nodes:,} nodes are too many for an .efg file of the studio"
        raise ConfigError(f"{problem}; the limit is {MAX_EXPORT_NODES:,}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "game.efg"
        save_game(tree.game, path)
        return path.read_text()


def likeliest_node(analysis: PolicyAnalysis, number: int) -> int:
    """Return the node of an infoset with the largest reach probability."""
    members = _infoset_nodes(analysis.tree, number)
    return int(members[analysis.node_values.reach[members].argmax()])


def _infoset_nodes(tree: TreeArena, number: int) -> Ints:
    order, starts = _nodes_by_infoset(tree)
    return order[starts[number] : starts[number + 1]]


@cache_on_tree
def _nodes_by_infoset(tree: TreeArena) -> tuple[Ints, Ints]:
    """Return the decision nodes sorted by infoset, and the offset of each infoset [I + 1]."""
    decisions = np.flatnonzero(tree.infoset >= 0)
    order = decisions[np.argsort(tree.infoset[decisions], kind="stable")]
    return order, np.searchsorted(tree.infoset[order], np.arange(tree.num_infosets + 1))


def next_decision_node(analysis: PolicyAnalysis, node: int) -> int:
    """Return the node itself, or the likeliest one below it at which a player acts, or -1.

    At a terminal node, return the last decision before it.
    """
    tree = analysis.tree
    check_node(tree, node)
    while node >= 0 and tree.player[node] == TERMINAL:
        node = int(tree.parent[node])
    while node >= 0 and tree.player[node] == CHANCE:
        first, last = tree.child_offset[node : node + 2].tolist()
        node = first + int(tree.chance[first:last].argmax())
        if tree.player[node] == TERMINAL:
            return -1
    return node


def replay_path(tree: TreeArena, node: int) -> tuple[State, list[PathStep]]:
    """Return the state of a node, and the steps on the path to it."""
    state, current = tree.game.initial_state(), 0
    path: list[PathStep] = []
    for action in node_history(tree, node):
        name = tree.game.action_name(state, action)
        player = int(tree.player[current])
        first, last = tree.child_offset[current : current + 2].tolist()
        current = first + int(np.flatnonzero(tree.action[first:last] == action)[0])
        state = tree.game.next_state(state, action)
        path.append({"node": current, "name": name, "player": player})
    return state, path


def check_node(tree: TreeArena, node: int) -> None:
    """Raise ConfigError if there is no such node."""
    if not 0 <= node < tree.num_nodes:
        raise ConfigError(f"node is {node}, must be from 0 to {tree.num_nodes - 1}")


def _action_labels(tree: TreeArena, state: State) -> dict[int, str]:
    return dict(zip(tree.game.actions(state), action_labels(tree.game, state), strict=True))


def _natural_sort_key(text: str) -> tuple[int, str]:
    """Return a key that sorts "2" before "10"."""
    return (len(text), text) if text.isdigit() else (1 << 20, text)
