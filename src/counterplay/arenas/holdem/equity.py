"""Equity: the share of the pot that ranges win if all cards come without further betting."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count

import numpy as np

from counterplay.arenas.holdem.boards import RangeHands, suit_symmetries
from counterplay.core.arena import Floats, Ints
from counterplay.core.cards import ALL_HANDS, NUM_CARDS, parse_cards, permute_suits
from counterplay.errors import ConfigError
from counterplay.kernels.holdem import equities
from counterplay.kernels.runtime.threads import num_threads, run_in_threads

# Arguments of `equities.add_board_equity`: cards [n, 2] of both players, weights [n + 1] of both
# (the last is 0), and for each hand the index of the same hand in the other range.
EquityPlayers = tuple[Ints, Ints, Floats, Floats, Ints, Ints]
# Sums [n, 2] (share won, weight) of both players, number of boards, half a 95 % interval.
EquitySums = tuple[list[Floats], int, float]
Z_SCORE_95 = 1.96  # standard errors in half a 95 % interval


@dataclass(frozen=True)
class Equity:
    """The equity of two ranges."""

    value: float  # of the first player; the second has the rest
    margin: float  # half the width of a 95 % interval; 0 if all boards were enumerated
    num_boards: int  # boards enumerated or sampled
    by_hand: tuple[Floats, Floats]  # [1326] by player; NaN for hands that cannot be held


def compute_equity(
    first_range: str,
    second_range: str,
    board: str = "",
    *,
    dead_cards: str = "",
    num_samples: int = 0,
    seed: int = 0,
) -> Equity:
    """Return the equity of a hand or range against another on a board of 0 to 5 cards.

    Args:
        first_range: the range of the first player, such as "QQ+,AKs" or "AhKd".
        second_range: the range of the second player.
        board: the cards on the board.
        dead_cards: cards out of play.
        num_samples: boards to sample; 0 enumerates all. Enumeration takes less than a second from
            the flop on; before the flop it takes seconds if the ranges treat suits alike, else
            minutes.
        seed: of the sampled boards.

    Raises:
        ConfigError: a range or the cards cannot be read, or no pair of hands can be dealt.

    Example:
        >>> round(compute_equity("AhAd", "KhKd", "2c7d9hJs").value, 4)
        0.9545
    """
    known, gone = parse_cards(board, "board"), parse_cards(dead_cards, "dead cards")
    ranges = first_range, second_range
    if len(known) > 5:
        raise ConfigError(f"board {board!r} has {len(known)} cards, more than 5")
    if set(known) & set(gone):
        raise ConfigError(f"board {board!r} and dead cards {dead_cards!r} share a card")
    first, second = (RangeHands.from_range(text, (*known, *gone)) for text in ranges)
    for text, hands in zip(ranges, (first, second), strict=True):
        if not hands.size:
            raise ConfigError(f"every hand of the range {text[:40]!r} holds a card of the board")
    deck = np.array([c for c in range(NUM_CARDS) if c not in known and c not in gone])
    players = equity_players((first, second), (first.weight, second.weight))
    board_cards = np.array(known, np.int64)
    if num_samples:
        sums, boards, margin = _sample_boards(board_cards, deck, players, num_samples, seed)
    else:
        permutations = _card_permutations(known, gone, ranges)
        sums, boards, margin = _enumerate_boards(board_cards, deck, players, permutations)
    if not first.weight @ sums[0][:, 1] > 0.0:
        raise ConfigError(f"no hand of {first_range[:40]!r} leaves the other range a hand")
    value = float(first.weight @ sums[0][:, 0] / (first.weight @ sums[0][:, 1]))
    by_hand = _equity_by_hand(first, sums[0]), _equity_by_hand(second, sums[1])
    return Equity(value, margin, boards, by_hand)


def equity_players(
    hands: tuple[RangeHands, RangeHands], weights: tuple[Floats, Floats]
) -> EquityPlayers:
    """Return the players' arguments of the equity kernels for hands with these weights [n]."""
    first, second = hands
    return (
        first.cards,
        second.cards,
        np.append(weights[0], 0.0),
        np.append(weights[1], 0.0),
        first.indices_in(second),
        second.indices_in(first),
    )


def _equity_by_hand(hands: RangeHands, sums: Floats) -> Floats:
    """Return the equity [1326] of each hand, NaN where its weight in `sums` is 0."""
    by_hand = np.full(len(ALL_HANDS), math.nan)
    possible = sums[:, 1] > 0.0
    by_hand[hands.index[possible]] = sums[possible, 0] / sums[possible, 1]
    return by_hand


def _card_permutations(
    board: tuple[int, ...], dead_cards: tuple[int, ...], ranges: tuple[str, str]
) -> Ints:
    """Return the suit permutations that fix the board, dead cards and ranges, as cards [R, 52]."""
    symmetries = suit_symmetries(board, dead_cards, ranges)
    return np.array([[permute_suits(card, s) for card in range(NUM_CARDS)] for s in symmetries])


def _enumerate_boards(
    board: Ints, deck: Ints, players: EquityPlayers, permutations: Ints
) -> EquitySums:
    """Return the sums over all boards; isomorphic boards are computed once."""
    missing = 5 - board.size
    threads = num_threads() if missing > 1 else 1
    parts = [[np.zeros((c.shape[0], 2)) for c in players[:2]] for _ in range(threads)]
    num_boards, tasks = [0] * threads, count()
    num_tasks = max(deck.size - missing + 1, 1) if missing else 1

    def work(thread: int, _: int) -> None:
        while (first := next(tasks)) < num_tasks:
            num_boards[thread] += equities.add_boards_equity(
                first, first + 1, board, deck, missing, permutations, players, *parts[thread]
            )

    run_in_threads(work, [(thread, thread + 1) for thread in range(threads)])
    sums = [
        _average_permutations(np.sum([part[p] for part in parts], axis=0), players[p], permutations)
        for p in (0, 1)
    ]
    return sums, sum(num_boards), 0.0


def _average_permutations(sums: Floats, cards: Ints, permutations: Ints) -> Floats:
    """Return the sums [n, 2] of hands averaged over all suit permutations of the boards."""
    index = {tuple(hand): i for i, hand in enumerate(cards.tolist())}
    total = np.zeros_like(sums)
    for permutation in permutations:
        permuted = np.sort(permutation[cards], axis=1).tolist()
        total += sums[[index[a, b] for a, b in permuted]]
    return total / len(permutations)


def _sample_boards(
    board: Ints, deck: Ints, players: EquityPlayers, num_samples: int, seed: int
) -> EquitySums:
    """Return the sums over sampled boards, and half a 95 % interval of the ratio estimator."""
    rng = np.random.default_rng(seed)
    weight = players[2][:-1]
    sums = [np.zeros((c.shape[0], 2)) for c in players[:2]]
    samples = np.zeros((num_samples, 2))
    for number in range(num_samples):
        dealt = rng.choice(deck, 5 - board.size, replace=False)
        parts = [np.zeros_like(total) for total in sums]
        equities.add_board_equity(np.append(board, dealt), *players, *parts)
        samples[number] = weight @ parts[0]
        for total, part in zip(sums, parts, strict=True):
            total += part
    mean = samples.mean(axis=0)
    residual = samples[:, 0] - mean[0] / max(mean[1], 1e-300) * samples[:, 1]
    if num_samples == 1:
        return sums, num_samples, math.inf
    margin = Z_SCORE_95 * residual.std(ddof=1) / math.sqrt(num_samples) / mean[1]
    return sums, num_samples, float(margin)
