"""Phantom games of the abrupt kind as an arena: see `kernels/patterns.py` for how and why."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from itertools import permutations
from typing import NamedTuple

import numpy as np

from counterplay.arena import Floats, Ints, OwnTrees
from counterplay.games.phantom_board import MARKS, PhantomBoard
from counterplay.generated.attempts import AttemptsArena, with_offsets
from counterplay.generated.own_trees import check_memory
from counterplay.generated.shapes import Meeting, meetings, orders, sets, through
from counterplay.generated.sizes import count_bits, num_own, wins_table
from counterplay.kernels import patterns
from counterplay.kernels.patterns import Block, Patterns, Shape
from counterplay.kernels.threads import run_parts

Attempts = tuple[int, int]  # their number, and the pattern of those that succeeded
Pairs = dict[tuple[int, int], Ints]  # [2, .] all (stones, failed cells), by their numbers


class Numbering(NamedTuple):
    """Which number an infoset has, by player, attempts and pattern, pair, and orders."""

    start: Ints  # first infoset by pattern, then pair; -1 if there is none
    place: list[dict[Attempts, int]]  # by player and pattern, where `start` has its pairs
    first_of_level: list[list[int]]  # by player and number of attempts, and the end
    base: list[list[int]]  # sequences of infoset i start at base + i * actions
    cuts: list[int]  # where a level may be cut: between patterns that differ before the end


class AbruptArena(AttemptsArena):
    """A phantom game whose failed attempts cost the turn; two players, no history stored."""

    def __init__(self, game: PhantomBoard, memory_limit: int | None = None):
        check_memory(game, *num_own(game), memory_limit)
        size, wins = game.num_cells, wins_table(game)
        count = count_bits(np.arange(1 << size)).astype(np.int64)
        most = [int(count[~won].max()) for won in wins]
        met = [list(meetings(size, player, most)) for player in range(2)]
        self.pairs, pair = _pairs(size)
        self.numbering = _number(size, wins, met, self.pairs)
        factorial = np.array([math.factorial(k) for k in range(size + 1)])
        self.board = Patterns(size, wins, count, pair, self.numbering.start, factorial)
        levels = self.numbering.first_of_level
        stones, tried = np.zeros((2, levels[1][-1]), np.uint16)
        parent = np.zeros(stones.size, np.uint32)
        self._fill(stones, tried, parent)
        offset = with_offsets(size, tried)
        for first in (levels[0][0], levels[1][0]):
            parent[first : first + 1] = offset[-1]  # nothing comes before the first attempt
        ends = np.array([0, levels[1][0], stones.size])
        super().__init__(game, OwnTrees(offset, parent, ends), levels, stones, tried)
        self.shapes = [[self._shape(player, m) for m in met[player]] for player in range(2)]

    def _fill(self, stones: Ints, tried: Ints, parent: Ints) -> None:
        """What belongs to each infoset, pattern by pattern."""
        numbering, size = self.numbering, self.board.num_cells
        for player, places in enumerate(numbering.place):
            for (attempts, pattern), place in places.items():
                if not attempts:
                    continue
                own, last = pattern.bit_count(), 1 << (attempts - 1)
                mine, hit = self.pairs[own, attempts - own]
                block = Block(
                    mine=mine,
                    hit=hit,
                    place=place,
                    before=places[attempts - 1, pattern & ~last],
                    succeeded=bool(pattern & last),
                    width=size - attempts,
                    own=orders(own),
                    failed=orders(attempts - own),
                )
                base = numbering.base[player][attempts - 1]
                patterns.fill_infosets(self.board, block, base, stones, tried, parent)

    def _shape(self, player: int, met: Meeting) -> Shape:
        numbering, size = self.numbering, self.board.num_cells
        own_place, other_place = numbering.place[player], numbering.place[1 - player]
        attempts, other_attempts = met.attempts, met.other_attempts
        earlier = other_attempts - 1
        rest = (1 << max(earlier, 0)) - 1
        failures, other_failures = attempts - met.stones, other_attempts - met.other_stones
        rho, rho_offset = _flat(met.rho)
        sigma, sigma_offset = _flat(met.sigma)
        by_rho, fresh = _grouped(met.rho)
        base, other_base = numbering.base[player], [*numbering.base[1 - player], *[0] * size]
        return Shape(
            player=player,
            own_sets=_not_won(self.board, player, met.stones),
            other_sets=_not_won(self.board, 1 - player, met.other_stones),
            own_place=np.array([own_place.get((attempts, p), 0) for p in met.own]),
            other_place=np.array([other_place.get((other_attempts, q), 0) for q in met.other]),
            other_before=np.array([other_place.get((earlier, q & rest), 0) for q in met.other]),
            other_last=np.array([bool(q >> max(earlier, 0) & 1) for q in met.other]),
            own_base=base[attempts] if attempts < len(base) else 0,
            own_width=size - attempts,
            other_base=other_base[other_attempts],
            other_width=size - other_attempts,
            before_base=other_base[max(earlier, 0)],
            own=orders(met.stones),
            other=orders(met.other_stones),
            own_failed=orders(failures),
            other_failed=orders(other_failures),
            hit_own=sets(met.stones, other_failures),
            hit_other=sets(met.other_stones, failures),
            through_own=through(met.stones, other_failures),
            through_other=through(met.other_stones, failures),
            rho_offset=rho_offset,
            rho=rho,
            sigma_offset=sigma_offset,
            sigma=sigma,
            by_rho=by_rho,
            fresh=fresh,
        )

    def gradient(self, player: int, reach: Floats, cf_value: Floats) -> None:
        board, workers = self.board, self.workers
        own = slice(*self.offset[self.form.player_infoset[player : player + 2]].tolist())
        cf_value[own], cf_value[-1] = 0.0, 0.0
        if player == 1:  # player 0 may win with its first stone
            lost = board.wins[0][1 << np.arange(board.num_cells)]
            cf_value[-1] = -reach[: board.num_cells][lost].sum()

        def work(first: int, _: int) -> None:
            for shape in self.shapes[player]:
                patterns.gradient(board, shape, first, workers, reach, cf_value)

        run_parts(work, [(worker, worker + 1) for worker in range(workers)])

    def cut(self, infoset: int, first: int, last: int) -> int:
        cuts = self.numbering.cuts
        place = bisect_left(cuts, infoset)
        return min(cuts[place], last) if place < len(cuts) else last

    def find(self, key: str, player: int | None = None) -> int:
        matched = re.fullmatch(r"([xo]):((\d+!?( |$))*)", key)
        if not matched or (player is not None and MARKS[player] != matched[1]):
            raise self.no_infoset(key)
        player, words = MARKS.index(matched[1]), matched[2].split()
        cells = [int(word.rstrip("!")) for word in words]
        placed = [cell for cell, word in zip(cells, words, strict=True) if not word.endswith("!")]
        failed = [cell for cell, word in zip(cells, words, strict=True) if word.endswith("!")]
        pattern = sum((not word.endswith("!")) << t for t, word in enumerate(words))
        place = self.numbering.place[player].get((len(words), pattern))
        distinct = len(set(cells)) == len(cells) and max(cells, default=0) < self.board.num_cells
        if place is None or not distinct:
            raise self.no_infoset(key)
        mine, hit = (sum(1 << cell for cell in some) for some in (placed, failed))
        first = int(self.board.start[place + self.board.pair[mine, hit]])
        if first < 0:
            raise self.no_infoset(key)
        return first + _rank(failed) * math.factorial(len(placed)) + _rank(placed)


def _rank(cells: list[int]) -> int:
    """The number of an order among all orders of the same cells."""
    return list(permutations(sorted(cells))).index(tuple(cells))


def _not_won(board: Patterns, player: int, stones: int) -> Ints:
    """Sets of so many stones with which the player has not won."""
    return np.flatnonzero((board.count == stones) & ~board.wins[player])


def _pairs(size: int) -> tuple[Pairs, Ints]:
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


def _number(size: int, wins: Ints, met: list[list[Meeting]], pairs: Pairs) -> Numbering:
    """Number all infosets that exist."""
    nowhere = np.full(max(found.shape[1] for found in pairs.values()), -1)
    start, place = [nowhere], nowhere.size
    places: list[dict[Attempts, int]] = [{}, {}]
    first_of_level: list[list[int]] = []
    base: list[list[int]] = [[], []]
    cuts: list[int] = []
    end = sequences = 0
    for player in range(2):
        possible = _possible(size, wins, player)
        levels = [end]
        for attempts in range(size):
            width, before = size - attempts, -1
            base[player].append(sequences - end * width)
            for pattern, other_stones in _by_pattern(met[player], attempts):
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
    return Numbering(np.concatenate(start), places, first_of_level, base, cuts)


def _by_pattern(met: list[Meeting], attempts: int) -> list[tuple[int, list[int]]]:
    """Patterns of so many attempts, and how many stones the other may have then.

    Patterns that differ in the last attempt only stand side by side.
    """
    found: dict[int, list[int]] = {}
    for meeting in met:
        for pattern in meeting.own if meeting.attempts == attempts else ():
            found.setdefault(pattern, []).append(meeting.other_stones)
    return sorted(found.items(), key=lambda item: [item[0] >> t & 1 for t in range(attempts)])


def _possible(size: int, wins: Ints, player: int) -> list[Ints]:
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


def _flat(ways: list[list[list[int]]]) -> tuple[Ints, Ints]:
    """Lists [A][B] one after the other, and where each begins [A, B + 1]."""
    lengths = np.array([[len(way) for way in row] for row in ways])
    ends = np.cumsum(lengths.ravel()).reshape(lengths.shape)
    offset = np.concatenate([ends[:, :1] - lengths[:, :1], ends], axis=1)
    return np.array([k for row in ways for way in row for k in way]), offset


def _grouped(rho: list[list[list[int]]]) -> tuple[Ints, Ints]:
    """Own patterns [B, A], those with the same rho side by side, and where another begins."""
    by_rho, fresh = [], []
    for ways in zip(*rho, strict=True):
        order = sorted(range(len(ways)), key=lambda a: ways[a])
        by_rho.append(order)
        pairs = zip(order, [-1, *order], strict=False)
        fresh.append([before < 0 or ways[a] != ways[before] for a, before in pairs])
    return np.array(by_rho), np.array(fresh)
