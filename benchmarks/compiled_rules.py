"""Trees from compiled rules beside those from readable ones: nodes per second of processor time.

    python -m benchmarks.compiled_rules [GAME ...]
    python -m benchmarks.compiled_rules --sampled [METHOD [GAME ...]]

The walk alone is what the machine does; the build is the whole tree, texts included. `--sampled`
samples the rules, never unrolled, by external_sampling or another method: nodes touched a second,
once their kernels are compiled.
"""

from __future__ import annotations

import sys
import time

import counterplay as cp
from counterplay.tabular.sampled_memory import SampledMemory
from counterplay.tree import unrolling
from counterplay.tree.machine_walk import MachineWalk

LARGE = "liars_dice(numdice=2,dice_sides=4)"
GAMES = [
    "kuhn_poker(players=6)",
    "leduc_poker(players=3)",
    "leduc_poker(ranks=13)",
    "liars_dice",
    "goofspiel(num_cards=5,imp_info=true)",
    "dark_hex(num_rows=3,num_cols=2)",
    "dark_hex(num_rows=2,num_cols=3,gameversion=adh)",
]


def spent(work):
    began = time.process_time()
    result = work()
    return result, time.process_time() - began


def built(game, machine_from):
    unrolling.MACHINE_FROM = machine_from
    return spent(lambda: cp.build_tree(game))


def rate(arena, algorithm, memory, seconds=1.5):
    """Nodes touched per second of processor time, in iterations 64 at a time."""
    memory = algorithm.step(arena, memory, 1)
    touched, began = memory.touched, time.process_time()
    while time.process_time() - began < seconds:
        memory = algorithm.step(arena, memory, 64)
    return (memory.touched - touched) / (time.process_time() - began), memory


def sampling(method="external_sampling", *games):
    print(f"| game, {method} | infosets met | readable, nodes/s | compiled, nodes/s |")
    print("|---|---|---|---|")
    for spec in games or ("leduc_poker", "liars_dice(numdice=2,dice_sides=3)", LARGE):
        arena, algorithm = cp.SampledGame(cp.load_game(spec)), cp.load_algorithm(method)
        fast, memory = rate(arena, algorithm, algorithm.init(arena))
        slow, _ = rate(arena, algorithm, SampledMemory(0, memory.seed))
        met = memory.size.num_infosets
        print(f"| `{spec}` | {met:,} | {slow:,.0f} | {fast:,.0f} |", flush=True)


def main():
    print(
        "| game | nodes | infosets | readable, nodes/s | compiled, nodes/s | walk alone, nodes/s |"
    )
    print("|---|---|---|---|---|---|")
    for spec in sys.argv[1:] or GAMES:
        game = cp.load_game(spec)
        machine = cp.machine_of(game)
        walk = MachineWalk(machine, game.num_players)
        walk.run(lambda nodes, infosets: None)  # compiles
        _, walking = spent(
            lambda: MachineWalk(machine, game.num_players).run(lambda nodes, infosets: None)  # noqa: B023
        )
        tree, fast = min((built(game, 0) for _ in range(2)), key=lambda pair: pair[1])
        _, slow = built(game, 1e300)
        rates = " | ".join(f"{tree.num_nodes / seconds:,.0f}" for seconds in (slow, fast, walking))
        print(f"| `{spec}` | {tree.num_nodes:,} | {tree.num_infosets:,} | {rates} |", flush=True)


if __name__ == "__main__":
    sampling(*sys.argv[2:]) if sys.argv[1:2] == ["--sampled"] else main()
