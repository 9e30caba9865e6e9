"""Limit Texas hold'em for two or three players."""

from __future__ import annotations

from typing import ClassVar

from counterplay.core.settings import settings
from counterplay.games.holdem_base import HoldemBase, check_integer


@settings()
class LimitHoldem(HoldemBase):
    """Limit hold'em: two cards each, then three, one and one on the board, four rounds of betting.

    Raises are of 10 in the first two rounds and of 20 in the others, at most three before the flop
    and four (a bet and three raises) later. Two players: player 1 has the small blind of 5 and
    opens, player 0 the big blind of 10, and opens from the flop on. Three: blinds of players 0
    and 1, player 2 opens, player 0 from the flop on.

    2 players: 3.19e14 infosets. In OpenSpiel: universal_poker with betting limit, blind 10 5 (5 10
    0), firstPlayer 2 1 1 1 (3 1 1 1), raiseSize 10 10 20 20, maxRaises 3 4 4 4.
    """

    players: int = 2
    board_cards: ClassVar[tuple[int, ...]] = (0, 3, 1, 1)
    raise_sizes: ClassVar[tuple[int, ...]] = (10, 10, 20, 20)

    def __post_init__(self) -> None:
        check_integer("limit_holdem", "players", self.players, 2, 3)

    @property
    def num_players(self) -> int:
        return self.players

    @property
    def blinds(self) -> tuple[int, ...]:
        return (10, 5) if self.players == 2 else (5, 10, 0)

    @property
    def first_to_act(self) -> tuple[int, ...]:
        return (self.players - 1, 0, 0, 0)

    @property
    def max_raises(self) -> tuple[int, ...]:
        return 3, 4, 4, 4
