"""Train regret networks on flop hold'em by public-chance sampling, judged exactly on the way.

    python -m benchmarks.holdem.flop_networks run --folder /tmp/flop_networks --seed 0
    python -m benchmarks.holdem.flop_networks table

The curve goes to `benchmarks/results/flop_networks.jsonl`: mbb per game against CPU seconds of
training, evaluation not counted. The memory is saved in the folder after each evaluation, and an
interrupted run continues from it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import counterplay as cp
from benchmarks.memory_files import read_memory, write_memory
from benchmarks.result_files import Run, find_run, load_family, save_run
from benchmarks.timing import Stopwatch, first_paragraph, format_head, format_row, peak_memory_mib
from counterplay.arenas.holdem.game_arena import HoldemGameArena

FAMILY = "flop_networks"
CHIPS_PER_MBB = 0.1
FITTED_POLICY, FIT_SECONDS = "network", "fit_cpu_seconds"
EVALUATIONS = (20, 40, 80, 120, 160, 200, 300, 400, 500, 600, 800, 1000)


def train(
    spec: str, game: str, name: str, seed: int, folder: Path, evaluations: Sequence[int]
) -> None:
    """Train and judge after some iterations; continue from the folder if it has a memory."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}_{seed}.npz"
    with Stopwatch() as start:
        arena = HoldemGameArena(cp.load_game(game))
        algorithm = cp.load_algorithm(spec)
        memory = algorithm.init(arena, seed)
    saved = find_run(FAMILY, name, seed) if path.exists() else None
    records = list(saved.records) if saved else []
    watch = Stopwatch()
    if saved:
        memory = read_memory(path, memory)
        watch.cpu_seconds, watch.wall_seconds = (saved.last[k] for k in ("cpu_seconds", "seconds"))
    else:
        watch.cpu_seconds, watch.wall_seconds = start.cpu_seconds, start.wall_seconds
    for goal in [n for n in evaluations if memory.iteration < n]:
        with watch:
            memory = algorithm.step(arena, memory, goal - memory.iteration)
        record = {"iteration": goal, "cpu_seconds": round(watch.cpu_seconds, 1)}
        record["seconds"] = round(watch.wall_seconds, 1)
        for policy in algorithm.policies(arena, memory):
            if policy == FITTED_POLICY and goal < evaluations[-1]:
                record[policy] = record[FIT_SECONDS] = None  # fitted after the last iteration
                continue
            with Stopwatch() as fit:  # a mapping of its own, so that one table is in memory
                table = algorithm.policies(arena, memory)[policy]
            if policy == FITTED_POLICY:
                record[FIT_SECONDS] = round(fit.cpu_seconds, 1)
            record[policy] = round(cp.judge(arena, table).exploitability / CHIPS_PER_MBB, 2)
            del table
        record["peak_mib"] = round(peak_memory_mib())
        records.append(record)
        print(name, seed, record, flush=True)
        write_memory(path, memory)
        save_run(FAMILY, Run(name, spec, game, seed, records))


def print_table() -> None:
    """Print all evaluations of every run."""
    columns = ["run", "seed", "iterations", "current", "average", "network", "CPU s", "fit", "GB"]
    print(format_head(columns))
    for run in load_family(FAMILY):
        for record in run.records:
            figures = [record.get(name) for name in ("current", "average", FITTED_POLICY)]
            cells = ["" if figure is None else f"{figure:.1f}" for figure in figures]
            seconds = [record["cpu_seconds"], record.get(FIT_SECONDS)]
            cells += ["" if number is None else f"{number:.0f}" for number in seconds]
            size = f"{record['peak_mib'] / 1024:.1f}"
            print(format_row([run.run, run.seed, record["iteration"], *cells, size]))


def main() -> None:
    """Train, or print what is stored."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("command", choices=("run", "table"))
    parser.add_argument("--algorithm", default="public_chance_deep_cfr")
    parser.add_argument("--game", default="flop_holdem")
    parser.add_argument("--name", default="flop_holdem", help="of the run in the results")
    parser.add_argument("--seed", type=int, nargs="+", default=[0])
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--evaluations", type=int, nargs="+", help="iterations that are judged")
    parser.add_argument("--folder", type=Path, help="of the saved memories")
    args = parser.parse_args()
    if args.command == "table":
        print_table()
        return
    if args.folder is None:
        parser.error("run needs --folder")
    evaluations = args.evaluations or [n for n in EVALUATIONS if n <= args.iterations]
    for seed in args.seed:
        train(args.algorithm, args.game, args.name, seed, args.folder, evaluations)


if __name__ == "__main__":
    main()
