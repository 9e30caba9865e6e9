"""No-limit hold'em on 20 cards."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Interval

from counterplay.core.settings import settings
from counterplay.games.custom_holdem import CustomHoldem


@settings()
class Holdem5(CustomHoldem):
    """Whole hold'em (flop, turn and river of 3, 1 and 1 cards) on the ranks 2 to 6.

    Slumbot's public code judges this game exactly (github.com/ericgjackson/slumbot2019):
    blinds 1 and 2, stacks of 162, and the pot as the only bet, at most once a round, so that
    contributions are 2, 6, 18, 54 or 162.
    """

    num_ranks: Annotated[int, Interval(ge=1, le=13)] = 5
    stacks: tuple[int, ...] = (162, 162)
