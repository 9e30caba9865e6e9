"""General fictitious self-play."""

from __future__ import annotations

from counterplay.algorithms.cfr.engine import next_iterations
from counterplay.algorithms.fictitious_play import engine
from counterplay.algorithms.fictitious_play.engine import QLearningSelfPlay, SelfPlayMemory
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.settings import settings
from counterplay.kernels.sampling import fictitious_self_play


@settings()
class FSP(QLearningSelfPlay):
    """Fictitious self-play (Heinrich, Lanctot and Silver, 2015, algorithm 2). At t = 1, 2, ...:

        response = softmax(q / temperature_t) at every infoset
        mixture  = each player follows, for a whole episode, its response with probability
                   1 / (t + 1), else its average policy
        num_self_play_episodes episodes of the mixture, and for each player num_response_episodes
        with its response against the mixture, are stored in the players' replay buffers
        count    = count + response, at every decision of the player in its response episodes
        q        = q + rate_t * (max of q at the player's next infoset, or utility, - q),
                   along num_replays episodes drawn from the buffer, last decision first

    The average policy is the normalised count. rate_t = learning_rate / (1 + learning_rate_decay *
    sqrt(t)) and temperature_t = temperature / (1 + temperature_decay * sqrt(t)). Defaults are those
    of Heinrich's thesis (2017, 5.6.2), tuned on Leduc poker, except for the first temperature: the
    thesis's is 0.22 times the scale of utilities there.

    Departures from the paper: Q-learning replaces fitted Q iteration; and with the mixing
    probability 1 / (t + 1) the mixture is the next average policy, so that counting the response
    episodes alone learns it.
    """

    def step(self, tree: TreeArena, memory: SelfPlayMemory, iterations: int = 1) -> SelfPlayMemory:
        schedules = (
            1.0 / (next_iterations(memory, iterations) + 1.0),
            self.learning_rates(memory, iterations),
            self.temperatures(tree, memory, iterations),
        )
        kernel = fictitious_self_play.general_fsp
        return engine.iterate(tree, memory, kernel, schedules, *self.episode_counts)
