"""Measure the hold'em solver: seconds and memory to a target, the hand evaluator, equity.

python -m benchmarks.holdem.solve_spots evaluator
python -m benchmarks.holdem.solve_spots configs/spots/turn.json --targets 0.3 0.055
python -m benchmarks.holdem.solve_spots subgame_4 --algorithm dcfr --targets 0.02
"""

from __future__ import annotations

import argparse

import numpy as np

import counterplay as cp
from benchmarks.timing import Stopwatch, first_paragraph, peak_memory_mib, time_call
from counterplay.arenas.holdem.equity import compute_equity
from counterplay.arenas.holdem.inspection import inspect_node
from counterplay.arenas.holdem.spot import BetSizes, Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.core.cards import ALL_HANDS, hand_name, parse_cards
from counterplay.kernels.holdem import hand_strength

NUM_TURNS = 6


def measure_evaluator() -> None:
    """Print hands per second, and the time of an equity on a flop."""
    counts = np.zeros(9, np.int64)
    hand_strength.count_categories(6, 7, counts)  # compiles
    counts[:] = 0
    seconds = time_call(lambda: hand_strength.count_categories(6, 52, counts))
    rate = f"{counts.sum() / seconds / 1e6:.0f} M/s"
    print(f"all {counts.sum():,} hands in {seconds:.2f} CPU s: {rate}")
    print(dict(zip(hand_strength.CATEGORIES, counts.tolist(), strict=True)))
    rng = np.random.default_rng(0)
    cards = np.array([rng.permutation(52)[:7] for _ in range(200_000)], np.uint8)
    out = np.zeros(len(cards), np.int64)
    best = min(time_call(lambda: hand_strength.strengths(cards, out)) for _ in range(NUM_TURNS))
    print(f"random hands in a batch: {len(cards) / best / 1e6:.0f} M/s")
    spot = Spot.load("configs/spots/flop_3bet_pot.json")
    best = min(
        time_call(lambda: compute_equity(*spot.ranges, spot.board)) for _ in range(NUM_TURNS)
    )
    equity = compute_equity(*spot.ranges, spot.board).value
    print(f"equity on a flop: {equity:.6f}, {best * 1e3:.0f} CPU ms")


def solve_spot(
    path: str, targets: list[float], precision: str, algorithm_spec: str, evaluate_every: int
) -> None:
    """Solve a spot until its exploitability, in percent of the pot, is below all targets."""
    spot = subgame_4() if path == "subgame_4" else Spot.load(path)
    arena = SpotArena(spot, precision)
    algorithm = cp.load_algorithm(algorithm_spec)
    compiled = algorithm.step(arena, algorithm.init(arena), 1)
    cp.judge(arena, algorithm.policies(arena, compiled)["current"])
    del compiled
    print(f"{arena.spec} {precision} {algorithm_spec}: {arena.size}")
    memory, watch = algorithm.init(arena), Stopwatch()
    remaining = sorted(targets, reverse=True)
    while remaining:
        with watch:
            memory = algorithm.step(arena, memory, evaluate_every)
        policy = next(iter(algorithm.policies(arena, memory).values()))
        judgement = cp.judge(arena, policy)
        percent = 100.0 * judgement.exploitability / spot.pot
        times = f"{watch.wall_seconds:.2f} s, {watch.cpu_seconds:.2f} CPU s"
        print(f"{memory.iteration:5d}  {percent:.4f} %  {times}", flush=True)
        while remaining and percent <= remaining[0]:
            peak = f"{peak_memory_mib():.0f} MiB"
            print(f"reached {remaining.pop(0)} % in {times}; peak {peak}")
    milliseconds = 1e3 * watch.cpu_seconds / memory.iteration
    print("values", judgement.values, f"{milliseconds:.3f} CPU ms per iteration")
    root = inspect_node(policy)
    print(dict(zip(root.actions, root.frequencies.round(4).tolist(), strict=True)))
    print("equity", compute_equity(*spot.ranges, spot.board).value)


def subgame_4() -> Spot:
    """Return the tree of Libratus' endgame 4, with as many hands (705 and 982) at random."""
    sizes, rng = BetSizes("50% 100% a", "100% a"), np.random.default_rng(0)
    board = parse_cards("JsKs5cQs7d")
    live = [hand_name(i) for i, hand in enumerate(ALL_HANDS) if not set(hand) & set(board)]
    first, second = (",".join(rng.choice(live, count, replace=False)) for count in (705, 982))
    both = (sizes, sizes)
    return Spot("JsKs5cQs7d", (first, second), 3750, (18125, 18125), (both, both, both))


def main() -> None:
    """Measure the evaluator, or one spot."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("task", help="'evaluator', 'subgame_4' or a file of a spot")
    parser.add_argument("--targets", type=float, nargs="+", default=[0.5], help="percent of pot")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--algorithm", default="dcfr(gamma=3,restart_base=4)")
    parser.add_argument("--evaluate-every", type=int, default=10, help="iterations")
    args = parser.parse_args()
    if args.task == "evaluator":
        measure_evaluator()
    else:
        solve_spot(args.task, args.targets, args.precision, args.algorithm, args.evaluate_every)


if __name__ == "__main__":
    main()
