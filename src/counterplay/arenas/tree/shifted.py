"""A tree with a constant subtracted from all utilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from counterplay.arenas.tree.arena import TreeArena, freeze
from counterplay.arenas.tree.builder import list_payoff_rows
from counterplay.core.arena import Floats, Ints
from counterplay.core.constant_sum import subtract_constant
from counterplay.core.game import TERMINAL


def shift_tree(tree: TreeArena, constant: float) -> TreeArena:
    """Return the tree with `constant` subtracted from all utilities.

    Sums are taken in the order of a walk through the rules: the result has the bits of the tree
    that is built from rules with these utilities, if the differences are exact.
    """
    utility = tree.utility - constant
    order = np.argsort(_walk_order(tree))
    last, reach = _last_sequences(tree)
    rows = list_payoff_rows(last[order], reach[order], utility[order])
    form = tree.form._replace(**rows)
    typed = (array.astype(old.dtype) for array, old in zip(form, tree.form, strict=True))
    game = subtract_constant(tree.source_game, constant) if tree.source_game else None
    shifted = replace(tree, utility=utility, form=type(form)(*typed), source_game=game)
    freeze(shifted)
    return shifted


def _walk_order(tree: TreeArena) -> Ints:
    """Return the position [Z] of each terminal in a depth-first walk."""
    levels = list(zip(tree.level_offset[1:-1], tree.level_offset[2:], strict=True))
    count = (tree.player == TERMINAL).astype(np.int64)  # terminals below each node
    for first, last in reversed(levels):
        np.add.at(count, tree.parent[first:last], count[first:last])
    before = np.zeros(tree.num_nodes, np.int64)  # terminals that a walk meets before the node
    for first, last in levels:
        parent = tree.parent[first:last]
        earlier = np.cumsum(count[first:last]) - count[first:last]
        first_sibling = tree.child_offset[parent] - first
        before[first:last] = before[parent] + earlier - earlier[first_sibling]
    return before[tree.terminals]


def _last_sequences(tree: TreeArena) -> tuple[Ints, Floats]:
    """Return each player's last sequence [Z, P] in the form, and chance's reach [Z]."""
    infoset = tree.infoset if tree.has_perfect_recall else tree.recall_infoset
    last = np.full((tree.num_nodes, tree.num_players), int(tree.form.offset[-1]))
    reach = np.ones(tree.num_nodes)
    for first, end in zip(tree.level_offset[1:-1], tree.level_offset[2:], strict=True):
        nodes, parent = np.arange(first, end), tree.parent[first:end]
        last[first:end] = last[parent]
        reach[first:end] = reach[parent] * tree.chance[first:end]
        acts = tree.player[parent] >= 0
        nodes, parent = nodes[acts], parent[acts]
        sequence = tree.form.offset[infoset[parent]].astype(np.int64)
        last[nodes, tree.player[parent]] = sequence + nodes - tree.child_offset[parent]
    return last[tree.terminals], reach[tree.terminals]
