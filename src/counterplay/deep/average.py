"""The average policy in a table: exact, and exact again after millions of additions."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np

from counterplay.policy import Policy, normalised_policy
from counterplay.tree import Ints, Tree, row_lengths


class Sequences(NamedTuple):
    """Where each of the F sequences of the tree's form finds its probability and its past."""

    player: Ints  # [F]
    row: Ints  # [F] the infoset, counted within the player's own
    action: Ints  # [F]
    path: Ints  # [F, M] the sequence and those before it, then F


class Sums(NamedTuple):
    """A sum [F] and what rounding has lost of it so far (Kahan, 1965)."""

    total: jax.Array
    lost: jax.Array


def sequences_of(tree: Tree) -> Sequences:
    """The sequences of a tree's form as arrays for a device."""
    form = tree.form
    counts = row_lengths(form.offset)
    infoset = np.repeat(np.arange(counts.size), counts)
    action = np.arange(infoset.size) - form.offset[infoset].astype(np.int64)
    public = infoset
    if not tree.perfect_recall:
        first = tree.merged[form.offset[:-1]]
        public = (np.searchsorted(tree.offset, first, side="right") - 1)[infoset]
    player = tree.infoset_player[public].astype(np.int32)
    above = np.append(form.parent[infoset].astype(np.int64), infoset.size)
    path = [np.arange(infoset.size)]
    while (path[-1] < infoset.size).any():
        path.append(above[path[-1]])
    return Sequences(
        player=player,
        row=tree.infoset_row[public].astype(np.int32),
        action=action.astype(np.int32),
        path=np.stack(path[:-1] or path, axis=1).astype(np.int32),
    )


def reach_of(sequences: Sequences, table: jax.Array) -> jax.Array:
    """Each sequence's reach [F] under a table of probabilities [P, R, A]."""
    import jax.numpy as jnp

    policy = table[sequences.player, sequences.row, sequences.action]
    return jnp.append(policy, 1.0)[sequences.path].prod(axis=1)


def add(sums: Sums, values: jax.Array) -> Sums:
    """Add without losing what is too small for one addition."""
    corrected = values - sums.lost
    total = sums.total + corrected
    return Sums(total, (total - sums.total) - corrected)


def average_policy(tree: Tree, total: Any) -> Policy:
    """The policy proportional to a sum over the form's sequences."""
    weights: Any = np.asarray(total, np.float64)
    if not tree.perfect_recall:
        weights = np.bincount(tree.merged, weights * tree.histories, tree.num_sequences)
    return normalised_policy(tree, weights)
