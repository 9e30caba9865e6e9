"""No-limit Texas hold'em for two to six players."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, ClassVar

from annotated_types import Interval

from counterplay.core.game import CHANCE
from counterplay.core.settings import settings
from counterplay.games.holdem_base import (
    CALL,
    FOLD,
    HoldemBase,
    HoldemState,
    parse_pot_fractions,
)


@settings()
class NoLimitHoldem(HoldemBase):
    """No-limit hold'em: raises are at least as large as the last one and at most all-in.

    Blinds are 50 and 100. With two players, player 1 posts the small blind and opens before the
    flop; player 0 posts the big blind and opens from the flop on. With more, players 0 and 1 post
    the blinds, player 2 opens before the flop, and the first player left from the flop on. An
    action above 1 is a raise to that total contribution.

    `sizes` restricts the raises to fractions of the pot after a call, separated by commas, and `a`
    for all-in, such as "0.5,1,a"; if it is empty, all raises are legal. In OpenSpiel:
    universal_poker with betting nolimit, bettingAbstraction fullgame, blind 100 50 (50 100 0),
    firstPlayer 2 1 1 1 (3 1 1 1).
    """

    players: Annotated[int, Interval(ge=2, le=6)] = 2
    stack: Annotated[int, Interval(ge=200, le=10**6)] = 20_000
    sizes: str = ""
    board_cards: ClassVar[tuple[int, ...]] = (0, 3, 1, 1)

    def __post_init__(self) -> None:
        self._pot_fractions  # noqa: B018  checks `sizes` now, not in the middle of a game

    @property
    def num_players(self) -> int:
        return self.players

    @property
    def blinds(self) -> tuple[int, ...]:
        return (100, 50) if self.players == 2 else (50, 100, *(0,) * (self.players - 2))

    @property
    def first_to_act(self) -> tuple[int, ...]:
        return (1 if self.players == 2 else 2, 0, 0, 0)

    @cached_property
    def _pot_fractions(self) -> list[float]:
        """The sizes as fractions of the pot; infinity is all-in."""
        return parse_pot_fractions("no_limit_holdem", self.sizes)

    def actions(self, state: HoldemState) -> tuple[int, ...]:
        highest, paid = max(state.contributions), state.contributions[state.to_act]
        folding = (FOLD,) * (highest > paid)
        if highest >= self.stack:
            return (*folding, CALL)
        min_total = min(highest + state.min_raise, self.stack)
        if not self._pot_fractions:
            return (*folding, CALL, *range(min_total, self.stack + 1))
        pot = sum(state.contributions) + highest - paid
        totals = {min(highest + part * pot, float(self.stack)) for part in self._pot_fractions}
        return (*folding, CALL, *sorted({max(min_total, round(total)) for total in totals}))

    def contribution_after_raise(self, state: HoldemState, action: int) -> int:
        return action

    def action_letter(self, action: int) -> str:
        return "f" if action == FOLD else "c" if action == CALL else f"r{action}"

    def players_able_to_act(
        self, contributions: Sequence[int], players_left: tuple[int, ...]
    ) -> tuple[int, ...]:
        return tuple(p for p in players_left if contributions[p] < self.stack)

    def action_name(self, state: HoldemState, action: int) -> str:
        if state.to_act == CHANCE or action <= CALL:
            return super().action_name(state, action)
        return f"raise to {action}"

    def observation(self, state: HoldemState, player: int) -> list[float]:
        """Return player, own cards, board; chips and whether still in, by player; round; raise."""
        cards = [0.0] * 104
        for card in state.cards[2 * player : 2 * player + 2]:
            cards[card] = 1.0
        for card in state.cards[2 * self.players :]:
            cards[52 + card] = 1.0
        players = range(self.players)
        observer = [float(p == player) for p in players]
        chips = [paid / self.stack for paid in state.contributions]
        is_left = [float(p in state.players_left) for p in players]
        rounds = [float(state.round == number) for number in range(4)]
        return [*observer, *cards, *chips, *is_left, *rounds, state.min_raise / self.stack]
