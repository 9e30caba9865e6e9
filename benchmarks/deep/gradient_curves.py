"""Run configs of policy gradients and of fictitious self-play, keep the curves, print the table.

    python benchmarks/gradients/run.py configs/gradients/*_kuhn.json --seeds 0 1 2
    python benchmarks/gradients/run.py                           # the table of what is here

A curve is <config>.<seed>.jsonl: the config in the first line, then iteration, seconds of one core
(compilation and judging left out) and the exploitability of every policy the method has. Where
somebody responds, `gain` is what all responses gain against the averages, and `best_gain` what best
responses would.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent
NO_POLICY = ("iteration", "seconds", "gain", "best_gain")


def run(path: Path, seed: int) -> None:
    import jax

    import counterplay as cp
    from counterplay.experiment.config import load_config

    config = load_config(path)
    tree, algorithm = cp.build_tree(config.game), config.algorithm
    memory = algorithm.step(tree, algorithm.init(tree, seed), 1)
    algorithm.policies(tree, memory)
    lines, seconds = [{"config": config.to_json()}], 0.0
    while memory.iteration < config.max_steps:
        goal = (memory.iteration // config.evaluate_every + 1) * config.evaluate_every
        began = time.process_time()
        memory = algorithm.step(tree, memory, min(goal, config.max_steps) - memory.iteration)
        jax.block_until_ready(memory.state)
        seconds += time.process_time() - began
        policies = algorithm.policies(tree, memory)
        found = {name: cp.exploitability(tree, policy) for name, policy in policies.items()}
        if hasattr(algorithm, "gains"):
            found["gain"], found["best_gain"] = algorithm.gains(tree, memory)
        found = {name: float(f"{e:.4g}") for name, e in found.items()}
        lines.append({"iteration": memory.iteration, "seconds": round(seconds, 1)} | found)
        print(config.name, seed, lines[-1], flush=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (HERE / f"{config.name}.{seed}.jsonl").write_text(text)


def table() -> str:
    """One row per config: medians over seeds of the last values, and the worst seed."""
    groups = defaultdict(list)
    for path in sorted(HERE.glob("*.jsonl")):
        _, *records = [json.loads(line) for line in path.read_text().splitlines()]
        groups[path.name.split(".")[0]].append(records[-1])
    rows = ["| config | seeds | iterations | core s | policy: median (worst) | gain found |"]
    rows += ["|---|---|---|---|---|---|"]
    for name, last in groups.items():
        values = {k: [one[k] for one in last] for k in last[0] if k not in NO_POLICY}
        found = ", ".join(f"{k} {median(v):.4f} ({max(v):.4f})" for k, v in values.items())
        part = ""
        if "gain" in last[0]:
            part = f"{median(one['gain'] / one['best_gain'] for one in last):.0%}"
        cost = f"{median(one['seconds'] for one in last):.0f}"
        cells = [f"`{name}`", len(last), f"{last[0]['iteration']:,}", cost, found, part]
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("configs", nargs="*", type=Path)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    given = parser.parse_args()
    for seed in given.seeds:
        for path in given.configs:
            run(path, seed)
    print(table())
