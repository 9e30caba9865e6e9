"""Arenas: what an algorithm plays on, and what it may ask of one.

An arena says in `offers` what can be asked of it, an algorithm in `runs_on` what it asks for; one
word in common is enough.

- "sequences": every player's own tree and the exact values of its sequences. That is all that
  best responses, averages and full-width algorithms need, so they are written once, here and in
  `evaluate` and `tabular`, for every arena that knows these.
- "vectors": the same for whole ranges of hands at a time, in a layout of the arena's own, in which
  it runs the iterations of the CFR family itself; too many to be written out as sequences.
- "tree": nodes and histories too, in arrays; for sampling, linear programs and networks.
- "episodes": the rules beside exact values, and what players observe at every infoset: networks
  learn from episodes and are judged as tables.
- "rules": one state after another, made by the game; nothing is stored beforehand.
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
    """Every player's own tree. Infosets are sorted by player, then by level, parents first.

    A sequence is an (infoset, action) pair; index S, one past the last, stands for "has not acted
    yet" and is shared by all players. Kernels want unsigned integers.
    """

    offset: Ints  # [I + 1] first sequence of each infoset
    parent: Ints  # [I] the player's sequence before the infoset, or S
    player_infoset: Ints  # [P + 1] first infoset of each player


class SequenceForm(NamedTuple):
    """The game as its players' sequences: `OwnTrees`, and what all of them together are worth.

    A terminal is known by each player's last sequence there, so
    with `reach` [S + 1] the counterfactual value of a player's sequence s, before anything below
    it is added, is the sum over its entries e of

        weight[e] * product over the other players j of reach[other[e, j]]

    where weight is chance times utility. A row is one such sequence with its entries; rows of a
    player are sorted by length, because the processor then predicts where the short loops end.
    """

    offset: Ints  # [I + 1] first sequence of each infoset
    parent: Ints  # [I] the player's sequence before the infoset, or S
    player_infoset: Ints  # [P + 1] first infoset of each player
    player_row: Ints  # [P + 1] first row of each player
    row_offset: Ints  # [R + 1] first entry of each row
    row_sequence: Ints  # [R] the sequence a row belongs to
    other: Ints  # [E, P - 1] the other players' last sequences
    weight: Floats  # [E] chance probability times the row player's utility


class Arena(Protocol):
    """Anything that an algorithm plays on."""

    capabilities: ClassVar[tuple[str, ...]]  # "sequences", "vectors", "tree", "episodes", "rules"

    @property
    def spec(self) -> str:
        """What loads the game again, such as "kuhn_poker(players=3)"."""
        ...

    @property
    def num_players(self) -> int: ...


class SequenceArena(Arena, Protocol):
    """An arena that knows all sequences and what each is worth against the others' play."""

    @property
    def max_threads(self) -> int:
        """Threads worth using on a game of this size."""
        ...

    @property
    def num_infosets(self) -> int: ...

    @property
    def num_sequences(self) -> int: ...

    @property
    def has_perfect_recall(self) -> bool:
        """Whether `form` has the infosets of `offset`; only a stored tree may forget."""
        ...

    @property
    def offset(self) -> Ints:
        """[I + 1] first sequence of each infoset, as policies are laid out."""
        ...

    @property
    def num_actions(self) -> Ints:
        """[I]"""
        ...

    @property
    def infoset_player(self) -> Ints:
        """[I]"""
        ...

    @property
    def form(self) -> Any:
        """`OwnTrees`, or more."""
        ...

    @property
    def value_tolerance(self) -> Floats:
        """[S] differences of cf_values up to here are rounding errors, not preferences."""
        ...

    def levels(self, player: int, max_parts: int) -> list[list[tuple[int, int]]]:
        """The player's infosets, level by level, each in at most `count` independent parts."""
        ...

    def gradient(self, player: int, reach: Floats, cf_value: Floats) -> None:
        """Set `cf_value` [S + 1] at the player's sequences to what the others' `reach` makes of it.

        That is the expected utility where the player acts no more, weighted by everybody else's
        reach, chance included; the last entry is for "has not acted yet".
        """
        ...

    def infoset_key(self, infoset: int) -> str:
        """The infoset's readable key."""
        ...

    def action_names(self, infoset: int) -> tuple[str, ...]:
        """The names of its actions."""
        ...

    def find_infoset(self, key: str, player: int | None = None) -> int:
        """The infoset of that key."""
        ...


class VectorArena(Arena, Protocol):
    """An arena that keeps what the CFR family learns in its own way."""

    def new_memory(self, num_averages: int, is_predictive: bool) -> Any:
        """No regrets, the uniform policy; with room for predictions where they are wanted."""
        ...

    def iterate(
        self, memory: Any, factors: Floats, weights: Floats, alternating: bool = True
    ) -> None:
        """One iteration per row of the factors [T, 3] and weights [T, K]: see `tabular.regret`."""
        ...

    def policies(self, memory: Any, averages: tuple[str, ...]) -> dict[str, Any]:
        """The averages by name, and the last iterate as "current"."""
        ...

    def judge(self, policy: Any) -> tuple[Floats, Floats]:
        """Every player's value [P] and what a best response would earn [P]."""
        ...


def is_exact(arena: Arena) -> bool:
    """Whether policies can be judged exactly there."""
    return bool({"sequences", "vectors"} & set(arena.capabilities))


def has_vectors(arena: Any) -> TypeGuard[VectorArena]:
    """Whether the arena runs the CFR family itself."""
    return "vectors" in arena.capabilities


ALGORITHM_MEMBERS = (
    "runs_on",
    "required_extra",
    "init",
    "step",
    "policies",
)  # of an algorithm: see `solving`


def check_runs_on(algorithm: Any, arena: Arena) -> None:
    """Refuse what is no algorithm, and an arena that does not offer what it asks for."""
    missing = [name for name in ALGORITHM_MEMBERS if not hasattr(algorithm, name)]
    if missing:
        kind = type(algorithm).__name__
        raise ConfigError(f"{kind} lacks {', '.join(missing)} of the contract of an algorithm")
    if not set(algorithm.runs_on) & set(arena.capabilities):
        wanted = " or ".join(algorithm.runs_on)
        raise ConfigError(
            f"{get_spec(algorithm)} runs on {wanted}; {arena.spec} is given as "
            f"{' and '.join(arena.capabilities)}{_ADVICE_BY_CAPABILITIES.get(arena.capabilities, '')}"
        )


_ADVICE_BY_CAPABILITIES: dict[tuple[str, ...], str] = {
    ("rules",): " (to sample the rules take an algorithm such as external_sampling or "
    "outcome_sampling, or build the tree)"
}


def row_lengths(offset: Ints) -> Ints:
    """How many entries each row has, given where the rows start."""
    return offset[1:].astype(np.int64) - offset[:-1].astype(np.int64)


def has_imperfect_recall(arena: SequenceArena) -> TypeGuard[TreeArena]:
    """Whether the sequence form tells infosets apart that the players do not."""
    return not arena.has_perfect_recall
