"""No-limit hold'em with a flop and a turn of one card each on 20 cards."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Interval

from counterplay.core.settings import settings
from counterplay.games.custom_holdem import CustomHoldem


@settings()
class MS2F1T1H5(CustomHoldem):
    """Three rounds with one board card each after the first, on the ranks 2 to 6.

    Slumbot's public code judges this game exactly (github.com/ericgjackson/slumbot2019):
    blinds 1 and 2, stacks of 162, and the pot as the only bet, at most once a round, so that
    contributions are 2, 6, 18, 54 or 162.

    Its value to player 0 is .392881 to .393096 chips.
    """

    board_cards: tuple[int, ...] = (0, 1, 1)
    num_ranks: Annotated[int, Interval(ge=1, le=13)] = 5
    stacks: tuple[int, ...] = (162, 162)
