"""Choose the weighted subsets of flops for reports, and measure how well they stand for all flops.

    python -m benchmarks.holdem.choose_flops features FILE    # 12 pairs of ranges x 1,755 flops
    python -m benchmarks.holdem.choose_flops choose FILE      # writes flop_subsets.json
    python -m benchmarks.holdem.choose_flops validate FILE    # errors of equities, held-out ranges

A flop is described by numbers that do not need a solver: for each pair of training ranges, the
probability of the flop, the equity of the range, and the distribution of the equities of its hands
(quantised, both players), each times that probability; and its texture. A subset of n flops with
weights w is chosen so that the weighted sums of all these numbers are those of the 1,755 flops:

1. Weighted k-means (n clusters) on the standardised numbers; the flop nearest to each centre is
   taken, which makes every kind of flop present.
2. Weights minimise |F^T w - mean|^2 + RIDGE * sum_k (w_k - cluster_k)^2 / cluster_k with w >= 0.
3. Flops are exchanged within their clusters as long as the objective falls.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from counterplay.arenas.holdem.boards import RangeHands
from counterplay.arenas.holdem.equity import compute_equity
from counterplay.arenas.holdem.flops import FLOP_GROUPS, all_flops, flop_texture
from counterplay.core.cards import parse_cards

Array = NDArray[Any]
SUBSET_FILE = Path(__file__).parents[2] / "src/counterplay/arenas/holdem/flop_subsets.json"
SUBSET_SIZES = (25, 49, 95, 184)
NUM_BINS = 10  # of the equities of hands
RIDGE = {25: 0.02, 49: 0.02, 95: 0.02, 184: 0.001}  # weight of the masses of clusters
MIN_SHARE = {25: 0.0, 49: 0.0, 95: 0.0, 184: 0.25}  # least weight, in parts of the cluster's mass
NUM_STARTS = {25: 4, 49: 4, 95: 1, 184: 1}  # runs of k-means; the best objective is kept
NUM_PASSES = {25: 2, 49: 2, 95: 2, 184: 1}  # over all flops of a subset, to exchange them
NUM_CANDIDATES = {25: 8, 49: 8, 95: 8, 184: 2}  # flops of a cluster that are tried
OPEN = "22+,A2s+,K2s+,Q5s+,J7s+,T7s+,96s+,86s+,75s+,64s+,54s,A2o+,K8o+,Q9o+,J9o+,T9o"
DEFEND = (
    "99-22,ATs-A2s,K2s-KTs,Q2s+,J4s+,T5s+,95s+,85s+,74s+,63s+,53s+,"
    "A2o-A9o,K5o+,Q7o+,J7o+,T7o+,97o+,87o"
)
EARLY = "22+,A2s+,K9s+,QTs+,JTs,T9s,98s,87s,76s,ATo+,KJo+"
DEFEND_EARLY = "JJ-22,AJs-A2s,K8s+,Q9s+,J8s+,T8s+,97s+,86s+,75s+,64s+,54s,AJo-ATo,KQo"
THREE_BET = "TT+,ATs+,A5s-A2s,KTs+,QJs,T9s:0.5,76s:0.5,65s:0.5,AQo+,KQo:0.5"
CALL_THREE_BET = "JJ-55,AQs-A8s,A5s-A4s,KTs+,QTs+,JTs,T9s,98s,87s,AQo:0.5,AJo:0.5,KQo"
TRAINING = (  # out of position, in position
    (DEFEND, OPEN),
    (DEFEND_EARLY, EARLY),
    (THREE_BET, CALL_THREE_BET),
    (CALL_THREE_BET, THREE_BET),
    ("QQ+,AKs,A5s:0.5,AKo", "TT-QQ,AQs+,AKo,KQs"),
    ("22+,A2+,K2+,Q2+,J2+,T2+,92+,82+,72+,62+,52+,42+,32", OPEN),
    ("22+,A2s+,K5s+,Q8s+,J8s+,T8s+,97s+,87s,76s,A7o+,KTo+,QTo+", DEFEND),
    ("88-22,A2s-A9s,KTs-K6s,QTs-Q8s,J9s,T8s+,97s+,86s+,75s+,65s,54s", "99+,ATs+,KJs+,AJo+,KQo"),
)
HELD_OUT = (
    ("66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s",
     "QQ-22,AQs-A2s,ATo+,K5s+,KJo+,Q8s+,J8s+,T7s+,96s+,86s+,75s+,64s+,53s+"),
    ("88+,A8s+,A5s-A2s:0.5,AJo+,K9s+,KQo,Q9s+,J8s+,T8s+,97s+,87s",
     "AA:0.25,99-22,AJs-A2s,AQo-A8o,K2s+,K9o+,Q2s+,Q9o+,J6s+,J9o+,T6s+,T9o,96s+,98o,86s+,75s+"),
    ("KK-99,AKs-AJs,AKo,KQs,T9s,98s,87s", "22+,AQs+,AQo+"),
    ("random", "A2+,K9+,22+"),
)  # fmt: skip


def measure_features(pairs: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """Return by flop and pair of ranges: the probability, the equity, and histograms."""
    flops = all_flops()
    mass = np.zeros((len(flops), len(pairs)))
    equity = np.zeros((len(flops), len(pairs)))
    histogram = np.zeros((len(flops), len(pairs), 2, NUM_BINS))
    for f, flop in enumerate(flops):
        for p, pair in enumerate(pairs):
            hands = [RangeHands.from_range(text, parse_cards(flop.name)) for text in pair]
            result = compute_equity(*pair, flop.name)
            for player in (0, 1):
                opponent = hands[1 - player]
                share = hands[player].weight * hands[player].compatible_mass(
                    opponent, opponent.weight
                )
                values = result.by_hand[player][hands[player].index]
                live = share > 1e-12
                bins = np.minimum((values[live] * NUM_BINS).astype(int), NUM_BINS - 1)
                histogram[f, p, player] = np.bincount(bins, share[live], NUM_BINS)
            mass[f, p], equity[f, p] = share.sum(), result.value
    return {"mass": mass, "equity": equity, "histogram": histogram}


def flop_features(data: dict[str, Any], counts: Array) -> Array:
    """Return the standardised numbers [1755, d] of all flops, weighted by what they describe."""
    chance = data["mass"] / (counts @ data["mass"] / counts.sum())  # relative to all flops, mean 1
    histogram = np.cumsum(data["histogram"] / data["mass"][:, :, None, None], axis=3)[..., :-1]
    flops = all_flops()
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
    blocks = [
        (chance, 0.5),
        (chance * data["equity"], 3.0),
        ((chance[:, :, None, None] * histogram).reshape(len(flops), -1), 1.0),
        (texture, 0.5),
    ]
    columns = []
    for block, weight in blocks:
        mean = counts @ block / counts.sum()
        deviation = np.sqrt(counts @ (block - mean) ** 2 / counts.sum())
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
    root = np.sqrt(RIDGE[len(chosen)] / mass)
    matrix = np.concatenate([features[chosen].T, np.diag(root), np.full((1, len(chosen)), 30.0)])
    goal = np.concatenate([np.zeros(features.shape[1]), root * mass, [30.0]])
    least = MIN_SHARE[len(chosen)] * mass
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


def subset_errors(
    data: dict[str, Any], counts: Array, chosen: Array, weights: Array
) -> dict[str, list[float]]:
    """Return the errors of a subset by pair of ranges: equity, and largest of the histograms."""
    everything = counts[:, None] * data["mass"]
    everything /= everything.sum(axis=0)
    part = weights[:, None] * data["mass"][chosen]
    part /= part.sum(axis=0)
    equity = (part * data["equity"][chosen]).sum(axis=0) - (everything * data["equity"]).sum(axis=0)
    shape = data["histogram"] / data["mass"][:, :, None, None]
    share = np.einsum("fp,fpqb->pqb", part, shape[chosen]) - np.einsum(
        "fp,fpqb->pqb", everything, shape
    )
    return {"equity": equity.tolist(), "histogram": np.abs(share).max(axis=(1, 2)).tolist()}


def main(command: str, file: str, *sizes: str) -> None:
    flops = all_flops()
    counts = np.array([flop.weight for flop in flops]) * 22100.0
    if command == "features":
        start = time.process_time()
        data = measure_features(TRAINING + HELD_OUT)
        np.savez_compressed(file, **data)
        print(f"{time.process_time() - start:.0f} CPU s")
        return
    loaded = dict(np.load(file))
    training = {name: array[:, : len(TRAINING)] for name, array in loaded.items()}
    if command == "choose":
        features = flop_features(training, counts)
        subsets = json.loads(SUBSET_FILE.read_text()) if SUBSET_FILE.exists() else {}
        for n in map(int, sizes or SUBSET_SIZES):
            runs = [choose_subset(features, counts, n, seed) for seed in range(NUM_STARTS[n])]
            chosen, weights, _ = min(runs, key=lambda run: run[2])
            print(n, [round(run[2], 5) for run in runs], weights.min(), weights.max())
            order = np.argsort(-weights)
            subsets[str(n)] = {flops[chosen[k]].name: round(float(weights[k]), 6) for k in order}
        lines = ",\n".join(f"{json.dumps(n)}: {json.dumps(part)}" for n, part in subsets.items())
        SUBSET_FILE.write_text(f"{{\n{lines}\n}}\n")
    index = {flop.name: i for i, flop in enumerate(flops)}
    for n, subset in json.loads(SUBSET_FILE.read_text()).items():
        chosen, weights = np.array([index[name] for name in subset]), np.array([*subset.values()])
        errors = subset_errors(loaded, counts, chosen, weights)
        rng, random_errors = np.random.default_rng(0), []
        for _ in range(200):
            drawn = rng.choice(len(flops), int(n), replace=False)
            random_errors.append(
                subset_errors(loaded, counts, drawn, counts[drawn] / counts[drawn].sum())["equity"]
            )
        typical = np.sqrt((np.array(random_errors) ** 2).mean(axis=0))[len(TRAINING) :]
        held_out = np.array(errors["equity"][len(TRAINING) :])
        print(f"{n} flops; held-out ranges, errors of the equity in percent:")
        print("  subset", (100 * held_out).round(3), "random subsets", (100 * typical).round(2))
        print("  largest error of a bin", np.round(errors["histogram"][len(TRAINING) :], 4))


if __name__ == "__main__":
    main(*sys.argv[1:])
