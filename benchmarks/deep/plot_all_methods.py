"""Plot all deep methods together: exploitability against episodes and against seconds, log-log.

    python -m benchmarks.deep.plot_all_methods

Reads the stored curves of `benchmarks.deep.curves` with the tree's aids and of Deep-Hedge (with
`configs/own`), and saves results/all_methods_kuhn.png and results/all_methods_leduc.png. A line is
the median over seeds of the policy that a method is judged by. A walk of external sampling, which
visits all actions of one player, counts as one episode. Seconds are of one core: those of the
regret methods include compilation and evaluation, the others do not, and those of Deep-Hedge are
wall-clock seconds of a busy machine.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from statistics import median
from typing import Any

from benchmarks.deep.curves import FAMILY as CURVES
from benchmarks.deep.curves import answer_policy
from benchmarks.result_files import RESULTS_FOLDER, Record, Run, load_family
from benchmarks.timing import first_paragraph

TITLE_BY_GAME = {"kuhn": "Kuhn poker", "leduc": "Leduc poker"}
DEEP_HEDGE_RUNS = {"kuhn": "kuhn_2p_own", "leduc": "leduc_own"}
METHODS_BY_COLOR_MAP = {
    "Blues": "deep_cfr sd_cfr dream escher vr_deep_dcfr_plus vr_deep_pdcfr_plus",
    "YlOrRd": "qpg rpg rmpg neurd ach ppo deep_mmd r_nad",
    "Greens": "nfsp nfsp_ppo nfsp_sac",
    "Greys": "deep_hedge",
}
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)), (0, (3, 1)))


def episodes_per_step(run: Run) -> int:
    """Return the episodes of all players in one iteration."""
    spec = run.config["spec"]
    if run.algorithm == "deep_hedge":
        num_baseline = spec["num_baseline_updates"] * spec["num_baseline_traversals"]
        return 2 * (spec["num_traversals"] + num_baseline)
    return 2 * spec["num_traversals"] if "num_traversals" in spec else spec["num_episodes"]


def load_curves(game: str) -> dict[str, list[list[Record]]]:
    """Return by method the curve of each seed: episodes, seconds and exploitability."""
    runs = [run for run in load_family(CURVES) if run.run == f"{run.algorithm}_{game}_aids"]
    runs += [run for run in load_family("deep_hedge") if run.run == DEEP_HEDGE_RUNS[game]]
    curves = defaultdict(list)
    for run in runs:
        policy, num_episodes = answer_policy(run.algorithm, "aids"), episodes_per_step(run)
        curve = [
            {
                "episodes": record["step"] * num_episodes,
                "seconds": record["seconds"],
                "exploitability": record[policy],
            }
            for record in run.records
        ]
        curves[run.algorithm].append(curve)
    return curves


def median_curve(curves: list[list[Record]], along: str) -> tuple[list[float], list[float]]:
    """Return the median over seeds, up to the end of the shortest."""
    rows = list(zip(*curves, strict=False))
    x = [median(record[along] for record in row) for row in rows]
    return x, [median(record["exploitability"] for record in row) for row in rows]


def draw_method(axes: Any, method: str, curves: list[Any], style: Record) -> None:
    """Draw one method against episodes and against seconds."""
    label = f"{method} ({answer_policy(method, 'aids')}, {len(curves)})"
    for axis, along in zip(axes, ("episodes", "seconds"), strict=True):
        x, y = median_curve(curves, along)
        axis.plot(x, y, linewidth=1.5, label=label, **style)
        axis.plot(x[-1:], y[-1:], "o", color=style["color"], markersize=4)


def draw_plot(game: str) -> None:
    """Save the plot of one game."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    curves = load_curves(game)
    figure, axes = pyplot.subplots(1, 2, figsize=(12, 6.2), sharey=True, layout="constrained")
    for color_map, names in METHODS_BY_COLOR_MAP.items():
        methods = [method for method in names.split() if method in curves]
        for number, method in enumerate(methods):
            shade = 0.45 + 0.5 * number / max(len(methods) - 1, 1)
            color = "black" if color_map == "Greys" else matplotlib.colormaps[color_map](shade)
            style = {"color": color, "linestyle": DASHES[number % len(DASHES)]}
            draw_method(axes, method, curves[method], style)
    for axis, label in zip(axes, ("episodes", "seconds of one core"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel=label)
        axis.grid(alpha=0.3, which="both", linewidth=0.5)
        axis.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
        axis.yaxis.set_minor_formatter(ticker.NullFormatter())
    axes[0].set(ylabel="exploitability", xlim=(1e4, None))
    legend = axes[0].get_legend_handles_labels()
    figure.legend(*legend, loc="outside lower center", ncols=5, fontsize=8, frameon=False)
    figure.suptitle(f"{TITLE_BY_GAME[game]}: medians; in brackets the policy and the seeds")
    figure.savefig(RESULTS_FOLDER / f"all_methods_{game}.png", dpi=90)
    pyplot.close(figure)


def main() -> None:
    """Save the plots of all games."""
    argparse.ArgumentParser(description=first_paragraph(__doc__)).parse_args()
    for game in TITLE_BY_GAME:
        draw_plot(game)


if __name__ == "__main__":
    main()
