"""Arenas: the interfaces of a game that algorithms run on.

An arena lists its `capabilities`, and an algorithm lists in `runs_on` the capabilities of which it
requires any one:

- "sequences": every player's sequence tree and the exact values of its sequences. Best responses,
  averages and full-width algorithms need nothing else, so they are written once, in
  `core.evaluation` and `algorithms`, for every arena with sequences.
- "vectors": the same for whole ranges of hands at a time, in the arena's own layout, in which the
  arena itself runs the iterations of the CFR family; such games have too many sequences to list.
- "tree": also nodes and histories, in arrays; for sampling, linear programs and networks.
- "episodes": rules as well as exact values, and the observation at every infoset: networks learn
  from episodes and are judged as tables.
- "rules": states made one after another by the game; nothing is stored beforehand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from counterplay.errors import ConfigError
from counterplay.registry import get_spec

if TYPE_CHECKING:
    from counterplay.arenas.tree.arena import TreeArena

Floats = NDArray[np.float64]
Ints = NDArray[Any]
UNDERFLOW_THRESHOLD = 1e-290  # smaller sums have lost their precision and count as zero


class SequenceTrees(NamedTuple):
    """Every player's sequence tree. Infosets are sorted by player, then by level, parents first.

    A sequence is an (infoset, action) pair; index S, one past the last, is the empty sequence,
    which all players share. Arrays are of unsigned integers, as kernels expect.
    """

    offset: Ints  # [I + 1] first sequence of each infoset
    parent: Ints  # [I] the player's sequence before the infoset, or S
    player_infoset: Ints  # [P + 1] first infoset of each player


class SequenceForm(NamedTuple):
    """The sequence form of a game: `SequenceTrees` and the utilities of combined sequences.

    A terminal is identified by each player's last sequence. With `reach` [S + 1], the
    counterfactual value of a player's sequence s, before values of later sequences are added, is
    the sum over its entries e of

        weight[e] * product over the other players j of reach[other[e, j]]

    where weight is chance times utility. A row is one such sequence with its entries; rows of a
    player are sorted by length, so that the processor predicts the ends of short loops.
    """

    offset: Ints  # [I + 1] first sequence of each infoset
    parent: Ints  # [I] the player's sequence before the infoset, or S
    player_infoset: Ints  # [P + 1] first infoset of each player
    player_row: Ints  # [P + 1] first row of each player
    row_offset: Ints  # [R + 1] first entry of each row
    row_sequence: Ints  # [R] the sequence a row belongs to
    other: Ints  # [E, P - 1] the other players' last sequences
    weight: Floats  # [E] chance probability times the row player's utility


class SweepForm(NamedTuple):
    """A sequence form as sweeps read it: `SequenceForm` with infosets in groups, payoffs in tiles.

    A group is a range of the infosets of a level with equally many actions, so that sweeps need
    no branch per infoset. A tile is a dense block of the payoff matrix: eight sequences of a
    player against the sequences of the opponent in its columns. A sequence with payoffs has a row
    or is in a tile.
    """

    offset: Ints  # these fields are those of `SequenceForm`, with fewer rows
    parent: Ints
    player_infoset: Ints
    player_row: Ints
    row_offset: Ints
    row_sequence: Ints
    other: Ints
    weight: Floats
    player_group: Ints  # [P + 1] first group of each player
    group: Ints  # [G, 3] first place, end, number of actions; parents come first
    group_start: Ints  # [I] first sequence of the infoset in each place
    group_parent: Ints  # [I] the sequence before it
    player_tile: Ints  # [P + 1] first tile of each player
    tile_sequence: Ints  # [T, 8] the player's sequences; a tile of fewer repeats its first
    tile_offset: Ints  # [T + 1] first column of each tile
    tile_column: Ints  # [C] the opponent's sequence of each column
    tile_matrix: Ints  # [T] first row of each tile in `matrix`; tiles share equal ones
    matrix: Floats  # [M, 8] weights as in `SequenceForm`, one row per column


def group_infosets(form: SequenceForm, blocks: Ints | None = None) -> SweepForm:
    """Return the sweep form without tiles.

    Args:
        form: the sequence form.
        blocks: [B, 2] ranges of infosets within which their order is free, in ascending order; by
            default it is nowhere.
    """
    counts = row_lengths(form.offset)
    block = np.searchsorted(form.player_infoset, np.arange(counts.size), side="right")
    order = np.arange(counts.size)
    if blocks is not None:
        block = np.repeat(np.arange(len(blocks)), blocks[:, 1] - blocks[:, 0])
        order = np.lexsort((counts, block))
    changes = np.diff(counts[order], prepend=-1) | np.diff(block, prepend=-1)
    first = np.flatnonzero(changes)
    group = np.stack([first, np.append(first, counts.size)[1:], counts[order][first]], axis=1)
    grouped = SweepForm(
        *form,
        player_group=np.searchsorted(first, form.player_infoset).astype(form.player_row.dtype),
        group=group,
        group_start=form.offset[order],
        group_parent=form.parent[order],
        player_tile=np.zeros_like(form.player_row),
        tile_sequence=np.zeros((0, 8), np.uint32),
        tile_offset=np.zeros(1, np.uint32),
        tile_column=np.zeros(0, np.uint32),
        tile_matrix=np.zeros(0, np.uint32),
        matrix=np.zeros((0, 8)),
    )
    for array in grouped:
        array.flags.writeable = False  # as in all trees, so that kernels compile only once
    return grouped


class Arena(Protocol):
    """A game in a form that algorithms run on."""

    capabilities: ClassVar[tuple[str, ...]]  # "sequences", "vectors", "tree", "episodes", "rules"

    @property
    def spec(self) -> str:
        """The string that `load_game` loads the game from, such as "kuhn_poker(players=3)"."""
        ...

    @property
    def num_players(self) -> int: ...


class SequenceArena(Arena, Protocol):
    """An arena with all sequences and their counterfactual values against any policy."""

    @property
    def max_threads(self) -> int:
        """Number of threads that speed up a game of this size."""
        ...

    @property
    def num_infosets(self) -> int: ...

    @property
    def num_sequences(self) -> int: ...

    @property
    def has_perfect_recall(self) -> bool:
        """Whether `form` has the infosets of `offset`; False only for some stored trees."""
        ...

    @property
    def offset(self) -> Ints:
        """[I + 1] first sequence of each infoset, as policies are laid out."""
        ...

    @property
    def num_actions(self) -> Ints:
        """[I] number of actions of each infoset."""
        ...

    @property
    def infoset_player(self) -> Ints:
        """[I] player of each infoset."""
        ...

    @property
    def form(self) -> Any:
        """`SequenceTrees`, or a record with more fields, such as `SequenceForm`."""
        ...

    @property
    def utility_scale(self) -> float:
        """Unit of step sizes and temperatures, of the size of typical differences of utility."""
        ...

    @property
    def value_tolerance(self) -> Floats:
        """[S] differences of cf_values up to this are rounding errors."""
        ...

    def levels(self, player: int, max_parts: int) -> list[list[tuple[int, int]]]:
        """Return the player's infosets by level, each in at most `max_parts` independent parts."""
        ...

    def gradient(self, player: int, reach: Floats, cf_value: Floats) -> None:
        """Set `cf_value` [S + 1] at the player's sequences, given the `reach` of the others.

        The value of a sequence is the expected utility at terminals where it is the player's last,
        weighted by the reach of all others, chance included. The last entry is that of the empty
        sequence.
        """
        ...

    def infoset_key(self, infoset: int) -> str:
        """Return the readable key of an infoset."""
        ...

    def action_names(self, infoset: int) -> tuple[str, ...]:
        """Return the names of the actions of an infoset."""
        ...

    def find_infoset(self, key: str, player: int | None = None) -> int:
        """Return the infoset with a key; the player is needed if two players share the key."""
        ...


class VectorArena(Arena, Protocol):
    """An arena that stores the memory of the CFR family in its own layout, and iterates on it."""

    def new_memory(self, num_averages: int, is_predictive: bool) -> Any:
        """Return a memory with zero regrets and uniform policy, and predictions if needed."""
        ...

    def iterate(
        self, memory: Any, factors: Floats, weights: Floats, alternating: bool = True
    ) -> None:
        """Iterate once per row of the factors [T, 3] and weights [T, K].

        See `algorithms.cfr.engine` for their meaning.
        """
        ...

    def policies(self, memory: Any, averages: tuple[str, ...]) -> dict[str, Any]:
        """Return the average policies by name, and the last iterate as "current"."""
        ...

    def judge(self, policy: Any) -> tuple[Floats, Floats]:
        """Return every player's value [P] and best-response value [P]."""
        ...


def is_exact(arena: Arena) -> bool:
    """Return True if policies can be judged exactly on the arena."""
    return bool({"sequences", "vectors"} & set(arena.capabilities))


def has_vectors(arena: Arena) -> TypeGuard[VectorArena]:
    """Return True if the arena itself runs the iterations of the CFR family."""
    return "vectors" in arena.capabilities


ALGORITHM_MEMBERS = ("runs_on", "required_extra", "init", "step", "policies")
RULES_ADVICE = (
    " (to sample the rules take an algorithm such as external_sampling or outcome_sampling, "
    "or build the tree)"
)


def check_runs_on(algorithm: Any, arena: Arena) -> None:
    """Raise ConfigError if an object is not an algorithm, or does not run on an arena."""
    missing = [name for name in ALGORITHM_MEMBERS if not hasattr(algorithm, name)]
    if missing:
        kind = type(algorithm).__name__
        raise ConfigError(f"{kind} lacks {', '.join(missing)} of the protocol of an algorithm")
    if not set(algorithm.runs_on) & set(arena.capabilities):
        required, available = " or ".join(algorithm.runs_on), " and ".join(arena.capabilities)
        advice = RULES_ADVICE if arena.capabilities == ("rules",) else ""
        problem = f"{arena.spec} is given as {available}{advice}"
        raise ConfigError(f"{get_spec(algorithm)} runs on {required}; {problem}")


def row_lengths(offset: Ints) -> Ints:
    """Return the number of entries of each row, given the offsets [R + 1] of the rows."""
    return offset[1:].astype(np.int64) - offset[:-1].astype(np.int64)


def has_imperfect_recall(arena: SequenceArena) -> TypeGuard[TreeArena]:
    """Return True if the sequence form separates infosets that the players do not."""
    return not arena.has_perfect_recall
