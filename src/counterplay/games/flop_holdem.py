"""Flop hold'em: limit hold'em that ends with the flop's betting."""

from __future__ import annotations

from typing import ClassVar

from counterplay.core.settings import settings
from counterplay.games.holdem_base import HoldemBase, check_integer


@settings()
class FlopHoldem(HoldemBase):
    """Heads-up limit hold'em stopped after the flop (Brown et al., 2019, appendix A).

    Two cards each; blinds 50 (player 0, who opens) and 100; at most `raises` raises by 100. Then
    three public cards, and player 1 opens another round with at most `flop_raises` bets and raises
    of 100. The best five cards out of the five win.

    Some 1.8e9 infosets and 5e12 nodes; suits renamed, the CFR family solves all of it as a public
    tree over the 1,755 flops that differ (`public/flop_tree.py`). In OpenSpiel: universal_poker
    with blind 50 100, firstPlayer 1 2, maxRaises 3 4, raiseSize 100 100, numBoardCards 0 3.
    """

    raises: int = 3  # before the flop
    flop_raises: int = 4  # a bet and three raises
    board_cards: ClassVar[tuple[int, ...]] = (0, 3)
    raise_sizes: ClassVar[tuple[int, ...]] = (100, 100)

    def __post_init__(self) -> None:
        for name in ("raises", "flop_raises"):
            check_integer("flop_holdem", name, getattr(self, name), 1, 8)

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
