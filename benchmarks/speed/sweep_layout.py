"""Compare layouts of the sequence form by the time of an iteration of CFR.

    python -m benchmarks.speed.sweep_layout

The layouts take turns in one process; the figures are medians of processor time. `rows` has one
payoff row per sequence and infosets in the order of the tree, `groups` sorts the infosets of a
level by their number of actions, and `tiles` also collects payoffs in dense tiles.
"""

from __future__ import annotations

import copy
from functools import partial
from statistics import median
from typing import Any

import numpy as np

import counterplay as cp
from benchmarks.timing import format_head, format_row, time_in_turns
from counterplay.arenas.tree.payoff_tiles import find_payoff_tiles
from counterplay.core.arena import SweepForm, group_infosets
from counterplay.kernels.sequence_form import sweeps

NUM_TURNS = 11
ITERATIONS_BY_GAME = {
    "kuhn_poker": 20_000,
    "leduc_poker": 300,
    "liars_dice": 10,
    "goofspiel": 60,
    "kuhn_poker(players=3)": 3_000,
}


def iterate(form: SweepForm, tiny: Any, memory: Any, count: int) -> None:
    """Run iterations of CFR on a layout."""
    factors = (np.tile([1.0, 1.0, 0.0], (count, 1)), tiny)
    arrays = (memory.reach, memory.cf_value, memory.regret, memory.policy, memory.policy_sum)
    sweeps.alternate_matching(form, factors, np.ones((count, 1)), *arrays)


def main() -> None:
    """Print a row per game."""
    columns = ["game", "rows", "groups", "tiles", "groups / rows", "tiles / rows", "tiles", "bits"]
    print(format_head(columns))
    for spec, count in ITERATIONS_BY_GAME.items():
        tree = cp.build_tree(spec)
        groups = group_infosets(tree.form, tree.level_blocks[:, 2:])
        forms = [group_infosets(tree.form), groups, find_payoff_tiles(groups)]
        start = cp.algorithms.CFR().init(tree)
        memories = [copy.deepcopy(start) for _ in forms]
        works = [
            partial(iterate, form, tree.value_tolerance, memory, count)
            for form, memory in zip(forms, memories, strict=True)
        ]
        for work in works:
            work()
        times = [median(part) / count / 1e-6 for part in time_in_turns(works, NUM_TURNS)]
        is_same = all((memory.regret == memories[0].regret).all() for memory in memories)
        cells = [f"{seconds:.3g} us" for seconds in times]
        ratios = [f"{seconds / times[0]:.2f}" for seconds in times[1:]]
        num_tiles = f"{forms[2].tile_matrix.size:,}"
        print(format_row([f"`{spec}`", *cells, *ratios, num_tiles, "same" if is_same else "other"]))


if __name__ == "__main__":
    main()
