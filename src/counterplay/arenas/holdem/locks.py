"""Locks in words: what a player must do after a record, with all hands or some.

    all-in 10 = call 0.75, fold 0.25
    check,bet 94 @ AA,KQs = raise 282

A player keeps to its locks while everything is solved around them, and so do best responses.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.arenas.holdem.betting import FOLD
from counterplay.arenas.holdem.hand_ranges import Range
from counterplay.arenas.holdem.inspection import find_node
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.core.cards import card_name, parse_card, permute_suits
from counterplay.errors import ConfigError, FileError, suggestion


@dataclass(frozen=True)
class LockReport:
    """Effect of one lock."""

    record: str
    num_hands: int  # hands that are locked
    twins: tuple[str, ...] = ()  # records with twin cards after which the lock holds too
    boards: tuple[int, int] = (0, 0)  # boards of the tree before and after; more if it was split

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that a user should read."""
        notes = []
        if self.twins:
            others = ", ".join(map(repr, self.twins))
            notes.append(f"the lock after {self.record!r} holds after {others} too")
        if self.boards[0] != self.boards[1]:
            notes.append(
                f"the lock after {self.record!r} holds for these cards only, so that suits which "
                f"were alike are solved apart: {self.boards[0]:,} boards become {self.boards[1]:,}"
            )
        return tuple(notes)


def lock_node(
    arena: SpotArena,
    history: str,
    frequencies: Mapping[str, float],
    hands: str = "random",
    *,
    twins: bool = False,
) -> LockReport:
    """Make the player who acts after a record take actions in these shares, with these hands.

    Locks of other hands at the same node stay. A lock after a card, or of hands of one suit, holds
    for exactly these cards. Boards that were solved once because only the names of their suits
    differ are solved apart where the lock tells them apart: the tree grows, and policies and
    memories made before no longer fit it.

    Args:
        shares: how often each action is taken, in proportion.
        hands: the range of hands that are locked; weights above 0 count as 1.
        twins: lock after all cards that differ in the names of suits only; the tree stays small.
    """
    node, board, _ = find_node(arena, history)
    here = arena.betting.nodes[node]
    if here.kind >= FOLD:
        raise ConfigError(f"nobody acts after {history!r}: there is nothing to lock")
    for name in frequencies:
        if name not in here.actions:
            near = suggestion(name, here.actions)
            names = ", ".join(here.actions)
            raise ConfigError(f"after {history!r} there is no {name!r}{near} (there is {names})")
    given = np.array([frequencies.get(name, 0.0) for name in here.actions], np.float64)
    if not (np.isfinite(given) & (given >= 0.0)).all() or given.sum() <= 0.0:
        raise ConfigError(
            f"the shares of the lock after {history!r} must not be below 0, nor all 0"
        )
    own = arena.hands[here.kind]
    dealt = _dealt_cards(history)
    wanted = Range.parse(hands).weights[own.index] > 0.0
    wanted &= ~np.isin(own.cards, dealt).any(axis=1)
    if not wanted.any():
        raise ConfigError(f"player {here.kind} has none of {hands[:40]!r} after {history!r}")
    before = sum(arena.boards.level_sizes)
    if not twins:
        kept = [
            suits
            for suits in arena.symmetries
            if all(permute_suits(card, suits) == card for card in dealt)
            and (wanted[own.permute_suits(suits)] == wanted).all()
        ]
        if len(kept) < len(arena.symmetries):
            arena.restrict_symmetries(kept)
    node, board, renaming = find_node(arena, history)
    chosen = np.zeros(own.size, np.bool_)
    chosen[own.permute_suits(renaming)[wanted]] = True
    old = arena.locks.get((node, board), np.zeros((len(here.actions), own.size)))
    arena.lock(node, board, np.where(chosen, given[:, None], old))
    others = {tuple(permute_suits(c, suits) for c in dealt) for suits in arena.symmetries}
    others.discard(tuple(dealt))
    records = tuple(sorted(_with_cards(history, cards) for cards in others))
    return LockReport(history, int(wanted.sum()), records, (before, sum(arena.boards.level_sizes)))


def _dealt_cards(record: str) -> list[int]:
    """The cards that are dealt in a record."""
    return [parse_card(_words(part)[0]) for part in record.split("|")[1:]]


def _words(part: str) -> list[str]:
    return [word.strip() for word in part.split(",") if word.strip()]


def _with_cards(record: str, cards: Iterable[int]) -> str:
    """The record with other cards."""
    first, *parts = record.split("|")
    later = [
        ",".join([card_name(card), *_words(part)[1:]])
        for part, card in zip(parts, cards, strict=True)
    ]
    return "|".join([first, *later])


def parse_lock(text: str) -> dict[str, Any]:
    """The record, hands and shares of `RECORD @ HANDS = ACTION SHARE, ...`."""
    place, equals, shares = text.rpartition("=")
    record, _, hands = place.partition("@")
    found: dict[str, float] = {}
    for part in shares.split(","):
        words = part.split()
        share = 1.0
        # the last word is a share if what is before it is a whole action: `bet 94 0.5`, `call 0.5`
        if len(words) > 2 or (len(words) == 2 and words[0] in ("fold", "check", "call")):
            try:
                share = float(words.pop())
            except ValueError:
                share = float("nan")
        found[" ".join(words)] = share
    if not equals or "" in found:
        raise ConfigError(
            f"cannot read the lock {text!r}; write RECORD = ACTION SHARE, ACTION SHARE, or "
            "RECORD @ HANDS = ..."
        )
    return {"record": record.strip(), "hands": hands.strip() or "random", "shares": found}


def apply_locks(arena: SpotArena, locks: Iterable[str], *, twins: bool = False) -> list[LockReport]:
    """Lock what texts say, each a lock or a JSON file with a list of `record, hands, shares`."""
    return [
        lock_node(
            arena, entry["record"], entry["shares"], entry.get("hands", "random"), twins=twins
        )
        for text in locks
        for entry in (
            _read_locks_file(Path(text)) if text.endswith(".json") else [parse_lock(text)]
        )
    ]


def _read_locks_file(path: Path) -> list[dict[str, Any]]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(f"cannot read {path}: {error}") from error
    good = isinstance(found, list) and all(
        isinstance(entry, dict)
        and isinstance(entry.get("record"), str)
        and isinstance(entry.get("hands", ""), str)
        and isinstance(entry.get("shares"), dict)
        and all(isinstance(x, (int, float)) for x in entry["shares"].values())
        for entry in found
    )
    if not good:
        raise ConfigError(f'{path}: locks are a list of {{"record", "hands", "shares"}}')
    return found
