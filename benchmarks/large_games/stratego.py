"""Train R-NaD on small Stratego, and judge it by matches and by learned best responses.

    python -m benchmarks.large_games.stratego                                  a short run
    python -m benchmarks.large_games.stratego --iterations 4000 --episodes 256     hours
    python -m benchmarks.large_games.stratego --cost                           a minute

Episodes are played on compiled rules. The current policy is kept at `--checkpoints` equal
distances. The last one plays matches against each earlier one, which includes the untrained
network, and networks learn best responses to the first and the last. Rows are appended to
results/stratego.jsonl; seconds are processor time of the process. Networks are kept in `--folder`,
so that an interrupted command continues after the last checkpoint, match or response. `--cost`
prints the processor time and the compilations of the first iterations instead.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import counterplay as cp
from benchmarks.memory_files import read_memory, write_memory
from benchmarks.result_files import append_row, load_rows
from benchmarks.timing import first_paragraph

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


def train(args: argparse.Namespace) -> list[tuple[int, Any]]:
    """Return (iteration, policy) of each checkpoint, the untrained networks first."""
    arena = cp.RulesArena(cp.games.Stratego())
    algorithm = new_algorithm(args)
    memory = algorithm.init(arena, args.seed)
    checkpoints = [(0, algorithm.policies(arena, memory)["current"])]
    for number in range(1, args.checkpoints + 1):
        goal = args.iterations * number // args.checkpoints
        file = args.folder / f"{args.iterations}x{args.episodes}.{args.seed}.{goal}.npz"
        if file.exists():
            memory = read_memory(file, memory)
        else:
            memory = algorithm.step(arena, memory, goal - memory.iteration)
            write_memory(file, memory)
            store(args, "training", goal, decisions=int(memory.nodes_touched))
        checkpoints.append((goal, algorithm.policies(arena, memory)["current"]))
    return checkpoints


def new_algorithm(args: argparse.Namespace) -> Any:
    """Return R-NaD with a schedule of these iterations."""
    return cp.algorithms.RNaD(
        num_episodes=args.episodes,
        schedule_iterations=args.iterations,
        magnet_update_every=max(args.iterations // 4, 1),
        **SETTINGS,
    )


def print_costs(args: argparse.Namespace) -> None:
    """Print the cost of the first iterations of training, and of a response to networks."""
    import jax.monitoring

    from counterplay.algorithms.deep.common.batched_env import FixedOpponentsBatchedEnv
    from counterplay.algorithms.deep.common.jax_algorithm import wait_for
    from counterplay.algorithms.deep.common.learned_best_response import DEFAULT_LEARNER
    from counterplay.algorithms.deep.common.tree_or_rules import ResponseArena

    compiled: list[str] = []

    def count(event: str, duration_secs: float, **_: Any) -> None:
        if event.endswith("backend_compile_duration"):
            compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(count)
    game, trainer = cp.games.Stratego(), new_algorithm(args)
    policy = trainer.policies(cp.RulesArena(game), trainer.init(cp.RulesArena(game)))["current"]
    learner = cp.load_algorithm(DEFAULT_LEARNER, schedule_iterations=args.response_iterations)
    response_arena = ResponseArena(game, FixedOpponentsBatchedEnv(game, policy, 0))
    for name, algorithm, arena in (
        ("training", trainer, cp.RulesArena(game)),
        ("response", learner, response_arena),
    ):
        memory, touched = algorithm.init(arena, args.seed), 0
        for iteration in range(1, 6):
            start, first = time.process_time(), len(compiled)
            memory = algorithm.step(arena, memory, 1)
            wait_for(memory.state)
            seconds, decisions = time.process_time() - start, memory.nodes_touched - touched
            touched = memory.nodes_touched
            print(
                f"{name} {iteration}: {decisions:,} decisions, {seconds:.1f} CPU s, "
                f"{len(compiled) - first} programs compiled or loaded"
            )


def identify(args: argparse.Namespace, kind: str, iteration: int, **more: Any) -> dict[str, Any]:
    """Return the fields that tell a row from the others."""
    run = {"iterations": args.iterations, "num_episodes": args.episodes, "seed": args.seed}
    return {"kind": kind, **run, "iteration": iteration, **more}


def is_stored(row: dict[str, Any]) -> bool:
    """Return True if a row with these fields is stored."""
    return any(row.items() <= stored.items() for stored in load_rows(FAMILY))


def store(args: argparse.Namespace, kind: str, iteration: int, **more: Any) -> None:
    """Append a row and print it."""
    seconds = {"seconds": round(time.process_time())}
    row = identify(args, kind, iteration, **more) | seconds
    append_row(FAMILY, row)
    print(row, flush=True)


def main() -> None:
    """Train, play matches, learn responses; store each result."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--iterations", type=int, default=120)
    parser.add_argument("--episodes", type=int, default=64, help="per iteration")
    parser.add_argument("--checkpoints", type=int, default=3)
    parser.add_argument("--match-episodes", type=int, default=200)
    parser.add_argument("--response-iterations", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("runs/stratego"))
    parser.add_argument("--cost", action="store_true", help="of the first iterations only")
    args = parser.parse_args()
    if args.cost:
        print_costs(args)
        return
    checkpoints = train(args)
    game, (end, last) = cp.games.Stratego(), checkpoints[-1]
    for iteration, policy in checkpoints[:-1]:
        match_fields = {"opponent": iteration, "episodes": args.match_episodes}
        if is_stored(identify(args, "match", end, **match_fields)):
            continue
        match = cp.head_to_head(game, last, policy, max_episodes=args.match_episodes)
        score = match.scores[0]
        interval = {"mean": score.mean, "low": score.low, "high": score.high}
        store(args, "match", end, **match_fields, **interval)
    for iteration, policy in (checkpoints[0], checkpoints[-1]):
        response_fields = {"response_iterations": args.response_iterations}
        response_fields["episodes"] = args.match_episodes
        if is_stored(identify(args, "response", iteration, **response_fields)):
            continue
        bound = cp.learned_best_response(
            game,
            policy,
            iterations=args.response_iterations,
            num_episodes=args.match_episodes,
            seed=args.seed,
        ).nash_conv
        interval = {"mean": bound.mean, "low": bound.low, "high": bound.high}
        store(args, "response", iteration, **response_fields, **interval)


if __name__ == "__main__":
    main()
