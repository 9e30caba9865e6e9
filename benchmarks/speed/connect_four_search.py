"""Measure alpha-beta and MCTS on the full board of connect four, beside OpenSpiel's MCTS.

    python -m benchmarks.speed.connect_four_search

Medians of five alternating turns in one process. OpenSpiel's searchers in Python and in C++ take
part if it is installed, with the same number of simulations and one random episode each.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

import counterplay as cp
from benchmarks.timing import first_paragraph, time_in_turns

NUM_SIMULATIONS = 500
NUM_TURNS = 5


def openspiel_searches() -> dict[str, Callable[[], object]]:
    """Return searches by OpenSpiel's MCTS in Python and in C++; none if it is not installed."""
    try:
        import numpy as np
        import pyspiel
        from open_spiel.python.algorithms import mcts
    except ImportError:
        return {}
    game = pyspiel.load_game("connect_four")

    def search_in_python() -> object:
        rng = np.random.RandomState(0)
        evaluator = mcts.RandomRolloutEvaluator(1, rng)
        bot = mcts.MCTSBot(game, 2, NUM_SIMULATIONS, evaluator, random_state=rng)
        return bot.step(game.new_initial_state())

    def search_in_cpp() -> object:
        evaluator = pyspiel.RandomRolloutEvaluator(1, 0)
        bot = pyspiel.MCTSBot(game, evaluator, 2.0, NUM_SIMULATIONS, 100, True, 0, False)
        return bot.step(game.new_initial_state())

    return {
        "OpenSpiel's MCTS in Python": search_in_python,
        "OpenSpiel's MCTS in C++": search_in_cpp,
    }


def main() -> None:
    """Print the milliseconds of each search."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.parse_args()
    game = cp.load_game("connect_four")
    evaluated = cp.search.AlphaBeta(
        max_depth=8,
        evaluate=cp.search.open_lines_evaluation,
        action_order=cp.search.middle_first_order,
    )
    plain = cp.search.AlphaBeta(max_depth=8)
    mcts = cp.search.MCTS(max_simulations=NUM_SIMULATIONS)
    searches: dict[str, Callable[[], object]] = {
        "alpha_beta, 8 plies, open_lines": lambda: evaluated.search(game),
        "alpha_beta, 8 plies, no evaluation": lambda: plain.search(game),
        f"mcts, {NUM_SIMULATIONS} simulations": lambda: mcts.search(game),
    } | openspiel_searches()
    seconds = time_in_turns(list(searches.values()), NUM_TURNS, time.perf_counter)
    for name, times in zip(searches, seconds, strict=True):
        print(f"{name:40}  {1000 * median(times):8.1f} ms")
    print(
        f"alpha_beta visits {evaluated.search(game).num_nodes:,} states with open_lines, ", end=""
    )
    print(f"{plain.search(game).num_nodes:,} without evaluation")


if __name__ == "__main__":
    main()
