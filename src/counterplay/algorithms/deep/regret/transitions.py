"""Decisions and what followed them, the latest of many episodes: what critics learn from on rules.

Those of an episode stand one after the other, so that what follows a decision is the next row, or
the end. The newest row always ends an episode, and the oldest ones may have lost their beginning.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterplay.algorithms.deep.common.batched_env import BatchedEnv
from counterplay.algorithms.deep.common.rollouts import RolloutBatch
from counterplay.core.arena import Ints


class Transitions(NamedTuple):
    """A ring of M decisions."""

    num_seen: Ints  # [1] decisions that have come by
    observation: Any  # [M, P, X] what every player sees
    last_action: Ints  # [M, P] every player's last action; -1: none yet
    player: Ints  # [M] who acts
    legal: Any  # [M, A]
    action: Ints  # [M]
    is_last_decision: Any  # [M] whether nothing follows but utilities
    utility: Any  # [M, P] of the episode
    weight: Any  # [M] how much the decision counts: this fades


def bytes_per_transition(env: BatchedEnv) -> int:
    """How much memory one decision takes."""
    players, features = env.num_players, env.num_features
    return 4 * players * (features + 2) + env.num_actions + 16


def new_transitions(env: BatchedEnv, size: int) -> Transitions:
    """Nothing has come by."""
    players, features = env.num_players, env.num_features
    return Transitions(
        np.zeros(1, np.int64),
        np.zeros((size, players, features), np.float32),
        np.full((size, players), -1, np.int32),
        np.zeros(size, np.int32),
        np.ones((size, env.num_actions), bool),
        np.zeros(size, np.int32),
        np.ones(size, bool),
        np.zeros((size, players), np.float32),
        np.zeros(size, np.float32),
    )


def add_transitions(transitions: Transitions, rollouts: RolloutBatch, last_action: Ints) -> None:
    """The decisions of a batch of episodes in place of the oldest; `last` [T, B, P] actions."""
    episodes, size = rollouts.episodes, transitions.weight.size
    if not size:
        return
    episode, turn = np.nonzero(np.asarray(episodes.live).T)  # episode by episode
    row = np.asarray(episodes.decision)[turn, episode]
    rows = (
        rollouts.observation[:, row].swapaxes(0, 1),
        last_action[turn, episode],
        episodes.player[turn, episode],
        rollouts.legal[row],
        episodes.action[turn, episode],
        np.append(episode[1:] != episode[:-1], True),
        episodes.utility[episode],
        np.ones(row.size, np.float32),
    )
    first = max(row.size - size, 0)
    place = (transitions.num_seen[0] + np.arange(first, row.size)) % size
    for room, new in zip(transitions[1:], rows, strict=True):
        room[place] = new[first:]
    transitions.num_seen[0] += row.size
