"""Generated arenas: what building, judging and an iteration cost, beside a plain walk.

    python -m benchmarks.generated                  the table, every game in a process of its own
    python -m benchmarks.generated GAME             one line of it
    python -m benchmarks.generated --walk GAME      a plain walk of one opening, and its agreement

Times are wall-clock and, behind it, processor time of all threads; best of three.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from functools import partial

import numpy as np
from numba import njit

import counterplay as cp

GAMES = [
    "dark_hex",
    "phantom_tic_tac_toe",
    "dark_hex(gameversion=adh)",
    "phantom_tic_tac_toe(gameversion=abrupt)",
    "liars_dice(numdice=2,dice_sides=5)",
]


def timed(work, times=3):
    """The result, and the least wall-clock and processor time, in seconds."""
    best = np.full(2, np.inf)
    for _ in range(times):
        start = np.array([time.perf_counter(), time.process_time()])
        result = work()
        spent = np.array([time.perf_counter(), time.process_time()]) - start
        best = np.minimum(best, spent)
    return result, f"{best[0]:.2f} ({best[1]:.2f})"


def peak():
    """Gibibytes that the process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure(spec):
    """One line of the table."""
    small = {"d": "dark_hex(num_rows=2,num_cols=2", "l": "liars_dice(numdice=1,dice_sides=2"}
    version = ",gameversion=adh" if "a" in spec.partition("=")[2][:3] else ""
    warm = cp.load_game(small.get(spec[0], small["d"]) + version * (spec[0] != "l") + ")")
    cp.solve(cp.build_arena(warm, "generated"), cp.algorithms.PCFRPlus(), iterations=2)  # compiles
    arena, build = timed(lambda: cp.build_arena(cp.load_game(spec), "generated"), 1)
    judged, judge = timed(partial(cp.judge, arena, cp.uniform_policy(arena)))
    judging = peak()
    algorithm = cp.algorithms.PCFRPlus()
    memory = algorithm.init(arena)
    _, iteration = timed(lambda: algorithm.step(arena, memory))
    print(
        f"| {spec} | {arena.num_infosets:,} | {arena.num_sequences:,} | {judged.values[0]:.12f} "
        f"| {judged.exploitability:.12f} | {build} | {judge} | {iteration} "
        f"| {judging:.2f} / {peak():.2f} |",
        flush=True,
    )


@njit
def walk(board, stones, turn, infoset, last, reach, tree, policy, cf_value):
    """Walk every history below one; returns how many there are. What one would write otherwise."""
    num_cells, wins = board
    offset, tried, owned, first_child = tree
    full, here = (1 << num_cells) - 1, infoset[turn]
    count, s = 1, offset[here]
    for cell in range(num_cells):
        if tried[here] >> cell & 1:
            continue
        free = not stones[1 - turn] >> cell & 1
        mine = stones[turn] | (1 << cell if free else 0)
        now = reach[turn] * policy[s]
        sequences = (s, last[1]) if turn == 0 else (last[0], s)
        reaches = (now, reach[1]) if turn == 0 else (reach[0], now)
        after = (mine, stones[1]) if turn == 0 else (stones[0], mine)
        if free and (wins[turn, mine] or after[0] | after[1] == full):
            sign = (1.0 - 2.0 * turn) * wins[turn, mine]
            cf_value[sequences[0]] += sign * reaches[1]
            cf_value[sequences[1]] -= sign * reaches[0]
            count += 1
        elif now > 0.0:
            child = first_child[s]
            if (owned[child] >> cell & 1) != free:
                child += 1
            infosets = (child, infoset[1]) if turn == 0 else (infoset[0], child)
            next_turn = 1 - turn if free else turn
            count += walk(
                board, after, next_turn, infosets, sequences, reaches, tree, policy, cf_value
            )
        s += 1
    return count


def opening(arena, first=1, reply=0, seed=5):
    """Walk the histories of a classical game after two attempts; returns what was found.

    That is their number, seconds of processor time, the greatest difference between the cf_values
    of the walk and of the arena at sequences after these attempts, and how many those are.
    """
    size = arena.game.num_cells
    policy = cp.random_policy(arena, seed).probabilities.copy()
    roots = arena.form.player_infoset[:2].tolist()
    for root, cell in zip(roots, (first, reply), strict=True):
        start = int(arena.offset[root])
        policy[start : start + size] = np.arange(size) == cell
    parent = arena.form.parent
    counts = np.bincount(parent, minlength=arena.num_sequences + 1)[:-1]
    first_child = np.cumsum(counts) - counts + 1  # after the root
    first_child[arena.offset[roots[1]] :] += 1
    board = size, arena.board.wins
    tree = arena.offset, arena.tried, arena.stones, first_child
    found = np.zeros(arena.num_sequences + 1)
    nothing = arena.num_sequences
    arguments = board, (0, 0), 0, tuple(roots), (nothing, nothing), (1.0, 1.0), tree
    walk(*arguments, np.zeros(nothing), found)  # compiles: nobody does anything
    found[:] = 0.0
    began = time.process_time()
    count = walk(*arguments, policy, found)
    seconds = time.process_time() - began
    reach, cf_value = np.ones(nothing + 1), np.zeros(nothing + 1)
    for player in range(2):
        for parts in arena.levels(player, 1):
            for a, b in parts:
                cp_forward(arena.form, a, b, policy, reach)
    for player in range(2):
        arena.gradient(player, reach, cf_value)
    visited = reach[:-1] > 0.0
    return count, seconds, np.abs(found - cf_value)[:-1][visited].max(), int(visited.sum())


def cp_forward(form, first, last, policy, reach):
    """Own reach at infosets, parents first."""
    from counterplay.kernels.sequence_form import sweeps

    sweeps.forward(form, first, last, policy, reach)


def main():
    match sys.argv[1:]:
        case []:
            print(
                "| game | infosets | sequences | uniform: value | exploitability | build s |",
                end="",
            )
            print(" judge s | iteration s | GiB judging / solving |\n|" + "---|" * 9, flush=True)
            for spec in GAMES:
                subprocess.run([sys.executable, "-m", "benchmarks.generated", spec], check=True)
        case ["--walk", spec]:
            arena = cp.build_arena(cp.load_game(spec), "generated")
            count, seconds, error, size = opening(arena)
            rate = count / seconds / 1e6
            print(f"{spec}: {count:,} histories walked in {seconds:.1f} s, {rate:.1f} million/s;")
            print(f"{size:,} sequences compared, greatest difference {error:.1e};")
            _, judge = timed(partial(cp.judge, arena, cp.uniform_policy(arena)))
            print(f"all of the game judged in {judge} s; times of the walk are processor time")
        case [spec]:
            measure(spec)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
