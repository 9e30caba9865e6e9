"""The tree arena: a game unrolled once into flat, read-only arrays.

It has two views of the game:

- nodes, in level order, parents before children, siblings contiguous: for sampling and search;
- the sequence form, in which the policy of a player is a vector over its sequences, and full-tree
  algorithms are sweeps over contiguous memory: for exact computations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial, wraps
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from counterplay.arenas.tree.utility_scale import largest_deviation, uniform_reach
from counterplay.core.archive import write_archive
from counterplay.core.arena import (
    UNDERFLOW_THRESHOLD,
    Floats,
    Ints,
    SequenceForm,
    SweepForm,
    group_infosets,
    row_lengths,
)
from counterplay.core.constant_sum import constant_of
from counterplay.core.game import TERMINAL, ZERO_SUM_TOLERANCE, Game
from counterplay.core.trust import load_game_from_file
from counterplay.errors import ConfigError, suggestion
from counterplay.kernels.runtime.threads import num_threads, run_in_threads, split_evenly
from counterplay.kernels.sequence_form import sweeps

TREE_FORMAT = "counterplay tree 1"
T = TypeVar("T")
MIN_NODES_FOR_THREADS = 500_000  # smaller trees use one thread


@dataclass(frozen=True, eq=False, repr=False)
class TreeArena:
    """A game unrolled into arrays: N nodes, I infosets, S sequences, Z terminals, P players."""

    spec: str  # specification of the game, such as "kuhn_poker(players=3)"
    num_players: int
    # nodes, in level order; node 0 is the root
    player: Ints  # [N] acting player: 0, 1, ..., CHANCE or TERMINAL
    parent: Ints  # [N] -1 at the root
    child_offset: Ints  # [N + 1] first child of each node
    action: Ints  # [N] the action that leads to the node, -1 at the root
    chance: Floats  # [N] probability of that action if chance takes it, else 1
    infoset: Ints  # [N] -1 at chance and terminal nodes
    utility: Floats  # [Z, P] at the terminals, in node order
    # infosets and sequences of the game; policies are vectors [S]
    offset: Ints  # [I + 1] first sequence of each infoset
    infoset_player: Ints  # [I]
    infoset_keys: tuple[str, ...]  # [I]
    sequence_action: Ints  # [S] action number of the game
    sequence_names: tuple[str, ...]  # [S] the action's name
    # the sequence form, over the infosets of players with perfect recall
    form: SequenceForm
    level_blocks: (
        Ints  # [B, 4] player, level, first infoset, end; blocks of a level are independent
    )
    game_sequence: Ints  # [S of form] sequence of the game; empty with perfect recall
    num_histories: Ints  # [I of form]
    recall_infoset: Ints  # [N] infoset in the form; empty with perfect recall
    source_game: Game | None = None
    source: str = ""  # file it was read from; its spec runs code only with the user's consent
    capabilities: ClassVar[tuple[str, ...]] = ("tree", "sequences")

    @cached_property
    def game(self) -> Game:
        """The rules of the tree; loaded by `spec` if the tree comes from a file.

        Raises:
            ConfigError: The file names code that the user has not allowed (see `core.trust`).
        """
        return self.source_game or load_game_from_file(self.spec, self.source or "this tree")

    def __repr__(self) -> str:
        sizes = f"{self.num_nodes:,} nodes, {self.num_infosets:,} infosets"
        return f"TreeArena({self.spec}: {sizes}, {self.num_players} players)"

    def _repr_html_(self) -> str:
        from counterplay.display.html import tree_html

        return tree_html(self)

    @property
    def num_nodes(self) -> int:
        return self.player.size

    @property
    def num_infosets(self) -> int:
        return self.offset.size - 1

    @cached_property
    def num_sequences(self) -> int:
        return int(self.offset[-1])

    @property
    def num_terminals(self) -> int:
        return self.utility.shape[0]

    @property
    def has_perfect_recall(self) -> bool:
        """True if every infoset determines the earlier infosets and actions of its player."""
        return self.game_sequence.size == 0

    @cached_property
    def is_zero_sum(self) -> bool:
        """True if the utilities of each terminal sum to zero, up to rounding errors."""
        largest = np.abs(self.utility).max(axis=1)
        return bool((np.abs(self.utility.sum(axis=1)) <= ZERO_SUM_TOLERANCE * largest).all())

    @cached_property
    def utility_shift(self) -> float:
        """Constant to subtract from all utilities of a constant-sum game, 0 in other games.

        It is the mean utility of the players, so that a constant added to all utilities is found.
        """
        return constant_of(self.utility)

    @property
    def is_constant_sum(self) -> bool:
        """True if the game is zero-sum once `utility_shift` is subtracted."""
        return self.is_zero_sum or self.utility_shift != 0.0

    @cached_property
    def zero_sum_arena(self) -> TreeArena:
        """The tree without `utility_shift`, on which algorithms run; this tree if that is 0."""
        if not self.utility_shift:
            return self
        from counterplay.arenas.tree.shifted import shift_tree

        return shift_tree(self, self.utility_shift)

    @cached_property
    def sweep_form(self) -> SweepForm:
        """The sequence form with infosets in groups and payoffs in tiles, for full-tree sweeps."""
        from counterplay.arenas.tree.payoff_tiles import find_payoff_tiles

        return find_payoff_tiles(group_infosets(self.form, self.level_blocks[:, 2:]))

    @property
    def utility_scale(self) -> float:
        """Unit of step sizes and temperatures: see `arenas.tree.utility_scale`; 1 if constant."""
        return self._utility_scale  # pyright accepts only a plain property here

    @cached_property
    def _utility_scale(self) -> float:
        probability = uniform_reach(self)[self.terminals]
        return largest_deviation(self.utility, probability) or 1.0

    @cached_property
    def form_value_tolerance(self) -> Floats:
        """Sizes [S of form] up to which differences of cf_values are rounding errors.

        Symmetric games have many ties. Without a tolerance the last bit would break them: regret
        matching would turn indifference into a pure policy, and results would depend on the order
        of summation. The tolerance of an infoset is relative to its largest possible cf_value, so
        that it does not depend on other players' units or on utilities elsewhere.
        """
        form, largest = self.form, self._largest_cf_values
        if largest.size:  # bounded by the largest utility, because reach sums to at most 1
            by_infoset = np.maximum.reduceat(largest, form.offset[:-1])
            owner = np.repeat(np.arange(self.num_players), row_lengths(form.player_infoset))
            by_infoset = np.minimum(by_infoset, np.abs(self.utility).max(axis=0)[owner])
            largest = np.repeat(by_infoset, row_lengths(form.offset))
        return np.maximum(16.0 * np.finfo(np.float64).eps * largest, UNDERFLOW_THRESHOLD)

    @property
    def _largest_cf_values(self) -> Floats:
        """Bounds [S of form] of cf_values: those of utilities without sign, and best play.

        Without kernels, because compiling two for a single call takes longer.
        """
        form, size = self.form, int(self.form.offset[-1]) + 1
        sequence = np.repeat(form.row_sequence, row_lengths(form.row_offset))
        largest = np.bincount(sequence, np.abs(form.weight), size).astype(np.float64)
        for first, last in np.sort(self.level_blocks[:, 2:], axis=0)[::-1].tolist():
            starts = form.offset[first:last] - form.offset[first]
            values = largest[form.offset[first] : form.offset[last]]
            best = np.maximum.reduceat(values, starts.astype(np.int64))
            np.add.at(largest, form.parent[first:last][::-1], best[::-1])
        return largest[:-1]

    @property
    def value_tolerance(self) -> Floats:
        """`form_value_tolerance` on the sequences of the game [S]: sums over merged infosets."""
        return self._value_tolerance  # pyright accepts only a plain property here

    @cached_property
    def _value_tolerance(self) -> Floats:
        if self.has_perfect_recall:
            return self.form_value_tolerance
        sums = np.bincount(self.game_sequence, self.form_value_tolerance, self.num_sequences)
        return sums.astype(np.float64)

    @cached_property
    def terminals(self) -> Ints:
        """The terminal nodes [Z], in the order of `utility`."""
        return np.flatnonzero(self.player == TERMINAL)

    @cached_property
    def level_offset(self) -> Ints:
        """First node of each level, and N at the end; the level is the number of actions before."""
        first = [0, 1]
        while first[-1] < self.num_nodes:
            first.append(int(self.child_offset[first[-1]]))
        return np.array(first)

    @property
    def num_actions(self) -> Ints:
        """Number of actions of each infoset [I]."""
        return self._num_actions

    @cached_property
    def _num_actions(self) -> Ints:
        return row_lengths(self.offset)

    @cached_property
    def max_actions(self) -> int:
        """Largest number of actions of an infoset."""
        return int(self.num_actions.max(initial=0))

    @cached_property
    def max_episode_length(self) -> int:
        """Largest number of decisions of players on the path to a terminal."""
        return int(self.count_ancestors(self.player >= 0).max())

    def count_ancestors(self, mask: Ints) -> Ints:
        """Return the number of ancestors of each node [N] that are in `mask` [N]."""
        count = np.zeros(self.num_nodes, np.int64)
        for first, last in zip(self.level_offset[1:-1], self.level_offset[2:], strict=True):
            parent = self.parent[first:last]
            count[first:last] = count[parent] + mask[parent]
        return count

    @cached_property
    def player_infoset(self) -> Ints:
        """First infoset of each player, and I at the end."""
        return np.searchsorted(self.infoset_player, np.arange(self.num_players + 1))

    @cached_property
    def player_infoset_index(self) -> Ints:
        """Number [I] of each infoset among those of its player."""
        return np.arange(self.num_infosets) - self.player_infoset[self.infoset_player]

    @property
    def num_bytes(self) -> int:
        """Size of all arrays in bytes."""
        arrays = (*(getattr(self, field.name) for field in fields(self)), *self.form)
        return sum(getattr(array, "nbytes", 0) for array in arrays)

    @cached_property
    def histories_by_sequence(self) -> Ints:
        """Number of histories [S of form] of the infoset of each sequence."""
        return np.repeat(self.num_histories, row_lengths(self.form.offset))

    @cached_property
    def game_infoset(self) -> Ints:
        """Infoset of the game [I of form] that each infoset of the form belongs to."""
        if self.has_perfect_recall:
            return np.arange(self.num_infosets)
        first_sequence = self.game_sequence[self.form.offset[:-1]]
        return np.searchsorted(self.offset, first_sequence, side="right") - 1

    @cached_property
    def previous_infoset(self) -> Ints:
        """Previous infoset [I of form] of the same player, or -1."""
        before = np.searchsorted(self.form.offset, self.form.parent, side="right") - 1
        return np.where(self.form.parent < self.form.offset[-1], before, -1)

    @cached_property
    def incoming_sequence(self) -> Ints:
        """Sequence [N] of the action that leads to each node; -1 after chance and at the root."""
        sequence = np.full(self.num_nodes, -1)
        children = 1 + np.flatnonzero(self.player[self.parent[1:]] >= 0)
        parent = self.parent[children]
        position = children - self.child_offset[parent]
        sequence[children] = self.offset[self.infoset[parent]] + position
        return sequence

    def levels(self, player: int, count: int) -> list[list[tuple[int, int]]]:
        """Return ranges of the player's infosets of the form, each level in up to `count` parts.

        Parts of a level share no parent sequence, so that threads can process them in parallel.
        """
        levels = self._levels.get((player, count))
        if levels is None:
            levels = self._levels[player, count] = []
            block = self.level_blocks[self.level_blocks[:, 0] == player]
            for level in np.unique(block[:, 1]):
                first, last = block[block[:, 1] == level, 2:].T
                targets = first[0] + (last[-1] - first[0]) * np.arange(1, count) // count
                starts = first[np.searchsorted(last, targets)]
                cuts = np.unique([first[0], *starts, last[-1]]).tolist()
                levels.append(list(pairwise(cuts)))
        return levels

    def gradient(self, player: int, reach: Floats, cf_value: Floats) -> None:
        """Set `cf_value` [S + 1] at the player's sequences, from terminals: see `core.arena`."""
        form, count = self.sweep_form, self.max_threads
        if count == 1:
            sweeps.player_payoff(form, player, reach, cf_value)
            return
        sweeps.clear(form, player, cf_value)
        for kernel, offset in (
            (sweeps.payoff, form.player_row),
            (sweeps.tile_payoff, form.player_tile),
        ):
            first, last = offset[player : player + 2].tolist()
            parts = split_evenly(first, last, count)
            run_in_threads(partial(kernel, form, reach=reach, cf_value=cf_value), parts)

    @property
    def max_threads(self) -> int:
        """Number of threads for full-tree sweeps."""
        return num_threads() if self.num_nodes >= MIN_NODES_FOR_THREADS else 1

    @cached_property
    def _levels(self) -> dict[tuple[int, int], list[list[tuple[int, int]]]]:
        return {}

    @cached_property
    def _infosets_by_key(self) -> dict[str, list[int]]:
        infosets: dict[str, list[int]] = {}
        for infoset, key in enumerate(self.infoset_keys):
            infosets.setdefault(key, []).append(infoset)
        return infosets

    def infoset_key(self, infoset: int) -> str:
        """Return the readable key of an infoset."""
        return self.infoset_keys[infoset]

    def action_names(self, infoset: int) -> tuple[str, ...]:
        """Return the names of an infoset's actions."""
        return self.sequence_names[self.offset[infoset] : self.offset[infoset + 1]]

    def find_infoset(self, key: str, player: int | None = None) -> int:
        """Return the infoset with this key; `player` is needed only if two players share it."""
        infosets = self._infosets_by_key.get(key, [])
        if player is not None:
            infosets = [i for i in infosets if self.infoset_player[i] == player]
        if len(infosets) == 1:
            return infosets[0]
        if infosets:
            raise ConfigError(f"several players have an infoset {key!r}; give the player too")
        near = suggestion(key, self.infoset_keys[:20_000])
        raise ConfigError(f"{self.spec} has no infoset {key!r}{near}")

    @cached_property
    def perfect_recall_tree(self) -> TreeArena:
        """The same game with perfect recall; this tree itself if it has perfect recall.

        An infoset that merges several pasts becomes several, with keys `key#1`, `key#2`, ...
        """
        if self.has_perfect_recall:
            return self
        form, game_infoset = self.form, self.game_infoset
        counts: dict[int, int] = {}
        keys = []
        for infoset in game_infoset:
            counts[infoset] = counts.get(infoset, 0) + 1
            keys.append(f"{self.infoset_keys[infoset]}#{counts[infoset]}")
        empty = np.zeros(0, np.int32)
        return replace(
            self,
            infoset=self.recall_infoset,
            offset=form.offset.astype(self.offset.dtype),
            infoset_player=self.infoset_player[game_infoset],
            infoset_keys=tuple(keys),
            sequence_action=self.sequence_action[self.game_sequence],
            sequence_names=tuple(self.sequence_names[s] for s in self.game_sequence),
            game_sequence=empty,
            recall_infoset=empty,
        )

    def save(self, path: str | Path) -> None:
        """Write the tree to a file; `load_tree` reads it back without the rules."""
        arrays: dict[str, Any] = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in ("form", "source_game", "source")
        }
        arrays |= {f"form.{name}": array for name, array in self.form._asdict().items()}
        write_archive(path, TREE_FORMAT, arrays)


def cache_on_tree(function: Callable[[TreeArena], T]) -> Callable[[TreeArena], T]:
    """Decorate a function of a tree to store its result on the tree."""
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def wrapper(tree: TreeArena) -> T:
        if name not in tree.__dict__:
            tree.__dict__[name] = function(tree)
        return cast(T, tree.__dict__[name])

    return wrapper


def freeze(tree: TreeArena) -> None:
    """Make all arrays of a tree read-only, because algorithms share it."""
    for array in (*vars(tree).values(), *tree.form):
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
