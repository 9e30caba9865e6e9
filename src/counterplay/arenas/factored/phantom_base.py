"""Own trees of phantom games: an infoset is what its player has tried, and with what success."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from counterplay.arenas.factored.base import FactoredArena
from counterplay.arenas.factored.phantom_sizes import count_bits
from counterplay.core.arena import Ints, SequenceTrees
from counterplay.games.phantom_board import PhantomBoard, attempts_key
from counterplay.games.winner import PLAYER_MARKS
from counterplay.kernels.factored import infoset_observations


class PhantomArena(FactoredArena):
    """An infoset of level n follows n attempts. Its actions are the cells not tried yet.

    `runs` are stretches of infosets, by player, level by level, along which parents increase.
    """

    game: PhantomBoard

    def __init__(
        self,
        game: PhantomBoard,
        form: SequenceTrees,
        first_of_level: Sequence[Sequence[int]],
        stones: Ints,
        tried: Ints,
    ):
        super().__init__(game, form, first_of_level)
        self.stones, self.tried = stones, tried  # [I] sets of cells

    def parent_runs(self, player: int, level: int) -> list[tuple[int, int]]:
        first, last = self.first_of_level[player][level : level + 2]
        return [(first, last)]

    def open_cells(self, infoset: int) -> list[int]:
        """The cells that may be tried."""
        tried = int(self.tried[infoset])
        return [cell for cell in range(self.game.num_cells) if not tried >> cell & 1]

    @cached_property
    def last_attempts(self) -> tuple[Ints, Ints]:
        """The infoset before each one [I], and the cell that was tried there."""
        above, cell = np.empty(self.num_infosets, np.int32), np.empty(self.num_infosets, np.int8)
        given = self.game.num_cells, self.form.parent, self.offset, self.tried
        infoset_observations.find_last_attempts(*given, above, cell)
        return above, cell

    def observations(self, first: int, last: int) -> Any:
        size = self.game.num_cells
        observation = np.empty((last - first, size * (3 + size)), np.float32)
        seen = self.stones, self.tried, *self.last_attempts
        infoset_observations.write_attempt_observations(size, first, *seen, observation)
        return observation

    def legal_mask(self, first: int, last: int) -> Any:
        cells = np.arange(self.game.num_cells)
        return self.tried[first:last, None].astype(np.int64) >> cells & 1 == 0

    def player_of(self, infoset: int) -> int:
        return int(infoset >= self.form.player_infoset[1])

    def infoset_key(self, infoset: int) -> str:
        player, stones = self.player_of(infoset), int(self.stones[infoset])
        order: list[int] = []
        while (sequence := int(self.form.parent[infoset])) < self.num_sequences:
            infoset = int(np.searchsorted(self.offset, sequence, side="right")) - 1
            order.append(self.open_cells(infoset)[sequence - int(self.offset[infoset])])
        return attempts_key(player, [(cell, bool(stones >> cell & 1)) for cell in order[::-1]])

    def action_names(self, infoset: int) -> tuple[str, ...]:
        mark = PLAYER_MARKS[self.player_of(infoset)]
        return tuple(f"{mark}{cell}" for cell in self.open_cells(infoset))

    def find_infoset(self, key: str, player: int | None = None) -> int:
        matched = re.fullmatch(r"([xo]):((\d+!?( |$))*)", key)
        if not matched or (player is not None and PLAYER_MARKS[player] != matched[1]):
            raise self.unknown_infoset_error(key)
        player = PLAYER_MARKS.index(matched[1])
        infoset = int(self.form.player_infoset[player])
        for level, attempt in enumerate(matched[2].split()):
            cell, free = int(attempt.rstrip("!")), not attempt.endswith("!")
            found = self.next_infoset(player, level + 1, infoset, cell, free)
            if found is None:
                raise self.unknown_infoset_error(key)
            infoset = found
        return infoset

    def next_infoset(
        self, player: int, level: int, infoset: int, cell: int, free: bool
    ) -> int | None:
        """The infoset that follows an attempt; none if the game would be over."""
        cells = self.open_cells(infoset)
        if cell not in cells or level >= len(self.first_of_level[player]) - 1:
            return None
        sequence, parent = int(self.offset[infoset]) + cells.index(cell), self.form.parent
        for first, last in self.parent_runs(player, level):
            near = first + int(np.searchsorted(parent[first:last], sequence))
            while near < last and parent[near] == sequence:
                if bool(int(self.stones[near]) >> cell & 1) == free:
                    return near
                near += 1
        return None


def sequence_offsets(num_cells: int, tried: Ints) -> Ints:
    """First sequence of each infoset, given what was tried there: one for each other cell."""
    offset = np.zeros(tried.size + 1, np.uint32)
    np.cumsum(num_cells - count_bits(tried), out=offset[1:])
    return offset


def split_by_weight(weights: Ints, first: int, last: int, count: int) -> list[tuple[int, int]]:
    """Cut a range of infosets into parts of about equal weight, given its running sum [I + 1]."""
    begin, end = int(weights[first]), int(weights[last])
    even = [begin + (end - begin) * k // count for k in range(1, count)]
    cuts = [first, *np.clip(np.searchsorted(weights, even), first, last).tolist(), last]
    return [(a, b) for a, b in pairwise(cuts) if a < b] or [(first, last)]
