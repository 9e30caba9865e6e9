"""Depth-limited and nested solving of Leduc poker as vectors, judged exactly.

    python -m benchmarks.search.depth_limited_holdem

From blueprints of 10, 100 and 1,000 iterations of CFR+: the first street is solved up to the
second, where the opponent chooses among continuations; and both streets are solved in turn.
"""

from __future__ import annotations

import time

import counterplay as cp
from benchmarks.timing import format_head, format_row
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.game_depth_limited import solve_nested, solve_to_street
from counterplay.arenas.holdem.game_subgames import resolve_street

LEDUC = (
    "custom_holdem(num_ranks=3,num_suits=2,num_hole_cards=1,board_cards=(0,1),blinds=(0,0),ante=1,"
    "stacks=(13,13),betting=limit,sizes='2,4',max_bets=(2,),openers=(0,))"
)
ITERATIONS = 200  # of each subgame
METHODS = {
    "blueprint": lambda blueprint: blueprint,
    "first street, one continuation": lambda blueprint: solve_to_street(
        blueprint, 1, iterations=ITERATIONS, continuations=[blueprint]
    ),
    "first street, four continuations": lambda blueprint: solve_to_street(
        blueprint, 1, iterations=ITERATIONS
    ),
    "second street": lambda blueprint: resolve_street(blueprint, 1, "resolve", ITERATIONS),
    "both streets in turn": lambda blueprint: solve_nested(blueprint, iterations=ITERATIONS),
}


def main() -> None:
    """Print the table of exploitabilities and CPU seconds."""
    arena = HoldemGameArena(cp.load_game(LEDUC), "float64")
    solve_nested(cp.solve(arena, cp.algorithms.CFRPlus(), iterations=1).policy, iterations=1)
    print(format_head(["solved", "CFR+ 10", "CFR+ 100", "CFR+ 1,000", "CPU s"]))
    for name, method in METHODS.items():
        cells = [name]
        for iterations in (10, 100, 1000):
            blueprint = cp.solve(arena, cp.algorithms.CFRPlus(), iterations=iterations).policy
            start = time.process_time()
            policy = method(blueprint)
            seconds = time.process_time() - start
            cells.append(f"{cp.exploitability(arena, policy):.4f}")
        print(format_row([*cells, f"{seconds:.2f}"]), flush=True)


if __name__ == "__main__":
    main()
