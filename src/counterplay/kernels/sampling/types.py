"""Records of arrays that the kernels of sampled traversals take."""

from __future__ import annotations

from typing import Any, NamedTuple


class GameNodes(NamedTuple):
    """The game to traverse: arrays of a tree, or objects with the same interface."""

    # [N] player, first (first action in the tables, or row of `utility`), child (first), count
    nodes: Any
    utility: Any  # [Z, P]
    baseline_slot: Any  # [N, P] index of the node's value in `RegretTables.baseline`, or [0, P]
    num_players: int


class RegretTables(NamedTuple):
    """The tables of S sequences; chance probabilities follow the sequences in `policy`."""

    regret: Any  # [S]
    policy: Any  # [S + C]
    policy_sum: Any  # [S]
    last_averaged: (
        Any  # [S] last iteration in the lazy average, at an infoset's first action; or [0]
    )
    baseline: Any  # [B] estimated values of nodes
    max_abs_value: Any  # [S] largest value seen at an infoset, stored at its first action


class Scratch(NamedTuple):
    """Working memory of a traversal; D is the number of nodes of the longest history."""

    rng: Any  # [1 or more] state of the random stream, set at the start of every traversal
    counters: Any  # [2 or more] nodes touched, length of `pending_nodes`
    pending_nodes: Any  # [N] nodes whose infosets have new regrets
    node: Any  # [D] the path, or the stack of a branching traversal; likewise below
    action: Any  # [D]
    value: Any  # [D]
    reach: Any  # [D]
    sampling_reach: Any  # [D]
    max_abs_below: Any  # [D] largest value below the node


class RegretSamples(NamedTuple):
    """Sampled regrets as training data: sums per infoset, or a reservoir of M samples."""

    regret_sum: Any  # [S] weighted sums; unused with a reservoir
    weight_sum: Any  # [S] sum of weights, at an infoset's first action; unused with a reservoir
    num_seen: Any  # [1] samples offered so far
    sample_sequence: Any  # [M] first sequence of the infoset; [0] without reservoir
    sample_weight: Any  # [M]
    sample_regret: Any  # [M, A]
