"""Seat values of one round of betting on two cards, with three and six players.

    python -m benchmarks.agents.seat_values PLAYERS BETTING ITERATIONS HANDS [--response N]

Blinds are 1 and 2, and there is at most one raise: of 4 chips (BETTING is `limit`) or of the pot
(`pot`; stacks of 162). Seats are printed from the small blind to the button, in chips, with 95 %
intervals of the hands played. With `--response`, each seat also learns a response against the
others for N iterations; what it earns more is printed as `gains`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import counterplay as cp
from benchmarks.timing import first_paragraph
from counterplay.abstraction.betting_policy import BettingPolicy
from counterplay.play.match import Estimate
from counterplay.play.poker.table_match import TableMatch
from counterplay.registry import load_abstracted_game, load_game

NUM_PERIODS = 50


def make_arena(players: int, betting: str) -> Any:
    """Return the rules; without a board the 169 classes of hands lose nothing."""
    bets = "raises=(4,),raise_caps=(1,)"
    if betting == "pot":
        bets = f"stacks=({','.join(['162'] * players)}),raises=(),raise_caps=(1,),sizes='1'"
    blinds = ",".join(["1", "2", *["0"] * (players - 2)])
    spec = f"poker(players={players},blinds=({blinds}),opens=(2,),board=(0,),{bets})"
    return cp.RulesArena(load_abstracted_game(load_game(spec), "by_equity(perfect_recall=false)"))


def solve(arena: Any, iterations: int, **settings: Any) -> BettingPolicy:
    """Return the average profile."""
    period = max(iterations // NUM_PERIODS, 1)
    algorithm = cp.load_algorithm(
        "external_sampling", dense_tables=True, linear_period=period, **settings
    )
    memory = algorithm.step(arena, algorithm.init(arena, 0), iterations)
    policy: BettingPolicy = algorithm.policies(arena, memory)["average"]
    return policy


def play_seats(policy: BettingPolicy, hands: int) -> list[Estimate]:
    """Return the winnings of all seats with the same policy."""
    match = TableMatch(policy.tables.game, [policy])
    for _ in match.play(hands):
        pass
    return [score for score in match.result().seat_scores[0] if isinstance(score, Estimate)]


def main() -> None:
    """Print the seat values as JSON."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("players", type=int)
    parser.add_argument("betting", choices=("limit", "pot"))
    parser.add_argument("iterations", type=int)
    parser.add_argument("hands", type=int)
    parser.add_argument("--response", type=int, default=0)
    args = parser.parse_args()
    start, arena = time.process_time(), make_arena(args.players, args.betting)
    policy = solve(arena, args.iterations)
    scores = play_seats(policy, args.hands)
    row: dict[str, Any] = {**vars(args), "seats": [round(s.mean, 4) for s in scores]}
    row["margins"] = [round((s.high - s.low) / 2, 4) for s in scores]
    if args.response:
        row["gains"] = []
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "policy.npz"
            policy.save(file)
            for seat, score in enumerate(scores):
                part = {"part": f"seat {seat}", "outside": str(file)}
                response = play_seats(solve(arena, args.response, **part), args.hands)[seat]
                row["gains"].append(round(response.mean - score.mean, 4))
    print(json.dumps({**row, "cpu_seconds": round(time.process_time() - start, 1)}))


if __name__ == "__main__":
    main()
