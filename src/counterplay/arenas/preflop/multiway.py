"""Equity of two to ten ranges on any board: exact by enumeration, or sampled with an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterplay.arenas.holdem.hand_ranges import Range
from counterplay.arenas.preflop.deck import FULL_DECK, Deck
from counterplay.core.arena import Floats, Ints
from counterplay.core.cards import hand_index, parse_cards
from counterplay.errors import ConfigError
from counterplay.kernels.holdem import preflop_tables
from counterplay.kernels.holdem.hand_strength import CARD_BIT

MAX_ENUMERATED_HANDS = 50_000_000  # evaluated hands of an exact equity: about five seconds
MAX_PLAYERS = 10
Z_SCORE_95 = 1.96


@dataclass(frozen=True)
class ExactEquities:
    """Shares of the pot of several ranges, over every deal."""

    values: Floats  # [P]
    num_deals: int  # upper bound of the deals enumerated, before hands that share a card drop out


@dataclass(frozen=True)
class SampledEquities:
    """Estimated shares of the pot of several ranges, with 95 % intervals."""

    values: Floats  # [P]
    margins: Floats  # [P] half the width of the interval
    num_samples: int


def range_weights(text: str, deck: Deck = FULL_DECK) -> Floats:
    """Return the weights [H] of a deck's hands in a range such as "QQ+,AKs:0.5".

    Raises:
        ConfigError: the range cannot be read, or has no hand of the deck.
    """
    index = [hand_index(a, b) for a, b in deck.hand_cards.tolist()]
    weights = Range.parse(text).weights[index]
    if not weights.any():
        raise ConfigError(f"the range {text[:40]!r} has no hands of a deck of {deck.num_cards}")
    return weights


def multiway_equity(
    ranges: Sequence[str],
    board: str = "",
    *,
    deck: Deck = FULL_DECK,
    num_samples: int = 0,
    seed: int = 0,
) -> ExactEquities | SampledEquities:
    """Return the equity of several ranges, dealt with all cards that they exclude.

    Args:
        ranges: 2 to 10 ranges.
        board: the known cards of the board.
        deck: the deck, with the size of the full board.
        num_samples: deals to sample; 0 enumerates all.
        seed: seed of the samples.

    Returns:
        `ExactEquities` if enumerated, `SampledEquities` if sampled.

    Raises:
        ConfigError: the ranges block each other, or there are too many deals to enumerate.

    Example:
        >>> equities = multiway_equity(["AhAd", "KhKd", "QhQd"], "2c7s9c")
        >>> equities.values.round(4).tolist(), type(equities).__name__
        ([0.8295, 0.0875, 0.0831], 'ExactEquities')
    """
    if not 2 <= len(ranges) <= MAX_PLAYERS:
        raise ConfigError(f"{len(ranges)} ranges are given, must be 2 to {MAX_PLAYERS}")
    known = parse_cards(board, "board")
    if len(known) > deck.num_board:
        raise ConfigError(f"board {board!r} has {len(known)} cards, more than {deck.num_board}")
    used = CARD_BIT[list(known)].sum() if known else np.uint64(0)
    hands, weights = _live_hands(ranges, used, deck)
    missing = deck.num_board - len(known)
    left = np.array([CARD_BIT[card] for card in deck.cards if card not in known])
    offset = np.append(0, np.cumsum([part.size for part in hands]))
    if num_samples:
        return _sample_equities(
            offset, hands, weights, left, used, missing, deck, num_samples, seed
        )
    num_left = left.size - 2 * len(ranges)
    if num_left < missing:
        raise ConfigError(f"{deck.num_cards} cards are too few for {len(ranges)} hands and a board")
    deals = math.prod(part.size for part in hands) * math.comb(num_left, missing)
    if deals * len(ranges) > MAX_ENUMERATED_HANDS:
        # raises if the hands block each other, which is the better reason
        _sample_equities(offset, hands, weights, left, used, missing, deck, 1, seed)
        raise ConfigError(
            f"about {deals:.1e} deals are too many to enumerate; give a number of samples"
        )
    shares = np.zeros(len(ranges))
    total = preflop_tables.enumerate_showdowns(
        offset,
        np.concatenate(hands),
        np.concatenate(weights),
        left,
        used,
        missing,
        deck.strength_rules,
        shares,
    )
    if not total > 0.0:
        raise _range_conflict_error(ranges)
    return ExactEquities(shares / total, deals)


def _live_hands(
    ranges: Sequence[str], used: np.uint64, deck: Deck
) -> tuple[list[Ints], list[Floats]]:
    """Return the hands of each range that hold no used card, as bits, and their weights."""
    hands, weights = [], []
    for text in ranges:
        weight = range_weights(text, deck)
        live = (weight > 0.0) & ((deck.hand_bits & used) == 0)
        if not live.any():
            raise ConfigError(f"every hand of the range {text[:40]!r} holds a card of the board")
        hands.append(deck.hand_bits[live])
        weights.append(weight[live])
    return hands, weights


def _sample_equities(
    offset: Ints,
    hands: list[Ints],
    weights: list[Floats],
    left: Ints,
    used: np.uint64,
    missing: int,
    deck: Deck,
    num_samples: int,
    seed: int,
) -> SampledEquities:
    num_players = len(hands)
    cumulative = np.concatenate([np.cumsum(part) / part.sum() for part in weights])
    sums, squares = np.zeros(num_players), np.zeros(num_players)
    count = preflop_tables.sample_showdowns(
        offset,
        np.concatenate(hands),
        cumulative,
        left,
        used,
        missing,
        num_samples,
        seed + 1,
        deck.strength_rules,
        sums,
        squares,
    )
    if count < num_samples:
        raise ConfigError("the ranges block each other: no deal gives every player a hand")
    mean = sums / count
    deviation = np.sqrt(np.maximum(squares / count - mean**2, 0.0) * count / max(count - 1, 1))
    margin = (
        Z_SCORE_95 * deviation / math.sqrt(count) if count > 1 else np.full(num_players, np.inf)
    )
    return SampledEquities(mean, margin, count)


def _range_conflict_error(ranges: Sequence[str]) -> ConfigError:
    names = ", ".join(text[:20] for text in ranges)
    return ConfigError(f"the ranges {names} block each other: no deal gives every player a hand")
