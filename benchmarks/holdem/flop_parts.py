"""Switch parts of networks on hold'em to their exact counterparts, one at a time.

    python -m benchmarks.holdem.flop_parts run --seed 0
    python -m benchmarks.holdem.flop_parts table

The game has seven ranks. `plain` are the settings of the other runs on it; each variant differs in
one thing (or in those that it names):

- `all_boards`: no sampling, every iteration walks all boards;
- `table`: no approximation, the outputs of each row are numbers of their own. Rows learn where
  their board is sampled only;
- `whole_average`: every iteration adds the network's policy on all boards to the average;
- `no_discount`, `linear_cfr`: other discounts, in place of those of discounted CFR;
- `wide`: 768 features of the trunk in place of 192;
- `random_trunk`: the trunk keeps its random weights;
- `no_strength`: inputs without the strength of hands.

Rows go to `benchmarks/results/flop_parts.jsonl`; variants with rows are not run again.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import counterplay as cp
from benchmarks.result_files import load_rows, replace_row
from benchmarks.timing import Stopwatch, first_paragraph, format_head, format_row, peak_memory_mib
from counterplay.algorithms.deep.common.public_chance import (
    PublicChanceMemory,
    RidgeFit,
    Workspace,
    set_features,
)
from counterplay.algorithms.deep.regret.public_chance_deep_cfr import PublicChanceDeepCFR
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.public_chance import BoardSample, LineTable
from counterplay.core.settings import settings

FAMILY = "flop_parts"
GAME = (
    "custom_holdem(num_ranks=7,board_cards=(0,3),blinds=(50,100),stacks=(100000,100000),"
    "betting=limit,sizes='100,100',max_bets=(3,4))"
)
NUM_BOARDS = 266
CHIPS_PER_MBB = 0.1
EVALUATIONS = 40, 120
PLAIN: dict[str, Any] = {
    "hidden_sizes": (192, 192), "num_boards": 40, "trunk_boards": 96, "trunk_iterations": 25,
    "train_steps": 800, "batch_size": 512,
}  # fmt: skip


class TableFit(RidgeFit):
    """A regression with one feature for each row: exact at the sampled rows, zero elsewhere."""

    def __init__(self, workspace: Workspace, sample: BoardSample):
        self.rows, self.num_rows = sample.row, workspace.rows.num_rows

    def outputs(self, head: LineTable) -> LineTable:
        """Return the numbers [C, n] of the sampled rows."""
        return head[:, self.rows]

    def solve(self, target: LineTable) -> LineTable:
        """Return the table [C, R] with the targets [C, n]."""
        table = np.zeros((len(target), self.num_rows), np.float32)
        table[:, self.rows] = target
        return table


@settings(kw_only=True)
class TableDeepCFR(PublicChanceDeepCFR):
    """The method with a table of all rows in place of a head."""

    def init(self, arena: Any, seed: int = 0) -> PublicChanceMemory:
        """Return the memory before the first iteration."""
        memory = super().init(arena, seed)
        memory.head = np.zeros((len(memory.head), memory.second_sum.shape[1]), np.float32)
        return memory

    def make_fit(self, workspace: Workspace, sample: BoardSample) -> RidgeFit:
        """Return the exact fit."""
        return TableFit(workspace, sample)

    def outputs_of_all_rows(self, workspace: Workspace, trunk: Any, head: LineTable) -> LineTable:
        """Return the table."""
        return head


@settings(kw_only=True)
class WholeAverageDeepCFR(PublicChanceDeepCFR):
    """The method with averages over all boards in each iteration."""

    def add_to_averages(
        self, workspace: Workspace, memory: PublicChanceMemory, t: int, player: int,
        policies: tuple[LineTable, LineTable], sample: BoardSample,
    ) -> None:  # fmt: skip
        """Add a player's policy on all boards to the sums."""
        sampler = workspace.sampler
        boards = np.arange(sampler.board_weight.size)
        everything = sampler.sample(boards, np.ones(boards.size))
        set_features(workspace, memory.trunk)
        outputs = self.outputs_of_all_rows(workspace, memory.trunk, memory.head)
        whole = self.policy_of(sampler, outputs, sampler.second_round)
        super().add_to_averages(workspace, memory, t, player, (policies[0], whole), everything)


VARIANTS: dict[str, PublicChanceDeepCFR] = {
    "plain": PublicChanceDeepCFR(**PLAIN),
    "all_boards": PublicChanceDeepCFR(**PLAIN | {"num_boards": NUM_BOARDS}),
    "table": TableDeepCFR(**PLAIN),
    "table, all_boards": TableDeepCFR(**PLAIN | {"num_boards": NUM_BOARDS}),
    "whole_average": WholeAverageDeepCFR(**PLAIN),
    "no_discount": PublicChanceDeepCFR(**PLAIN, alpha=100.0, beta=100.0),
    "linear_cfr": PublicChanceDeepCFR(**PLAIN, alpha=1.0, beta=1.0),
    "wide": PublicChanceDeepCFR(**PLAIN | {"hidden_sizes": (192, 768)}),
    "random_trunk": PublicChanceDeepCFR(**PLAIN | {"train_steps": 0}),
    "no_strength": PublicChanceDeepCFR(**PLAIN, strength_features=False),
}


def run_variant(name: str, seed: int) -> None:
    """Train and judge a variant, and store its rows."""
    algorithm = VARIANTS[name]
    arena: Any = HoldemGameArena(cp.load_game(GAME))
    with Stopwatch() as watch:
        memory = algorithm.init(arena, seed)
    for goal in EVALUATIONS:
        with watch:
            memory = algorithm.step(arena, memory, goal - memory.iteration)
        row: dict[str, Any] = {"variant": name, "seed": seed, "iteration": goal}
        policies = algorithm.policies(arena, memory)
        for policy in ("current", "average", "network"):
            if policy == "network" and goal < EVALUATIONS[-1]:
                row[policy] = None  # fitted after the last iteration
                continue
            exploitability = cp.judge(arena, policies[policy]).exploitability
            row[policy] = round(exploitability / CHIPS_PER_MBB, 1)
        row["cpu_seconds"] = round(watch.cpu_seconds, 1)
        row["peak_mib"] = round(peak_memory_mib())
        replace_row(FAMILY, row, ("variant", "seed", "iteration"))
        print(row, flush=True)


def print_table() -> None:
    """Print the stored rows."""
    columns = ["variant", "seed", "iterations", "current", "average", "network", "CPU s"]
    print(format_head(columns))
    for row in load_rows(FAMILY):
        figures = ["" if row[n] is None else row[n] for n in ("current", "average", "network")]
        cells = [row["variant"], row["seed"], row["iteration"], *figures]
        print(format_row([*cells, f"{row['cpu_seconds']:.0f}"]))


def main() -> None:
    """Run the variants without rows, or print what is stored."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("command", choices=("run", "table"))
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--seed", type=int, nargs="+", default=[0])
    args = parser.parse_args()
    if args.command == "table":
        print_table()
        return
    done = {(row["variant"], row["seed"], row["iteration"]) for row in load_rows(FAMILY)}
    for seed in args.seed:
        for name in args.variants:
            if (name, seed, EVALUATIONS[-1]) not in done:
                run_variant(name, seed)


if __name__ == "__main__":
    main()
