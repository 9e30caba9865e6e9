"""Run configs of deep regret methods, keep what was measured here, and print the table.

    python benchmarks/deep/run.py configs/deep/*_kuhn.json --seeds 0 1 2
    python benchmarks/deep/run.py                  # the table of what is here, and the plots

Every run becomes <name>.<seed>.jsonl: the config, then for each evaluation the iteration, nodes
touched (chance included, and without it, as DREAM's authors count), exact exploitability of every
policy, and seconds of one core, the evaluations and compilation included. Every game becomes
<game>.png: the answers' exploitability against nodes and seconds, seeds as thin lines and their
median as a thick one.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import defaultdict
from math import inf
from pathlib import Path
from statistics import mean, median

HERE = Path(__file__).parent


def run(path: Path, seed: int, most: float) -> None:
    from counterplay.arenas.tree.build import build_tree
    from counterplay.core.evaluation import exploitability
    from counterplay.experiment.config import load_config

    config = load_config(path)
    tree, algorithm = build_tree(config.game), config.algorithm
    began, memory = time.process_time(), algorithm.init(tree, seed)
    lines = [json.dumps({"config": config.to_json()})]
    while memory.iteration < config.max_steps:
        count = min(config.evaluate_every, config.max_steps - memory.iteration)
        memory = algorithm.step(tree, memory, count)
        touched, chosen = map(int, memory.state.sampler.nodes_touched)
        record = {"step": memory.iteration, "touched": touched, "without_chance": chosen}
        for name, policy in algorithm.policies(tree, memory).items():
            record[name] = float(f"{exploitability(tree, policy):.5g}")
        record["seconds"] = round(time.process_time() - began, 1)
        lines.append(json.dumps(record))
        (HERE / f"{config.name}.{seed}.jsonl").write_text("\n".join(lines) + "\n")
        if record["seconds"] > most:
            break


def runs_here() -> dict[str, list[list[dict]]]:
    """The records of every seed, by config."""
    groups = defaultdict(list)
    for path in sorted(HERE.glob("*.jsonl")):
        head, *records = [json.loads(line) for line in path.read_text().splitlines()]
        if "config" in head:
            groups[path.name.split(".")[0]].append(records)
    return groups


def table(groups: dict[str, list[list[dict]]]) -> str:
    """One row per config: medians over seeds of the last value, and the answer's worst seed."""
    head = ["run", "seeds", "iterations", "nodes", "without chance", "answer", "worst seed"]
    head += ["last tenth", "average", "network", "ensemble", "current", "seconds"]
    rows = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name, runs in groups.items():
        answer, last = answer_of(name), [records[-1] for records in runs]
        tenth = [mean(r[answer] for r in rs[-max(1, len(rs) // 10) :]) for rs in runs]
        steps = sorted({r["step"] for r in last})
        cells = [name, len(runs), " and ".join(f"{step:,}" for step in steps)]
        for count in ("touched", "without_chance"):
            known = [r[count] for r in last if count in r]
            cells.append(f"{median(known):.1e}" if known else "")
        found = [r[answer] for r in last]
        cells += [f"{x:.4f}" for x in (median(found), max(found), median(tenth))]
        for policy in ("average", "network", "ensemble", "current"):
            known = policy in last[0]
            cells.append(f"{median(r[policy] for r in last):.4f}" if known else "")
        cells.append(f"{median(r['seconds'] for r in last):,.0f}")
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(rows)


def answer_of(name: str) -> str:
    """The policy that a method is judged by."""
    return "network" if name.startswith(("deep_cfr", "vr_")) else "average"


def game_of(name: str) -> str:
    """What follows the method in the name of a run."""
    return re.sub("^(deep_cfr|sd_cfr|dream|escher|vr_deep_p?dcfr_plus)_", "", name)


def plot(groups: dict[str, list[list[dict]]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    games = sorted({game_of(name) for name in groups})
    for game in games:
        figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
        for x, (axis, label) in enumerate(zip(axes, ("nodes touched", "seconds"), strict=True)):
            along = ("touched", "seconds")[x]
            chosen = {name: runs for name, runs in groups.items() if game_of(name) == game}
            for colour, (name, runs) in enumerate(chosen.items()):
                policy, style = answer_of(name), {"color": f"C{colour}"}
                for records in runs:
                    axis.plot(*columns(records, along, policy), alpha=0.3, linewidth=0.8, **style)
                shared = min(map(len, runs))
                middle = [
                    {key: median(run[n][key] for run in runs) for key in (along, policy)}
                    for n in range(shared)
                ]
                label_of = f"{name.removesuffix('_' + game)} ({policy}, {len(runs)})"
                axis.plot(*columns(middle, along, policy), linewidth=1.8, label=label_of, **style)
            axis.set(xscale="log", yscale="log", xlabel=label)
            axis.grid(alpha=0.3, which="both", linewidth=0.5)
            axis.xaxis.set_minor_formatter(ticker.NullFormatter())
            axis.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
            axis.yaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
            axis.yaxis.set_minor_formatter(ticker.NullFormatter())
        axes[0].set_ylabel("exploitability")
        shown = axes[0].get_legend_handles_labels()
        figure.legend(*shown, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
        figure.suptitle(f"{game}: thick lines are medians over seeds, whose number is in brackets")
        figure.savefig(HERE / f"{game}.png", dpi=110)
        pyplot.close(figure)


def columns(records: list[dict], *names: str) -> list[list[float]]:
    return [[record[name] for record in records] for name in names]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("configs", nargs="*", type=Path)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--seconds", type=float, default=inf, help="stop a run after so many")
    given = parser.parse_args()
    for seed in given.seeds:
        for path in given.configs:
            run(path, seed, given.seconds)
    here = runs_here()
    plot(here)
    print(table(here))
