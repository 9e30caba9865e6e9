"""Measure population methods with exact responses: speed, convergence, random games, joint PSRO.

    python -m benchmarks.population.exact_responses [openspiel | leduc | games | joint] ...

Without a section, all of them run. The figures are in benchmarks/population/populations.md.
"""

from __future__ import annotations

import argparse
import time
from contextlib import redirect_stdout
from io import StringIO
from statistics import median
from typing import Any

import numpy as np

import counterplay as cp
from benchmarks.timing import first_paragraph, format_head, format_row, time_call
from counterplay.algorithms.population.population import INITIAL_POLICIES

LEDUC_MARKS = (1, 2, 5, 10, 20, 30, 50, 100, 150, 200)  # iterations
LEDUC_METHODS = {  # with their last mark
    "double_oracle": 200,
    "psro(meta_solver=uniform)": 200,
    "rectified_psro": 50,
    "p2sro": 100,
    "anytime_psro": 100,
    "sp_psro": 100,
    "xdo": 20,
}
SHERIFF = (
    "openspiel:sheriff(item_penalty=1.0,item_value=5.0,max_bribe=3,max_items=3,num_rounds=2,"
    "sheriff_penalty=1.0)"
)
JOINT_GAMES = (SHERIFF, "chicken", "kuhn_poker(players=3)")
JOINT_META_SOLVERS = ("mgcce", "mwcce", "mgce", "mwce")
MAX_JOINT_SECONDS = 300.0  # of one game and meta-solver
MAX_RANDOM_GAME_ITERATIONS = 500


def solve_meta_game(solver: Any, return_joint: bool = False) -> Any:
    """Replace OpenSpiel's `nash`, whose solver cvxpy no longer installs; this one is faster."""
    table = np.array(solver.get_meta_game()[0])
    profile = list(cp.matrix.zero_sum_lp(cp.matrix.NormalForm(table)).profile)
    return (profile, [np.outer(*profile)]) if return_joint else profile


def new_openspiel_solver(game: Any, num_simulations: int) -> Any:
    """Return OpenSpiel's PSRO v2 with exact best responses."""
    from open_spiel.python import policy
    from open_spiel.python.algorithms.psro_v2 import best_response_oracle, psro_v2

    np.random.seed(1)  # noqa: NPY002 - OpenSpiel uses the global generator
    uniform = policy.TabularPolicy(game)
    with redirect_stdout(StringIO()):
        return psro_v2.PSROSolver(
            game,
            best_response_oracle.BestResponseOracle(game=game, policy=uniform),
            initial_policies=[uniform.__copy__() for _ in range(2)],
            training_strategy_selector="probabilistic",
            sims_per_entry=num_simulations,
            number_policies_selected=1,
            meta_strategy_method=solve_meta_game,
            sample_from_marginals=True,
        )


def compare_openspiel() -> None:
    """Compare seconds per iteration on Leduc with OpenSpiel's, in alternating turns."""
    import pyspiel

    game = pyspiel.load_game("leduc_poker")
    tree = cp.build_tree(cp.load_game("leduc_poker"))
    algorithm = cp.algorithms.PSRO(initial_policy="uniform")
    columns = ["PSRO, exact responses, nash", "OpenSpiel", "Counterplay", "ratio"]
    print(format_head(columns))
    for num_simulations, num_iterations in ((1, 12), (1000, 3)):
        solver = new_openspiel_solver(game, num_simulations)
        algorithm.step(tree, algorithm.init(tree), 3)  # compiles
        memory = algorithm.step(tree, algorithm.init(tree))

        def step() -> None:
            nonlocal memory
            memory = algorithm.step(tree, memory)

        their_times, our_times = [], []
        for _ in range(num_iterations):
            their_times.append(time_call(solver.iteration))
            our_times.append(time_call(step))
        theirs, ours = median(their_times), median(our_times)
        cells = [f"{theirs:.3f} s", f"{1e3 * ours:.2f} ms", f"{theirs / ours:.0f}x"]
        print(format_row([f"{num_simulations} simulations per entry", *cells]))


def measure_leduc() -> None:
    """Print NashConv on Leduc by iteration, and processor time."""
    tree = cp.build_tree(cp.load_game("leduc_poker"))
    print(format_head(["NashConv on Leduc at", *map(str, LEDUC_MARKS), "seconds"]))
    for name, last_mark in LEDUC_METHODS.items():
        algorithm = cp.load_algorithm(name)
        memory, cells, seconds = algorithm.init(tree), [], 0.0
        for mark in LEDUC_MARKS:
            if mark > last_mark:
                break
            start = time.process_time()
            memory = algorithm.step(tree, memory, mark - memory.iteration)
            seconds += time.process_time() - start
            policy = next(iter(algorithm.policies(tree, memory).values()))
            cells.append(f"{cp.nash_conv(tree, policy):.4f}")
        cells += [""] * (len(LEDUC_MARKS) - len(cells))
        print(format_row([f"`{name}`", *cells, f"{seconds:.1f}"]))


def check_random_games(num_games: int = 1000) -> None:
    """Check on random games that NashConv never rises and ends at zero."""
    from tests.random_games import RandomGame

    for name in ("anytime_psro", "sp_psro"):
        largest_rise, largest_end, max_iterations, num_with_decisions = 0.0, 0.0, 0, 0
        for seed in range(num_games):
            tree = cp.build_tree(RandomGame(seed=seed, max_depth=5))
            initial_policy = INITIAL_POLICIES[seed % len(INITIAL_POLICIES)]
            algorithm = cp.load_algorithm(name, initial_policy=initial_policy)
            memory, values = algorithm.init(tree, seed), []
            while not memory.finished and memory.iteration < MAX_RANDOM_GAME_ITERATIONS:
                memory = algorithm.step(tree, memory)
                policy = algorithm.policies(tree, memory)["mixture"]
                values.append(cp.nash_conv(tree, policy))
            largest_rise = max(largest_rise, float(np.diff(values).max(initial=0.0)))
            largest_end = max(largest_end, values[-1])
            max_iterations = max(max_iterations, memory.iteration)
            num_with_decisions += tree.num_infosets > 0
        print(
            f"{name}: {num_games} games ({num_with_decisions} with decisions), largest rise of "
            f"NashConv {largest_rise:.1e}, largest at the end {largest_end:.1e}, at most "
            f"{max_iterations} iterations"
        )


def measure_joint() -> None:
    """Print the deviation gains of joint PSRO, checked independently by `cp.matrix`."""
    columns = ["game", "meta-solver", "iterations", "pools", "gap", "in the restricted game"]
    print(format_head([*columns, "seconds"]))
    for spec in JOINT_GAMES:
        tree = cp.build_tree(cp.load_game(spec))
        for meta_solver in JOINT_META_SOLVERS:
            algorithm = cp.algorithms.JPSRO(meta_solver=meta_solver)
            memory, start = algorithm.init(tree), time.process_time()
            while not memory.finished and time.process_time() - start < MAX_JOINT_SECONDS:
                memory = algorithm.step(tree, memory)
            device = algorithm.policies(tree, memory)["joint"]
            check = cp.matrix.coarse_deviation if device.coarse else cp.matrix.correlated_deviation
            pools = " x ".join(map(str, memory.pool_sizes))
            gap = f"{cp.judge(tree, device).nash_conv:.1e}"
            restricted_gap = f"{check(memory.meta_game, device.joint).gain:.1e}"
            seconds = f"{time.process_time() - start:.1f}"
            cells = [f"`{spec}`", meta_solver, memory.iteration, pools, gap, restricted_gap]
            print(format_row([*cells, seconds]), flush=True)


SECTIONS = {
    "openspiel": compare_openspiel,
    "leduc": measure_leduc,
    "games": check_random_games,
    "joint": measure_joint,
}


def main() -> None:
    """Run some sections, or all."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    for section in parser.parse_args().sections or SECTIONS:
        print(f"\n## {section}\n")
        SECTIONS[section]()


if __name__ == "__main__":
    main()
