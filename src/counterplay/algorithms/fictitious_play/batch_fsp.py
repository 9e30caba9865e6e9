"""Batch fictitious self-play with fitted Q iteration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplay.algorithms.fictitious_play import engine
from counterplay.algorithms.fictitious_play.engine import FictitiousSelfPlay, SelfPlayMemory
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core import field_bounds
from counterplay.core.arena import Floats, Ints
from counterplay.core.settings import settings
from counterplay.kernels.sampling import fictitious_self_play


@dataclass
class BatchFSPMemory(SelfPlayMemory):
    """The memory of self-play, and what the remembered episodes add up to in the tree's form."""

    visits: Ints  # [F] how often each sequence was taken
    return_sum: Floats  # [F] the utilities of the episodes in which it was the player's last


@settings()
class BatchFSP(FictitiousSelfPlay):
    """Batch fictitious self-play (Heinrich, 2017, algorithm 6). At t = 1, 2, ...:

        n episodes of the average policy go to all players' episode memories
        q        = the mean, over the remembered episodes through the action, of the utility or of
                   the max of q at the player's next infoset: fitted Q iteration, done to the end
        response = softmax(q / temperature_t) at every infoset
        m episodes per player, with its response against the others' average policy, go to its
        episode memory
        count    = count + response (or the action alone, with `sampled`), at every decision of the
                   player in its own m episodes

    The average policy is the count, scaled; temperature_t = temperature / (1 + cooling * sqrt(t)).
    Algorithm 6 leaves both learners open; these two fit all remembered data exactly, where
    `table_lookup_fsp` takes small steps. One iteration here has the episodes of a hundred there,
    and cooling makes up for it: per episode, the temperature is the thesis's. What the memory holds
    is kept as sums, to which an episode is added, and from which the oldest is taken: its size
    costs no time, but a larger one holds answers to older policies. Actions that no remembered
    episode took keep their last q.
    """

    num_self_play_episodes: int = 200  # episodes of the average policy per iteration
    num_response_episodes: int = (
        100  # episodes per player and iteration in which it alone plays its response
    )
    replay_buffer_size: int = 40_000  # episodes that a player remembers
    temperature: float = 1.0  # of the first response, in the game's units
    temperature_decay: float = 0.2
    count_sampled_actions: bool = False  # count the actions taken, not the whole response

    def __post_init__(self) -> None:
        field_bounds.check_bounds("batch_fsp", self)

    def init(self, tree: TreeArena, seed: int = 0) -> BatchFSPMemory:
        size = int(tree.form.offset[-1])
        start = engine.new_memory(tree, seed, self.replay_buffer_size)
        return BatchFSPMemory(
            **vars(start), visits=np.zeros(size, np.int64), return_sum=np.zeros(size)
        )

    def step(self, tree: TreeArena, memory: BatchFSPMemory, iterations: int = 1) -> BatchFSPMemory:
        merged = np.arange(tree.num_sequences) if tree.has_perfect_recall else tree.game_sequence
        deepest = int(tree.level_blocks[:, 1].max(initial=0))
        form = tree.form, merged.astype(np.int64), deepest + 1, memory.visits, memory.return_sum
        temperature = engine.decay_schedule(
            memory, iterations, self.temperature, self.temperature_decay
        )
        settings = (
            self.num_self_play_episodes,
            self.num_response_episodes,
            self.count_sampled_actions,
            *form,
        )
        return engine.iterate(
            tree, memory, fictitious_self_play.batch_fsp, [temperature], *settings
        )
