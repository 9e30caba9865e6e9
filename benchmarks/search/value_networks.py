"""Train value networks of public beliefs, and judge the agent that searches with them exactly.

    python -m benchmarks.search.value_networks liars_1x4 --seed 1
    python -m benchmarks.search.value_networks --table

The policy is the mean of 1,024 policies of the agent, each with its own random iterations, as in
the paper's evaluation. Rows are appended to `results/value_networks.jsonl`; seconds are CPU seconds
of one thread.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any

import numpy as np

import counterplay as cp
from benchmarks.result_files import append_row, load_rows
from benchmarks.timing import first_paragraph, format_head, format_row
from counterplay.algorithms.deep.rebel import ReBeL, find_solver
from counterplay.arenas.belief_subgames import belief_game
from counterplay.search.belief_tabulation import tabulate_search

FAMILY = "value_networks"
GAMES: dict[str, tuple[str, int, dict[str, Any]]] = {  # name -> game, iterations, parameters
    "liars_1x4": ("liars_dice(dice_sides=4)", 400, {}),
    "liars_1x5": ("liars_dice(dice_sides=5)", 400, {}),
    "liars_1x6": ("liars_dice(dice_sides=6)", 400, {}),
    "liars_2x3": ("liars_dice(numdice=2,dice_sides=3)", 400, {}),
    "liars_1x4_cut": ("liars_dice(dice_sides=4)", 1200, {"end_size": 1, "num_subgames": 64}),
    "leduc": (
        "leduc_poker",
        800,
        {"depth": 0, "end_size": 1, "training_iterations": 300, "search_iterations": 512},
    ),
}
PUBLISHED = {"liars_1x4": 0.017, "liars_1x5": 0.015, "liars_1x6": 0.024, "liars_2x3": 0.017}


def judge(tree: Any, algorithm: ReBeL, memory: Any, num_policies: int) -> dict[str, float]:
    """Return the exploitability of the searching agent, and its CPU seconds per search."""
    solver = find_solver(belief_game(tree), algorithm.depth, algorithm.end_size)
    network = algorithm.value_network(tree, memory)
    rng = np.random.default_rng(0)
    start = time.process_time()
    policy = tabulate_search(solver, network, algorithm.search_iterations, num_policies, rng)
    seconds = time.process_time() - start
    root = np.zeros(1, np.int64)
    ranges = np.ones((1, 2, belief_game(tree).max_views))
    ranges *= np.arange(belief_game(tree).max_views) < belief_game(tree).views[0][:, None]
    times = []
    for _ in range(5):
        begin = time.process_time()
        solver.solve(root, ranges, network, algorithm.search_iterations, rng)
        times.append(time.process_time() - begin)
    return {
        "exploitability": round(cp.exploitability(tree, policy), 5),
        "num_policies": num_policies,
        "judge_seconds": round(seconds, 1),
        "root_search_seconds": round(min(times), 4),
    }


def train(name: str, seed: int, iterations: int, num_policies: int, parameters: Any) -> None:
    """Train a network, judge the agent along the way, and store a row."""
    game, default_iterations, defaults = GAMES[name]
    tree = cp.build_tree(game)
    algorithm = replace(ReBeL(), **{**defaults, **parameters})
    memory, seconds = algorithm.init(tree, seed), 0.0
    total = iterations or default_iterations
    for part in range(2):
        start = time.process_time()
        end = total * (part + 1) // 2
        memory = algorithm.step(tree, memory, end - memory.iteration)
        seconds += time.process_time() - start
        count = num_policies if part == 1 else min(num_policies, 64)
        row = {
            "name": name,
            "seed": seed,
            "iterations": memory.iteration,
            "subgames": int(memory.state.buffer.num_seen[0]),
            "train_seconds": round(seconds, 1),
            "parameters": {**defaults, **parameters},
            **judge(tree, algorithm, memory, count),
        }
        append_row(FAMILY, row)
        print(row, flush=True)


def print_table() -> None:
    """Print the last row of every run."""
    last = {(row["name"], row["seed"]): row for row in load_rows(FAMILY)}
    print(format_head(["game", "seed", "exploitability", "published", "CPU s", "s per search"]))
    for (name, seed), row in sorted(last.items()):
        cells = [name, str(seed), f"{row['exploitability']:.4f}", str(PUBLISHED.get(name, ""))]
        times = [f"{row['train_seconds']:.0f}", f"{row['root_search_seconds']:.3f}"]
        print(format_row([*cells, *times]))


def main() -> None:
    """Train one network, or print the table."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("name", nargs="?", choices=list(GAMES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--iterations", type=int, default=0)
    parser.add_argument("--policies", type=int, default=1024)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if args.name:
        train(args.name, args.seed, args.iterations, args.policies, {})
    if args.table or not args.name:
        print_table()


if __name__ == "__main__":
    main()
