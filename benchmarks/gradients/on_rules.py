"""An algorithm on rules that are never unrolled, judged on the tree: one line every tenth.

    python benchmarks/gradients/on_rules.py "nfsp(horizon=2000)" kuhn_poker 2000 [SEED]

The tree only judges. Seconds are those of the process, learning and compilation alone; where
somebody responds, `gain` is what all responses gain against the averages, and `best_gain` what best
responses would.
"""

from __future__ import annotations

import json
import sys
import time


def run(method: str, spec: str, iterations: int, seed: int) -> None:
    import jax

    import counterplay as cp
    from counterplay.deep.fictitious import gains

    game, algorithm = cp.load_game(spec), cp.load_algorithm(method)
    tree, arena = cp.build_tree(game), cp.SampledGame(game)
    memory, seconds = algorithm.init(arena, seed), 0.0
    while memory.iteration < iterations:
        began = time.process_time()
        memory = algorithm.step(arena, memory, max(iterations // 10, 1))
        jax.block_until_ready(memory.state)
        seconds += time.process_time() - began
        found = {name: p.on(tree) for name, p in algorithm.policies(arena, memory).items()}
        row = {name: cp.exploitability(tree, policy) for name, policy in found.items()}
        if "response" in found:
            row["gain"], row["best_gain"] = gains(tree, found["network"], found["response"])
        row = {name: float(f"{value:.4g}") for name, value in row.items()}
        count = {"iteration": memory.iteration, "decisions": memory.touched}
        print(json.dumps(count | {"seconds": round(seconds, 1)} | row), flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    run(sys.argv[1], sys.argv[2], int(sys.argv[3]), int((sys.argv[4:] or ["0"])[0]))
