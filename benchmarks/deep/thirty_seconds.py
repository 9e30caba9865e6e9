"""Measure how far every deep method gets with its defaults in thirty processor seconds.

    python -m benchmarks.deep.thirty_seconds --methods ppo nfsp --games kuhn_poker
    python -m benchmarks.deep.thirty_seconds --table        # the table of the stored rows

The schedules span the `default_iterations` of a method, as in `solve`. A run ends when the policy
with the guarantee has at most a quarter of the exploitability of uniform play, but not before
`--least` seconds, so that a passing dip does not count; or after `--seconds`; or with its last
iteration. Seconds are processor time without the first iteration, which compiles, and evaluations.
Rows are in results/thirty_seconds.jsonl, one per method, game and seed; a call skips the rows that
exist with at least the same limit. Methods that refuse a game, such as those for two players and
zero sums, have a row with the reason.
"""

from __future__ import annotations

import argparse
from statistics import median
from typing import Any

from benchmarks.result_files import Record, append_row, load_rows
from benchmarks.timing import Stopwatch, first_paragraph, format_head, format_row

FAMILY = "thirty_seconds"
GOAL = 0.25  # of the exploitability of uniform play
CHUNK_SECONDS = 0.5  # between evaluations
METHODS = (
    *("deep_cfr", "sd_cfr", "dream", "escher", "vr_deep_dcfr_plus", "vr_deep_pdcfr_plus"),
    *("reinforce", "qpg", "rpg", "rmpg", "neurd", "ach", "ppo", "deep_mmd", "r_nad"),
    *("nfsp", "nfsp_ppo", "nfsp_sac", "league", "deep_hedge"),
)
GAMES = (
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "liars_dice(dice_sides=3)",
    "goofspiel(num_cards=3)",
    "leduc_poker",
    "openspiel:tiny_bridge_2p",
    "openspiel:oshi_zumo(coins=4,size=2,horizon=4)",
    "openspiel:first_sealed_auction(max_value=5)",
    "benchmarks/deep/games/random_1.efg",
    "benchmarks/deep/games/random_2.efg",
)


def measure_method(tree: Any, method: str, seed: int, max_seconds: float, least: float) -> Record:
    """Run a method until it reaches the goal or the limit, and return its row."""
    import jax

    import counterplay as cp
    from counterplay.core.solve import default_iterations, with_schedule
    from counterplay.errors import ConfigError

    row: Record = {"method": method, "game": tree.spec, "seed": seed, "limit": max_seconds}
    uniform = cp.exploitability(tree, cp.uniform_policy(tree))
    algorithm = with_schedule(cp.load_algorithm(method))
    try:
        memory = algorithm.step(tree, algorithm.init(tree, seed), 1)
    except ConfigError as error:
        return row | {"refused": str(error)}
    algorithm.policies(tree, memory)  # compiles
    jax.block_until_ready(memory.state)
    watch, ratio, chunk = Stopwatch(), 1.0, 1
    last = default_iterations(algorithm)
    while memory.iteration < last and watch.cpu_seconds < max_seconds:
        if ratio <= GOAL and watch.cpu_seconds >= least:
            break
        before, chunk = watch.cpu_seconds, min(chunk, last - memory.iteration)
        with watch:
            memory = algorithm.step(tree, memory, chunk)
            jax.block_until_ready(memory.state)
        policy = next(iter(algorithm.policies(tree, memory).values()))
        ratio = cp.exploitability(tree, policy) / uniform
        elapsed = max(watch.cpu_seconds - before, 1e-6)
        remaining = max(max_seconds - watch.cpu_seconds, 0.0)
        fitting = int(min(CHUNK_SECONDS, remaining) * chunk / elapsed)
        chunk = max(1, min(4 * chunk, fitting))
    return row | {
        "ratio": round(ratio, 4),
        "seconds": round(watch.cpu_seconds, 2),
        "iterations": memory.iteration,
        "uniform": round(uniform, 5),
    }


def has_row(row: Record, method: str, game: str, seed: int, max_seconds: float) -> bool:
    """Return True if a stored row makes a run superfluous."""
    is_same = (row["method"], row["game"], row["seed"]) == (method, game, seed)
    is_long_enough = row["limit"] >= max_seconds or row.get("ratio", 0.0) <= GOAL
    return is_same and is_long_enough


def latest_rows() -> dict[tuple[str, str, int], Record]:
    """Return the last row of every method, game and seed."""
    return {(row["method"], row["game"], row["seed"]): row for row in load_rows(FAMILY)}


def format_table() -> str:
    """Return a table of methods by games: seconds to the goal, or the ratio at the limit."""
    rows = latest_rows()
    games = list(dict.fromkeys(game for _, game, _ in rows))
    lines = [format_head(["method", *(f"`{game.rpartition('/')[2]}`" for game in games)])]
    for method in METHODS:
        cells = [f"`{method}`"]
        for game in games:
            cases = [row for (m, g, _), row in rows.items() if (m, g) == (method, game)]
            cells.append(format_cell(cases))
        lines.append(format_row(cells))
    return "\n".join(lines)


def format_cell(cases: list[Record]) -> str:
    """Return the cell of a method and a game: the slowest seed if all reach the goal."""
    if not cases:
        return ""
    if "refused" in cases[0]:
        return "refused"
    ratios = [case["ratio"] for case in cases]
    if max(ratios) <= GOAL:
        return f"{max(case['seconds'] for case in cases):.1f} s"
    return f"**{median(ratios):.2f}** at {max(case['limit'] for case in cases):g} s"


def main() -> None:
    """Run methods on games, and print the table of all stored rows."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--games", nargs="+", default=GAMES)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--least", type=float, default=1.5)
    parser.add_argument("--table", action="store_true", help="print the table, run nothing")
    args = parser.parse_args()
    if not args.table:
        run_all(args.methods, args.games, args.seeds, args.seconds, args.least)
    print(format_table())


def run_all(
    methods: list[str], games: list[str], seeds: list[int], max_seconds: float, least: float
) -> None:
    """Run what is not stored yet, one method after the other."""
    import jax

    import counterplay as cp

    trees = {game: cp.build_tree(game) for game in games}
    for method in methods:
        for tree in trees.values():
            for seed in seeds:
                case = method, tree.spec, seed
                if any(has_row(row, *case, max_seconds) for row in load_rows(FAMILY)):
                    continue
                row = measure_method(tree, method, seed, max_seconds, least)
                append_row(FAMILY, row)
                print(row, flush=True)
        jax.clear_caches()


if __name__ == "__main__":
    main()
