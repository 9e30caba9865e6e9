"""Leduc hold'em, the standard small poker with a public card."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, NamedTuple

from annotated_types import Interval

from counterplay.core.game import CHANCE, TERMINAL
from counterplay.core.settings import settings
from counterplay.errors import ConfigError
from counterplay.games.holdem_base import CALL, FOLD, RAISE

RANKS, ALL_RANKS, SUITS = "JQKA", "23456789TJQKA", "sh"
RAISE_SIZES = (2, 4)  # in the first and in the second round
MAX_RAISES = 2  # per round


class LeducPokerState(NamedTuple):
    to_act: int  # a player, CHANCE or TERMINAL
    cards: tuple[int, ...]  # dealt so far: private cards, player 0 first, then the public card
    history: str  # public actions and card, such as "cc|Kh:r"
    contributions: tuple[int, ...]  # chips put in, by player
    players_left: tuple[int, ...]  # players who have not folded
    num_waiting: int  # players who still have to act in this round if no one raises
    num_raises: int  # in this round


@settings()
class LeducPoker:
    """One private card, one public card, two rounds of betting (Southey et al., 2005).

    The deck holds two suits of J, Q, K (and A with 3 players), or of `ranks` ranks, up to 13: from
    J upwards, and with five or more the highest ranks. Each player antes 1 and gets a card; a
    betting round follows, then a public card, then another round. There are at most two raises per
    round, of 2 chips in the first and 4 in the second; folding is legal only against a raise;
    player 0 (or the first player left) opens both rounds. A pair with the public card wins, else
    the highest card; equal hands split the pot.

    With `suit_isomorphism` chance deals ranks instead of cards, a smaller but equivalent game.
        2 players: 9,457 nodes, 5,520 terminals, 936 infosets, value -0.0856064 for player 0
        2 players, suit_isomorphism: 1,939 nodes, 1,116 terminals, 288 infosets, the same value
        2 players, 5 ranks: 55,361 nodes, 32,760 terminals, 2,760 infosets
        2 players, 5 ranks, suit_isomorphism: 9,381 nodes, 5,500 terminals, 780 infosets
        3 players: 1,831,601 nodes, 1,043,952 terminals, 25,800 infosets
        3 players, suit_isomorphism: 223,881 nodes, 126,996 terminals, 7,428 infosets
    """

    players: Annotated[int, Interval(ge=2, le=3)] = 2
    suit_isomorphism: bool = False
    ranks: int = 0  # in the deck; 0: one more than players

    def __post_init__(self) -> None:
        if self.ranks and not 2 <= self.ranks <= len(ALL_RANKS):
            allowed = f"from 2 to {len(ALL_RANKS)}, or 0"
            raise ConfigError(f"leduc_poker: ranks is {self.ranks}, must be {allowed}")

    @property
    def num_players(self) -> int:
        return self.players

    @cached_property
    def card_names(self) -> list[str]:
        """Name by card: rank and suit, or the rank alone with `suit_isomorphism`."""
        suits = [""] if self.suit_isomorphism else SUITS
        ranks = ALL_RANKS[-self.num_ranks :] if self.num_ranks > len(RANKS) else RANKS
        return [rank + suit for rank in ranks[: self.num_ranks] for suit in suits]

    @cached_property
    def num_ranks(self) -> int:
        return self.ranks or self.players + 1

    @cached_property
    def num_suits(self) -> int:
        return 1 if self.suit_isomorphism else 2

    def initial_state(self) -> LeducPokerState:
        everyone = tuple(range(self.players))
        return LeducPokerState(CHANCE, (), "", (1,) * self.players, everyone, self.players, 0)

    def player(self, state: LeducPokerState) -> int:
        return state.to_act

    def actions(self, state: LeducPokerState) -> tuple[int, ...]:
        if state.num_raises == 0:
            return (CALL, RAISE)
        # the player to act after a raise has not matched it, so it may fold
        return (FOLD, CALL, RAISE) if state.num_raises < MAX_RAISES else (FOLD, CALL)

    def chance_outcomes(self, state: LeducPokerState) -> list[tuple[int, float]]:
        total = 2 * self.num_ranks - len(state.cards)
        copies = 2 // self.num_suits
        left = [copies - state.cards.count(card) for card in range(len(self.card_names))]
        return [(card, count / total) for card, count in enumerate(left) if count]

    def next_state(self, state: LeducPokerState, action: int) -> LeducPokerState:
        player, cards, history, contributions, players, waiting, raises = state
        if player == CHANCE:
            cards = (*cards, action)
            if len(cards) > self.players:
                history = f"{history}|{self.card_names[action]}:"
            to_act = CHANCE if len(cards) < self.players else players[0]
            return LeducPokerState(to_act, cards, history, contributions, players, len(players), 0)

        next_seat = players.index(player) + 1
        waiting -= 1
        if action == FOLD:
            next_seat -= 1
            players = players[:next_seat] + players[next_seat + 1 :]
        else:
            chips = max(contributions)
            if action == RAISE:
                chips += RAISE_SIZES[len(cards) > self.players]
                raises += 1
                waiting = len(players) - 1
            contributions = (*contributions[:player], chips, *contributions[player + 1 :])
        history += "fcr"[action]

        if len(players) == 1 or (waiting == 0 and len(cards) > self.players):
            to_act = TERMINAL
        else:
            to_act = players[next_seat % len(players)] if waiting else CHANCE
        return LeducPokerState(to_act, cards, history, contributions, players, waiting, raises)

    def utilities(self, state: LeducPokerState) -> list[float]:
        winners = state.players_left
        if len(winners) > 1:
            *private, public = (card // self.num_suits for card in state.cards)
            strength = [rank + 100 * (rank == public) for rank in private]
            best = max([strength[player] for player in winners])
            winners = tuple([player for player in winners if strength[player] == best])
        share = sum(state.contributions) / len(winners)
        return [share * (p in winners) - chips for p, chips in enumerate(state.contributions)]

    def infoset_key(self, state: LeducPokerState, player: int) -> str:
        card = self.card_names[state.cards[player]] if player < len(state.cards) else ""
        return f"{card}:{state.history}"

    def action_name(self, state: LeducPokerState, action: int) -> str:
        if state.to_act == CHANCE:
            return f"deal {self.card_names[action]}"
        return ("fold", "call", "raise")[action]

    def observation(self, state: LeducPokerState, player: int) -> list[float]:
        """Return OpenSpiel's information-state tensor.

        Player, own card, public card, (called, raised) per turn of the first and second round; a
        fold takes a turn but sets neither.
        """
        num_cards, turns = len(self.card_names), 3 * self.players - 2
        own = [0.0] * num_cards
        public = [0.0] * num_cards
        bets = [0.0] * (4 * turns)
        if player < len(state.cards):
            own[state.cards[player]] = 1.0
        if len(state.cards) > self.players:
            public[state.cards[-1]] = 1.0
        first, _, rest = state.history.partition("|")
        for start, betting in ((0, first), (2 * turns, rest.partition(":")[2])):
            for turn, letter in enumerate(betting):
                if letter != "f":
                    bets[start + 2 * turn + (letter == "r")] = 1.0
        return [float(p == player) for p in range(self.players)] + own + public + bets

    def describe(self, state: LeducPokerState, player: int) -> str:
        if player >= len(state.cards):
            return "The cards are being dealt."
        cards = f"You hold {self.card_names[state.cards[player]]}"
        if len(state.cards) > self.players:
            cards += f"; the public card is {self.card_names[state.cards[-1]]}"
        betting = self.describe_betting(state.history, player)
        return f"{cards}. {betting}The pot is {sum(state.contributions)}."

    def describe_betting(self, history: str, player: int) -> str:
        """Return the actions of the current round as a sentence addressed to a player."""
        turns, clauses = list(range(self.players)), list[str]()
        for betting in history.replace(":", "|").split("|")[::2]:  # without the public card
            turns, clauses = sorted(turns), []
            for turn, letter in enumerate(betting):
                seat = turns.pop(0)
                turns += [seat] * (letter != "f")
                call = "called" if "r" in betting[:turn] else "checked"
                verb = {"f": "folded", "c": call, "r": "raised"}[letter]
                clauses.append(f"{'you' if seat == player else f'player {seat}'} {verb}")
        text = ", ".join(clauses)
        return f"{text[0].upper()}{text[1:]}. " if text else ""

    def action_labels(self, state: LeducPokerState) -> list[str]:
        to_call = max(state.contributions) - state.contributions[state.to_act]
        size = RAISE_SIZES[len(state.cards) > self.players]
        labels = ("fold", f"call {to_call}" if to_call else "check", f"raise {size}")
        return [labels[action] for action in self.actions(state)]

    def grid_position(self, infoset_key: str) -> tuple[str, str, str]:
        """Return table, row and column: betting, own card, public card."""
        own, _, history = infoset_key.partition(":")
        first, _, rest = history.partition("|")
        public, _, second = rest.partition(":")
        return f"{first}|{second}" if rest else first, own, public
