"""General fictitious self-play."""

from __future__ import annotations

import numpy as np

from counterplay.kernels import self_play
from counterplay.settings import settings
from counterplay.tabular import fictitious, ranges
from counterplay.tabular.fictitious import SelfPlay, SelfPlayMemory
from counterplay.tree import Tree


@settings()
class FSP(SelfPlay):
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

    n: int = 2  # episodes of the mixture per iteration
    m: int = 1  # episodes per player and iteration in which it alone plays its response
    replays: int = 30  # episodes that Q-learning reads per player and iteration
    capacity: int = 40_000  # episodes that a player remembers
    rate: float = 0.05  # Q-learning's first step size
    rate_decay: float = 0.003
    temperature: float = 1.0  # of the first response, in the game's units
    cooling: float = 0.02

    def __post_init__(self) -> None:
        ranges.check("fsp", self)

    def init(self, tree: Tree, seed: int = 0) -> SelfPlayMemory:
        return fictitious.new_memory(tree, seed, self.capacity)

    def step(self, tree: Tree, memory: SelfPlayMemory, iterations: int = 1) -> SelfPlayMemory:
        t = np.arange(memory.iteration + 1.0, memory.iteration + 1.0 + iterations)
        rate = fictitious.schedule(memory, iterations, self.rate, self.rate_decay)
        temperature = fictitious.schedule(memory, iterations, self.temperature, self.cooling)
        schedules = 1.0 / (t + 1.0), rate, temperature
        settings = self.n, self.m, self.replays
        return fictitious.iterate(tree, memory, self_play.general, schedules, *settings)
