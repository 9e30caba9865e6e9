"""Phantom games of the abrupt kind as an arena: see `kernels/patterns.py` for how and why."""

from __future__ import annotations

import math
import re
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
from counterplay.games.winner import PLAYER_MARKS
from counterplay.kernels.factored import phantom_abrupt
from counterplay.kernels.factored.phantom_abrupt import AbruptBoard, InfosetPairs, PatternBlock
from counterplay.kernels.runtime.threads import run_in_threads

AttemptPattern = tuple[int, int]  # their number, and the pattern of those that succeeded
SetPairs = dict[tuple[int, int], Ints]  # [2, .] all (stones, failed cells), by their numbers


class InfosetNumbering(NamedTuple):
    """Which number an infoset has, by player, attempts and pattern, pair, and orders."""

    start: Ints  # first infoset by pattern, then pair; -1 if there is none
    pattern_place: list[
        dict[AttemptPattern, int]
    ]  # by player and pattern, where `start` has its pairs
    first_of_level: list[list[int]]  # by player and number of attempts, and the end
    base: list[list[int]]  # sequences of infoset i start at base + i * actions
    cuts: list[int]  # where a level may be cut: between patterns that differ before the end


class AbruptPhantomArena(PhantomArena):
    """A phantom game whose failed attempts cost the turn; two players, no history stored."""

    def __init__(self, game: PhantomBoard, memory_limit: int | None = None):
        check_memory(game, *count_infosets_and_sequences(game), memory_limit)
        size, wins = game.num_cells, wins_table(game)
        count = count_bits(np.arange(1 << size)).astype(np.int64)
        most = [int(count[~won].max()) for won in wins]
        met = [list(iter_pattern_pairs(size, player, most)) for player in range(2)]
        self.set_pairs, pair = _disjoint_pairs(size)
        self.numbering = _number_infosets(size, wins, met, self.set_pairs)
        factorial = np.array([math.factorial(k) for k in range(size + 1)])
        self.board = AbruptBoard(size, wins, count, pair, self.numbering.start, factorial)
        levels = self.numbering.first_of_level
        stones, tried = np.zeros((2, levels[1][-1]), np.uint16)
        parent = np.zeros(stones.size, np.uint32)
        self._fill_infosets(stones, tried, parent)
        offset = sequence_offsets(size, tried)
        for first in (levels[0][0], levels[1][0]):
            parent[first : first + 1] = offset[-1]  # nothing comes before the first attempt
        ends = np.array([0, levels[1][0], stones.size])
        super().__init__(game, SequenceTrees(offset, parent, ends), levels, stones, tried)
        self.infoset_pairs = [
            [self._make_infoset_pairs(player, m) for m in met[player]] for player in range(2)
        ]

    def _fill_infosets(self, stones: Ints, tried: Ints, parent: Ints) -> None:
        """What belongs to each infoset, pattern by pattern."""
        numbering, size = self.numbering, self.board.num_cells
        for player, places in enumerate(numbering.pattern_place):
            for (attempts, pattern), place in places.items():
                if not attempts:
                    continue
                own, last = pattern.bit_count(), 1 << (attempts - 1)
                mine, hit = self.set_pairs[own, attempts - own]
                block = PatternBlock(
                    mine=mine,
                    hit=hit,
                    place=place,
                    before=places[attempts - 1, pattern & ~last],
                    succeeded=bool(pattern & last),
                    width=size - attempts,
                    own=list_permutations(own),
                    failed=list_permutations(attempts - own),
                )
                base = numbering.base[player][attempts - 1]
                phantom_abrupt.fill_infosets(self.board, block, base, stones, tried, parent)

    def _make_infoset_pairs(self, player: int, pattern_pairs: PatternPairs) -> InfosetPairs:
        numbering, size = self.numbering, self.board.num_cells
        own_place, other_place = (
            numbering.pattern_place[player],
            numbering.pattern_place[1 - player],
        )
        attempts, other_attempts = pattern_pairs.attempts, pattern_pairs.other_attempts
        earlier = other_attempts - 1
        rest = (1 << max(earlier, 0)) - 1
        failures, other_failures = (
            attempts - pattern_pairs.stones,
            other_attempts - pattern_pairs.other_stones,
        )
        rho, rho_offset = _flatten(pattern_pairs.rho)
        sigma, sigma_offset = _flatten(pattern_pairs.sigma)
        by_rho, fresh = _group_by_rho(pattern_pairs.rho)
        base, other_base = numbering.base[player], [*numbering.base[1 - player], *[0] * size]
        return InfosetPairs(
            player=player,
            own_sets=_sets_without_win(self.board, player, pattern_pairs.stones),
            other_sets=_sets_without_win(self.board, 1 - player, pattern_pairs.other_stones),
            own_place=np.array([own_place.get((attempts, p), 0) for p in pattern_pairs.own]),
            other_place=np.array(
                [other_place.get((other_attempts, q), 0) for q in pattern_pairs.other]
            ),
            other_before=np.array(
                [other_place.get((earlier, q & rest), 0) for q in pattern_pairs.other]
            ),
            other_last=np.array([bool(q >> max(earlier, 0) & 1) for q in pattern_pairs.other]),
            own_base=base[attempts] if attempts < len(base) else 0,
            own_width=size - attempts,
            other_base=other_base[other_attempts],
            other_width=size - other_attempts,
            before_base=other_base[max(earlier, 0)],
            own=list_permutations(pattern_pairs.stones),
            other=list_permutations(pattern_pairs.other_stones),
            own_failed=list_permutations(failures),
            other_failed=list_permutations(other_failures),
            hit_own=list_combinations(pattern_pairs.stones, other_failures),
            hit_other=list_combinations(pattern_pairs.other_stones, failures),
            through_own=compose_choices(pattern_pairs.stones, other_failures),
            through_other=compose_choices(pattern_pairs.other_stones, failures),
            rho_offset=rho_offset,
            rho=rho,
            sigma_offset=sigma_offset,
            sigma=sigma,
            by_rho=by_rho,
            is_new_group=fresh,
        )

    def gradient(self, player: int, reach: Floats, cf_value: Floats) -> None:
        board, workers = self.board, self.max_threads
        own = slice(*self.offset[self.form.player_infoset[player : player + 2]].tolist())
        cf_value[own], cf_value[-1] = 0.0, 0.0
        if player == 1:  # player 0 may win with its first stone
            lost = board.wins[0][1 << np.arange(board.num_cells)]
            cf_value[-1] = -reach[: board.num_cells][lost].sum()

        def work(first: int, _: int) -> None:
            for shape in self.infoset_pairs[player]:
                phantom_abrupt.add_gradient(board, shape, first, workers, reach, cf_value)

        run_in_threads(work, [(worker, worker + 1) for worker in range(workers)])

    def find_cut(self, infoset: int, first: int, last: int) -> int:
        cuts = self.numbering.cuts
        place = bisect_left(cuts, infoset)
        return min(cuts[place], last) if place < len(cuts) else last

    def find_infoset(self, key: str, player: int | None = None) -> int:
        matched = re.fullmatch(r"([xo]):((\d+!?( |$))*)", key)
        if not matched or (player is not None and PLAYER_MARKS[player] != matched[1]):
            raise self.unknown_infoset_error(key)
        player, words = PLAYER_MARKS.index(matched[1]), matched[2].split()
        cells = [int(word.rstrip("!")) for word in words]
        placed = [cell for cell, word in zip(cells, words, strict=True) if not word.endswith("!")]
        failed = [cell for cell, word in zip(cells, words, strict=True) if word.endswith("!")]
        pattern = sum((not word.endswith("!")) << t for t, word in enumerate(words))
        place = self.numbering.pattern_place[player].get((len(words), pattern))
        distinct = len(set(cells)) == len(cells) and max(cells, default=0) < self.board.num_cells
        if place is None or not distinct:
            raise self.unknown_infoset_error(key)
        mine, hit = (sum(1 << cell for cell in some) for some in (placed, failed))
        first = int(self.board.start[place + self.board.pair[mine, hit]])
        if first < 0:
            raise self.unknown_infoset_error(key)
        return (
            first
            + _permutation_rank(failed) * math.factorial(len(placed))
            + _permutation_rank(placed)
        )


def _permutation_rank(cells: list[int]) -> int:
    """The number of an order among all orders of the same cells."""
    return list(permutations(sorted(cells))).index(tuple(cells))


def _sets_without_win(board: AbruptBoard, player: int, stones: int) -> Ints:
    """Sets of so many stones with which the player has not won."""
    return np.flatnonzero((board.count == stones) & ~board.wins[player])


def _disjoint_pairs(size: int) -> tuple[SetPairs, Ints]:
    """All disjoint pairs of sets, by their numbers of cells, and the number of each [2**N, 2**N]"""
    stones, failed = np.divmod(np.arange(1 << 2 * size), 1 << size)
    disjoint = stones & failed == 0
    stones, failed = stones[disjoint], failed[disjoint]
    sizes = count_bits(stones), count_bits(failed)
    number = np.zeros((1 << size, 1 << size), np.int32)
    pairs = {}
    for own in range(size + 1):
        for failures in range(size + 1 - own):
            here = (sizes[0] == own) & (sizes[1] == failures)
            pairs[own, failures] = np.stack([stones[here], failed[here]])
            number[stones[here], failed[here]] = np.arange(here.sum())
    return pairs, number


def _number_infosets(
    size: int, wins: Ints, pattern_pairs: list[list[PatternPairs]], pairs: SetPairs
) -> InfosetNumbering:
    """Number all infosets that exist."""
    nowhere = np.full(max(found.shape[1] for found in pairs.values()), -1)
    start, place = [nowhere], nowhere.size
    places: list[dict[AttemptPattern, int]] = [{}, {}]
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
                there = np.any([possible[k][mine, hit] for k in other_stones], axis=0)
                if pattern & ~(1 << attempts >> 1) != before:
                    cuts.append(end)
                before = pattern & ~(1 << attempts >> 1)
                each = math.factorial(own) * math.factorial(attempts - own)
                after = end + np.cumsum(there) * each
                start.append(np.where(there, after - each, -1))
                places[player][attempts, pattern] = place
                place, end = place + there.size, int(after[-1])
            sequences += (end - levels[-1]) * width
            if end == levels[-1]:
                break
            levels.append(end)
        first_of_level.append(levels)
    return InfosetNumbering(np.concatenate(start), places, first_of_level, base, cuts)


def _opponent_stones_by_pattern(
    pattern_pairs: list[PatternPairs], attempts: int
) -> list[tuple[int, list[int]]]:
    """Patterns of so many attempts, and how many stones the other may have then.

    Patterns that differ in the last attempt only stand side by side.
    """
    found: dict[int, list[int]] = {}
    for meeting in pattern_pairs:
        for pattern in meeting.own if meeting.attempts == attempts else ():
            found.setdefault(pattern, []).append(meeting.other_stones)
    return sorted(found.items(), key=lambda item: [item[0] >> t & 1 for t in range(attempts)])


def _possible_pairs(size: int, wins: Ints, player: int) -> list[Ints]:
    """Whether own stones and failures [2**N, 2**N] may occur, by how many stones the other has."""
    cells = np.arange(1 << size)
    others = ((cells[:, None] & cells) == 0) & ((cells[:, None] | cells) < cells[-1])
    others &= ~wins[player][:, None] & ~wins[1 - player]
    found = []
    for stones in range(size + 1):
        there = others & (count_bits(cells) == stones)
        for cell in range(size):  # whatever is part of a possible set is a possible failure
            without = cells[cells >> cell & 1 == 0]
            there[:, without] |= there[:, without | 1 << cell]
        found.append(there)
    return found


def _flatten(ways: list[list[list[int]]]) -> tuple[Ints, Ints]:
    """Lists [A][B] one after the other, and where each begins [A, B + 1]."""
    lengths = np.array([[len(way) for way in row] for row in ways])
    ends = np.cumsum(lengths.ravel()).reshape(lengths.shape)
    offset = np.concatenate([ends[:, :1] - lengths[:, :1], ends], axis=1)
    return np.array([k for row in ways for way in row for k in way]), offset


def _group_by_rho(rho: list[list[list[int]]]) -> tuple[Ints, Ints]:
    """Own patterns [B, A], those with the same rho side by side, and where another begins."""
    by_rho, fresh = [], []
    for ways in zip(*rho, strict=True):
        order = sorted(range(len(ways)), key=lambda a: ways[a])
        by_rho.append(order)
        pairs = zip(order, [-1, *order], strict=False)
        fresh.append([before < 0 or ways[a] != ways[before] for a, before in pairs])
    return np.array(by_rho), np.array(fresh)
