"""Which infosets of abrupt phantom games go together: patterns, orders, and shapes of pairs.

A pattern says which of a player's attempts have succeeded: bit t is attempt t.
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
    """Patterns of the one to act and of the other, with given numbers of attempts and stones."""

    attempts: int
    stones: int
    other_attempts: int
    other_stones: int
    own: list[int]  # patterns
    other: list[int]
    rho: list[list[list[int]]]  # [A][B] ways in which the other's failures may hit own stones
    sigma: list[list[list[int]]]  # [A][B] and own failures the other's


@cache
def list_permutations(size: int) -> Permutations:
    """The permutations of so many things; kernels want arrays of one kind, even of none."""
    listed = list(permutations(range(size)))
    number = {order: k for k, order in enumerate(permutations(range(max(size - 1, 0))))}
    last = [order[-1] if order else 0 for order in listed]
    rest = [
        number[tuple(thing - (thing > end) for thing in order[:-1])]
        for order, end in zip(listed, last, strict=True)
    ]
    table = np.array(listed, np.int64).reshape(len(listed), size)
    return Permutations(table, np.array(last), np.array(rest))


@cache
def list_choices(size: int, num_chosen: int) -> list[tuple[int, ...]]:
    """All ways to choose some of so many things in order: by set, then by order."""
    return [
        tuple(chosen[k] for k in order)
        for chosen in combinations(range(size), num_chosen)
        for order in permutations(range(num_chosen))
    ]


def list_combinations(size: int, num_chosen: int) -> Ints:
    """The sets of that numbering [., some]."""
    found = list(combinations(range(size), num_chosen))
    return np.array(found, np.int64).reshape(len(found), num_chosen)


@cache
def compose_choices(size: int, num_chosen: int) -> Ints:
    """Number of the choice that an order [k!] makes of a choice [.] of places."""
    number = {choice: k for k, choice in enumerate(list_choices(size, num_chosen))}
    table = [
        [number[tuple(order[k] for k in choice)] for choice in list_choices(size, num_chosen)]
        for order in permutations(range(size))
    ]
    return np.array(table, np.int64).reshape(math.factorial(size), -1)


def iter_pattern_pairs(
    num_cells: int, player: int, max_stones: list[int]
) -> Iterator[PatternPairs]:
    """All that can happen before the player acts, if players win with more than `most` stones."""
    for attempts in range(num_cells):
        other_attempts = attempts + player
        for stones in range(min(attempts, max_stones[player]) + 1):
            for other_stones in range(min(other_attempts, max_stones[1 - player]) + 1):
                failures, other_failures = attempts - stones, other_attempts - other_stones
                possible = failures <= other_stones and other_failures <= stones
                if possible and stones + other_stones < num_cells:
                    found = _make_pattern_pairs(
                        player, attempts, stones, other_attempts, other_stones
                    )
                    if found.own:
                        yield found


def _make_pattern_pairs(
    player: int, attempts: int, stones: int, other_attempts: int, other_stones: int
) -> PatternPairs:
    own, other = (
        _success_patterns(attempts, stones),
        _success_patterns(other_attempts, other_stones),
    )
    rho = [[_possible_hits(1 - player, q, other_attempts, p, attempts) for q in other] for p in own]
    sigma = [[_possible_hits(player, p, attempts, q, other_attempts) for q in other] for p in own]
    fit = np.array(
        [
            [bool(r and s) for r, s in zip(*rows, strict=True)]
            for rows in zip(rho, sigma, strict=True)
        ]
    )
    kept, others = np.flatnonzero(fit.any(axis=1)), np.flatnonzero(fit.any(axis=0))
    return PatternPairs(
        attempts,
        stones,
        other_attempts,
        other_stones,
        [own[a] for a in kept],
        [other[b] for b in others],
        [[rho[a][b] if fit[a, b] else [] for b in others] for a in kept],
        [[sigma[a][b] if fit[a, b] else [] for b in others] for a in kept],
    )


def _success_patterns(attempts: int, stones: int) -> list[int]:
    return [sum(1 << t for t in times) for times in combinations(range(attempts), stones)]


def _attempt_times(pattern: int, attempts: int, success: bool) -> list[int]:
    return [t for t in range(attempts) if bool(pattern >> t & 1) == success]


def _possible_hits(
    viewer: int, pattern: int, attempts: int, other: int, other_attempts: int
) -> list[int]:
    """Which choices of the other's stones the viewer's failures may have hit.

    Player 0 acts first: its attempt t comes after the other's earlier ones, player 1's also after
    the other's attempt t.
    """
    failed = _attempt_times(pattern, attempts, False)
    placed = _attempt_times(other, other_attempts, True)
    return [
        number
        for number, choice in enumerate(list_choices(len(placed), len(failed)))
        if all(placed[k] < t + viewer for k, t in zip(choice, failed, strict=True))
    ]
