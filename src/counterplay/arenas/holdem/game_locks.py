"""Node locks of hold'em games from the first card, as `locks` has them for spots.

cr6 = call 0.75, fold 0.25
cr6c|Td: @ AA,KQs = call
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from counterplay.arenas.holdem.betting import FOLD
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.game_betting import action_letter
from counterplay.arenas.holdem.game_inspection import find_game_node
from counterplay.arenas.holdem.hand_ranges import Range
from counterplay.arenas.holdem.locks import (
    LockReport,
    action_weights,
    parse_lock,
    read_locks_file,
)
from counterplay.core.arena import Floats
from counterplay.core.cards import hand_index, parse_cards, permute_suits
from counterplay.errors import ConfigError


def lock_game_node(
    arena: HoldemGameArena,
    history: str,
    frequencies: Mapping[str, float],
    hands: str = "random",
) -> LockReport:
    """Lock the action frequencies of the player to act after a history, for some hands.

    Locks of other hands at the same node stay. Boards that differ in the names of suits only are
    solved once, so that a lock after cards holds after all cards that a permutation of suits makes
    of them; with `isomorphism=False` it holds after exactly these.

    Args:
        arena: the arena of the game; it is changed.
        history: as `find_game_node` reads it, such as `cr6c|Td:`.
        frequencies: weight by action, such as `call` or `r6`; normalised to sum to 1.
        hands: the range of hands to lock; with one hole card, cards such as `AsKd`.

    Raises:
        ConfigError: no player acts after the history, an action does not exist, a frequency is
            negative, the player has none of the hands, or the hands distinguish suits that the
            arena treats alike.
    """
    node, board, suit_permutation = find_game_node(arena, history)
    betting_node = arena.betting.nodes[node]
    if betting_node.kind >= FOLD:
        raise ConfigError(f"no player acts after {history!r}: there is nothing to lock")
    full_names = {action_letter(name): name for name in betting_node.actions}
    named = {full_names.get(name, name): weight for name, weight in frequencies.items()}
    weights = action_weights(history, betting_node.actions, named)
    inverse = tuple(suit_permutation.index(suit) for suit in range(4))
    street = betting_node.state.street
    cards = [
        [permute_suits(card, inverse) for card in hand]
        for hand in arena.hand_cards(street, board).tolist()
    ]
    is_locked = _select_hands(hands, cards)
    if not is_locked.any():
        raise ConfigError(f"player {betting_node.kind} has none of {hands[:40]!r} there")
    old = arena.locks.get((node, board), np.zeros((len(weights), len(cards))))
    arena.lock(node, board, np.where(is_locked, weights[:, None], old))
    num_boards = sum(deals.num_boards for deals in arena.streets)
    return LockReport(history, int(is_locked.sum()), boards=(num_boards, num_boards))


def _select_hands(hands: str, cards: list[list[int]]) -> Floats:
    """Return True [n] for the hands of a range; with one hole card, for the cards of a text."""
    if len(cards[0]) == 2:
        weights = Range.parse(hands).weights
        return np.array([weights[hand_index(*hand)] > 0.0 for hand in cards])
    if hands == "random":
        return np.ones(len(cards), np.bool_)
    chosen = parse_cards(hands, "hands")
    return np.array([hand[0] in chosen for hand in cards])


def apply_game_locks(arena: HoldemGameArena, locks: Iterable[str]) -> list[LockReport]:
    """Apply node locks to an arena, each a text for `parse_lock` or the name of a JSON file."""
    reports = []
    for text in locks:
        for entry in read_locks_file(text) if text.endswith(".json") else [parse_lock(text)]:
            hands = entry.get("hands", "random")
            reports.append(lock_game_node(arena, entry["record"], entry["shares"], hands))
    return reports
