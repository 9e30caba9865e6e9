"""Measure generated arenas: building, evaluation and an iteration, beside a plain walk.

    python -m benchmarks.large_games.factored_arenas             the table, a process for each game
    python -m benchmarks.large_games.factored_arenas GAME        one row of it
    python -m benchmarks.large_games.factored_arenas --walk GAME  a plain walk of one opening

Times are wall-clock seconds and, in brackets, processor seconds of all threads; best of three.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import njit

import counterplay as cp
from benchmarks.timing import (
    Stopwatch,
    first_paragraph,
    format_head,
    format_row,
    peak_memory_mib,
)
from counterplay.kernels.sequence_form import sweeps

WARM_UP_BY_GAME = {  # a small game that compiles what the large one needs
    "dark_hex": "dark_hex(num_rows=2,num_cols=2)",
    "phantom_tic_tac_toe": "dark_hex(num_rows=2,num_cols=2)",
    "dark_hex(gameversion=adh)": "dark_hex(num_rows=2,num_cols=2,gameversion=adh)",
    "phantom_tic_tac_toe(gameversion=abrupt)": "dark_hex(num_rows=2,num_cols=2,gameversion=adh)",
    "liars_dice(numdice=2,dice_sides=5)": "liars_dice(numdice=1,dice_sides=2)",
}
COLUMNS = ["game", "infosets", "sequences", "uniform: value", "exploitability", "build s"]
COLUMNS += ["evaluate s", "iteration s", "GiB evaluating / solving"]


def time_best(work: Callable[[], Any], num_turns: int = 3) -> tuple[Any, str]:
    """Return the result, and the smallest wall-clock and processor seconds."""
    watches = []
    for _ in range(num_turns):
        with Stopwatch() as watch:
            result = work()
        watches.append(watch)
    wall = min(watch.wall_seconds for watch in watches)
    cpu = min(watch.cpu_seconds for watch in watches)
    return result, f"{wall:.2f} ({cpu:.2f})"


def measure_game(spec: str) -> None:
    """Print one row of the table."""
    small_game = cp.load_game(WARM_UP_BY_GAME.get(spec, spec))
    algorithm = cp.algorithms.PCFRPlus()
    cp.solve(cp.build_arena(small_game, "generated"), algorithm, iterations=2)  # compiles
    arena, build = time_best(lambda: cp.build_arena(cp.load_game(spec), "generated"), 1)
    judgement, evaluate = time_best(partial(cp.judge, arena, cp.uniform_policy(arena)))
    evaluation_peak = peak_memory_mib() / 2**10
    memory = algorithm.init(arena)
    _, iteration = time_best(lambda: algorithm.step(arena, memory))
    cells = [spec, f"{arena.num_infosets:,}", f"{arena.num_sequences:,}"]
    cells += [f"{judgement.values[0]:.12f}", f"{judgement.exploitability:.12f}"]
    cells += [build, evaluate, iteration]
    memory_cell = f"{evaluation_peak:.2f} / {peak_memory_mib() / 2**10:.2f}"
    print(format_row([*cells, memory_cell]), flush=True)


@njit
def visit_histories(board, stones, turn, infoset, last, reach, tree, policy, cf_value):
    """Visit every history below one, add up counterfactual values, and return the number."""
    num_cells, wins = board
    offset, tried, owned, first_child = tree
    full, own_infoset = (1 << num_cells) - 1, infoset[turn]
    count, s = 1, offset[own_infoset]
    for cell in range(num_cells):
        if tried[own_infoset] >> cell & 1:
            continue
        is_free = not stones[1 - turn] >> cell & 1
        mine = stones[turn] | (1 << cell if is_free else 0)
        own_reach = reach[turn] * policy[s]
        sequences = (s, last[1]) if turn == 0 else (last[0], s)
        reaches = (own_reach, reach[1]) if turn == 0 else (reach[0], own_reach)
        after = (mine, stones[1]) if turn == 0 else (stones[0], mine)
        if is_free and (wins[turn, mine] or after[0] | after[1] == full):
            sign = (1.0 - 2.0 * turn) * wins[turn, mine]
            cf_value[sequences[0]] += sign * reaches[1]
            cf_value[sequences[1]] -= sign * reaches[0]
            count += 1
        elif own_reach > 0.0:
            child = first_child[s]
            if (owned[child] >> cell & 1) != is_free:
                child += 1
            infosets = (child, infoset[1]) if turn == 0 else (infoset[0], child)
            next_turn = 1 - turn if is_free else turn
            count += visit_histories(
                board, after, next_turn, infosets, sequences, reaches, tree, policy, cf_value
            )
        s += 1
    return count


class OpeningComparison(NamedTuple):
    """Counterfactual values after an opening, by a plain walk and by the arena."""

    num_histories: int
    seconds: float  # processor time of the walk
    max_difference: float
    num_sequences: int  # compared


def compare_opening(arena: Any, first: int = 1, reply: int = 0, seed: int = 5) -> OpeningComparison:
    """Visit all histories after two attempts in a classical game, and compare their values."""
    size = arena.game.num_cells
    policy = cp.random_policy(arena, seed).probabilities.copy()
    roots = arena.form.player_infoset[:2].tolist()
    for root, cell in zip(roots, (first, reply), strict=True):
        offset = int(arena.offset[root])
        policy[offset : offset + size] = np.arange(size) == cell
    parent = arena.form.parent
    counts = np.bincount(parent, minlength=arena.num_sequences + 1)[:-1]
    first_child = np.cumsum(counts) - counts + 1  # after the root
    first_child[arena.offset[roots[1]] :] += 1
    board = size, arena.board.wins
    tree = arena.offset, arena.tried, arena.stones, first_child
    walk_values = np.zeros(arena.num_sequences + 1)
    no_sequence = arena.num_sequences
    arguments = board, (0, 0), 0, tuple(roots), (no_sequence, no_sequence), (1.0, 1.0), tree
    visit_histories(*arguments, np.zeros(no_sequence), walk_values)  # compiles, visits nothing
    walk_values[:] = 0.0
    start = time.process_time()
    count = visit_histories(*arguments, policy, walk_values)
    seconds = time.process_time() - start
    reach, cf_value = np.ones(no_sequence + 1), np.zeros(no_sequence + 1)
    for player in range(2):
        for parts in arena.levels(player, 1):
            for a, b in parts:
                sweeps.forward(arena.form, a, b, policy, reach)
    for player in range(2):
        arena.gradient(player, reach, cf_value)
    is_visited = reach[:-1] > 0.0
    difference = np.abs(walk_values - cf_value)[:-1][is_visited].max()
    return OpeningComparison(count, seconds, difference, int(is_visited.sum()))


def print_walk(spec: str) -> None:
    """Compare the arena with a plain walk of one opening."""
    arena = cp.build_arena(cp.load_game(spec), "generated")
    walk = compare_opening(arena)
    rate = walk.num_histories / walk.seconds / 1e6
    print(f"{spec}: {walk.num_histories:,} histories in {walk.seconds:.1f} s of processor time,")
    print(f"{rate:.1f} million/s; {walk.num_sequences:,} sequences compared, largest difference")
    _, evaluate = time_best(partial(cp.judge, arena, cp.uniform_policy(arena)))
    print(f"{walk.max_difference:.1e}; the arena evaluates the whole game in {evaluate} s")


def main() -> None:
    """Print the table, one row of it, or a walk."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("game", nargs="?")
    parser.add_argument("--walk", action="store_true", help="visit all histories of one opening")
    args = parser.parse_args()
    if args.walk:
        print_walk(args.game or "dark_hex")
    elif args.game:
        measure_game(args.game)
    else:
        print(format_head(COLUMNS), flush=True)
        for spec in WARM_UP_BY_GAME:
            command = [sys.executable, "-m", "benchmarks.large_games.factored_arenas", spec]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
