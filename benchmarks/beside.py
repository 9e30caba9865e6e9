"""This version beside another one: processor time of the same work, both asked in turn.

    git worktree add ../before a230d21
    python -m benchmarks.beside ../before                  # tables; about two minutes
    python -m benchmarks.beside ../before --only deep      # Deep-Hedge

Each version works in a process of its own, with its own caches of compiled code. They take turns
of a few hundredths of a second, so that whatever else the machine does meets both alike; the
ratio is the median over turns of one's time divided by the other's, with its quartiles.
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

HERE = Path(__file__).resolve()
TURN = 0.05  # seconds of work, about
SETTINGS = {
    "kuhn_poker": "configs/thesis/kuhn_2p.json",
    "leduc_poker": "configs/thesis/leduc.json",
    "goofspiel": "configs/thesis/goofspiel.json",
}
FULL = ["cfr", "cfr_plus", "dcfr", "pcfr_plus"]
SAMPLED = ["chance_sampling", "external_sampling", "average_strategy_sampling", "probing"]
SAMPLED += ["outcome_sampling", "vr_mccfr", "vr_mccfr_plus"]
WORK = {
    "full": [
        f"step {name} {game}"
        for game in ("kuhn_poker", "leduc_poker", "liars_dice")
        for name in FULL
    ],
    "sampled": [
        f"step {name} {game}"
        for game in ("kuhn_poker", "leduc_poker", "liars_dice")
        for name in SAMPLED
        if game != "liars_dice" or name != "chance_sampling"
    ],
    "solve": [f"solve {name} kuhn_poker" for name in ("cfr", "cfr_plus", "external_sampling")],
    "deep": [f"deep {game}" for game in SETTINGS],
}


def work_of(task: str) -> Callable[[int], None]:
    """What a task repeats."""
    import counterplay as cp

    kind, *rest = task.split()
    tree = cp.build_tree(cp.load_game(rest[-1]))
    if kind == "solve":
        algorithm: Any = cp.load_algorithm(rest[0])

        def solve(times: int) -> None:
            for _ in range(times):
                cp.solve(tree, algorithm, iterations=1000)

        return solve
    if kind == "deep":
        from counterplay.experiment import load_config

        algorithm = load_config(HERE.parent.parent / SETTINGS[rest[0]]).algorithm
    else:
        algorithm = cp.load_algorithm(rest[0])
    memory = [algorithm.init(tree, 1)]

    def step(times: int) -> None:
        memory[0] = algorithm.step(tree, memory[0], times)
        if kind == "deep":
            import jax

            jax.block_until_ready(memory[0].state)

    return step


def serve() -> None:
    """Do what each line asks for: a task with how often; answer with processor seconds."""
    work: dict[str, Callable[[int], None]] = {}
    for line in sys.stdin:
        task, _, times = line.strip().rpartition(" ")
        if task not in work:
            work[task] = work_of(task)
            work[task](1)
        began = time.process_time()
        work[task](int(times))
        print(time.process_time() - began, flush=True)


class Version:
    """A process that works with one version's sources."""

    def __init__(self, place: Path, cache: Path):
        environment = {
            **os.environ,
            "PYTHONPATH": str(place / "src"),
            "NUMBA_CACHE_DIR": str(cache),
            "JAX_COMPILATION_CACHE_DIR": str(cache / "jax"),
        }
        self.process = subprocess.Popen(
            [sys.executable, str(HERE), "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def ask(self, task: str, times: int) -> float:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{task} {times}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def compare(before: Version, after: Version, task: str, turns: int) -> str:
    """A line of the table."""
    times = 1
    while (took := before.ask(task, times)) < TURN:
        times *= 2 if took < TURN / 4 else 1 + int(TURN / max(took, 1e-9))
    old, new = [], []
    after.ask(task, times)
    for turn in range(turns):
        for version, found in [(before, old), (after, new)][:: 1 if turn % 2 else -1]:
            found.append(version.ask(task, times) / times)
    low, middle, high = quantiles([n / o for o, n in zip(old, new, strict=True)])
    cells = [f"`{task}`", f"{1e6 * median(old):.3g} us", f"{1e6 * median(new):.3g} us"]
    return "| " + " | ".join([*cells, f"{middle:.3f}", f"{low:.3f} to {high:.3f}"]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", nargs="?", type=Path, help="a checkout of the other version")
    parser.add_argument("--only", nargs="*", default=["full", "sampled", "solve"], choices=WORK)
    parser.add_argument("--tasks", nargs="*", default=None, help="single tasks instead")
    parser.add_argument("--turns", type=int, default=21)
    parser.add_argument("--caches", type=Path, default=Path(tempfile.gettempdir()) / "beside")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve()
        return
    tasks = given.tasks or [task for kind in given.only for task in WORK[kind]]
    before = Version(given.other, given.caches / "before")
    after = Version(HERE.parent.parent, given.caches / "after")
    print("| | before | after | ratio | quartiles |\n|---|---|---|---|---|")
    for task in tasks:
        print(compare(before, after, task, given.turns), flush=True)


if __name__ == "__main__":
    main()
