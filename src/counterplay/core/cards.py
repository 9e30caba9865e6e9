"""Playing cards as integers, and hands of two of them: reading and printing.

A card is `4 * rank + suit`, from 0 (2c) to 51 (As). A hand of two cards a < b has the index
`b * (b - 1) / 2 + a`, from 0 to 1,325.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import combinations, permutations

from counterplay.errors import ConfigError

RANKS, SUITS = "23456789TJQKA", "cdhs"
NUM_CARDS = 52
ALL_HANDS = [(a, b) for b in range(NUM_CARDS) for a in range(b)]  # by index
SUIT_PERMUTATIONS = tuple(permutations(range(4)))


def card_name(card: int) -> str:
    """Return the name of a card, such as `Td`."""
    return RANKS[card // 4] + SUITS[card % 4]


def cards_name(cards: Iterable[int]) -> str:
    """Return the names of cards in one word, such as `Td9d6h`."""
    return "".join(map(card_name, cards))


def hand_name(hand: int) -> str:
    """Return the two cards of a hand, the higher first, such as `AhKd`."""
    return cards_name(reversed(ALL_HANDS[hand]))


def hand_index(first_card: int, second_card: int) -> int:
    """Return the index of the hand of two different cards."""
    low, high = sorted((first_card, second_card))
    return high * (high - 1) // 2 + low


def parse_card(text: str, error_prefix: str = "") -> int:
    """Return the card with a name such as `Td` or `10d`; errors start with `error_prefix`."""
    name = text.strip().replace("10", "T")
    if len(name) != 2 or name[0].upper() not in RANKS or name[1].lower() not in SUITS:
        advice = "write a rank and a suit, such as Td"
        raise ConfigError(f"{error_prefix}{text!r} is not a card; {advice}")
    return 4 * RANKS.index(name[0].upper()) + SUITS.index(name[1].lower())


def parse_cards(text: str, label: str = "cards") -> tuple[int, ...]:
    """Return the different cards of a text such as `Td9d6h`, `Td 9d 6h` or `Td,9d,6h`.

    Args:
        text: names of cards.
        label: name of the text in error messages.

    Raises:
        ConfigError: a name is not that of a card, or a card occurs twice.
    """
    letters = text.replace(",", " ").replace("10", "T")
    names = [word[i : i + 2] for word in letters.split() for i in range(0, len(word), 2)]
    cards: list[int] = []
    for position, name in enumerate(names, 1):
        card = parse_card(name, f"{label} {text!r}, card {position}: ")
        if card in cards:
            raise ConfigError(f"{label} {text!r}: {card_name(card)} occurs twice")
        cards.append(card)
    return tuple(cards)


def permute_suits(card: int, suit_permutation: tuple[int, ...]) -> int:
    """Return the card of the same rank with suit `suit_permutation[suit]`."""
    return card - card % 4 + suit_permutation[card % 4]


def canonical_cards(cards: Iterable[int]) -> tuple[int, ...]:
    """Return the smallest of the sorted tuples of cards that permutations of suits give."""
    cards = tuple(cards)
    return min(tuple(sorted(permute_suits(card, s) for card in cards)) for s in SUIT_PERMUTATIONS)


@cache
def canonical_flops() -> dict[tuple[int, ...], int]:
    """Return the 1,755 flops up to permutations of suits, each with its number of equal flops."""
    return Counter(canonical_cards(flop) for flop in combinations(range(NUM_CARDS), 3))
