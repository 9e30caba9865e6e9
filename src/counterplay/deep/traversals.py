"""Walks on the host, compiled by numba, with the networks' policies and critics as tables.

On a tree a network's policy is a table away, and a walk that looks things up there costs almost
nothing beside a fit. What a walk finds is remembered for every infoset as weighted sums: all
samples of an infoset share one input, so that the weighted squared error over them equals, up to a
constant, that of their mean. Or single samples go to a reservoir, as the papers have it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np

from counterplay.errors import ConfigError
from counterplay.kernels import replays
from counterplay.kernels.bundles import Arena, Replay, Scratch, Table
from counterplay.policy import uniform_policy
from counterplay.tree import Floats, Ints, Tree, once_per_tree
from counterplay.tree.walking import chance_policy, rows

MOST_BYTES = 8 * 2**30  # of one reservoir


class Walks(NamedTuple):
    """What walks need and change, beside the networks; S sequences, C outcomes of chance."""

    policy: Floats  # [S + C] the players' policies, then chance's
    policy_sum: Floats  # [S] the others' policies, added up where they were met
    replay: tuple[Any, ...]  # one per player: see `kernels.bundles.Replay`
    visits: Floats  # [N] how often a node was met by episodes; [0] if nobody asks
    touched: Ints  # [2] nodes, counted as often as they were visited, and those not chance's


class Scheme(NamedTuple):
    """How episodes are sampled for one player, and what they count."""

    player: int
    epsilon: float  # of uniform play by that player
    power: float  # of its own sampling reach, by which the weight of regrets is divided
    weight: float  # of regrets
    average: float  # of the others' policies
    corrected: bool = True  # what the critic got wrong, by what was sampled; False: it is believed


def believing(player: int, weight: float) -> Scheme:
    """The player acts uniformly, and the critic says what its regrets are."""
    return Scheme(player, 1.0, 0.0, weight, weight, corrected=False)


def no_walks(tree: Tree, reservoir_size: int = 0, visits: bool = False) -> Walks:
    """Uniform policies, and nothing remembered."""
    size = tree.num_sequences
    needed = reservoir_size * (4 * tree.max_actions + 16) * tree.num_players
    if needed > MOST_BYTES:
        raise ConfigError(
            f"reservoir_size is {reservoir_size}: these take {needed / 2**30:,.1f} GiB on "
            f"{tree.spec}, more than {MOST_BYTES / 2**30:.0f}; use fewer, or 0 for sums"
        )
    replay = [
        Replay(
            np.zeros(0 if reservoir_size else size),
            np.zeros(0 if reservoir_size else size),
            np.zeros(1, np.int64),
            np.zeros(reservoir_size, np.int64),
            np.zeros(reservoir_size),
            np.zeros((reservoir_size, tree.max_actions), np.float32),
        )
        for _ in range(tree.num_players)
    ]
    return Walks(
        policy=np.append(uniform_policy(tree).probabilities, chance_policy(tree)),
        policy_sum=np.zeros(size),
        replay=tuple(replay),
        visits=np.zeros(tree.num_nodes if visits else 0),
        touched=np.zeros(2, np.int64),
    )


def external(
    choices: Any, tree: Tree, walks: Walks, player: int, weight: float, key: jax.Array
) -> None:
    """Walks in which the player tries everything; regrets and policies count `weight`."""
    given = player, choices.traversals, seed_of(key), choices.even, weight
    _run(tree, walks, replays.external, given, walks.replay[player])


def outcomes(
    choices: Any, tree: Tree, walks: Walks, scheme: Scheme, critic: Floats, key: jax.Array
) -> None:
    """Episodes in which one player explores, and a critic knows what it did not try."""
    player, epsilon, power, weight, average, corrected = scheme
    kernel: Any = replays.guesses
    counts: tuple[Any, ...] = (weight,)
    if corrected:
        kernel, counts = replays.outcomes, ((epsilon, power), (weight, average))
    given = player, choices.traversals, seed_of(key), choices.even, *counts, critic, walks.visits
    _run(tree, walks, kernel, given, walks.replay[player])


def seed_of(key: jax.Array) -> np.uint64:
    """A seed for walks from a key of JAX."""
    high, low = np.asarray(key, np.uint64)
    return np.uint64(high << np.uint64(32) | low)


def forget(replay: Replay) -> None:
    """Empty a replay of sums."""
    replay.total[:] = 0.0
    replay.weight[:] = 0.0


def means(tree: Tree, replay: Replay) -> tuple[Floats, Floats]:
    """The weighted mean [S] of all regrets remembered, and the weight of every infoset [I]."""
    weight = replay.weight[tree.offset[:-1]]
    return replay.total / np.repeat(np.where(weight > 0.0, weight, 1.0), tree.num_actions), weight


def dense(tree: Tree, values: Floats) -> Any:
    """Values [S] as a table [I, A], zero where there is no action."""
    table = np.zeros((tree.num_infosets, tree.max_actions), np.float32)
    table[legal_of(tree)] = values
    return table


@once_per_tree
def legal_of(tree: Tree) -> Any:
    """Which actions exist [I, A]."""
    return np.arange(tree.max_actions) < tree.num_actions[:, None]


@once_per_tree
def infoset_at(tree: Tree) -> Ints:
    """The infoset of every sequence [S]."""
    return np.repeat(np.arange(tree.num_infosets), tree.num_actions)


@once_per_tree
def rows_of(tree: Tree) -> tuple[Ints, Any]:
    """Every player's infosets [P, R], padded with the first, and which of them are no padding."""
    first = tree.player_infoset
    size = int(np.diff(first).max(initial=1))
    row = first[:-1, None] + np.arange(size)
    exists = row < first[1:, None]
    padding = np.minimum(first[:-1, None], tree.num_infosets - 1)  # a player may have no infoset
    return np.where(exists, row, padding).astype(np.int32), exists


def set_policy(tree: Tree, walks: Walks, player: int, rows: Any) -> None:
    """Let the player play these probabilities [R, A], its infosets in their order."""
    first, last = tree.player_infoset[player : player + 2]
    legal = legal_of(tree)[first:last]
    table = np.where(legal, np.asarray(rows, np.float64)[: last - first], 0.0)
    table /= table.sum(axis=1, keepdims=True)
    walks.policy[tree.offset[first] : tree.offset[last]] = table[legal]


def _run(tree: Tree, walks: Walks, kernel: Any, given: tuple[Any, ...], replay: Replay) -> None:
    size, scratch = tree.num_sequences, _scratch(tree)
    nothing = np.zeros((0, tree.num_players), np.int32)
    game = Arena(rows(tree), tree.utility, nothing, tree.num_players)
    regret, largest = np.zeros((2, size))
    table = Table(regret, walks.policy, walks.policy_sum, np.zeros(0), np.zeros(0), largest)
    scratch.tally[:] = 0
    kernel(*given, np.zeros(2), game, table, scratch, replay)
    walks.touched[:] += scratch.tally[0], scratch.tally[0] - scratch.tally[2]


@once_per_tree
def _scratch(tree: Tree) -> Scratch:
    depth = tree.level.size + 1
    integers = [np.zeros(depth, np.int64) for _ in range(2)]
    floats = [np.zeros(depth) for _ in range(4)]
    met = np.empty(tree.num_nodes, np.int64)
    return Scratch(np.zeros(1, np.uint64), np.zeros(3, np.int64), met, *integers, *floats)
