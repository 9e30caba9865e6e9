"""Measure CPU milliseconds per iteration, without evaluation, and of one evaluation, on one thread.

python -m benchmarks.holdem.iteration_time river river_one_size river_two_sizes turn narrow_turn
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from statistics import median

import counterplay as cp
from benchmarks.timing import first_paragraph, time_call
from counterplay.arenas.holdem.spot import BetSizes, Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.kernels.runtime.threads import set_num_threads

NUM_TURNS = 7
WARM_UP = 3  # iterations
NUM_ITERATIONS = {
    "river": 300, "river_one_size": 60, "river_two_sizes": 60, "turn": 10, "narrow_turn": 10,
    "narrow_flop": 3, "flop_3bet_pot": 1,
}  # fmt: skip
NARROW_TURN = ("TT+,AQs+,AKo", "99-77,AJs-ATs,KQs,KQo")  # 43 x 34 hands
NARROW_FLOP = ("KK+,AKs", "QQ-TT,AQs")  # 16 x 15 hands


def load_spot(name: str) -> Spot:
    """Return a spot by its name."""
    if name == "narrow_turn":
        return replace(Spot.load("configs/spots/turn.json"), ranges=NARROW_TURN)
    if name == "narrow_flop":
        return _spot("QsJh2h", NARROW_FLOP, 180, 400, "50%")
    if name == "river_one_size":
        return _spot("Td9d6hQc7s", ("random", "random"), 200, 900, "50%")
    if name == "river_two_sizes":
        return _spot("Td9d6hQc7s", ("random", "random"), 200, 900, "50% a")
    return Spot.load(f"configs/spots/{name}.json")


def _spot(board: str, ranges: tuple[str, str], pot: int, stack: int, bet: str) -> Spot:
    sizes = BetSizes(bet, "60%")
    return Spot(board, ranges, pot, (stack, stack), ((sizes, sizes),) * 3)


def measure_spot(name: str, precision: str) -> None:
    """Print the median time of an iteration over seven turns, and that of an evaluation."""
    arena = SpotArena(load_spot(name), precision)
    algorithm = cp.load_algorithm("dcfr(gamma=3,restart_base=4)")
    memory = algorithm.step(arena, algorithm.init(arena), WARM_UP)
    count = NUM_ITERATIONS[name]
    times = [
        time_call(lambda: algorithm.step(arena, memory, count)) / count for _ in range(NUM_TURNS)
    ]
    policy = next(iter(algorithm.policies(arena, memory).values()))
    cp.judge(arena, policy)  # compiles
    judging = time_call(lambda: cp.judge(arena, policy))
    hands = f"{arena.hands[0].size} x {arena.hands[1].size} hands"
    print(f"{name} {precision} {hands}: {1e3 * median(times):.4f} ms, judge {1e3 * judging:.3f} ms")


def main() -> None:
    """Measure the spots named on the command line."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("spots", nargs="+", choices=list(NUM_ITERATIONS))
    parser.add_argument("--precision", default="float32")
    args = parser.parse_args()
    set_num_threads(1)
    for name in args.spots:
        measure_spot(name, args.precision)


if __name__ == "__main__":
    main()
