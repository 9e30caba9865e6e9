"""Local best response and AIVAT beside the truth, on poker games whose trees fit into memory.

    python -m benchmarks.agents.exact_games [GAME] [--hands N] [--iterations 3 30 300]

The agents are uniform play and averages of CFR after some iterations. For each of them:

- exploitability: exact, the mean gain of a best response over both seats;
- local best response: its winnings in both seats; a lower bound of the exploitability;
- a match with the average of CFR+ (an equilibrium up to its error): exact value, then chips won and
  AIVAT's estimate, whose values of states are those of the equilibrium.

All figures are in thousandths of a big blind per hand, with 95 % intervals.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from typing import Any

import counterplay as cp
from benchmarks.timing import first_paragraph
from counterplay.play.aivat import aivat_utilities, value_function_from_policy
from counterplay.play.local_best_response import LocalBestResponse, LocalResponseConfig
from counterplay.play.match import Match, UtilityCorrection

GAME = (  # Leduc poker with six ranks
    "poker(blinds=(1,1),opens=(0,0),raises=(2,4),raise_caps=(2,2),ranks=6,suits=2,hole=1,board=(0,1))"
)
EQUILIBRIUM_ITERATIONS = 1000


def play(
    game: Any, agents: list[Any], num_hands: int, correction: UtilityCorrection | None = None
) -> list[float]:
    """Return the first agent's mean winnings in mbb, and half of the interval."""
    match = Match(game, agents, correction=correction)
    for _ in match.play(num_hands):
        pass
    score: Any = match.result().scores[0]
    mbb = 1000.0 / max(game.blinds)
    return [round(mbb * score.mean, 1), round(mbb * (score.high - score.low) / 2, 1)]


def main() -> None:
    """Print one JSON object per agent."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("game", nargs="?", default=GAME)
    parser.add_argument("--hands", type=int, default=20_000)
    parser.add_argument("--iterations", type=int, nargs="+", default=[3, 30, 300])
    args = parser.parse_args()
    game: Any = cp.load_game(args.game)
    tree = cp.build_tree(game)
    mbb = 1000.0 / max(game.blinds)
    equilibrium = cp.solve(tree, "cfr_plus", iterations=EQUILIBRIUM_ITERATIONS).policy
    correction = partial(
        aivat_utilities, game, value_function=value_function_from_policy(equilibrium)
    )
    agents = {"uniform": cp.uniform_policy(tree)}
    for count in args.iterations:
        agents[f"cfr, {count}"] = cp.solve(tree, "cfr", iterations=count).policy
    for name, agent in agents.items():
        start, pair = time.process_time(), [agent, equilibrium]
        response = LocalBestResponse(game, agent, LocalResponseConfig(sizes="1"))
        exact: Any = cp.head_to_head(tree, *pair).scores[0]
        row = {
            "agent": name,
            "exploitability": round(cp.judge(tree, agent).exploitability * mbb, 1),
            "local_best_response": play(game, [response, agent], args.hands),
            "match_exact": round(exact.mean * mbb, 1),
            "match_chips": play(game, pair, args.hands),
            "match_aivat": play(game, pair, args.hands, correction),
        }
        print(json.dumps({**row, "cpu_seconds": round(time.process_time() - start, 1)}), flush=True)


if __name__ == "__main__":
    main()
