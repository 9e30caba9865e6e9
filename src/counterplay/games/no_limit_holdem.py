"""No-limit Texas hold'em for two to six players."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

from counterplay.errors import ConfigError
from counterplay.game import CHANCE
from counterplay.games.poker_table import CALL, FOLD, LimitTable, State, check_whole
from counterplay.settings import settings


@settings()
class NoLimitHoldem(LimitTable):
    """No-limit hold'em: any raise by at least the last one, up to all that a player has.

    Blinds are 50 and 100. Two players: player 1 has the small blind and opens, player 0 the big
    blind, and opens from the flop on. More: blinds of players 0 and 1, player 2 opens, the first
    one left from the flop on. An action above 1 is the total that a player will have paid.

    `sizes` leaves only some raises: parts of the pot after a call, by commas, and `a` for all-in,
    such as "0.5,1,a"; all of them if empty. In OpenSpiel: universal_poker with betting nolimit,
    bettingAbstraction fullgame, blind 100 50 (50 100 0), firstPlayer 2 1 1 1 (3 1 1 1).
    """

    players: int = 2
    stack: int = 20_000
    sizes: str = ""
    board_cards: ClassVar[tuple[int, ...]] = (0, 3, 1, 1)

    def __post_init__(self) -> None:
        check_whole("no_limit_holdem", "players", self.players, 2, 6)
        check_whole("no_limit_holdem", "stack", self.stack, 200, 10**6)
        self._parts  # noqa: B018  refused here, not in the middle of a game

    @property
    def num_players(self) -> int:
        return self.players

    @property
    def blinds(self) -> tuple[int, ...]:
        return (100, 50) if self.players == 2 else (50, 100, *(0,) * (self.players - 2))

    @property
    def first(self) -> tuple[int, ...]:
        return (1 if self.players == 2 else 2, 0, 0, 0)

    @cached_property
    def _parts(self) -> list[float]:
        """The sizes as parts of the pot; infinity is all-in."""
        words = [word.strip() for word in self.sizes.split(",") if word.strip()]
        try:
            found = [float("inf") if word == "a" else float(word) for word in words]
        except ValueError:
            found = [-1.0]
        if not all(part > 0.0 for part in found):
            raise ConfigError(
                f"no_limit_holdem: sizes is {self.sizes!r}, must be parts of the pot and a, "
                "such as 0.5,1,a"
            )
        return found

    def actions(self, state: State) -> tuple[int, ...]:
        highest, paid = max(state.paid), state.paid[state.to_act]
        folding = (FOLD,) * (highest > paid)
        if highest >= self.stack:
            return (*folding, CALL)
        least = min(highest + state.least, self.stack)
        if not self._parts:
            return (*folding, CALL, *range(least, self.stack + 1))
        pot = sum(state.paid) + highest - paid
        wanted = {min(highest + part * pot, float(self.stack)) for part in self._parts}
        return (*folding, CALL, *sorted({max(least, round(total)) for total in wanted}))

    def raised(self, state: State, action: int) -> int:
        return action

    def letter(self, action: int) -> str:
        return "f" if action == FOLD else "c" if action == CALL else f"r{action}"

    def able(self, paid: Sequence[int], live: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(p for p in live if paid[p] < self.stack)

    def action_name(self, state: State, action: int) -> str:
        if state.to_act == CHANCE or action <= CALL:
            return super().action_name(state, action)
        return f"raise to {action}"

    def observation(self, state: State, player: int) -> list[float]:
        """Player, own cards, board, and of each its chips and whether it is still in."""
        cards = [0.0] * 104
        for card in state.cards[2 * player : 2 * player + 2]:
            cards[card] = 1.0
        for card in state.cards[2 * self.players :]:
            cards[52 + card] = 1.0
        who = [float(p == player) for p in range(self.players)]
        chips = [paid / self.stack for paid in state.paid]
        inside = [float(p in state.live) for p in range(self.players)]
        rounds = [float(state.round == number) for number in range(4)]
        return [*who, *cards, *chips, *inside, *rounds, state.least / self.stack]
