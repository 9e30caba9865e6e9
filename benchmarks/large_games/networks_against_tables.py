"""Networks and tables on the same rules, at equal time: a match, and how exploitable both are.

    python -m benchmarks.large.head_to_head GAME ALGORITHM SECONDS [EPISODES]

such as `"liars_dice(numdice=2,dice_sides=4)" "sd_cfr(reservoir_size=200000)" 300`. Both learn on
the rules, which are never unrolled, for so many seconds of processor time, the second one by
`external_sampling`. Then the networks play uniform play and the table, duplicate: both seats, the
same dice. Where the game has a generated arena both are also judged exactly there.
"""

from __future__ import annotations

import sys
import time

import counterplay as cp
from counterplay.registry import FACTORED_ARENAS


def learned(arena, algorithm, seconds):
    memory = algorithm.init(arena, 0)
    memory = algorithm.step(arena, memory, 1)  # compiles
    began, count = time.process_time(), 1
    while time.process_time() - began < seconds:
        before = time.process_time()
        memory = algorithm.step(arena, memory, count)
        if time.process_time() - before < 0.05 * seconds:
            count *= 2
    spent = time.process_time() - began
    print(
        f"{algorithm}: {memory.iteration:,} iterations, {memory.nodes_touched:,} nodes, {spent:.0f} s"
    )
    policies = algorithm.policies(arena, memory)
    return next(iter(policies.values()))


def main(spec, method, seconds, episodes=4000):
    game = cp.load_game(spec)
    arena = cp.RulesArena(game)
    table = learned(arena, cp.algorithms.ExternalSampling(), float(seconds))
    network = learned(arena, cp.load_algorithm(method), float(seconds))
    for name, other in (("uniform play", cp.TabularPolicy(game)), ("the table", table)):
        result = cp.head_to_head(game, network, other, max_episodes=int(episodes))
        score = result.scores[0]
        interval = f"95% {score.low:+.4f} to {score.high:+.4f}"
        print(f"against {name} the networks win {score.mean:+.4f} a game, {interval}")
        print(f"in {result.episodes:,} episodes, both seats", flush=True)
    if spec.partition("(")[0] in FACTORED_ARENAS:
        exact = cp.build_arena(game, "generated")
        for name, policy in (("networks", network), ("table", table)):
            print(f"{name}: exploitability {cp.exploitability(exact, policy.tabulate(exact)):.4f}")


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) > 3 else sys.exit(__doc__)
