"""Compare Deep CFR with OpenSpiel's in JAX, in one process on Leduc poker.

    pip install open_spiel flax chex
    python -m benchmarks.deep.openspiel_deep_cfr

First the same work: iterations of 1,500 traversals per player, networks of 3 x 64 trained from
scratch by 750 steps on 2,048 samples of a reservoir of a million; seconds per iteration over two of
them, with compilation. OpenSpiel's average network, trained once at the end, is left out; ours is
trained in every iteration and counts. Then our defaults up to an exploitability of 0.15 of the
average network, evaluations left out; OpenSpiel needs about 100 iterations for that
(open_spiel#649). Times are wall-clock seconds, and in brackets processor seconds of all threads.
Our compilation cache is empty at the start, so that both sides compile.
"""

from __future__ import annotations

import argparse
import tempfile
from typing import Any

import jax

from benchmarks.timing import Stopwatch, first_paragraph

NUM_ITERATIONS = 2
TARGET_EXPLOITABILITY, OPENSPIEL_ITERATIONS_TO_TARGET = 0.15, 100
NUM_TRAVERSALS, TRAIN_STEPS, BATCH_SIZE, RESERVOIR_SIZE = 1_500, 750, 2_048, 1_000_000
HIDDEN_SIZES = (64, 64, 64)


def format_times(watch: Stopwatch, count: int = 1) -> str:
    """Return wall-clock and processor seconds, divided by a count."""
    return f"{watch.wall_seconds / count:,.2f} s ({watch.cpu_seconds / count:,.2f} s)"


def time_openspiel() -> Stopwatch:
    """Measure OpenSpiel's iterations."""
    import pyspiel
    from open_spiel.python.jax.deep_cfr import DeepCFRSolver

    class SolverWithoutAverage(DeepCFRSolver):
        def _learn_strategy_network(self) -> None:
            return None

    solver = SolverWithoutAverage(
        pyspiel.load_game("leduc_poker"),
        policy_network_layers=HIDDEN_SIZES,
        advantage_network_layers=HIDDEN_SIZES,
        num_iterations=NUM_ITERATIONS,
        num_traversals=NUM_TRAVERSALS,
        learning_rate=1e-3,
        batch_size_advantage=BATCH_SIZE,
        batch_size_strategy=BATCH_SIZE,
        memory_capacity=RESERVOIR_SIZE,
        advantage_network_train_steps=TRAIN_STEPS,
    )
    with Stopwatch() as watch:
        solver.solve()
    return watch


def time_counterplay(tree: Any) -> Stopwatch:
    """Measure our iterations of the same work."""
    from counterplay.algorithms.deep.regret.deep_cfr import DeepCFR

    algorithm = DeepCFR(
        num_traversals=NUM_TRAVERSALS,
        train_steps=TRAIN_STEPS,
        batch_size=BATCH_SIZE,
        reservoir_size=RESERVOIR_SIZE,
        hidden_sizes=HIDDEN_SIZES,
        warm_start=False,
    )
    with Stopwatch() as watch:
        memory = algorithm.step(tree, algorithm.init(tree), NUM_ITERATIONS)
        jax.block_until_ready(memory.state.nets)
    return watch


def solve_to_target(tree: Any, seed: int) -> tuple[int, Stopwatch, float]:
    """Return the iterations, times and exploitability of our defaults at the target."""
    from counterplay.algorithms.deep.regret.deep_cfr import DeepCFR
    from counterplay.core.evaluation import exploitability

    algorithm, watch, value = DeepCFR(), Stopwatch(), 1.0
    memory = algorithm.init(tree, seed)
    while value > TARGET_EXPLOITABILITY:
        with watch:
            memory = algorithm.step(tree, memory, 10)
            jax.block_until_ready(memory.state.averages)
        value = exploitability(tree, algorithm.policies(tree, memory)["network"])
    return memory.iteration, watch, value


def main() -> None:
    """Print all comparisons."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("--skip-openspiel", action="store_true")
    args = parser.parse_args()
    jax.config.update("jax_platforms", "cpu")
    cache = tempfile.TemporaryDirectory()
    jax.config.update("jax_compilation_cache_dir", cache.name)
    from counterplay.arenas.tree.build import build_tree
    from counterplay.registry import load_game

    tree = build_tree(load_game("leduc_poker"))
    ours = time_counterplay(tree)
    print("Counterplay, one iteration:", format_times(ours, NUM_ITERATIONS), flush=True)
    for seed in args.seeds:
        iterations, watch, value = solve_to_target(tree, seed)
        times = format_times(watch)
        print(f"Counterplay to {value:.3f}, seed {seed}: {iterations} iterations, {times}")
    if args.skip_openspiel:
        return
    theirs = time_openspiel()
    print("OpenSpiel, one iteration:", format_times(theirs, NUM_ITERATIONS))
    wall, cpu = theirs.wall_seconds / ours.wall_seconds, theirs.cpu_seconds / ours.cpu_seconds
    print(f"ratio: {wall:,.0f} ({cpu:,.0f})")
    if args.seeds:
        seconds = OPENSPIEL_ITERATIONS_TO_TARGET * theirs.wall_seconds / NUM_ITERATIONS
        ratio = seconds / watch.wall_seconds
        print(f"ratio to {TARGET_EXPLOITABILITY}, extrapolated from one iteration: {ratio:,.0f}")


if __name__ == "__main__":
    main()
