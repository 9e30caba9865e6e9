"""OpenSpiel's Deep CFR in JAX and ours, one after the other in one process, on Leduc poker.

    pip install open_spiel flax chex
    python benchmarks/deep/against_openspiel.py

First the same work: iterations of 1,500 walks per player, networks of 3 x 64 fitted from scratch by
750 steps on 2,048 samples of a reservoir of a million; seconds per iteration over two of them, with
compilation. OpenSpiel's average network, trained once at the end, is left out; ours is trained in
every iteration and counts. Then our defaults, up to an exploitability of 0.15 of the average
network, evaluations left out: OpenSpiel needs about 100 iterations for that (open_spiel#649).
Seconds are those of the clock, and in brackets those that the processor spent in all threads. The
cache of our programs is empty at the start, so that ours compiles as OpenSpiel's does.
"""

from __future__ import annotations

import argparse
import tempfile
import time

import jax

ITERATIONS, WANTED, NEEDED = 2, 0.15, 100
WALKS, STEPS, BATCH, RESERVOIR, UNITS = 1_500, 750, 2_048, 1_000_000, (64, 64, 64)


class Clock:
    """Seconds that pass while it runs."""

    def __init__(self):
        self.wall = self.spent = 0.0

    def __enter__(self):
        self.began = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_):
        self.wall += time.perf_counter() - self.began[0]
        self.spent += time.process_time() - self.began[1]

    def each(self, count=1):
        return f"{self.wall / count:,.2f} s ({self.spent / count:,.2f} s)"


def theirs():
    import pyspiel
    from open_spiel.python.jax.deep_cfr import DeepCFRSolver

    class WithoutAverage(DeepCFRSolver):
        def _learn_strategy_network(self):
            return None

    solver = WithoutAverage(
        pyspiel.load_game("leduc_poker"),
        policy_network_layers=UNITS,
        advantage_network_layers=UNITS,
        num_iterations=ITERATIONS,
        num_traversals=WALKS,
        learning_rate=1e-3,
        batch_size_advantage=BATCH,
        batch_size_strategy=BATCH,
        memory_capacity=RESERVOIR,
        advantage_network_train_steps=STEPS,
    )
    with Clock() as clock:
        solver.solve()
    return clock


def ours(tree):
    from counterplay.algorithms.deep.regret.deep_cfr import DeepCFR

    algorithm = DeepCFR(
        num_traversals=WALKS,
        train_steps=STEPS,
        batch_size=BATCH,
        reservoir_size=RESERVOIR,
        hidden_sizes=UNITS,
        warm_start=False,
    )
    with Clock() as clock:
        memory = algorithm.step(tree, algorithm.init(tree), ITERATIONS)
        jax.block_until_ready(memory.state.nets)
    return clock


def until_wanted(tree, seed):
    from counterplay.algorithms.deep.regret.deep_cfr import DeepCFR
    from counterplay.core.evaluation import exploitability

    algorithm, clock, reached = DeepCFR(), Clock(), 1.0
    memory = algorithm.init(tree, seed)
    while reached > WANTED:
        with clock:
            memory = algorithm.step(tree, memory, 10)
            jax.block_until_ready(memory.state.averages)
        reached = exploitability(tree, algorithm.policies(tree, memory)["network"])
    return memory.iteration, clock, reached


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("--ours", action="store_true", help="leave out OpenSpiel")
    given = parser.parse_args()
    jax.config.update("jax_platforms", "cpu")
    empty = tempfile.TemporaryDirectory()
    jax.config.update("jax_compilation_cache_dir", empty.name)
    from counterplay.arenas.tree.build import build_tree
    from counterplay.registry import load_game

    tree = build_tree(load_game("leduc_poker"))
    own = ours(tree)
    print("ours, an iteration of the same work:", own.each(ITERATIONS), flush=True)
    for seed in given.seeds:
        iterations, clock, reached = until_wanted(tree, seed)
        print(f"ours to {reached:.3f}, seed {seed}: {iterations} iterations, {clock.each()}")
    if given.ours:
        raise SystemExit
    other = theirs()
    print("OpenSpiel's, an iteration of the same work:", other.each(ITERATIONS))
    print(f"times as fast: {other.wall / own.wall:,.0f} ({other.spent / own.spent:,.0f})")
    if given.seeds:
        less = NEEDED * other.wall / ITERATIONS / clock.wall
        print(f"times less than {NEEDED} of its iterations, to {WANTED}: {less:,.0f}")
