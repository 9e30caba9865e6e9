"""A preflop game as ordinary rules: every hand and board is dealt, payoffs by plain definitions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import counterplay as cp
from tests.arenas.preflop.plain_poker import plain_strength
from tests.arenas.preflop.test_icm import recursive_equities


@dataclass(frozen=True)
class PlainPreflop:
    """The betting tree of an arena with deals and payoffs of its own.

    States are (hands dealt, node or -1 - leaf, board or None). Players know the class of a hand.
    """

    arena: Any

    @property
    def num_players(self):
        return self.arena.num_players

    @cached_property
    def hands(self):
        deck = self.arena.deck
        return {
            tuple(hand): deck.class_names[c] for hand, c in zip(*self._hand_lists(), strict=True)
        }

    def _hand_lists(self):
        deck = self.arena.deck
        return deck.hand_cards.tolist(), deck.hand_class.tolist()

    def initial_state(self):
        return (), 0, None

    def player(self, state):
        hands, node, board = state
        if len(hands) < self.num_players:
            return cp.CHANCE
        if node >= 0:
            return self.arena.tree.nodes[node].seat
        return cp.CHANCE if board is None else cp.TERMINAL

    def actions(self, state):
        return range(len(self.arena.tree.nodes[state[1]].actions))

    def _outcomes(self, state):
        hands = state[0]
        used = {card for hand in hands for card in hand}
        if len(hands) < self.num_players:
            return [hand for hand in self.hands if not used & set(hand)]
        left = [card for card in self.arena.deck.cards.tolist() if card not in used]
        return list(combinations(left, self.arena.deck.num_board))

    def chance_outcomes(self, state):
        count = len(self._outcomes(state))
        return [(number, 1.0 / count) for number in range(count)]

    def next_state(self, state, action):
        hands, node, board = state
        if self.player(state) == cp.CHANCE:
            outcome = self._outcomes(state)[action]
            if len(hands) < self.num_players:
                return (*hands, outcome), node, board
            return hands, node, outcome
        return hands, self.arena.tree.nodes[node].children[action], board

    def utilities(self, state):
        hands, node, board = state
        game, leaf = self.arena.preflop_game, self.arena.tree.leaves[-1 - node]
        strength = {
            p: plain_strength([*hands[p], *board], self.arena.deck) for p in leaf.contenders
        }
        chips = plain_chips(game, leaf.contributions, strength)
        if game.payouts is None:
            return [c - s for c, s in zip(chips, game.stacks, strict=True)]
        return plain_prizes(game, chips)

    def infoset_key(self, state, player):
        hands, node, _ = state
        history = ",".join(self.arena.tree.nodes[node].history) if node >= 0 else ""
        return f"{self.hands[hands[player]] if player < len(hands) else ''}:{history}"

    def action_name(self, state, action):
        if self.player(state) == cp.CHANCE:
            return str(action)
        return self.arena.tree.nodes[state[1]].actions[action]


def plain_chips(game, contributions, strength):
    """Chips of each seat after a hand: the smallest bet that is left makes the next pot."""
    chips = [stack - paid for stack, paid in zip(game.stacks, contributions, strict=True)]
    left = dict(enumerate(contributions))
    live = set(strength)
    second = sorted(contributions[p] for p in strength)[-2] if len(strength) > 1 else 0.0
    contested = sum(min(paid, second) for paid in contributions)
    cap = float("inf") if game.rake_cap is None else game.rake_cap
    part = min(game.rake * contested, cap) / contested if contested else 0.0
    while live:
        level = min(left[p] for p in live)
        pot = 0.0
        for p in left:
            paid = min(level, left[p])
            left[p] -= paid
            pot += paid
        best = max(strength[p] for p in live)
        winners = [p for p in live if strength[p] == best]
        for p in winners:
            chips[p] += pot * (1.0 - part * (len(live) > 1)) / len(winners)
        live = {p for p in live if left[p] > 1e-9}
    return [0.0 if abs(c) < 1e-9 else c for c in chips]


def plain_prizes(game, chips):
    """Prizes after a hand: ICM by its definition for those with chips, places for the others."""
    count = len(chips)
    payouts = [*game.payouts, *[0.0] * (count - len(game.payouts))]
    alive = [p for p in range(count) if chips[p] > 0.0]
    prizes = [0.0] * count
    for p, value in zip(
        alive, recursive_equities([chips[p] for p in alive], payouts[: len(alive)]), strict=True
    ):
        prizes[p] = value
    busted = [p for p in range(count) if p not in alive]
    for p in busted:
        above = sum(game.stacks[other] > game.stacks[p] for other in busted)
        equal = sum(game.stacks[other] == game.stacks[p] for other in busted)
        first = len(alive) + above
        prizes[p] = sum(payouts[first : first + equal]) / equal
    return prizes
