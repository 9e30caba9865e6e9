"""Run configs of policy gradients and fictitious self-play, store their curves, print the table.

    python -m benchmarks.deep.gradient_curves configs/gradients/*_kuhn.json --seeds 0 1 2
    python -m benchmarks.deep.gradient_curves              # the table of the stored curves

Curves are in results/policy_gradients.jsonl: the iteration, seconds of one core without compilation
and evaluation, and the exact exploitability of every policy. In fictitious self-play, `gain` is the
sum of the learned responses' gains against the average policies, and `best_gain` that of exact best
responses (NashConv).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median

from benchmarks.result_files import Record, Run, group_by_name, load_family, save_run
from benchmarks.timing import Stopwatch, first_paragraph, format_head, format_row

FAMILY = "policy_gradients"
OTHER_COLUMNS = ("step", "seconds", "gain", "best_gain")  # all others are policies


def measure_run(path: Path, seed: int) -> None:
    """Run a config with one seed and store its curve."""
    import jax

    import counterplay as cp
    from counterplay.experiment.config import load_config

    config = load_config(path)
    tree, algorithm = cp.build_tree(config.game), config.algorithm
    memory = algorithm.step(tree, algorithm.init(tree, seed), 1)
    algorithm.policies(tree, memory)  # compiles
    records: list[Record] = []
    watch = Stopwatch()
    name = config.to_json()["algorithm"]
    while memory.iteration < config.max_steps:
        goal = (memory.iteration // config.evaluate_every + 1) * config.evaluate_every
        with watch:
            memory = algorithm.step(tree, memory, min(goal, config.max_steps) - memory.iteration)
            jax.block_until_ready(memory.state)
        policies = algorithm.policies(tree, memory)
        values = {name: cp.exploitability(tree, policy) for name, policy in policies.items()}
        if hasattr(algorithm, "gains"):
            values["gain"], values["best_gain"] = algorithm.gains(tree, memory)
        record: Record = {"step": memory.iteration, "seconds": round(watch.cpu_seconds, 1)}
        records.append(record | {key: float(f"{value:.4g}") for key, value in values.items()})
        print(config.name, seed, records[-1], flush=True)
        save_run(FAMILY, Run(config.name, name, tree.spec, seed, records, config.to_json()))


def format_table(groups: dict[str, list[Run]]) -> str:
    """Return one row per config: medians over seeds of the last values, and the worst seed."""
    columns = ["config", "seeds", "iterations", "core s", "policy: median (worst)", "gain found"]
    rows = [format_head(columns)]
    for name, runs in groups.items():
        last = [run.last for run in runs]
        policies = [key for key in last[0] if key not in OTHER_COLUMNS]
        values = {key: [record[key] for record in last] for key in policies}
        cells = ", ".join(f"{k} {median(v):.4f} ({max(v):.4f})" for k, v in values.items())
        gain = ""
        if "gain" in last[0]:
            gain = f"{median(record['gain'] / record['best_gain'] for record in last):.0%}"
        seconds = f"{median(record['seconds'] for record in last):.0f}"
        steps = f"{last[0]['step']:,}"
        rows.append(format_row([f"`{name}`", len(last), steps, seconds, cells, gain]))
    return "\n".join(rows)


def main() -> None:
    """Run configs, then print the table of all stored curves."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("configs", nargs="*", type=Path)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    args = parser.parse_args()
    for seed in args.seeds:
        for path in args.configs:
            measure_run(path, seed)
    print(format_table(group_by_name(load_family(FAMILY))))


if __name__ == "__main__":
    main()
