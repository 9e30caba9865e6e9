"""Train R-NaD on small Stratego, and judge it by matches and by learned best responses.

    python -m benchmarks.large_games.stratego                                  a short run
    python -m benchmarks.large_games.stratego --iterations 4000 --episodes 256     hours

Episodes are played on compiled rules. The current policy is kept at `--checkpoints` equal
distances. The last one plays matches against each earlier one, which includes the untrained
network, and networks learn best responses to the first and the last. Rows are appended to
results/stratego.jsonl; seconds are processor time of the whole process.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import counterplay as cp
from benchmarks.result_files import append_row
from benchmarks.timing import first_paragraph, format_head, format_row

FAMILY = "stratego"
SETTINGS: dict[str, Any] = {
    "critic": "network",
    "hidden_sizes": (128,),
    "critic_hidden_sizes": (128,),
    "temperature": 0.1,
    "temperature_end": 0.1,
    "learning_rate": 3e-3,
    "average_every": 0,
    "ensemble_size": 8,
}


def train(
    iterations: int, num_episodes: int, num_checkpoints: int, seed: int
) -> list[tuple[int, Any]]:
    """Return (iteration, policy) of each checkpoint, the untrained networks first."""
    arena = cp.RulesArena(cp.games.Stratego())
    algorithm = cp.algorithms.RNaD(
        num_episodes=num_episodes,
        schedule_iterations=iterations,
        magnet_update_every=max(iterations // 4, 1),
        **SETTINGS,
    )
    memory = algorithm.init(arena, seed)
    checkpoints = [(0, algorithm.policies(arena, memory)["current"])]
    for number in range(1, num_checkpoints + 1):
        goal = iterations * number // num_checkpoints
        memory = algorithm.step(arena, memory, goal - memory.iteration)
        checkpoints.append((goal, algorithm.policies(arena, memory)["current"]))
        seconds = round(time.process_time())
        print(f"iteration {goal}: {memory.nodes_touched:,} decisions, {seconds} s", flush=True)
        decisions = int(memory.nodes_touched)
        row = {"kind": "training", "iteration": goal, "decisions": decisions, "seconds": seconds}
        append_row(FAMILY, row | {"num_episodes": num_episodes, "seed": seed})
    return checkpoints


def main() -> None:
    """Train, then print matches and bounds."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--iterations", type=int, default=120)
    parser.add_argument("--episodes", type=int, default=64, help="per iteration")
    parser.add_argument("--checkpoints", type=int, default=3)
    parser.add_argument("--match-episodes", type=int, default=200)
    parser.add_argument("--response-iterations", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    checkpoints = train(args.iterations, args.episodes, args.checkpoints, args.seed)
    game, (_, last) = cp.games.Stratego(), checkpoints[-1]
    print(format_head(["opponent", "score of the last checkpoint", "95 % interval"]))
    for iteration, policy in checkpoints[:-1]:
        match = cp.head_to_head(game, last, policy, max_episodes=args.match_episodes)
        score = match.scores[0]
        cells = [f"iteration {iteration}", f"{score.mean:+.3f}", f"{score.low:+.3f} to"]
        print(format_row([*cells[:2], f"{cells[2]} {score.high:+.3f}"]), flush=True)
        row = {"kind": "match", "iteration": checkpoints[-1][0], "opponent": iteration}
        row |= {"mean": score.mean, "low": score.low, "high": score.high}
        append_row(FAMILY, row | {"episodes": args.match_episodes, "seed": args.seed})
    for iteration, policy in (checkpoints[0], checkpoints[-1]):
        bound = cp.learned_best_response(
            game,
            policy,
            iterations=args.response_iterations,
            num_episodes=args.match_episodes,
            seed=args.seed,
        ).nash_conv
        print(
            f"learned responses to iteration {iteration} gain {bound.mean:+.3f} "
            f"({bound.low:+.3f} to {bound.high:+.3f}), {time.process_time():.0f} s",
            flush=True,
        )
        row = {"kind": "response", "iteration": iteration, "mean": bound.mean, "low": bound.low}
        row |= {"high": bound.high, "response_iterations": args.response_iterations}
        append_row(FAMILY, row | {"episodes": args.match_episodes, "seed": args.seed})


if __name__ == "__main__":
    main()
