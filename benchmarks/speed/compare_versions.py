"""Compare the speed of this version with that of another checkout, task by task.

    git worktree add ../before a230d21
    python -m benchmarks.speed.compare_versions ../before               # tabular algorithms
    python -m benchmarks.speed.compare_versions ../before --only deep   # Deep-Hedge

Each version runs in its own process with its own caches of compiled code. The processes take turns
of a few hundredths of a second, so that other load on the machine affects both alike. The ratio is
the median over turns of (time after / time before), with its quartiles; times are processor time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any

# This file runs in both versions by its path: it imports nothing of `benchmarks`.
SCRIPT = Path(__file__).resolve()
ROOT = SCRIPT.parents[2]
TURN_SECONDS = 0.05
DEEP_CONFIGS = {
    "kuhn_poker": "configs/thesis/kuhn_2p.json",
    "leduc_poker": "configs/thesis/leduc.json",
    "goofspiel": "configs/thesis/goofspiel.json",
}
GAMES = ("kuhn_poker", "leduc_poker", "liars_dice")
FULL_TREE_ALGORITHMS = ("cfr", "cfr_plus", "dcfr", "pcfr_plus")
SAMPLING_ALGORITHMS = (
    *("chance_sampling", "external_sampling", "average_strategy_sampling", "probing"),
    *("outcome_sampling", "vr_mccfr", "vr_mccfr_plus"),
)
TASKS_BY_GROUP = {
    "full": [f"step {name} {game}" for game in GAMES for name in FULL_TREE_ALGORITHMS],
    "sampled": [
        f"step {name} {game}"
        for game in GAMES
        for name in SAMPLING_ALGORITHMS
        if game != "liars_dice" or name != "chance_sampling"
    ],
    "solve": [f"solve {name} kuhn_poker" for name in ("cfr", "cfr_plus", "external_sampling")],
    "judge": [f"judge {game}" for game in (*GAMES, "goofspiel")],
    "build": [f"build {game}" for game in ("leduc_poker", "goofspiel", "kuhn_poker(players=4)")],
    "deep": [f"deep {game}" for game in DEEP_CONFIGS],
}


def load_task(task: str, checkout: Path) -> Callable[[int], object]:
    """Return a function that does the task a number of times."""
    import counterplay as cp

    kind, *names = task.split()
    tree = cp.build_tree(cp.load_game(names[-1]))
    if kind == "solve":
        algorithm: Any = cp.load_algorithm(names[0])

        def solve(repeats: int) -> None:
            for _ in range(repeats):
                cp.solve(tree, algorithm, iterations=1000)

        return solve
    if kind == "judge":
        policy = cp.random_policy(tree)
        return lambda repeats: [cp.exploitability(tree, policy) for _ in range(repeats)]
    if kind == "build":
        return lambda repeats: [cp.build_tree(names[-1]) for _ in range(repeats)]
    if kind == "deep":
        from counterplay.experiment.config import load_config

        algorithm = load_config(checkout / DEEP_CONFIGS[names[0]]).algorithm
    else:
        algorithm = cp.load_algorithm(names[0])
    memory = algorithm.init(tree, 1)

    def step(repeats: int) -> None:
        nonlocal memory
        memory = algorithm.step(tree, memory, repeats)
        if kind == "deep":
            import jax

            jax.block_until_ready(memory.state)

    return step


def serve(checkout: Path) -> None:
    """Read tasks with a number of repeats from stdin; answer each with processor seconds."""
    works: dict[str, Callable[[int], object]] = {}
    for line in sys.stdin:
        task, _, repeats = line.strip().rpartition(" ")
        if task not in works:
            works[task] = load_task(task, checkout)
            works[task](1)
        start = time.process_time()
        works[task](int(repeats))
        print(time.process_time() - start, flush=True)


class Version:
    """A process that works with the sources of one checkout."""

    def __init__(self, checkout: Path, cache: Path):
        environment = {
            **os.environ,
            "PYTHONPATH": str(checkout.resolve() / "src"),
            "NUMBA_CACHE_DIR": str(cache),
            "JAX_COMPILATION_CACHE_DIR": str(cache / "jax"),
        }
        self.process = subprocess.Popen(
            [sys.executable, str(SCRIPT), str(checkout), "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def time_task(self, task: str, repeats: int) -> float:
        """Return the processor seconds of a task."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{task} {repeats}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def compare_task(before: Version, after: Version, task: str, num_turns: int) -> str:
    """Return a row of the table."""
    repeats = 1
    while (seconds := before.time_task(task, repeats)) < TURN_SECONDS:
        is_short = seconds < TURN_SECONDS / 4
        repeats *= 2 if is_short else 1 + int(TURN_SECONDS / max(seconds, 1e-9))
    old: list[float] = []
    new: list[float] = []
    after.time_task(task, repeats)
    for turn in range(num_turns):
        for version, times in [(before, old), (after, new)][:: 1 if turn % 2 else -1]:
            times.append(version.time_task(task, repeats) / repeats)
    low, middle, high = quantiles([n / o for o, n in zip(old, new, strict=True)])
    cells = [f"`{task}`", f"{1e6 * median(old):.3g} us", f"{1e6 * median(new):.3g} us"]
    return "| " + " | ".join([*cells, f"{middle:.3f}", f"{low:.3f} to {high:.3f}"]) + " |"


def main() -> None:
    """Print the table of all tasks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkout", type=Path, help="a checkout of the other version")
    parser.add_argument(
        "--only",
        nargs="*",
        default=["full", "sampled", "solve"],
        choices=TASKS_BY_GROUP,
        help="groups of tasks",
    )
    parser.add_argument("--tasks", nargs="*", help="single tasks, such as 'step cfr leduc_poker'")
    parser.add_argument("--turns", type=int, default=21)
    parser.add_argument(
        "--caches",
        type=Path,
        default=Path(tempfile.gettempdir()) / "compare_versions",
        help="folder for the compiled code of both versions",
    )
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args.checkout)
        return
    tasks = args.tasks or [task for group in args.only for task in TASKS_BY_GROUP[group]]
    before = Version(args.checkout, args.caches / "before")
    after = Version(ROOT, args.caches / "after")
    print("| | before | after | ratio | quartiles |\n|---|---|---|---|---|")
    for task in tasks:
        print(compare_task(before, after, task, args.turns), flush=True)


if __name__ == "__main__":
    main()
