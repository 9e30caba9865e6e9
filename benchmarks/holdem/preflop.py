"""Measure hold'em before the flop: tables of equities, push/fold charts, solved examples.

python -m benchmarks.holdem.preflop table
python -m benchmarks.holdem.preflop chart
python -m benchmarks.holdem.preflop solve preflop/nine_seats_icm --target 1e-5

Every run adds a line to `results/preflop.jsonl`. A target is a part of the prize pool, or of the
big blind in cash games. Tables of `solve` are in the cache; `table` builds them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.result_files import append_row
from benchmarks.timing import first_paragraph, peak_memory_mib
from counterplay.arenas.holdem.hand_ranges import grid_cell
from counterplay.arenas.preflop.chart import push_fold_chart
from counterplay.arenas.preflop.deals import order_table
from counterplay.arenas.preflop.deck import FULL_DECK, Deck
from counterplay.arenas.preflop.equity_tables import build_equity_table, equity_table
from counterplay.arenas.preflop.game import PreflopGame
from counterplay.arenas.preflop.solution import solve_preflop
from counterplay.experiment.examples import find_config

PUBLISHED_CHART = Path(__file__).parents[2] / "tests/arenas/preflop" / "heads_up_push_fold.json"


def measure(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what the work returns with its wall-clock and CPU seconds and the peak memory."""
    wall, cpu = time.perf_counter(), time.process_time()
    facts = work()
    seconds = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    rounded = {name: round(value, 2) for name, value in seconds.items()}
    return {**facts, **rounded, "peak_mib": round(peak_memory_mib())}


def build_table() -> dict[str, Any]:
    """Build the 169 x 169 table without the cache."""
    table = build_equity_table(FULL_DECK)
    return {
        "what": "equity table of 52 cards",
        "aces_against_kings": round(table.class_equity("AA", "KK"), 6),
    }


def compare_chart() -> dict[str, Any]:
    """Solve all stacks up to 20 big blinds and count the cells of the published chart."""
    equity_table()
    chart = push_fold_chart([tenth / 10 for tenth in range(11, 201)])
    published = json.loads(PUBLISHED_CHART.read_text())
    equal = sum(
        abs(chart.largest_stack(grid_cell(r, c)[0], kind) - min(published[kind][r][c], 20.0)) < 0.01
        for kind in ("push", "call")
        for r in range(13)
        for c in range(13)
    )
    return {"what": "heads-up chart, 190 stacks", "equal_cells": equal, "cells": 338}


def solve_example(name: str, target: float, algorithm: str, iterations: int) -> dict[str, Any]:
    """Solve an example until no seat gains more than a part of the prize pool or big blind."""
    game = PreflopGame.load(find_config(name))
    unit = sum(game.payouts) if game.payouts else game.big_blind
    solution = solve_preflop(game, algorithm, iterations=iterations, target=target * unit)
    return {
        "what": name,
        "algorithm": algorithm,
        "nodes": len(solution.arena.tree.nodes),
        "infosets": solution.arena.num_infosets,
        "iterations": solution.iterations,
        "largest_gain_percent": round(100.0 * solution.largest_gain / unit, 7),
        "values": [round(float(value), 5) for value in solution.values],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("task", choices=("table", "chart", "solve"))
    parser.add_argument("game", nargs="?", default="preflop/nine_seats_icm")
    parser.add_argument("--target", type=float, default=1e-5)
    parser.add_argument("--algorithm", default="pdcfr_plus")
    parser.add_argument("--iterations", type=int, default=10_000)
    options = parser.parse_args()
    build_equity_table(Deck(num_ranks=3, num_suits=2, num_board=0))  # compiles
    if options.task == "table":
        facts = measure(build_table)
    elif options.task == "chart":
        facts = measure(compare_chart)
    else:
        equity_table()
        order_table(FULL_DECK)
        facts = measure(
            lambda: solve_example(
                options.game, options.target, options.algorithm, options.iterations
            )
        )
    append_row("preflop", facts)
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
