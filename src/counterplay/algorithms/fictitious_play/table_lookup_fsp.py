"""Table-lookup batch fictitious self-play with Q-learning and the counting model."""

from __future__ import annotations

from counterplay.algorithms.fictitious_play import engine
from counterplay.algorithms.fictitious_play.engine import QLearningSelfPlay, SelfPlayMemory
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.settings import settings
from counterplay.kernels.sampling import fictitious_self_play


@settings()
class TableLookupFSP(QLearningSelfPlay):
    """Table-lookup batch FSP (Heinrich, 2017, algorithms 6 and 7). At t = 1, 2, ...:

        num_self_play_episodes episodes of the average policy are stored in all replay buffers
        q        = q + rate_t * (max of q at the player's next infoset, or utility, - q),
                   along num_replays episodes drawn from the buffer, last decision first
        response = softmax(q / temperature_t) at every infoset
        num_response_episodes episodes per player, with its response against the others' average
        policy, are stored in its buffer
        count    = count + response, at every decision of the player in its response episodes

    The average policy is the normalised count. rate_t = learning_rate / (1 + learning_rate_decay *
    sqrt(t)) and temperature_t = temperature / (1 + temperature_decay * sqrt(t)). Defaults are those
    of the thesis (5.6.2), tuned on Leduc poker, except for the first temperature: the thesis's is
    0.22 times the scale of utilities there.

    Departure from the thesis, which reads episodes forwards: reading them backwards carries the
    outcome to all decisions at once.
    """

    def step(self, tree: TreeArena, memory: SelfPlayMemory, iterations: int = 1) -> SelfPlayMemory:
        schedules = (
            self.learning_rates(memory, iterations),
            self.temperatures(tree, memory, iterations),
        )
        kernel = fictitious_self_play.table_lookup_fsp
        return engine.iterate(tree, memory, kernel, schedules, *self.episode_counts)
