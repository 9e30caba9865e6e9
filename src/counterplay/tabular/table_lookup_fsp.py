"""Table-lookup batch fictitious self-play with Q-learning and the counting model."""

from __future__ import annotations

from counterplay.kernels import self_play
from counterplay.settings import settings
from counterplay.tabular import fictitious, ranges
from counterplay.tabular.fictitious import SelfPlay, SelfPlayMemory
from counterplay.tree import Tree


@settings()
class TableLookupFSP(SelfPlay):
    """Table-lookup batch FSP (Heinrich, 2017, algorithms 6 and 7). At t = 1, 2, ...:

        n episodes of the average policy go to all players' episode memories
        q        = q + rate_t * (max of q at the player's next infoset, or utility, - q),
                   along `replays` episodes drawn from the memory, last decision first
        response = softmax(q / temperature_t) at every infoset
        m episodes per player, with its response against the others' average policy, go to its
        episode memory
        count    = count + response, at every decision of the player in its own m episodes

    The average policy is the count, scaled. rate_t = rate / (1 + rate_decay * sqrt(t)) and
    temperature_t = temperature / (1 + cooling * sqrt(t)); all defaults are the thesis's (5.6.2),
    tuned on Leduc: other payoffs want other temperatures. The thesis reads episodes forwards;
    backwards, as here, one reading carries the outcome to all decisions.
    """

    n: int = 2  # episodes of the average policy per iteration
    m: int = 1  # episodes per player and iteration in which it alone plays its response
    replays: int = 30  # episodes that Q-learning reads per player and iteration
    capacity: int = 40_000  # episodes that a player remembers
    rate: float = 0.05  # Q-learning's first step size
    rate_decay: float = 0.003
    temperature: float = 1.0  # of the first response, in the game's units
    cooling: float = 0.02

    def __post_init__(self) -> None:
        ranges.check("table_lookup_fsp", self)

    def init(self, tree: Tree, seed: int = 0) -> SelfPlayMemory:
        return fictitious.new_memory(tree, seed, self.capacity)

    def step(self, tree: Tree, memory: SelfPlayMemory, iterations: int = 1) -> SelfPlayMemory:
        rate = fictitious.schedule(memory, iterations, self.rate, self.rate_decay)
        temperature = fictitious.schedule(memory, iterations, self.temperature, self.cooling)
        schedules, settings = (rate, temperature), (self.n, self.m, self.replays)
        return fictitious.iterate(tree, memory, self_play.table_lookup, schedules, *settings)
