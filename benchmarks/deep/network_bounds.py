"""Measure local best responses to a network, with playouts together and one by one.

    python -m benchmarks.deep.network_bounds leduc_poker --episodes 200

Prints processor seconds of `local_best_response` after a first call that compiles, and the bound of
NashConv, which is the same for both.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

from benchmarks.timing import first_paragraph


@dataclass(frozen=True)
class OneByOne:
    """A policy that is asked at one state at a time."""

    policy: Any

    def action_probabilities(self, state: Any, player: int) -> list[float]:
        """Return the policy's answer."""
        answer: list[float] = self.policy.action_probabilities(state, player)
        return answer


def main() -> None:
    """Print the seconds of both ways."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("game")
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--playouts", type=int, default=100)
    args = parser.parse_args()
    import numpy as np

    import counterplay as cp
    from counterplay.algorithms.deep.common.batched_env import get_env
    from counterplay.algorithms.deep.common.network_policy import NetworkPolicy
    from counterplay.algorithms.deep.common.networks import new_nets

    game: Any = cp.load_game(args.game)
    env = get_env(game)
    sizes = (env.num_features, 64, 64, env.num_actions)
    policy = NetworkPolicy(game, (new_nets(np.random.default_rng(0), env.num_players, sizes),))
    counts = {"num_episodes": args.episodes, "num_playouts": args.playouts}
    cp.local_best_response(game, policy, **counts)
    for name, agent in (("together", policy), ("one by one", OneByOne(policy))):
        start = time.process_time()
        bound = cp.local_best_response(game, agent, **counts)
        seconds = time.process_time() - start
        print(f"{args.game}, {name}: {seconds:.2f} s, NashConv >= {bound.nash_conv.mean:.4g}")


if __name__ == "__main__":
    main()
