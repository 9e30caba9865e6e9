"""No-limit hold'em with a flop of one card."""

from __future__ import annotations

from counterplay.core.settings import settings
from counterplay.games.custom_holdem import CustomHoldem


@settings()
class MS1F1(CustomHoldem):
    """Two rounds of betting, the second after a flop of one card.

    Slumbot's public code judges this game exactly (github.com/ericgjackson/slumbot2019):
    blinds 1 and 2, stacks of 162, and the pot as the only bet, at most once a round, so that
    contributions are 2, 6, 18, 54 or 162.

    Its value to player 0 is .139775 to .140307 chips.
    """

    board_cards: tuple[int, ...] = (0, 1)
    stacks: tuple[int, ...] = (162, 162)
