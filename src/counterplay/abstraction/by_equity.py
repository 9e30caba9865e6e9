"""Buckets by what the cards may become: k-means on equity histograms."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, Ints
from counterplay.core.game import CHANCE
from counterplay.core.settings import settings
from counterplay.errors import ConfigError

NUM_RESTARTS = 10  # of k-means; the best result counts
MAX_KMEANS_ROUNDS = 100  # of one k-means, at most


@settings()
class ByEquity:
    """Infosets after the same actions of all players are clustered by their equity histograms.

    From an infoset, let everyone follow the roll-out: always the action of that name where there is
    one, else, or with no name, all actions equally often. The equity of an infoset is the utility
    then expected, given what chance may have dealt, on a scale from 0, the worst infoset after the
    same actions, to 1, the best. The histogram is the distribution of the equity at the player's
    last infoset before the end (Johanson, Burch, Valenzano and Bowling, 2013).

    Two histograms are as far apart as the earth that must be moved between them, which on a line is
    the distance of their cumulative distributions. Clusters are found by k-means with that
    distance: each histogram joins the nearest centre, and each centre becomes the cumulative median
    of its own, which minimises their summed distance.

    With `recall`, infosets are clustered only with those that come from the same bucket, so that
    players forget nothing; else a bucket may forget the one before.
    """

    num_buckets: int = 3  # at most so many after each sequence of actions
    num_bins: int = 50  # of a histogram
    rollout_action: str = ""  # name of the action that everyone takes, such as "call"
    perfect_recall: bool = True
    seed: int = 0  # of the first centres

    runs_on: ClassVar[tuple[str, ...]] = ("tree", "rules")

    def __post_init__(self) -> None:
        for name, least in (("num_buckets", 1), ("num_bins", 2), ("seed", 0)):
            value = getattr(self, name)
            if value < least:
                raise ConfigError(f"by_equity: {name} is {value}, must be at least {least}")

    def bucket_game(self, game: Any) -> Any:
        """A hold'em game on real boards with its hands in buckets, to be sampled.

        Histograms are of the equity on the river against all hands; `rollout` does not count.
        """
        from counterplay.abstraction.holdem_buckets import HoldemBuckets, bucket_game

        if len(getattr(game, "board_cards", ())) < 4:
            raise ConfigError(
                "by_equity without a tree is for limit_holdem and no_limit_holdem: other games "
                "need their tree"
            )
        return bucket_game(
            game, HoldemBuckets(self.num_buckets, self.num_bins, self.seed), self.perfect_recall
        )

    def labels(self, tree: TreeArena) -> Sequence[Hashable]:
        """One label per infoset: the actions before it and its cluster, as numbers."""
        situation = _action_histories(tree)
        histograms, weight = equity_histograms(tree, self.num_bins, self.rollout_action)
        rng = np.random.default_rng(self.seed)
        labels: list[Hashable] = [None] * tree.num_infosets
        level, before = _own_decision_depth(tree), np.full(tree.num_infosets, -1)
        before[tree.game_infoset] = np.append(tree.game_infoset, -1)[tree.previous_infoset]
        for depth in range(level.max(initial=-1) + 1):
            groups: dict[Hashable, list[int]] = {}
            for infoset in np.flatnonzero(level == depth).tolist():
                past = (
                    labels[before[infoset]]
                    if self.perfect_recall and before[infoset] >= 0
                    else None
                )
                first, last = tree.offset[infoset : infoset + 2]
                legal = tuple(tree.sequence_action[first:last].tolist())
                groups.setdefault((situation[infoset], legal, past), []).append(infoset)
            for name, group in groups.items():
                found = cluster_histograms(histograms[group], weight[group], self.num_buckets, rng)
                for infoset, number in zip(group, found.tolist(), strict=True):
                    labels[infoset] = (name, number)
        return labels


def equity_histograms(
    tree: TreeArena, num_bins: int, rollout_action: str = ""
) -> tuple[Floats, Floats]:
    """Every infoset's equity histogram [I, bins], and its weight [I], chance's probability."""
    policy, before = _rollout_probabilities(tree, rollout_action), tree.incoming_sequence
    step = np.where(before >= 0, policy[before], tree.chance)  # from a node's parent to the node
    reach = tree.chance.copy()  # by chance alone: nobody's cards tell how they were played
    for first, last in zip(tree.level_offset[1:-1], tree.level_offset[2:], strict=True):
        reach[first:last] *= reach[tree.parent[first:last]]
    decisions = np.flatnonzero(tree.infoset >= 0)
    weight = _sum_by_infoset(tree, decisions, reach[decisions])
    histograms = np.zeros((tree.num_infosets, num_bins))
    situation = _action_histories(tree)
    for player in range(tree.num_players):
        decided = np.flatnonzero(tree.player == player)
        value = np.zeros(tree.num_nodes)
        value[tree.terminals] = tree.utility[:, player]
        _back_up_values(tree, step, value)
        own = tree.infoset[decided]
        equity = _sum_by_infoset(tree, decided, reach[decided] * value[decided])
        equity = _rescale_equity(equity / np.where(weight > 0.0, weight, 1.0), situation)
        last = _last_infoset(tree, player)[tree.terminals]
        place = (equity[last] * num_bins).astype(np.int64)
        spread = np.zeros((tree.num_nodes, num_bins))
        spread[tree.terminals, np.minimum(place, num_bins - 1)] = 1.0
        _back_up_values(tree, step, spread)
        np.add.at(histograms, own, reach[decided, None] * spread[decided])
    return histograms / np.where(weight > 0.0, weight, 1.0)[:, None], weight


def _sum_by_infoset(tree: TreeArena, nodes: Ints, values: Floats) -> Floats:
    return np.bincount(tree.infoset[nodes], values, tree.num_infosets).astype(np.float64)


def _rescale_equity(equity: Floats, situation: list[Hashable]) -> Floats:
    """Equities from 0 to 1 among the infosets of each situation; 1/2 where all are the same."""
    groups: dict[Hashable, list[int]] = {}
    for infoset, each in enumerate(situation):
        groups.setdefault(each, []).append(infoset)
    scaled = np.full(equity.size, 0.5)
    for group in groups.values():
        low, high = equity[group].min(), equity[group].max()
        if high - low > 1e-12 * max(abs(low), abs(high)):
            scaled[group] = (equity[group] - low) / (high - low)
    return scaled


def earth_mover_distance(first: Floats, second: Floats) -> Floats:
    """The earth mover's distance of histograms [..., bins], in bins."""
    return np.abs(np.cumsum(first, axis=-1) - np.cumsum(second, axis=-1)).sum(axis=-1)


def cluster_histograms(
    histograms: Floats, weight: Floats, num_buckets: int, rng: np.random.Generator
) -> Ints:
    """The cluster of each histogram [n, bins]: k-means with the earth mover's distance."""
    points, inverse = np.unique(
        np.cumsum(histograms, axis=1).round(12), axis=0, return_inverse=True
    )
    inverse = inverse.ravel()
    if len(points) <= num_buckets:
        return inverse
    mass: Floats = np.bincount(inverse, weight, len(points)).astype(np.float64) + 1e-300
    results = [_k_means(points, mass, num_buckets, rng) for _ in range(NUM_RESTARTS)]
    return min(results, key=lambda result: result[0])[1][inverse]


def cluster_centres(
    histograms: Floats, num_buckets: int, rng: np.random.Generator, num_restarts: int
) -> Floats:
    """The centres [k, bins], cumulative, of clusters of equally likely histograms [n, bins]."""
    points = np.cumsum(histograms, axis=1)
    mass = np.ones(len(points))
    results = [_k_means(points, mass, num_buckets, rng) for _ in range(num_restarts)]
    found = min(results, key=lambda result: result[0])[1]
    return np.array(
        [_weighted_median(points[found == k], mass[found == k]) for k in np.unique(found)]
    )


def _k_means(
    points: Floats, mass: Floats, num_buckets: int, rng: np.random.Generator
) -> tuple[float, Ints]:
    """The summed distance and the cluster of each point, from random first centres."""
    centres = points[[rng.choice(len(points), p=mass / mass.sum())]]
    while len(centres) < num_buckets:  # far points are likely to become the next centre
        near = mass * _distances(points, centres).min(axis=1) ** 2
        odds = near / near.sum() if near.sum() > 0.0 else None
        centres = np.vstack([centres, points[rng.choice(len(points), p=odds)]])
    found = np.full(len(points), -1)
    for _ in range(MAX_KMEANS_ROUNDS):
        nearest = _distances(points, centres).argmin(axis=1)
        if (nearest == found).all():
            break
        found = nearest
        for k in np.unique(found):
            centres[k] = _weighted_median(points[found == k], mass[found == k])
    return float(mass @ _distances(points, centres).min(axis=1)), found


def _distances(points: Floats, centres: Floats) -> Floats:
    return np.abs(points[:, None] - centres[None]).sum(axis=2)


def _weighted_median(points: Floats, mass: Floats) -> Floats:
    """The weighted median of each coordinate."""
    order = np.argsort(points, axis=0, kind="stable")
    half = np.cumsum(mass[order], axis=0) >= 0.5 * mass.sum()
    return np.take_along_axis(points, order, axis=0)[
        half.argmax(axis=0), np.arange(points.shape[1])
    ]


def _rollout_probabilities(tree: TreeArena, rollout_action: str) -> Floats:
    """The probabilities [S] of the roll-out."""
    named = np.array([name == rollout_action for name in tree.sequence_names], float)
    if rollout_action and not named.any():
        names = ", ".join(sorted(set(tree.sequence_names)))
        raise ConfigError(f"by_equity: no action is called {rollout_action!r}; there are {names}")
    there = np.repeat(np.add.reduceat(named, tree.offset[:-1]), tree.num_actions)
    return np.where(there > 0.0, named, np.repeat(1.0 / tree.num_actions, tree.num_actions))


def _back_up_values(tree: TreeArena, step: Floats, value: Floats) -> None:
    """Set `value` [N, ...], given at the terminals, to its expectation at every node."""
    shape = (-1,) + (1,) * (value.ndim - 1)
    for first, last in zip(tree.level_offset[-2:0:-1], tree.level_offset[:1:-1], strict=True):
        np.add.at(
            value, tree.parent[first:last], step[first:last].reshape(shape) * value[first:last]
        )


def _last_infoset(tree: TreeArena, player: int) -> Ints:
    """The player's last infoset [N] before each node, or -1."""
    last = np.full(tree.num_nodes, -1)
    for first, end in zip(tree.level_offset[1:-1], tree.level_offset[2:], strict=True):
        above = tree.parent[first:end]
        last[first:end] = np.where(tree.player[above] == player, tree.infoset[above], last[above])
    return last


def _action_histories(tree: TreeArena) -> list[Hashable]:
    """What players did before each infoset, whatever chance dealt, in all its histories."""
    known: dict[tuple[int, int], int] = {}
    done = np.zeros(tree.num_nodes, np.int64)
    for node, above in enumerate(tree.parent[1:].tolist(), 1):
        action = CHANCE if tree.player[above] == CHANCE else int(tree.action[node])
        done[node] = known.setdefault((int(done[above]), action), len(known) + 1)
    found: list[set[int]] = [set() for _ in range(tree.num_infosets)]
    for node in np.flatnonzero(tree.infoset >= 0).tolist():
        found[tree.infoset[node]].add(int(done[node]))
    return [frozenset(each) for each in found]


def _own_decision_depth(tree: TreeArena) -> Ints:
    """How many decisions of its player come before each infoset, at most."""
    level = np.zeros(tree.num_infosets, np.int64)
    for _, depth, first, last in tree.level_blocks:
        np.maximum.at(level, tree.game_infoset[first:last], depth)
    return level
