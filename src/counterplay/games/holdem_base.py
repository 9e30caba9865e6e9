"""Base class of the hold'em games: deals, betting rounds, pots and showdowns.

The conventions are those of OpenSpiel's universal_poker, which are those of the Annual Computer
Poker Competition (ACPC): chance deals one card at a time, first all cards of player 0; folding is
legal only against a bet; a raise must increase the bet by at least the last increase unless the
player is all-in; a pot that cannot be split evenly is divided into fractions of a chip.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from itertools import combinations
from random import Random
from typing import Any, NamedTuple

from counterplay.core.cards import RANKS, SUITS
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.errors import ConfigError

FOLD, CALL, RAISE = 0, 1, 2
UNLIMITED_STACK = 2**30  # chips
UNLIMITED_RAISES = 2**20
ALL_IN = -1  # as a bet size
SIZE_UNITS = 10_000  # bet sizes are integers: ten-thousandths of the pot
MAX_POT_FRACTION = 1000
MAX_RAISE_PARTS = 8  # raise numbers of a street with different sizes
# Places of the categories from high card to straight flush. With few ranks flushes are rarer than
# full houses; some rooms also rank three of a kind above straights.
CATEGORY_ORDERS = {
    "standard": (0, 1, 2, 3, 4, 5, 6, 7, 8),
    "short_deck": (0, 1, 2, 3, 4, 6, 5, 7, 8),
    "short_deck_trips": (0, 1, 2, 4, 3, 6, 5, 7, 8),
}


class RaiseSizes(NamedTuple):
    """Legal bet sizes by street and number of earlier raises.

    A size is a number of ten-thousandths of the pot after a call, or `ALL_IN`. The last street of
    the list stands for all later streets, and the last entry of a street for all later raises.
    """

    streets: tuple[tuple[tuple[int, ...], ...], ...]

    def at(self, street: int, num_raises: int) -> tuple[int, ...]:
        """Return the sizes on a street after some raises."""
        by_raise = self.streets[min(street, len(self.streets) - 1)]
        return by_raise[min(num_raises, len(by_raise) - 1)]


def parse_bet_sizes(text: str, label: str) -> RaiseSizes | None:
    """Read bet sizes such as `0.5,1,a` or `1,a;a|0.5,1;1;a`; None if the text is empty.

    Commas separate sizes: fractions of the pot, and `a` for all-in. Semicolons separate raise
    numbers and bars separate streets. An empty part has no raises.

    Args:
        text: the sizes.
        label: start of error messages.

    Raises:
        ConfigError: a size is not a positive number.
    """
    if not text.strip():
        return None
    streets = tuple(
        tuple(_parse_sizes(part, text, label) for part in street.split(";"))
        for street in text.split("|")
    )
    if max(map(len, streets)) > MAX_RAISE_PARTS:
        raise ConfigError(f"{label} is {text!r}, must have at most {MAX_RAISE_PARTS} raises")
    return RaiseSizes(streets)


def _parse_sizes(part: str, text: str, label: str) -> tuple[int, ...]:
    sizes: list[int] = []
    for word in part.replace(",", " ").split():
        try:
            fraction = Decimal(0) if word == "a" else Decimal(word)
        except InvalidOperation:
            fraction = Decimal(-1)
        size = ALL_IN if word == "a" else 0
        if fraction.is_finite() and 0 < fraction <= MAX_POT_FRACTION:
            size = int(fraction * SIZE_UNITS)
        if size == 0:
            advice = "parts of the pot and a, such as 0.5,1,a"
            raise ConfigError(f"{label} is {text!r}, must be {advice}")
        sizes.append(size)
    return tuple(sizes)


def round_size(size: int, pot: int) -> int:
    """Return a bet size in chips, rounded to the nearest integer, halves up."""
    return (2 * size * pot + SIZE_UNITS) // (2 * SIZE_UNITS)


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


def hand_strength(
    cards: tuple[int, ...], lowest_rank: int = 0, category_order: Sequence[int] = range(9)
) -> tuple[int, ...]:
    """Return the strength of one to seven cards: category, then the ranks that decide ties.

    Stronger hands of the same number of cards compare greater. Fewer than five cards make no
    straight and no flush.

    Args:
        cards: the cards.
        lowest_rank: of the deck; the ace is also below it.
        category_order: place of each category from high card to straight flush.

    Example:
        >>> hand_strength((0, 1, 4, 5, 8))  # 2c 2d 3c 3d 4c: two pair
        (2, 1, 0, 2)
    """
    if len(cards) > 5:
        parts = combinations(cards, 5)
        return max(hand_strength(part, lowest_rank, category_order) for part in parts)
    ranks = sorted((card // 4 for card in cards), reverse=True)
    counts = sorted(((ranks.count(r), r) for r in set(ranks)), reverse=True)
    shape = tuple(count for count, _ in counts if count > 1)
    flush = len(cards) == 5 and len({card % 4 for card in cards}) == 1
    run = len(counts) == 5 and ranks[0] - ranks[4] == 4
    if ranks == [12, *range(lowest_rank + 3, lowest_rank - 1, -1)]:
        run, counts = True, [(1, lowest_rank + 3)]
    kinds = {(): 0, (2,): 1, (2, 2): 2, (3,): 3, (3, 2): 6, (4,): 7}
    category = 8 if run and flush else 5 if flush else 4 if run else kinds[shape]
    return category_order[category], *(rank for _, rank in counts)


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
    """Rules of poker with private cards and a board; a game sets the numbers.

    Raises have the sizes of `raise_sizes`. If that is empty, the game is no-limit: an action above
    1 is a raise to that total contribution, and `bet_sizes` may restrict the raises.
    """

    @property
    def num_hole_cards(self) -> int:
        """Number of private cards of each player."""
        return 2

    @property
    def num_ranks(self) -> int:
        return 13

    @property
    def num_suits(self) -> int:
        return 4

    @property
    def cards_per_rank(self) -> int:
        """Card c has rank c // cards_per_rank and suit c % cards_per_rank."""
        return self.num_suits

    @property
    def deck(self) -> Sequence[int]:
        """All cards, in rising order."""
        return range(self.num_ranks * self.num_suits)

    @property
    def strength_rules(self) -> tuple[Any, Any] | None:
        """Straights and order of hands of another deck, as `Deck.strength_rules`; None: usual."""
        return None

    @property
    def ante(self) -> int:
        """Chips that every player puts in before the deal, besides the blinds."""
        return 0

    @property
    def num_players(self) -> int:
        raise NotImplementedError

    @property
    def board_cards(self) -> tuple[int, ...]:
        """Number of public cards dealt before each round."""
        raise NotImplementedError

    @property
    def blinds(self) -> tuple[int, ...]:
        """Chips put in before the deal, by player."""
        raise NotImplementedError

    @property
    def starting_stacks(self) -> tuple[int, ...]:
        """Chips of each player before the hand."""
        return (UNLIMITED_STACK,) * self.num_players

    @property
    def first_to_act(self) -> tuple[int, ...]:
        """The player who opens, by round."""
        raise NotImplementedError

    @property
    def raise_sizes(self) -> tuple[int, ...]:
        """Size of a raise, by round; empty in no-limit games."""
        return ()

    @property
    def max_raises(self) -> tuple[int, ...]:
        """Largest number of raises, by round."""
        return (UNLIMITED_RAISES,) * len(self.board_cards)

    @property
    def bet_sizes(self) -> RaiseSizes | None:
        """The legal raises of a no-limit game; None if all are legal."""
        return None

    @property
    def is_limit(self) -> bool:
        """Whether raises have fixed sizes."""
        return bool(self.raise_sizes)

    @property
    def payouts(self) -> tuple[float, ...]:
        """Prizes of a tournament from the first place on; empty if utilities are chips."""
        return ()

    @property
    def pays_prizes(self) -> bool:
        """Whether utilities are expected prizes of a tournament instead of chips."""
        return bool(self.payouts)

    def payoffs(self, winnings: Sequence[float]) -> list[float]:
        """Return the utilities of the players, given the chips that each wins in the hand."""
        return list(winnings)

    def initial_state(self) -> HoldemState:
        everyone = tuple(range(self.num_players))
        posts = zip(self.blinds, self.starting_stacks, strict=True)
        paid = tuple(min(self.ante + blind, stack) for blind, stack in posts)
        return HoldemState(CHANCE, (), "", paid, everyone, 0, 0, 0, self.min_bet)

    @property
    def min_bet(self) -> int:
        """The smallest first bet of a round: the largest blind, at least 1."""
        return max(*self.blinds, 1)

    def player(self, state: HoldemState) -> int:
        return state.to_act

    def actions(self, state: HoldemState) -> tuple[int, ...]:
        highest, paid = max(state.contributions), state.contributions[state.to_act]
        return (FOLD,) * (highest > paid) + (CALL, *self._legal_raises(state, highest, paid))

    def is_legal(self, state: HoldemState, action: int) -> bool:
        """Return True if an action is legal, without listing all raises."""
        highest, paid = max(state.contributions), state.contributions[state.to_act]
        if action in (FOLD, CALL):
            return action == CALL or highest > paid
        return action in self._legal_raises(state, highest, paid)

    def _legal_raises(self, state: HoldemState, highest: int, paid: int) -> Sequence[int]:
        able = self.players_able_to_act(state.contributions, state.players_left)
        stack = self.starting_stacks[state.to_act]
        if state.num_raises >= self.max_raises[state.round] or len(able) < 2 or highest >= stack:
            return ()
        if self.is_limit:
            return (RAISE,)
        min_total = min(highest + state.min_raise, stack)
        if self.bet_sizes is None:
            return range(min_total, stack + 1)
        pot = sum(state.contributions) + highest - paid
        sizes = self.bet_sizes.at(state.round, state.num_raises)
        totals = {stack if n == ALL_IN else highest + round_size(n, pot) for n in sizes}
        return tuple(sorted({max(min_total, min(total, stack)) for total in totals}))

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
            chips[player] = min(highest, self.starting_stacks[player])
        else:
            total = highest + self.raise_sizes[state.round] if self.is_limit else action
            chips[player] = min(total, self.starting_stacks[player])
            increase = chips[player] - highest
            raises, min_raise = raises + 1, max(min_raise - increase, increase)
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
        """Return the players left who are not all-in."""
        return tuple(p for p in players_left if contributions[p] < self.starting_stacks[p])

    def action_letter(self, action: int) -> str:
        """Return the action as it is written in a history."""
        return "fcr"[action] if self.is_limit or action <= CALL else f"r{action}"

    def past_actions(self, state: HoldemState) -> list[int]:
        """Return the players' actions that lead to a state."""
        letters = "".join(part.rpartition(":")[2] for part in state.history.split("|"))
        words = re.findall(r"[fcr]\d*", letters)
        if self.is_limit:
            return ["fcr".index(word) for word in words]
        return [int(word[1:]) if word[0] == "r" else "fc".index(word) for word in words]

    def decisions_before(self, state: HoldemState) -> list[tuple[HoldemState, int]]:
        """Return the decisions that lead to a state, with their actions."""
        current, cards, decisions = self.initial_state(), iter(state.cards), []
        for action in self.past_actions(state):
            while current.to_act == CHANCE:
                current = self.next_state(current, next(cards))
            decisions.append((current, action))
            current = self.next_state(current, action)
        return decisions

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
        return state._replace(
            to_act=CHANCE,
            round=state.round + 1,
            num_raises=0,
            min_raise=self.min_bet,
            history=f"{state.history}|",
        )

    def _deal_card(self, state: HoldemState, card: int) -> HoldemState:
        cards, history = (*state.cards, card), state.history
        num_public = len(cards) - self.num_hole_cards * self.num_players
        if num_public < sum(self.board_cards[: state.round + 1]):
            return state._replace(cards=cards)
        if num_public > 0:  # sorted: the order of the deal does not matter
            dealt = sorted(cards[-self.board_cards[state.round] :], reverse=True)
            history += f"{self.cards_name(dealt)}:"
        able = self.players_able_to_act(state.contributions, state.players_left)
        # a single player has no opponent to bet against, but may have to call a blind
        faces_bet = [max(state.contributions) > state.contributions[p] for p in able]
        waiting = len(able) if len(able) > 1 else sum(faces_bet)
        state = state._replace(cards=cards, history=history, num_waiting=waiting)
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
        count = self.num_hole_cards
        own = slice(count * player, count * (player + 1))
        hand, board = state.cards[own], self.public_cards(state)
        left = [card for card in self.deck if card not in hand and card not in board]
        private = rng.sample(left, count * self.num_players)
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
        return self.payoffs(self._winnings(state))

    def _winnings(self, state: HoldemState) -> list[float]:
        """Return the chips that each player wins or loses in the hand."""
        contributions, players = state.contributions, state.players_left
        if len(players) == 1:
            pot = sum(contributions)
            return [float(pot * (p in players) - chips) for p, chips in enumerate(contributions)]
        board = self.public_cards(state)
        hands = {p: self._strength((*self.hole_cards(state, p), *board)) for p in players}
        winnings = [-float(chips) for chips in contributions]
        below = 0
        for level in sorted({contributions[p] for p in players}):  # the main pot, then side pots
            pot = sum(min(chips, level) - min(chips, below) for chips in contributions)
            entitled = [p for p in players if contributions[p] >= level]
            best = max(hands[p] for p in entitled)
            winners = [p for p in entitled if hands[p] == best]
            for p in winners:
                winnings[p] += pot / len(winners)
            below = level
        return winnings

    def infoset_key(self, state: HoldemState, player: int) -> str:
        return f"{self.own_cards(state, player)}:{state.history}"

    def _strength(self, cards: tuple[int, ...]) -> tuple[int, ...]:
        """Return the strength of cards of this game's deck."""
        count = self.cards_per_rank
        return hand_strength(tuple(4 * (c // count) + c % count for c in cards))

    def hole_cards(self, state: HoldemState, player: int) -> tuple[int, ...]:
        """Return the private cards of a player in the order of the deal."""
        count = self.num_hole_cards
        return state.cards[count * player : count * (player + 1)]

    def public_cards(self, state: HoldemState) -> tuple[int, ...]:
        """Return the public cards in the order of the deal."""
        return state.cards[self.num_hole_cards * self.num_players :]

    def own_cards(self, state: HoldemState, player: int) -> str:
        """Return the name of the player's cards, the higher first."""
        return self.cards_name(sorted(self.hole_cards(state, player), reverse=True))

    def cards_name(self, cards: Sequence[int]) -> str:
        """Return the names of cards of this game's deck in one word."""
        count = self.cards_per_rank
        return "".join(RANKS[c // count] + SUITS[c % count] for c in cards)

    def action_name(self, state: HoldemState, action: int) -> str:
        if state.to_act == CHANCE:
            return f"deal {self.cards_name([action])}"
        if self.is_limit or action <= CALL:
            return ("fold", "call", "raise")[action]
        return f"raise to {action}"

    def observation(self, state: HoldemState, player: int) -> list[float]:
        """Return the observer, own cards and board, then the betting.

        With fixed raises the betting is (called, raised) for every possible turn. In no-limit games
        it is the chips put in and whether still in, by player, the round and the smallest raise.
        """
        deck = self.num_ranks * self.num_suits
        own, board = [0.0] * deck, [0.0] * deck
        for card in self.hole_cards(state, player):
            own[card] = 1.0
        for card in self.public_cards(state):
            board[card] = 1.0
        observer = [float(p == player) for p in range(self.num_players)]
        betting = self._observe_turns(state) if self.is_limit else self._observe_chips(state)
        return observer + own + board + betting

    def _observe_turns(self, state: HoldemState) -> list[float]:
        bets: list[float] = []
        rounds = [part.rpartition(":")[2] for part in state.history.split("|")]
        for number, max_raises in enumerate(self.max_raises):
            turns = (max_raises + 1) * self.num_players
            round_bets = [0.0] * (2 * turns)
            for turn, letter in enumerate(rounds[number] if number < len(rounds) else ""):
                if letter != "f":
                    round_bets[2 * turn + (letter == "r")] = 1.0
            bets += round_bets
        return bets

    def _observe_chips(self, state: HoldemState) -> list[float]:
        stack = max(self.starting_stacks)
        chips = [paid / stack for paid in state.contributions]
        is_left = [float(p in state.players_left) for p in range(self.num_players)]
        rounds = [float(state.round == number) for number in range(len(self.board_cards))]
        return [*chips, *is_left, *rounds, state.min_raise / stack]

    def describe(self, state: HoldemState, player: int) -> str:
        board = self.public_cards(state)
        board_text = f" The board is {self.cards_name(board)}." if board else ""
        pot = sum(state.contributions)
        return f"You hold {self.own_cards(state, player)}.{board_text} The pot is {pot}."
