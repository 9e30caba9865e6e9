"""Compare Deep-Hedge with NFSP, QPG, RPG, RMPG and NeuRD by episodes and by processor seconds.

    python -m benchmarks.deep.per_episode                        # all runs that are not stored yet
    python -m benchmarks.deep.per_episode --games leduc --methods qpg --seeds 0
    python -m benchmarks.deep.per_episode --page                 # the page and the plots, no run

The thesis on Deep-Hedge claims in section 4.6.4 that it "seems to be converging faster in all
scenarios" by the number of episodes. The runs here answer it on the games of the thesis, with three
seeds. An episode is one playthrough; a step of Deep-Hedge plays `num_players * (K + L * H)`.
Curves are in results/per_episode.jsonl, one line per run and seed: seconds are processor time
without compilation and evaluation, all policies are evaluated exactly. Finished runs are skipped,
so an interrupted command continues with the run it was in. The page is per_episode.md, the plots
are results/per_episode_<game>.svg.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.result_files import RESULTS_FOLDER, Record, Run, find_run, load_family, save_run
from benchmarks.timing import Stopwatch, first_paragraph, format_head, format_row

FAMILY = "per_episode"
PAGE = Path(__file__).with_suffix(".md")
CONFIGS = Path(__file__).parents[2] / "configs"
NUM_EVALUATIONS = 12  # at equal ratios of episodes
FIRST_EVALUATION = 0.01  # of all episodes
# a batch as large as NeuRD's in its paper; networks as critics, no aid of a tree
GRADIENT_SETTINGS = "critic=network,stratified=false,num_episodes=256"


class ThesisGame(NamedTuple):
    """A game of the thesis, its config of Deep-Hedge, and the episodes of a run."""

    title: str
    config: str
    num_episodes: int


class Method(NamedTuple):
    """A method, its settings, and the policy that its paper judges."""

    title: str
    algorithm: str  # spec, or the folder of configs of Deep-Hedge
    policy: str


GAMES = {
    "kuhn_2p": ThesisGame("Kuhn poker, two players", "kuhn_2p", 4_000_000),
    "kuhn_3p": ThesisGame("Kuhn poker, three players", "kuhn_3p", 250_000),
    "leduc": ThesisGame("Leduc poker", "leduc", 500_000),
    "goofspiel": ThesisGame("Goofspiel, four cards", "goofspiel", 100_000),
}
METHODS = {
    "deep_hedge_thesis": Method("Deep-Hedge, the thesis's settings", "thesis", "average"),
    "deep_hedge_own": Method("Deep-Hedge, settings of this library", "own", "average"),
    "nfsp": Method("NFSP", "nfsp", "network"),
    "qpg": Method("QPG", f"qpg({GRADIENT_SETTINGS})", "current"),
    "rpg": Method("RPG", f"rpg({GRADIENT_SETTINGS})", "current"),
    "rmpg": Method("RMPG", f"rmpg({GRADIENT_SETTINGS})", "current"),
    "neurd": Method("NeuRD", f"neurd({GRADIENT_SETTINGS})", "current"),
}


def load_algorithm(game: str, method: str) -> tuple[Any, Any, int, int]:
    """Return the tree, the algorithm, its episodes per iteration, and its iterations."""
    import counterplay as cp
    from counterplay.core.solve import with_schedule
    from counterplay.experiment.config import load_config

    setting, algorithm_spec = GAMES[game], METHODS[method].algorithm
    tree = cp.build_tree(load_config(CONFIGS / "thesis" / f"{setting.config}.json").game)
    if (CONFIGS / algorithm_spec).is_dir():
        config = load_config(CONFIGS / algorithm_spec / f"{setting.config}.json")
        algorithm: Any = config.algorithm
        per_iteration = tree.num_players * algorithm.num_episodes
        return tree, algorithm, per_iteration, setting.num_episodes // per_iteration
    algorithm = cp.load_algorithm(algorithm_spec)
    iterations = setting.num_episodes // algorithm.num_episodes
    return tree, with_schedule(algorithm, iterations), algorithm.num_episodes, iterations


def evaluation_iterations(iterations: int) -> list[int]:
    """Return the iterations at which a run is evaluated, at equal ratios."""
    shares = [FIRST_EVALUATION ** (n / (NUM_EVALUATIONS - 1)) for n in range(NUM_EVALUATIONS)]
    return sorted({max(2, round(iterations * share)) for share in shares})


def measure_run(game: str, method: str, seed: int) -> None:
    """Run a method to its last episode and store its curve, unless it is stored already."""
    import jax

    import counterplay as cp

    name = f"{game}.{method}"
    if find_run(FAMILY, name, seed):
        return
    tree, algorithm, per_iteration, iterations = load_algorithm(game, method)
    memory = algorithm.step(tree, algorithm.init(tree, seed), 1)  # compiles
    algorithm.policies(tree, memory)
    watch, records = Stopwatch(), list[Record]()
    for goal in evaluation_iterations(iterations):
        with watch:
            memory = algorithm.step(tree, memory, goal - memory.iteration)
            jax.block_until_ready(memory.state)
        record: Record = {"episodes": goal * per_iteration, "seconds": round(watch.cpu_seconds, 2)}
        for policy_name, policy in algorithm.policies(tree, memory).items():
            record[policy_name] = float(f"{cp.exploitability(tree, policy):.5g}")
        records.append(record)
    print(name, seed, records[-1], flush=True)
    save_run(FAMILY, Run(name, cp.registry.get_spec(algorithm), tree.spec, seed, records))


def median_curve(runs: list[Run], along: str, policy: str) -> tuple[list[float], list[float]]:
    """Return the medians over seeds."""
    rows = list(zip(*(run.records for run in runs), strict=True))
    x = [median(record[along] for record in row) for row in rows]
    return x, [median(record[policy] for record in row) for row in rows]


def load_runs(game: str, method: str) -> list[Run]:
    """Return the stored seeds of a method on a game."""
    return [run for run in load_family(FAMILY) if run.run == f"{game}.{method}"]


def draw_plot(game: str) -> None:
    """Save the plot of one game: exploitability against episodes and against seconds."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4.6), sharey=True, layout="constrained")
    for number, (method, setting) in enumerate(METHODS.items()):
        runs = load_runs(game, method)
        if not runs:
            continue
        color = "black" if method.startswith("deep_hedge") else f"C{number - 2}"
        dashes = "--" if method == "deep_hedge_own" else "-"
        for axis, along in zip(axes, ("episodes", "seconds"), strict=True):
            x, y = median_curve(runs, along, setting.policy)
            axis.plot(x, y, dashes, color=color, label=f"{setting.title} ({setting.policy})")
    for axis, label in zip(axes, ("episodes", "processor seconds"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel=label)
        axis.grid(alpha=0.3, which="both", linewidth=0.5)
    axes[0].set(ylabel="exploitability")
    legend = axes[0].get_legend_handles_labels()
    figure.legend(*legend, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    figure.suptitle(f"{GAMES[game].title}: medians of the seeds; in brackets the policy")
    figure.savefig(RESULTS_FOLDER / f"per_episode_{game}.svg", metadata={"Date": None})
    pyplot.close(figure)


def format_table(game: str) -> str:
    """Return one row per method: exploitability at a tenth and at the end, and the cost."""
    head = ["method", "policy", "a tenth", "end", "seeds at the end", "best policy", "CPU s"]
    lines = [format_head(head)]
    for method, setting in METHODS.items():
        runs = load_runs(game, method)
        if not runs:
            continue
        goal = GAMES[game].num_episodes / 10
        episodes, values = median_curve(runs, "episodes", setting.policy)
        tenth = min(range(len(episodes)), key=lambda i: abs(episodes[i] - goal))
        last = [run.last for run in runs]
        policies = set(last[0]) - {"episodes", "seconds"}
        medians = {p: median(record[p] for record in last) for p in policies}
        best = min(medians, key=medians.__getitem__)
        seeds = ", ".join(f"{record[setting.policy]:.4f}" for record in last)
        cells = [setting.title, setting.policy, f"{values[tenth]:.4f}", f"{values[-1]:.4f}"]
        cells += [seeds, f"{best} {medians[best]:.4f}"]
        lines.append(format_row([*cells, f"{median(r['seconds'] for r in last):.1f}"]))
    return "\n".join(lines)


def format_page() -> str:
    """Return the page: its text, then a table and a plot per game."""
    lines = [PAGE.with_name("per_episode_head.md").read_text().rstrip(), ""]
    for game, setting in GAMES.items():
        lines += [f"## {setting.title}: {setting.num_episodes:,} episodes", ""]
        lines += [format_table(game), "", f"![curves](../results/per_episode_{game}.svg)", ""]
    return "\n".join(lines)


def main() -> None:
    """Measure runs, then write the page and the plots."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--games", nargs="+", choices=GAMES, default=list(GAMES))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.name}, run nothing")
    args = parser.parse_args()
    if not args.page:
        for game in args.games:
            for method in args.methods:
                for seed in args.seeds:
                    measure_run(game, method, seed)
    for game in GAMES:
        draw_plot(game)
    PAGE.write_text(format_page())


if __name__ == "__main__":
    main()
