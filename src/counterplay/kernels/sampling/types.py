"""The arguments of sampled walks in three bundles."""

from __future__ import annotations

from typing import Any, NamedTuple


class GameNodes(NamedTuple):
    """What is walked. The arrays of a tree, or whatever looks like them to plain Python."""

    nodes: Any  # [N] player, first (of its actions in the table, or row of `utility`), child, count
    utility: Any  # [Z, P]
    baseline_slot: (
        Any  # [N, P] where `Table.baseline` holds the guess at the node's value; [0, P] if unused
    )
    num_players: int


class RegretTables(NamedTuple):
    """What is learned; S sequences, and in `policy` the probabilities of chance behind them."""

    regret: Any  # [S]
    policy: Any  # [S + C]
    policy_sum: Any  # [S]
    last_averaged: Any  # [S] the last iteration that the lazy average has counted; [0] if unused
    baseline: Any  # [B]
    max_abs_value: Any  # [S] the largest value met at an infoset, kept at its first action


class Scratch(NamedTuple):
    """Room to work; D is the longest history, the node at its end included."""

    rng: Any  # [1 or more] the state of the random numbers, set anew at the start of every walk
    counters: Any  # [2 or more] nodes touched, nodes listed in `met`
    pending_nodes: Any  # [N] nodes whose infosets have something to learn
    node: Any  # [D] the path, or the stack of a walk that branches; so are the rest
    action: Any  # [D]
    value: Any  # [D]
    reach: Any  # [D]
    sampling_reach: Any  # [D]
    max_abs_below: Any  # [D] the largest value met below


class RegretSamples(NamedTuple):
    """Regrets to be learned: sums for every infoset, or a reservoir of M single ones."""

    regret_sum: Any  # [S] weighted sums; unused with a reservoir, as is the next
    weight_sum: Any  # [S] of all that was added at an infoset, kept at its first action
    num_seen: Any  # [1] items that have come by
    sample_sequence: Any  # [M] first sequence of the infoset; [0]: no reservoir
    sample_weight: Any  # [M] how much an item counts
    sample_regret: Any  # [M, A]
