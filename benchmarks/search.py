"""How fast search is on the full board of connect four: python benchmarks/search.py

Medians of five turns in one process. OpenSpiel's searchers, if it is installed, take turns with
ours: its Python MCTS and its C++ one, with as many simulations and one random episode each.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import counterplay as cp

SIMULATIONS = 500


def main() -> None:
    game = cp.load_game("connect_four")
    deep = cp.AlphaBeta(depth=8, evaluate=cp.open_lines, order=cp.middle_first)
    blind = cp.AlphaBeta(depth=8)
    sampled = cp.MCTS(simulations=SIMULATIONS)
    turns: dict[str, Callable[[], object]] = {
        "alpha_beta, 8 plies, open_lines": lambda: deep.search(game),
        "alpha_beta, 8 plies, no evaluation": lambda: blind.search(game),
        f"mcts, {SIMULATIONS} simulations": lambda: sampled.search(game),
    } | _openspiel()
    seconds: dict[str, list[float]] = {name: [] for name in turns}
    for _ in range(5):
        for name, turn in turns.items():
            began = time.perf_counter()
            turn()
            seconds[name].append(time.perf_counter() - began)
    for name, taken in seconds.items():
        print(f"{name:40}  {1000 * median(taken):8.1f} ms")
    print(f"alpha_beta visits {deep.search(game).num_nodes:,} states with open_lines, ", end="")
    print(f"{blind.search(game).num_nodes:,} without evaluation")


def _openspiel() -> dict[str, Callable[[], object]]:
    """OpenSpiel's MCTS in Python and in C++."""
    try:
        import numpy as np
        import pyspiel
        from open_spiel.python.algorithms import mcts
    except ImportError:
        return {}
    game = pyspiel.load_game("connect_four")

    def in_python() -> object:
        rng = np.random.RandomState(0)
        evaluator = mcts.RandomRolloutEvaluator(1, rng)
        return mcts.MCTSBot(game, 2, SIMULATIONS, evaluator, random_state=rng).step(
            game.new_initial_state()
        )

    def in_cpp() -> object:
        evaluator = pyspiel.RandomRolloutEvaluator(1, 0)
        bot = pyspiel.MCTSBot(game, evaluator, 2.0, SIMULATIONS, 100, True, 0, False)
        return bot.step(game.new_initial_state())

    return {
        "OpenSpiel's mcts in Python": in_python,
        "OpenSpiel's mcts in C++": in_cpp,
    }


if __name__ == "__main__":
    main()
