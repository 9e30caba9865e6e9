"""Compare the speed with OpenSpiel's C++ solvers, and with LiteEFG where it is installed.

    make bench                          (or: python -m benchmarks.speed.compare_libraries --write)
    python -m benchmarks.speed.compare_libraries cfr exploitability         (some of the rows)

Each row is a ratio from one process on one thread: after a warm-up the two programs take turns, and
the medians of several turns are compared. Ratios are of processor time, which a busy machine
changes least; building is processor time too, the start of the command and two threads are
wall-clock time. `--write` stores the table in benchmarks/speed/compare_libraries.md.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.util
import io
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pyspiel

import counterplay as cp
from benchmarks.timing import (
    first_paragraph,
    format_head,
    format_row,
    format_seconds,
    time_call,
    time_in_turns,
)

REPORT = Path(__file__).with_suffix(".md")
NUM_TURNS = 7
NUM_WARM_UPS = 2
COLUMNS = ["task", "Counterplay", "compared with", "ratio or rate"]
rows: list[list[str]] = []


def wall_seconds(work: Callable[[], object]) -> float:
    """Return the wall-clock seconds of one call."""
    return time_call(work, time.perf_counter)


def add_row(task: str, seconds: float, other: str = "", ratio: str = "") -> None:
    """Add a row to the table and print it."""
    rows.append([task, format_seconds(seconds), other, ratio])
    print(" | ".join(rows[-1]), flush=True)


def compare(
    task: str,
    library: str,
    ours: tuple[Callable[[], object], int],
    theirs: tuple[Callable[[], object], int],
) -> None:
    """Add a row. Each side is a function and how often it does the task in one call."""
    works, counts = zip(ours, theirs, strict=True)
    for work in works * NUM_WARM_UPS:
        work()
    times = time_in_turns(works, NUM_TURNS)
    mine, other = (median(part) / count for part, count in zip(times, counts, strict=True))
    add_row(task, mine, f"{library} {format_seconds(other)}", f"{other / mine:,.0f}x")


def prepare_cfr(spec: str, count: int) -> tuple[Callable[[], object], int]:
    """Return a function that does `count` iterations of CFR."""
    tree, algorithm = cp.build_tree(cp.load_game(spec)), cp.algorithms.CFR()
    memory = algorithm.init(tree)
    return lambda: algorithm.step(tree, memory, count), count


def compare_iteration(spec: str, ours_count: int, theirs_count: int) -> None:
    """Compare one iteration of CFR with OpenSpiel's."""
    solver = pyspiel.CFRSolver(pyspiel.load_game(spec))

    def theirs() -> None:
        for _ in range(theirs_count):
            solver.evaluate_and_update_policy()

    ours = prepare_cfr(spec, ours_count)
    compare(f"CFR iteration, {spec}", "OpenSpiel", ours, (theirs, theirs_count))


def compare_lite_efg() -> None:
    """Compare one iteration of CFR with LiteEFG's."""
    if importlib.util.find_spec("LiteEFG") is None:
        print("LiteEFG is not installed (pip install LiteEFG compiles it): row left out")
        return
    import LiteEFG
    from LiteEFG.baselines import CFR

    LiteEFG.set_threads(1)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.chdir(tempfile.mkdtemp()):
        game = pyspiel.load_game("leduc_poker")
        environment = LiteEFG.OpenSpielEnv(game, traverse_type="Enumerate")
        graph = CFR.graph()
    environment.set_graph(graph)

    def theirs() -> None:
        for _ in range(30):
            graph.update_graph(environment)
            environment.update_strategy(graph.current_strategy())

    ours = prepare_cfr("leduc_poker", 5000)
    compare("CFR iteration, leduc_poker", "LiteEFG", ours, (theirs, 30))


def compare_solve() -> None:
    """Compare a whole solve of a small game."""
    tree, game = cp.build_tree(cp.load_game("kuhn_poker")), pyspiel.load_game("kuhn_poker")

    def theirs() -> None:
        solver = pyspiel.CFRSolver(game)
        for _ in range(10_000):
            solver.evaluate_and_update_policy()

    def ours() -> None:
        for _ in range(10):
            cp.solve(tree, cp.algorithms.CFR(), iterations=10_000)

    compare("solve, 10,000 iterations, kuhn_poker", "OpenSpiel", (ours, 10), (theirs, 1))


def compare_exploitability() -> None:
    """Compare the exact exploitability of the uniform policy."""
    tree, game = cp.build_tree(cp.load_game("leduc_poker")), pyspiel.load_game("leduc_poker")
    policy, uniform = cp.uniform_policy(tree), pyspiel.UniformRandomPolicy(game)

    def ours() -> None:
        for _ in range(2000):
            cp.exploitability(tree, policy)

    def theirs() -> None:
        pyspiel.exploitability(game, uniform)

    compare("exploitability, leduc_poker", "OpenSpiel", (ours, 2000), (theirs, 1))


def compare_threads() -> None:
    """Compare two threads with one, and their bits."""
    spec = "goofspiel(num_cards=5)"
    print(f"building {spec} ...", flush=True)
    tree = cp.build_tree(cp.load_game(spec))
    algorithm = cp.algorithms.CFR()
    memories = {1: algorithm.init(tree), 2: algorithm.init(tree)}
    times: dict[int, list[float]] = {1: [], 2: []}
    for turn in range(5):
        for count in (1, 2):
            cp.set_num_threads(count)
            seconds = wall_seconds(lambda c=count: algorithm.step(tree, memories[c], 2)) / 2
            if turn:  # the first turn compiles
                times[count].append(seconds)
    cp.set_num_threads(1)
    is_same = (memories[1].policy_sum == memories[2].policy_sum).all()
    one, two = median(times[1]), median(times[2])
    task = f"CFR iteration, {spec}, {tree.num_nodes:,} nodes, 2 threads"
    bits = "same bits" if is_same else "OTHER BITS"
    add_row(task, two, f"1 thread {format_seconds(one)}", f"{one / two:.2f}x, {bits}")


def time_building() -> None:
    """Measure how fast trees are built."""
    for spec in ("leduc_poker", "liars_dice", "goofspiel", "kuhn_poker(players=5)"):
        game = cp.load_game(spec)
        seconds = median(time_call(lambda g=game: cp.build_tree(g)) for _ in range(3))
        nodes = cp.build_tree(game).num_nodes
        add_row(f"build, {spec}, {nodes:,} nodes", seconds, "", f"{nodes / seconds:,.0f} nodes/s")


def time_command_line() -> None:
    """Measure the start of the command, and a solve with and without compilation."""
    command = [str(Path(sys.executable).parent / "counterplay")]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True}

    def time_command(arguments: list[str], environment: dict[str, str] | None = None) -> float:
        line = [*command, *arguments]
        return wall_seconds(lambda: subprocess.run(line, env=environment, **quiet))

    add_row("counterplay --help", median(time_command(["--help"]) for _ in range(5)))
    solve = ["solve", "leduc_poker", "--iterations", "1000"]
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache}
        first = time_command(solve, environment)
        later = median(time_command(solve, environment) for _ in range(3))
    add_row("first solve of leduc_poker, compilation included", first)
    add_row("later solve of leduc_poker", later)


def compare_cfr() -> None:
    """Compare one iteration of CFR with OpenSpiel's and LiteEFG's."""
    compare_iteration("leduc_poker", 5000, 8)  # turns of about the same length for both sides
    compare_lite_efg()
    compare_iteration("liars_dice", 300, 1)


PARTS = {
    "cfr": compare_cfr,
    "solve": compare_solve,
    "exploitability": compare_exploitability,
    "build": time_building,
    "command": time_command_line,
    "threads": compare_threads,
}


def main() -> None:
    """Measure the rows and print the table."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("parts", nargs="*", help=f"parts of the table: {', '.join(PARTS)}")
    parser.add_argument("--write", action="store_true", help="store the table beside this script")
    args = parser.parse_args()
    if unknown := set(args.parts) - set(PARTS):
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}")
    cp.set_num_threads(1)
    for name in args.parts or PARTS:
        PARTS[name]()
    table = "\n".join([format_head(COLUMNS), *map(format_row, rows)])
    print(f"\n{table}")
    if args.write:
        today = datetime.date.today().isoformat()
        machine = f"Python {platform.python_version()}, {os.cpu_count()} cores"
        head = (
            "# Speed beside other libraries\n\n"
            f"`make bench` on {machine}, {today}; medians of {NUM_TURNS} turns.\n\n"
        )
        REPORT.write_text(f"{head}{table}\n")


if __name__ == "__main__":
    main()
