"""The population family: speed beside OpenSpiel's PSRO v2, series on Leduc, a thousand games.

    python benchmarks/populations.py [openspiel | leduc | games | joint]

Without a word, all of them. Figures are kept in benchmarks/populations.md.
"""

from __future__ import annotations

import sys
import time
from contextlib import redirect_stdout
from io import StringIO
from statistics import median
from typing import Any

import numpy as np
from tests.random_games import RandomGame

import counterplay as cp
from counterplay.algorithms.population.population import INITIAL_POLICIES

MARKS = (1, 2, 5, 10, 20, 30, 50, 100, 150, 200)


def openspiel(iterations: int = 12) -> None:
    """Seconds per iteration on Leduc, ours and OpenSpiel's turn by turn in one process."""
    import pyspiel
    from open_spiel.python import policy
    from open_spiel.python.algorithms.psro_v2 import best_response_oracle, psro_v2

    game = pyspiel.load_game("leduc_poker")
    print("| OpenSpiel's PSRO v2, exact oracle, nash | theirs | ours | ratio |")
    print("|---|---|---|---|")
    for simulations in (1, 1000):
        np.random.seed(1)  # noqa: NPY002
        start = policy.TabularPolicy(game)
        with redirect_stdout(StringIO()):
            theirs = psro_v2.PSROSolver(
                game,
                best_response_oracle.BestResponseOracle(game=game, policy=start),
                initial_policies=[start.__copy__() for _ in range(2)],
                training_strategy_selector="probabilistic",
                sims_per_entry=simulations,
                number_policies_selected=1,
                meta_strategy_method=_nash,
                sample_from_marginals=True,
            )
        tree, algorithm = (
            cp.build_tree(cp.load_game("leduc_poker")),
            cp.algorithms.PSRO(initial_policy="uniform"),
        )
        memory = algorithm.step(tree, algorithm.init(tree), 3)  # compiles
        memory = algorithm.step(tree, algorithm.init(tree))
        their_time, our_time = [], []
        for _ in range(iterations if simulations == 1 else 3):
            began = time.process_time()
            theirs.iteration()
            between = time.process_time()
            memory = algorithm.step(tree, memory)
            our_time.append(time.process_time() - between)
            their_time.append(between - began)
        one, two = median(their_time), median(our_time)
        cells = f"{one:.3f} s | {1e3 * two:.2f} ms | {one / two:.0f}x"
        print(f"| {simulations} simulations per entry | {cells} |")


def _nash(solver: Any, return_joint: bool = False) -> Any:
    """OpenSpiel's own needs a solver that is out of print; this one costs it less."""
    table = np.array(solver.get_meta_game()[0])
    found = list(cp.matrix.zero_sum_lp(cp.matrix.NormalForm(table)).profile)
    return (found, [np.outer(*found)]) if return_joint else found


def leduc() -> None:
    """NashConv on Leduc by iteration, and processor time."""
    tree = cp.build_tree(cp.load_game("leduc_poker"))
    methods = ("double_oracle", "psro(meta_solver=uniform)", "rectified_psro", "p2sro")
    most = {"rectified_psro": 50, "anytime_psro": 100, "sp_psro": 100, "xdo": 20, "p2sro": 100}
    print(f"| NashConv on Leduc at | {' | '.join(map(str, MARKS))} | seconds |")
    print("|---|" + "---|" * (len(MARKS) + 1))
    for name in (*methods, "anytime_psro", "sp_psro", "xdo"):
        algorithm = cp.load_algorithm(name)
        memory, cells, spent = algorithm.init(tree), [], 0.0
        for mark in MARKS:
            if mark > most.get(name, 200):
                break
            began = time.process_time()
            memory = algorithm.step(tree, memory, mark - memory.iteration)
            spent += time.process_time() - began
            policy = next(iter(algorithm.policies(tree, memory).values()))
            cells.append(f"{cp.nash_conv(tree, policy):.4f}")
        cells += [""] * (len(MARKS) - len(cells))
        print(f"| `{name}` | {' | '.join(cells)} | {spent:.1f} |")


def games(count: int = 1000) -> None:
    """Random games, four starts in turn: does NashConv rise, does it end at an equilibrium?"""
    for name in ("anytime_psro", "sp_psro"):
        rise, worst, longest, decided = 0.0, 0.0, 0, 0
        for seed in range(count):
            tree = cp.build_tree(RandomGame(seed=seed, max_depth=5))
            algorithm = cp.load_algorithm(
                name, start=INITIAL_POLICIES[seed % len(INITIAL_POLICIES)]
            )
            memory, found = algorithm.init(tree, seed), []
            while not memory.finished and memory.iteration < 500:
                memory = algorithm.step(tree, memory)
                policy = algorithm.policies(tree, memory)["mixture"]
                found.append(cp.nash_conv(tree, policy))
            rise = max(rise, float(np.diff(found).max(initial=0.0)))
            worst, longest = max(worst, found[-1]), max(longest, memory.iteration)
            decided += tree.num_infosets > 0
        print(
            f"{name}: {count} games ({decided} with decisions), largest rise of NashConv "
            f"{rise:.1e}, largest at the end {worst:.1e}, at most {longest} iterations"
        )


def joint() -> None:
    """Gaps of joint PSRO, with the independent checker of `matrix`."""
    specs = [SHERIFF, "chicken", "kuhn_poker(players=3)"]
    print("| game | meta-solver | iterations | pools | gap | in the restricted game | seconds |")
    print("|---|---|---|---|---|---|---|")
    for spec in specs:
        tree = cp.build_tree(cp.load_game(spec))
        for meta_solver in ("mgcce", "mwcce", "mgce", "mwce"):
            algorithm = cp.algorithms.JPSRO(meta_solver=meta_solver)
            memory, began = algorithm.init(tree), time.process_time()
            while not memory.finished and time.process_time() - began < LIMIT:
                memory = algorithm.step(tree, memory)
            device = algorithm.policies(tree, memory)["joint"]
            check = cp.matrix.coarse_deviation if device.coarse else cp.matrix.correlated_deviation
            cells = (
                f"`{spec}`",
                meta_solver,
                memory.iteration,
                " x ".join(map(str, memory.pool_sizes)),
                f"{cp.judge(tree, device).nash_conv:.1e}",
                f"{check(memory.meta_game, device.joint).gain:.1e}",
                f"{time.process_time() - began:.1f}",
            )
            print(f"| {' | '.join(map(str, cells))} |", flush=True)


SHERIFF = (
    "openspiel:sheriff(item_penalty=1.0,item_value=5.0,max_bribe=3,max_items=3,num_rounds=2,"
    "sheriff_penalty=1.0)"
)
LIMIT = 300.0  # seconds of one game and meta-solver

SECTIONS = {"openspiel": openspiel, "leduc": leduc, "games": games, "joint": joint}

if __name__ == "__main__":
    for section in sys.argv[1:] or SECTIONS:
        print(f"\n## {section}\n")
        SECTIONS[section]()
