"""The tree: a game unrolled once into flat, read-only arrays. All speed comes from here.

Two views of the same game stand side by side:

- nodes, in level order, parents before children, siblings contiguous: for sampling and search;
- the sequence form, in which a player's whole plan is a vector over its sequences and everything
  that full-tree algorithms need is one sweep over contiguous memory: for exact work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property, wraps
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from counterplay.core.archive import write_archive
from counterplay.core.arena import UNDERFLOW_THRESHOLD, Floats, Ints, SequenceForm, row_lengths
from counterplay.core.game import TERMINAL, ZERO_SUM_TOLERANCE, Game
from counterplay.core.trust import load_game_from_file
from counterplay.errors import ConfigError, suggestion
from counterplay.kernels.runtime.threads import num_threads, run_in_threads, split_evenly
from counterplay.kernels.sequence_form import sweeps

TREE_FORMAT = "counterplay tree 1"
T = TypeVar("T")
MIN_NODES_FOR_THREADS = 500_000  # nodes from which several threads pay


@dataclass(frozen=True, eq=False, repr=False)
class TreeArena:
    """A game unrolled. N nodes, I infosets, S sequences, Z terminals, P players."""

    spec: str  # what loads the game again, such as "kuhn_poker(players=3)"
    num_players: int
    # nodes, in level order; node 0 is the root
    player: Ints  # [N] who acts: 0, 1, ..., CHANCE or TERMINAL
    parent: Ints  # [N] -1 at the root
    child_offset: Ints  # [N + 1] first child of each node
    action: Ints  # [N] the action that leads to the node, -1 at the root
    chance: Floats  # [N] its probability where chance takes it, else 1
    infoset: Ints  # [N] -1 at chance and terminal nodes
    utility: Floats  # [Z, P] at the terminals, which stand in node order
    # infosets and sequences: what a policy is aligned with
    offset: Ints  # [I + 1] first sequence of each infoset
    infoset_player: Ints  # [I]
    infoset_keys: tuple[str, ...]  # [I]
    sequence_action: Ints  # [S] the game's own action number
    sequence_names: tuple[str, ...]  # [S] the action's name
    # the sequence form, over the infosets a player with perfect recall would tell apart
    form: SequenceForm
    level_blocks: (
        Ints  # [B, 4] player, level, first and last infoset: blocks of a level are independent
    )
    game_sequence: (
        Ints  # [S of form] the sequence each one is merged into; empty with perfect recall
    )
    num_histories: Ints  # [I of form]
    recall_infoset: Ints  # [N] infoset in the form; empty with perfect recall
    source_game: Game | None = None
    source: str = ""  # the file it was read from, whose spec may run code only by consent
    capabilities: ClassVar[tuple[str, ...]] = ("tree", "sequences")

    @cached_property
    def game(self) -> Game:
        """The rules the tree was made from; loaded again if it comes from a file.

        Raises:
            ConfigError: The file names code that the user has not allowed (see `trust`).
        """
        return self.source_game or load_game_from_file(self.spec, self.source or "this tree")

    def __repr__(self) -> str:
        sizes = f"{self.num_nodes:,} nodes, {self.num_infosets:,} infosets"
        return f"Tree({self.spec}: {sizes}, {self.num_players} players)"

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
        """Whether no infoset forgets what its player did or knew before."""
        return self.game_sequence.size == 0

    @cached_property
    def is_zero_sum(self) -> bool:
        """Whether the utilities of each terminal cancel, up to a rounding error of their own."""
        largest = np.abs(self.utility).max(axis=1)
        return bool((np.abs(self.utility.sum(axis=1)) <= ZERO_SUM_TOLERANCE * largest).all())

    @cached_property
    def form_value_tolerance(self) -> Floats:
        """Differences of cf_values [S of form] up to here are rounding errors, not preferences.

        Symmetric games are full of ties. If the last bit decided them, regret matching would turn
        indifference into a pure policy, and results would depend on the order of a sum. What an
        infoset takes for a tie depends on the largest cf_value it can have, not on other players'
        units or on stakes elsewhere.
        """
        form, size = self.form, int(self.form.offset[-1]) + 1
        form = form._replace(weight=np.abs(form.weight))
        form.weight.flags.writeable = False  # as in the tree: the kernels are compiled once
        largest, nothing, response = np.zeros((3, size))
        sweeps.payoff(form, 0, form.row_sequence.size, np.ones(size), largest)
        sweeps.backward_best(form, 0, form.parent.size, nothing, largest, response)
        largest = largest[:-1]
        if largest.size:  # and not more than the largest utility: reach sums to 1 at most
            most = np.maximum.reduceat(largest, form.offset[:-1])
            owner = np.repeat(np.arange(self.num_players), row_lengths(form.player_infoset))
            most = np.minimum(most, np.abs(self.utility).max(axis=0)[owner])
            largest = np.repeat(most, row_lengths(form.offset))
        return np.maximum(16.0 * np.finfo(np.float64).eps * largest, UNDERFLOW_THRESHOLD)

    @property
    def value_tolerance(self) -> Floats:
        """The same along the game's own sequences [S], where merged infosets add up."""
        return self._value_tolerance  # arenas have properties, which to pyright cached ones are not

    @cached_property
    def _value_tolerance(self) -> Floats:
        if self.has_perfect_recall:
            return self.form_value_tolerance
        merged = np.bincount(self.game_sequence, self.form_value_tolerance, self.num_sequences)
        return merged.astype(np.float64)

    @cached_property
    def terminals(self) -> Ints:
        """The terminal nodes [Z], in the order of `utility`."""
        return np.flatnonzero(self.player == TERMINAL)

    @cached_property
    def level_offset(self) -> Ints:
        """First node of each level, and N at the end: actions from the root are the level."""
        first = [0, 1]
        while first[-1] < self.num_nodes:
            first.append(int(self.child_offset[first[-1]]))
        return np.array(first)

    @property
    def num_actions(self) -> Ints:
        """How many actions each infoset has."""
        return self._num_actions

    @cached_property
    def _num_actions(self) -> Ints:
        return row_lengths(self.offset)

    @cached_property
    def max_actions(self) -> int:
        """The most actions a player ever has."""
        return int(self.num_actions.max(initial=0))

    @cached_property
    def max_episode_length(self) -> int:
        """The most decisions, of all players together, on the way to one terminal."""
        return int(self.count_ancestors(self.player >= 0).max())

    def count_ancestors(self, mask: Ints) -> Ints:
        """How many of the `marked` nodes [N] lie above each node."""
        above = np.zeros(self.num_nodes, np.int64)
        for first, last in zip(self.level_offset[1:-1], self.level_offset[2:], strict=True):
            parent = self.parent[first:last]
            above[first:last] = above[parent] + mask[parent]
        return above

    @cached_property
    def player_infoset(self) -> Ints:
        """First infoset of each player, and I at the end."""
        return np.searchsorted(self.infoset_player, np.arange(self.num_players + 1))

    @cached_property
    def player_infoset_index(self) -> Ints:
        """Each infoset's number within its player's own."""
        return np.arange(self.num_infosets) - self.player_infoset[self.infoset_player]

    @property
    def num_bytes(self) -> int:
        """Memory that the arrays take."""
        arrays = (*(getattr(self, field.name) for field in fields(self)), *self.form)
        return sum(getattr(array, "nbytes", 0) for array in arrays)

    @cached_property
    def histories_by_sequence(self) -> Ints:
        """How many histories the infoset of each sequence of the form has."""
        return np.repeat(self.num_histories, row_lengths(self.form.offset))

    @cached_property
    def game_infoset(self) -> Ints:
        """The game's own infoset that each infoset of the form belongs to."""
        if self.has_perfect_recall:
            return np.arange(self.num_infosets)
        return (
            np.searchsorted(self.offset, self.game_sequence[self.form.offset[:-1]], side="right")
            - 1
        )

    @cached_property
    def previous_infoset(self) -> Ints:
        """The player's infoset before each infoset of the form, or -1."""
        before = np.searchsorted(self.form.offset, self.form.parent, side="right") - 1
        return np.where(self.form.parent < self.form.offset[-1], before, -1)

    @cached_property
    def incoming_sequence(self) -> Ints:
        """The sequence by which a player comes to each node; -1 after chance and at the root."""
        sequence = np.full(self.num_nodes, -1)
        above = self.parent[1:]
        own = np.flatnonzero(self.player[above] >= 0)
        above = above[own]
        place = own + 1 - self.child_offset[above]
        sequence[own + 1] = self.offset[self.infoset[above]] + place
        return sequence

    def levels(self, player: int, count: int) -> list[list[tuple[int, int]]]:
        """The player's infosets of the form, level by level, each cut into at most `count` parts.

        Parts of one level share no parent sequence: threads may sweep them at the same time.
        """
        found = self._levels.get((player, count))
        if found is None:
            found = self._levels[player, count] = []
            block = self.level_blocks[self.level_blocks[:, 0] == player]
            for level in np.unique(block[:, 1]):
                first, last = block[block[:, 1] == level, 2:].T
                even = first[0] + (last[-1] - first[0]) * np.arange(1, count) // count
                cuts = np.unique([first[0], *first[np.searchsorted(last, even)], last[-1]]).tolist()
                found.append(list(pairwise(cuts)))
        return found

    def gradient(self, player: int, reach: Floats, cf_value: Floats) -> None:
        """Set `cf_value` [S + 1] at the player's sequences to what ends there: see `arena`."""
        form = self.form
        sweeps.clear(form, player, cf_value)
        first, last = form.player_row[player : player + 2].tolist()
        parts = split_evenly(first, last, self.max_threads)
        run_in_threads(lambda a, b: sweeps.payoff(form, a, b, reach, cf_value), parts)

    @property
    def max_threads(self) -> int:
        """Threads worth using."""
        return num_threads() if self.num_nodes >= MIN_NODES_FOR_THREADS else 1

    @cached_property
    def _levels(self) -> dict[tuple[int, int], list[list[tuple[int, int]]]]:
        return {}

    @cached_property
    def _infosets_by_key(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for infoset, key in enumerate(self.infoset_keys):
            found.setdefault(key, []).append(infoset)
        return found

    def infoset_key(self, infoset: int) -> str:
        """The infoset's readable key."""
        return self.infoset_keys[infoset]

    def action_names(self, infoset: int) -> tuple[str, ...]:
        """The names of the infoset's actions."""
        return self.sequence_names[self.offset[infoset] : self.offset[infoset + 1]]

    def find_infoset(self, key: str, player: int | None = None) -> int:
        """The infoset of that key; the player is needed only where two players share a key."""
        found = [
            infoset
            for infoset in self._infosets_by_key.get(key, [])
            if player is None or self.infoset_player[infoset] == player
        ]
        if len(found) == 1:
            return found[0]
        if found:
            raise ConfigError(f"several players have an infoset {key!r}; give the player too")
        near = suggestion(key, self.infoset_keys[:20_000])
        raise ConfigError(f"{self.spec} has no infoset {key!r}{near}")

    @cached_property
    def perfect_recall_tree(self) -> TreeArena:
        """The same game for players who forget nothing; this very tree with perfect recall.

        An infoset that had merged several pasts becomes several, with keys `key#1`, `key#2`, ...
        """
        if self.has_perfect_recall:
            return self
        form, above = self.form, self.game_infoset
        seen: dict[int, int] = {}
        keys = []
        for infoset in above:
            seen[infoset] = seen.get(infoset, 0) + 1
            keys.append(f"{self.infoset_keys[infoset]}#{seen[infoset]}")
        nothing = np.zeros(0, np.int32)
        return replace(
            self,
            infoset=self.recall_infoset,
            offset=form.offset.astype(self.offset.dtype),
            infoset_player=self.infoset_player[above],
            infoset_keys=tuple(keys),
            sequence_action=self.sequence_action[self.game_sequence],
            sequence_names=tuple(self.sequence_names[s] for s in self.game_sequence),
            game_sequence=nothing,
            recall_infoset=nothing,
        )

    def save(self, path: str | Path) -> None:
        """Write the tree to one file; `load_tree` reads it back without the rules."""
        arrays: dict[str, Any] = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in ("form", "source_game", "source")
        }
        arrays |= {f"form.{name}": array for name, array in self.form._asdict().items()}
        write_archive(path, TREE_FORMAT, arrays)


def cache_on_tree(function: Callable[[TreeArena], T]) -> Callable[[TreeArena], T]:
    """The function, its result kept with the tree and gone with it."""
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def wrapper(tree: TreeArena) -> T:
        if name not in tree.__dict__:
            tree.__dict__[name] = function(tree)
        return cast(T, tree.__dict__[name])

    return wrapper


def freeze(tree: TreeArena) -> None:
    """Make every array read-only: algorithms share the tree and none may change it."""
    for array in (*vars(tree).values(), *tree.form):
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
