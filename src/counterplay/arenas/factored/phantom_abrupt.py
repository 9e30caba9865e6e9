"""Abrupt phantom games as an arena: see `counterplay.kernels.factored.phantom_abrupt`."""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import permutations
from typing import NamedTuple

import numpy as np

from counterplay.arenas.factored.base import check_memory
from counterplay.arenas.factored.phantom_base import PhantomArena, sequence_offsets
from counterplay.arenas.factored.phantom_patterns import (
    PatternPairs,
    compose_choices,
    iter_pattern_pairs,
    list_combinations,
    list_permutations,
)
from counterplay.arenas.factored.phantom_sizes import (
    count_bits,
    count_infosets_and_sequences,
    wins_table,
)
from counterplay.core.arena import Floats, Ints, SequenceTrees
from counterplay.games.phantom_board import PhantomBoard
from counterplay.kernels.factored import phantom_abrupt
from counterplay.kernels.factored.phantom_abrupt import AbruptBoard, InfosetPairs, PatternBlock
from counterplay.kernels.runtime.threads import run_in_threads

AttemptPattern = tuple[int, int]  # number of attempts, pattern of the successful ones
SetPairs = dict[tuple[int, int], Ints]  # [2, .] all (stones, failed cells), by numbers of cells


class InfosetNumbering(NamedTuple):
    """Numbers of infosets, by player, number of attempts, pattern, pair of sets, and orders."""

    start: Ints  # first infoset by pattern, then pair; -1 if no infoset exists
    pattern_start: list[dict[AttemptPattern, int]]  # [P] index of each pattern in `start`
    first_of_level: list[list[int]]  # [P] by number of attempts, and the end
    base: list[list[int]]  # [P] by attempts: sequences of infoset i start at base + i * actions
    cuts: list[int]  # infosets at which a level may be cut: their patterns have no common parent


class AbruptPhantomArena(PhantomArena):
    """A phantom game whose failed attempts cost the turn."""

    def __init__(self, game: PhantomBoard, memory_limit: int | None = None):
        check_memory(game, *count_infosets_and_sequences(game), memory_limit)
        size, wins = game.num_cells, wins_table(game)
        count = count_bits(np.arange(1 << size)).astype(np.int64)
        max_stones = [int(count[~is_won].max()) for is_won in wins]
        pattern_pairs = [list(iter_pattern_pairs(size, p, max_stones)) for p in range(2)]
        self.set_pairs, pair = _disjoint_pairs(size)
        self.numbering = _number_infosets(size, wins, pattern_pairs, self.set_pairs)
        factorial = np.array([math.factorial(k) for k in range(size + 1)])
        self.board = AbruptBoard(size, wins, count, pair, self.numbering.start, factorial)
        levels = self.numbering.first_of_level
        stones, tried = np.zeros((2, levels[1][-1]), np.uint16)
        parent = np.zeros(stones.size, np.uint32)
        self._fill_infosets(stones, tried, parent)
        offset = sequence_offsets(size, tried)
        for first in (levels[0][0], levels[1][0]):
            parent[first : first + 1] = offset[-1]  # the empty sequence
        ends = np.array([0, levels[1][0], stones.size])
        super().__init__(game, SequenceTrees(offset, parent, ends), levels, stones, tried)
        self.infoset_pairs = [
            [self._make_infoset_pairs(player, pairs) for pairs in pattern_pairs[player]]
            for player in range(2)
        ]

    def _fill_infosets(self, stones: Ints, tried: Ints, parent: Ints) -> None:
        """Set the arrays of all infosets, pattern by pattern."""
        numbering, size = self.numbering, self.board.num_cells
        for player, pattern_start in enumerate(numbering.pattern_start):
            for (attempts, pattern), start in pattern_start.items():
                if not attempts:
                    continue
                own, last = pattern.bit_count(), 1 << (attempts - 1)
                mine, hit = self.set_pairs[own, attempts - own]
                block = PatternBlock(
                    mine=mine,
                    hit=hit,
                    start=start,
                    parent_start=pattern_start[attempts - 1, pattern & ~last],
                    succeeded=bool(pattern & last),
                    width=size - attempts,
                    own=list_permutations(own),
                    failed=list_permutations(attempts - own),
                )
                base = numbering.base[player][attempts - 1]
                phantom_abrupt.fill_infosets(self.board, block, base, stones, tried, parent)

    def _make_infoset_pairs(self, player: int, pattern_pairs: PatternPairs) -> InfosetPairs:
        numbering, size = self.numbering, self.board.num_cells
        own_start, other_start = (
            numbering.pattern_start[player],
            numbering.pattern_start[1 - player],
        )
        attempts, other_attempts = pattern_pairs.attempts, pattern_pairs.other_attempts
        stones, other_stones = pattern_pairs.stones, pattern_pairs.other_stones
        failures, other_failures = attempts - stones, other_attempts - other_stones
        earlier = other_attempts - 1
        rest = (1 << max(earlier, 0)) - 1
        rho, rho_offset = _flatten(pattern_pairs.rho)
        sigma, sigma_offset = _flatten(pattern_pairs.sigma)
        by_rho, is_new_group = _group_by_rho(pattern_pairs.rho)
        base, other_base = numbering.base[player], [*numbering.base[1 - player], *[0] * size]
        return InfosetPairs(
            player=player,
            own_sets=_sets_without_win(self.board, player, stones),
            other_sets=_sets_without_win(self.board, 1 - player, other_stones),
            own_start=np.array([own_start.get((attempts, p), 0) for p in pattern_pairs.own]),
            other_start=np.array(
                [other_start.get((other_attempts, q), 0) for q in pattern_pairs.other]
            ),
            other_parent_start=np.array(
                [other_start.get((earlier, q & rest), 0) for q in pattern_pairs.other]
            ),
            other_last=np.array([bool(q >> max(earlier, 0) & 1) for q in pattern_pairs.other]),
            own_base=base[attempts] if attempts < len(base) else 0,
            own_width=size - attempts,
            other_base=other_base[other_attempts],
            other_width=size - other_attempts,
            before_base=other_base[max(earlier, 0)],
            own=list_permutations(stones),
            other=list_permutations(other_stones),
            own_failed=list_permutations(failures),
            other_failed=list_permutations(other_failures),
            hit_own=list_combinations(stones, other_failures),
            hit_other=list_combinations(other_stones, failures),
            through_own=compose_choices(stones, other_failures),
            through_other=compose_choices(other_stones, failures),
            rho_offset=rho_offset,
            rho=rho,
            sigma_offset=sigma_offset,
            sigma=sigma,
            by_rho=by_rho,
            is_new_group=is_new_group,
        )

    def gradient(self, player: int, reach: Floats, cf_value: Floats) -> None:
        board, workers = self.board, self.max_threads
        own_part = slice(*self.offset[self.form.player_infoset[player : player + 2]].tolist())
        cf_value[own_part], cf_value[-1] = 0.0, 0.0
        if player == 1:  # player 0 may win with its first stone
            lost = board.wins[0][1 << np.arange(board.num_cells)]
            cf_value[-1] = -reach[: board.num_cells][lost].sum()

        def add_gradient(first: int, _: int) -> None:
            for shape in self.infoset_pairs[player]:
                phantom_abrupt.add_gradient(board, shape, first, workers, reach, cf_value)

        run_in_threads(add_gradient, [(worker, worker + 1) for worker in range(workers)])

    def find_cut(self, infoset: int, first: int, last: int) -> int:
        cuts = self.numbering.cuts
        k = bisect_left(cuts, infoset)
        return min(cuts[k], last) if k < len(cuts) else last

    def find_infoset(self, key: str, player: int | None = None) -> int:
        player, attempts = self.parse_key(key, player)
        cells = [cell for cell, _ in attempts]
        stones = [cell for cell, is_free in attempts if is_free]
        failures = [cell for cell, is_free in attempts if not is_free]
        pattern = sum(is_free << t for t, (_, is_free) in enumerate(attempts))
        start = self.numbering.pattern_start[player].get((len(attempts), pattern))
        is_distinct = len(set(cells)) == len(cells)
        if start is None or not is_distinct or max(cells, default=0) >= self.board.num_cells:
            raise self.unknown_infoset_error(key)
        mine, hit = (sum(1 << cell for cell in subset) for subset in (stones, failures))
        first = int(self.board.start[start + self.board.pair[mine, hit]])
        if first < 0:
            raise self.unknown_infoset_error(key)
        rank = _permutation_rank(failures) * math.factorial(len(stones)) + _permutation_rank(stones)
        return first + rank


def _permutation_rank(cells: list[int]) -> int:
    """Return the number of an order among all orders of the same cells."""
    return list(permutations(sorted(cells))).index(tuple(cells))


def _sets_without_win(board: AbruptBoard, player: int, stones: int) -> Ints:
    """Return the sets of `stones` cells with which the player has not won."""
    return np.flatnonzero((board.count == stones) & ~board.wins[player])


def _disjoint_pairs(size: int) -> tuple[SetPairs, Ints]:
    """Return all disjoint pairs of sets by sizes, and the number of each pair [2**N, 2**N]."""
    stones, failed = np.divmod(np.arange(1 << 2 * size), 1 << size)
    disjoint = stones & failed == 0
    stones, failed = stones[disjoint], failed[disjoint]
    sizes = count_bits(stones), count_bits(failed)
    number = np.zeros((1 << size, 1 << size), np.int32)
    pairs = {}
    for own in range(size + 1):
        for failures in range(size + 1 - own):
            mask = (sizes[0] == own) & (sizes[1] == failures)
            pairs[own, failures] = np.stack([stones[mask], failed[mask]])
            number[stones[mask], failed[mask]] = np.arange(mask.sum())
    return pairs, number


def _number_infosets(
    size: int, wins: Ints, pattern_pairs: list[list[PatternPairs]], pairs: SetPairs
) -> InfosetNumbering:
    """Number all infosets that exist."""
    missing = np.full(max(sets.shape[1] for sets in pairs.values()), -1)
    start, index = [missing], missing.size
    pattern_start: list[dict[AttemptPattern, int]] = [{}, {}]
    first_of_level: list[list[int]] = []
    base: list[list[int]] = [[], []]
    cuts: list[int] = []
    end = sequences = 0
    for player in range(2):
        possible = _possible_pairs(size, wins, player)
        levels = [end]
        for attempts in range(size):
            width, before = size - attempts, -1
            base[player].append(sequences - end * width)
            for pattern, other_stones in _opponent_stones_by_pattern(
                pattern_pairs[player], attempts
            ):
                own = pattern.bit_count()
                mine, hit = pairs[own, attempts - own]
                exists = np.any([possible[k][mine, hit] for k in other_stones], axis=0)
                if pattern & ~(1 << attempts >> 1) != before:
                    cuts.append(end)
                before = pattern & ~(1 << attempts >> 1)
                num_orders = math.factorial(own) * math.factorial(attempts - own)
                ends = end + np.cumsum(exists) * num_orders
                start.append(np.where(exists, ends - num_orders, -1))
                pattern_start[player][attempts, pattern] = index
                index, end = index + exists.size, int(ends[-1])
            sequences += (end - levels[-1]) * width
            if end == levels[-1]:
                break
            levels.append(end)
        first_of_level.append(levels)
    return InfosetNumbering(np.concatenate(start), pattern_start, first_of_level, base, cuts)


def _opponent_stones_by_pattern(
    pattern_pairs: list[PatternPairs], attempts: int
) -> list[tuple[int, list[int]]]:
    """Return the patterns of `attempts` attempts, each with the possible numbers of other stones.

    Patterns that differ in the last attempt only are adjacent.
    """
    stones_by_pattern: dict[int, list[int]] = {}
    for pairs in pattern_pairs:
        for pattern in pairs.own if pairs.attempts == attempts else ():
            stones_by_pattern.setdefault(pattern, []).append(pairs.other_stones)
    items = stones_by_pattern.items()
    return sorted(items, key=lambda item: [item[0] >> t & 1 for t in range(attempts)])


def _possible_pairs(size: int, wins: Ints, player: int) -> list[Ints]:
    """Return the possible own stones and failures [2**N, 2**N], by number of other stones."""
    cells = np.arange(1 << size)
    others = ((cells[:, None] & cells) == 0) & ((cells[:, None] | cells) < cells[-1])
    others &= ~wins[player][:, None] & ~wins[1 - player]
    possible = []
    for stones in range(size + 1):
        failures = others & (count_bits(cells) == stones)
        for cell in range(size):  # failures are any subset of the other's stones
            without = cells[cells >> cell & 1 == 0]
            failures[:, without] |= failures[:, without | 1 << cell]
        possible.append(failures)
    return possible


def _flatten(ways: list[list[list[int]]]) -> tuple[Ints, Ints]:
    """Return the concatenated lists [A][B], and the start of each [A, B + 1]."""
    lengths = np.array([[len(way) for way in row] for row in ways])
    ends = np.cumsum(lengths.ravel()).reshape(lengths.shape)
    offset = np.concatenate([ends[:, :1] - lengths[:, :1], ends], axis=1)
    return np.array([k for row in ways for way in row for k in way]), offset


def _group_by_rho(rho: list[list[list[int]]]) -> tuple[Ints, Ints]:
    """Return own patterns [B, A] grouped by equal rho, and True where a new group starts."""
    by_rho, is_new = [], []
    for ways in zip(*rho, strict=True):
        order = sorted(range(len(ways)), key=lambda a: ways[a])
        by_rho.append(order)
        pairs = zip(order, [-1, *order], strict=False)
        is_new.append([before < 0 or ways[a] != ways[before] for a, before in pairs])
    return np.array(by_rho), np.array(is_new)
