"""The same algorithm on rules that are never unrolled and on the tree: a line every fifth of a run.

    python benchmarks/gradients/on_rules.py "nfsp(schedule_iterations=2000)" kuhn_poker 2000 [SEED]

Both are judged on the tree. Seconds are those of the process, learning and compilation alone; where
somebody responds, `gain` is what all responses gain against the averages, and `best_gain` what best
responses would.
"""

from __future__ import annotations

import json
import sys
import time


def run(method: str, spec: str, iterations: int, seed: int) -> None:
    import counterplay as cp

    game = cp.load_game(spec)
    tree = cp.build_tree(game)
    for name, arena in (("rules", cp.RulesArena(game)), ("tree", tree)):
        for row in course(cp.load_algorithm(method), arena, tree, iterations, seed):
            print(json.dumps({"arena": name} | row), flush=True)


def course(algorithm, arena, tree, iterations, seed):
    import jax

    import counterplay as cp
    from counterplay.algorithms.deep.nfsp.base import response_gains

    memory, seconds = algorithm.init(arena, seed), 0.0
    while memory.iteration < iterations:
        began = time.process_time()
        memory = algorithm.step(arena, memory, max(iterations // 5, 1))
        jax.block_until_ready(memory.state)
        seconds += time.process_time() - began
        found = algorithm.policies(arena, memory)
        found = {name: p if arena is tree else p.tabulate(tree) for name, p in found.items()}
        row = {name: cp.exploitability(tree, policy) for name, policy in found.items()}
        if "response" in found:
            row["gain"], row["best_gain"] = response_gains(
                tree, found["network"], found["response"]
            )
        row = {name: float(f"{value:.4g}") for name, value in row.items()}
        yield {"iteration": memory.iteration, "seconds": round(seconds, 1)} | row


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    run(sys.argv[1], sys.argv[2], int(sys.argv[3]), int((sys.argv[4:] or ["0"])[0]))
