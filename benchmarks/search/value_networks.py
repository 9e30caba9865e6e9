"""Train value networks of public beliefs, and judge the agent that searches with them exactly.

    python -m benchmarks.search.value_networks liars_1x4 --seed 1
    python -m benchmarks.search.value_networks --table

Two policies are judged: the mean of policies of the agent, each with its own random iterations, as
in the paper's evaluation, and that of safe searches (`policy=average`). Rows are appended to
`results/value_networks.jsonl`; seconds are CPU seconds of one thread. With `--folder` the memory is
saved after each quarter of the training, and an interrupted run goes on from there. With
`--control` the leaves have exact values in place of a network's.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

import counterplay as cp
from benchmarks.result_files import append_row, load_rows
from benchmarks.timing import first_paragraph, format_head, format_row
from counterplay.algorithms.deep.rebel import ReBeL, find_solver
from counterplay.arenas.belief_subgames import belief_game
from counterplay.core.archive import read_archive, write_archive
from counterplay.core.state_io import MemoryLeaves, flatten_memory, restore_memory
from counterplay.search.belief_solver import ValueNetwork
from counterplay.search.belief_tabulation import tabulate_search
from counterplay.search.safe_search import SafeSearch
from counterplay.search.value_network import SolvedValues

FAMILY = "value_networks"
MEMORY_FILE, MEMORY_FORMAT = "memory.npz", "counterplay memory of a benchmark 1"
LARGE_ENDS = {"end_size": 64}
GAMES: dict[str, tuple[str, int, dict[str, Any]]] = {  # name -> game, iterations, parameters
    "liars_1x4": ("liars_dice(dice_sides=4)", 400, {}),
    "liars_1x5": ("liars_dice(dice_sides=5)", 200, LARGE_ENDS),
    "liars_1x6": ("liars_dice(dice_sides=6)", 240, LARGE_ENDS),
    "liars_2x3": ("liars_dice(numdice=2,dice_sides=3)", 240, LARGE_ENDS),
    "leduc": (
        "leduc_poker",
        400,
        {"depth": 0, "end_size": 1, "training_iterations": 128, "search_iterations": 512},
    ),
}
PUBLISHED = {"liars_1x4": 0.017, "liars_1x5": 0.015, "liars_1x6": 0.024, "liars_2x3": 0.017}


def judge(tree: Any, algorithm: ReBeL, network: ValueNetwork, num_policies: int) -> dict[str, Any]:
    """Return the exploitability of both searching agents, and their CPU seconds per search."""
    game = belief_game(tree)
    solver = find_solver(game, algorithm.depth, algorithm.end_size)
    rng, iterations = np.random.default_rng(0), algorithm.search_iterations
    start = time.process_time()
    policy = tabulate_search(solver, network, iterations, num_policies, rng)
    seconds = time.process_time() - start
    search = SafeSearch(solver, network, iterations)
    first = [search.first_root(player) for player in (0, 1)]
    times = []
    for _ in range(3):
        begin = time.process_time()
        search.solve(first[:1])
        times.append(time.process_time() - begin)
    return {
        "exploitability": round(cp.exploitability(tree, policy), 5),
        "num_policies": num_policies,
        "safe_exploitability": round(cp.exploitability(tree, search.policy()), 5),
        "judge_seconds": round(seconds, 1),
        "root_search_seconds": round(min(times), 4),
    }


def load_memory(folder: str, algorithm: ReBeL, tree: Any, seed: int) -> tuple[Any, float]:
    """Return the saved memory and its seconds of training, or new ones."""
    memory, path = algorithm.init(tree, seed), Path(folder) / MEMORY_FILE
    if not folder or not path.exists():
        return memory, 0.0
    content = read_archive(path, MEMORY_FORMAT)
    if content["algorithm"] != repr(algorithm) or content["seed"] != seed:
        raise SystemExit(f"{path} is of {content['algorithm']}, seed {content['seed']}")
    arrays = {name[2:]: array for name, array in content.items() if name.startswith("a.")}
    leaves = MemoryLeaves(arrays, content["scalars"], content["on_device"])
    return restore_memory(memory, leaves), content["seconds"]


def save_memory(folder: str, algorithm: ReBeL, seed: int, memory: Any, seconds: float) -> None:
    """Save the memory, if a folder is wanted."""
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        leaves = flatten_memory(memory)
        facts = {"algorithm": repr(algorithm), "seed": seed, "seconds": seconds}
        facts |= {"scalars": leaves.scalars, "on_device": leaves.jax_paths}
        facts |= {f"a.{name}": array for name, array in leaves.arrays.items()}
        write_archive(Path(folder) / MEMORY_FILE, MEMORY_FORMAT, facts)


def train(args: argparse.Namespace) -> None:
    """Train a network, save it along the way, judge its agents, and store a row."""
    game, default_iterations, parameters = GAMES[args.name]
    tree = cp.build_tree(game)
    algorithm = replace(ReBeL(), **parameters)
    total = args.iterations or default_iterations
    memory, seconds = load_memory(args.folder, algorithm, tree, args.seed)
    while memory.iteration < total:
        start = time.process_time()
        memory = algorithm.step(tree, memory, min(-(-total // 4), total - memory.iteration))
        seconds += time.process_time() - start
        save_memory(args.folder, algorithm, args.seed, memory, seconds)
        print(f"{memory.iteration} iterations, {seconds:.1f} s", flush=True)
    row = {
        "name": args.name,
        "seed": args.seed,
        "iterations": memory.iteration,
        "subgames": int(memory.state.buffer.num_seen[0]),
        "train_seconds": round(seconds, 1),
        "parameters": parameters,
        **judge(tree, algorithm, algorithm.value_network(tree, memory), args.policies),
    }
    append_row(FAMILY, row)
    print(row, flush=True)


def run_control(args: argparse.Namespace) -> None:
    """Judge the agents with exact values at the leaves, and store a row."""
    game, _, parameters = GAMES[args.name]
    tree = cp.build_tree(game)
    algorithm = replace(ReBeL(), **parameters)
    network = SolvedValues(belief_game(tree), algorithm.search_iterations)
    row = {"name": f"{args.name}_exact", "seed": 0, "train_seconds": 0.0, "parameters": parameters}
    row |= judge(tree, algorithm, network, args.policies)
    append_row(FAMILY, row)
    print(row, flush=True)


def print_table() -> None:
    """Print the last row of every run."""
    last = {(row["name"], row["seed"]): row for row in load_rows(FAMILY)}
    print(format_head(["game", "seed", "drawn", "safe", "published", "CPU s", "s per search"]))
    for (name, seed), row in sorted(last.items()):
        cells = [name, str(seed), f"{row['exploitability']:.4f}"]
        cells += [f"{row.get('safe_exploitability', nan):.4f}", str(PUBLISHED.get(name, ""))]
        times = [f"{row['train_seconds']:.0f}", f"{row['root_search_seconds']:.3f}"]
        print(format_row([*cells, *times]))


def main() -> None:
    """Train one network, or print the table."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("name", nargs="?", choices=list(GAMES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--iterations", type=int, default=0)
    parser.add_argument("--policies", type=int, default=256)
    parser.add_argument("--folder", default="", help="for the memory, to go on after a stop")
    parser.add_argument("--control", action="store_true", help="exact values at the leaves")
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if args.name:
        (run_control if args.control else train)(args)
    if args.table or not args.name:
        print_table()


if __name__ == "__main__":
    main()
