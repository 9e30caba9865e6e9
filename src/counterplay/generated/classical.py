"""Phantom games of the classical kind as an arena: see `kernels/skeletons.py` for how and why."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from counterplay.arena import Floats, Ints, OwnTrees
from counterplay.games.phantom_board import PhantomBoard
from counterplay.generated.attempts import AttemptsArena, even_cuts, with_offsets
from counterplay.generated.own_trees import check_memory
from counterplay.generated.sizes import count_bits, num_own, wins_table
from counterplay.kernels import skeletons
from counterplay.kernels.skeletons import Board, OwnLists
from counterplay.kernels.threads import even_parts, num_threads, run_parts

Ranges = list[tuple[int, int]]


class Level(NamedTuple):
    """The infosets of one player after so many attempts, in the order of their parents."""

    parent: Ints  # sequence, counted along the level before
    stones: Ints
    tried: Ints
    offset: Ints  # within the level, as are the next two
    pair_offset: Ints
    pair: Ints


class ClassicalArena(AttemptsArena):
    """A phantom game whose failed attempts cost nothing; two players, no history stored."""

    def __init__(self, game: PhantomBoard, memory_limit: int | None = None):
        check_memory(game, *num_own(game), memory_limit)
        self.board = make_board(game)
        first_of_level: list[list[int]] = []
        levels: list[Level] = []
        for player in range(2):
            grown = grow(self.board, player)
            start = sum(level.stones.size for level in levels)
            sizes = [level.stones.size for level in grown]
            first_of_level.append([start, *(start + np.cumsum(sizes)).tolist()])
            levels += grown
        self.own, parent = _join(self.board.num_cells, levels)
        ends = np.array([0, first_of_level[1][0], parent.size])
        form = OwnTrees(self.own.offset, parent, ends)
        super().__init__(game, form, first_of_level, self.own.stones, self.own.tried)
        self.total, self.value = np.zeros((2, self.board.free.size))
        self.tasks = [self.split(player) for player in range(2)]

    def gradient(self, player: int, reach: Floats, cf_value: Floats) -> None:
        board, own, total, value = self.board, self.own, self.total, self.value
        other, depths = 1 - player, range(player, board.num_cells, 2)
        total[:] = 0.0
        total[0] = 1.0
        early, tasks = self.tasks[other]

        def spread(ranges: Ranges) -> None:
            for first, last in ranges:
                skeletons.spread(board, other, first, last, own, reach, total)

        def spread_tasks(first: int, last: int) -> None:
            for task in tasks[first:last]:
                spread(task)

        spread(early)
        run_parts(spread_tasks, even_parts(0, len(tasks), self.workers))
        for depth in depths:
            skeletons.settle(board, player, depth, total, value)
        first, last = self.form.player_infoset[player : player + 2].tolist()
        run_parts(
            lambda a, b: skeletons.collect(board, player, a, b, own, value, cf_value),
            even_cuts(own.pair_offset, first, last, self.workers),
        )
        cf_value[-1] = 0.0
        if player == 1:  # player 0 may win with its first stone
            lost = board.wins[0][1 << np.arange(board.num_cells)]
            cf_value[-1] = -total[1 : 1 + board.num_cells][lost].sum()

    def split(self, player: int) -> tuple[Ranges, list[Ranges]]:
        """The player's infosets before its first stone, and the others by what that was.

        Those with different first stones have no skeleton in common: threads may take one each.
        """
        early: Ranges = []
        tasks: list[Ranges] = [[] for _ in range(self.board.num_cells)]
        parent, levels = self.form.parent, list(pairwise(self.first_of_level[player]))
        for depth, (first, last) in enumerate(levels[:3]):
            stones = self.stones[first:last]
            for infoset in (first + np.flatnonzero(stones == 0)).tolist():
                early.append((infoset, infoset + 1))
            for infoset in (first + np.flatnonzero(count_bits(stones) == 1)).tolist():
                before = np.searchsorted(self.offset, parent[infoset], side="right") - 1
                if self.stones[before]:
                    continue  # its stone is not new
                begin, end = infoset, infoset + 1
                ranges = tasks[int(self.stones[infoset]).bit_length() - 1]
                for low, high in levels[depth + 1 :]:
                    ranges.append((begin, end))
                    reached = self.offset[[begin, end]]
                    begin, end = (low + np.searchsorted(parent[low:high], reached)).tolist()
                ranges.append((begin, end))
        return early, tasks


def make_board(game: PhantomBoard) -> Board:
    """The board as kernels want it."""
    size, wins = game.num_cells, wins_table(game)
    sets = np.arange(1 << size)
    count = count_bits(sets).astype(np.int64)
    lowest = count_bits((sets & -sets) - 1).astype(np.int64)
    numbers = [math.perm(size, stones) for stones in range(size + 1)]
    level = np.cumsum([0, *numbers, 0])
    free, mine = np.zeros((2, level[-1]), np.uint16)
    skeletons.fill_skeletons(size, level, free, mine)
    return Board(size, wins, count, lowest, level, free, mine)


def grow(board: Board, player: int) -> list[Level]:
    """All infosets of a player, level by level."""
    levels = [_root(board, player)]
    while levels[-1].stones.size:
        levels.append(_after(board, player, levels[-1]))
    return levels[:-1]


def _after(board: Board, player: int, before: Level) -> Level:
    """The level that follows another one."""
    own = OwnLists(before.offset, before.stones, before.tried, before.pair_offset, before.pair)
    children, pairs = np.zeros((2, before.stones.size), np.int64)
    parts = even_cuts(before.pair_offset, 0, children.size, num_threads())
    run_parts(
        lambda a, b: skeletons.count_children(board, player, a, b, own, children, pairs), parts
    )
    first, place = (np.append(0, np.cumsum(counts)) for counts in (children, pairs))
    made = Level(
        parent=np.zeros(first[-1], np.uint32),
        stones=np.zeros(first[-1], np.uint16),
        tried=np.zeros(first[-1], np.uint16),
        offset=np.zeros(0),
        pair_offset=np.full(first[-1] + 1, place[-1], np.uint32),
        pair=np.zeros(place[-1], np.uint32),
    )
    run_parts(
        lambda a, b: skeletons.fill_children(board, player, a, b, own, first[a], place[a], made),
        parts,
    )
    return made._replace(offset=with_offsets(board.num_cells, made.tried))


def _root(board: Board, player: int) -> Level:
    """The infoset before any attempt: player 1 knows that the other has placed a stone."""
    nothing = np.zeros(1, np.uint16)
    cells = np.arange(board.num_cells)
    pair = cells[~board.wins[0][1 << cells]] if player else cells[:1]
    if not pair.size or board.num_cells <= player:  # it never gets to act
        nothing = nothing[:0]
    return Level(
        parent=np.zeros(nothing.size, np.uint32),
        stones=nothing,
        tried=nothing.copy(),
        offset=with_offsets(board.num_cells, nothing),
        pair_offset=np.array([0, pair.size][: nothing.size + 1], np.uint32),
        pair=pair.astype(np.uint32),
    )


def _join(num_cells: int, levels: list[Level]) -> tuple[OwnLists, Ints]:
    """All levels of both players one after the other, and the parents of all infosets."""
    tried = np.concatenate([level.tried for level in levels])
    offset = with_offsets(num_cells, tried)
    pairs = np.cumsum([0, *(level.pair.size for level in levels)])
    pair_offset = [level.pair_offset[:-1] + n for level, n in zip(levels, pairs[:-1], strict=True)]
    starts = np.cumsum([0, *(level.offset[-1] for level in levels)])
    parent = [level.parent + starts[number - 1] for number, level in enumerate(levels)]
    for number, level in enumerate(levels):
        if not level.tried[0]:  # a root
            parent[number] = offset[-1:]
    own = OwnLists(
        offset=offset,
        stones=np.concatenate([level.stones for level in levels]),
        tried=tried,
        pair_offset=np.concatenate([*pair_offset, pairs[-1:]]).astype(np.uint32),
        pair=np.concatenate([level.pair for level in levels]),
    )
    return own, np.concatenate(parent).astype(np.uint32)
