"""Compare compiled rules of games with readable ones: nodes per second of processor time.

    python -m benchmarks.speed.compiled_rules [GAME ...]
    python -m benchmarks.speed.compiled_rules --sampling external_sampling [GAME ...]

Without `--sampling`, trees are built: `walk alone` visits the states, the other two columns build
the whole tree with its texts. With `--sampling`, the rules are sampled without a tree: nodes
touched per second, after compilation.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import counterplay as cp
from benchmarks.timing import first_paragraph, format_head, format_row
from counterplay.algorithms.mccfr.memory import RulesSamplingMemory
from counterplay.arenas.tree import build
from counterplay.arenas.tree.build_compiled import CompiledTreeWalk

TREE_GAMES = [
    "kuhn_poker(players=6)",
    "leduc_poker(players=3)",
    "leduc_poker(ranks=13)",
    "liars_dice",
    "goofspiel(num_cards=5,imp_info=true)",
    "dark_hex(num_rows=3,num_cols=2)",
    "dark_hex(num_rows=2,num_cols=3,gameversion=adh)",
]
SAMPLING_GAMES = [
    "leduc_poker",
    "liars_dice(numdice=2,dice_sides=3)",
    "liars_dice(numdice=2,dice_sides=4)",
]


def time_result(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a call and its processor seconds."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def time_build(game: Any, min_nodes_for_compiled: float) -> tuple[Any, float]:
    """Build a tree with compiled rules (from 0 nodes) or readable ones (from infinity)."""
    build.MIN_NODES_FOR_COMPILED_RULES = min_nodes_for_compiled
    return time_result(lambda: cp.build_tree(game))


def sampling_rate(
    arena: Any, algorithm: Any, memory: Any, seconds: float = 1.5
) -> tuple[float, Any]:
    """Return nodes touched per second of processor time, and the memory afterwards."""
    memory = algorithm.step(arena, memory, 1)
    before, start = memory.nodes_touched, time.process_time()
    while time.process_time() - start < seconds:
        memory = algorithm.step(arena, memory, 64)
    return (memory.nodes_touched - before) / (time.process_time() - start), memory


def compare_sampling(method: str, games: list[str]) -> None:
    """Print the table of sampling rates."""
    columns = [f"game, {method}", "infosets visited", "readable, nodes/s", "compiled, nodes/s"]
    print(format_head(columns))
    for spec in games:
        arena, algorithm = cp.RulesArena(cp.load_game(spec)), cp.load_algorithm(method)
        compiled, memory = sampling_rate(arena, algorithm, algorithm.init(arena))
        readable, _ = sampling_rate(arena, algorithm, RulesSamplingMemory(0, memory.seed))
        infosets = memory.size.num_infosets
        cells = [f"`{spec}`", f"{infosets:,}", f"{readable:,.0f}", f"{compiled:,.0f}"]
        print(format_row(cells), flush=True)


def compare_building(games: list[str]) -> None:
    """Print the table of building rates."""
    rates = ["readable, nodes/s", "compiled, nodes/s", "walk alone, nodes/s"]
    print(format_head(["game", "nodes", "infosets", *rates]))
    for spec in games:
        game = cp.load_game(spec)
        rules = cp.games.find_compiled_game(game)

        def walk(rules: Any = rules, num_players: int = game.num_players) -> None:
            CompiledTreeWalk(rules, num_players).run(lambda nodes, infosets: None)

        walk()  # compiles
        _, walking = time_result(walk)
        tree, compiled = min((time_build(game, 0) for _ in range(2)), key=lambda pair: pair[1])
        _, readable = time_build(game, 1e300)
        cells = [f"`{spec}`", f"{tree.num_nodes:,}", f"{tree.num_infosets:,}"]
        cells += [f"{tree.num_nodes / seconds:,.0f}" for seconds in (readable, compiled, walking)]
        print(format_row(cells), flush=True)


def main() -> None:
    """Print one of the two tables."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("games", nargs="*")
    parser.add_argument("--sampling", metavar="ALGORITHM", help="sample instead of building trees")
    args = parser.parse_args()
    if args.sampling:
        compare_sampling(args.sampling, args.games or SAMPLING_GAMES)
    else:
        compare_building(args.games or TREE_GAMES)


if __name__ == "__main__":
    main()
