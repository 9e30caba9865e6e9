"""Kuhn poker, the smallest poker worth solving."""

from __future__ import annotations

from typing import NamedTuple

from counterplay.core.game import CHANCE, TERMINAL
from counterplay.core.settings import settings
from counterplay.errors import ConfigError

PASS, BET = 0, 1
MAX_CARDS = 1_000
CARD_NAMES = (*map(str, range(2, 10)), "Ten", "Jack", "Queen", "King", "Ace")  # in sentences


class KuhnPokerState(NamedTuple):
    cards: tuple[int, ...] = ()  # dealt so far, player 0 first
    bets: tuple[int, ...] = ()  # PASS or BET, in order


@settings()
class KuhnPoker:
    """One card each, one bet of one chip (Kuhn, 1950), for any number of players.

    Everyone antes 1. In turn each passes or bets; after the first bet the others, once each, call
    (BET) or fold (PASS), and the highest live card takes the pot. If all pass, it is the highest
    card that wins.

    With one card more than players:
        2 players: 58 nodes, 30 terminals, 12 infosets, value -1/18 for player 0
        3 players: 617 nodes, 312 terminals, 48 infosets
        4 players: 7,886 nodes, 3,960 terminals, 160 infosets
    """

    players: int = 2
    num_cards: int = 0  # 0: one more than players

    def __post_init__(self) -> None:
        if not 2 <= self.players <= 10:
            raise ConfigError(f"kuhn_poker: players is {self.players}, must be from 2 to 10")
        if self.num_cards and not self.players <= self.num_cards <= MAX_CARDS:
            allowed = f"from {self.players} to {MAX_CARDS}, or 0"
            raise ConfigError(f"kuhn_poker: num_cards is {self.num_cards}, must be {allowed}")

    @property
    def num_players(self) -> int:
        return self.players

    @property
    def deck_size(self) -> int:
        return self.num_cards or self.players + 1

    def initial_state(self) -> KuhnPokerState:
        return KuhnPokerState()

    def player(self, state: KuhnPokerState) -> int:
        if len(state.cards) < self.players:
            return CHANCE
        if BET in state.bets:  # everyone else answers the first bet once
            over = len(state.bets) == state.bets.index(BET) + self.players
        else:
            over = len(state.bets) == self.players
        return TERMINAL if over else len(state.bets) % self.players

    def actions(self, state: KuhnPokerState) -> tuple[int, ...]:
        return (PASS, BET)

    def chance_outcomes(self, state: KuhnPokerState) -> list[tuple[int, float]]:
        left = [card for card in range(self.deck_size) if card not in state.cards]
        return [(card, 1.0 / len(left)) for card in left]

    def next_state(self, state: KuhnPokerState, action: int) -> KuhnPokerState:
        if len(state.cards) < self.players:
            return KuhnPokerState((*state.cards, action), state.bets)
        return KuhnPokerState(state.cards, (*state.bets, action))

    def utilities(self, state: KuhnPokerState) -> list[float]:
        paid = [1.0] * self.players
        live = list(range(self.players))
        if BET in state.bets:
            live = [turn % self.players for turn, bet in enumerate(state.bets) if bet == BET]
            for player in live:
                paid[player] = 2.0
        winner = max(live, key=state.cards.__getitem__)
        pot = sum(paid)
        return [pot - paid[p] if p == winner else -paid[p] for p in range(self.players)]

    def infoset_key(self, state: KuhnPokerState, player: int) -> str:
        card = str(state.cards[player]) if player < len(state.cards) else ""
        return card + "".join("pb"[bet] for bet in state.bets)

    def action_name(self, state: KuhnPokerState, action: int) -> str:
        if len(state.cards) < self.players:
            return f"deal {action}"
        return ("pass", "bet")[action]

    def observation(self, state: KuhnPokerState, player: int) -> list[float]:
        """Player, own card, then (passed, bet) per turn: OpenSpiel's information-state tensor."""
        turns = 2 * self.players - 1
        values = [0.0] * (self.players + self.deck_size + 2 * turns)
        values[player] = 1.0
        if player < len(state.cards):
            values[self.players + state.cards[player]] = 1.0
        for turn, bet in enumerate(state.bets):
            values[self.players + self.deck_size + 2 * turn + bet] = 1.0
        return values

    def describe(self, state: KuhnPokerState, player: int) -> str:
        if player >= len(state.cards):
            return "The cards are being dealt."
        seen = f"You hold the {self.card_name(state.cards[player])}."
        did, paid = [], self.players
        for turn, bet in enumerate(state.bets):
            seat, facing = turn % self.players, BET in state.bets[:turn]
            who, paid = "you" if seat == player else f"player {seat}", paid + bet
            did.append(f"{who} {(('checked', 'bet 1'), ('folded', 'called'))[facing][bet]}")
        story = ", ".join(did) or "no one has acted yet"
        return f"{seen} {story[0].upper()}{story[1:]}; the pot is {paid}."

    def action_labels(self, state: KuhnPokerState) -> tuple[str, str]:
        return ("fold", "call 1") if BET in state.bets else ("check", "bet 1")

    def card_name(self, card: int) -> str:
        """Jack, Queen, King (and Ace) in the smallest decks; numbers where names run out."""
        if self.deck_size > len(CARD_NAMES):
            return str(card)
        return CARD_NAMES[card + (9 if self.deck_size <= 4 else 13 - self.deck_size)]

    def grid_position(self, infoset_key: str) -> tuple[str, str, str]:
        """A table per betting, a row per card."""
        card = infoset_key.rstrip("pb")
        return infoset_key[len(card) :], card, ""
