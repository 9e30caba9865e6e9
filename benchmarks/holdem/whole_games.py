"""Solve hold'em games from the first card: the bases of Slumbot, and solutions below a target.

    python -m benchmarks.holdem.whole_games base ms1f1
    python -m benchmarks.holdem.whole_games solve holdem5 --target 1

`base` runs CFR+ as Slumbot's public code does (github.com/ericgjackson/slumbot2019), with its
rounding to integers. `solve` runs an algorithm of the library until the exploitability is below a
target in thousandths of a big blind (mbb).
"""

from __future__ import annotations

import argparse
import resource
import time
from itertools import count

import numpy as np

import counterplay as cp
from benchmarks.result_files import append_row
from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.betting import FOLD
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.game_subgames import cfr_plus_tables
from counterplay.kernels.holdem import street_walk
from counterplay.kernels.runtime.jit import kernel

RESULTS = "whole_holdem"
INTEGER_SCALE = 16.0  # Slumbot's integers are 16 times sums of chips, or of weighted reach
WARMUP = 100  # iterations of weight 1; later ones have weight t - 100


def to_mbb(arena: HoldemGameArena, chips: float) -> float:
    """Return chips as thousandths of a big blind."""
    return 1000.0 * chips / max(arena.game.blinds)


@kernel
def round_entries(table, first, last, scale):
    """Round entries of a table to multiples of 1 / scale."""
    for i in range(first, last):
        table[i] = np.rint(table[i] * scale) / scale


class SlumbotBase:
    """CFR+ with the conventions of Slumbot's public code.

    Both players' policies without positive regret, and averages without weight, call. A player's
    average grows in the half iteration of the other one, so that the button's policy is added
    after its update. Regrets and averages are rounded to integers, regrets in units of chips summed
    over the opponent's hands on a given board.
    """

    def __init__(self, arena: HoldemGameArena, is_rounded: bool = True):
        dtype = arena.compute_dtype
        self.arena, self.is_rounded, self.iteration = arena, is_rounded, 0
        self.regret = np.zeros(arena.num_sequences, dtype)
        self.policy_sum = np.zeros((1, arena.num_sequences), dtype)
        self.call = call_weights(arena)
        self.street_scales = street_scales(arena)

    def weight(self, t: int) -> float:
        """Weight of the policy of iteration t in the average."""
        return 0.0 if t < 1 else 1.0 if t <= WARMUP else float(t - WARMUP)

    def half_iteration(self, player: int, weight: float) -> None:
        """Add the player's policy to its average, then update its regrets."""
        tables = cfr_plus_tables(self.regret, self.policy_sum, self.call, weight)
        self.arena.walk(player, tables, street_walk.MODE_LEARN)
        if self.is_rounded:
            for first, last, scale in self.street_scales:
                round_entries(self.regret, first, last, INTEGER_SCALE * scale)
            round_entries(self.policy_sum[0], 0, self.regret.size, INTEGER_SCALE)

    def step(self, iterations: int) -> None:
        for _ in range(iterations):
            self.iteration += 1
            # the button's policy after the update of iteration t - 1 is that before the one of t
            self.half_iteration(0, self.weight(self.iteration - 1))
            self.half_iteration(1, self.weight(self.iteration))

    def policy(self) -> HoldemPolicy:
        """Return the average; the regrets cannot be used afterwards."""
        self.half_iteration(0, self.weight(self.iteration))
        return HoldemPolicy(self.arena, self.policy_sum[0], self.call)


def call_weights(arena: HoldemGameArena) -> np.ndarray:
    """Return a table with all weight on call (or check)."""
    weights = np.zeros(arena.num_sequences, arena.compute_dtype)
    for number, node in enumerate(arena.betting.nodes):
        if node.kind < FOLD:
            street = node.state.street
            num_hands, stride = arena.num_hands(street), int(arena.piece_layout.stride[number])
            start = int(arena.piece_layout.start[number])
            first = start + node.actions.index("call") * num_hands
            for board in range(arena.streets[street].num_boards):
                at = first + board * stride
                weights[at : at + num_hands] = 1.0
    return weights


def street_scales(arena: HoldemGameArena) -> list[tuple[int, int, float]]:
    """Return the entries of every street, and a chip on a given board in units of the tables."""
    scales, chance = {}, 1.0 / arena.num_pairs
    chances = []
    for street in arena.streets:
        chance *= street.chance
        chances.append(chance)
    for number, node in enumerate(arena.betting.nodes):
        if node.kind < FOLD:
            street = node.state.street
            last_board = arena.streets[street].num_boards - 1
            first = arena.piece_slice(number, 0).start
            last = arena.piece_slice(number, last_board).stop
            before = scales.get(street, (first, last, 0.0))
            scales[street] = min(first, before[0]), max(last, before[1]), 1.0 / chances[street]
    return list(scales.values())


def run_base(args: argparse.Namespace) -> None:
    arena = HoldemGameArena(cp.load_game(args.game), args.precision)
    base = SlumbotBase(arena, is_rounded=not args.no_rounding)
    base.step(1)  # compiles
    start, cpu = time.perf_counter(), time.process_time()
    base.step(args.iterations - 1)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    judgement = cp.judge(arena, base.policy())
    report(args, arena, judgement, seconds, cpu, args.iterations, f"base rounded={base.is_rounded}")


def run_solve(args: argparse.Namespace) -> None:
    arena = HoldemGameArena(cp.load_game(args.game), args.precision)
    algorithm = cp.load_algorithm(args.algorithm)
    memory, seconds, cpu = algorithm.step(arena, algorithm.init(arena), 1), 0.0, 0.0
    for _ in count():
        start, cpu_start = time.perf_counter(), time.process_time()
        memory = algorithm.step(arena, memory, args.chunk)
        seconds, cpu = seconds + time.perf_counter() - start, cpu + time.process_time() - cpu_start
        judgement = cp.judge(arena, next(iter(algorithm.policies(arena, memory).values())))
        error = to_mbb(arena, judgement.exploitability)
        print(f"  {memory.iteration} iterations, {seconds:.1f} s: {error:.3f} mbb", flush=True)
        if error < args.target or memory.iteration >= args.iterations:
            break
    report(args, arena, judgement, seconds, cpu, memory.iteration, args.algorithm)


def report(args, arena, judgement, seconds, cpu, iterations, algorithm) -> None:
    """Print a result, and store it if wanted."""
    row = {
        "game": args.game,
        "algorithm": algorithm,
        "precision": args.precision,
        "iterations": iterations,
        "mbb": round(to_mbb(arena, judgement.exploitability), 4),
        "value": round(float(judgement.values[0]), 6),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "sequences": arena.num_sequences,
        "gigabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }
    print(row, flush=True)
    if args.store:
        append_row(RESULTS, row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=("base", "solve"))
    parser.add_argument("game")
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--precision", default="")
    parser.add_argument("--no-rounding", action="store_true")
    parser.add_argument("--algorithm", default="dcfr(gamma=3,restart_base=4)")
    parser.add_argument("--target", type=float, default=1.0, help="mbb")
    parser.add_argument("--chunk", type=int, default=20, help="iterations between evaluations")
    parser.add_argument("--store", action="store_true", help="append to the result file")
    args = parser.parse_args()
    args.precision = args.precision or ("float64" if args.task == "base" else "float32")
    (run_base if args.task == "base" else run_solve)(args)


if __name__ == "__main__":
    main()
