"""One round of no-limit hold'em without a board."""

from __future__ import annotations

from counterplay.core.settings import settings
from counterplay.games.custom_holdem import CustomHoldem


@settings()
class MS0(CustomHoldem):
    """One round of betting on two cards, without a board.

    Slumbot's public code judges this game exactly (github.com/ericgjackson/slumbot2019):
    blinds 1 and 2, stacks of 162, and the pot as the only bet, at most once a round, so that
    contributions are 2, 6, 18, 54 or 162.

    Its value to player 0 is .044786 to .044834 chips. 5,304 infosets.
    """

    board_cards: tuple[int, ...] = (0,)
    stacks: tuple[int, ...] = (162, 162)
