"""How large a phantom game is, before anything of it is made."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from counterplay.core.arena import Ints
from counterplay.games.phantom_board import PhantomBoard

MAX_COUNTED_INFOSETS = 10**18  # infosets; larger boards are not counted any further
MAX_LISTED_CELLS = 12  # of a board whose winning sets are worth listing


def count_infosets_and_sequences(game: PhantomBoard) -> tuple[int, int]:
    """How many infosets and sequences both players have, at most.

    Counted are words of attempts that failed and succeeded as far as the numbers of stones allow,
    on pairs of disjoint sets with which neither player has won. Few of these do not exist.
    """
    size = game.num_cells
    infosets = sequences = 0
    for player in range(2):
        pairs = _set_pair_counter(game, player)
        for stones in range(size):
            for failures in range(size - stones - player * game.is_abrupt):
                words = _count_attempt_orders(stones, failures, player, game.is_abrupt)
                orders = math.factorial(stones) * math.factorial(failures)
                found = words * orders * pairs(stones, failures)
                infosets += found
                if infosets > MAX_COUNTED_INFOSETS:
                    return infosets, sequences
                sequences += found * (size - stones - failures)
    return infosets, sequences


def wins_table(game: PhantomBoard) -> Ints:
    """Whether each player [2] has won with each set of stones [2**N]."""
    sets = range(1 << game.num_cells)
    return np.array([[game.has_won(player, stones) for stones in sets] for player in range(2)])


@cache
def _count_attempt_orders(stones: int, failures: int, player: int, abrupt: bool) -> int:
    """In how many orders so many attempts may succeed and fail before the player's next one.

    A failure needs a stone of the other's, who has had one attempt for each of the player's turns.
    """
    if not abrupt and failures > stones + player:
        return 0
    if not stones and not failures:
        return 1
    turns = stones + failures - 1 if abrupt else stones  # before the last attempt, if that failed
    found = _count_attempt_orders(stones - 1, failures, player, abrupt) if stones else 0
    if failures and failures <= turns + player:
        found += _count_attempt_orders(stones, failures - 1, player, abrupt)
    return found


def _set_pair_counter(game: PhantomBoard, player: int) -> Callable[[int, int], int]:
    """How many disjoint pairs of own stones and failed cells there are, by their numbers."""
    size = game.num_cells
    most = (size - 1 - player) // 2  # own stones when failed attempts cost no turn

    def without_wins(stones: int, failures: int) -> int:
        return math.comb(size, stones) * math.comb(size - stones, failures)

    def possible(stones: int, failures: int) -> bool:
        return game.is_abrupt or stones <= most

    if size > MAX_LISTED_CELLS:
        return lambda s, f: without_wins(s, f) if possible(s, f) else 0
    wins, sets = wins_table(game), np.arange(1 << size)
    count = count_bits(sets)
    table = np.zeros((size + 1, size + 1), np.int64)
    for failures in range(size + 1):
        within = ((count == failures) & ~wins[1 - player]).astype(np.int64)
        for cell in range(size):  # now of all subsets
            within[sets >> cell & 1 == 1] += within[sets[sets >> cell & 1 == 1] ^ (1 << cell)]
        around = within[sets[-1] ^ sets] * ~wins[player]
        table[:, failures] = np.bincount(count, around, size + 1).astype(np.int64)
    return lambda s, f: int(table[s, f]) if possible(s, f) else 0


def count_bits(sets: Ints) -> Ints:
    """How many elements each set has: the bits of its number, which NumPy counts from 2.0 on."""
    if hasattr(np, "bitwise_count"):
        return np.bitwise_count(sets)
    octets = np.abs(sets).astype(np.uint64)[..., None].view(np.uint8)
    return _BYTE_BIT_COUNTS[octets].sum(axis=-1, dtype=np.uint8)


_BYTE_BIT_COUNTS = np.array([number.bit_count() for number in range(256)], np.uint8)
