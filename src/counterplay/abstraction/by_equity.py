"""Buckets of infosets by the potential of the cards: k-means on equity histograms."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, Ints
from counterplay.core.game import CHANCE
from counterplay.core.settings import NonNegativeInt, PositiveInt, settings
from counterplay.errors import ConfigError

NUM_RESTARTS = 10  # of k-means; the best result is used
MAX_KMEANS_ROUNDS = 100


@settings()
class ByEquity:
    """Cluster infosets after the same actions of all players by their equity histograms.

    The equity of an infoset is its expected utility, over what chance may have dealt, if all
    players follow the rollout policy from there on: always `rollout_action` where it is legal, else
    all actions with equal probability. It is rescaled from 0, the worst infoset after the same
    actions, to 1, the best. The histogram of an infoset is the distribution of the equity at the
    player's last infoset before the end (Johanson, Burch, Valenzano and Bowling, 2013).

    The distance of two histograms is the earth mover's distance, which on a line is the L1 distance
    of their cumulative distributions. Clusters are found by k-means with that distance: each
    histogram joins the nearest centre, and each centre becomes the median of the cumulative
    distributions of its cluster, which minimises their summed distance.
    """

    num_buckets: PositiveInt = 3  # largest number of buckets after each sequence of actions
    num_bins: Annotated[int, Ge(2)] = 50  # of a histogram
    rollout_action: str = ""  # name of an action, such as "call"
    perfect_recall: bool = True  # cluster only infosets that follow the same bucket
    seed: NonNegativeInt = 0  # of the initial centres

    runs_on: ClassVar[tuple[str, ...]] = ("tree", "rules")

    def bucket_game(self, game: Any) -> Any:
        """Return a hold'em game with its hands in buckets, for algorithms that sample rules.

        Histograms are of the equity on the river against all hands; `rollout_action` is not used.
        Without a board each of the 169 hand classes is a bucket, which loses nothing.

        Raises:
            ConfigError: the game is not hold'em with 52 cards that ends on the river or has no
                board.
        """
        from itertools import accumulate

        from counterplay.abstraction.holdem_buckets import BucketedGame

        boards = tuple(accumulate(getattr(game, "board_cards", (1,))))
        is_holdem = boards[-1] in (0, 5) and set(boards) <= {0, 3, 4, 5}
        if not is_holdem or len(game.deck) != 52 or game.num_hole_cards != 2:
            raise ConfigError(
                "by_equity without a tree is for games of two private cards from 52 that end on "
                "the river or have no board, such as limit_holdem: other games need their tree"
            )
        return BucketedGame(game, self)

    def labels(self, tree: TreeArena) -> Sequence[Hashable]:
        """Return one label per infoset: the actions before it and its cluster, as numbers."""
        histories = _action_histories(tree)
        histograms, weight = equity_histograms(tree, self.num_bins, self.rollout_action)
        rng = np.random.default_rng(self.seed)
        labels: list[Hashable] = [None] * tree.num_infosets
        depths, previous = _own_decision_depth(tree), np.full(tree.num_infosets, -1)
        previous[tree.game_infoset] = np.append(tree.game_infoset, -1)[tree.previous_infoset]
        for depth in range(depths.max(initial=-1) + 1):
            groups: dict[Hashable, list[int]] = {}
            for infoset in np.flatnonzero(depths == depth).tolist():
                has_previous = self.perfect_recall and previous[infoset] >= 0
                previous_label = labels[previous[infoset]] if has_previous else None
                first, last = tree.offset[infoset : infoset + 2]
                legal = tuple(tree.sequence_action[first:last].tolist())
                key: Hashable = (histories[infoset], legal, previous_label)
                groups.setdefault(key, []).append(infoset)
            for key, group in groups.items():
                clusters = cluster_histograms(
                    histograms[group], weight[group], self.num_buckets, rng
                )
                for infoset, cluster in zip(group, clusters.tolist(), strict=True):
                    labels[infoset] = (key, cluster)
        return labels


def equity_histograms(
    tree: TreeArena, num_bins: int, rollout_action: str = ""
) -> tuple[Floats, Floats]:
    """Return the equity histogram [I, bins] and the weight [I] of every infoset.

    The weight is the probability of chance to reach the infoset; players' probabilities are left
    out, because equities do not depend on how the cards were played.
    """
    policy, before = _rollout_probabilities(tree, rollout_action), tree.incoming_sequence
    step = np.where(before >= 0, policy[before], tree.chance)  # from a node's parent to the node
    reach = tree.chance.copy()
    for first, last in zip(tree.level_offset[1:-1], tree.level_offset[2:], strict=True):
        reach[first:last] *= reach[tree.parent[first:last]]
    decisions = np.flatnonzero(tree.infoset >= 0)
    weight = _sum_by_infoset(tree, decisions, reach[decisions])
    histograms = np.zeros((tree.num_infosets, num_bins))
    histories = _action_histories(tree)
    for player in range(tree.num_players):
        own_nodes = np.flatnonzero(tree.player == player)
        value = np.zeros(tree.num_nodes)
        value[tree.terminals] = tree.utility[:, player]
        _back_up_values(tree, step, value)
        equity = _sum_by_infoset(tree, own_nodes, reach[own_nodes] * value[own_nodes])
        equity = _rescale_equity(equity / np.where(weight > 0.0, weight, 1.0), histories)
        last = _last_infoset(tree, player)[tree.terminals]
        bins = np.minimum((equity[last] * num_bins).astype(np.int64), num_bins - 1)
        distribution = np.zeros((tree.num_nodes, num_bins))
        distribution[tree.terminals, bins] = 1.0
        _back_up_values(tree, step, distribution)
        weighted = reach[own_nodes, None] * distribution[own_nodes]
        np.add.at(histograms, tree.infoset[own_nodes], weighted)
    return histograms / np.where(weight > 0.0, weight, 1.0)[:, None], weight


def _sum_by_infoset(tree: TreeArena, nodes: Ints, values: Floats) -> Floats:
    return np.bincount(tree.infoset[nodes], values, tree.num_infosets).astype(np.float64)


def _rescale_equity(equity: Floats, histories: list[Hashable]) -> Floats:
    """Return equities [I] from 0 to 1 among infosets of equal history; 1/2 if all are equal."""
    groups: dict[Hashable, list[int]] = {}
    for infoset, history in enumerate(histories):
        groups.setdefault(history, []).append(infoset)
    scaled = np.full(equity.size, 0.5)
    for group in groups.values():
        low, high = equity[group].min(), equity[group].max()
        if high - low > 1e-12 * max(abs(low), abs(high)):
            scaled[group] = (equity[group] - low) / (high - low)
    return scaled


def earth_mover_distance(first: Floats, second: Floats) -> Floats:
    """Return the earth mover's distance of histograms [..., bins], in bins."""
    return np.abs(np.cumsum(first, axis=-1) - np.cumsum(second, axis=-1)).sum(axis=-1)


def cluster_histograms(
    histograms: Floats, weight: Floats, num_buckets: int, rng: np.random.Generator
) -> Ints:
    """Return the cluster [n] of each histogram [n, bins], by k-means."""
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
    """Return cumulative centres [k, bins] of clusters of equally weighted histograms [n, bins]."""
    points = np.cumsum(histograms, axis=1)
    mass = np.ones(len(points))
    results = [_k_means(points, mass, num_buckets, rng) for _ in range(num_restarts)]
    clusters = min(results, key=lambda result: result[0])[1]
    return np.array(
        [_weighted_median(points[clusters == k], mass[clusters == k]) for k in np.unique(clusters)]
    )


def _k_means(
    points: Floats, mass: Floats, num_buckets: int, rng: np.random.Generator
) -> tuple[float, Ints]:
    """Return the summed distance and the cluster of each point, from random initial centres."""
    centres = points[[rng.choice(len(points), p=mass / mass.sum())]]
    while len(centres) < num_buckets:  # k-means++: far points are likely to be the next centre
        weights = mass * _distances(points, centres).min(axis=1) ** 2
        probabilities = weights / weights.sum() if weights.sum() > 0.0 else None
        centres = np.vstack([centres, points[rng.choice(len(points), p=probabilities)]])
    clusters = np.full(len(points), -1)
    for _ in range(MAX_KMEANS_ROUNDS):
        nearest = _distances(points, centres).argmin(axis=1)
        if (nearest == clusters).all():
            break
        clusters = nearest
        for k in np.unique(clusters):
            centres[k] = _weighted_median(points[clusters == k], mass[clusters == k])
    return float(mass @ _distances(points, centres).min(axis=1)), clusters


def _distances(points: Floats, centres: Floats) -> Floats:
    return np.abs(points[:, None] - centres[None]).sum(axis=2)


def _weighted_median(points: Floats, mass: Floats) -> Floats:
    """Return the weighted median of each coordinate of points [n, d]."""
    order = np.argsort(points, axis=0, kind="stable")
    half = np.cumsum(mass[order], axis=0) >= 0.5 * mass.sum()
    return np.take_along_axis(points, order, axis=0)[
        half.argmax(axis=0), np.arange(points.shape[1])
    ]


def _rollout_probabilities(tree: TreeArena, rollout_action: str) -> Floats:
    """Return the probabilities [S] of the rollout policy."""
    named = np.array([name == rollout_action for name in tree.sequence_names], float)
    if rollout_action and not named.any():
        names = ", ".join(sorted(set(tree.sequence_names)))
        raise ConfigError(f"by_equity: no action is called {rollout_action!r}; there are {names}")
    is_legal = np.repeat(np.add.reduceat(named, tree.offset[:-1]), tree.num_actions) > 0.0
    return np.where(is_legal, named, np.repeat(1.0 / tree.num_actions, tree.num_actions))


def _back_up_values(tree: TreeArena, step: Floats, value: Floats) -> None:
    """Set `value` [N, ...] at every node to its expectation, from its entries at terminals."""
    shape = (-1,) + (1,) * (value.ndim - 1)
    for first, last in zip(tree.level_offset[-2:0:-1], tree.level_offset[:1:-1], strict=True):
        np.add.at(
            value, tree.parent[first:last], step[first:last].reshape(shape) * value[first:last]
        )


def _last_infoset(tree: TreeArena, player: int) -> Ints:
    """Return the player's last infoset [N] before each node, or -1."""
    last = np.full(tree.num_nodes, -1)
    for first, end in zip(tree.level_offset[1:-1], tree.level_offset[2:], strict=True):
        above = tree.parent[first:end]
        last[first:end] = np.where(tree.player[above] == player, tree.infoset[above], last[above])
    return last


def _action_histories(tree: TreeArena) -> list[Hashable]:
    """Return, for each infoset, the set of the players' action sequences before its nodes.

    A sequence is a number; outcomes of chance do not distinguish sequences.
    """
    numbers: dict[tuple[int, int], int] = {}
    sequence = np.zeros(tree.num_nodes, np.int64)
    for node, above in enumerate(tree.parent[1:].tolist(), 1):
        action = CHANCE if tree.player[above] == CHANCE else int(tree.action[node])
        sequence[node] = numbers.setdefault((int(sequence[above]), action), len(numbers) + 1)
    histories: list[set[int]] = [set() for _ in range(tree.num_infosets)]
    for node in np.flatnonzero(tree.infoset >= 0).tolist():
        histories[tree.infoset[node]].add(int(sequence[node]))
    return [frozenset(history) for history in histories]


def _own_decision_depth(tree: TreeArena) -> Ints:
    """Return the largest number of own decisions [I] before each infoset."""
    depths = np.zeros(tree.num_infosets, np.int64)
    for _, depth, first, last in tree.level_blocks:
        np.maximum.at(depths, tree.game_infoset[first:last], depth)
    return depths
