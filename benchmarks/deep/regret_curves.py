"""Run configs of deep regret methods, store their curves, and print the table and the plots.

    python -m benchmarks.deep.regret_curves configs/deep/*_kuhn.json --seeds 0 1 2
    python -m benchmarks.deep.regret_curves           # table and plots of the stored curves

Curves are in results/deep_regret.jsonl: at each evaluation the iteration, nodes touched (with
chance nodes, and without them as DREAM's authors count), the exact exploitability of every policy,
and processor seconds with evaluation and compilation. Plots are results/deep_regret_<game>.png:
exploitability against nodes and seconds, thin lines for seeds, thick lines for their medians.
"""

from __future__ import annotations

import argparse
import re
import time
from math import inf
from pathlib import Path
from statistics import mean, median
from typing import Any

from benchmarks.result_files import (
    RESULTS_FOLDER,
    Record,
    Run,
    group_by_name,
    load_family,
    save_run,
)
from benchmarks.timing import first_paragraph, format_head, format_row

FAMILY = "deep_regret"
METHOD_PREFIX = re.compile("^(deep_cfr|sd_cfr|dream|escher|vr_deep_p?dcfr_plus)_")
POLICIES = ("average", "network", "ensemble", "current")


def measure_run(path: Path, seed: int, max_seconds: float) -> None:
    """Run a config with one seed and store its curve."""
    from counterplay.arenas.tree.build import build_tree
    from counterplay.core.evaluation import exploitability
    from counterplay.experiment.config import load_config

    config = load_config(path)
    tree, algorithm = build_tree(config.game), config.algorithm
    start, memory = time.process_time(), algorithm.init(tree, seed)
    records: list[Record] = []
    name = config.to_json()["algorithm"]
    while memory.iteration < config.max_steps:
        count = min(config.evaluate_every, config.max_steps - memory.iteration)
        memory = algorithm.step(tree, memory, count)
        touched, without_chance = map(int, memory.state.sampler.nodes_touched)
        record: Record = {"step": memory.iteration, "nodes_touched": touched}
        record["nodes_without_chance"] = without_chance
        for policy_name, policy in algorithm.policies(tree, memory).items():
            record[policy_name] = float(f"{exploitability(tree, policy):.5g}")
        record["seconds"] = round(time.process_time() - start, 1)
        records.append(record)
        run = Run(config.name, name, tree.spec, seed, records, config.to_json())
        save_run(FAMILY, run)
        if record["seconds"] > max_seconds:
            break


def evaluation_policy(name: str) -> str:
    """Return the policy that a method is evaluated by."""
    return "network" if name.startswith(("deep_cfr", "vr_")) else "average"


def game_name(name: str) -> str:
    """Return the part of a config's name that follows the method."""
    return METHOD_PREFIX.sub("", name)


def format_table(groups: dict[str, list[Run]]) -> str:
    """Return one row per config: medians over seeds of the last value, and the worst seed."""
    columns = ["run", "seeds", "iterations", "nodes", "nodes without chance", "result"]
    columns += ["worst seed", "mean of last tenth", *POLICIES, "seconds"]
    rows = [format_head(columns)]
    for name, runs in groups.items():
        policy, last = evaluation_policy(name), [run.last for run in runs]
        tenths = [mean(run.column(policy)[-max(1, len(run.records) // 10) :]) for run in runs]
        steps = sorted({record["step"] for record in last})
        cells = [name, len(runs), " and ".join(f"{step:,}" for step in steps)]
        for count in ("nodes_touched", "nodes_without_chance"):
            cells.append(f"{median(record[count] for record in last):.1e}")
        values = [record[policy] for record in last]
        cells += [f"{x:.4f}" for x in (median(values), max(values), median(tenths))]
        for other in POLICIES:
            has_policy = other in last[0]
            cells.append(f"{median(record[other] for record in last):.4f}" if has_policy else "")
        cells.append(f"{median(record['seconds'] for record in last):,.0f}")
        rows.append(format_row(cells))
    return "\n".join(rows)


def draw_axis(axis: Any, along: str, groups: dict[str, list[Run]]) -> None:
    """Draw the seeds and the medians of all runs on one game."""
    from matplotlib import ticker

    for number, (name, runs) in enumerate(groups.items()):
        policy, color = evaluation_policy(name), f"C{number}"
        for run in runs:
            columns = run.column(along), run.column(policy)
            axis.plot(*columns, alpha=0.3, linewidth=0.8, color=color)
        num_shared = min(len(run.records) for run in runs)
        medians = [
            [median(run.records[n][key] for run in runs) for n in range(num_shared)]
            for key in (along, policy)
        ]
        label = f"{METHOD_PREFIX.match(name)[1]} ({policy}, {len(runs)})"  # type: ignore[index]
        axis.plot(*medians, linewidth=1.8, label=label, color=color)
    axis.set(xscale="log", yscale="log", xlabel=along.replace("_", " "))
    axis.grid(alpha=0.3, which="both", linewidth=0.5)
    axis.xaxis.set_minor_formatter(ticker.NullFormatter())
    axis.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
    axis.yaxis.set_minor_formatter(ticker.NullFormatter())


def draw_plots(groups: dict[str, list[Run]]) -> None:
    """Save one plot per game."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    for game in sorted({game_name(name) for name in groups}):
        figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
        on_game = {name: runs for name, runs in groups.items() if game_name(name) == game}
        for axis, along in zip(axes, ("nodes_touched", "seconds"), strict=True):
            draw_axis(axis, along, on_game)
        axes[0].set_ylabel("exploitability")
        legend = axes[0].get_legend_handles_labels()
        figure.legend(*legend, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
        figure.suptitle(f"{game}: thick lines are medians over seeds, whose number is in brackets")
        figure.savefig(RESULTS_FOLDER / f"{FAMILY}_{game}.png", dpi=110)
        pyplot.close(figure)


def main() -> None:
    """Run configs, then draw and print all stored curves."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("configs", nargs="*", type=Path)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--seconds", type=float, default=inf, help="stop a run after this time")
    args = parser.parse_args()
    for seed in args.seeds:
        for path in args.configs:
            measure_run(path, seed, args.seconds)
    groups = group_by_name(load_family(FAMILY))
    draw_plots(groups)
    print(format_table(groups))


if __name__ == "__main__":
    main()
