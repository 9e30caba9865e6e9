"""Run configs of deep regret methods, keep what was measured here, and print the table.

    python benchmarks/deep/run.py configs/deep/*_kuhn.json --seeds 0 1 2
    python benchmarks/deep/run.py                             # the table of what is here

Every run becomes <name>.<seed>.jsonl: the config, then for each evaluation the iteration, nodes
touched (chance included), exact exploitability of every policy, and seconds of one core, the
evaluations and compilation included.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path
from statistics import mean, median

HERE = Path(__file__).parent


def run(path: Path, seed: int) -> None:
    from counterplay.evaluate import exploitability
    from counterplay.experiment.config import load_config
    from counterplay.tree.unrolling import build_tree

    config = load_config(path)
    tree, algorithm = build_tree(config.game), config.algorithm
    began, memory = time.process_time(), algorithm.init(tree, seed)
    lines = [json.dumps({"config": config.to_json()})]
    while memory.iteration < config.max_steps:
        count = min(config.evaluate_every, config.max_steps - memory.iteration)
        memory = algorithm.step(tree, memory, count)
        touched, chosen = map(int, memory.state.walks.touched)
        record = {"step": memory.iteration, "touched": touched, "without_chance": chosen}
        for name, policy in algorithm.policies(tree, memory).items():
            record[name] = float(f"{exploitability(tree, policy):.5g}")
        record["seconds"] = round(time.process_time() - began, 1)
        lines.append(json.dumps(record))
        (HERE / f"{config.name}.{seed}.jsonl").write_text("\n".join(lines) + "\n")


def table() -> str:
    """One row per config: medians over seeds of the last value, and the worst seed."""
    groups = defaultdict(list)
    for path in sorted(HERE.glob("*.jsonl")):
        head, *records = [json.loads(line) for line in path.read_text().splitlines()]
        if "config" in head:
            groups[path.name.split(".")[0]].append(records)
    head = ["run", "seeds", "iterations", "nodes", "average", "worst seed", "last tenth"]
    head += ["network", "ensemble", "current", "seconds"]
    rows = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name, runs in groups.items():
        last = [records[-1] for records in runs]
        tenth = [mean(r["average"] for r in rs[-max(1, len(rs) // 10) :]) for rs in runs]
        steps = sorted({f"{r['step']:,}" for r in last})
        cells = [name, len(runs), " and ".join(steps), f"{last[0]['touched']:.1e}"]
        average = [r["average"] for r in last]
        cells += [f"{x:.4f}" for x in (median(average), max(average), median(tenth))]
        for policy in ("network", "ensemble", "current"):
            known = policy in last[0]
            cells.append(f"{median(r[policy] for r in last):.4f}" if known else "")
        cells.append(f"{median(r['seconds'] for r in last):,.0f}")
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
