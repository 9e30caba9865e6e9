"""Liar's dice, a game of bluff over hidden dice."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, ClassVar, NamedTuple

from annotated_types import Interval

from counterplay.core.game import CHANCE, TERMINAL
from counterplay.core.settings import settings


class LiarsDiceState(NamedTuple):
    dice: tuple[int, ...] = ()  # faces 1..dice_sides, player 0's first; sorted once all are rolled
    bids: tuple[int, ...] = ()  # actions in order; the last may be `liar_action`


@settings()
class LiarsDice:
    """Two players bid on how many of all dice show a face, until one calls the other a liar.

    Both players roll their dice in secret. Player 0 opens with a bid (quantity, face); each later
    bid must be higher, quantity first, then face. The highest face is wild and counts as any. After
    "liar" the dice are shown: the last bid stands if at least that many dice show the face or the
    wild one, and then the bidder wins 1 from the caller, otherwise the caller wins 1. Also known as
    Dudo, or Bluff. Action b is the bid of b // dice_sides + 1 times face b % dice_sides + 1.

    With one die each:
        2 sides: 127 nodes, 60 terminals, 32 infosets, value 1/2 for player 0
        3 sides: 1,147 nodes, 567 terminals, 192 infosets, value 1/9
        4 sides: 8,181 nodes, 4,080 terminals, 1,024 infosets, value 1/16
        6 sides: 294,883 nodes, 147,420 terminals, 24,576 infosets, value -7/258
    """

    numdice: Annotated[int, Interval(ge=1, le=100)] = 1  # of each player
    dice_sides: Annotated[int, Interval(ge=2, le=100)] = 6
    num_players: ClassVar[int] = 2

    @cached_property
    def total_dice(self) -> int:
        return 2 * self.numdice

    @cached_property
    def liar_action(self) -> int:
        """The action that ends the game, one above the highest bid."""
        return self.total_dice * self.dice_sides

    @cached_property
    def bid_names(self) -> list[str]:
        """Name by action, such as "2-5" for two fives."""
        bids = [divmod(bid, self.dice_sides) for bid in range(self.liar_action)]
        return [*[f"{more + 1}-{side + 1}" for more, side in bids], "liar"]

    def initial_state(self) -> LiarsDiceState:
        return LiarsDiceState()

    def player(self, state: LiarsDiceState) -> int:
        dice, bids = state
        if len(dice) < self.total_dice:
            return CHANCE
        return TERMINAL if bids and bids[-1] == self.liar_action else len(bids) % 2

    def actions(self, state: LiarsDiceState) -> range:
        bids = state.bids
        return range(bids[-1] + 1, self.liar_action + 1) if bids else range(self.liar_action)

    def chance_outcomes(self, state: LiarsDiceState) -> list[tuple[int, float]]:
        return [(side, 1.0 / self.dice_sides) for side in range(self.dice_sides)]

    def next_state(self, state: LiarsDiceState, action: int) -> LiarsDiceState:
        dice, bids = state
        if len(dice) == self.total_dice:
            return LiarsDiceState(dice, (*bids, action))
        dice = (*dice, action + 1)
        if len(dice) == self.total_dice:
            dice = (*sorted(dice[: self.numdice]), *sorted(dice[self.numdice :]))
        return LiarsDiceState(dice, bids)

    def utilities(self, state: LiarsDiceState) -> tuple[float, float]:
        dice, bids = state
        more, side = divmod(bids[-2], self.dice_sides)
        matches = dice.count(side + 1)
        if side + 1 < self.dice_sides:
            matches += dice.count(self.dice_sides)
        bidder = len(bids) % 2  # the caller acted last
        return (1.0, -1.0) if (matches > more) == (bidder == 0) else (-1.0, 1.0)

    def infoset_key(self, state: LiarsDiceState, player: int) -> str:
        dice, bids = state
        start = player * self.numdice
        own = ",".join(map(str, dice[start : start + self.numdice]))
        names = self.bid_names
        return " ".join([own, *[names[bid] for bid in bids]])

    def action_name(self, state: LiarsDiceState, action: int) -> str:
        return f"roll {action + 1}" if len(state.dice) < self.total_dice else self.bid_names[action]

    def observation(self, state: LiarsDiceState, player: int) -> list[float]:
        """Return OpenSpiel's information-state tensor: player, own dice, bids so far."""
        values = [0.0] * (2 + self.numdice * self.dice_sides + self.liar_action + 1)
        values[player] = 1.0
        start = player * self.numdice
        for die, face in enumerate(state.dice[start : start + self.numdice]):
            values[2 + die * self.dice_sides + face - 1] = 1.0
        for bid in state.bids:
            values[2 + self.numdice * self.dice_sides + bid] = 1.0
        return values

    def describe(self, state: LiarsDiceState, player: int) -> str:
        if len(state.dice) < self.total_dice:
            return "The dice are being rolled."
        own = state.dice[player * self.numdice :][: self.numdice]
        dice = f"You rolled {', '.join(map(str, own))}; {self.dice_sides} is wild."
        if not state.bids:
            return f"{dice} There is no bid yet."
        bidder = "You" if (len(state.bids) - 1) % 2 == player else "The other player"
        return f"{dice} {bidder} bid {self.format_bid(state.bids[-1])}."

    def action_labels(self, state: LiarsDiceState) -> list[str]:
        return [self.format_bid(bid) for bid in self.actions(state)]

    def format_bid(self, bid: int) -> str:
        """Return a bid for people, such as "2 x 5"."""
        return self.bid_names[bid].replace("-", " x ")

    def grid_position(self, infoset_key: str) -> tuple[str, str, str]:
        """Return table, row and column: bids before the last, own dice, last bid."""
        own, *bids = infoset_key.split(" ")
        return " ".join(bids[:-1]), own, bids[-1] if bids else ""
