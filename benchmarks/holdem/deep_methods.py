"""Train deep methods on the rules of hold'em for equal time, and compare them.

    python -m benchmarks.holdem.deep_methods train flop_holdem --seconds 180 --folder /tmp/deep
    python -m benchmarks.holdem.deep_methods judge flop_holdem --folder /tmp/deep
    python -m benchmarks.holdem.deep_methods train limit_holdem --seconds 180 --folder /tmp/deep
    python -m benchmarks.holdem.deep_methods match limit_holdem --folder /tmp/deep

`train` gives every method the same processor seconds, compilation not counted: it measures an
iteration, then starts a run of as many as fit. `judge` prints exact exploitability in mbb per game.
`match` prints the cross table of duplicate matches, each with a 95 % interval. Every command
continues where it was interrupted, and rows are in `benchmarks/results/deep_holdem.jsonl`.
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import counterplay as cp
from benchmarks.result_files import append_row, load_rows
from benchmarks.timing import Stopwatch, first_paragraph, peak_memory_mib
from counterplay.experiment.runner import load_run, new_run, resume

FAMILY = "deep_holdem"
ENCODING = "cards_and_strength"
NUM_MEASURED_ITERATIONS = 3
METHODS: dict[str, dict[str, Any]] = {
    "sd_cfr": {"ensemble_size": 10, "num_traversals": 500},
    "deep_cfr": {"num_traversals": 500},
    "vr_deep_dcfr_plus": {},
    "dream": {"ensemble_size": 10},
    "escher": {"ensemble_size": 10},
    "nfsp": {"num_episodes": 1024, "reservoir_size": 1_000_000},
    "ppo": {},
    "deep_mmd": {},
    "deep_hedge": {"ensemble_size": 10},
}
SCHEDULED_METHODS = ("nfsp", "ppo", "deep_mmd")  # their rates fall over `schedule_iterations`


def run_config(method: str, game: str, iterations: int) -> dict[str, Any]:
    """Return the config of a method's run."""
    spec: dict[str, Any] = {"max_steps": iterations, "evaluate_every": iterations}
    spec["checkpoint_every"] = max(1, iterations // 4)
    name = f"{game.partition('(')[0]}_{method}"
    spec |= {"encoding": ENCODING, **METHODS[method]}
    if method in SCHEDULED_METHODS:
        spec["schedule_iterations"] = iterations
    return {"name": name, "algorithm": method, "game": game, "arena": "rules", "spec": spec}


def count_iterations(method: str, game: str, seconds: float) -> int:
    """Return the iterations that take a number of processor seconds once all is compiled."""
    arena = cp.RulesArena(cp.load_game(game))
    algorithm = cp.load_algorithm(method, encoding=ENCODING, **METHODS[method])
    memory = algorithm.step(arena, algorithm.init(arena, 0), NUM_MEASURED_ITERATIONS)
    start, count = time.process_time(), NUM_MEASURED_ITERATIONS
    while time.process_time() - start < 0.02 * seconds:
        memory = algorithm.step(arena, memory, count)
        count *= 2
    done = memory.iteration - NUM_MEASURED_ITERATIONS
    per_iteration = (time.process_time() - start) / max(done, 1)
    return max(1, round(seconds / per_iteration))


def train(game: str, folder: Path, seconds: float, methods: list[str]) -> None:
    """Train every method that has not finished."""
    for method in methods:
        target = folder / game.partition("(")[0] / method
        if target.exists():
            resume(target)  # a finished run stays as it is
        else:
            iterations = count_iterations(method, game, seconds)
            with Stopwatch() as watch:
                new_run(run_config(method, game, iterations), target).advance()
            row = {"kind": "train", "game": game, "method": method, "iterations": iterations}
            row |= {"cpu_seconds": round(watch.cpu_seconds), "peak_mib": round(peak_memory_mib())}
            append_row(FAMILY, row)
            print(row, flush=True)


def judge(game: str, folder: Path, methods: list[str]) -> None:
    """Judge the first policy of every method that is not judged yet."""
    arena: Any = None
    for method in methods:
        key = {"kind": "judge", "game": game, "method": method}
        if any(key.items() <= row.items() for row in load_rows(FAMILY)):
            continue
        name, policy = first_policy(game, folder, method)
        arena = arena or cp.holdem.HoldemGameArena(cp.load_game(game))
        with Stopwatch() as watch:
            judgement = cp.judge(arena, policy)
        mbb = 1000.0 * judgement.exploitability / arena.game.min_bet
        row = key | {"policy": name, "mbb": round(mbb, 2), "cpu_seconds": round(watch.cpu_seconds)}
        append_row(FAMILY, row)
        print(row, flush=True)


def match(game: str, folder: Path, methods: list[str], episodes: int) -> None:
    """Play all pairs that have not met yet."""
    rules = cp.load_game(game)
    for first, second in combinations(methods, 2):
        key = {"kind": "match", "game": game, "first": first, "second": second}
        if any(key.items() <= row.items() for row in load_rows(FAMILY)):
            continue
        agents = [first_policy(game, folder, method)[1] for method in (first, second)]
        score: Any = cp.head_to_head(rules, *agents, max_episodes=episodes).scores[0]
        scale = 1000.0 / rules.min_bet  # type: ignore[attr-defined]
        mbb = {"mbb": score.mean, "low": score.low, "high": score.high}
        row = key | {k: round(scale * v, 1) for k, v in mbb.items()} | {"episodes": episodes}
        append_row(FAMILY, row)
        print(row, flush=True)


def first_policy(game: str, folder: Path, method: str) -> tuple[str, Any]:
    """Return the name and the policy that a method's run keeps first."""
    policies = load_run(folder / game.partition("(")[0] / method).policies
    return next(iter(policies.items()))


def main() -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("command", choices=("train", "judge", "match"))
    parser.add_argument("game")
    parser.add_argument("--folder", type=Path, required=True, help="of the runs")
    parser.add_argument("--seconds", type=float, default=180.0, help="processor time of each")
    parser.add_argument("--methods", nargs="+", default=[*METHODS])
    parser.add_argument("--episodes", type=int, default=20_000, help="of each match")
    args = parser.parse_args()
    if args.command == "train":
        train(args.game, args.folder, args.seconds, args.methods)
    elif args.command == "judge":
        judge(args.game, args.folder, args.methods)
    else:
        match(args.game, args.folder, args.methods, args.episodes)


if __name__ == "__main__":
    main()
