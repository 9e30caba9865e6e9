"""Choose the weighted subsets of flops for reports.

    python -m benchmarks.holdem.all_flops FOLDER training_early ...    # all spots named training_
    python -m benchmarks.holdem.choose_flops FOLDER                    # writes flop_subsets.json

A flop is described by its texture and, for each training spot of `all_flops`, by numbers times the
probability of the flop: the EV, the equity, the frequencies of bets, and the distribution of the
equities of both players' hands. For the ranges of `WIDE_RANGES`, which are too wide to be solved
on all flops, it is described by the distribution of hand strength, the equity against a random
hand. A subset of n flops with weights w is chosen so that the weighted sums of all these numbers
are those of the 1,755 flops:

1. Weighted k-means (n clusters) on the standardised numbers; the flop nearest to each centre is
   taken, which makes every kind of flop present.
2. Weights minimise |F^T w - mean|^2 + RIDGE * sum_k (w_k - cluster_k)^2 / cluster_k, each with at
   least a quarter of its cluster's mass.
3. Flops are exchanged within their clusters as long as the objective falls.

Spots of `all_flops` without `training_` in their names have no part in the choice; `all_flops`
prints the errors of the subsets for them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from benchmarks.holdem.all_flops import SPOTS, equity_histogram
from counterplay.arenas.holdem.boards import RangeHands
from counterplay.arenas.holdem.equity import compute_equity
from counterplay.arenas.holdem.flops import FLOP_GROUPS, all_flops, flop_texture
from counterplay.core.cards import parse_cards

Array = NDArray[Any]
SUBSET_FILE = Path(__file__).parents[2] / "src/counterplay/arenas/holdem/flop_subsets.json"
SUBSET_SIZES = (25, 49, 95, 184)
RIDGE = 0.02  # weight of the masses of clusters
MIN_SHARE = 0.25  # least weight of a flop, in parts of the mass of its cluster
NUM_STARTS = {25: 4, 49: 4, 95: 2, 184: 1}  # runs of k-means; the best objective is kept
NUM_PASSES = {25: 2, 49: 2, 95: 2, 184: 1}  # over all flops of a subset, to exchange them
NUM_CANDIDATES = {25: 8, 49: 8, 95: 8, 184: 3}  # flops of a cluster that are tried
WIDE_RANGES = (
    "22+,A2s+,K2s+,Q5s+,J7s+,T7s+,96s+,86s+,75s+,64s+,54s,A2o+,K8o+,Q9o+,J9o+,T9o",
    "99-22,ATs-A2s,K2s-KTs,Q2s+,J4s+,T5s+,95s+,85s+,74s+,63s+,53s+,"
    "A2o-A9o,K5o+,Q7o+,J7o+,T7o+,97o+,87o",
    "22+,A2s+,K9s+,QTs+,JTs,T9s,98s,87s,76s,ATo+,KJo+",
    "JJ-22,AJs-A2s,K8s+,Q9s+,J8s+,T8s+,97s+,86s+,75s+,64s+,54s,AJo-ATo,KQo",
    "TT+,ATs+,A5s-A2s,KTs+,QJs,T9s:0.5,76s:0.5,65s:0.5,AQo+,KQo:0.5",
    "JJ-55,AQs-A8s,A5s-A4s,KTs+,QTs+,JTs,T9s,98s,87s,AQo:0.5,AJo:0.5,KQo",
    "QQ+,AKs,A5s:0.5,AKo",
    "random",
)


def training_features(folder: Path) -> list[tuple[Array, float]]:
    """Return blocks of numbers [1755, d] of the training spots, and the weight of each block."""
    blocks: dict[str, list[Array]] = {"chance": [], "mean": [], "frequency": [], "histogram": []}
    counts = np.array([flop.weight for flop in all_flops()])
    for spot in (name for name in SPOTS if name.startswith("training")):
        results = json.loads((folder / f"{spot}.json").read_text())
        rows = [results[flop.name] for flop in all_flops()]
        mass = np.array([row["mass"] for row in rows])
        chance = (mass / (counts @ mass))[:, None]  # relative to all flops, mean 1
        blocks["chance"].append(chance)
        blocks["mean"].append(chance * [[row["ev"], row["equity"]] for row in rows])
        blocks["frequency"].append(chance * [[row["oop_bets"], row["ip_bets"]] for row in rows])
        histogram = np.cumsum([row["histograms"] for row in rows], axis=2)[:, :, :-1]
        blocks["histogram"].append(chance * histogram.reshape(len(rows), -1))
    weights = {"chance": 0.5, "mean": 3.0, "frequency": 0.5, "histogram": 1.0}
    return [(np.concatenate(parts, axis=1), weights[name]) for name, parts in blocks.items()]


def strength_features() -> Array:
    """Return the distribution of hand strength [1755, d] of the wide ranges, by flop."""
    rows = []
    for flop in all_flops():
        cards = parse_cards(flop.name)
        strength = compute_equity("random", "random", flop.name).by_hand[0]
        row = []
        for text in WIDE_RANGES:
            hands = RangeHands.from_range(text, cards)
            row.extend(equity_histogram(hands.weight * strength[hands.index], hands.weight)[:-1])
        rows.append(row)
    return np.cumsum(np.array(rows).reshape(len(rows), len(WIDE_RANGES), -1), axis=2).reshape(
        len(rows), -1
    )


def flop_features(folder: Path) -> Array:
    """Return the standardised numbers [1755, d] of all flops, weighted by what they describe."""
    flops = all_flops()
    counts = np.array([flop.weight for flop in flops])
    path = folder / "strength.npy"
    if not path.exists():
        np.save(path, strength_features())
    texture = np.array(
        [
            [
                flop_texture(flop.name)[group] == value
                for group in FLOP_GROUPS
                for value in FLOP_GROUPS[group]
            ]
            for flop in flops
        ],
        float,
    )
    columns = []
    for block, weight in [*training_features(folder), (np.load(path), 0.7), (texture, 0.5)]:
        mean = counts @ block
        deviation = np.sqrt(counts @ (block - mean) ** 2)
        used = deviation > 1e-9
        columns.append(
            weight * (block[:, used] - mean[used]) / deviation[used] / np.sqrt(used.sum())
        )
    return np.concatenate(columns, axis=1)


def cluster(features: Array, counts: Array, n: int, rng: Any) -> Array:
    """Return the cluster [1755] of each flop by weighted k-means."""
    centres = features[rng.choice(len(features), n, replace=False, p=counts / counts.sum())]
    labels = np.zeros(len(features), int)
    for _ in range(60):
        distance = ((features[:, None] - centres[None]) ** 2).sum(axis=2)
        new = distance.argmin(axis=1)
        for k in range(n):
            if not (new == k).any():
                new[(distance[np.arange(len(new)), new] * counts).argmax()] = k
        if (new == labels).all():
            break
        labels = new
        centres = np.array(
            [np.average(features[labels == k], 0, counts[labels == k]) for k in range(n)]
        )
    return labels


def fit_weights(features: Array, chosen: Array, mass: Array) -> tuple[Array, float]:
    """Return the weights [n] and the objective; the mean of all flops is 0 in every feature."""
    root = np.sqrt(RIDGE / mass)
    matrix = np.concatenate([features[chosen].T, np.diag(root), np.full((1, len(chosen)), 30.0)])
    goal = np.concatenate([np.zeros(features.shape[1]), root * mass, [30.0]])
    least = MIN_SHARE * mass
    weights, residual = nnls(matrix, goal - matrix @ least)
    weights += least
    return weights / weights.sum(), residual


def choose_subset(features: Array, counts: Array, n: int, seed: int) -> tuple[Array, Array, float]:
    """Return the chosen flops [n], their weights, and the objective."""
    rng = np.random.default_rng(seed)
    labels = cluster(features, counts, n, rng)
    mass = np.array([counts[labels == k].sum() for k in range(n)]) / counts.sum()
    chosen = np.zeros(n, int)
    for k in range(n):
        members = np.flatnonzero(labels == k)
        centre = np.average(features[members], 0, counts[members])
        chosen[k] = members[((features[members] - centre) ** 2).sum(axis=1).argmin()]
    weights, best = fit_weights(features, chosen, mass)
    for _ in range(NUM_PASSES[n]):
        before = best
        for k in rng.permutation(n):
            members = np.flatnonzero(labels == k)
            centre = np.average(features[members], 0, counts[members])
            distance = ((features[members] - centre) ** 2).sum(axis=1)
            nearest = members[distance.argsort()[: NUM_CANDIDATES[n]]]
            for candidate in nearest:
                trial = chosen.copy()
                trial[k] = candidate
                trial_weights, value = fit_weights(features, trial, mass)
                if value < best - 1e-12:
                    chosen, weights, best = trial, trial_weights, value
        if best == before:
            break
    return chosen, weights, best


def main(folder: str, *sizes: str) -> None:
    flops = all_flops()
    counts = np.array([flop.weight for flop in flops]) * 22100.0
    features = flop_features(Path(folder))
    subsets = json.loads(SUBSET_FILE.read_text()) if SUBSET_FILE.exists() else {}
    for n in map(int, sizes or SUBSET_SIZES):
        runs = [choose_subset(features, counts, n, seed) for seed in range(NUM_STARTS[n])]
        chosen, weights, _ = min(runs, key=lambda run: run[2])
        print(n, [round(run[2], 5) for run in runs], weights.min(), weights.max(), flush=True)
        order = np.argsort(-weights)
        subsets[str(n)] = {flops[chosen[k]].name: round(float(weights[k]), 6) for k in order}
    lines = ",\n".join(f"{json.dumps(n)}: {json.dumps(part)}" for n, part in subsets.items())
    SUBSET_FILE.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
