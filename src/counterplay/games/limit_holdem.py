"""Limit Texas hold'em for two to six players."""

from __future__ import annotations

from typing import Annotated, ClassVar

from annotated_types import Interval

from counterplay.core.settings import settings
from counterplay.games.holdem_base import HoldemBase


@settings()
class LimitHoldem(HoldemBase):
    """Limit hold'em: two cards each, then three, one and one on the board, four rounds of betting.

    Raises are of 10 in the first two rounds and of 20 in the others, at most three before the flop
    and four (a bet and three raises) later. With two players, player 1 posts the small blind of 5
    and opens before the flop; player 0 posts the big blind of 10 and opens from the flop on. With
    more, players 0 and 1 post the blinds, player 2 opens before the flop and the first player left
    after it.

    2 players: 3.19e14 infosets. In OpenSpiel: universal_poker with betting limit, blind 10 5 (5 10
    0), firstPlayer 2 1 1 1 (3 1 1 1), raiseSize 10 10 20 20, maxRaises 3 4 4 4.
    """

    players: Annotated[int, Interval(ge=2, le=6)] = 2
    board_cards: ClassVar[tuple[int, ...]] = (0, 3, 1, 1)
    raise_sizes: ClassVar[tuple[int, ...]] = (10, 10, 20, 20)

    @property
    def num_players(self) -> int:
        return self.players

    @property
    def blinds(self) -> tuple[int, ...]:
        return (10, 5) if self.players == 2 else (5, 10, *(0,) * (self.players - 2))

    @property
    def first_to_act(self) -> tuple[int, ...]:
        return (1 if self.players == 2 else 2, 0, 0, 0)

    @property
    def max_raises(self) -> tuple[int, ...]:
        return 3, 4, 4, 4
