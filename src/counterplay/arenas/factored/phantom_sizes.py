"""Estimates of the size of a phantom game before its arena is built."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from counterplay.core.arena import Ints
from counterplay.games.phantom_board import PhantomBoard

MAX_COUNTED_INFOSETS = 10**18  # counting stops here
MAX_LISTED_CELLS = 12  # larger boards are counted without their winning sets


def count_infosets_and_sequences(game: PhantomBoard) -> tuple[int, int]:
    """Return upper bounds of the numbers of infosets and of sequences of both players.

    They count orders of failed and successful attempts that the numbers of stones allow, on pairs
    of disjoint sets with which neither player has won. Most of these exist.
    """
    size = game.num_cells
    infosets = sequences = 0
    for player in range(2):
        pairs = _set_pair_counter(game, player)
        for stones in range(size):
            for failures in range(size - stones - player * game.is_abrupt):
                patterns = _count_attempt_orders(stones, failures, player, game.is_abrupt)
                orders = math.factorial(stones) * math.factorial(failures)
                count = patterns * orders * pairs(stones, failures)
                infosets += count
                if infosets > MAX_COUNTED_INFOSETS:
                    return infosets, sequences
                sequences += count * (size - stones - failures)
    return infosets, sequences


def wins_table(game: PhantomBoard) -> Ints:
    """Return an array [2, 2**N], True if the player wins with the set of stones."""
    sets = range(1 << game.num_cells)
    return np.array([[game.has_won(player, stones) for stones in sets] for player in range(2)])


@cache
def _count_attempt_orders(stones: int, failures: int, player: int, abrupt: bool) -> int:
    """Return the number of orders of `stones` successful and `failures` failed attempts.

    A failure needs a stone of the other player, who has had one attempt per turn of the player.
    """
    if not abrupt and failures > stones + player:
        return 0
    if not stones and not failures:
        return 1
    turns = stones + failures - 1 if abrupt else stones  # before the last attempt, if it failed
    count = _count_attempt_orders(stones - 1, failures, player, abrupt) if stones else 0
    if failures and failures <= turns + player:
        count += _count_attempt_orders(stones, failures - 1, player, abrupt)
    return count


def _set_pair_counter(game: PhantomBoard, player: int) -> Callable[[int, int], int]:
    """Return a function from numbers of own stones and failed cells to the number of set pairs."""
    size = game.num_cells
    max_stones = (size - 1 - player) // 2  # if failed attempts cost no turn

    def count_pairs(stones: int, failures: int) -> int:
        return math.comb(size, stones) * math.comb(size - stones, failures)

    def is_possible(stones: int) -> bool:
        return game.is_abrupt or stones <= max_stones

    if size > MAX_LISTED_CELLS:
        return lambda s, f: count_pairs(s, f) if is_possible(s) else 0
    wins, sets = wins_table(game), np.arange(1 << size)
    count = count_bits(sets)
    table = np.zeros((size + 1, size + 1), np.int64)
    for failures in range(size + 1):
        within = ((count == failures) & ~wins[1 - player]).astype(np.int64)
        for cell in range(size):  # sums over subsets
            within[sets >> cell & 1 == 1] += within[sets[sets >> cell & 1 == 1] ^ (1 << cell)]
        around = within[sets[-1] ^ sets] * ~wins[player]
        table[:, failures] = np.bincount(count, around, size + 1).astype(np.int64)
    return lambda s, f: int(table[s, f]) if is_possible(s) else 0


def count_bits(sets: Ints) -> Ints:
    """Return the number of bits of each integer; NumPy before 2.0 has no `bitwise_count`."""
    if hasattr(np, "bitwise_count"):
        return np.bitwise_count(sets)
    octets = np.abs(sets).astype(np.uint64)[..., None].view(np.uint8)
    return _BYTE_BIT_COUNTS[octets].sum(axis=-1, dtype=np.uint8)


_BYTE_BIT_COUNTS = np.array([number.bit_count() for number in range(256)], np.uint8)
