"""Run one method on one game with one seed, and keep its curve here.

    python benchmarks/gradients/run.py leduc_poker neurd 0 20000
    python benchmarks/gradients/run.py kuhn_poker "neurd(tau=0.3,tau_end=0.01)" 0 20000
    python benchmarks/gradients/run.py                          the table of all that is here

A curve is <game>.<method>.<seed>.jsonl: the command in the first line, then iteration, seconds of
one core (compilation left out) and the exploitability of every policy the method has.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

import jax

import counterplay as cp

HERE = Path(__file__).parent
POINTS = 20


def run(game: str, spec: str, seed: int, iterations: int) -> None:
    tree, algorithm = cp.build_tree(cp.load_game(game)), cp.load_algorithm(spec)
    memory = algorithm.step(tree, algorithm.init(tree, seed), 1)
    algorithm.policies(tree, memory)
    head = {"game": game, "algorithm": spec, "seed": seed, "iterations": iterations}
    lines, seconds = [head], 0.0
    for point in range(1, POINTS + 1):
        began = time.process_time()
        memory = algorithm.step(tree, memory, iterations * point // POINTS - memory.iteration)
        jax.block_until_ready(memory.state)
        seconds += time.process_time() - began
        policies = algorithm.policies(tree, memory)
        found = {name: cp.exploitability(tree, policy) for name, policy in policies.items()}
        if hasattr(algorithm, "gains"):
            found["gain"], found["best_gain"] = algorithm.gains(tree, memory)
        found = {name: float(f"{e:.4g}") for name, e in found.items()}
        lines.append({"iteration": memory.iteration, "seconds": round(seconds, 1)} | found)
        print(lines[-1], flush=True)
    name = "".join(c if c.isalnum() else "_" for c in f"{spec}").strip("_")
    path = HERE / f"{game}.{name}.{seed}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def table() -> str:
    groups = defaultdict(list)
    for path in sorted(HERE.glob("*.jsonl")):
        head, *records = [json.loads(line) for line in path.read_text().splitlines()]
        groups[head["game"], head["algorithm"]].append(records[-1])
    rows = ["| game | method | seeds | iterations | core s | policy: median (worst) |"]
    rows += ["|---|---|---|---|---|---|"]
    for (game, spec), last in groups.items():
        names = [name for name in last[0] if name not in ("iteration", "seconds")]
        values = {name: [one[name] for one in last] for name in names}
        found = ", ".join(f"{k} {median(v):.4f} ({max(v):.4f})" for k, v in values.items())
        cost = f"{median(one['seconds'] for one in last):.0f}"
        cells = [game, f"`{spec}`", len(last), f"{last[0]['iteration']:,}", cost, found]
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(rows)


if __name__ == "__main__":
    if len(sys.argv) == 5:
        run(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        print(table())
