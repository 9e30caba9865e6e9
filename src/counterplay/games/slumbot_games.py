"""Small no-limit hold'em games that Slumbot's public code solves and judges exactly.

The rules are those of github.com/ericgjackson/slumbot2019: blinds 1 and 2, stacks of 162, and the
pot as the only bet, at most once a round, so that contributions are 2, 6, 18, 54 or 162. A name
gives the board cards (`f1`: a flop of one card) and the deck (`h5`: the ranks 2 to 6).
"""

from __future__ import annotations

from typing import Annotated

from annotated_types import Interval

from counterplay.core.settings import settings
from counterplay.games.custom_holdem import CustomHoldem


@settings()
class MS0(CustomHoldem):
    """One round of betting on two cards, without a board: 1,326 hands, 5,304 infosets.

    Its value to player 0 is .044786 to .044834 chips (Slumbot).
    """

    board_cards: tuple[int, ...] = (0,)
    stacks: tuple[int, ...] = (162, 162)


@settings()
class MS1F1(CustomHoldem):
    """Two rounds, the second after a flop of one card; value .139775 to .140307 (Slumbot)."""

    board_cards: tuple[int, ...] = (0, 1)
    stacks: tuple[int, ...] = (162, 162)


@settings()
class MS1F3(CustomHoldem):
    """Two rounds, the second after a flop of three cards."""

    board_cards: tuple[int, ...] = (0, 3)
    stacks: tuple[int, ...] = (162, 162)


@settings()
class MS2F1T1H5(CustomHoldem):
    """Three rounds with one card each on 20 cards; value .392881 to .393096 (Slumbot)."""

    board_cards: tuple[int, ...] = (0, 1, 1)
    num_ranks: Annotated[int, Interval(ge=1, le=13)] = 5
    stacks: tuple[int, ...] = (162, 162)


@settings()
class MS3F1T1R1H5(CustomHoldem):
    """Four rounds with one card each on 20 cards."""

    board_cards: tuple[int, ...] = (0, 1, 1, 1)
    num_ranks: Annotated[int, Interval(ge=1, le=13)] = 5
    stacks: tuple[int, ...] = (162, 162)


@settings()
class Holdem5(CustomHoldem):
    """Whole hold'em (flop, turn and river of 3, 1 and 1 cards) on 20 cards."""

    num_ranks: Annotated[int, Interval(ge=1, le=13)] = 5
    stacks: tuple[int, ...] = (162, 162)
