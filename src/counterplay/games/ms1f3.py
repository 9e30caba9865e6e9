"""No-limit hold'em that ends with the flop's betting."""

from __future__ import annotations

from counterplay.core.settings import settings
from counterplay.games.custom_holdem import CustomHoldem


@settings()
class MS1F3(CustomHoldem):
    """Two rounds of betting, the second after a flop of three cards.

    Slumbot's public code judges this game exactly (github.com/ericgjackson/slumbot2019):
    blinds 1 and 2, stacks of 162, and the pot as the only bet, at most once a round, so that
    contributions are 2, 6, 18, 54 or 162.
    """

    board_cards: tuple[int, ...] = (0, 3)
    stacks: tuple[int, ...] = (162, 162)
