"""What the hold'em games share: cards one by one, rounds of betting, pots, showdowns.

The conventions are those of OpenSpiel's universal_poker: chance deals one card at a time, first all
cards of player 0; nobody folds where nothing is to be called.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

from counterplay.core.cards import NUM_CARDS, card_name, cards_name
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.errors import ConfigError

FOLD, CALL, RAISE = 0, 1, 2


class HoldemState(NamedTuple):
    to_act: int  # a player, CHANCE or TERMINAL
    cards: tuple[int, ...]  # private ones, player 0's first, then the board
    history: str  # what everybody saw, such as "crc|Td9d6h:c"
    contributions: tuple[int, ...]  # chips put in, by player
    players_left: tuple[int, ...]  # players who have not folded
    num_waiting: int  # how many of them the round waits for, if nobody raises
    round: int
    num_raises: int  # in this round
    min_raise: int  # what a raise must add, where sizes are free


def check_integer(game: str, name: str, value: Any, minimum: int, maximum: int) -> None:
    """Refuse a parameter that is not a whole number in its range."""
    if type(value) is not int or not minimum <= value <= maximum:
        raise ConfigError(f"{game}: {name} is {value!r}, must be from {minimum} to {maximum}")


def hand_strength(cards: tuple[int, ...]) -> tuple[int, ...]:
    """A hand of five to seven cards as numbers that compare: category, then ranks that matter."""
    if len(cards) > 5:
        return max(map(hand_strength, combinations(cards, 5)))
    ranks = sorted((card // 4 for card in cards), reverse=True)
    counts = sorted(((ranks.count(r), r) for r in set(ranks)), reverse=True)
    shape = [count for count, _ in counts]
    flush = len({card % 4 for card in cards}) == 1
    run = len(counts) == 5 and ranks[0] - ranks[4] == 4
    if ranks == [12, 3, 2, 1, 0]:
        run, counts = True, [(1, 3)]
    kinds = {(1, 1, 1, 1, 1): 0, (2, 1, 1, 1): 1, (2, 2, 1): 2, (3, 1, 1): 3, (3, 2): 6, (4, 1): 7}
    category = 8 if run and flush else 5 if flush else 4 if run else kinds[tuple(shape)]
    return category, *(rank for _, rank in counts)


class HoldemBase:
    """Rounds with raises of one size each; the games say how many of what."""

    num_players: Any
    blinds: Any  # chips put in before the cards, by player
    first_to_act: Any  # who opens each round, if still in
    board_cards: ClassVar[tuple[int, ...]]  # dealt before each round
    raise_sizes: ClassVar[tuple[int, ...]]
    max_raises: Any  # by round

    def initial_state(self) -> HoldemState:
        everyone = tuple(range(self.num_players))
        paid = self.blinds
        return HoldemState(CHANCE, (), "", paid, everyone, len(everyone), 0, 0, max(paid))

    def player(self, state: HoldemState) -> int:
        return state.to_act

    def actions(self, state: HoldemState) -> tuple[int, ...]:
        owing = max(state.contributions) > state.contributions[state.to_act]
        raising = state.num_raises < self.max_raises[state.round]
        return (FOLD,) * owing + (CALL,) + (RAISE,) * raising

    def chance_outcomes(self, state: HoldemState) -> list[tuple[int, float]]:
        left = [card for card in range(NUM_CARDS) if card not in state.cards]
        return [(card, 1.0 / len(left)) for card in left]

    def next_state(self, state: HoldemState, action: int) -> HoldemState:
        if state.to_act == CHANCE:
            return self._deal_card(state, action)
        player, live, raises, least = (
            state.to_act,
            state.players_left,
            state.num_raises,
            state.min_raise,
        )
        paid, waiting = list(state.contributions), state.num_waiting - 1
        if action == FOLD:
            live = tuple(p for p in live if p != player)
        else:
            highest = max(paid)
            paid[player] = (
                highest if action == CALL else self.contribution_after_raise(state, action)
            )
            if action != CALL:
                raises, least = raises + 1, max(least, paid[player] - highest)
                waiting = sum(p != player for p in self.players_able_to_act(paid, live))
        record = state.history + self.action_letter(action)
        state = state._replace(
            history=record,
            contributions=tuple(paid),
            players_left=live,
            num_waiting=waiting,
            num_raises=raises,
            min_raise=least,
        )
        return self._set_next_to_act(state, self._next_player(player, state))

    def players_able_to_act(
        self, contributions: Sequence[int], players_left: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Who can still act: all who are in, where nobody runs out of chips."""
        return players_left

    def contribution_after_raise(self, state: HoldemState, action: int) -> int:
        """What a player has paid in all once it has raised."""
        return max(state.contributions) + self.raise_sizes[state.round]

    def action_letter(self, action: int) -> str:
        return "fcr"[action]

    def _next_player(self, player: int, state: HoldemState) -> int:
        """The next player who can act, counted from a seat on."""
        able = (
            self.players_able_to_act(state.contributions, state.players_left) or state.players_left
        )
        return next((p for p in able if p > player), able[0])

    def _set_next_to_act(self, state: HoldemState, next_player: int) -> HoldemState:
        """Who acts next: a player, chance before the next round, nobody at the end."""
        if len(state.players_left) == 1:
            return state._replace(to_act=TERMINAL)
        if state.num_waiting:
            return state._replace(to_act=next_player)
        if state.round + 1 == len(self.board_cards):
            return state._replace(to_act=TERMINAL)
        able = len(self.players_able_to_act(state.contributions, state.players_left))
        return state._replace(
            to_act=CHANCE,
            round=state.round + 1,
            num_raises=0,
            min_raise=max(self.blinds),
            num_waiting=able if able > 1 else 0,  # one alone has nobody to bet against
            history=f"{state.history}|",
        )

    def _deal_card(self, state: HoldemState, card: int) -> HoldemState:
        cards, hidden = (*state.cards, card), 2 * self.num_players
        public, record = len(cards) - hidden, state.history
        if public < sum(self.board_cards[: state.round + 1]):
            return state._replace(cards=cards)
        if public > 0:  # in which order they came does not matter
            dealt = sorted(cards[-self.board_cards[state.round] :], reverse=True)
            record += f"{cards_name(dealt)}:"
        state = state._replace(cards=cards, history=record)
        return self._set_next_to_act(
            state, self._next_player(self.first_to_act[state.round] - 1, state)
        )

    def utilities(self, state: HoldemState) -> list[float]:
        paid, live = state.contributions, state.players_left
        if len(live) == 1:
            pot = sum(paid)
            return [float(pot * (p in live) - chips) for p, chips in enumerate(paid)]
        board = state.cards[2 * self.num_players :]
        hands = {p: hand_strength((*state.cards[2 * p : 2 * p + 2], *board)) for p in live}
        gains = [-float(chips) for chips in paid]
        below = 0
        for level in sorted({paid[p] for p in live}):  # the main pot, then side pots
            pot = sum(min(chips, level) - min(chips, below) for chips in paid)
            inside = [p for p in live if paid[p] >= level]
            best = max(hands[p] for p in inside)
            winners = [p for p in inside if hands[p] == best]
            for p in winners:
                gains[p] += pot / len(winners)
            below = level
        return gains

    def infoset_key(self, state: HoldemState, player: int) -> str:
        return f"{self.own_cards(state, player)}:{state.history}"

    def own_cards(self, state: HoldemState, player: int) -> str:
        """The player's cards, the higher first."""
        own = state.cards[2 * player : 2 * player + 2]
        return cards_name(sorted(own, reverse=True))

    def action_name(self, state: HoldemState, action: int) -> str:
        if state.to_act == CHANCE:
            return f"deal {card_name(action)}"
        return ("fold", "call", "raise")[action]

    def observation(self, state: HoldemState, player: int) -> list[float]:
        """Player, own cards, board, and (called, raised) for every turn that a round may have."""
        own, board = [0.0] * NUM_CARDS, [0.0] * NUM_CARDS
        for card in state.cards[2 * player : 2 * player + 2]:
            own[card] = 1.0
        for card in state.cards[2 * self.num_players :]:
            board[card] = 1.0
        bets: list[float] = []
        rounds = [part.rpartition(":")[2] for part in state.history.split("|")]
        for number, most in enumerate(self.max_raises):
            turns = (most + 1) * self.num_players
            here = [0.0] * (2 * turns)
            for turn, letter in enumerate(rounds[number] if number < len(rounds) else ""):
                if letter != "f":
                    here[2 * turn + (letter == "r")] = 1.0
            bets += here
        return [float(p == player) for p in range(self.num_players)] + own + board + bets

    def describe(self, state: HoldemState, player: int) -> str:
        board = state.cards[2 * self.num_players :]
        shown = f" The board is {cards_name(board)}." if board else ""
        return f"You hold {self.own_cards(state, player)}.{shown} The pot is {sum(state.contributions)}."
