"""Learned best responses: how exploitable a policy is at least, by networks that learn against it.

Every player in turn learns alone, against a policy that stays as it is: the others are part of the
rules. What it has learned then plays fresh episodes, so that the gain is an honest estimate.
"""

from __future__ import annotations

from counterplay.arena import check_runs_on
from counterplay.bounding import LowerBound, bound_of, check_bound
from counterplay.deep.on_rules import Responding
from counterplay.deep.stepping import AgainstPolicy
from counterplay.game import Game
from counterplay.playing import Contestant
from counterplay.registry import load_algorithm

LEARNER = (
    "ppo(critic=network,episodes=128,units=(64,64),lr=0.005,tau=0.02,tau_end=0.002,smoothing=0)"
)


def learned_best_response(
    game: Game,
    policy: Contestant,
    *,
    learner: str = LEARNER,
    iterations: int = 300,
    episodes: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> LowerBound:
    """A lower bound of a policy's NashConv from responses that networks learn, on the rules alone.

    Args:
        policy: whoever can say `odds(state, player)` for every player.
        learner: a policy gradient that runs on rules; its `horizon` is set to the iterations.
        iterations: that each player learns for.
        episodes: for each player, each played once by its response and once by the policy.
        seed: the same seed gives the same result.
        confidence: how often the intervals are to cover the true gain of these responses.
    """
    counts = {"iterations": iterations, "episodes": episodes}
    check_bound(game, policy, confidence, counts)
    algorithm = load_algorithm(learner, horizon=iterations)
    responders = []
    for player in range(game.num_players):
        arena = Responding(game, AgainstPolicy(game, policy, player))
        check_runs_on(algorithm, arena)
        memory = algorithm.step(arena, algorithm.init(arena, seed), iterations)
        responders.append(algorithm.policies(arena, memory)["current"])
    return bound_of(game, policy, responders, episodes, seed + 1, confidence)
