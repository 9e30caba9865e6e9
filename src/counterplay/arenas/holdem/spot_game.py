"""A spot as a game with rules: to play, to sample, and to unroll if the deck is small."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from counterplay.arenas.holdem.array_layout import leaf_payoffs
from counterplay.arenas.holdem.betting import (
    FOLD,
    SHOWDOWN,
    BettingNode,
    StreetState,
    list_actions,
    next_street_state,
    node_kind,
)
from counterplay.arenas.holdem.boards import RangeHands, river_strengths
from counterplay.arenas.holdem.spot import Spot
from counterplay.core.cards import ALL_HANDS, card_name, hand_name
from counterplay.core.game import CHANCE, TERMINAL

NUM_HANDS = len(ALL_HANDS)


class SpotState(NamedTuple):
    hands: tuple[int, ...]  # hand indices, player 0's first; empty before the deal
    board: tuple[int, ...]
    street_state: StreetState
    history: str  # public actions and cards, such as "check,bet 50|Td"
    folding_player: int = -1


@dataclass(frozen=True)
class SpotGame:
    """The rules of a spot. Chance deals both hands at once; betting and cards follow."""

    spot: Spot
    num_players: ClassVar[int] = 2

    @cached_property
    def _deal_probabilities(self) -> list[tuple[int, float]]:
        """Pairs of hands without a common card, as `1326 * first + second`, with probabilities."""
        used = (*self.spot.cards, *self.spot.dead_cards)
        first, second = (RangeHands.from_range(text, used) for text in self.spot.ranges)
        deals = [
            (NUM_HANDS * int(h) + int(k), float(v * w))
            for h, v in zip(first.index, first.weight, strict=True)
            for k, w in zip(second.index, second.weight, strict=True)
            if not set(ALL_HANDS[h]) & set(ALL_HANDS[k])
        ]
        total = sum(weight for _, weight in deals)
        return [(deal, weight / total) for deal, weight in deals]

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
        first, second = state.hands
        used = {*state.board, *self.spot.dead_cards, *ALL_HANDS[first], *ALL_HANDS[second]}
        left = [card for card in range(52) if card not in used]
        return [(card, 1.0 / len(left)) for card in left]

    def next_state(self, state: SpotState, action: int) -> SpotState:
        if not state.hands:
            return state._replace(hands=divmod(action, NUM_HANDS))
        if self.player(state) == CHANCE:
            return state._replace(
                board=(*state.board, action),
                street_state=next_street_state(state.street_state),
                history=f"{state.history}|{card_name(action)}",
            )
        name, after = list_actions(self.spot, state.street_state)[action]
        history = f"{state.history},{name}" if state.history else name
        if after is None:
            return state._replace(history=history, folding_player=state.street_state.player)
        return state._replace(history=history, street_state=after)

    def utilities(self, state: SpotState) -> list[float]:
        if state.folding_player >= 0:
            leaf = BettingNode(FOLD, state.street_state, 0, folding_player=state.folding_player)
            return [leaf_payoffs(self.spot, leaf, player)[0] for player in (0, 1)]
        hands = [np.array([ALL_HANDS[hand]]) for hand in state.hands]
        (first,), (second,) = river_strengths(state.board, hands, self.spot.deck_rules)
        leaf = BettingNode(SHOWDOWN, state.street_state, 0)
        result = 0 if first > second else 1 if first == second else 2  # player 0 wins, ties, loses
        payoffs = [leaf_payoffs(self.spot, leaf, player) for player in (0, 1)]
        return [payoffs[0][result], payoffs[1][2 - result]]

    def infoset_key(self, state: SpotState, player: int) -> str:
        hand = hand_name(state.hands[player]) if state.hands else ""
        return f"{hand}:{state.history}"

    def action_name(self, state: SpotState, action: int) -> str:
        if self.player(state) == CHANCE:
            return f"deal {card_name(action)}" if state.hands else "deal hands"
        return list_actions(self.spot, state.street_state)[action][0]
