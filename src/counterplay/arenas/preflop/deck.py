"""Decks of any ranks and suits, their hands of two cards, and classes that suits do not matter to.

The cards of a deck are those of `counterplay.core.cards`, so that a card has one name everywhere.
With R ranks there are R * R classes: of ranks a <= b from the lowest of the deck, suited hands have
class R * b + a, pairs and offsuit hands R * a + b; as `hand_class` numbers the 169 of 52 cards.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np

from counterplay.core.arena import Ints
from counterplay.core.cards import RANKS, permute_suits
from counterplay.errors import ConfigError
from counterplay.games.holdem_base import CATEGORY_ORDERS
from counterplay.kernels.holdem.hand_strength import CARD_BIT


@dataclass(frozen=True)
class Deck:
    """The highest ranks and the first suits of the 52 cards, and the size of the board.

    Args:
        num_ranks: 2 to 13; 9 for short deck, whose lowest card is a six.
        num_suits: 2 to 4.
        num_board: cards on the full board, 0 to 5.
        ranking: "standard"; "short_deck", where flushes beat full houses; or "short_deck_trips",
            where also three of a kind beats a straight. The ace also stands below the lowest rank.

    Example:
        >>> Deck().num_hands, Deck(num_ranks=9, ranking="short_deck").num_hands
        (1326, 630)
    """

    num_ranks: int = 13
    num_suits: int = 4
    num_board: int = 5
    ranking: str = "standard"

    def __post_init__(self) -> None:
        limits = {"num_ranks": (2, 13), "num_suits": (2, 4), "num_board": (0, 5)}
        for name, (minimum, maximum) in limits.items():
            value = getattr(self, name)
            if type(value) is not int or not minimum <= value <= maximum:
                problem = f"must be a whole number from {minimum} to {maximum}"
                raise ConfigError(f"deck: {name} is {value!r}, {problem}")
        if self.ranking not in CATEGORY_ORDERS:
            names = ", ".join(CATEGORY_ORDERS)
            raise ConfigError(f"deck: ranking is {self.ranking!r}, must be one of {names}")
        if self.num_cards < 4 + self.num_board:
            raise ConfigError(
                f"deck: {self.num_cards} cards are too few for two hands and a board of "
                f"{self.num_board}"
            )

    @property
    def name(self) -> str:
        """A short text with all parameters, for file names."""
        return f"{self.num_ranks}x{self.num_suits}-{self.num_board}-{self.ranking}"

    @property
    def num_cards(self) -> int:
        return self.num_ranks * self.num_suits

    @property
    def num_hands(self) -> int:
        return self.num_cards * (self.num_cards - 1) // 2

    @property
    def num_classes(self) -> int:
        return self.num_ranks**2

    @cached_property
    def cards(self) -> Ints:
        """[D] the cards of the deck, sorted."""
        lowest = 13 - self.num_ranks
        return np.array([4 * r + s for r in range(lowest, 13) for s in range(self.num_suits)])

    @cached_property
    def hand_cards(self) -> Ints:
        """[H, 2] cards of each hand, the lower first."""
        cards = self.cards.tolist()
        return np.array([(a, b) for j, b in enumerate(cards) for a in cards[:j]])

    @cached_property
    def hand_bits(self) -> Ints:
        """[H] the cards of each hand as bits of 64."""
        return CARD_BIT[self.hand_cards[:, 0]] | CARD_BIT[self.hand_cards[:, 1]]

    @cached_property
    def hand_class(self) -> Ints:
        """[H] class of each hand."""
        low, high = self.hand_cards.T
        a, b = low // 4 - (13 - self.num_ranks), high // 4 - (13 - self.num_ranks)
        return np.where(low % 4 == high % 4, self.num_ranks * b + a, self.num_ranks * a + b)

    @cached_property
    def class_sizes(self) -> Ints:
        """[C] number of hands of each class."""
        return np.bincount(self.hand_class, minlength=self.num_classes)

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """[C] names such as AKs, AKo and 77."""
        ranks = RANKS[13 - self.num_ranks :]
        names = []
        for number in range(self.num_classes):
            first, second = divmod(number, self.num_ranks)
            high, low = max(first, second), min(first, second)
            kind = "s" if first > second else "o" if first < second else ""
            names.append(ranks[high] + ranks[low] + kind)
        return tuple(names)

    @cached_property
    def class_hands(self) -> tuple[Ints, Ints]:
        """Hands sorted by class [H], and the first of each class [C + 1]."""
        order = np.argsort(self.hand_class, kind="stable")
        return order, np.append(0, np.cumsum(self.class_sizes))

    @cached_property
    def card_permutations(self) -> Ints:
        """[G, 52] the cards after every permutation of the deck's suits."""
        suits = range(self.num_suits, 4)
        groups = [(*p, *suits) for p in permutations(range(self.num_suits))]
        return np.array([[permute_suits(card, group) for card in range(52)] for group in groups])

    @cached_property
    def hand_permutations(self) -> Ints:
        """[G, H] the hands after every permutation of the deck's suits."""
        index = np.zeros((52, 52), np.int64)
        index[self.hand_cards[:, 0], self.hand_cards[:, 1]] = np.arange(self.num_hands)
        images = np.sort(self.card_permutations[:, self.hand_cards], axis=2)
        return index[images[:, :, 0], images[:, :, 1]]

    @cached_property
    def strength_rules(self) -> tuple[Ints, Ints]:
        """Arguments `straight_top` [8192] and `category_order` [9] of the strength kernels."""
        top = np.zeros(1 << 13, np.int64)
        masks = np.arange(1 << 13)
        lowest = 13 - self.num_ranks
        runs = [(0b11111 << low, low + 5) for low in range(lowest, 9)]
        if self.num_ranks >= 5:
            runs.insert(0, (0b1111 << lowest | 1 << 12, lowest + 4))  # the ace below the lowest
        for run, value in runs:
            top[masks & run == run] = value
        return top, np.array(CATEGORY_ORDERS[self.ranking])

    def class_index(self, name: str) -> int:
        """Return the class with a name such as "AKs"; ConfigError if unknown."""
        if name not in self.class_names:
            raise ConfigError(f"the deck has no hands {name!r}; write AKs, AKo or 77")
        return self.class_names.index(name)


FULL_DECK = Deck()
SHORT_DECK = Deck(num_ranks=9, ranking="short_deck")
