"""Table-lookup batch fictitious self-play with Q-learning and the counting model."""

from __future__ import annotations

from counterplay.algorithms.fictitious_play import engine
from counterplay.algorithms.fictitious_play.engine import FictitiousSelfPlay, SelfPlayMemory
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core import field_bounds
from counterplay.core.settings import settings
from counterplay.kernels.sampling import fictitious_self_play


@settings()
class TableLookupFSP(FictitiousSelfPlay):
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

    num_self_play_episodes: int = 2  # episodes of the average policy per iteration
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
        field_bounds.check_bounds("table_lookup_fsp", self)

    def init(self, tree: TreeArena, seed: int = 0) -> SelfPlayMemory:
        return engine.new_memory(tree, seed, self.replay_buffer_size)

    def step(self, tree: TreeArena, memory: SelfPlayMemory, iterations: int = 1) -> SelfPlayMemory:
        rate = engine.decay_schedule(
            memory, iterations, self.learning_rate, self.learning_rate_decay
        )
        temperature = engine.decay_schedule(
            memory, iterations, self.temperature, self.temperature_decay
        )
        schedules, settings = (
            (rate, temperature),
            (self.num_self_play_episodes, self.num_response_episodes, self.num_replays),
        )
        return engine.iterate(
            tree, memory, fictitious_self_play.table_lookup_fsp, schedules, *settings
        )
