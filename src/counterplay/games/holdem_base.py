"""Base class of the hold'em games: deals, betting rounds, pots and showdowns.

The conventions are those of OpenSpiel's universal_poker: chance deals one card at a time, first all
cards of player 0; folding is legal only against a bet.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from random import Random
from typing import NamedTuple

from counterplay.core.cards import NUM_CARDS, card_name, cards_name
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.errors import ConfigError

FOLD, CALL, RAISE = 0, 1, 2


class HoldemState(NamedTuple):
    to_act: int  # a player, CHANCE or TERMINAL
    cards: tuple[int, ...]  # private cards, player 0's first, then the board
    history: str  # public actions and cards, such as "crc|Td9d6h:c"
    contributions: tuple[int, ...]  # chips put in, by player
    players_left: tuple[int, ...]  # players who have not folded
    num_waiting: int  # players who still have to act in this round if no one raises
    round: int
    num_raises: int  # in this round
    min_raise: int  # smallest increase of the bet, in no-limit games


def hand_strength(cards: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strength of one to seven cards: category, then the ranks that decide ties.

    Stronger hands compare greater. Fewer than five cards make no straight and no flush.

    Example:
        >>> hand_strength((0, 1, 4, 5, 8))  # 2c 2d 3c 3d 4c: two pair
        (2, 1, 0, 2)
    """
    if len(cards) > 5:
        return max(map(hand_strength, combinations(cards, 5)))
    ranks = sorted((card // 4 for card in cards), reverse=True)
    counts = sorted(((ranks.count(r), r) for r in set(ranks)), reverse=True)
    shape = tuple(count for count, _ in counts[:2] if count > 1)
    flush = len(cards) == 5 and len({card % 4 for card in cards}) == 1
    run = len(counts) == 5 and ranks[0] - ranks[4] == 4
    if ranks == [12, 3, 2, 1, 0]:
        run, counts = True, [(1, 3)]
    kinds = {(): 0, (2,): 1, (2, 2): 2, (3,): 3, (3, 2): 6, (4,): 7}
    category = 8 if run and flush else 5 if flush else 4 if run else kinds[shape]
    return category, *(rank for _, rank in counts)


def parse_pot_fractions(name: str, sizes: str) -> list[float]:
    """Return bet sizes such as "0.5,1,a" as fractions of the pot; infinity is all-in.

    Args:
        name: name of the game in errors.
        sizes: fractions of the pot and `a`, separated by commas.

    Raises:
        ConfigError: a size is neither a positive number nor `a`.
    """
    words = [word.strip() for word in sizes.split(",") if word.strip()]
    try:
        fractions = [float("inf") if word == "a" else float(word) for word in words]
    except ValueError:
        fractions = [-1.0]
    if not all(fraction > 0.0 for fraction in fractions):
        raise ConfigError(
            f"{name}: sizes is {sizes!r}, must be parts of the pot and a, such as 0.5,1,a"
        )
    return fractions


class HoldemBase:
    """Rules of hold'em with raises of fixed size; a game sets the numbers by round."""

    @property
    def num_players(self) -> int:
        raise NotImplementedError

    @property
    def board_cards(self) -> tuple[int, ...]:
        """Number of cards dealt before each round."""
        raise NotImplementedError

    @property
    def raise_sizes(self) -> tuple[int, ...]:
        """Chips of a raise in games with fixed sizes, by round."""
        raise NotImplementedError

    @property
    def num_hole_cards(self) -> int:
        """Number of private cards of a player."""
        return 2

    @property
    def deck(self) -> Sequence[int]:
        """All cards, in rising order."""
        return range(NUM_CARDS)

    @property
    def blinds(self) -> tuple[int, ...]:
        """Chips put in before the deal, by player."""
        raise NotImplementedError

    @property
    def first_to_act(self) -> tuple[int, ...]:
        """The player who opens, by round."""
        raise NotImplementedError

    @property
    def max_raises(self) -> tuple[int, ...]:
        """Largest number of raises, by round."""
        raise NotImplementedError

    @property
    def initial_contributions(self) -> tuple[int, ...]:
        """Blinds and antes, by player."""
        return self.blinds

    @property
    def min_bet(self) -> int:
        """Smallest bet of a round in no-limit games."""
        return max(1, *self.blinds)

    def initial_state(self) -> HoldemState:
        everyone, paid = tuple(range(self.num_players)), self.initial_contributions
        return HoldemState(CHANCE, (), "", paid, everyone, len(everyone), 0, 0, self.min_bet)

    def player(self, state: HoldemState) -> int:
        return state.to_act

    def actions(self, state: HoldemState) -> tuple[int, ...]:
        faces_bet = max(state.contributions) > state.contributions[state.to_act]
        can_raise = state.num_raises < self.max_raises[state.round]
        return (FOLD,) * faces_bet + (CALL,) + (RAISE,) * can_raise

    def chance_outcomes(self, state: HoldemState) -> list[tuple[int, float]]:
        left = [card for card in self.deck if card not in state.cards]
        return [(card, 1.0 / len(left)) for card in left]

    def next_state(self, state: HoldemState, action: int) -> HoldemState:
        if state.to_act == CHANCE:
            return self._deal_card(state, action)
        player, players, chips = state.to_act, state.players_left, list(state.contributions)
        waiting, raises, min_raise = state.num_waiting - 1, state.num_raises, state.min_raise
        highest = max(chips)
        if action == FOLD:
            players = tuple(p for p in players if p != player)
        elif action == CALL:
            chips[player] = highest
        else:
            chips[player] = self.contribution_after_raise(state, action)
            raises, min_raise = raises + 1, max(min_raise, chips[player] - highest)
            waiting = sum(p != player for p in self.players_able_to_act(chips, players))
        state = state._replace(
            history=state.history + self.action_letter(action),
            contributions=tuple(chips),
            players_left=players,
            num_waiting=waiting,
            num_raises=raises,
            min_raise=min_raise,
        )
        return self._set_next_to_act(state, self._next_player(player, state))

    def players_able_to_act(
        self, contributions: Sequence[int], players_left: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Return the players left who can still act: all of them unless stacks are limited."""
        return players_left

    def contribution_after_raise(self, state: HoldemState, action: int) -> int:
        """Return the total contribution of the player to act after a raise."""
        return max(state.contributions) + self.raise_sizes[state.round]

    def action_letter(self, action: int) -> str:
        """Return the action as it is written in a history."""
        return "fcr"[action]

    def _next_player(self, player: int, state: HoldemState) -> int:
        """Return the first player after `player`, in seat order, who can act."""
        able = (
            self.players_able_to_act(state.contributions, state.players_left) or state.players_left
        )
        return next((p for p in able if p > player), able[0])

    def _set_next_to_act(self, state: HoldemState, next_player: int) -> HoldemState:
        """Return the state with `to_act` set; a finished round leads to the next one or the end."""
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
            min_raise=self.min_bet,
            num_waiting=able if able > 1 else 0,  # a single player has no opponent to bet against
            history=f"{state.history}|",
        )

    def _deal_card(self, state: HoldemState, card: int) -> HoldemState:
        cards, history = (*state.cards, card), state.history
        num_public = len(cards) - self.num_hole_cards * self.num_players
        if num_public < sum(self.board_cards[: state.round + 1]):
            return state._replace(cards=cards)
        if num_public > 0:  # sorted: the order of the deal does not matter
            dealt = sorted(cards[-self.board_cards[state.round] :], reverse=True)
            history += f"{cards_name(dealt)}:"
        state = state._replace(cards=cards, history=history)
        return self._set_next_to_act(
            state, self._next_player(self.first_to_act[state.round] - 1, state)
        )

    def betting_actions(self, state: HoldemState) -> list[int]:
        """Return the actions of all players before a state."""
        letters = "".join(part.rpartition(":")[2] for part in state.history.split("|"))
        actions, current = list[int](), self.initial_state()
        while letters:
            if current.to_act == CHANCE:
                current = self.next_state(current, state.cards[len(current.cards)])
                continue
            names = {self.action_letter(action): action for action in self.actions(current)}
            name = max(filter(letters.startswith, names), key=len)  # "r1" starts "r10" too
            actions.append(names[name])
            letters = letters[len(name) :]
            current = self.next_state(current, names[name])
        return actions

    def redeal(
        self, state: HoldemState, player: int, actions: Sequence[int], rng: Random
    ) -> tuple[list[HoldemState], HoldemState]:
        """Draw the cards of the other players anew, uniformly from those the player cannot see.

        Args:
            state: a state at which a player acts.
            player: the player whose cards stay.
            actions: `betting_actions(state)`.
            rng: the random numbers.

        Returns:
            The states at which the actions were taken, and the state after them.
        """
        own = slice(2 * player, 2 * player + 2)
        hand, board = state.cards[own], state.cards[2 * self.num_players :]
        left = [card for card in range(NUM_CARDS) if card not in hand and card not in board]
        private = rng.sample(left, 2 * self.num_players)
        private[own] = hand
        cards, current, decisions = (*private, *board), self.initial_state(), list[HoldemState]()
        while len(decisions) < len(actions) or current.to_act == CHANCE:
            if current.to_act == CHANCE:
                current = self.next_state(current, cards[len(current.cards)])
            else:
                decisions.append(current)
                current = self.next_state(current, actions[len(decisions) - 1])
        return decisions, current

    def utilities(self, state: HoldemState) -> list[float]:
        contributions, players = state.contributions, state.players_left
        if len(players) == 1:
            pot = sum(contributions)
            return [float(pot * (p in players) - chips) for p, chips in enumerate(contributions)]
        board = self.board(state)
        hands = {p: hand_strength((*self.hole_cards(state, p), *board)) for p in players}
        utilities = [-float(chips) for chips in contributions]
        below = 0
        for level in sorted({contributions[p] for p in players}):  # the main pot, then side pots
            pot = sum(min(chips, level) - min(chips, below) for chips in contributions)
            entitled = [p for p in players if contributions[p] >= level]
            best = max(hands[p] for p in entitled)
            winners = [p for p in entitled if hands[p] == best]
            for p in winners:
                utilities[p] += pot / len(winners)
            below = level
        return utilities

    def infoset_key(self, state: HoldemState, player: int) -> str:
        return f"{self.own_cards(state, player)}:{state.history}"

    def hole_cards(self, state: HoldemState, player: int) -> tuple[int, ...]:
        """Return the private cards of a player."""
        count = self.num_hole_cards
        return state.cards[count * player : count * (player + 1)]

    def board(self, state: HoldemState) -> tuple[int, ...]:
        """Return the public cards."""
        return state.cards[self.num_hole_cards * self.num_players :]

    def own_cards(self, state: HoldemState, player: int) -> str:
        """Return the name of the player's cards, the higher first."""
        return cards_name(sorted(self.hole_cards(state, player), reverse=True))

    def action_name(self, state: HoldemState, action: int) -> str:
        if state.to_act == CHANCE:
            return f"deal {card_name(action)}"
        return ("fold", "call", "raise")[action]

    def observation(self, state: HoldemState, player: int) -> list[float]:
        """Return player, own cards, board, and (called, raised) for every possible turn."""
        own, board = [0.0] * NUM_CARDS, [0.0] * NUM_CARDS
        for card in self.hole_cards(state, player):
            own[card] = 1.0
        for card in self.board(state):
            board[card] = 1.0
        bets: list[float] = []
        rounds = [part.rpartition(":")[2] for part in state.history.split("|")]
        for number, max_raises in enumerate(self.max_raises):
            turns = (max_raises + 1) * self.num_players
            round_bets = [0.0] * (2 * turns)
            for turn, letter in enumerate(rounds[number] if number < len(rounds) else ""):
                if letter != "f":
                    round_bets[2 * turn + (letter == "r")] = 1.0
            bets += round_bets
        return [float(p == player) for p in range(self.num_players)] + own + board + bets

    def describe(self, state: HoldemState, player: int) -> str:
        board = self.board(state)
        board_text = f" The board is {cards_name(board)}." if board else ""
        pot = sum(state.contributions)
        return f"You hold {self.own_cards(state, player)}.{board_text} The pot is {pot}."
