"""Ranges: a weight for each of the 1,326 hands (combos), in the syntax of poker solvers.

88+            pairs from eights up            22-55, QQ-TT    pairs from one to the other
AKs, AKo, AK   suited, offsuit, either         AhKd            one hand
A8s+           A8s to AKs: the high card stays where the ranks are two or more apart
T9s+           T9s, JTs, QJs, KQs, AKs: both cards rise where the ranks are neighbours
A5s-A2s        A5s, A4s, A3s, A2s              KQs-JTs         KQs, QJs, JTs: the same gap
Axs, Axo, Ax   an ace and any lower card; Kx is a king and any lower card
8h8s+, 9d8d-6d5d   the same with fixed suits
...:0.5, ...:50%, [50]...[/50]     half of the time
random         every hand

This is the syntax of b-inary/postflop-solver with a few additions. As there, the first entry that
contains a hand sets its weight: `AA:0.5,QQ+` has half of the aces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterplay.core.arena import Floats
from counterplay.core.cards import ALL_HANDS, RANKS, SUITS, hand_index, hand_name
from counterplay.errors import ConfigError

_GROUP_PATTERN = r"([2-9TJQKA])([2-9TJQKA])([so]?)"
_HAND_PATTERN = r"([2-9TJQKA])([cdhs])([2-9TJQKA])([cdhs])"
_TOKEN = re.compile(r"\[(?P<close>/?)(?P<percent>[^\]]*)\]|(?P<end>[,;\n])|(?P<part>[^,;\n\[]+|\[)")
FULL_RANGE_WORDS = {"random", "any", "full", "100%"}
Group = tuple[int, int, str]  # high rank, low rank; "s", "o", "" for both, or two suits as "hd"


@dataclass(frozen=True)
class Entry:
    """One parsed entry of a range text, such as `T9s+:0.5`."""

    text: str
    groups: tuple[Group, ...]  # empty for a word that means every hand
    weight: float

    @property
    def hands(self) -> list[int]:
        """Indices of the hands among the 1,326."""
        if not self.groups:
            return list(range(len(ALL_HANDS)))
        return [hand for group in self.groups for hand in _group_hands(*group)]

    @property
    def meaning(self) -> str:
        """The groups of hands and the weight in full, such as `T9s, JTs, QJs, KQs, AKs at 0.5`."""
        names = ", ".join(group_name(*group) for group in self.groups) or "every hand"
        return names if self.weight == 1.0 else f"{names} at {self.weight!r}"


@dataclass(frozen=True, eq=False)
class Range:
    """A player's range: the weight of each hand, from 0 to 1.

    Example:
        >>> Range.parse("AA,AKs:0.5").num_combos
        8.0
    """

    weights: Floats  # [1326]

    @classmethod
    def parse(cls, text: str) -> Range:
        """Return the range of a text; the first entry that contains a hand sets its weight.

        Raises:
            ConfigError: the text cannot be read or has no hands.
        """
        weights = np.zeros(len(ALL_HANDS))
        for entry in reversed(read_entries(text)):
            weights[entry.hands] = entry.weight
        if not weights.any():
            raise ConfigError(f"the range {_shorten(text)!r} has no hands")
        return cls(weights)

    def __str__(self) -> str:
        return format_range(self.weights)

    @cached_property
    def num_combos(self) -> float:
        """Number of combos, each counted by its weight."""
        return float(self.weights.sum())

    def weights_without(self, cards: Iterable[int]) -> Floats:
        """Return the weights [1326] with every hand that holds one of the cards at zero."""
        dead = set(cards)
        return self.weights * np.array([not dead & set(hand) for hand in ALL_HANDS])


def read_entries(text: str) -> list[Entry]:
    """Return the entries of a range text in their order.

    Raises:
        ConfigError: an entry cannot be read; the message gives its position.
    """
    entries: list[Entry] = []
    bracket: tuple[str, float, int] | None = None  # text, weight and position of an open [50]
    for token in _TOKEN.finditer(text):
        position = token.start()
        if token["percent"] is not None:
            percent = token["percent"].strip()
            if not token["close"]:
                if bracket:
                    raise _range_error(
                        text, position, f"[{bracket[0]}] is not closed before [{percent}]"
                    )
                bracket = percent, _read_weight(f"{percent}%", text, position), position
            elif bracket is None or bracket[0] != percent:
                raise _range_error(text, position, f"[/{percent}] closes nothing")
            else:
                bracket = None
        elif token["part"] and token["part"].strip():
            part = token["part"]
            position += len(part) - len(part.lstrip())
            entries.append(_read_entry(part.strip(), bracket and bracket[1], text, position))
    if bracket:
        raise _range_error(text, bracket[2], f"[{bracket[0]}] is not closed; write [/{bracket[0]}]")
    return entries


def _read_entry(part: str, bracket: float | None, text: str, position: int) -> Entry:
    body, colon, number = re.sub(r"\s*([-:+])\s*", r"\1", part).partition(":")
    if colon and bracket is not None:
        raise _range_error(
            text, position, f"{part!r} has a weight inside brackets that give one too"
        )
    weight = _read_weight(number, text, position) if colon else 1.0 if bracket is None else bracket
    groups = () if body.lower() in FULL_RANGE_WORDS else tuple(_read_groups(body, text, position))
    return Entry(part, groups, weight)


def _read_weight(number: str, text: str, position: int) -> float:
    try:
        percent = number.endswith("%")
        weight = float(number.removesuffix("%")) / (100.0 if percent else 1.0)
    except ValueError:
        weight = -1.0
    if not 0.0 <= weight <= 1.0:
        raise _range_error(
            text, position, f"the weight {number!r} is not a number from 0 to 1, or from 0% to 100%"
        )
    return weight


def _read_groups(body: str, text: str, position: int) -> list[Group]:
    """Return the groups of an entry without its weight."""
    body = body.replace("10", "T")
    if match := re.fullmatch(r"([2-9TJQKA])x([so]?)", body, re.IGNORECASE):
        high = _rank_index(match[1])
        if not high:
            raise _range_error(
                text, position, f"{body!r} has no hands: no card is lower than a two"
            )
        return [(high, low, match[2].lower()) for low in range(high)]
    first, dash, last = body.removesuffix("+").partition("-")
    start, end = _read_group(first), _read_group(last) if dash else None
    if start is None or (dash and end is None) or (dash and body.endswith("+")):
        problem = f"cannot read {body!r}; write hands such as 88+, T9s+, A5s-A2s, KQo, AhKd"
        raise _range_error(text, position, problem)
    for high, low, kind in (start, end or start):
        if high == low and kind in ("s", "o"):
            raise _range_error(
                text, position, f"a pair such as {body!r} is neither suited nor offsuit"
            )
        if high == low and len(kind) == 2 and kind[0] == kind[1]:
            raise _range_error(text, position, f"{body!r} has the same card twice")
    if end is not None:
        groups = _dash_groups(start, end)
        if not groups:
            problem = f"{body!r} must keep the high card or the gap, and the suits"
            raise _range_error(text, position, problem)
        return groups
    high, low, kind = start
    if not body.endswith("+"):
        return [start]
    if high - low <= 1:  # pairs and connectors: both cards rise
        return [(rank, rank - (high - low), kind) for rank in range(high, 13)]
    return [(high, rank, kind) for rank in range(low, high)]


def _read_group(text: str) -> Group | None:
    """Return the group of `AKs`, `77` or `AhKd`, the higher card first; None for other texts."""
    if match := re.fullmatch(_GROUP_PATTERN, text, re.IGNORECASE):
        high, low = sorted((_rank_index(match[1]), _rank_index(match[2])), reverse=True)
        return high, low, match[3].lower()
    if match := re.fullmatch(_HAND_PATTERN, text, re.IGNORECASE):
        cards = [(_rank_index(match[i]), match[i + 1].lower()) for i in (1, 3)]
        (high, suit), (low, low_suit) = sorted(cards, key=_card_order, reverse=True)
        return high, low, suit + low_suit
    return None


def _card_order(card: tuple[int, str]) -> tuple[int, int]:
    return card[0], SUITS.index(card[1])


def _dash_groups(start: Group, end: Group) -> list[Group]:
    """Return the groups between two of the same gap or the same high card; else an empty list."""
    (high, low, kind), (last_high, last_low, last_kind) = start, end
    if kind != last_kind:
        return []
    gap = high - low
    if gap == last_high - last_low:
        return [(r, r - gap, kind) for r in range(min(high, last_high), max(high, last_high) + 1)]
    if high == last_high and gap and last_low < last_high:
        return [(high, r, kind) for r in range(min(low, last_low), max(low, last_low) + 1)]
    return []


def _rank_index(letter: str) -> int:
    return RANKS.index(letter.upper())


def _group_hands(high: int, low: int, suitedness: str) -> Iterator[int]:
    """Yield the hands of two ranks: 4, 6, 12 or 16 of them, or one if both suits are given."""
    if len(suitedness) == 2:
        yield hand_index(
            4 * high + SUITS.index(suitedness[0]), 4 * low + SUITS.index(suitedness[1])
        )
        return
    for a in range(4):
        for b in range(4):
            is_repeated = high == low and a <= b
            is_excluded = (suitedness == "s" and a != b) or (suitedness == "o" and a == b)
            if not is_repeated and not is_excluded:
                yield hand_index(4 * high + a, 4 * low + b)


def _range_error(text: str, position: int, problem: str) -> ConfigError:
    return ConfigError(f"range {_shorten(text)!r}, position {position + 1}: {problem}")


def _shorten(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def group_name(high: int, low: int, suitedness: str) -> str:
    """Return the name of a group, such as `AKs`, `AKo`, `77` or `AhKd`."""
    if len(suitedness) == 2:
        return RANKS[high] + suitedness[0] + RANKS[low] + suitedness[1]
    return RANKS[high] + RANKS[low] + (suitedness if high != low else "")


def grid_cell(row: int, column: int) -> tuple[str, list[int]]:
    """Return name and hands of a cell of the 13 x 13 grid.

    Aces come first; suited hands are above the diagonal.
    """
    high, low = 12 - min(row, column), 12 - max(row, column)
    kind = "s" if row < column else "o" if row > column else ""
    return group_name(high, low, kind), list(_group_hands(high, low, kind))


def hand_class(first_card: int, second_card: int) -> int:
    """Return the class of a hand among the 169 that suits do not distinguish, from 0 to 168.

    With ranks a <= b from 0 (deuce) to 12 (ace), suited hands have class 13 * b + a, pairs and
    offsuit hands 13 * a + b.
    """
    low, high = sorted((first_card, second_card))
    a, b = low // 4, high // 4
    return 13 * b + a if low % 4 == high % 4 else 13 * a + b


def format_range(weights: Floats) -> str:
    """Return a short text that `Range.parse` reads as exactly these weights [1326]."""
    parts: list[str] = []
    lines: list[list[Group]] = [[(r, r, "") for r in range(12, -1, -1)]]
    for kind in "so":
        lines += [[(h, r, kind) for r in range(h - 1, -1, -1)] for h in range(12, 0, -1)]
    for line in lines:
        run: list[Group] = []
        for high, low, kind in [*line, (-1, -1, "")]:
            values = weights[list(_group_hands(high, low, kind))] if high >= 0 else np.zeros(1)
            same = values[0] > 0.0 and (values == values[0]).all()
            if run and not (same and _group_weight(weights, run[0]) == values[0]):
                parts.append(_format_run(run, line[0], _group_weight(weights, run[0])))
                run = []
            if same:
                run.append((high, low, kind))
            elif values.any():
                parts += [
                    _format_entry(hand_name(hand), weights[hand])
                    for hand in _group_hands(high, low, kind)
                    if weights[hand] > 0.0
                ]
    return ",".join(parts)


def _group_weight(weights: Floats, group: Group) -> float:
    return float(weights[next(_group_hands(*group))])


def _format_run(run: list[Group], top: Group, weight: float) -> str:
    first, last = group_name(*run[0]), group_name(*run[-1])
    if len(run) == 1:
        return _format_entry(first, weight)
    return _format_entry(f"{last}+" if run[0] == top else f"{first}-{last}", weight)


def _format_entry(name: str, weight: float) -> str:
    return name if weight == 1.0 else f"{name}:{float(weight)!r}"
