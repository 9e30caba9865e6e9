"""What sampling algorithms keep about a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from counterplay.tree import Floats, Ints


@dataclass
class SampleMemory:
    """What the family keeps on a tree; every one of W workers has a row of its own."""

    iteration: int
    seed: Ints  # [W]
    touched: Ints  # [W] nodes, counted as often as they were visited
    regret: Floats  # [W, S]
    policy: Floats  # [W, S + C] the current one, with the probabilities of chance behind it
    policy_sum: Floats  # [W, S]
    visits: Floats  # [W, S] the last iteration counted by the lazy average; [W, 0] if unused
    baseline: Floats  # [W, B] guesses at values; [W, 0] if unused
    largest: Floats  # [W, S] values met at an infoset, kept at its first action
    finished: ClassVar[bool] = False
    merges: ClassVar[bool] = True
