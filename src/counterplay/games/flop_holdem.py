"""Flop hold'em: limit hold'em that ends after the betting on the flop."""

from __future__ import annotations

from typing import Annotated, ClassVar

from annotated_types import Interval

from counterplay.core.settings import settings
from counterplay.games.holdem_base import HoldemBase

RaiseCap = Annotated[int, Interval(ge=1, le=8)]


@settings()
class FlopHoldem(HoldemBase):
    """Heads-up limit hold'em stopped after the flop (Brown et al., 2019, appendix A).

    Two cards each; blinds 50 (player 0, who opens) and 100; at most `raises` raises by 100. Then
    three public cards, and player 1 opens another round with at most `flop_raises` bets and raises
    of 100. The best five cards out of the five win.

    Some 1.8e9 infosets and 5e12 nodes. The CFR family solves the whole game as a public tree over
    the 1,755 canonical flops (`arenas/holdem/game_arena.py`). In OpenSpiel: universal_poker with
    blind 50 100, firstPlayer 1 2, maxRaises 3 4, raiseSize 100 100, numBoardCards 0 3.
    """

    raises: RaiseCap = 3  # before the flop
    flop_raises: RaiseCap = 4  # a bet and three raises
    board_cards: ClassVar[tuple[int, ...]] = (0, 3)
    raise_sizes: ClassVar[tuple[int, ...]] = (100, 100)

    @property
    def num_players(self) -> int:
        return 2

    @property
    def blinds(self) -> tuple[int, int]:
        return 50, 100

    @property
    def first_to_act(self) -> tuple[int, int]:
        return 0, 1

    @property
    def max_raises(self) -> tuple[int, ...]:
        return self.raises, self.flop_raises
