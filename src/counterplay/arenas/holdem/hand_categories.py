"""Made hands and draws in the words of players: top pair, set, flush draw, gutshot.

The name of a made hand counts what the hole cards add to the board: on a board with a pair, a hand
that pairs another card is top, second or low pair, not two pair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from counterplay.core.cards import RANKS
from counterplay.errors import ConfigError, suggestion

MADE_HANDS = (  # the strongest first
    "straight flush",
    "quads",
    "full house",
    "flush",
    "straight",
    "set",
    "trips",
    "two pair",
    "overpair",
    "top pair",
    "pocket pair",
    "second pair",
    "low pair",
    "underpair",
    "ace high",
    "king high",
    "no made hand",
)
DRAWS = (
    "flush draw",
    "open-ended",
    "gutshot",
    "backdoor flush draw",
    "overcards",
    "no draw",
)
ACE = len(RANKS) - 1
MIN_STRAIGHT_OUTS = 2  # ranks that complete an open-ended straight draw, or a double gutshot


class HandCategory(NamedTuple):
    """A hand on a board: its made hand, and its draws, or "no draw"."""

    made: str
    draws: tuple[str, ...]


def classify_hand(hand: Sequence[int], board: Sequence[int]) -> HandCategory:
    """Return the made hand and the draws of two cards on a board of three to five cards.

    Draws are listed if a card is still to come. A flush draw lacks one card and a backdoor flush
    draw two; both use a hole card. An open-ended draw is completed by two ranks or more, which
    includes double gutshots.

    Example:
        >>> from counterplay.core.cards import parse_cards
        >>> classify_hand(parse_cards("AdKd"), parse_cards("Qd7d2s"))
        HandCategory(made='ace high', draws=('flush draw', 'overcards'))
    """
    made = _name_made_hand(hand, board)
    if len(board) >= 5:
        return HandCategory(made, ("no draw",))
    draws = []
    suited = _largest_suit_with_hole_card(hand, board)
    if suited == 4:
        draws.append("flush draw")
    is_straight = MADE_HANDS.index(made) <= MADE_HANDS.index("straight")
    outs = 0 if is_straight else _num_straight_outs(hand, board)
    if outs:
        draws.append("open-ended" if outs >= MIN_STRAIGHT_OUTS else "gutshot")
    if suited == 3 and len(board) == 3:
        draws.append("backdoor flush draw")
    has_no_pair = made in ("ace high", "king high", "no made hand")
    if has_no_pair and min(_ranks(hand)) > max(_ranks(board)):
        draws.append("overcards")
    return HandCategory(made, tuple(draws) or ("no draw",))


def check_category(name: str) -> str:
    """Return the name of a made hand or a draw.

    Raises:
        ConfigError: there is no such category.
    """
    names = (*MADE_HANDS, *DRAWS)
    if name not in names:
        near = suggestion(name, names)
        raise ConfigError(f"there is no category {name!r}{near}; there is {', '.join(names)}")
    return name


def _name_made_hand(hand: Sequence[int], board: Sequence[int]) -> str:
    cards = [*hand, *board]
    flush_ranks = _flush_ranks(cards)
    if flush_ranks and _has_straight(flush_ranks):
        return "straight flush"
    counts = Counter(_ranks(cards))
    most = max(counts.values())
    if most == 4:
        return "quads"
    if most == 3 and sum(count >= 2 for count in counts.values()) >= 2:
        return "full house"
    if flush_ranks:
        return "flush"
    if _has_straight(counts):
        return "straight"
    return _name_pair(hand, board)


def _name_pair(hand: Sequence[int], board: Sequence[int]) -> str:
    """Return the name of a hand below a straight, by what its hole cards add."""
    first, second = sorted(_ranks(hand), reverse=True)
    board_counts = Counter(_ranks(board))
    board_ranks = sorted(board_counts, reverse=True)
    if first == second:
        if board_counts[first]:
            return "set"
        if first > board_ranks[0]:
            return "overpair"
        return "pocket pair" if first > board_ranks[-1] else "underpair"
    paired = [rank for rank in (first, second) if board_counts[rank]]
    if any(board_counts[rank] >= 2 for rank in paired):
        return "trips"
    if len(paired) == 2:
        return "two pair"
    if paired:
        position = board_ranks.index(paired[0])
        return ("top pair", "second pair", "low pair")[min(position, 2)]
    return {ACE: "ace high", ACE - 1: "king high"}.get(first, "no made hand")


def _ranks(cards: Iterable[int]) -> list[int]:
    return [card // 4 for card in cards]


def _flush_ranks(cards: Iterable[int]) -> set[int]:
    """Return the ranks of the suit with five cards or more; empty without one."""
    for suit in range(4):
        ranks = {card // 4 for card in cards if card % 4 == suit}
        if len(ranks) >= 5:
            return ranks
    return set()


def _has_straight(ranks: Iterable[int]) -> bool:
    present = {rank + 1 for rank in ranks}
    if ACE + 1 in present:
        present.add(0)  # an ace below the two
    return any(all(low + k in present for k in range(5)) for low in range(10))


def _num_straight_outs(hand: Sequence[int], board: Sequence[int]) -> int:
    """Return how many ranks complete a straight that the board alone would not have."""
    own, public = set(_ranks([*hand, *board])), set(_ranks(board))
    return sum(
        _has_straight(own | {rank}) and not _has_straight(public | {rank})
        for rank in range(len(RANKS))
        if rank not in own
    )


def _largest_suit_with_hole_card(hand: Sequence[int], board: Sequence[int]) -> int:
    """Return the largest number of cards of one suit that a hole card has."""
    suits = Counter(card % 4 for card in (*hand, *board))
    return max(suits[card % 4] for card in hand)
