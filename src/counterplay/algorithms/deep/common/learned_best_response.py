"""Lower bounds of a policy's NashConv from best responses that networks learn.

Each player in turn learns against the fixed policy of the others, which is part of the rules it
sees. The learned response then plays fresh episodes, so that the estimate of its gain is unbiased.
"""

from __future__ import annotations

from counterplay.algorithms.deep.common.batched_env import FixedOpponentsBatchedEnv
from counterplay.algorithms.deep.common.tree_or_rules import ResponseArena
from counterplay.core.arena import check_runs_on
from counterplay.core.game import Game
from counterplay.play.bounds import (
    LowerBound,
    check_bound_arguments,
    estimate_lower_bound,
)
from counterplay.play.episodes import Agent
from counterplay.registry import load_registered_algorithm

DEFAULT_LEARNER = (
    "ppo(critic=network,num_episodes=128,hidden_sizes=(64,64),learning_rate=0.005,"
    "temperature=0.01,temperature_end=0.001,ema_decay=0)"
)


def learned_best_response(
    game: Game,
    policy: Agent,
    *,
    learner: str = DEFAULT_LEARNER,
    iterations: int = 300,
    num_episodes: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> LowerBound:
    """Estimate a lower bound of a policy's NashConv from learned responses; needs no tree.

    Args:
        policy: an agent with `action_probabilities(state, player)` for every player.
        learner: a policy gradient that runs on rules; its `schedule_iterations` is set
            to the iterations.
        iterations: of training, for each player.
        num_episodes: for each player, each played once by its response and once by the policy.
        seed: of all randomness; the same seed gives the same result.
        confidence: probability with which the interval covers the true gain of the responses.

    Returns:
        The bound with its interval, and the gain of each player.
    """
    counts = {"iterations": iterations, "num_episodes": num_episodes}
    check_bound_arguments(game, policy, confidence, counts)
    algorithm = load_registered_algorithm(learner, schedule_iterations=iterations)
    responders = []
    for player in range(game.num_players):
        arena = ResponseArena(game, FixedOpponentsBatchedEnv(game, policy, player))
        check_runs_on(algorithm, arena)
        memory = algorithm.step(arena, algorithm.init(arena, seed), iterations)
        responders.append(algorithm.policies(arena, memory)["current"])
    return estimate_lower_bound(game, policy, responders, num_episodes, seed + 1, confidence)
