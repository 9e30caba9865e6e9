"""King-Ace poker, small enough to solve by hand."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from counterplay.core.game import CHANCE, TERMINAL
from counterplay.core.settings import settings

CHECK, RAISE = 0, 1  # player 0
FOLD, CALL = 0, 1  # player 1
CARD_NAMES = ("As", "Ah", "Ks", "Kh")
# With `type_level`: name, a card of each kind, probability.
DEALS = (("AA", (0, 1), 1 / 6), ("AK", (0, 2), 1 / 3), ("KA", (2, 0), 1 / 3), ("KK", (2, 3), 1 / 6))


class KingAcePokerState(NamedTuple):
    cards: tuple[int, ...] = ()  # dealt so far, player 0 first, as indices into CARD_NAMES
    bets: tuple[int, ...] = ()  # player 0's action, then player 1's


@settings()
class KingAcePoker:
    """Two aces, two kings, one card each, one bet (a classroom exercise).

    Each player antes 1. Player 0 checks, which leads to a showdown for 1 chip, or raises by 1; then
    player 1 folds and loses 1, or calls, which leads to a showdown for 2. An ace beats a king;
    equal cards split the pot.

    Infosets distinguish only aces and kings: 4 infosets in 65 nodes with 36 terminals. With
    `type_level` chance deals AA, AK, KA or KK at once: 21 nodes, 12 terminals. The value is 0:
    player 1 calls with an ace and folds a king, player 0 never raises a king.
    """

    type_level: bool = False  # one deal of two kinds of card instead of two deals of one card
    num_players: ClassVar[int] = 2

    def initial_state(self) -> KingAcePokerState:
        return KingAcePokerState()

    def player(self, state: KingAcePokerState) -> int:
        if len(state.cards) < 2:
            return CHANCE
        over = state.bets == (CHECK,) or len(state.bets) == 2
        return TERMINAL if over else len(state.bets)

    def actions(self, state: KingAcePokerState) -> tuple[int, ...]:
        return (FOLD, CALL) if state.bets else (CHECK, RAISE)

    def chance_outcomes(self, state: KingAcePokerState) -> list[tuple[int, float]]:
        if self.type_level:
            return [(action, probability) for action, (_, _, probability) in enumerate(DEALS)]
        left = [card for card in range(4) if card not in state.cards]
        return [(card, 1.0 / len(left)) for card in left]

    def next_state(self, state: KingAcePokerState, action: int) -> KingAcePokerState:
        if len(state.cards) == 2:
            return KingAcePokerState(state.cards, (*state.bets, action))
        if self.type_level:
            return KingAcePokerState(DEALS[action][1])
        return KingAcePokerState((*state.cards, action))

    def utilities(self, state: KingAcePokerState) -> tuple[float, float]:
        if state.bets == (RAISE, FOLD):
            return (1.0, -1.0)
        kings = (state.cards[0] // 2, state.cards[1] // 2)
        chips = 1.0 if state.bets == (CHECK,) else 2.0
        won = chips * (kings[1] - kings[0])
        return (won, 0.0 - won)  # never -0.0

    def infoset_key(self, state: KingAcePokerState, player: int) -> str:
        card = CARD_NAMES[state.cards[player]][0] if player < len(state.cards) else ""
        return f"{card}:{'r' * len(state.bets)}"

    def action_name(self, state: KingAcePokerState, action: int) -> str:
        if len(state.cards) < 2:
            return f"deal {DEALS[action][0] if self.type_level else CARD_NAMES[action]}"
        return (("check", "raise"), ("fold", "call"))[len(state.bets)][action]

    def observation(self, state: KingAcePokerState, player: int) -> list[float]:
        """Return player, own card (ace, king), whether player 0 has raised."""
        values = [0.0] * 5
        values[player] = 1.0
        if player < len(state.cards):
            values[2 + state.cards[player] // 2] = 1.0
        values[4] = float(len(state.bets))
        return values
