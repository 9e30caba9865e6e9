"""Classical phantom games as an arena: see `counterplay.kernels.factored.phantom_classical`."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from counterplay.arenas.factored.base import check_memory
from counterplay.arenas.factored.phantom_base import PhantomArena, sequence_offsets, split_by_weight
from counterplay.arenas.factored.phantom_sizes import (
    count_bits,
    count_infosets_and_sequences,
    wins_table,
)
from counterplay.core.arena import Floats, Ints, SequenceTrees
from counterplay.games.phantom_board import PhantomBoard
from counterplay.kernels.factored import phantom_classical
from counterplay.kernels.factored.phantom_classical import ClassicalBoard, InfosetSkeletons
from counterplay.kernels.runtime.threads import num_threads, run_in_threads, split_evenly

InfosetRanges = list[tuple[int, int]]


class InfosetLevel(NamedTuple):
    """The infosets of one player after a number of attempts, in the order of their parents."""

    parent: Ints  # sequence, numbered within the level before
    stones: Ints
    tried: Ints
    offset: Ints  # first sequence, numbered within the level, like the next two
    skeleton_offset: Ints
    skeleton: Ints


class ClassicalPhantomArena(PhantomArena):
    """A phantom game whose failed attempts cost nothing."""

    def __init__(self, game: PhantomBoard, memory_limit: int | None = None):
        check_memory(game, *count_infosets_and_sequences(game), memory_limit)
        self.board = make_board(game)
        first_of_level: list[list[int]] = []
        levels: list[InfosetLevel] = []
        for player in range(2):
            player_levels = grow_levels(self.board, player)
            start = sum(level.stones.size for level in levels)
            sizes = [level.stones.size for level in player_levels]
            first_of_level.append([start, *(start + np.cumsum(sizes)).tolist()])
            levels += player_levels
        self.infoset_skeletons, parent = _join_levels(self.board.num_cells, levels)
        ends = np.array([0, first_of_level[1][0], parent.size])
        form = SequenceTrees(self.infoset_skeletons.offset, parent, ends)
        super().__init__(
            game, form, first_of_level, self.infoset_skeletons.stones, self.infoset_skeletons.tried
        )
        self.skeleton_reach, self.skeleton_value = np.zeros((2, self.board.free.size))
        self.tasks = [self.split_by_first_stone(player) for player in range(2)]

    def gradient(self, player: int, reach: Floats, cf_value: Floats) -> None:
        board, own = self.board, self.infoset_skeletons
        total, value = self.skeleton_reach, self.skeleton_value
        other, depths = 1 - player, range(player, board.num_cells, 2)
        total[:] = 0.0
        total[0] = 1.0
        early, tasks = self.tasks[other]

        def add_reach(ranges: InfosetRanges) -> None:
            for first, last in ranges:
                phantom_classical.add_reach_to_skeletons(
                    board, other, first, last, own, reach, total
                )

        def run_tasks(first: int, last: int) -> None:
            for task in tasks[first:last]:
                add_reach(task)

        add_reach(early)
        run_in_threads(run_tasks, split_evenly(0, len(tasks), self.max_threads))
        for depth in depths:
            phantom_classical.set_skeleton_values(board, player, depth, total, value)
        first, last = self.form.player_infoset[player : player + 2].tolist()
        run_in_threads(
            lambda a, b: phantom_classical.collect_cf_values(
                board, player, a, b, own, value, cf_value
            ),
            split_by_weight(own.skeleton_offset, first, last, self.max_threads),
        )
        cf_value[-1] = 0.0
        if player == 1:  # player 0 may win with its first stone
            lost = board.wins[0][1 << np.arange(board.num_cells)]
            cf_value[-1] = -total[1 : 1 + board.num_cells][lost].sum()

    def split_by_first_stone(self, player: int) -> tuple[InfosetRanges, list[InfosetRanges]]:
        """Return the player's infosets before its first stone, and the others by that stone.

        Infosets with different first stones have no skeleton in common, so that threads can
        process them in parallel.
        """
        early: InfosetRanges = []
        tasks: list[InfosetRanges] = [[] for _ in range(self.board.num_cells)]
        parent, levels = self.form.parent, list(pairwise(self.first_of_level[player]))
        for depth, (first, last) in enumerate(levels[:3]):
            stones = self.stones[first:last]
            for infoset in (first + np.flatnonzero(stones == 0)).tolist():
                early.append((infoset, infoset + 1))
            for infoset in (first + np.flatnonzero(count_bits(stones) == 1)).tolist():
                before = np.searchsorted(self.offset, parent[infoset], side="right") - 1
                if self.stones[before]:
                    continue  # the last attempt failed
                begin, end = infoset, infoset + 1
                ranges = tasks[int(self.stones[infoset]).bit_length() - 1]
                for low, high in levels[depth + 1 :]:
                    ranges.append((begin, end))
                    reached = self.offset[[begin, end]]
                    begin, end = (low + np.searchsorted(parent[low:high], reached)).tolist()
                ranges.append((begin, end))
        return early, tasks


def make_board(game: PhantomBoard) -> ClassicalBoard:
    """Return the tables of the board for kernels."""
    size, wins = game.num_cells, wins_table(game)
    sets = np.arange(1 << size)
    count = count_bits(sets).astype(np.int64)
    lowest = count_bits((sets & -sets) - 1).astype(np.int64)
    numbers = [math.perm(size, stones) for stones in range(size + 1)]
    level = np.cumsum([0, *numbers, 0])
    free, mine = np.zeros((2, level[-1]), np.uint16)
    phantom_classical.fill_skeletons(size, level, free, mine)
    return ClassicalBoard(size, wins, count, lowest, level, free, mine)


def grow_levels(board: ClassicalBoard, player: int) -> list[InfosetLevel]:
    """Return all infosets of a player, level by level."""
    levels = [_root_level(board, player)]
    while levels[-1].stones.size:
        levels.append(_next_level(board, player, levels[-1]))
    return levels[:-1]


def _next_level(board: ClassicalBoard, player: int, before: InfosetLevel) -> InfosetLevel:
    """Return the level after another one."""
    own = InfosetSkeletons(
        before.offset, before.stones, before.tried, before.skeleton_offset, before.skeleton
    )
    children, pairs = np.zeros((2, before.stones.size), np.int64)
    parts = split_by_weight(before.skeleton_offset, 0, children.size, num_threads())
    run_in_threads(
        lambda a, b: phantom_classical.count_children(board, player, a, b, own, children, pairs),
        parts,
    )
    first, pair_first = (np.append(0, np.cumsum(counts)) for counts in (children, pairs))
    level = InfosetLevel(
        parent=np.zeros(first[-1], np.uint32),
        stones=np.zeros(first[-1], np.uint16),
        tried=np.zeros(first[-1], np.uint16),
        offset=np.zeros(0),
        skeleton_offset=np.full(first[-1] + 1, pair_first[-1], np.uint32),
        skeleton=np.zeros(pair_first[-1], np.uint32),
    )
    run_in_threads(
        lambda a, b: phantom_classical.fill_children(
            board, player, a, b, own, first[a], pair_first[a], level
        ),
        parts,
    )
    return level._replace(offset=sequence_offsets(board.num_cells, level.tried))


def _root_level(board: ClassicalBoard, player: int) -> InfosetLevel:
    """Return the infoset before any attempt; player 1 knows that the other has placed a stone."""
    nothing = np.zeros(1, np.uint16)
    cells = np.arange(board.num_cells)
    pair = cells[~board.wins[0][1 << cells]] if player else cells[:1]
    if not pair.size or board.num_cells <= player:  # the player never acts
        nothing = nothing[:0]
    return InfosetLevel(
        parent=np.zeros(nothing.size, np.uint32),
        stones=nothing,
        tried=nothing.copy(),
        offset=sequence_offsets(board.num_cells, nothing),
        skeleton_offset=np.array([0, pair.size][: nothing.size + 1], np.uint32),
        skeleton=pair.astype(np.uint32),
    )


def _join_levels(num_cells: int, levels: list[InfosetLevel]) -> tuple[InfosetSkeletons, Ints]:
    """Return the concatenated levels of both players, and the parents of all infosets."""
    tried = np.concatenate([level.tried for level in levels])
    offset = sequence_offsets(num_cells, tried)
    pairs = np.cumsum([0, *(level.skeleton.size for level in levels)])
    pair_offset = [
        level.skeleton_offset[:-1] + n for level, n in zip(levels, pairs[:-1], strict=True)
    ]
    starts = np.cumsum([0, *(level.offset[-1] for level in levels)])
    parent = [level.parent + starts[number - 1] for number, level in enumerate(levels)]
    for number, level in enumerate(levels):
        if not level.tried[0]:  # a root
            parent[number] = offset[-1:]
    own = InfosetSkeletons(
        offset=offset,
        stones=np.concatenate([level.stones for level in levels]),
        tried=tried,
        skeleton_offset=np.concatenate([*pair_offset, pairs[-1:]]).astype(np.uint32),
        skeleton=np.concatenate([level.skeleton for level in levels]),
    )
    return own, np.concatenate(parent).astype(np.uint32)
