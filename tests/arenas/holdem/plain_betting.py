"""Betting trees by the rules of b-inary/postflop-solver, written out plainly.

Nothing of `counterplay.arenas.holdem.betting` is used: this is the other half of a comparison. A
tree is nested lists: a decision is `[("check", subtree), ("bet 50", subtree), ...]`, every end is
`END`. Cards are left out: the subtree after a call or a check is the next street's.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

END = "end"
EPSILON = 1e-12


@dataclass(frozen=True)
class Config:
    """Numbers and size texts of a tree; streets are 0 flop, 1 turn, 2 river."""

    street: int
    pot: int
    stack: int
    bets: tuple[tuple[str, str], ...]  # [street][player]
    raises: tuple[tuple[str, str], ...]
    donks: tuple[str | None, ...] = (None, None, None)  # of the player out of position
    add_all_in: float = 0.0
    force_all_in: float = 0.0
    merge: float = 0.0


@dataclass
class Line:
    """State of the betting: stacks left and the last action."""

    street: int
    left: list[int]
    player: int = 0
    last: str = "deal"  # deal, check, call, bet
    last_amount: int = 0  # the street's highest bet
    num_bets: int = 0  # on this street
    all_in: bool = False
    first_player_called: bool = False
    matched: int = field(default=0)  # chips of each player that both have put in


def build(config: Config) -> object:
    """Return the tree."""
    return _decision(config, Line(config.street, [config.stack, config.stack]))


def _round(number: float) -> int:
    """Round half away from zero, as Rust does."""
    whole = math.trunc(number)
    return whole + 1 if number - whole >= 0.5 else whole


def _decision(config: Config, line: Line) -> object:
    me, other = line.player, 1 - line.player
    to_call = line.left[me] - line.left[other]
    pot = config.pot + 2 * (line.matched + to_call)
    highest = line.left[other] + line.last_amount
    lowest = min(max(line.last_amount + to_call, 1), highest)
    tree: list[tuple[str, object]] = []
    if line.last == "bet":
        tree.append(("fold", END))
        tree.append(("call", _after_call(config, line)))
        words = "" if line.all_in else config.raises[line.street][me]
    else:
        tree.append(("check", _after_check(config, line)))
        words = config.bets[line.street][me]
        donk = config.donks[line.street]
        if donk is not None and line.last == "deal" and line.first_player_called:
            words = donk
    amounts = set()
    for word in words.replace(",", " ").split():
        amount = _amount(word, line, pot, line.left[other], highest)
        if amount is None:
            continue
        amount = min(max(amount, lowest), highest)
        after = pot + 2 * (amount - line.last_amount)
        if highest <= amount + _round(after * config.force_all_in):
            amount = highest
        amounts.add(amount)
    if not line.all_in and highest <= line.last_amount + _round(pot * config.add_all_in):
        amounts.add(highest)
    kept: list[int] = []
    for amount in sorted(amounts, reverse=True):
        if kept:
            larger = (kept[-1] - line.last_amount) / pot
            limit = (larger - config.merge) / (1.0 + config.merge)
            if not (amount - line.last_amount) / pot < limit * (1.0 - EPSILON):
                continue
        kept.append(amount)
    for amount in reversed(kept):
        name = "all-in" if amount == highest else "raise" if line.last == "bet" else "bet"
        left = list(line.left)
        left[me] -= amount - line.last_amount + to_call
        after_bet = Line(
            line.street, left, other, "bet", amount, line.num_bets + 1, amount == highest,
            line.first_player_called, line.matched + to_call,
        )  # fmt: skip
        tree.append((f"{name} {amount}", _decision(config, after_bet)))
    return tree


def _amount(word: str, line: Line, pot: int, behind: int, highest: int) -> int | None:
    """Chips that a size word means, counted on this street; None if it is not offered."""
    if word == "a":
        return highest
    if word.endswith("x"):
        return _round(line.last_amount * float(word[:-1]))
    if match := re.fullmatch(r"(\d+)c(?:(\d+)r)?", word):
        if match[2] and line.num_bets > int(match[2]):
            return None
        return line.last_amount + int(match[1])
    if match := re.fullmatch(r"(\d*)e(?:([\d.]+)%)?", word):
        streets = int(match[1]) if match[1] else 3 - line.street
        if line.last == "bet":
            streets = max(streets - line.num_bets + 1, 1)
        part = ((2.0 * (behind / pot) + 1.0) ** (1.0 / streets) - 1.0) / 2.0
        if match[2]:
            part = min(part, float(match[2]) / 100.0)
        return line.last_amount + _round(pot * part)
    return line.last_amount + _round(pot * (float(word[:-1]) / 100.0))


def _after_check(config: Config, line: Line) -> object:
    if line.player == 0:
        return _decision(config, Line(line.street, line.left, 1, "check", matched=line.matched))
    return _next_street(config, line.street, line.left, line.matched, called=False)


def _after_call(config: Config, line: Line) -> object:
    if line.all_in:
        return END
    left = line.left[1 - line.player]
    paid = line.matched + line.left[line.player] - left
    return _next_street(config, line.street, [left, left], paid, called=line.player == 0)


def _next_street(
    config: Config, street: int, left: list[int], matched: int, called: bool
) -> object:
    if street == 2:
        return END
    line = Line(street + 1, left, first_player_called=called, matched=matched)
    return _decision(config, line)
