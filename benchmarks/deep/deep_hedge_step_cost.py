"""Measure the cost of a Deep-Hedge step on trees of different sizes, with equal episodes.

    python -m benchmarks.deep.deep_hedge_step_cost
    python -m benchmarks.deep.deep_hedge_step_cost --average-network

Liar's dice with 4, 5 and 6 sides: the last tree has 36 times the nodes of the first. The average
policy is a network (`average_every=0` disables the table). The games take turns in one process, so
that other load affects all of them alike; medians of 7 turns. With `--average-network`: Leduc poker
with the settings of the thesis, without and with an average network, in processor time.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import jax

import counterplay as cp
from benchmarks.timing import first_paragraph, format_head, format_row, time_in_turns
from counterplay.experiment.config import load_config

NUM_STEPS = 100
NUM_TURNS = 7
DICE_SIDES = (4, 5, 6)
CONFIGS = Path(__file__).parents[2] / "configs"


class StepTask:
    """Deep-Hedge on one game; each call does NUM_STEPS steps."""

    def __init__(self, algorithm: Any, tree: Any):
        self.algorithm, self.tree = algorithm, tree
        self.memory = algorithm.init(tree)

    def __call__(self) -> None:
        self.memory = self.algorithm.step(self.tree, self.memory, NUM_STEPS)
        jax.block_until_ready(self.memory.state)


def compare_average_network() -> None:
    """Print the processor time of a step on Leduc poker without and with an average network."""
    config = load_config(CONFIGS / "thesis" / "leduc.json")
    tree = cp.build_tree(config.game)
    with_network = replace(config.algorithm, average_hidden_sizes=config.algorithm.hidden_sizes)
    tasks = [StepTask(algorithm, tree) for algorithm in (config.algorithm, with_network)]
    for task in tasks:
        task()  # compiles
    plain, trained = map(median, time_in_turns(tasks, NUM_TURNS, time.process_time))
    print(format_head(["average", "CPU ms per step", "ratio"]))
    print(format_row(["table", f"{1e3 * plain / NUM_STEPS:.2f}", ""]))
    cost = f"{1e3 * trained / NUM_STEPS:.2f}"
    print(format_row(["table and network", cost, f"{trained / plain:.2f}"]))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--average-network", action="store_true")
    if parser.parse_args().average_network:
        compare_average_network()
    else:
        compare_trees()


def compare_trees() -> None:
    """Print the time of a step on trees of different sizes."""
    algorithm = cp.algorithms.DeepHedge(
        num_traversals=16,
        num_baseline_traversals=16,
        num_baseline_updates=1,
        stratified=False,
        average_every=0,
        average_hidden_sizes=(48, 48),
        augmented_baseline=False,
    )
    trees = [cp.build_tree(cp.load_game("liars_dice", dice_sides=sides)) for sides in DICE_SIDES]
    tasks = [StepTask(algorithm, tree) for tree in trees]
    for task in tasks:
        task()  # compiles
    times = time_in_turns(tasks, NUM_TURNS, time.perf_counter)
    columns = ["sides", "nodes", "infosets", "longest episode", "ms per step"]
    print(format_head([*columns, "us per step and decision"]))
    for sides, tree, turns in zip(DICE_SIDES, trees, times, strict=True):
        seconds = median(turns) / NUM_STEPS
        cells = [sides, f"{tree.num_nodes:,}", f"{tree.num_infosets:,}", tree.max_episode_length]
        per_decision = f"{1e6 * seconds / tree.max_episode_length:.0f}"
        print(format_row([*cells, f"{1e3 * seconds:.2f}", per_decision]))


if __name__ == "__main__":
    main()
