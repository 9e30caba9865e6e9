"""Measure hold'em before the flop: tables of equities, push/fold charts, solved examples.

    python -m benchmarks.holdem.preflop table
    python -m benchmarks.holdem.preflop chart
    python -m benchmarks.holdem.preflop mixed
    python -m benchmarks.holdem.preflop solve preflop/nine_seats_icm --target 1e-5 --deals 100000

`mixed` explains the cells that differ from the published chart: the frequencies that equilibria
give these hands, and what best responses gain if they are always or never played. `--deals`
measures every seat's gain on dealt cards, too. Every run adds a line to `results/preflop.jsonl`. A
target is a part of the prize pool, or of the big blind in cash games. Tables of `solve` are in the
cache; `table` builds them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog

from benchmarks.result_files import append_row
from benchmarks.timing import first_paragraph, peak_memory_mib
from counterplay.arenas.holdem.hand_ranges import grid_cell
from counterplay.arenas.preflop.chart import push_fold_chart
from counterplay.arenas.preflop.deals import order_table
from counterplay.arenas.preflop.dealt_gains import measure_dealt_gains
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


def explain_mixed_cells() -> dict[str, Any]:
    """Return by cell and stack the range of equilibrium frequencies, and losses of pure play."""
    cells = [("push", "Q4o", tenth / 10) for tenth in range(79, 85)]
    cells += [("call", "K7o", tenth / 10) for tenth in range(122, 127)]
    rows = []
    for kind, name, stack in cells:
        least, most = frequency_range(kind, name, stack)
        chart = push_fold_chart([stack])
        number = FULL_DECK.class_index(name)
        row = {"cell": f"{kind} {name}", "stack": stack, "least": least, "most": most}
        for part in (0.0, 1.0):
            push, call = chart.push[0].round(), chart.call[0].round()
            (push if kind == "push" else call)[number] = part
            key = "loss_always_mbb" if part else "loss_never_mbb"
            row[key] = round(1000.0 * pure_loss(push, call, stack), 3)
        rows.append(row)
    return {"what": "mixed cells of the heads-up chart", "cells": rows}


def showdown_payoffs(stack: float) -> tuple[Any, Any]:
    """Return the probabilities [C, C] of classes, and the small blind's chips if all-in."""
    table = equity_table()
    meets = table.class_pairs / table.class_pairs.sum()
    return meets, stack * (2.0 * np.nan_to_num(table.class_equities, nan=0.5) - 1.0)


def frequency_range(kind: str, name: str, stack: float) -> tuple[float, float]:
    """Return the lowest and the highest frequency of a class in all equilibria.

    The player's linear program has its frequencies x and the values z that the other one's classes
    leave; a second one fixes the value (to 1e-10) and minimises or maximises the frequency.
    """
    meets, chips = showdown_payoffs(stack)
    count, total = len(meets), meets.sum(axis=1)
    if kind == "push":  # z_b <= sum_a x_a p_ab, z_b <= sum_a x_a p_ab chips_ab
        cost = np.concatenate([-0.5 * total, -np.ones(count)])
        rows = [
            np.hstack([-meets.T, np.eye(count)]),
            np.hstack([-(meets * chips).T, np.eye(count)]),
        ]
        bounds = np.zeros(2 * count)
    else:  # z_a >= -0.5 p_a, z_a >= sum_b p_ab (1 + y_b (chips_ab - 1))
        cost = np.concatenate([np.zeros(count), np.ones(count)])
        rows = [
            np.hstack([np.zeros((count, count)), -np.eye(count)]),
            np.hstack([meets * (chips - 1.0), -np.eye(count)]),
        ]
        bounds = np.concatenate([0.5 * total, -total])
    limits = [(0.0, 1.0)] * count + [(None, None)] * count
    best = linprog(cost, np.vstack(rows), bounds, bounds=limits)
    matrix, right = np.vstack([*rows, cost]), np.append(bounds, best.fun + 1e-10)
    frequency = np.zeros(2 * count)
    frequency[FULL_DECK.class_index(name)] = 1.0
    low, high = (linprog(s * frequency, matrix, right, bounds=limits).fun for s in (1.0, -1.0))
    return round(float(low), 4), round(float(-high), 4)


def pure_loss(push: Any, call: Any, stack: float) -> float:
    """Return what best responses of both players gain against frequencies [C], in big blinds."""
    meets, chips = showdown_payoffs(stack)
    pushed = (meets * (1.0 + call * (chips - 1.0))).sum(axis=1)
    folded = -0.5 * meets.sum(axis=1)
    called, passed = -(push[:, None] * meets * chips).sum(axis=0), -(push @ meets)
    first = np.maximum(pushed, folded) - push * pushed - (1.0 - push) * folded
    second = np.maximum(called, passed) - call * called - (1.0 - call) * passed
    return float(first.sum() + second.sum())


def solve_example(
    name: str, target: float, algorithm: str, iterations: int, deals: int
) -> dict[str, Any]:
    """Solve an example until no seat gains more than a part of the prize pool or big blind."""
    game = PreflopGame.load(find_config(name))
    unit = sum(game.payouts) if game.payouts else game.big_blind
    solution = solve_preflop(game, algorithm, iterations=iterations, target=target * unit)
    dealt = {}
    if deals:
        result = measure_dealt_gains(solution.policy, deals)
        columns = {
            "gains_from": result.gains,
            "margins": result.gain_margins,
            "gains_to": result.upper_gains,
        }
        dealt = {
            "deals": result.num_deals,
            "sum_of_values": round(float(result.values.sum()), 5),
            **{n: [round(100.0 * float(x) / unit, 5) for x in c] for n, c in columns.items()},
        }
    return {
        "what": name,
        "algorithm": algorithm,
        "nodes": len(solution.arena.tree.nodes),
        "infosets": solution.arena.num_infosets,
        "iterations": solution.iterations,
        "largest_gain_percent": round(100.0 * solution.largest_gain / unit, 7),
        "values": [round(float(value), 5) for value in solution.values],
        **dealt,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("task", choices=("table", "chart", "mixed", "solve"))
    parser.add_argument("game", nargs="?", default="preflop/nine_seats_icm")
    parser.add_argument("--target", type=float, default=1e-5)
    parser.add_argument("--algorithm", default="pdcfr_plus")
    parser.add_argument("--iterations", type=int, default=10_000)
    parser.add_argument("--deals", type=int, default=0, help="deals that gains are measured on")
    options = parser.parse_args()
    build_equity_table(Deck(num_ranks=3, num_suits=2, num_board=0))  # compiles
    if options.task == "table":
        facts = measure(build_table)
    elif options.task == "chart":
        facts = measure(compare_chart)
    elif options.task == "mixed":
        equity_table()
        facts = measure(explain_mixed_cells)
    else:
        equity_table()
        order_table(FULL_DECK)
        facts = measure(
            lambda: solve_example(
                options.game,
                options.target,
                options.algorithm,
                options.iterations,
                options.deals,
            )
        )
    append_row("preflop", facts)
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
