"""The 1,755 flops that differ in more than the names of suits: textures, weighted subsets.

Subsets of 25, 49, 95 and 184 flops stand for all of them: with their weights they reproduce the
equities of ranges and the distribution of equities over hands. `benchmarks/holdem/choose_flops.py`
chooses them and measures their errors on ranges that had no part in the choice.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

from counterplay.core.cards import RANKS, canonical_flops, cards_name, parse_cards
from counterplay.errors import ConfigError

SUBSET_FILE = Path(__file__).with_name("flop_subsets.json")
NUM_FLOPS = 22_100  # of three cards of 52
FLOP_GROUPS: dict[str, tuple[str, ...]] = {  # values of each texture group, in the order of tables
    "suits": ("rainbow", "two-tone", "monotone"),
    "pairing": ("unpaired", "paired", "three of a kind"),
    "high card": ("A", "K", "Q", "J", "T", "9 to 7", "6 to 2"),
    "straights": ("possible", "impossible"),
}
STRAIGHT_SPAN = 4  # largest distance of three different ranks that one straight can hold


class WeightedFlop(NamedTuple):
    """A flop that stands for a part of all flops."""

    name: str  # the highest card first, such as QsJh2h
    weight: float  # part of all flops; the weights of a set add up to 1


@cache
def all_flops() -> tuple[WeightedFlop, ...]:
    """Return the 1,755 flops up to permutations of suits, with their parts of the 22,100."""
    return tuple(
        WeightedFlop(cards_name(sorted(cards, reverse=True)), count / NUM_FLOPS)
        for cards, count in canonical_flops().items()
    )


@cache
def _load_subsets() -> dict[int, tuple[WeightedFlop, ...]]:
    content = json.loads(SUBSET_FILE.read_text())
    subsets = {}
    for size, weight_by_flop in content.items():
        total = sum(weight_by_flop.values())
        subsets[int(size)] = tuple(WeightedFlop(n, w / total) for n, w in weight_by_flop.items())
    return subsets


def flop_subset(name: str | int) -> tuple[WeightedFlop, ...]:
    """Return a weighted set of flops.

    Args:
        name: 25, 49, 95, 184 or `all`.

    Raises:
        ConfigError: there is no set of that name.

    Example:
        >>> len(flop_subset(25)), len(flop_subset("all"))
        (25, 1755)
    """
    if str(name) == "all":
        return all_flops()
    subsets = _load_subsets()
    if not str(name).isdecimal() or int(name) not in subsets:
        names = ", ".join(map(str, subsets))
        raise ConfigError(
            f"flops is {name!r}, must be {names}, all, or flops such as QsJh2h,Kd7c2s"
        )
    return subsets[int(name)]


@cache
def flop_texture(flop: str) -> dict[str, str]:
    """Return the value of a flop in each group of `FLOP_GROUPS`.

    Example:
        >>> flop_texture("QsJh2h")["suits"], flop_texture("QsJh2h")["high card"]
        ('two-tone', 'Q')
    """
    cards = parse_cards(flop, "flop")
    ranks, suits = sorted({card // 4 for card in cards}), {card % 4 for card in cards}
    high = RANKS[ranks[-1]]
    if high not in "AKQJT":
        high = "9 to 7" if high in "987" else "6 to 2"
    return {
        "suits": FLOP_GROUPS["suits"][3 - len(suits)],
        "pairing": FLOP_GROUPS["pairing"][3 - len(ranks)],
        "high card": high,
        "straights": "possible" if _makes_straights(ranks) else "impossible",
    }


def _makes_straights(ranks: list[int]) -> bool:
    """Return True if two cards can make a straight with three different ranks."""
    with_low_ace = [r - 13 if r == 12 else r for r in ranks]  # an ace is also below the deuce
    return len(ranks) == 3 and any(max(r) - min(r) <= STRAIGHT_SPAN for r in (ranks, with_low_ace))
