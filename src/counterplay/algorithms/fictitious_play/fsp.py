"""General fictitious self-play."""

from __future__ import annotations

import numpy as np

from counterplay.algorithms.fictitious_play import engine
from counterplay.algorithms.fictitious_play.engine import FictitiousSelfPlay, SelfPlayMemory
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core import field_bounds
from counterplay.core.settings import settings
from counterplay.kernels.sampling import fictitious_self_play


@settings()
class FSP(FictitiousSelfPlay):
    """Fictitious self-play (Heinrich, Lanctot and Silver, 2015, algorithm 2). At t = 1, 2, ...:

        response = softmax(q / temperature_t) at every infoset
        mixture  = each player follows, for a whole episode, its response with probability
                   1 / (t + 1), else its average policy
        n episodes of the mixture, and for each player m with its response against the mixture,
        go to the players' episode memories
        count    = count + response, at every decision of the player in its own m episodes
        q        = q + rate_t * (max of q at the player's next infoset, or utility, - q),
                   along `replays` episodes drawn from the memory, last decision first

    The average policy is the count, scaled. rate_t = rate / (1 + rate_decay * sqrt(t)) and
    temperature_t = temperature / (1 + cooling * sqrt(t)); all defaults are those of Heinrich's
    thesis (2017, 5.6.2), tuned on Leduc: other payoffs want other temperatures. Q-learning stands
    for the paper's fitted Q iteration, and the mixing probability 1 / (t + 1) makes the mixture the
    next average, so that counting the m episodes alone learns it.
    """

    num_self_play_episodes: int = 2  # episodes of the mixture per iteration
    num_response_episodes: int = (
        1  # episodes per player and iteration in which it alone plays its response
    )
    num_replays: int = 30  # episodes that Q-learning reads per player and iteration
    replay_buffer_size: int = 40_000  # episodes that a player remembers
    learning_rate: float = 0.05  # Q-learning's first step size
    learning_rate_decay: float = 0.003
    temperature: float = 1.0  # of the first response, in the game's units
    temperature_decay: float = 0.02

    def __post_init__(self) -> None:
        field_bounds.check_bounds("fsp", self)

    def init(self, tree: TreeArena, seed: int = 0) -> SelfPlayMemory:
        return engine.new_memory(tree, seed, self.replay_buffer_size)

    def step(self, tree: TreeArena, memory: SelfPlayMemory, iterations: int = 1) -> SelfPlayMemory:
        t = np.arange(memory.iteration + 1.0, memory.iteration + 1.0 + iterations)
        rate = engine.decay_schedule(
            memory, iterations, self.learning_rate, self.learning_rate_decay
        )
        temperature = engine.decay_schedule(
            memory, iterations, self.temperature, self.temperature_decay
        )
        schedules = 1.0 / (t + 1.0), rate, temperature
        settings = self.num_self_play_episodes, self.num_response_episodes, self.num_replays
        return engine.iterate(tree, memory, fictitious_self_play.general_fsp, schedules, *settings)
