"""No-limit Texas hold'em for two to six players."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

from counterplay.core.game import CHANCE
from counterplay.core.settings import settings
from counterplay.errors import ConfigError
from counterplay.games.holdem_base import CALL, FOLD, HoldemBase, HoldemState, check_integer


@settings()
class NoLimitHoldem(HoldemBase):
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
        check_integer("no_limit_holdem", "players", self.players, 2, 6)
        check_integer("no_limit_holdem", "stack", self.stack, 200, 10**6)
        self._pot_fractions  # noqa: B018  refused here, not in the middle of a game

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

    def actions(self, state: HoldemState) -> tuple[int, ...]:
        highest, paid = max(state.contributions), state.contributions[state.to_act]
        folding = (FOLD,) * (highest > paid)
        if highest >= self.stack:
            return (*folding, CALL)
        least = min(highest + state.min_raise, self.stack)
        if not self._pot_fractions:
            return (*folding, CALL, *range(least, self.stack + 1))
        pot = sum(state.contributions) + highest - paid
        wanted = {min(highest + part * pot, float(self.stack)) for part in self._pot_fractions}
        return (*folding, CALL, *sorted({max(least, round(total)) for total in wanted}))

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
        """Player, own cards, board, and of each its chips and whether it is still in."""
        cards = [0.0] * 104
        for card in state.cards[2 * player : 2 * player + 2]:
            cards[card] = 1.0
        for card in state.cards[2 * self.players :]:
            cards[52 + card] = 1.0
        who = [float(p == player) for p in range(self.players)]
        chips = [paid / self.stack for paid in state.contributions]
        inside = [float(p in state.players_left) for p in range(self.players)]
        rounds = [float(state.round == number) for number in range(4)]
        return [*who, *cards, *chips, *inside, *rounds, state.min_raise / self.stack]
