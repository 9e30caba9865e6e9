"""What the pages about a tree ask: a node with its children, grids, leaks, and where things are."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterplay.errors import ConfigError
from counterplay.game import CHANCE, TERMINAL, DrawnGame, State, choices_of, place_in_grid
from counterplay.game import situation as words
from counterplay.studio.sources import Analysis
from counterplay.tree import Tree, once_per_tree
from counterplay.tree.measuring import public_actions, subtree_sizes
from counterplay.tree.replaying import history

PAGE = 100  # children, or infosets, in one answer
CELLS = 300  # of a grid in one answer
MOST_PANELS = 400_000  # infosets up to which all are asked for their place in grids
MEMBERS = 50  # nodes of an infoset that are listed


def facts(analysis: Analysis) -> dict[str, Any]:
    """What a tree and a policy on it are, in a few numbers."""
    tree, judged = analysis.tree, analysis.judgement
    return {
        "spec": tree.spec,
        "source": analysis.source,
        "step": analysis.step,
        "policies": list(analysis.names),
        "locked": [{"infoset": n, "key": tree.key(n)} for n in analysis.locked],
        "players": tree.num_players,
        "nodes": tree.num_nodes,
        "terminals": tree.num_terminals,
        "infosets": tree.num_infosets,
        "zero_sum": tree.zero_sum,
        "perfect_recall": tree.perfect_recall,
        "values": judged.values.tolist(),
        "best_values": judged.best_values.tolist(),
        "exploitability": judged.exploitability,
    }


def view(analysis: Analysis, versus: Analysis | None, node: int, start: int = 0) -> dict[str, Any]:
    """A node: how one gets there, what is known there, and what can be done."""
    tree, nodes = analysis.tree, analysis.nodes
    check_node(tree, node)
    state, path = replay(tree, node)
    player = int(tree.player[node])
    found = {
        "node": node,
        "player": player,
        "level": len(path),
        "reach": float(nodes.reach[node]),
        "size": int(subtree_sizes(tree)[node]),
        "value": nodes.value[node].tolist(),
        "path": path,
        "board": tree.rules.board(state) if isinstance(tree.rules, DrawnGame) else "",
        "facts": facts(analysis),
    }
    if player >= 0:
        found["infoset"] = infoset(analysis, versus, int(tree.infoset[node]))
        found["words"] = _spoken(tree, state, player)
    children, total = _children(analysis, versus, node, state, start)
    return found | {"children": children, "total": total, "start": start}


def _children(
    analysis: Analysis, versus: Analysis | None, node: int, state: State, start: int
) -> tuple[list[dict[str, Any]], int]:
    """A page of the children: those of chance by reach, those of players in their own order."""
    tree, nodes, sizes = analysis.tree, analysis.nodes, subtree_sizes(analysis.tree)
    first, last = tree.child_offset[node : node + 2].tolist()
    player = int(tree.player[node])
    order = np.arange(first, last)
    if player == CHANCE and order.size > 1:
        order = order[np.argsort(-tree.chance[first:last], kind="stable")]
    spoken = _choices(tree, state) if player >= 0 else {}
    found = []
    for child in order[start : start + PAGE].tolist():
        sequence = int(tree.sequence_before[child])
        action = int(tree.action[child])
        name = tree.rules.action_name(state, action)
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
        if versus and player >= 0:
            entry["versus"] = float(versus.policy.probabilities[sequence])
        found.append(entry)
    return found, int(order.size)


def infoset(analysis: Analysis, versus: Analysis | None, number: int) -> dict[str, Any]:
    """An infoset: its actions with probability, value, regret and loss, and how often it comes."""
    tree, values, lost = analysis.tree, analysis.infosets, analysis.mistakes
    if not 0 <= number < tree.num_infosets:
        raise ConfigError(f"there is no infoset {number}")
    first, last = tree.offset[number : number + 2].tolist()
    members = _members(tree, number)
    reach = analysis.nodes.reach[members]
    order = np.argsort(-reach, kind="stable")[:MEMBERS]
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
        if versus:
            entry["versus"] = float(versus.policy.probabilities[sequence])
        actions.append(entry)
    return {
        "number": number,
        "key": tree.key(number),
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


def grid(analysis: Analysis, versus: Analysis | None, node: int, start: int = 0) -> dict[str, Any]:
    """The infosets that stand in one table with that of a node, and the mixture over all."""
    tree = analysis.tree
    node = next_decision(analysis, node)
    if node < 0:
        return {"cells": [], "total": 0, "actions": [], "node": -1}
    here = int(tree.infoset[node])
    player = int(tree.infoset_player[here])
    infosets, panel = _table(tree, node)
    reach = analysis.infoset_reach[infosets]
    places = [place_in_grid(tree.rules, tree.key(int(i))) for i in infosets]
    flat = not any(column for _, _, column in places)
    if flat:  # a list: by what its rows are called, as games name them
        order = sorted(range(len(infosets)), key=lambda k: _natural(places[k][1]))
    else:
        order = list(range(len(infosets)))
    page = PAGE if flat else CELLS
    shown = order[start : start + page]
    names = list(
        dict.fromkeys(n for k in order[:2000] for n in tree.action_names(int(infosets[k])))
    )
    cells = [_cell(analysis, versus, int(infosets[k]), places[k], float(reach[k])) for k in shown]
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
        "value": float(weight @ analysis.infosets.value[infosets]),
        "loss": float(analysis.mistakes.gain[infosets].sum()),
        "probability": float(reach.sum()),
    }


def _cell(
    analysis: Analysis,
    versus: Analysis | None,
    number: int,
    place: tuple[str, str, str],
    reach: float,
) -> dict[str, Any]:
    tree = analysis.tree
    first, last = tree.offset[number : number + 2].tolist()
    cell = {
        "infoset": number,
        "key": tree.key(number),
        "row": place[1],
        "column": place[2],
        "names": list(tree.action_names(number)),
        "policy": analysis.policy.probabilities[first:last].tolist(),
        "reach": reach,
        "value": float(analysis.infosets.value[number]),
        "loss": float(analysis.mistakes.gain[number]),
        "node": int(likeliest(analysis, number)),
    }
    if versus:
        cell["versus"] = versus.policy.probabilities[first:last].tolist()
    return cell


def _table(tree: Tree, node: int) -> tuple[Any, str]:
    """The infosets of the same table as a node's, and the table's name.

    Games say which those are; of the others, they are the player's infosets that the same actions
    of players lead to, whatever chance did.
    """
    here = int(tree.infoset[node])
    player = int(tree.infoset_player[here])
    if hasattr(tree.rules, "grid") and tree.num_infosets <= MOST_PANELS:
        panel = place_in_grid(tree.rules, tree.key(here))[0]
        return np.array(panels(tree)[player, panel]), panel
    numbers = public_actions(tree)
    nodes = np.flatnonzero(numbers == numbers[node])
    found = np.unique(tree.infoset[nodes[tree.player[nodes] == player]])
    return found, ""


@once_per_tree
def panels(tree: Tree) -> dict[tuple[int, str], list[int]]:
    """The infosets of every table: by player and name."""
    found: dict[tuple[int, str], list[int]] = {}
    for number in range(tree.num_infosets):
        panel = place_in_grid(tree.rules, tree.key(number))[0]
        found.setdefault((int(tree.infoset_player[number]), panel), []).append(number)
    return found


def leak_list(analysis: Analysis, start: int = 0, player: int | None = None) -> dict[str, Any]:
    """Infosets by what is lost there, the largest first; all of them add up to NashConv."""
    tree, lost = analysis.tree, analysis.mistakes
    loss = lost.gain if player is None else np.where(tree.infoset_player == player, lost.gain, 0.0)
    order = np.argsort(-loss, kind="stable")
    order = order[loss[order] > 0.0]
    total, before = float(loss.sum()), float(loss[order[:start]].sum())
    found = []
    for number in order[start : start + PAGE].tolist():
        first, last = tree.offset[number : number + 2].tolist()
        best = lost.best_value[first:last]
        before += float(loss[number])
        found.append(
            {
                "infoset": number,
                "key": tree.key(number),
                "player": int(tree.infoset_player[number]),
                "node": int(likeliest(analysis, number)),
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


def find(tree: Tree, text: str) -> list[dict[str, Any]]:
    """Infosets whose key is, begins with or has the text, in this order; at most a page."""
    exact: list[int] = []
    begins: list[int] = []
    has: list[int] = []
    for number, key in enumerate(tree.infoset_keys):
        if text in key:
            kind = exact if key == text else begins if key.startswith(text) else has
            kind.append(number)
        if len(exact) + len(begins) >= PAGE:
            break
    return [
        {"infoset": n, "key": tree.key(n), "player": int(tree.infoset_player[n])}
        for n in (*exact, *begins, *has)[:PAGE]
    ]


def likeliest(analysis: Analysis, number: int) -> int:
    """The node of an infoset that is reached most often."""
    members = _members(analysis.tree, number)
    return int(members[analysis.nodes.reach[members].argmax()])


def _members(tree: Tree, number: int) -> Any:
    order, starts = _by_infoset(tree)
    return order[starts[number] : starts[number + 1]]


@once_per_tree
def _by_infoset(tree: Tree) -> tuple[Any, Any]:
    """The nodes sorted by infoset, and where those of each begin."""
    acts = np.flatnonzero(tree.infoset >= 0)
    order = acts[np.argsort(tree.infoset[acts], kind="stable")]
    return order, np.searchsorted(tree.infoset[order], np.arange(tree.num_infosets + 1))


def next_decision(analysis: Analysis, node: int) -> int:
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


def replay(tree: Tree, node: int) -> tuple[State, list[dict[str, Any]]]:
    """The state of a node, and every step on the way: who did what, and which node that led to."""
    state, here, path = tree.rules.initial_state(), 0, []
    for action in history(tree, node):
        name = tree.rules.action_name(state, action)
        player = int(tree.player[here])
        first, last = tree.child_offset[here : here + 2].tolist()
        here = first + int(np.flatnonzero(tree.action[first:last] == action)[0])
        state = tree.rules.next_state(state, action)
        path.append({"node": here, "name": name, "player": player})
    return state, path


def check_node(tree: Tree, node: int) -> None:
    if not 0 <= node < tree.num_nodes:
        raise ConfigError(f"node is {node}, must be from 0 to {tree.num_nodes - 1}")


def _spoken(tree: Tree, state: State, player: int) -> str:
    return words(tree.rules, state, player)


def _choices(tree: Tree, state: State) -> dict[int, str]:
    return dict(zip(tree.rules.actions(state), choices_of(tree.rules, state), strict=True))


def _natural(text: str) -> tuple[Any, ...]:
    """Sorts "2" before "10"."""
    return (len(text), text) if text.isdigit() else (1 << 20, text)
