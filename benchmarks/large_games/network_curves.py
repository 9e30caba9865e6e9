"""Networks on games that no tree holds: exact exploitability against decisions.

    python -m benchmarks.large.networks                            all curves, and curves.svg
    python -m benchmarks.large.networks NAME [DECISIONS] [SEED]    one of them, as dark_hex.ppo
    python -m benchmarks.large.networks --draw                     curves.svg of what there is
    python -m benchmarks.large.networks --table                    the same as a table

Episodes are played on compiled rules; on the way the networks are tabulated and judged on the
generated arena. Lines go to NAME.SEED.jsonl beside this file. Seconds are those spent learning,
judging apart; processor is all of the process, judging and compilation too; GiB is its peak.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import counterplay as cp
from counterplay.core.solve import SolveSession
from counterplay.registry import get_spec

HERE = Path(__file__).parent
DECISIONS, SEED = 1e7, 0
COMMON = "critic=network,tau=0.2,tau_end=0.02"
METHODS = {"ppo": "ppo", "mmd": "deep_mmd"}
GAMES = {  # the game, what its networks learn with, how often they are judged
    "phantom_tic_tac_toe": ("phantom_tic_tac_toe", "episodes=128,horizon=7500", 5),
    "dark_hex": ("dark_hex", "episodes=128,horizon=7500", 5),
    "liars_dice": ("liars_dice(numdice=2,dice_sides=5)", "episodes=256,horizon=7500", 5),
    "abrupt_phantom_tic_tac_toe": (
        "phantom_tic_tac_toe(gameversion=abrupt)",
        "episodes=128,horizon=7500",
        4,
    ),
    "abrupt_dark_hex": ("dark_hex(gameversion=adh)", "episodes=128,horizon=7500", 4),
}
NAMES = [f"{game}.{method}" for game in GAMES for method in METHODS]


def run(name, decisions, seed):
    """Learn, and write a line whenever the networks are judged."""
    game, _, method = name.partition(".")
    spec, options, times = GAMES[game]
    algorithm = cp.load_algorithm(f"{METHODS[method]}({COMMON},{options})")
    arena = cp.build_arena(cp.load_game(spec), "generated")
    course = SolveSession(arena, algorithm, algorithm.init(arena, seed))
    file = HERE / f"{name}.{seed}.jsonl"
    head = {"game": spec, "algorithm": get_spec(algorithm), "seed": seed}
    file.write_text(json.dumps(head) + "\n")
    for part in range(1, times + 1):
        while course.memory.nodes_touched < decisions * part / times:
            course.advance(course.iteration + 10)
        began = time.perf_counter()
        judged = {
            policy: cp.judge(arena, table).exploitability
            for policy, table in course.policies().items()
        }
        row = {
            "decisions": course.memory.nodes_touched,
            "iteration": course.iteration,
            "seconds": round(course.seconds, 1),
            "judging": round(time.perf_counter() - began, 1),
            "processor": round(time.process_time(), 1),
            "GiB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
            **{policy: round(value, 6) for policy, value in judged.items()},
        }
        print(json.dumps(row), flush=True)
        with file.open("a") as out:
            out.write(json.dumps(row) + "\n")


def curves():
    """(game, method, its records) of all curves that there are."""
    for file in sorted(HERE.glob("*.*.*.jsonl")):
        game, method, _, _ = file.name.split(".")
        yield game, method, [json.loads(line) for line in file.read_text().splitlines()[1:]]


def table():
    """A line for each curve."""
    print(
        "| game | method | exploitability on the way | at 1e7: last networks | smoothed weights |",
        end="",
    )
    print(" seconds | processor | GiB |\n|" + "---|" * 8)
    for game, method, rows in curves():
        *way, last = rows
        before = ", ".join(f"{row['smoothed']:.3f} ({row['decisions']:.1e})" for row in way)
        cells = [game.replace("_", " "), method.upper(), before]
        cells += [f"{last['current']:.4f}", f"{last['smoothed']:.4f}", f"{last['seconds']:.0f}"]
        print(
            "| " + " | ".join([*cells, f"{last['processor']:.0f}", f"{last.get('GiB', '-')}"]), "|"
        )


def draw():
    """All curves that there are, in one picture; faint where they are of the last networks."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "counterplay"  # the same picture, byte for byte
    figure, axes = plt.subplots(figsize=(7.2, 4.0), layout="constrained")
    colours = dict(zip(GAMES, plt.get_cmap("tab10").colors, strict=False))
    for game, method, rows in curves():
        x = [row["decisions"] for row in rows]
        look = {"color": colours[game], "linestyle": "-" if method == "ppo" else "--"}
        axes.semilogy(x, [row["current"] for row in rows], alpha=0.3, **look)
        label = f"{game.replace('_', ' ')}, {method.upper()}"
        axes.semilogy(x, [row["smoothed"] for row in rows], label=label, marker=".", **look)
    axes.set(xlabel="decisions", ylabel="exploitability", xlim=(0, None))
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, frameon=False)
    figure.savefig(HERE / "curves.svg", metadata={"Date": None})


def main():
    match sys.argv[1:]:
        case []:
            for name in NAMES:
                command = [sys.executable, "-m", "benchmarks.large.networks", name]
                subprocess.run(command, check=True)
            draw()
        case ["--draw"]:
            draw()
        case ["--table"]:
            table()
        case [name, *rest] if name in NAMES and len(rest) <= 2:
            decisions, seed = [*rest, *[DECISIONS, SEED][len(rest) :]]
            run(name, float(decisions), int(seed))
        case _:
            sys.exit(f"{__doc__}\nNAME is one of {', '.join(NAMES)}")


if __name__ == "__main__":
    main()
