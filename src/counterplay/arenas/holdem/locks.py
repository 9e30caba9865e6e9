"""Node locks as text: the frequencies of a player's actions after a history, for some hands.

    all-in 10 = call 0.75, fold 0.25
    check,bet 94 @ AA,KQs = raise 282

Both the solver and best responses keep to the locks; the rest of the tree is solved around them.
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
from counterplay.core.arena import Floats
from counterplay.core.cards import card_name, parse_card, permute_suits
from counterplay.errors import ConfigError, FileError, suggestion


@dataclass(frozen=True)
class LockReport:
    """Effect of one node lock."""

    history: str
    num_hands: int  # locked hands
    isomorphic_histories: tuple[str, ...] = ()  # further histories after which the lock holds
    boards: tuple[int, int] = (0, 0)  # number of boards in the tree before and after

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user about the extent of the lock."""
        notes = []
        if self.isomorphic_histories:
            others = ", ".join(map(repr, self.isomorphic_histories))
            notes.append(f"the lock after {self.history!r} holds after {others} too")
        if self.boards[0] != self.boards[1]:
            notes.append(
                f"the lock after {self.history!r} holds for these cards only, so that suits which "
                f"were alike are solved apart: {self.boards[0]:,} boards become {self.boards[1]:,}"
            )
        return tuple(notes)


def lock_node(
    arena: SpotArena,
    history: str,
    frequencies: Mapping[str, float],
    hands: str = "random",
    *,
    lock_isomorphic: bool = False,
) -> LockReport:
    """Lock the action frequencies of the player to act after a history, for some hands.

    Locks of other hands at the same node stay. By default a lock after a card, or of hands of one
    suit, holds for exactly these cards. Isomorphic boards that the lock distinguishes are then
    solved apart: the tree grows, and policies and memories made before no longer fit it.

    Args:
        arena: the arena of the spot; it is changed.
        history: as `find_node` reads it.
        frequencies: weight by action name; normalised to sum to 1.
        hands: the range of hands to lock; every weight above 0 counts as 1.
        lock_isomorphic: lock after all cards that a suit permutation makes of these; the tree
            keeps its size.

    Raises:
        ConfigError: no player acts after the history, an action does not exist, a frequency is
            negative, or the player has none of the hands.
    """
    node, _, _ = find_node(arena, history)
    player, actions = arena.betting.nodes[node].kind, arena.betting.nodes[node].actions
    if player >= FOLD:
        raise ConfigError(f"no player acts after {history!r}: there is nothing to lock")
    weights = action_weights(history, actions, frequencies)
    range_hands, dealt = arena.hands[player], _parse_dealt_cards(history)
    is_locked = Range.parse(hands).weights[range_hands.index] > 0.0
    is_locked &= ~np.isin(range_hands.cards, dealt).any(axis=1)
    if not is_locked.any():
        raise ConfigError(f"player {player} has none of {hands[:40]!r} after {history!r}")
    num_boards = sum(arena.boards.level_sizes)
    if not lock_isomorphic:
        symmetries = [
            suits
            for suits in arena.symmetries
            if all(permute_suits(card, suits) == card for card in dealt)
            and (is_locked[range_hands.permute_suits(suits)] == is_locked).all()
        ]
        if len(symmetries) < len(arena.symmetries):
            arena.restrict_symmetries(symmetries)
    node, board, suit_permutation = find_node(arena, history)
    on_board = np.zeros(range_hands.size, np.bool_)
    on_board[range_hands.permute_suits(suit_permutation)[is_locked]] = True
    old = arena.locks.get((node, board), np.zeros((len(actions), range_hands.size)))
    arena.lock(node, board, np.where(on_board, weights[:, None], old))
    others = {tuple(permute_suits(c, suits) for c in dealt) for suits in arena.symmetries}
    others.discard(tuple(dealt))
    isomorphic = tuple(sorted(_replace_cards(history, cards) for cards in others))
    sizes = num_boards, sum(arena.boards.level_sizes)
    return LockReport(history, int(is_locked.sum()), isomorphic, sizes)


def action_weights(
    history: str, actions: tuple[str, ...], frequencies: Mapping[str, float]
) -> Floats:
    """Return the frequencies [A] in the order of the actions; raise ConfigError if invalid."""
    for name in frequencies:
        if name not in actions:
            near, names = suggestion(name, actions), ", ".join(actions)
            raise ConfigError(f"after {history!r} there is no {name!r}{near} (there is {names})")
    weights = np.array([frequencies.get(name, 0.0) for name in actions], np.float64)
    if not (np.isfinite(weights) & (weights >= 0.0)).all() or weights.sum() <= 0.0:
        raise ConfigError(
            f"the shares of the lock after {history!r} must not be below 0, nor all 0"
        )
    return weights


def _parse_dealt_cards(history: str) -> list[int]:
    """Return the cards that are dealt in a history."""
    return [parse_card(_split_words(part)[0]) for part in history.split("|")[1:]]


def _split_words(part: str) -> list[str]:
    return [word.strip() for word in part.split(",") if word.strip()]


def _replace_cards(history: str, cards: Iterable[int]) -> str:
    """Return the history with other cards dealt."""
    first, *parts = history.split("|")
    later = [
        ",".join([card_name(card), *_split_words(part)[1:]])
        for part, card in zip(parts, cards, strict=True)
    ]
    return "|".join([first, *later])


def parse_lock(text: str) -> dict[str, Any]:
    """Return the history, hands and frequencies of `HISTORY @ HANDS = ACTION FREQUENCY, ...`.

    Example:
        >>> parse_lock("check,bet 94 @ AA = raise 282 0.5, call 0.5")["shares"]
        {'raise 282': 0.5, 'call': 0.5}
    """
    condition, equals, actions = text.rpartition("=")
    history, _, hands = condition.partition("@")
    frequencies: dict[str, float] = {}
    for part in actions.split(","):
        words = part.split()
        frequency = 1.0
        # the final word is a frequency if the words before it are a whole action: `bet 94 0.5`
        if len(words) > 2 or (len(words) == 2 and words[0] in ("fold", "check", "call")):
            try:
                frequency = float(words.pop())
            except ValueError:
                frequency = float("nan")
        frequencies[" ".join(words)] = frequency
    if not equals or "" in frequencies:
        raise ConfigError(
            f"cannot read the lock {text!r}; write HISTORY = ACTION FREQUENCY, ACTION FREQUENCY, "
            "or HISTORY @ HANDS = ..."
        )
    return {"record": history.strip(), "hands": hands.strip() or "random", "shares": frequencies}


def apply_locks(
    arena: SpotArena, locks: Iterable[str], *, lock_isomorphic: bool = False
) -> list[LockReport]:
    """Apply node locks to an arena.

    Args:
        arena: is changed.
        locks: each a text for `parse_lock`, or the name of a JSON file with a list of objects
            that have the entries `record` (the history), `hands` and `shares`.
        lock_isomorphic: as in `lock_node`.
    """
    reports = []
    for text in locks:
        is_file = text.endswith(".json")
        for entry in read_locks_file(text) if is_file else [parse_lock(text)]:
            history, frequencies = entry["record"], entry["shares"]
            hands = entry.get("hands", "random")
            reports.append(
                lock_node(arena, history, frequencies, hands, lock_isomorphic=lock_isomorphic)
            )
    return reports


def read_locks_file(path: str | Path) -> list[dict[str, Any]]:
    """Return the locks of a JSON file, as `parse_lock` returns them.

    Raises:
        FileError: the file cannot be read.
        ConfigError: it holds something else.
    """
    try:
        content = json.loads(Path(path).read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(f"cannot read {path}: {error}") from error
    is_valid = isinstance(content, list) and all(
        isinstance(entry, dict)
        and isinstance(entry.get("record"), str)
        and isinstance(entry.get("hands", ""), str)
        and isinstance(entry.get("shares"), dict)
        and all(isinstance(x, (int, float)) for x in entry["shares"].values())
        for entry in content
    )
    if not is_valid:
        raise ConfigError(f'{path}: locks are a list of {{"record", "hands", "shares"}}')
    return content
