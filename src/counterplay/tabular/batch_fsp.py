"""Batch fictitious self-play with fitted Q iteration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplay.kernels import self_play
from counterplay.settings import settings
from counterplay.tabular import fictitious, ranges
from counterplay.tabular.fictitious import SelfPlay, SelfPlayMemory
from counterplay.tree import Floats, Ints, Tree


@dataclass
class BatchMemory(SelfPlayMemory):
    """The memory of self-play, and what the remembered episodes add up to in the tree's form."""

    visits: Ints  # [F] how often each sequence was taken
    gained: Floats  # [F] the utilities of the episodes in which it was the player's last


@settings()
class BatchFSP(SelfPlay):
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

    n: int = 200  # episodes of the average policy per iteration
    m: int = 100  # episodes per player and iteration in which it alone plays its response
    capacity: int = 40_000  # episodes that a player remembers
    temperature: float = 1.0  # of the first response, in the game's units
    cooling: float = 0.2
    sampled: bool = False  # count the actions taken, not the whole response

    def __post_init__(self) -> None:
        ranges.check("batch_fsp", self)

    def init(self, tree: Tree, seed: int = 0) -> BatchMemory:
        size = int(tree.form.offset[-1])
        start = fictitious.new_memory(tree, seed, self.capacity)
        return BatchMemory(**vars(start), visits=np.zeros(size, np.int64), gained=np.zeros(size))

    def step(self, tree: Tree, memory: BatchMemory, iterations: int = 1) -> BatchMemory:
        merged = np.arange(tree.num_sequences) if tree.perfect_recall else tree.merged
        deepest = int(tree.block[:, 1].max(initial=0))
        form = tree.form, merged.astype(np.int64), deepest + 1, memory.visits, memory.gained
        temperature = fictitious.schedule(memory, iterations, self.temperature, self.cooling)
        settings = self.n, self.m, self.sampled, *form
        return fictitious.iterate(tree, memory, self_play.batch, [temperature], *settings)
