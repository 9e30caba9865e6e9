"""Equity: the part of the pot that ranges would win if all cards came without another bet."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count

import numpy as np

from counterplay.arenas.holdem.boards import RangeHands
from counterplay.arenas.holdem.hand_ranges import Range
from counterplay.core.arena import Floats, Ints
from counterplay.core.cards import (
    ALL_HANDS,
    NUM_CARDS,
    SUIT_PERMUTATIONS,
    parse_cards,
    permute_suits,
)
from counterplay.errors import ConfigError
from counterplay.kernels.holdem import equities
from counterplay.kernels.runtime.threads import num_threads, run_in_threads

EquityPlayers = tuple[Ints, Ints, Floats, Floats, Ints, Ints]  # as `equities.add_board` takes them
EquitySums = tuple[list[Floats], int, float]  # both players' sums, boards, error
Z_SCORE_95 = 1.96  # standard errors that an interval of 95 % goes either way


@dataclass(frozen=True)
class Equity:
    """Two players' parts of the pot, in all and by hand."""

    value: float  # of the first player; the second has the rest
    margin: float  # half the width of a 95 % interval; 0 if every board was looked at
    num_boards: int  # looked at
    by_hand: tuple[Floats, Floats]  # [1326] each; NaN for hands that cannot be held


def compute_equity(
    first_range: str,
    second_range: str,
    board: str = "",
    *,
    dead_cards: str = "",
    num_samples: int = 0,
    seed: int = 0,
) -> Equity:
    """The equity of a hand or range against another on a board of 0 to 5 cards.

    Args:
        samples: boards to draw instead of looking at all; from the flop on, all take less than a
            second, before it some seconds where ranges treat suits alike, else minutes.
    """
    known, gone = parse_cards(board, "board"), parse_cards(dead_cards, "dead cards")
    if len(known) > 5:
        raise ConfigError(f"board {board!r} has {len(known)} cards, more than 5")
    both = set(known) & set(gone)
    if both:
        raise ConfigError(f"board {board!r} and dead cards {dead_cards!r} share a card")
    hands = tuple(
        RangeHands.from_range(text, (*known, *gone)) for text in (first_range, second_range)
    )
    for text, own in zip((first_range, second_range), hands, strict=True):
        if not own.size:
            raise ConfigError(f"every hand of the range {text[:40]!r} holds a card of the board")
    first, second = hands
    deck = np.array([c for c in range(NUM_CARDS) if c not in known and c not in gone])
    players = (
        first.cards,
        second.cards,
        np.append(first.weight, 0.0),
        np.append(second.weight, 0.0),
        first.indices_in(second),
        second.indices_in(first),
    )
    if num_samples:
        found = _sample_boards(np.array(known, np.int64), deck, players, num_samples, seed)
    else:
        found = _enumerate_boards(
            np.array(known, np.int64), deck, players, (first_range, second_range), gone
        )
    sums, boards, error = found
    if not first.weight @ sums[0][:, 1] > 0.0:
        raise ConfigError(f"no hand of {first_range[:40]!r} leaves the other range a hand")
    value = float(first.weight @ sums[0][:, 0] / (first.weight @ sums[0][:, 1]))
    by_hand = tuple(_equity_by_hand(own, total) for own, total in zip(hands, sums, strict=True))
    return Equity(value, error, boards, (by_hand[0], by_hand[1]))


def _equity_by_hand(own: RangeHands, sums: Floats) -> Floats:
    found = np.full(len(ALL_HANDS), math.nan)
    met = sums[:, 1] > 0.0
    found[own.index[met]] = sums[met, 0] / sums[met, 1]
    return found


def _suit_symmetries(known: Ints, gone: tuple[int, ...], ranges: tuple[str, str]) -> Ints:
    """Renamings of the 52 cards [R, 52] that change nothing known."""
    weights = [Range.parse(text).weights for text in ranges]
    pairs, found = np.array(ALL_HANDS), []
    for suits in SUIT_PERMUTATIONS:
        swapped = np.array([permute_suits(card, suits) for card in range(NUM_CARDS)])
        low, high = np.sort(swapped[pairs], axis=1).T
        moved = high * (high - 1) // 2 + low
        fixed = all({*swapped[list(c)].tolist()} == {*c} for c in (known.tolist(), gone) if c)
        if fixed and all((w[moved] == w).all() for w in weights):
            found.append(swapped)
    return np.array(found)


def _enumerate_boards(
    known: Ints, deck: Ints, players: EquityPlayers, ranges: tuple[str, str], gone: tuple[int, ...]
) -> EquitySums:
    """Sums over all boards, how many there are, and no error."""
    renamings = _suit_symmetries(known, gone, ranges)
    missing = 5 - known.size
    threads = num_threads() if missing > 1 else 1
    parts = [[np.zeros((c.shape[0], 2)) for c in players[:2]] for _ in range(threads)]
    seen, tasks = [0] * threads, count()
    most = max(deck.size - missing + 1, 1) if missing else 1

    def work(thread: int, _: int) -> None:
        while (first := next(tasks)) < most:
            seen[thread] += equities.add_boards_equity(
                first, first + 1, known, deck, missing, renamings, players, *parts[thread]
            )

    run_in_threads(work, [(thread, thread + 1) for thread in range(threads)])
    sums = [np.sum([part[p] for part in parts], axis=0) for p in (0, 1)]
    return (
        [_average_permutations(s, c, renamings) for s, c in zip(sums, players[:2], strict=True)],
        sum(seen),
        0.0,
    )


def _average_permutations(sums: Floats, cards: Ints, renamings: Ints) -> Floats:
    """What each hand has when every renaming of the boards is counted."""
    place = {tuple(hand): i for i, hand in enumerate(cards.tolist())}
    total = np.zeros_like(sums)
    for renaming in renamings:
        moved = np.sort(renaming[cards], axis=1).tolist()
        total += sums[[place[a, b] for a, b in moved]]
    return total / len(renamings)


def _sample_boards(
    known: Ints, deck: Ints, players: EquityPlayers, num_samples: int, seed: int
) -> EquitySums:
    """Sums over boards drawn at random, and half a 95 % interval of the ratio."""
    rng = np.random.default_rng(seed)
    weight = players[2][:-1]
    sums = [np.zeros((c.shape[0], 2)) for c in players[:2]]
    shares = np.zeros((num_samples, 2))
    for number in range(num_samples):
        drawn = rng.choice(deck, 5 - known.size, replace=False)
        here = [np.zeros_like(total) for total in sums]
        equities.add_board_equity(np.append(known, drawn), *players, *here)
        shares[number] = weight @ here[0]
        for total, part in zip(sums, here, strict=True):
            total += part
    mean = shares.mean(axis=0)
    off = shares[:, 0] - mean[0] / max(mean[1], 1e-300) * shares[:, 1]
    error = (
        Z_SCORE_95 * off.std(ddof=1) / math.sqrt(num_samples) / mean[1]
        if num_samples > 1
        else math.inf
    )
    return sums, num_samples, float(error)
