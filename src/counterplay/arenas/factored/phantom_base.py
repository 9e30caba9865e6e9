"""Base class of phantom arenas: an infoset is the sequence of a player's attempts and results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from counterplay.arenas.factored.base import FactoredArena
from counterplay.arenas.factored.phantom_sizes import count_bits
from counterplay.core.arena import Ints, SequenceTrees
from counterplay.games.phantom_board import PhantomBoard, attempts_key
from counterplay.games.winner import PLAYER_MARKS
from counterplay.kernels.factored import infoset_observations


class PhantomArena(FactoredArena):
    """A phantom game. An infoset of level n follows n attempts; its actions are the untried cells.

    `stones` and `tried` [I] are the sets of cells that the player holds and has tried.
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
        self.stones, self.tried = stones, tried

    def open_cells(self, infoset: int) -> list[int]:
        """Return the cells not tried yet."""
        tried = int(self.tried[infoset])
        return [cell for cell in range(self.game.num_cells) if not tried >> cell & 1]

    @cached_property
    def last_attempts(self) -> tuple[Ints, Ints]:
        """The parent infoset of each infoset [I], or -1, and the cell that was tried there."""
        parent_infoset = np.empty(self.num_infosets, np.int32)
        cell = np.empty(self.num_infosets, np.int8)
        infoset_observations.find_last_attempts(
            self.game.num_cells, self.form.parent, self.offset, self.tried, parent_infoset, cell
        )
        return parent_infoset, cell

    def observations(self, first: int, last: int) -> NDArray[np.float32]:
        size = self.game.num_cells
        observation = np.empty((last - first, size * (3 + size)), np.float32)
        arrays = self.stones, self.tried, *self.last_attempts
        infoset_observations.write_attempt_observations(size, first, *arrays, observation)
        return observation

    def legal_mask(self, first: int, last: int) -> NDArray[np.bool_]:
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
        player, attempts = self.parse_key(key, player)
        infoset = int(self.form.player_infoset[player])
        for level, (cell, is_free) in enumerate(attempts):
            child = self.next_infoset(player, level + 1, infoset, cell, is_free)
            if child is None:
                raise self.unknown_infoset_error(key)
            infoset = child
        return infoset

    def parse_key(self, key: str, player: int | None) -> tuple[int, list[tuple[int, bool]]]:
        """Return the player of an infoset key and its attempts as (cell, whether it was free)."""
        match = re.fullmatch(r"([xo]):((\d+!?( |$))*)", key)
        if not match or (player is not None and PLAYER_MARKS[player] != match[1]):
            raise self.unknown_infoset_error(key)
        words = match[2].split()
        attempts = [(int(word.rstrip("!")), not word.endswith("!")) for word in words]
        return PLAYER_MARKS.index(match[1]), attempts

    def next_infoset(
        self, player: int, level: int, infoset: int, cell: int, is_free: bool
    ) -> int | None:
        """Return the infoset of `level` that follows an attempt, or None if no such one exists."""
        cells = self.open_cells(infoset)
        if cell not in cells or level >= len(self.first_of_level[player]) - 1:
            return None
        sequence, parent = int(self.offset[infoset]) + cells.index(cell), self.form.parent
        first, last = self.first_of_level[player][level : level + 2]
        child = first + int(np.searchsorted(parent[first:last], sequence))
        while child < last and parent[child] == sequence:
            if bool(int(self.stones[child]) >> cell & 1) == is_free:
                return child
            child += 1
        return None


def sequence_offsets(num_cells: int, tried: Ints) -> Ints:
    """Return the first sequence of each infoset [I + 1]: one sequence for each untried cell."""
    offset = np.zeros(tried.size + 1, np.uint32)
    np.cumsum(num_cells - count_bits(tried), out=offset[1:])
    return offset


def split_by_weight(weights: Ints, first: int, last: int, count: int) -> list[tuple[int, int]]:
    """Cut a range of infosets into parts of equal weight; `weights` [I + 1] are cumulative."""
    begin, end = int(weights[first]), int(weights[last])
    targets = [begin + (end - begin) * k // count for k in range(1, count)]
    cuts = [first, *np.clip(np.searchsorted(weights, targets), first, last).tolist(), last]
    return [(a, b) for a, b in pairwise(cuts) if a < b] or [(first, last)]
