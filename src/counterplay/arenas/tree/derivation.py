"""Derive a tree from a tree without its rules: merged infosets, fewer actions, fixed policies."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.builder import TreeBuilder
from counterplay.core.arena import Floats, Ints
from counterplay.core.game import CHANCE, TERMINAL

FIXED_BUCKET = -1  # the bucket of an infoset that becomes a chance node


@dataclass(frozen=True)
class DerivationPlan:
    """Changes to a tree with I infosets and S sequences."""

    spec: str
    bucket: Ints  # [I] infosets of a bucket are merged; those of FIXED_BUCKET become chance
    keys: list[str]  # keys of the buckets
    action_mask: Ints  # [S] actions that stay: at least one per infoset, the same in a bucket
    probabilities: Floats  # [S] of chance, at the infosets of FIXED_BUCKET


def derive_tree(tree: TreeArena, plan: DerivationPlan) -> tuple[TreeArena, Ints]:
    """Return the derived tree, and its sequence, or -1, for each old sequence [S].

    Players of the new tree remember their buckets and actions. A bucket that merges different
    memories has imperfect recall.
    """
    nodes = _remaining_nodes(tree, plan)
    number = np.full(tree.num_nodes + 1, -1)  # the last entry is for the root's parent
    number[nodes] = np.arange(nodes.size)
    infoset = tree.infoset[nodes]
    bucket = np.append(plan.bucket, FIXED_BUCKET)[infoset]  # the last entry is for -1
    parts = TreeBuilder(plan.spec, tree.num_players)
    player = np.where((infoset >= 0) & (bucket == FIXED_BUCKET), CHANCE, tree.player[nodes])
    parent, before = number[tree.parent[nodes]], tree.incoming_sequence[nodes]
    is_fixed = (before >= 0) & (player[parent] == CHANCE)
    chance = np.where(is_fixed, np.append(plan.probabilities, 1.0)[before], tree.chance[nodes])
    parts.player, parts.parent, parts.chance = player, parent, chance
    parts.action, parts.depth = tree.action[nodes], _node_depths(tree)[nodes]
    _number_infosets(parts, tree, plan, infoset, bucket)
    terminals = np.flatnonzero(player == TERMINAL)
    parts.utility = tree.utility[np.searchsorted(tree.terminals, nodes[terminals])].ravel()

    derived = parts.build()
    new_sequence = np.full(tree.num_sequences, -1)
    acting = np.flatnonzero(derived.infoset >= 0)  # nodes keep their order
    _, first = np.unique(infoset[acting], return_index=True)
    for node in acting[first]:
        sequences = _remaining_sequences(tree, plan, infoset[node])
        start = derived.offset[derived.infoset[node]]
        new_sequence[sequences] = start + np.arange(sequences.size)
    return derived, new_sequence


def _node_depths(tree: TreeArena) -> Ints:
    return np.repeat(np.arange(tree.level_offset.size - 1), np.diff(tree.level_offset))


def _remaining_nodes(tree: TreeArena, plan: DerivationPlan) -> Ints:
    """Return the nodes that are not below a removed action."""
    fixed = np.repeat(plan.bucket == FIXED_BUCKET, tree.num_actions)
    remains = np.append(plan.action_mask | fixed, True)[tree.incoming_sequence]
    for first, last in zip(tree.level_offset[1:-1], tree.level_offset[2:], strict=True):
        remains[first:last] &= remains[tree.parent[first:last]]
    return np.flatnonzero(remains)


def _remaining_sequences(tree: TreeArena, plan: DerivationPlan, infoset: int) -> Ints:
    """Return the sequences of an infoset that are not removed."""
    sequences = np.arange(tree.offset[infoset], tree.offset[infoset + 1])
    return sequences[plan.action_mask[sequences]]


def _number_infosets(
    parts: TreeBuilder, tree: TreeArena, plan: DerivationPlan, infoset: Ints, bucket: Ints
) -> None:
    """Set the infosets of nodes for players with perfect recall of their buckets and actions."""
    player, parent, depth = parts.player, parts.parent, np.asarray(parts.depth)
    num_nodes = len(player)
    position = np.arange(num_nodes) - np.searchsorted(parent, parent)  # among siblings
    last = np.full((num_nodes, tree.num_players), -1)  # last sequence of each player
    reach = np.ones(num_nodes)
    new_infoset = np.full(num_nodes, -1)
    infoset_by_memory: dict[tuple[int, int], int] = {}  # (bucket, last sequence) -> infoset
    game_infoset_by_bucket: dict[int, int] = {}
    starts = np.searchsorted(depth, np.arange(depth[-1] + 2))
    for begin, end in pairwise(starts):
        if begin:
            above = parent[begin:end]
            last[begin:end] = last[above]
            reach[begin:end] = reach[above] * parts.chance[begin:end]
            children = np.flatnonzero(player[above] >= 0)
            above = above[children]
            first = np.array(parts.first_sequence)[new_infoset[above]]
            last[begin + children, player[above]] = first + position[begin + children]
        acting = begin + np.flatnonzero(player[begin:end] >= 0)
        memory = np.column_stack([bucket[acting], last[acting, player[acting]]])
        rows, index, inverse = np.unique(memory, axis=0, return_index=True, return_inverse=True)
        ids = np.zeros(len(rows), np.int64)
        for k, (number, before) in enumerate(rows.tolist()):
            node = acting[index[k]]
            if number not in game_infoset_by_bucket:
                added = _add_bucket(parts, tree, plan, int(infoset[node]))
                game_infoset_by_bucket[number] = added
            if (number, before) not in infoset_by_memory:
                game_infoset = game_infoset_by_bucket[number]
                added = parts.append_infoset(int(player[node]), game_infoset, before)
                infoset_by_memory[number, before] = added
            ids[k] = infoset_by_memory[number, before]
        new_infoset[acting] = ids[inverse.ravel()]
    terminals = np.flatnonzero(player == TERMINAL)
    parts.infoset, parts.chance_reach = new_infoset, reach[terminals]
    parts.last_sequence = last[terminals].ravel()


def _add_bucket(parts: TreeBuilder, tree: TreeArena, plan: DerivationPlan, infoset: int) -> int:
    """Add the bucket of an infoset, with the remaining actions; return its number."""
    sequences = _remaining_sequences(tree, plan, infoset)
    key = plan.keys[plan.bucket[infoset]]
    parts.infoset_keys.append((int(tree.infoset_player[infoset]), key))
    parts.legal_actions.append(tuple(tree.sequence_action[sequences].tolist()))
    parts.action_names.append(tuple(tree.sequence_names[s] for s in sequences))
    return len(parts.infoset_keys) - 1
