"""Locks in words: what a player must do after a record, with all hands or some.

    all-in 10 = call 0.75, fold 0.25
    check,bet 94 @ AA,KQs = raise 282

A player keeps to its locks while everything is solved around them, and so do best responses.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.cards import hand_index, swap_suits
from counterplay.errors import ConfigError, FileError, suggestion
from counterplay.public.betting import FOLD
from counterplay.public.looking import find
from counterplay.public.ranges import Range
from counterplay.public.tree import PublicTree


def lock_record(
    arena: PublicTree, record: str, shares: Mapping[str, float], hands: str = "random"
) -> None:
    """Make the player who acts after a record take actions in these shares, with these hands.

    Locks of other hands at the same node stay.
    """
    node, board, renaming = find(arena, record)
    here = arena.betting.nodes[node]
    if here.kind >= FOLD:
        raise ConfigError(f"nobody acts after {record!r}: there is nothing to lock")
    for name in shares:
        if name not in here.actions:
            near = suggestion(name, here.actions)
            names = ", ".join(here.actions)
            raise ConfigError(f"after {record!r} there is no {name!r}{near} (there is {names})")
    given = np.array([shares.get(name, 0.0) for name in here.actions], np.float64)
    if not (np.isfinite(given) & (given >= 0.0)).all() or given.sum() <= 0.0:
        raise ConfigError(f"the shares of the lock after {record!r} must not be below 0, nor all 0")
    own = arena.hands[here.kind]
    wanted = Range.parse(hands).weights > 0.0
    back = tuple(renaming.index(s) for s in range(4))
    named = [[swap_suits(card, back) for card in pair] for pair in own.cards.tolist()]
    chosen = wanted[[hand_index(*pair) for pair in named]]
    if not chosen.any():
        raise ConfigError(f"player {here.kind} has none of {hands[:40]!r} after {record!r}")
    old = arena.locks.get((node, board), np.zeros((len(here.actions), own.size)))
    arena.lock(node, board, np.where(chosen, given[:, None], old))


def read_lock(text: str) -> dict[str, Any]:
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


def apply_locks(arena: PublicTree, locks: Iterable[str]) -> None:
    """Lock what texts say, each a lock or a JSON file with a list of `record, hands, shares`."""
    for text in locks:
        for entry in _file(Path(text)) if text.endswith(".json") else [read_lock(text)]:
            lock_record(arena, entry["record"], entry["shares"], entry.get("hands", "random"))


def _file(path: Path) -> list[dict[str, Any]]:
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
