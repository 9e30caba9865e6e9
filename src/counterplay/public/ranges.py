"""Ranges: a weight for each of the 1,326 hands, in the syntax that poker players know.

88+            pairs from eights up            22-55, QQ-TT    pairs from one to the other
AKs, AKo, AK   suited, offsuit, either         AhKd            one hand
A8s+           A8s to AKs                      A5s-A2s         A5s, A4s, A3s, A2s
...:0.5        half of the time                random          every hand
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterplay.arena import Floats
from counterplay.cards import HANDS, RANKS, hand_index, hand_name, parse_card
from counterplay.errors import ConfigError

_GROUP = r"([2-9TJQKA])([2-9TJQKA])([so]?)"
_HAND = r"[2-9TJQKA][cdhs][2-9TJQKA][cdhs]"
WHOLE = {"random", "any", "full", "100%"}


@dataclass(frozen=True, eq=False)
class Range:
    """How often a player has each hand [1326], from 0 to 1."""

    weights: Floats

    @classmethod
    def parse(cls, text: str) -> Range:
        """The range of a text; later entries replace earlier ones of the same hand."""
        weights, start = np.zeros(len(HANDS)), 0
        for part in re.split(r"[,;\n]", text):
            if part.strip():
                entry, weight = _weight(part, text, start + len(part) - len(part.lstrip()))
                weights[entry] = weight
            start += len(part) + 1
        if not weights.any():
            raise ConfigError(f"the range {_short(text)!r} has no hands")
        return cls(weights)

    def __str__(self) -> str:
        return describe(self.weights)

    @cached_property
    def num_hands(self) -> float:
        """Hands, each counted by its weight."""
        return float(self.weights.sum())

    def without(self, cards: Iterable[int]) -> Floats:
        """The weights with every hand that holds one of the cards at zero."""
        dead = set(cards)
        return self.weights * np.array([not dead & set(hand) for hand in HANDS])


def _weight(part: str, text: str, position: int) -> tuple[list[int], float]:
    entry, colon, number = part.strip().partition(":")
    try:
        weight = float(number) if colon else 1.0
    except ValueError:
        weight = -1.0
    if not 0.0 <= weight <= 1.0:
        raise _error(text, position, f"the weight {number!r} is not a number from 0 to 1")
    return list(_hands(entry.strip(), text, position)), weight


def _hands(entry: str, text: str, position: int) -> Iterator[int]:
    """The hands of one entry."""
    if entry.lower() in WHOLE:
        yield from range(len(HANDS))
        return
    entry = entry.replace("10", "T")
    if re.fullmatch(_HAND, entry, re.IGNORECASE):
        one, other = parse_card(entry[:2]), parse_card(entry[2:])
        if one == other:
            raise _error(text, position, f"{entry!r} has the same card twice")
        yield hand_index(one, other)
        return
    match = re.fullmatch(rf"{_GROUP}(?:(\+)|-{_GROUP})?", entry, re.IGNORECASE)
    if not match:
        raise _error(
            text, position, f"cannot read {entry!r}; write hands such as 88+, A5s-A2s, KQo, AhKd"
        )
    top, bottom, kind, plus, three, four, last_kind = match.groups()
    high, low = sorted((_rank(top), _rank(bottom)), reverse=True)
    kind = kind.lower()
    if high == low and kind:
        raise _error(text, position, f"a pair such as {entry!r} is neither suited nor offsuit")
    tops = [(high, low)]
    if plus:
        tops = (
            [(r, r) for r in range(high, 13)]
            if high == low
            else [(high, r) for r in range(low, high)]
        )
    elif three:
        end_high, end_low = sorted((_rank(three), _rank(four)), reverse=True)
        pairs = high == low and end_high == end_low
        if last_kind.lower() != kind or not (pairs or (end_high == high != low and end_low < high)):
            raise _error(text, position, f"{entry!r} does not run from one hand to a like one")
        tops = [
            (r, r) if pairs else (high, r) for r in range(min(low, end_low), max(low, end_low) + 1)
        ]
    for high, low in tops:
        yield from _group(high, low, kind)


def _rank(letter: str) -> int:
    return RANKS.index(letter.upper())


def _group(high: int, low: int, kind: str) -> Iterator[int]:
    """The 4, 6, 12 or 16 hands of two ranks."""
    for a in range(4):
        for b in range(4):
            if (high == low and a <= b) or (kind == "s" and a != b) or (kind == "o" and a == b):
                continue
            yield hand_index(4 * high + a, 4 * low + b)


def _error(text: str, position: int, problem: str) -> ConfigError:
    return ConfigError(f"range {_short(text)!r}, position {position + 1}: {problem}")


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def group_name(high: int, low: int, kind: str) -> str:
    """Such as `AKs`, `AKo` or `77`."""
    return RANKS[high] + RANKS[low] + (kind if high != low else "")


def cell(row: int, column: int) -> tuple[str, list[int]]:
    """Name and hands of a cell of the 13 x 13 grid: aces first, suited hands above the diagonal."""
    high, low = 12 - min(row, column), 12 - max(row, column)
    kind = "s" if row < column else "o" if row > column else ""
    return group_name(high, low, kind), list(_group(high, low, kind))


def describe(weights: Floats) -> str:
    """A short text that `Range.parse` reads as these weights (six digits are kept)."""
    parts: list[str] = []
    lines = [[(r, r, "")] for r in range(12, -1, -1)]
    grouped = [[entry for line in lines for entry in line]]
    for kind in "so":
        grouped += [[(h, r, kind) for r in range(h - 1, -1, -1)] for h in range(12, 0, -1)]
    for line in grouped:
        run: list[tuple[int, int, str]] = []
        for high, low, kind in [*line, (-1, -1, "")]:
            values = weights[list(_group(high, low, kind))] if high >= 0 else np.zeros(1)
            same = values[0] > 0.0 and (values == values[0]).all()
            if run and not (same and _value(weights, run[0]) == values[0]):
                parts.append(_run_name(run, line[0], _value(weights, run[0])))
                run = []
            if same:
                run.append((high, low, kind))
            elif values.any():
                parts += [
                    _named(hand_name(hand), weights[hand])
                    for hand in _group(high, low, kind)
                    if weights[hand] > 0.0
                ]
    return ",".join(parts)


def _value(weights: Floats, group: tuple[int, int, str]) -> float:
    return float(weights[next(_group(*group))])


def _run_name(run: list[tuple[int, int, str]], top: tuple[int, int, str], weight: float) -> str:
    first, last = group_name(*run[0]), group_name(*run[-1])
    if len(run) == 1:
        return _named(first, weight)
    return _named(f"{last}+" if run[0] == top else f"{first}-{last}", weight)


def _named(name: str, weight: float) -> str:
    return name if weight == 1.0 else f"{name}:{weight:.6g}"
