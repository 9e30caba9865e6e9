"""Counterplay beside OpenSpiel's C++ solvers, and LiteEFG where it is installed.

    make bench                                     (or: python benchmarks/side_by_side.py --write)

Every row is a ratio from one process on one thread: the two programs take turns, and the medians
of several turns are compared. `--write` keeps the table in benchmarks/side_by_side.md.
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
from pathlib import Path
from statistics import median

import pyspiel

import counterplay as cp

TURNS = 7
rows: list[tuple[str, str, str, str, str]] = []


def seconds(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def show(value):
    unit, scale = next(
        (u, s) for u, s in (("s", 1.0), ("ms", 1e-3), ("µs", 0.0)) if value >= s or u == "µs"
    )
    return f"{value / (scale or 1e-6):.3g} {unit}"


def add_row(what, mine, other="", ratio="", asked=""):
    rows.append((what, show(mine), other, ratio, asked))
    print(" | ".join(rows[-1]), flush=True)


def compare(what, name, ours, ours_count, theirs, theirs_count, asked):
    """Add a row. Either function does its work `count` times in one call."""
    ours(), theirs()
    turns = [(seconds(ours) / ours_count, seconds(theirs) / theirs_count) for _ in range(TURNS)]
    mine, other = median(t[0] for t in turns), median(t[1] for t in turns)
    add_row(what, mine, f"{name} {show(other)}", f"{other / mine:,.0f}x", asked)


def our_iterations(spec, count):
    """`count` CFR iterations in one call, ready to be timed."""
    tree, algorithm = cp.build_tree(cp.load_game(spec)), cp.CFR()
    memory = algorithm.init(tree)
    return lambda: algorithm.step(tree, memory, count)


def one_iteration(spec, ours_count, theirs_count, asked):
    solver = pyspiel.CFRSolver(pyspiel.load_game(spec))

    def theirs():
        for _ in range(theirs_count):
            solver.evaluate_and_update_policy()

    ours = our_iterations(spec, ours_count)
    compare(f"CFR iteration, {spec}", "OpenSpiel", ours, ours_count, theirs, theirs_count, asked)


def lite_efg():
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

    def theirs():
        for _ in range(30):
            graph.update_graph(environment)
            environment.update_strategy(graph.current_strategy())

    ours = our_iterations("leduc_poker", 5000)
    compare("CFR iteration, leduc_poker", "LiteEFG", ours, 5000, theirs, 30, "90x")


def small_game():
    tree, game = cp.build_tree(cp.load_game("kuhn_poker")), pyspiel.load_game("kuhn_poker")

    def theirs():
        solver = pyspiel.CFRSolver(game)
        for _ in range(10_000):
            solver.evaluate_and_update_policy()

    def ours():
        for _ in range(10):
            cp.solve(tree, cp.CFR(), iterations=10_000)

    compare("solve, 10,000 iterations, kuhn_poker", "OpenSpiel", ours, 10, theirs, 1, "100x")


def exact_exploitability():
    tree, game = cp.build_tree(cp.load_game("leduc_poker")), pyspiel.load_game("leduc_poker")
    policy, uniform = cp.uniform_policy(tree), pyspiel.UniformRandomPolicy(game)

    def ours():
        for _ in range(100):
            cp.exploitability(tree, policy)

    def theirs():
        pyspiel.exploitability(game, uniform)

    compare("exploitability, leduc_poker", "OpenSpiel", ours, 100, theirs, 1, "300x")


def both_cores():
    spec = "goofspiel(num_cards=5)"
    print(f"building {spec} ...", flush=True)
    tree = cp.build_tree(cp.load_game(spec))
    algorithm = cp.CFR()
    times, memories = {1: [], 2: []}, {1: algorithm.init(tree), 2: algorithm.init(tree)}
    for turn in range(5):
        for count in (1, 2):
            cp.set_num_threads(count)
            took = seconds(lambda c=count: algorithm.step(tree, memories[c], 2)) / 2
            if turn:  # the first compiles
                times[count].append(took)
    cp.set_num_threads(1)
    same = (memories[1].policy_sum == memories[2].policy_sum).all()
    one, two = median(times[1]), median(times[2])
    what = f"CFR iteration, {spec}, {tree.num_nodes:,} nodes, 2 threads"
    bits = "same bits" if same else "OTHER BITS"
    add_row(what, two, f"1 thread {show(one)}", f"{one / two:.2f}x, {bits}", "> 1x")


def building():
    for spec in ("leduc_poker", "liars_dice", "goofspiel", "kuhn_poker(players=5)"):
        game = cp.load_game(spec)
        took = median(seconds(lambda g=game: cp.build_tree(g)) for _ in range(3))
        nodes = cp.build_tree(game).num_nodes
        rate = f"{nodes / took:,.0f} nodes/s"
        add_row(f"build, {spec}, {nodes:,} nodes", took, "", rate, "100,000 nodes/s")


def command_line():
    command = [str(Path(sys.executable).parent / "counterplay")]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True}
    took = median(seconds(lambda: subprocess.run([*command, "--help"], **quiet)) for _ in range(5))
    add_row("counterplay --help", took, asked="< 0.5 s")
    solve = [*command, "solve", "leduc_poker", "--iterations", "1000"]
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache}
        first = seconds(lambda: subprocess.run(solve, env=environment, **quiet))
        later = median(
            seconds(lambda: subprocess.run(solve, env=environment, **quiet)) for _ in range(3)
        )
    add_row("first solve of leduc_poker, compilation included", first, asked="< 20 s")
    add_row("later solve of leduc_poker", later, asked="< 3 s")


def table():
    head = (
        "| what | Counterplay | compared with | ratio or rate | asked for |\n|---|---|---|---|---|"
    )
    return "\n".join([head, *("| " + " | ".join(row) + " |" for row in rows)])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the table beside this script")
    arguments = parser.parse_args()
    cp.set_num_threads(1)
    # about as long a turn for both sides
    one_iteration("leduc_poker", 5000, 8, "350x")
    lite_efg()
    one_iteration("liars_dice", 300, 1, "250x")
    small_game()
    exact_exploitability()
    building()
    command_line()
    both_cores()
    print("\n" + table())
    if arguments.write:
        today = datetime.date.today().isoformat()
        versions = f"Python {platform.python_version()}, {os.cpu_count()} cores"
        title = (
            f"# Side by side, {today}\n\n`make bench` on {versions}; medians of {TURNS} turns.\n\n"
        )
        Path(__file__).with_suffix(".md").write_text(title + table() + "\n")


if __name__ == "__main__":
    main()
