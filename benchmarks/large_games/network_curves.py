"""Train networks on games whose tree does not fit into memory; exact exploitability on the way.

    python -m benchmarks.large_games.network_curves                    all curves, and the plot
    python -m benchmarks.large_games.network_curves dark_hex.ppo       one of them
    python -m benchmarks.large_games.network_curves --table            the stored curves as a table
    python -m benchmarks.large_games.network_curves --plot             the stored curves as a plot

Episodes are played on compiled rules; at each evaluation the networks are tabulated and evaluated
on the generated arena. Curves are in results/large_games.jsonl, the plot is
results/large_games.svg. `seconds` is wall-clock time of learning; `evaluation_seconds` that of
evaluation; `cpu_seconds` is processor time of the whole process, compilation included.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from typing import NamedTuple

import counterplay as cp
from benchmarks.result_files import RESULTS_FOLDER, Record, Run, find_run, load_family, save_run
from benchmarks.timing import first_paragraph, format_head, format_row, peak_memory_mib
from counterplay.core.solve import SolveSession
from counterplay.registry import get_spec

FAMILY = "large_games"
PLOT = RESULTS_FOLDER / "large_games.svg"
SHARED_SETTINGS = "critic=network,temperature=0.2,schedule_iterations=7500"
SETTINGS_BY_METHOD = {  # the last two end at the temperature that suits the number of episodes
    "ppo": "ppo({},learning_rate=0.002,temperature_end=0.02)",
    "mmd": "deep_mmd({},temperature_end=0.02)",
    "ppo_auto": "ppo({},learning_rate=0.002)",
    "mmd_auto": "deep_mmd({})",
}


class GameSetting(NamedTuple):
    """A game, and how networks learn on it."""

    spec: str
    num_episodes: int  # per iteration
    num_evaluations: int


GAMES = {
    "phantom_tic_tac_toe": GameSetting("phantom_tic_tac_toe", 128, 5),
    "dark_hex": GameSetting("dark_hex", 128, 5),
    "liars_dice": GameSetting("liars_dice(numdice=2,dice_sides=5)", 256, 5),
    "abrupt_phantom_tic_tac_toe": GameSetting("phantom_tic_tac_toe(gameversion=abrupt)", 128, 4),
    "abrupt_dark_hex": GameSetting("dark_hex(gameversion=adh)", 128, 4),
}
NAMES = [f"{game}.{method}" for game in GAMES for method in SETTINGS_BY_METHOD]


def measure_run(name: str, num_decisions: float, seed: int) -> None:
    """Train one method on one game, and store its curve, unless it is stored already."""
    game, _, method = name.partition(".")
    setting = GAMES[game]
    settings = f"{SHARED_SETTINGS},num_episodes={setting.num_episodes}"
    algorithm = cp.load_algorithm(SETTINGS_BY_METHOD[method].format(settings))
    run = find_run(FAMILY, name, seed)
    if run and run.last["decisions"] >= num_decisions:
        return
    arena = cp.build_arena(cp.load_game(setting.spec), "generated")
    session = SolveSession(arena, algorithm, algorithm.init(arena, seed))
    records: list[Record] = []
    for part in range(1, setting.num_evaluations + 1):
        while session.memory.nodes_touched < num_decisions * part / setting.num_evaluations:
            session.advance(session.iteration + 10)
        start = time.perf_counter()
        values = {
            policy: cp.judge(arena, table).exploitability
            for policy, table in session.policies().items()
        }
        record = {
            "decisions": session.memory.nodes_touched,
            "step": session.iteration,
            "seconds": round(session.seconds, 1),
            "evaluation_seconds": round(time.perf_counter() - start, 1),
            "cpu_seconds": round(time.process_time(), 1),
            "peak_gib": round(peak_memory_mib() / 2**10, 2),
            **{policy: round(value, 6) for policy, value in values.items()},
        }
        print(record, flush=True)
        records.append(record)
        save_run(FAMILY, Run(name, get_spec(algorithm), setting.spec, seed, records))


def print_table() -> None:
    """Print a row for each stored curve."""
    columns = ["game", "method", "exploitability on the way", "at 1e7: current networks"]
    print(format_head([*columns, "smoothed weights", "seconds", "processor s", "GiB"]))
    for run in load_family(FAMILY):
        game, method = run.run.split(".")
        *records, last = run.records
        way = ", ".join(f"{row['smoothed']:.3f} ({row['decisions']:.1e})" for row in records)
        cells = [game.replace("_", " "), method.upper(), way]
        cells += [f"{last['current']:.4f}", f"{last['smoothed']:.4f}", f"{last['seconds']:.0f}"]
        print(format_row([*cells, f"{last['cpu_seconds']:.0f}", last.get("peak_gib", "-")]))


def draw_plot() -> None:
    """Save all stored curves in one plot; those of the current networks are faint."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "counterplay"  # makes the file reproducible
    figure, axes = plt.subplots(figsize=(7.2, 4.0), layout="constrained")
    colors = dict(zip(GAMES, plt.get_cmap("tab10").colors, strict=False))
    for run in load_family(FAMILY):
        game, method = run.run.split(".")
        x = run.column("decisions")
        style = {"color": colors[game], "linestyle": "-" if method == "ppo" else "--"}
        axes.semilogy(x, run.column("current"), alpha=0.3, **style)
        label = f"{game.replace('_', ' ')}, {method.upper()}"
        axes.semilogy(x, run.column("smoothed"), label=label, marker=".", **style)
    axes.set(xlabel="decisions", ylabel="exploitability", xlim=(0, None))
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, frameon=False)
    figure.savefig(PLOT, metadata={"Date": None})


def main() -> None:
    """Measure curves, or show the stored ones."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("name", nargs="?", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--decisions", type=float, default=1e7)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", action="store_true", help="print the stored curves")
    parser.add_argument("--plot", action="store_true", help="draw the stored curves")
    args = parser.parse_args()
    if args.name:
        measure_run(args.name, args.decisions, args.seed)
    elif args.table:
        print_table()
    else:
        for name in [] if args.plot else NAMES:  # a process each, for its memory and time
            command = [sys.executable, "-m", "benchmarks.large_games.network_curves", name]
            subprocess.run(command, check=True)
        draw_plot()


if __name__ == "__main__":
    main()
