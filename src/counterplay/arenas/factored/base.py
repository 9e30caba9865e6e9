"""The base class of factored arenas: the players' infoset trees as three arrays.

Histories and infoset keys are not stored; keys are computed on request.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from counterplay.arenas.sequence_base import SequenceArenaBase
from counterplay.arenas.tree.size_estimate import available_memory, format_count, format_gib
from counterplay.core.arena import Floats, SequenceTrees
from counterplay.core.game import Game
from counterplay.errors import RunError
from counterplay.kernels.runtime.threads import num_threads
from counterplay.registry import get_spec

# memory of arena, algorithm and evaluation together: benchmarks/large_games/factored_arenas.py
BYTES_PER_INFOSET, BYTES_PER_SEQUENCE = 30, 90
MAX_COUNTED_INFOSETS = 10**15  # messages do not distinguish larger numbers
MIN_LEVEL_INFOSETS_FOR_THREADS = 50_000  # smaller levels use one thread
RELATIVE_TIE_TOLERANCE = 16.0 * np.finfo(np.float64).eps  # relative to the largest utility, 1


class FactoredArena(SequenceArenaBase):
    """A two-player zero-sum arena that computes exact gradients without storing histories.

    Subclasses implement `gradient`, `infoset_key`, `action_names`, `find_infoset`, `observations`
    and `legal_mask`.

    Args:
        game: The rules.
        form: Sequences, parents and owners of all infosets.
        first_of_level: For each player, the first infoset of every level, and the end.
    """

    capabilities: ClassVar[tuple[str, ...]] = ("sequences", "episodes")
    has_canonical_numbering: ClassVar[bool] = True  # policy files need no infoset keys
    utility_scale: ClassVar[float] = 1.0  # of games in which a win is worth 1 and a loss -1

    def __init__(self, game: Game, form: SequenceTrees, first_of_level: Sequence[Sequence[int]]):
        self.game, self.form, self.first_of_level = game, form, first_of_level
        self.spec = get_spec(game)
        for array in form:
            array.flags.writeable = False

    @cached_property
    def value_tolerance(self) -> Floats:
        """Tolerance [S] of ties; as on a `TreeArena`, relative to the largest utility."""
        return np.broadcast_to(np.float64(RELATIVE_TIE_TOLERANCE), self.num_sequences)

    @property
    def max_threads(self) -> int:
        return num_threads() if self.num_infosets >= MIN_LEVEL_INFOSETS_FOR_THREADS else 1

    def levels(self, player: int, count: int) -> list[list[tuple[int, int]]]:
        """Return ranges of the player's infosets by level, each level in up to `count` parts.

        Parts of a level share no parent sequence.
        """
        levels = []
        for first, last in pairwise(self.first_of_level[player]):
            parts = count if last - first >= MIN_LEVEL_INFOSETS_FOR_THREADS else 1
            targets = [first + (last - first) * k // parts for k in range(1, parts)]
            cuts = sorted({first, *(self.find_cut(i, first, last) for i in targets), last})
            levels.append(list(pairwise(cuts)))
        return levels

    def find_cut(self, infoset: int, first: int, last: int) -> int:
        """Return an infoset near `infoset` at which the level `first` to `last` may be cut.

        Here siblings are adjacent, so a cut is any infoset that is a first child.
        """
        parent = self.form.parent
        while infoset < last and parent[infoset] == parent[infoset - 1]:
            infoset += 1
        return infoset

    def gradient(self, player: int, reach: Floats, cf_value: Floats) -> None:
        raise NotImplementedError

    def action_names(self, infoset: int) -> tuple[str, ...]:
        raise NotImplementedError

    def find_infoset(self, key: str, player: int | None = None) -> int:
        raise NotImplementedError

    def observations(self, first: int, last: int) -> NDArray[np.float32]:
        """Return the observations [N, X] at infosets `first` to `last` - 1 of one player."""
        raise NotImplementedError

    def legal_mask(self, first: int, last: int) -> NDArray[np.bool_]:
        """Return the legal actions [N, A] at these infosets, by the action numbers of the rules."""
        raise NotImplementedError

    @property
    def num_bytes(self) -> int:
        """Size of the arena's arrays in bytes."""
        return _total_bytes(vars(self))


def check_memory(game: Game, infosets: int, sequences: int, memory_limit: int | None) -> None:
    """Raise RunError if the arena of a game and an algorithm on it would not fit into memory.

    `memory_limit` is in bytes; None stands for four fifths of the free memory.
    """
    limit = memory_limit or int(0.8 * available_memory())
    needed = infosets * BYTES_PER_INFOSET + sequences * BYTES_PER_SEQUENCE
    if needed > limit:
        count = (
            f"about {format_count(infosets)}"
            if infosets < MAX_COUNTED_INFOSETS
            else f"more than {MAX_COUNTED_INFOSETS:.0e}"
        )
        raise RunError(
            f"{get_spec(game)} has {count} infosets: its arena and an algorithm take at least "
            f"{format_gib(min(needed, MAX_COUNTED_INFOSETS))}, and only {format_gib(limit)} may be "
            "used; choose smaller parameters, or sample the rules (--sampled)"
        )


def _total_bytes(part: Any) -> int:
    if isinstance(part, np.ndarray):
        return part.nbytes if part.strides != (0,) else 8
    if isinstance(part, dict):
        return sum(map(_total_bytes, part.values()))
    return sum(map(_total_bytes, part)) if isinstance(part, (list, tuple)) else 0
