"""Hold'em spots solved to a target: seconds, CPU seconds, memory; and the evaluator and equity.

python -m benchmarks.holdem evaluator
python -m benchmarks.holdem configs/spots/turn.json --targets 0.3 0.055 [--precision int16]
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

import counterplay as cp
from counterplay.arenas.holdem.equity import compute_equity
from counterplay.arenas.holdem.inspection import inspect_node
from counterplay.arenas.holdem.spot import BetSizes, Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.core.cards import ALL_HANDS, hand_name, parse_cards
from counterplay.kernels.holdem import hand_strength


def evaluator() -> None:
    counts = np.zeros(9, np.int64)
    hand_strength.count_categories(6, 7, counts)
    counts[:] = 0
    began = time.process_time()
    hand_strength.count_categories(6, 52, counts)
    took = time.process_time() - began
    print(f"all {counts.sum():,} hands in {took:.2f} CPU s: {counts.sum() / took / 1e6:.0f} M/s")
    print(dict(zip(hand_strength.CATEGORIES, counts.tolist(), strict=True)))
    rng = np.random.default_rng(0)
    cards = np.array([rng.permutation(52)[:7] for _ in range(200_000)], np.uint8)
    out = np.zeros(len(cards), np.int64)
    best = min(_seconds(lambda: hand_strength.strengths(cards, out)) for _ in range(6))
    print(f"random hands in a batch: {len(cards) / best / 1e6:.0f} M/s")
    spot = Spot.load("configs/spots/flop_3bet_pot.json")
    best = min(_seconds(lambda: compute_equity(*spot.ranges, spot.board)) for _ in range(6))
    print(
        f"equity on a flop: {compute_equity(*spot.ranges, spot.board).value:.6f}, {best * 1e3:.0f} CPU ms"
    )


def _seconds(work) -> float:  # type: ignore[no-untyped-def]
    began = time.process_time()
    work()
    return time.process_time() - began


def solve(path: str, targets: list[float], precision: str, algorithm: str, every: int) -> None:
    spot = subgame_4() if path == "subgame_4" else Spot.load(path)
    arena = SpotArena(spot, precision)
    method = cp.load_algorithm(algorithm)
    warm = method.step(arena, method.init(arena), 1)  # compiles
    cp.judge(arena, method.policies(arena, warm)["current"])
    del warm
    print(f"{arena.spec} {precision} {algorithm}: {arena.size}")
    memory, wall, cpu = method.init(arena), 0.0, 0.0
    left = sorted(targets, reverse=True)
    while left:
        began, used = time.perf_counter(), time.process_time()
        memory = method.step(arena, memory, every)
        wall, cpu = wall + time.perf_counter() - began, cpu + time.process_time() - used
        policy = next(iter(method.policies(arena, memory).values()))
        judgement = cp.judge(arena, policy)
        percent = 100.0 * judgement.exploitability / spot.pot
        print(f"{memory.iteration:5d}  {percent:.4f} %  {wall:.2f} s  {cpu:.2f} CPU s", flush=True)
        while left and percent <= left[0]:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"reached {left.pop(0)} % in {wall:.2f} s, {cpu:.2f} CPU s; peak {peak:.0f} MiB")
    print("values", judgement.values, f"{1e3 * cpu / memory.iteration:.3f} CPU ms an iteration")
    view = inspect_node(policy)
    print(dict(zip(view.actions, view.frequencies.round(4).tolist(), strict=True)))
    print("equity", compute_equity(*spot.ranges, spot.board).value)


def subgame_4() -> Spot:
    """The tree of the Libratus endgame 4, with as many hands (705 and 982) drawn at random."""
    sizes, rng = BetSizes("50% 100% a", "100% a"), np.random.default_rng(0)
    board = parse_cards("JsKs5cQs7d")
    live = [hand_name(i) for i, hand in enumerate(ALL_HANDS) if not set(hand) & set(board)]
    one, other = (",".join(rng.choice(live, count, replace=False)) for count in (705, 982))
    both = (sizes, sizes)
    return Spot("JsKs5cQs7d", (one, other), 3750, (18125, 18125), (both, both, both))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what")
    parser.add_argument("--targets", type=float, nargs="+", default=[0.5])
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--algorithm", default="dcfr(gamma=3,restart_base=4)")
    parser.add_argument("--every", type=int, default=10)
    given = parser.parse_args()
    if given.what == "evaluator":
        evaluator()
    else:
        solve(given.what, given.targets, given.precision, given.algorithm, given.every)
