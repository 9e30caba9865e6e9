"""Measure and draw the figures of the lecture on deep learning in games (document 004).

    python -m benchmarks.deep.lecture_figures                   # all runs that are not stored yet
    python -m benchmarks.deep.lecture_figures nfsp --seeds 0    # one figure, one seed
    python -m benchmarks.deep.lecture_figures --page            # the page and the plots, no run

`nfsp`: NFSP on Leduc poker with one hidden layer of several sizes (Heinrich and Silver, 2016,
figure 1). `gradients`: QPG, RPG and RMPG with a network critic q(s, a; w) over infosets, as on the
slides, on Kuhn poker with three players and on Leduc poker: exploitability, and the mean utility of
the current policy against CFR's average after 500 iterations (Srinivasan et al., 2018). With three
players both other seats are CFR's. Curves are in results/lecture_figures.jsonl; seconds are
processor time without compilation and evaluation. Finished runs are skipped.
"""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks.result_files import RESULTS_FOLDER, Record, Run, find_run, load_family, save_run
from benchmarks.timing import Stopwatch, first_paragraph, format_head, format_row

FAMILY = "lecture_figures"
PAGE = Path(__file__).with_suffix(".md")
NUM_EVALUATIONS = 12  # at equal distances
CFR_ITERATIONS = 500
SLIDE_SETTINGS = (
    "stratified=false,critic=infoset_network,correct_with_returns=false,critic_train_steps=8,"
    "critic_learning_rate=0.01,visit_saturation=0,num_episodes=256,temperature=0,"
    "temperature_end=0,learning_rate=0.001"
)


class Curve(NamedTuple):
    """A run of a figure."""

    figure: str
    title: str
    game: str
    algorithm: str
    num_episodes: int
    policy: str  # the policy that the plot shows


CURVES = {
    f"nfsp_{units}": Curve(
        "nfsp",
        f"{units} units",
        "leduc_poker",
        f"nfsp(hidden_sizes=({units},))",
        1_000_000,
        "network",
    )
    for units in (8, 16, 32, 64, 128)
} | {
    f"{method}_{name}": Curve(
        "gradients",
        method.upper(),
        game,
        f"{method}({SLIDE_SETTINGS})",
        100_000,
        "current",
    )
    for name, game in (("kuhn3", "kuhn_poker(players=3)"), ("leduc", "leduc_poker"))
    for method in ("qpg", "rpg", "rmpg")
}


@cache
def cfr_policy(game: str) -> Any:
    """Return CFR's average policy."""
    import counterplay as cp

    return cp.solve(cp.build_tree(game), "cfr", iterations=CFR_ITERATIONS).policy


def utility_against_cfr(policy: Any, game: str) -> float:
    """Return the mean over seats of the utility of a policy against CFR in all other seats."""
    import counterplay as cp

    opponent = cfr_policy(game)
    tree = opponent.arena
    owner = np.repeat(tree.infoset_player, tree.num_actions)
    values = []
    for seat in range(tree.num_players):
        mixed = np.where(owner == seat, policy.probabilities, opponent.probabilities)
        values.append(cp.expected_values(tree, cp.Policy(tree, mixed))[seat])
    return float(np.mean(values))


def measure_curve(name: str, seed: int) -> None:
    """Run a curve to its last episode and store it, unless it is stored already."""
    import jax

    import counterplay as cp
    from counterplay.core.solve import with_schedule

    if find_run(FAMILY, name, seed):
        return
    curve = CURVES[name]
    tree, algorithm = cp.build_tree(curve.game), cp.load_algorithm(curve.algorithm)
    iterations = curve.num_episodes // algorithm.num_episodes
    algorithm = with_schedule(algorithm, iterations)
    memory = algorithm.step(tree, algorithm.init(tree, seed), 1)  # compiles
    algorithm.policies(tree, memory)
    watch, records = Stopwatch(), list[Record]()
    for number in range(1, NUM_EVALUATIONS + 1):
        goal = iterations * number // NUM_EVALUATIONS
        with watch:
            memory = algorithm.step(tree, memory, goal - memory.iteration)
            jax.block_until_ready(memory.state)
        policies = algorithm.policies(tree, memory)
        record: Record = {
            "episodes": goal * algorithm.num_episodes,
            "seconds": round(watch.cpu_seconds, 2),
        }
        for policy_name, policy in policies.items():
            record[policy_name] = float(f"{cp.exploitability(tree, policy):.5g}")
        if curve.figure == "gradients":
            against = utility_against_cfr(policies[curve.policy], curve.game)
            record["against_cfr"] = float(f"{against:.5g}")
        records.append(record)
    print(name, seed, records[-1], flush=True)
    save_run(FAMILY, Run(name, cp.registry.get_spec(algorithm), tree.spec, seed, records))


def load_curve(name: str) -> list[Run]:
    """Return the stored seeds of a curve."""
    return [run for run in load_family(FAMILY) if run.run == name]


def median_values(runs: list[Run], column: str) -> list[float]:
    """Return the medians over seeds."""
    return [median(values) for values in zip(*(run.column(column) for run in runs), strict=True)]


def draw_panel(axis: Any, names: list[str], column: str = "") -> None:
    """Draw curves against episodes; `column` is the policy of each curve by default."""
    for name in names:
        runs, curve = load_curve(name), CURVES[name]
        if runs:
            values = median_values(runs, column or curve.policy)
            axis.plot(runs[0].column("episodes"), values, label=curve.title)
    axis.set(xlabel="episodes")
    axis.grid(alpha=0.3, which="both", linewidth=0.5)
    if axis.lines:
        axis.legend(frameon=False, fontsize=8)


def draw_plots() -> None:
    """Save both figures."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(6, 4), layout="constrained")
    draw_panel(axis, [name for name in CURVES if name.startswith("nfsp")])
    axis.set(yscale="log", ylabel="exploitability", title="NFSP, Leduc poker, one hidden layer")
    figure.savefig(RESULTS_FOLDER / "lecture_nfsp.svg", metadata={"Date": None})
    figure, axes = pyplot.subplots(1, 4, figsize=(15, 3.6), layout="constrained")
    panels = [(game, column) for game in ("kuhn3", "leduc") for column in ("", "against_cfr")]
    titles = {"kuhn3": "Kuhn poker, three players", "leduc": "Leduc poker"}
    for axis, (game, column) in zip(axes, panels, strict=True):
        draw_panel(axis, [name for name in CURVES if name.endswith(f"g_{game}")], column)
        label = "mean utility against CFR" if column else "exploitability"
        axis.set(ylabel=label, title=titles[game])
        if not column:
            axis.set(yscale="log")
    figure.savefig(RESULTS_FOLDER / "lecture_gradients.svg", metadata={"Date": None})
    pyplot.close("all")


def format_table(figure: str) -> str:
    """Return one row per curve: all policies at the end, medians over seeds."""
    rows = [format_head(["run", "game", "seeds", "episodes", "end", "against CFR", "CPU s"])]
    for name, curve in CURVES.items():
        runs = load_curve(name)
        if curve.figure != figure or not runs:
            continue
        policies = [
            key for key in runs[0].last if key not in ("episodes", "seconds", "against_cfr")
        ]
        ends = ", ".join(f"{key} {median_values(runs, key)[-1]:.4f}" for key in policies)
        has_cfr = "against_cfr" in runs[0].last
        cfr = f"{median_values(runs, 'against_cfr')[-1]:+.4f}" if has_cfr else ""
        cost = f"{median_values(runs, 'seconds')[-1]:.1f}"
        episodes = f"{runs[0].last['episodes']:,}"
        rows.append(format_row([f"`{name}`", curve.game, len(runs), episodes, ends, cfr, cost]))
    return "\n".join(rows)


def format_page() -> str:
    """Return the page: its text, with the tables in place of their marks."""
    text = PAGE.with_name("lecture_figures_head.md").read_text()
    for figure in ("nfsp", "gradients"):
        text = text.replace(f"[{figure} table]", format_table(figure))
    return text


def main() -> None:
    """Measure curves, then write the page and the plots."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("figures", nargs="*", help="nfsp, gradients; by default both")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.name}, run nothing")
    args = parser.parse_args()
    for name, curve in CURVES.items():
        if not args.page and (not args.figures or curve.figure in args.figures):
            for seed in args.seeds:
                measure_curve(name, seed)
    draw_plots()
    PAGE.write_text(format_page())


if __name__ == "__main__":
    main()
