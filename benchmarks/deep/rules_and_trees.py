"""Run one algorithm on a game's rules and on its tree, and compare the two curves.

    python -m benchmarks.deep.rules_and_trees "nfsp(schedule_iterations=2000)" kuhn_poker 2000
    python -m benchmarks.deep.rules_and_trees nfsp leduc_poker 40 --cost

Prints a line of JSON after each fifth of a run. Both are evaluated on the tree. Seconds are
processor time of learning and compilation. With `--cost` it prints the processor time of an
iteration on each arena, after `WARM_UP` iterations that compile. In fictitious self-play, `gain` is
the sum of the learned responses' gains against the average policies, and `best_gain` that of exact
best responses.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from benchmarks.timing import Stopwatch, first_paragraph

WARM_UP = 4  # iterations


def measure_curve(
    algorithm: Any, arena: Any, tree: Any, num_iterations: int, seed: int
) -> Iterator[dict[str, float]]:
    """Yield the exploitability of all policies after each fifth of a run."""
    import jax

    import counterplay as cp
    from counterplay.algorithms.deep.nfsp.base import response_gains

    memory, watch = algorithm.init(arena, seed), Stopwatch()
    while memory.iteration < num_iterations:
        with watch:
            memory = algorithm.step(arena, memory, max(num_iterations // 5, 1))
            jax.block_until_ready(memory.state)
        policies = algorithm.policies(arena, memory)
        if arena is not tree:
            policies = {name: policy.tabulate(tree) for name, policy in policies.items()}
        row = {name: cp.exploitability(tree, policy) for name, policy in policies.items()}
        if "response" in policies:
            gains = response_gains(tree, policies["network"], policies["response"])
            row["gain"], row["best_gain"] = gains
        row = {name: float(f"{value:.4g}") for name, value in row.items()}
        yield {"step": memory.iteration, "seconds": round(watch.cpu_seconds, 1)} | row


def measure_cost(algorithm: Any, arena: Any, num_iterations: int) -> float:
    """Return the milliseconds of processor time of an iteration once programs are compiled."""
    import jax

    memory, watch = algorithm.step(arena, algorithm.init(arena, 0), WARM_UP), Stopwatch()
    jax.block_until_ready(memory.state)
    with watch:
        memory = algorithm.step(arena, memory, num_iterations)
        jax.block_until_ready(memory.state)
    return 1000.0 * watch.cpu_seconds / num_iterations


def main() -> None:
    """Print the curve on the rules, then that on the tree; or the cost of an iteration."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("algorithm")
    parser.add_argument("game")
    parser.add_argument("iterations", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cost", action="store_true", help="print milliseconds per iteration")
    args = parser.parse_args()
    import counterplay as cp

    game = cp.load_game(args.game)
    tree = cp.build_tree(game)
    for name, arena in (("rules", cp.RulesArena(game)), ("tree", tree)):
        algorithm = cp.load_algorithm(args.algorithm)
        if args.cost:
            milliseconds = measure_cost(algorithm, arena, args.iterations)
            print(json.dumps({"arena": name, "milliseconds": round(milliseconds, 1)}), flush=True)
            continue
        for row in measure_curve(algorithm, arena, tree, args.iterations, args.seed):
            print(json.dumps({"arena": name} | row), flush=True)


if __name__ == "__main__":
    main()
