"""No-limit Texas hold'em for two to six players."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, ClassVar

from annotated_types import Interval

from counterplay.core.settings import settings
from counterplay.games.holdem_base import HoldemBase, RaiseSizes, parse_bet_sizes


@settings()
class NoLimitHoldem(HoldemBase):
    """No-limit hold'em: raises are at least as large as the last one and at most all-in.

    Blinds are 50 and 100. With two players, player 1 posts the small blind and opens before the
    flop; player 0 posts the big blind and opens from the flop on. With more, players 0 and 1 post
    the blinds, player 2 opens before the flop, and the first player left from the flop on. An
    action above 1 is a raise to that total contribution.

    `sizes` restricts the raises to fractions of the pot after a call, separated by commas, and `a`
    for all-in, such as "0.5,1,a"; if it is empty, all raises are legal. Semicolons separate the
    first, second, ... raise of a round and bars separate rounds, such as "1,a;a|0.5,1;1,a"; the
    last part stands for all later ones. In OpenSpiel: universal_poker with betting nolimit,
    bettingAbstraction fullgame, blind 100 50 (50 100 0), firstPlayer 2 1 1 1 (3 1 1 1).
    """

    players: Annotated[int, Interval(ge=2, le=6)] = 2
    stack: Annotated[int, Interval(ge=200, le=10**6)] = 20_000
    sizes: str = ""
    board_cards: ClassVar[tuple[int, ...]] = (0, 3, 1, 1)

    def __post_init__(self) -> None:
        self.bet_sizes  # noqa: B018  checks `sizes` now, not in the middle of a game

    @property
    def num_players(self) -> int:
        return self.players

    @property
    def blinds(self) -> tuple[int, ...]:
        return (100, 50) if self.players == 2 else (50, 100, *(0,) * (self.players - 2))

    @property
    def starting_stacks(self) -> tuple[int, ...]:
        return (self.stack,) * self.players

    @property
    def first_to_act(self) -> tuple[int, ...]:
        return (1 if self.players == 2 else 2, 0, 0, 0)

    @cached_property
    def bet_sizes(self) -> RaiseSizes | None:
        """The legal raises, from `sizes`."""
        return parse_bet_sizes(self.sizes, "no_limit_holdem: sizes")
