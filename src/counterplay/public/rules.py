"""A spot as an ordinary game: rules to play, to sample, and to unroll where the deck is small."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from counterplay.cards import HANDS, card_name, hand_name
from counterplay.game import CHANCE, TERMINAL
from counterplay.kernels.hands import CARD_BIT, strength
from counterplay.public.betting import FOLD, Node, Street, actions_of, kind_of, next_street
from counterplay.public.boards import Hands
from counterplay.public.layout import payoffs
from counterplay.public.spot import Spot


class State(NamedTuple):
    hands: tuple[int, ...]  # among the 1,326, player 0's first; none before the deal
    board: tuple[int, ...]
    street: Street
    record: str  # what everybody saw, such as "check,bet 50|Td"
    folder: int = -1


@dataclass(frozen=True)
class SpotGame:
    """The rules of a spot: chance deals both hands at once, then the betting, then cards."""

    spot: Spot
    num_players: ClassVar[int] = 2

    @cached_property
    def _hands(self) -> tuple[Hands, Hands]:
        used = (*self.spot.cards, *self.spot.dead_cards)
        return Hands.of(self.spot.ranges[0], used), Hands.of(self.spot.ranges[1], used)

    @cached_property
    def _deals(self) -> list[tuple[int, float]]:
        """Pairs of hands that share no card, as `1326 * first + second`, with their odds."""
        one, other = self._hands
        found = [
            (1326 * int(h) + int(k), float(v * w))
            for h, v in zip(one.index, one.weight, strict=True)
            for k, w in zip(other.index, other.weight, strict=True)
            if not set(HANDS[h]) & set(HANDS[k])
        ]
        total = sum(weight for _, weight in found)
        return [(deal, weight / total) for deal, weight in found]

    def initial_state(self) -> State:
        return State((), self.spot.cards, Street(self.spot.street, 0), "")

    def player(self, state: State) -> int:
        if not state.hands:
            return CHANCE
        if state.folder >= 0:
            return TERMINAL
        kind = kind_of(self.spot, state.street)
        return kind if kind < FOLD else CHANCE if len(state.board) < 5 else TERMINAL

    def actions(self, state: State) -> tuple[int, ...]:
        return tuple(range(len(actions_of(self.spot, state.street))))

    def chance_outcomes(self, state: State) -> list[tuple[int, float]]:
        if not state.hands:
            return self._deals
        gone = {*state.board, *self.spot.dead_cards, *HANDS[state.hands[0]], *HANDS[state.hands[1]]}
        left = [card for card in range(52) if card not in gone]
        return [(card, 1.0 / len(left)) for card in left]

    def next_state(self, state: State, action: int) -> State:
        if not state.hands:
            return state._replace(hands=divmod(action, 1326))
        if self.player(state) == CHANCE:
            record = f"{state.record}|{card_name(action)}"
            board = (*state.board, action)
            return state._replace(board=board, street=next_street(state.street), record=record)
        name, after = actions_of(self.spot, state.street)[action]
        record = f"{state.record},{name}" if state.record else name
        if after is None:
            return state._replace(record=record, folder=state.street.player)
        return state._replace(record=record, street=after)

    def utilities(self, state: State) -> list[float]:
        if state.folder >= 0:
            end = Node(FOLD, state.street, 0, folder=state.folder)
            return [payoffs(self.spot, end, player)[0] for player in (0, 1)]
        board = np.bitwise_or.reduce(CARD_BIT[list(state.board)])
        one, other = (
            strength(board | CARD_BIT[HANDS[hand][0]] | CARD_BIT[HANDS[hand][1]], 7)
            for hand in state.hands
        )
        end = Node(FOLD + 1, state.street, 0)
        mine = 0 if one > other else 1 if one == other else 2
        return [payoffs(self.spot, end, 0)[mine], payoffs(self.spot, end, 1)[2 - mine]]

    def infoset_key(self, state: State, player: int) -> str:
        hand = hand_name(state.hands[player]) if state.hands else ""
        return f"{hand}:{state.record}"

    def action_name(self, state: State, action: int) -> str:
        if self.player(state) == CHANCE:
            return f"deal {card_name(action)}" if state.hands else "deal hands"
        return actions_of(self.spot, state.street)[action][0]
