"""Batch fictitious self-play with fitted Q iteration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplay.algorithms.fictitious_play import engine
from counterplay.algorithms.fictitious_play.engine import FictitiousSelfPlay, SelfPlayMemory
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, Ints
from counterplay.core.settings import (
    NonNegative,
    NonNegativeInt,
    Positive,
    PositiveInt,
    settings,
)
from counterplay.kernels.sampling import fictitious_self_play


@dataclass
class BatchFSPMemory(SelfPlayMemory):
    """The memory of self-play, and sums over the buffered episodes by sequence of the form."""

    visits: Ints  # [F] number of episodes that contain the sequence
    return_sum: Floats  # [F] utilities of the episodes in which it was the player's last


@settings()
class BatchFSP(FictitiousSelfPlay):
    """Batch fictitious self-play (Heinrich, 2017, algorithm 6). At t = 1, 2, ...:

        num_self_play_episodes episodes of the average policy are stored in all replay buffers
        q        = the mean, over the buffered episodes through the action, of the utility or of
                   the max of q at the player's next infoset: fitted Q iteration until convergence
        response = softmax(q / temperature_t) at every infoset
        num_response_episodes episodes per player, with its response against the others' average
        policy, are stored in its buffer
        count    = count + response (or the action alone, with count_sampled_actions), at every
                   decision of the player in its response episodes

    The average policy is the normalised count, and temperature_t = temperature /
    (1 + temperature_decay * sqrt(t)). Algorithm 6 leaves both learners open; these two fit all
    buffered data exactly, where `table_lookup_fsp` takes small steps. One iteration has as many
    episodes as a hundred of `table_lookup_fsp`; the larger temperature_decay compensates for it, so
    that the temperature per episode is the thesis's.

    The buffer is kept as sums, to which each new episode is added and from which the oldest is
    subtracted. Its size costs no time, but a larger buffer holds responses to older policies.
    Actions that occur in no buffered episode keep their last q.
    """

    num_self_play_episodes: NonNegativeInt = 200  # episodes of the average policy, per iteration
    num_response_episodes: PositiveInt = 100  # episodes of a player's response, per iteration
    replay_buffer_size: PositiveInt = 40_000  # episodes in the buffer of a player
    temperature: Positive = 0.7  # of the first response, for utilities divided by their scale
    temperature_decay: NonNegative = 0.2
    normalize_utilities: bool = True  # divide utilities by the game's scale
    count_sampled_actions: bool = False  # count the sampled action, not the whole response

    def init(self, tree: TreeArena, seed: int = 0) -> BatchFSPMemory:
        size = int(tree.form.offset[-1])
        memory = engine.new_memory(tree, seed, self.replay_buffer_size)
        return BatchFSPMemory(
            **vars(memory), visits=np.zeros(size, np.int64), return_sum=np.zeros(size)
        )

    def step(self, tree: TreeArena, memory: BatchFSPMemory, iterations: int = 1) -> BatchFSPMemory:
        merged = np.arange(tree.num_sequences) if tree.has_perfect_recall else tree.game_sequence
        max_level = int(tree.level_blocks[:, 1].max(initial=0))
        arguments = (
            self.num_self_play_episodes,
            self.num_response_episodes,
            self.count_sampled_actions,
            tree.form,
            merged.astype(np.int64),
            max_level + 1,
            memory.visits,
            memory.return_sum,
        )
        schedules = [self.temperatures(tree, memory, iterations)]
        kernel = fictitious_self_play.batch_fsp
        return engine.iterate(tree, memory, kernel, schedules, *arguments)
