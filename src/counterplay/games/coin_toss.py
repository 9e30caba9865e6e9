"""The coin toss game, which shows that a subgame cannot be solved by itself."""

from __future__ import annotations

from typing import NamedTuple

from counterplay.core.game import CHANCE, TERMINAL
from counterplay.core.settings import settings

HEADS, TAILS, FORFEIT = 0, 1, 2
SELL, PLAY = 0, 1
SELL_VALUES = (0.5, -0.5)  # of the coin, for player 0, after heads and after tails


class CoinTossState(NamedTuple):
    coin: int = -1  # -1 before the toss
    decision: int = -1  # SELL or PLAY
    guess: int = -1  # HEADS, TAILS or FORFEIT


@settings()
class CoinToss:
    """A coin, a seller and a guesser (Brown and Sandholm, 2017, section 2).

    Player 0 sees the toss of a fair coin, and sells the coin, for 0.5 after heads and -0.5 after
    tails, or plays. Then player 1 guesses the side or forfeits: a right guess costs player 0 1, a
    wrong one and a forfeit earn it 1.

    13 nodes, 8 terminals, 3 infosets. Value 0: player 1 guesses heads with probability 1/4, a
    number that follows from the values of selling, which are outside of its subgame.
    """

    @property
    def num_players(self) -> int:
        return 2

    def initial_state(self) -> CoinTossState:
        return CoinTossState()

    def player(self, state: CoinTossState) -> int:
        if state.coin < 0:
            return CHANCE
        if state.decision < 0:
            return 0
        return 1 if state.decision == PLAY and state.guess < 0 else TERMINAL

    def actions(self, state: CoinTossState) -> tuple[int, ...]:
        return (SELL, PLAY) if state.decision < 0 else (HEADS, TAILS, FORFEIT)

    def chance_outcomes(self, state: CoinTossState) -> list[tuple[int, float]]:
        return [(HEADS, 0.5), (TAILS, 0.5)]

    def next_state(self, state: CoinTossState, action: int) -> CoinTossState:
        if state.coin < 0:
            return CoinTossState(action)
        if state.decision < 0:
            return CoinTossState(state.coin, action)
        return CoinTossState(state.coin, state.decision, action)

    def utilities(self, state: CoinTossState) -> list[float]:
        if state.decision == SELL:
            value = SELL_VALUES[state.coin]
        else:
            value = -1.0 if state.guess == state.coin else 1.0
        return [value, -value]

    def infoset_key(self, state: CoinTossState, player: int) -> str:
        seen = "guesser:" if player else f"seller:{'?HT'[state.coin + 1]}"
        if state.decision >= 0:
            seen += "sp"[state.decision]
        return seen + ("HTf"[state.guess] if state.guess >= 0 else "")

    def action_name(self, state: CoinTossState, action: int) -> str:
        if state.coin >= 0 and state.decision < 0:
            return ("sell", "play")[action]
        return ("heads", "tails", "forfeit")[action]

    def observation(self, state: CoinTossState, player: int) -> list[float]:
        """Return player, coin (seen by player 0 only) and whether player 0 plays."""
        coin = [float(player == 0 and state.coin == side) for side in (HEADS, TAILS)]
        return [float(player == 0), float(player == 1), *coin, float(state.decision == PLAY)]

    def describe(self, state: CoinTossState, player: int) -> str:
        if state.coin < 0:
            return "The coin is in the air."
        if player == 1:
            return "Player 0 has seen the coin and plays." if state.decision == PLAY else "Wait."
        side = ("heads", "tails")[state.coin]
        return f"The coin shows {side}; it sells for {SELL_VALUES[state.coin]:+g}."

    def action_labels(self, state: CoinTossState) -> list[str]:
        return [self.action_name(state, action) for action in self.actions(state)]
