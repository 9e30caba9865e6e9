"""What the pages about a tree ask: a node with its children, grids, leaks, and where things are."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterplay.arenas.tree.arena import TreeArena, cache_on_tree
from counterplay.arenas.tree.node_values import public_history_hashes, subtree_sizes
from counterplay.arenas.tree.policy_analysis import PolicyAnalysis
from counterplay.arenas.tree.replay import node_history
from counterplay.core.game import CHANCE, TERMINAL, DrawnGame, State, action_labels, grid_position
from counterplay.core.game import describe_situation as words
from counterplay.errors import ConfigError

PAGE_SIZE = 100  # children, or infosets, in one answer
GRID_PAGE_SIZE = 300  # of a grid in one answer
MAX_PANEL_INFOSETS = 400_000  # infosets up to which all are asked for their place in grids
MAX_LISTED_NODES = 50  # nodes of an infoset that are listed


def describe_analysis(analysis: PolicyAnalysis) -> dict[str, Any]:
    """What a tree and a policy on it are, in a few numbers."""
    tree, judged = analysis.tree, analysis.judgement
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
        "perfect_recall": tree.has_perfect_recall,
        "values": judged.values.tolist(),
        "best_values": judged.best_values.tolist(),
        "exploitability": judged.exploitability,
    }


def describe_node(
    analysis: PolicyAnalysis, comparison: PolicyAnalysis | None, node: int, start: int = 0
) -> dict[str, Any]:
    """A node: how one gets there, what is known there, and what can be done."""
    tree, nodes = analysis.tree, analysis.node_values
    check_node(tree, node)
    state, path = replay_path(tree, node)
    player = int(tree.player[node])
    found = {
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
        found["infoset"] = describe_infoset(analysis, comparison, int(tree.infoset[node]))
        found["words"] = _situation_text(tree, state, player)
    children, total = _describe_children(analysis, comparison, node, state, start)
    return found | {"children": children, "total": total, "start": start}


def _describe_children(
    analysis: PolicyAnalysis, comparison: PolicyAnalysis | None, node: int, state: State, start: int
) -> tuple[list[dict[str, Any]], int]:
    """A page of the children: those of chance by reach, those of players in their own order."""
    tree, nodes, sizes = analysis.tree, analysis.node_values, subtree_sizes(analysis.tree)
    first, last = tree.child_offset[node : node + 2].tolist()
    player = int(tree.player[node])
    order = np.arange(first, last)
    if player == CHANCE and order.size > 1:
        order = order[np.argsort(-tree.chance[first:last], kind="stable")]
    spoken = _action_texts(tree, state) if player >= 0 else {}
    found = []
    for child in order[start : start + PAGE_SIZE].tolist():
        sequence = int(tree.incoming_sequence[child])
        action = int(tree.action[child])
        name = tree.game.action_name(state, action)
        entry = {
            "node": child,
            "name": name,
            "words": spoken.get(action, name),
            "player": int(tree.player[child]),
            "probability": float(
                analysis.policy.probabilities[sequence] if player >= 0 else tree.chance[child]
            ),
            "reach": float(nodes.reach[child]),
            "size": int(sizes[child]),
            "value": nodes.value[child].tolist(),
        }
        if comparison and player >= 0:
            entry["versus"] = float(comparison.policy.probabilities[sequence])
        found.append(entry)
    return found, int(order.size)


def describe_infoset(
    analysis: PolicyAnalysis, comparison: PolicyAnalysis | None, number: int
) -> dict[str, Any]:
    """An infoset: its actions with probability, value, regret and loss, and how often it comes."""
    tree, values, lost = analysis.tree, analysis.infoset_values, analysis.mistakes
    if not 0 <= number < tree.num_infosets:
        raise ConfigError(f"there is no infoset {number}")
    first, last = tree.offset[number : number + 2].tolist()
    members = _infoset_nodes(tree, number)
    reach = analysis.node_values.reach[members]
    order = np.argsort(-reach, kind="stable")[:MAX_LISTED_NODES]
    best = lost.best_value[first:last]
    actions = []
    for place, sequence in enumerate(range(first, last)):
        entry = {
            "name": tree.sequence_names[sequence],
            "probability": float(analysis.policy.probabilities[sequence]),
            "value": float(values.action_value[sequence]),
            "regret": float(values.regret[sequence]),
            "best": float(best[place]),
            "loss": float(best.max() - best[place]),
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
        "loss": float(lost.gain[number]),
        "actions": actions,
        "size": int(members.size),
        "members": [{"node": int(members[k]), "reach": float(reach[k])} for k in order.tolist()],
    }


def describe_grid(
    analysis: PolicyAnalysis, comparison: PolicyAnalysis | None, node: int, start: int = 0
) -> dict[str, Any]:
    """The infosets that stand in one table with that of a node, and the mixture over all."""
    tree = analysis.tree
    node = next_decision_node(analysis, node)
    if node < 0:
        return {"cells": [], "total": 0, "actions": [], "node": -1}
    here = int(tree.infoset[node])
    player = int(tree.infoset_player[here])
    infosets, panel = _infosets_in_panel(tree, node)
    reach = analysis.infoset_reach[infosets]
    places = [grid_position(tree.game, tree.infoset_key(int(i))) for i in infosets]
    flat = not any(column for _, _, column in places)
    if flat:  # a list: by what its rows are called, as games name them
        order = sorted(range(len(infosets)), key=lambda k: _natural_sort_key(places[k][1]))
    else:
        order = list(range(len(infosets)))
    page = PAGE_SIZE if flat else GRID_PAGE_SIZE
    shown = order[start : start + page]
    names = list(
        dict.fromkeys(n for k in order[:2000] for n in tree.action_names(int(infosets[k])))
    )
    cells = [
        _describe_cell(analysis, comparison, int(infosets[k]), places[k], float(reach[k]))
        for k in shown
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
        "player": player,
        "panel": panel,
        "here": here,
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
    analysis: PolicyAnalysis,
    comparison: PolicyAnalysis | None,
    number: int,
    grid_position: tuple[str, str, str],
    reach: float,
) -> dict[str, Any]:
    tree = analysis.tree
    first, last = tree.offset[number : number + 2].tolist()
    cell = {
        "infoset": number,
        "key": tree.infoset_key(number),
        "row": grid_position[1],
        "column": grid_position[2],
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


def _infosets_in_panel(tree: TreeArena, node: int) -> tuple[Any, str]:
    """The infosets of the same table as a node's, and the table's name.

    Games say which those are; of the others, they are the player's infosets that the same actions
    of players lead to, whatever chance did.
    """
    here = int(tree.infoset[node])
    player = int(tree.infoset_player[here])
    if hasattr(tree.game, "grid_position") and tree.num_infosets <= MAX_PANEL_INFOSETS:
        panel = grid_position(tree.game, tree.infoset_key(here))[0]
        return np.array(infosets_by_panel(tree)[player, panel]), panel
    numbers = public_history_hashes(tree)
    nodes = np.flatnonzero(numbers == numbers[node])
    found = np.unique(tree.infoset[nodes[tree.player[nodes] == player]])
    return found, ""


@cache_on_tree
def infosets_by_panel(tree: TreeArena) -> dict[tuple[int, str], list[int]]:
    """The infosets of every table: by player and name."""
    found: dict[tuple[int, str], list[int]] = {}
    for number in range(tree.num_infosets):
        panel = grid_position(tree.game, tree.infoset_key(number))[0]
        found.setdefault((int(tree.infoset_player[number]), panel), []).append(number)
    return found


def list_infoset_regrets(
    analysis: PolicyAnalysis, start: int = 0, player: int | None = None
) -> dict[str, Any]:
    """Infosets by what is lost there, the largest first; all of them add up to NashConv."""
    tree, lost = analysis.tree, analysis.mistakes
    loss = lost.gain if player is None else np.where(tree.infoset_player == player, lost.gain, 0.0)
    order = np.argsort(-loss, kind="stable")
    order = order[loss[order] > 0.0]
    total, before = float(loss.sum()), float(loss[order[:start]].sum())
    found = []
    for number in order[start : start + PAGE_SIZE].tolist():
        first, last = tree.offset[number : number + 2].tolist()
        best = lost.best_value[first:last]
        before += float(loss[number])
        found.append(
            {
                "infoset": number,
                "key": tree.infoset_key(number),
                "player": int(tree.infoset_player[number]),
                "node": int(likeliest_node(analysis, number)),
                "loss": float(loss[number]),
                "share": float(loss[number]) / total,
                "sum": before / total,
                "probability": float(analysis.infoset_reach[number]),
                "names": list(tree.action_names(number)),
                "policy": analysis.policy.probabilities[first:last].tolist(),
                "best": tree.sequence_names[first + int(best.argmax())],
            }
        )
    return {
        "leaks": found,
        "total": int(order.size),
        "start": start,
        "nash_conv": float(lost.gain.sum()),
        "by_player": np.bincount(tree.infoset_player, lost.gain, tree.num_players).tolist(),
        "exploitability": analysis.judgement.exploitability,
    }


def find_infosets(tree: TreeArena, text: str) -> list[dict[str, Any]]:
    """Infosets whose key is, begins with or has the text, in this order; at most a page."""
    exact: list[int] = []
    begins: list[int] = []
    has: list[int] = []
    for number, key in enumerate(tree.infoset_keys):
        if text in key:
            kind = exact if key == text else begins if key.startswith(text) else has
            kind.append(number)
        if len(exact) + len(begins) >= PAGE_SIZE:
            break
    return [
        {"infoset": n, "key": tree.infoset_key(n), "player": int(tree.infoset_player[n])}
        for n in (*exact, *begins, *has)[:PAGE_SIZE]
    ]


def likeliest_node(analysis: PolicyAnalysis, number: int) -> int:
    """The node of an infoset that is reached most often."""
    members = _infoset_nodes(analysis.tree, number)
    return int(members[analysis.node_values.reach[members].argmax()])


def _infoset_nodes(tree: TreeArena, number: int) -> Any:
    order, starts = _nodes_by_infoset(tree)
    return order[starts[number] : starts[number + 1]]


@cache_on_tree
def _nodes_by_infoset(tree: TreeArena) -> tuple[Any, Any]:
    """The nodes sorted by infoset, and where those of each begin."""
    acts = np.flatnonzero(tree.infoset >= 0)
    order = acts[np.argsort(tree.infoset[acts], kind="stable")]
    return order, np.searchsorted(tree.infoset[order], np.arange(tree.num_infosets + 1))


def next_decision_node(analysis: PolicyAnalysis, node: int) -> int:
    """The node itself, or the likeliest one below it at which a player acts; -1 if there is none.

    At a terminal it is the last decision before.
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


def replay_path(tree: TreeArena, node: int) -> tuple[State, list[dict[str, Any]]]:
    """The state of a node, and every step on the way: who did what, and which node that led to."""
    state, here, path = tree.game.initial_state(), 0, []
    for action in node_history(tree, node):
        name = tree.game.action_name(state, action)
        player = int(tree.player[here])
        first, last = tree.child_offset[here : here + 2].tolist()
        here = first + int(np.flatnonzero(tree.action[first:last] == action)[0])
        state = tree.game.next_state(state, action)
        path.append({"node": here, "name": name, "player": player})
    return state, path


def check_node(tree: TreeArena, node: int) -> None:
    if not 0 <= node < tree.num_nodes:
        raise ConfigError(f"node is {node}, must be from 0 to {tree.num_nodes - 1}")


def _situation_text(tree: TreeArena, state: State, player: int) -> str:
    return words(tree.game, state, player)


def _action_texts(tree: TreeArena, state: State) -> dict[int, str]:
    return dict(zip(tree.game.actions(state), action_labels(tree.game, state), strict=True))


def _natural_sort_key(text: str) -> tuple[Any, ...]:
    """Sorts "2" before "10"."""
    return (len(text), text) if text.isdigit() else (1 << 20, text)
