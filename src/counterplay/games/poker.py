"""Poker with private cards and a board in any format: deck, rounds, blinds, stacks, betting."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

from annotated_types import Interval

from counterplay.core.settings import NonNegativeInt, settings
from counterplay.errors import ConfigError
from counterplay.games.holdem_base import (
    UNLIMITED_RAISES,
    UNLIMITED_STACK,
    HoldemBase,
    RaiseSizes,
    parse_bet_sizes,
)

MAX_ROUNDS = 8
MAX_STACK = 10**8  # chips
MAX_SHOWDOWN_CARDS = 7  # private and public cards of a player


@settings()
class Poker(HoldemBase):
    """Limit or no-limit poker of any format, as ACPC's `.game` files describe them.

    The default is heads-up limit hold'em. Rounds are described by tuples with one entry a round:
    `board` (public cards dealt), `opens` (the player who acts first), `raises` (size of a raise;
    empty in no-limit games) and `raise_caps` (largest number of raises; empty: no limit). Players
    are described by tuples with one entry a player: `blinds` and `stacks` (empty: no limit).
    `ante` is paid by all players besides the blinds, and `sizes` restricts no-limit raises as in
    `no_limit_holdem`.

    A deck of r ranks has the lowest r of the thirteen ranks; hands of fewer than five cards have no
    straights and no flushes. In OpenSpiel: universal_poker with the same numbers.
    """

    players: Annotated[int, Interval(ge=2, le=10)] = 2
    blinds: tuple[int, ...] = (10, 5)
    ante: NonNegativeInt = 0
    stacks: tuple[int, ...] = ()
    opens: tuple[int, ...] = (1, 0, 0, 0)
    raises: tuple[int, ...] = (10, 10, 20, 20)
    raise_caps: tuple[int, ...] = (3, 4, 4, 4)
    sizes: str = ""
    ranks: Annotated[int, Interval(ge=2, le=13)] = 13
    suits: Annotated[int, Interval(ge=1, le=4)] = 4
    hole: Annotated[int, Interval(ge=1, le=4)] = 2
    board: tuple[int, ...] = (0, 3, 1, 1)

    def __post_init__(self) -> None:
        self._check_rounds()
        self._check_players()
        self.bet_sizes  # noqa: B018  checks `sizes` now, not in the middle of a game

    def _check_rounds(self) -> None:
        rounds = len(self.board)
        if not 1 <= rounds <= MAX_ROUNDS:
            raise ConfigError(f"poker: board has {rounds} rounds, must have 1 to {MAX_ROUNDS}")
        self._check_tuple("board", rounds, 0)
        if 0 in self.board[1:]:
            raise ConfigError(
                f"poker: board is {self.board}, must have cards after the first round"
            )
        self._check_tuple("opens", rounds, 0, self.players - 1)
        self._check_tuple("raises", rounds if self.raises else 0, 1)
        self._check_tuple("raise_caps", rounds if self.raise_caps else 0, 0)
        deck, dealt = self.ranks * self.suits, self.players * self.hole + sum(self.board)
        if dealt > deck:
            raise ConfigError(f"poker: {dealt} cards are dealt from a deck of {deck}")
        if self.hole + sum(self.board) > MAX_SHOWDOWN_CARDS:
            raise ConfigError(
                f"poker: hole and board have {self.hole + sum(self.board)} cards a player, must be "
                f"at most {MAX_SHOWDOWN_CARDS}"
            )

    def _check_players(self) -> None:
        self._check_tuple("blinds", self.players, 0)
        self._check_tuple("stacks", self.players if self.stacks else 0, 1, MAX_STACK)
        if not self.raises and not self.stacks:
            raise ConfigError("poker: a no-limit game needs stacks, such as stacks=(20000,20000)")
        if self.raises and not self.raise_caps:
            raise ConfigError("poker: a limit game needs raise_caps, such as raise_caps=(3,4,4,4)")
        if self.raises and self.sizes:
            raise ConfigError("poker: sizes are for no-limit games, which have raises=()")

    def _check_tuple(self, name: str, length: int, low: int, high: int = UNLIMITED_STACK) -> None:
        """Raise ConfigError unless a field has this many integers within these bounds."""
        values: tuple[object, ...] = getattr(self, name)
        if len(values) != length:
            raise ConfigError(f"poker: {name} has {len(values)} numbers, must have {length}")
        for value in values:
            if not isinstance(value, int) or not low <= value <= high:
                raise ConfigError(f"poker: {name} has {value!r}, must be from {low} to {high}")

    @property
    def num_players(self) -> int:
        return self.players

    @property
    def num_hole_cards(self) -> int:
        return self.hole

    @property
    def num_ranks(self) -> int:
        return self.ranks

    @property
    def num_suits(self) -> int:
        return self.suits

    @property
    def board_cards(self) -> tuple[int, ...]:
        return self.board

    @property
    def starting_stacks(self) -> tuple[int, ...]:
        return self.stacks or (UNLIMITED_STACK,) * self.players

    @property
    def first_to_act(self) -> tuple[int, ...]:
        return self.opens

    @property
    def raise_sizes(self) -> tuple[int, ...]:
        return self.raises

    @property
    def max_raises(self) -> tuple[int, ...]:
        return self.raise_caps or (UNLIMITED_RAISES,) * len(self.board)

    @cached_property
    def bet_sizes(self) -> RaiseSizes | None:
        """The legal raises, from `sizes`."""
        return parse_bet_sizes(self.sizes, "poker: sizes")
