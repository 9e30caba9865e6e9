"""Values of small spots by plain enumeration: every pair of hands, every card, every action.

Nothing of `counterplay.arenas.holdem` or of the kernels is used, but for the betting tree of
`plain_betting`: cards are texts, hands are ranked by looking at all choices of five cards.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations

from tests.arenas.holdem.plain_betting import END, Config, build

RANKS = "23456789TJQKA"
Hand = tuple[str, str]


@cache
def rank_five(cards: tuple[str, ...]) -> tuple[int, ...]:
    """A tuple that is larger for the better of two hands of five cards."""
    ranks = sorted((RANKS.index(card[0]) for card in cards), reverse=True)
    counts = sorted(Counter(ranks).items(), key=lambda item: (-item[1], -item[0]))
    shape = tuple(count for _, count in counts)
    order = tuple(rank for rank, _ in counts)
    flush = len({card[1] for card in cards}) == 1
    straight = len(order) == 5 and order[0] - order[4] == 4
    if order == (12, 3, 2, 1, 0):  # ace to five
        straight, order = True, (3, 2, 1, 0, -1)
    kinds = {(4, 1): 7, (3, 2): 6, (3, 1, 1): 3, (2, 2, 1): 2, (2, 1, 1, 1): 1}
    kind = kinds.get(shape, 0)
    if straight or flush:
        kind = 8 if straight and flush else 5 if flush else 4
    return kind, *order


@cache
def rank_seven(cards: frozenset[str]) -> tuple[int, ...]:
    return max(rank_five(five) for five in combinations(sorted(cards), 5))


@dataclass(frozen=True)
class PlainSpot:
    """A spot with a small deck, and a policy drawn from a seed; seed 0 is the uniform policy."""

    config: Config
    board: tuple[str, ...]
    deck: tuple[str, ...]  # all cards in play, the board included
    ranges: tuple[dict[Hand, float], dict[Hand, float]]
    rake: float
    rake_cap: float
    seed: int

    @cached_property
    def tree(self) -> object:
        return build(self.config)

    def policy(self, player: int, hand: Hand, history: str, count: int) -> list[float]:
        """Probabilities of the actions of a hand after a history."""
        if not self.seed:
            return [1.0 / count] * count
        rng = random.Random(f"{self.seed} {player} {sorted(hand)} {history}")
        weights = [rng.expovariate(1.0) for _ in range(count)]
        return [weight / sum(weights) for weight in weights]

    def pairs(self) -> Iterator[tuple[Hand, Hand, float]]:
        """Pairs of hands that can be dealt, with their weight."""
        for one, weight in self.ranges[0].items():
            for other, other_weight in self.ranges[1].items():
                if not set(one) & set(other):
                    yield one, other, weight * other_weight

    def values(self) -> list[float]:
        """EV of both players at the start of the spot."""
        total, sums = 0.0, [0.0, 0.0]
        for one, other, weight in self.pairs():
            start = Spotted(self, (one, other))
            found = start.values()
            total += weight
            sums = [sums[p] + weight * found[p] for p in (0, 1)]
        return [value / total for value in sums]

    def hand_values(self, player: int, path: list[str]) -> dict[Hand, float]:
        """EV of each of a player's hands after a path of actions and cards, from there on."""
        sums: dict[Hand, list[float]] = {}
        for one, other, weight in self.pairs():
            here = Spotted(self, (one, other))
            if any(len(step) == 2 and step in (*one, *other) for step in path):
                continue  # the card dealt is in a hand
            weight /= self.ranges[player][(one, other)[player]]
            for step in path:
                if len(step) == 2:
                    here = here.deal(step)
                else:
                    names = [name for name, _ in here.tree]
                    chances = here.chances()
                    if here.player != player:
                        weight *= chances[names.index(step)]
                    here = here.act(step)
            entry = sums.setdefault((one, other)[player], [0.0, 0.0])
            entry[0] += weight * here.values()[player]
            entry[1] += weight
        return {hand: total / weight for hand, (total, weight) in sums.items() if weight > 0.0}


class Spotted:
    """A history with both hands known."""

    def __init__(self, spot: PlainSpot, hands: tuple[Hand, Hand]):
        self.spot, self.hands = spot, hands
        self.tree = spot.tree
        self.board, self.history, self.player = spot.board, "", 0
        self.paid = [0, 0]  # since the start of the spot
        self.street_paid = [0, 0]
        self.start = (0, 0)  # contributions at the state whose values are computed
        self.waits_for_card = False
        self.checked = False
        self.folder = -1

    def copy(self) -> Spotted:
        found = Spotted.__new__(Spotted)
        found.__dict__.update(self.__dict__)
        found.paid, found.street_paid = list(self.paid), list(self.street_paid)
        return found

    def chances(self) -> list[float]:
        hand = self.hands[self.player]
        return self.spot.policy(self.player, hand, self.history, len(self.tree))

    def act(self, name: str) -> Spotted:
        found, me = self.copy(), self.player
        found.tree = dict(self.tree)[name]
        found.history = f"{self.history},{name}" if self.history else name
        word, _, amount = name.partition(" ")
        ended = False
        if word == "fold":
            found.folder = me
        elif word == "check":
            ended = self.checked
            found.checked = True
        elif word == "call":
            ended = True
            found._pay(me, max(self.street_paid))
        else:
            found._pay(me, int(amount))
            found.checked = True
        found.player = 1 - me
        found.waits_for_card = ended and len(self.board) < 5
        return found

    def _pay(self, player: int, street_total: int) -> None:
        self.paid[player] += street_total - self.street_paid[player]
        self.street_paid[player] = street_total

    def deal(self, card: str) -> Spotted:
        found = self.copy()
        found.board = (*self.board, card)
        found.history = f"{self.history}|{card}"
        found.street_paid, found.player, found.checked = [0, 0], 0, False
        found.waits_for_card = found.tree == END and len(found.board) < 5
        return found

    def values(self) -> list[float]:
        """EV of both players from here on: share of the pot less later bets."""
        results = self._results()
        return [results[p] + self.paid[p] for p in (0, 1)]

    def _results(self) -> list[float]:
        """Chips won or lost since the start of the spot."""
        spot = self.spot
        if self.folder < 0 and self.waits_for_card:
            gone = {*self.board, *self.hands[0], *self.hands[1]}
            cards = [card for card in spot.deck if card not in gone]
            found = [self.deal(card)._results() for card in cards]
            return [sum(one[p] for one in found) / len(cards) for p in (0, 1)]
        if self.tree != END:
            found = [
                (chance, self.act(name)._results())
                for chance, (name, _) in zip(self.chances(), self.tree, strict=True)
            ]
            return [sum(chance * one[p] for chance, one in found) for p in (0, 1)]
        matched = min(self.paid)
        pot = spot.config.pot + 2 * matched
        pot -= min(pot * spot.rake, spot.rake_cap)
        if self.folder >= 0:
            shares = [1.0, 1.0]
            shares[self.folder] = 0.0
        else:
            one, other = (rank_seven(frozenset({*self.board, *hand})) for hand in self.hands)
            shares = [float(one > other), float(other > one)] if one != other else [0.5, 0.5]
        return [pot * share - matched for share in shares]
