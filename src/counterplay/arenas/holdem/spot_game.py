"""A spot as an ordinary game: rules to play, to sample, and to unroll where the deck is small."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from counterplay.arenas.holdem.array_layout import leaf_payoffs
from counterplay.arenas.holdem.betting import (
    FOLD,
    BettingNode,
    StreetState,
    list_actions,
    next_street_state,
    node_kind,
)
from counterplay.arenas.holdem.boards import RangeHands
from counterplay.arenas.holdem.spot import Spot
from counterplay.core.cards import ALL_HANDS, card_name, hand_name
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.kernels.holdem.hand_strength import CARD_BIT, strength


class SpotState(NamedTuple):
    hands: tuple[int, ...]  # among the 1,326, player 0's first; none before the deal
    board: tuple[int, ...]
    street_state: StreetState
    history: str  # what everybody saw, such as "check,bet 50|Td"
    folding_player: int = -1


@dataclass(frozen=True)
class SpotGame:
    """The rules of a spot: chance deals both hands at once, then the betting, then cards."""

    spot: Spot
    num_players: ClassVar[int] = 2

    @cached_property
    def _range_hands(self) -> tuple[RangeHands, RangeHands]:
        used = (*self.spot.cards, *self.spot.dead_cards)
        return RangeHands.from_range(self.spot.ranges[0], used), RangeHands.from_range(
            self.spot.ranges[1], used
        )

    @cached_property
    def _deal_probabilities(self) -> list[tuple[int, float]]:
        """Pairs of hands that share no card, as `1326 * first + second`, with their odds."""
        one, other = self._range_hands
        found = [
            (1326 * int(h) + int(k), float(v * w))
            for h, v in zip(one.index, one.weight, strict=True)
            for k, w in zip(other.index, other.weight, strict=True)
            if not set(ALL_HANDS[h]) & set(ALL_HANDS[k])
        ]
        total = sum(weight for _, weight in found)
        return [(deal, weight / total) for deal, weight in found]

    def initial_state(self) -> SpotState:
        return SpotState((), self.spot.cards, StreetState(self.spot.street, 0), "")

    def player(self, state: SpotState) -> int:
        if not state.hands:
            return CHANCE
        if state.folding_player >= 0:
            return TERMINAL
        kind = node_kind(self.spot, state.street_state)
        return kind if kind < FOLD else CHANCE if len(state.board) < 5 else TERMINAL

    def actions(self, state: SpotState) -> tuple[int, ...]:
        return tuple(range(len(list_actions(self.spot, state.street_state))))

    def chance_outcomes(self, state: SpotState) -> list[tuple[int, float]]:
        if not state.hands:
            return self._deal_probabilities
        gone = {
            *state.board,
            *self.spot.dead_cards,
            *ALL_HANDS[state.hands[0]],
            *ALL_HANDS[state.hands[1]],
        }
        left = [card for card in range(52) if card not in gone]
        return [(card, 1.0 / len(left)) for card in left]

    def next_state(self, state: SpotState, action: int) -> SpotState:
        if not state.hands:
            return state._replace(hands=divmod(action, 1326))
        if self.player(state) == CHANCE:
            record = f"{state.history}|{card_name(action)}"
            board = (*state.board, action)
            return state._replace(
                board=board, street_state=next_street_state(state.street_state), history=record
            )
        name, after = list_actions(self.spot, state.street_state)[action]
        record = f"{state.history},{name}" if state.history else name
        if after is None:
            return state._replace(history=record, folding_player=state.street_state.player)
        return state._replace(history=record, street_state=after)

    def utilities(self, state: SpotState) -> list[float]:
        if state.folding_player >= 0:
            end = BettingNode(FOLD, state.street_state, 0, folding_player=state.folding_player)
            return [leaf_payoffs(self.spot, end, player)[0] for player in (0, 1)]
        board = np.bitwise_or.reduce(CARD_BIT[list(state.board)])
        one, other = (
            strength(board | CARD_BIT[ALL_HANDS[hand][0]] | CARD_BIT[ALL_HANDS[hand][1]], 7)
            for hand in state.hands
        )
        end = BettingNode(FOLD + 1, state.street_state, 0)
        mine = 0 if one > other else 1 if one == other else 2
        return [leaf_payoffs(self.spot, end, 0)[mine], leaf_payoffs(self.spot, end, 1)[2 - mine]]

    def infoset_key(self, state: SpotState, player: int) -> str:
        hand = hand_name(state.hands[player]) if state.hands else ""
        return f"{hand}:{state.history}"

    def action_name(self, state: SpotState, action: int) -> str:
        if self.player(state) == CHANCE:
            return f"deal {card_name(action)}" if state.hands else "deal hands"
        return list_actions(self.spot, state.street_state)[action][0]
