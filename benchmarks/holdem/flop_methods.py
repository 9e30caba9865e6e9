"""Train every deep method on the rules of a hold'em game for equal CPU time, judged exactly.

    python -m benchmarks.holdem.flop_methods run --seconds 180
    python -m benchmarks.holdem.flop_methods table

Networks see `cards_and_strength`. The seconds do not count compilation (init and the first step).
The policy is tabulated on all of the game in batches (on flop hold'em some 150 CPU seconds for
each network of it) and judged exactly. A row goes to `benchmarks/results/flop_methods.jsonl` when a
method ends; methods with a row are not run again. Peak memory is that of the process: run one
method at a time for a figure of its own.
"""

from __future__ import annotations

import argparse
from typing import Any

import counterplay as cp
from benchmarks.result_files import append_row, load_rows
from benchmarks.timing import Stopwatch, first_paragraph, format_head, format_row, peak_memory_mib
from counterplay.arenas.holdem.game_arena import HoldemGameArena

FAMILY = "flop_methods"
CHIPS_PER_MBB = 0.1
METHODS = {
    "deep_cfr": (
        "deep_cfr(num_traversals=1500,train_steps=150,average_train_steps=150,"
        "reservoir_size=400000,average_reservoir_size=400000)"
    ),
    "nfsp": "nfsp(num_episodes=1024,reservoir_size=1000000,replay_buffer_size=400000)",
    "ppo": "ppo(schedule_iterations=500)",
    "deep_mmd": "deep_mmd(schedule_iterations=500)",
    "sd_cfr": "sd_cfr(num_traversals=1500,train_steps=150,reservoir_size=400000,ensemble_size=4)",
    "vr_deep_dcfr_plus": (
        "vr_deep_dcfr_plus(num_traversals=1500,reservoir_size=400000,average_train_steps=150)"
    ),
    "dream": "dream(num_traversals=1500,reservoir_size=400000,ensemble_size=4)",
    "escher": ("escher(num_traversals=1500,reservoir_size=400000,average_train_steps=150)"),
    "deep_hedge": "deep_hedge(num_traversals=256,num_baseline_traversals=64)",
}


def load_method(name: str, encoding: str = "cards_and_strength") -> Any:
    """Return an algorithm with the settings of this benchmark and an encoding."""
    return cp.load_algorithm(METHODS[name].replace("(", f"(encoding={encoding},", 1))


def train(
    algorithm: Any, game: str, seed: int, max_seconds: float
) -> tuple[Any, Stopwatch, Stopwatch]:
    """Return the memory after some CPU seconds, and the clocks of the start and of training."""
    rules = cp.RulesArena(cp.load_game(game))
    with Stopwatch() as start:
        memory = algorithm.step(rules, algorithm.init(rules, seed), 1)
    watch = Stopwatch()
    while watch.cpu_seconds < max_seconds:
        with watch:
            memory = algorithm.step(rules, memory, 1)
    return (rules, memory), start, watch


def run_method(name: str, game: str, seed: int, max_seconds: float) -> None:
    """Train and judge a method, and store its row."""
    algorithm = load_method(name)
    (rules, memory), start, watch = train(algorithm, game, seed, max_seconds)
    policies = algorithm.policies(rules, memory)
    policy_name = next(iter(policies))
    arena = HoldemGameArena(cp.load_game(game))
    with Stopwatch() as judging:
        table = policies[policy_name].tabulate(arena)
        mbb = cp.judge(arena, table).exploitability / CHIPS_PER_MBB
    row = {
        "method": name, "game": game, "algorithm": METHODS[name], "policy": policy_name,
        "seed": seed,        "budget": max_seconds, "iteration": memory.iteration,
        "mbb": round(mbb, 1), "cpu_seconds": round(watch.cpu_seconds, 1),
        "start_cpu_seconds": round(start.cpu_seconds, 1),
        "judging_cpu_seconds": round(judging.cpu_seconds, 1),
        "peak_mib": round(peak_memory_mib()),
    }  # fmt: skip
    append_row(FAMILY, row)
    print(row, flush=True)


def print_table() -> None:
    """Print the stored rows, best first."""
    columns = ["method", "policy", "seed", "iterations", "mbb", "CPU s", "judging CPU s", "GB"]
    print(format_head(columns))
    for row in sorted(load_rows(FAMILY), key=lambda row: row["mbb"]):
        cells = [row["method"], row["policy"], row["seed"], f"{row['iteration']:,}", row["mbb"]]
        cells += [f"{row['cpu_seconds']:.0f}", f"{row['judging_cpu_seconds']:.0f}"]
        print(format_row([*cells, f"{row['peak_mib'] / 1024:.1f}"]))


def main() -> None:
    """Run the methods without a row, or print what is stored."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("command", choices=("run", "table"))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--game", default="flop_holdem")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=180.0, help="CPU seconds of training")
    args = parser.parse_args()
    if args.command == "table":
        print_table()
        return
    for name in args.methods:
        key = name, args.game, METHODS[name], args.seed, args.seconds
        columns = "method", "game", "algorithm", "seed", "budget"
        done = {tuple(row[column] for column in columns) for row in load_rows(FAMILY)}
        if key not in done:
            run_method(name, args.game, args.seed, args.seconds)


if __name__ == "__main__":
    main()
