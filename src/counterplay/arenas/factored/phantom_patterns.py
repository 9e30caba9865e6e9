"""Pairs of compatible infosets of abrupt phantom games, by pattern and order.

A pattern is the set of a player's successful attempts: bit t is attempt t.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np

from counterplay.core.arena import Ints
from counterplay.kernels.factored.phantom_abrupt import Permutations


class PatternPairs(NamedTuple):
    """Patterns of the acting player (own) and of the other, for numbers of attempts and stones."""

    attempts: int
    stones: int
    other_attempts: int
    other_stones: int
    own: list[int]  # patterns
    other: list[int]
    rho: list[list[list[int]]]  # [A][B] own stones that the other's failures may hit, as choices
    sigma: list[list[list[int]]]  # [A][B] the other's stones that own failures may hit


@cache
def list_permutations(size: int) -> Permutations:
    """Return the permutations of `size` elements; the arrays have the same types for size 0."""
    orders = list(permutations(range(size)))
    number = {order: k for k, order in enumerate(permutations(range(max(size - 1, 0))))}
    last = [order[-1] if order else 0 for order in orders]
    rest = [
        number[tuple(k - (k > end) for k in order[:-1])]
        for order, end in zip(orders, last, strict=True)
    ]
    table = np.array(orders, np.int64).reshape(len(orders), size)
    return Permutations(table, np.array(last), np.array(rest))


@cache
def list_choices(size: int, num_chosen: int) -> list[tuple[int, ...]]:
    """Return all ordered choices of `num_chosen` of `size` elements, by set, then by order."""
    return [
        tuple(subset[k] for k in order)
        for subset in combinations(range(size), num_chosen)
        for order in permutations(range(num_chosen))
    ]


def list_combinations(size: int, num_chosen: int) -> Ints:
    """Return the sets of `list_choices` as an array [., num_chosen]."""
    subsets = list(combinations(range(size), num_chosen))
    return np.array(subsets, np.int64).reshape(len(subsets), num_chosen)


@cache
def compose_choices(size: int, num_chosen: int) -> Ints:
    """Return the number [size!, .] of the choice that an order makes of a choice of indices."""
    number = {choice: k for k, choice in enumerate(list_choices(size, num_chosen))}
    table = [
        [number[tuple(order[k] for k in choice)] for choice in list_choices(size, num_chosen)]
        for order in permutations(range(size))
    ]
    return np.array(table, np.int64).reshape(math.factorial(size), -1)


def iter_pattern_pairs(
    num_cells: int, player: int, max_stones: list[int]
) -> Iterator[PatternPairs]:
    """Yield the pairs before the player acts; more than `max_stones` [2] stones always win."""
    for attempts in range(num_cells):
        other_attempts = attempts + player
        for stones in range(min(attempts, max_stones[player]) + 1):
            for other_stones in range(min(other_attempts, max_stones[1 - player]) + 1):
                failures, other_failures = attempts - stones, other_attempts - other_stones
                is_possible = failures <= other_stones and other_failures <= stones
                if is_possible and stones + other_stones < num_cells:
                    pairs = _make_pattern_pairs(
                        player, attempts, stones, other_attempts, other_stones
                    )
                    if pairs.own:
                        yield pairs


def _make_pattern_pairs(
    player: int, attempts: int, stones: int, other_attempts: int, other_stones: int
) -> PatternPairs:
    own = _success_patterns(attempts, stones)
    other = _success_patterns(other_attempts, other_stones)
    rho = [[_possible_hits(1 - player, q, other_attempts, p, attempts) for q in other] for p in own]
    sigma = [[_possible_hits(player, p, attempts, q, other_attempts) for q in other] for p in own]
    rows = zip(rho, sigma, strict=True)
    fits = np.array([[bool(r and s) for r, s in zip(*row, strict=True)] for row in rows])
    own_index, other_index = np.flatnonzero(fits.any(axis=1)), np.flatnonzero(fits.any(axis=0))
    return PatternPairs(
        attempts,
        stones,
        other_attempts,
        other_stones,
        [own[a] for a in own_index],
        [other[b] for b in other_index],
        [[rho[a][b] if fits[a, b] else [] for b in other_index] for a in own_index],
        [[sigma[a][b] if fits[a, b] else [] for b in other_index] for a in own_index],
    )


def _success_patterns(attempts: int, stones: int) -> list[int]:
    return [sum(1 << t for t in times) for times in combinations(range(attempts), stones)]


def _attempt_times(pattern: int, attempts: int, success: bool) -> list[int]:
    return [t for t in range(attempts) if bool(pattern >> t & 1) == success]


def _possible_hits(
    viewer: int, pattern: int, attempts: int, other: int, other_attempts: int
) -> list[int]:
    """Return the choices of the other's stones that the viewer's failures may have hit.

    Player 0 acts first: its attempt t follows the other's attempts 0 to t - 1, player 1's attempt t
    follows the other's attempts 0 to t.
    """
    failed = _attempt_times(pattern, attempts, False)
    placed = _attempt_times(other, other_attempts, True)
    return [
        number
        for number, choice in enumerate(list_choices(len(placed), len(failed)))
        if all(placed[k] < t + viewer for k, t in zip(choice, failed, strict=True))
    ]
