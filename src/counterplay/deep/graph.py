"""The tree as a device sees it: decisions only, chance folded into the edges, and observations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from counterplay.errors import ConfigError, GameError
from counterplay.game import CHANCE, TERMINAL, ObservedGame
from counterplay.registry import load_game
from counterplay.tree import Floats, Ints, Tree


class Graph(NamedTuple):
    """Decisions D (nodes at which a player acts) with their edges E, and terminals after them.

    An edge is a decision's action. Chance between two decisions is part of the edge: successor k
    of edge e is node `succ_node[succ_offset[e] + k]`, with cumulative probability `succ_cdf`. Edge
    0 leads from nowhere to the first decision.
    """

    player: Ints  # [D] who acts
    row: Ints  # [D] the infoset, counted within the player's own
    num_actions: Ints  # [D]
    first_edge: Ints  # [D]
    succ_offset: Ints  # [E + 1]
    succ_node: Ints  # [F] decisions from 0, terminals from D
    succ_cdf: Floats  # [F]
    view: Ints  # [P, D] what each player sees there, a row of `observation`
    utility: Floats  # [Z, P]
    observation: Floats  # [V, X] one row per player and augmented infoset


class Turn(NamedTuple):
    """What is known beforehand about the t-th decision of an episode."""

    player: int  # who makes it; -1 where that varies
    rows: tuple[int, int]  # its infosets are among that player's first, ..., last - 1


@dataclass(frozen=True)
class Shape:
    """Facts about a graph that decide how programs are compiled."""

    num_players: int
    num_decisions: int
    max_actions: int
    max_starts: int  # ways chance can open the game
    max_successors: int
    longest_episode: int
    most_own: tuple[int, ...]  # decisions that each player makes in an episode, at most
    num_rows: tuple[int, ...]  # infosets of each player
    turns: tuple[Turn, ...]  # of an episode


@lru_cache(maxsize=4)
def graph_of(tree: Tree) -> tuple[Graph, Shape]:
    """The graph of a tree and its shape; the last few are remembered."""
    decisions = np.flatnonzero(tree.player >= 0)
    place = np.full(tree.num_nodes, -1, np.int64)
    place[decisions] = np.arange(decisions.size)
    place[tree.terminals] = decisions.size + np.arange(tree.num_terminals)
    num_actions = tree.num_actions[tree.infoset[decisions]]
    first_edge = 1 + np.cumsum(num_actions) - num_actions

    beyond = _beyond_chance(tree, place)
    children = np.concatenate([np.zeros(1, np.int64), _children(tree, decisions)])
    succ = [beyond.get(int(child)) or [(int(place[child]), 1.0)] for child in children]
    lengths = [len(edges) for edges in succ]
    cdf = [np.cumsum([p for _, p in edges]) for edges in succ]

    view, observation = _views(tree, decisions)
    player = tree.player[decisions].astype(np.int32)
    graph = Graph(
        player=player,
        row=tree.infoset_row[tree.infoset[decisions]].astype(np.int32),
        num_actions=num_actions.astype(np.int32),
        first_edge=first_edge.astype(np.int32),
        succ_offset=np.cumsum([0, *lengths]).astype(np.int32),
        succ_node=np.array([node for edges in succ for node, _ in edges], np.int32),
        succ_cdf=np.concatenate(cdf).astype(np.float32),
        view=view,
        utility=tree.utility.astype(np.float32),
        observation=observation,
    )
    shape = Shape(
        num_players=tree.num_players,
        num_decisions=decisions.size,
        max_actions=tree.max_actions,
        max_starts=lengths[0],
        max_successors=max(lengths[1:], default=1),
        longest_episode=tree.longest_episode,
        most_own=tuple(
            int(tree.count_above(tree.player == player).max()) for player in range(tree.num_players)
        ),
        num_rows=tuple(np.diff(tree.player_infoset).tolist()),
        turns=_turns(tree, decisions),
    )
    return graph, shape


def _children(tree: Tree, nodes: Ints) -> Ints:
    """The children of some nodes, family by family."""
    first, last = tree.child_offset[nodes], tree.child_offset[nodes + 1]
    counts = last - first
    inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(first, counts) + inside


def _beyond_chance(tree: Tree, place: Ints) -> dict[int, list[tuple[int, float]]]:
    """For every chance node, where it leads past further chance, and how likely."""
    beyond: dict[int, list[tuple[int, float]]] = {}
    for node in np.flatnonzero(tree.player == CHANCE)[::-1].tolist():
        beyond[node] = []
        for child in range(int(tree.child_offset[node]), int(tree.child_offset[node + 1])):
            here = beyond.get(child) or [(int(place[child]), 1.0)]
            beyond[node] += [(to, float(tree.chance[child]) * p) for to, p in here]
    return beyond


def _turns(tree: Tree, decisions: Ints) -> tuple[Turn, ...]:
    before = tree.count_above(tree.player >= 0)[decisions]
    turns = []
    for turn in range(tree.longest_episode):
        infosets = tree.infoset[decisions[before == turn]]
        players, rows = np.unique(tree.infoset_player[infosets]), tree.infoset_row[infosets]
        player = int(players[0]) if players.size == 1 else -1
        turns.append(Turn(player, (int(rows.min()), int(rows.max()) + 1)))
    return tuple(turns)


def _views(tree: Tree, decisions: Ints) -> tuple[Ints, Any]:
    """What every player sees at every decision, and one observation for each thing to see."""
    try:
        game = tree.game or load_game(tree.spec)
    except ConfigError as error:
        problem = "networks need observations, and so the rules of the game"
        raise ConfigError(f"{problem}; {tree.spec} comes without rules") from error
    if not isinstance(game, ObservedGame):
        raise GameError(f"{tree.spec} has no observation(state, player), which networks need")
    seen: list[dict[str, int]] = [{} for _ in range(tree.num_players)]
    rows: list[Any] = []
    view = np.zeros((tree.num_players, decisions.size), np.int32)
    states: dict[int, Any] = {0: game.initial_state()}
    number = 0
    for node in range(tree.num_nodes):  # level order: a state is kept until its children are made
        state = states.pop(node)
        if tree.player[node] == TERMINAL:
            continue
        if tree.player[node] >= 0:
            for player in range(tree.num_players):
                key = game.infoset_key(state, player)
                row = seen[player].get(key)
                if row is None:
                    row = seen[player][key] = len(rows)
                    rows.append(game.observation(state, player))
                view[player, number] = row
            number += 1
        for child in range(int(tree.child_offset[node]), int(tree.child_offset[node + 1])):
            states[child] = game.next_state(state, int(tree.action[child]))
    return view, np.array(rows, np.float32)
