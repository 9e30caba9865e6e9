"""A tree made from a tree, without its rules: other infosets, fewer actions, fixed play."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.builder import TreeBuilder
from counterplay.core.arena import Floats, Ints
from counterplay.core.game import CHANCE, TERMINAL

FIXED_BUCKET = -1  # the bucket of an infoset that chance plays


@dataclass(frozen=True)
class DerivationPlan:
    """How to remake a tree with I infosets and S sequences."""

    spec: str
    bucket: Ints  # [I] infosets with the same number become one; FIXED ones are played by chance
    keys: list[str]  # of the buckets
    action_mask: Ints  # [S] which actions stay; at every infoset at least one, in a bucket the same
    probabilities: Floats  # [S] of chance, at the FIXED infosets


def derive_tree(tree: TreeArena, plan: DerivationPlan) -> tuple[TreeArena, Ints]:
    """The remade tree, and its sequence for each of the old ones [S]; -1 where it has none.

    Players of the new tree remember the buckets they saw and what they did there: where a bucket
    joins different memories, it has imperfect recall, else it is a plain infoset again.
    """
    nodes = _remaining_nodes(tree, plan)
    place = np.full(tree.num_nodes + 1, -1)  # the last entry serves the root's parent
    place[nodes] = np.arange(nodes.size)
    infoset = tree.infoset[nodes]
    bucket = np.append(plan.bucket, FIXED_BUCKET)[infoset]  # the last entries serve the number -1
    parts = TreeBuilder(plan.spec, tree.num_players)
    player = np.where((infoset >= 0) & (bucket == FIXED_BUCKET), CHANCE, tree.player[nodes])
    parent, before = place[tree.parent[nodes]], tree.incoming_sequence[nodes]
    by_chance = (before >= 0) & (player[parent] == CHANCE)
    chance = np.where(by_chance, np.append(plan.probabilities, 1.0)[before], tree.chance[nodes])
    parts.player, parts.parent, parts.chance = player, parent, chance
    parts.action, parts.depth = tree.action[nodes], _node_depths(tree)[nodes]
    _number_infosets(parts, tree, plan, infoset, bucket)
    ended = np.flatnonzero(player == TERMINAL)
    parts.utility = tree.utility[np.searchsorted(tree.terminals, nodes[ended])].ravel()

    made = parts.build()
    new = np.full(tree.num_sequences, -1)
    decided = np.flatnonzero(made.infoset >= 0)  # nodes keep their order
    _, first = np.unique(infoset[decided], return_index=True)
    for node in decided[first]:
        old = infoset[node]
        mine = np.arange(tree.offset[old], tree.offset[old + 1])
        mine = mine[plan.action_mask[mine]]
        new[mine] = made.offset[made.infoset[node]] + np.arange(mine.size)
    return made, new


def _node_depths(tree: TreeArena) -> Ints:
    return np.repeat(np.arange(tree.level_offset.size - 1), np.diff(tree.level_offset))


def _remaining_nodes(tree: TreeArena, plan: DerivationPlan) -> Ints:
    """The nodes that no action left out leads to."""
    fixed = np.repeat(plan.bucket == FIXED_BUCKET, tree.num_actions)
    kept = np.append(plan.action_mask | fixed, True)[tree.incoming_sequence]
    for first, last in zip(tree.level_offset[1:-1], tree.level_offset[2:], strict=True):
        kept[first:last] &= kept[tree.parent[first:last]]
    return np.flatnonzero(kept)


def _number_infosets(
    parts: TreeBuilder, tree: TreeArena, plan: DerivationPlan, infoset: Ints, bucket: Ints
) -> None:
    """Give the nodes the infosets that players with perfect recall of the buckets tell apart."""
    player, parent, depth = parts.player, parts.parent, np.asarray(parts.depth)
    num_nodes = len(player)
    place = np.arange(num_nodes) - np.searchsorted(parent, parent)  # among its siblings
    last = np.full((num_nodes, tree.num_players), -1)  # each player's last sequence
    reach = np.ones(num_nodes)
    found = np.full(num_nodes, -1)
    known: dict[tuple[int, int], int] = {}
    public: dict[int, int] = {}
    starts = np.searchsorted(depth, np.arange(depth[-1] + 2))
    for begin, end in pairwise(starts):
        if begin:
            above = parent[begin:end]
            last[begin:end] = last[above]
            reach[begin:end] = reach[above] * parts.chance[begin:end]
            acted = np.flatnonzero(player[above] >= 0)
            who = player[above[acted]]
            first = np.array(parts.first_sequence)[found[above[acted]]]
            last[begin + acted, who] = first + place[begin + acted]
        here = begin + np.flatnonzero(player[begin:end] >= 0)
        memory = np.column_stack([bucket[here], last[here, player[here]]])
        rows, which, each = np.unique(memory, axis=0, return_index=True, return_inverse=True)
        ids = np.zeros(len(rows), np.int64)
        for k, (number, before) in enumerate(rows.tolist()):
            if number not in public:
                public[number] = _add_bucket(parts, tree, plan, int(infoset[here[which[k]]]))
            if (number, before) not in known:
                owner = int(player[here[which[k]]])
                known[number, before] = parts.append_infoset(owner, public[number], before)
            ids[k] = known[number, before]
        found[here] = ids[each.ravel()]
    ended = np.flatnonzero(player == TERMINAL)
    parts.infoset, parts.last_sequence, parts.chance_reach = (
        found,
        last[ended].ravel(),
        reach[ended],
    )


def _add_bucket(parts: TreeBuilder, tree: TreeArena, plan: DerivationPlan, infoset: int) -> int:
    """Enter the bucket of an infoset under its name, with the actions that stay."""
    mine = np.arange(tree.offset[infoset], tree.offset[infoset + 1])
    mine = mine[plan.action_mask[mine]]
    key = plan.keys[plan.bucket[infoset]]
    parts.infoset_keys.append((int(tree.infoset_player[infoset]), key))
    parts.legal_actions.append(tuple(tree.sequence_action[mine].tolist()))
    parts.action_names.append(tuple(tree.sequence_names[s] for s in mine))
    return len(parts.infoset_keys) - 1
