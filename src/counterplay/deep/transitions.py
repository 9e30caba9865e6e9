"""Decisions and what followed them, the latest of many episodes: what critics learn from on rules.

Those of an episode stand one after the other, so that what follows a decision is the next row, or
the end. The newest row always ends an episode, and the oldest ones may have lost their beginning.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterplay.arena import Ints
from counterplay.deep.batches import Met
from counterplay.deep.stepping import Rules


class Transitions(NamedTuple):
    """A ring of M decisions."""

    seen: Ints  # [1] decisions that have come by
    observation: Any  # [M, P, X] what every player sees
    last: Ints  # [M, P] every player's last action; -1: none yet
    player: Ints  # [M] who acts
    legal: Any  # [M, A]
    action: Ints  # [M]
    ends: Any  # [M] whether nothing follows but utilities
    utility: Any  # [M, P] of the episode
    weight: Any  # [M] how much the decision counts: this fades


def bytes_of(rules: Rules) -> int:
    """How much memory one decision takes."""
    players, features = rules.num_players, rules.num_features
    return 4 * players * (features + 2) + rules.num_actions + 16


def no_transitions(rules: Rules, size: int) -> Transitions:
    """Nothing has come by."""
    players, features = rules.num_players, rules.num_features
    return Transitions(
        np.zeros(1, np.int64),
        np.zeros((size, players, features), np.float32),
        np.full((size, players), -1, np.int32),
        np.zeros(size, np.int32),
        np.ones((size, rules.num_actions), bool),
        np.zeros(size, np.int32),
        np.ones(size, bool),
        np.zeros((size, players), np.float32),
        np.zeros(size, np.float32),
    )


def put(ring: Transitions, met: Met, last: Ints) -> None:
    """The decisions of a batch of episodes in place of the oldest; `last` [T, B, P] actions."""
    episodes, size = met.episodes, ring.weight.size
    if not size:
        return
    episode, turn = np.nonzero(np.asarray(episodes.live).T)  # episode by episode
    row = np.asarray(episodes.decision)[turn, episode]
    rows = (
        met.seen[:, row].swapaxes(0, 1),
        last[turn, episode],
        episodes.player[turn, episode],
        met.legal[row],
        episodes.action[turn, episode],
        np.append(episode[1:] != episode[:-1], True),
        episodes.utility[episode],
        np.ones(row.size, np.float32),
    )
    first = max(row.size - size, 0)
    place = (ring.seen[0] + np.arange(first, row.size)) % size
    for room, new in zip(ring[1:], rows, strict=True):
        room[place] = new[first:]
    ring.seen[0] += row.size
