"""An arena of the allowed actions of a tree, with a smaller sequence form.

`ActionUnionPopulation` is the memory of methods whose allowed actions are those of a population.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from counterplay.algorithms.population.population import (
    Population,
    add_plans,
    check_zero_sum,
    new_population,
    player_sequences,
    reach_from_probabilities,
)
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import (
    Floats,
    Ints,
    SequenceArena,
    SequenceForm,
    group_infosets,
    row_lengths,
)
from counterplay.core.policy import uniform_policy
from counterplay.errors import ConfigError
from counterplay.kernels.sequence_form import sweeps

Mask = NDArray[np.bool_]


@dataclass
class ActionUnionPopulation(Population):
    """Pools of responses, and a policy that uses only their actions as the meta-strategy."""

    allowed_sequences: Mask = field(default_factory=lambda: np.zeros(0, bool))  # [S]
    policy: Floats = field(default_factory=lambda: np.zeros(0))  # [S]

    def find_mismatch(self, arena: SequenceArena) -> str:
        sizes = {self.allowed_sequences.shape, self.policy.shape}
        fits = sizes == {(arena.num_sequences,)}
        return super().find_mismatch(arena) or (
            "" if fits else "its actions are those of another game"
        )

    def add_responses(self, tree: TreeArena, responses: Sequence[Floats], sequences: Mask) -> None:
        """Add each player's response to its pool, and allow more sequences.

        Args:
            responses: by player, probabilities [S].
            sequences: the sequences [S] to allow.
        """
        plans = [
            reach_from_probabilities(tree, response)[None, player_sequences(tree, player)]
            for player, response in enumerate(responses)
        ]
        add_plans(tree, self, plans)
        self.allowed_sequences = self.allowed_sequences | sequences

    def set_policy(self, policy: Floats) -> None:
        """Set the policy [S], and append it to the history."""
        self.policy = policy
        self.record_meta_strategy([policy])


ActionUnionT = TypeVar("ActionUnionT", bound=ActionUnionPopulation)


def new_action_union_population(
    algorithm_name: str, tree: TreeArena, seed: int, population_class: type[ActionUnionT]
) -> ActionUnionT:
    """Return empty pools without allowed sequences, and the uniform policy."""
    check_zero_sum(algorithm_name, tree)
    if not tree.has_perfect_recall:
        raise ConfigError(f"{algorithm_name} needs perfect recall, which {tree.spec} lacks")
    memory = new_population(tree, seed, population_class)
    memory.allowed_sequences = np.zeros(tree.num_sequences, bool)
    memory.policy = uniform_policy(tree).probabilities.copy()
    return memory


class RestrictedArena:
    """The arena in which only the allowed sequences [S] of a tree exist.

    Infosets that the player itself can no longer reach are removed. Those that only the others'
    missing actions exclude stay, without payoffs. The sequence form is selected from the tree's
    arrays, so that no game is walked again.
    """

    capabilities: ClassVar[tuple[str, ...]] = ("sequences",)
    has_perfect_recall: ClassVar[bool] = True
    max_threads: ClassVar[int] = 1

    def __init__(self, tree: TreeArena, allowed_sequences: Mask):
        self.tree, self.allowed_sequences = tree, allowed_sequences
        self.spec, self.num_players = f"{tree.spec} restricted", tree.num_players
        self.utility_scale = tree.utility_scale  # so that restrictions do not change units
        # indices in the tree
        self.infosets, self.sequences = _reachable_infosets_and_sequences(tree, allowed_sequences)
        self.form = self._build_form()
        self.sweep_form = group_infosets(self.form)
        self.offset = self.form.offset
        self.num_infosets, self.num_sequences = self.infosets.size, self.sequences.size
        self.infoset_player = tree.infoset_player[self.infosets]
        self.num_actions = row_lengths(self.offset)
        self.value_tolerance = tree.value_tolerance[self.sequences]

    def _build_form(self) -> SequenceForm:
        old, size = self.tree.form, self.tree.num_sequences
        new_index = np.full(size + 1, -1)  # of every sequence; -1 if it is removed
        new_index[self.sequences] = np.arange(self.sequences.size)
        new_index[size] = self.sequences.size
        counts = np.bincount(
            _infoset_by_sequence(self.tree)[self.sequences], minlength=self.tree.num_infosets
        )
        keeps_row = new_index[old.row_sequence] >= 0
        lengths = row_lengths(old.row_offset)
        other = new_index[old.other.astype(np.int64)]
        keeps_entry = np.repeat(keeps_row, lengths) & (other >= 0).all(axis=1)
        row = np.repeat(np.arange(lengths.size), lengths)[keeps_entry]
        lengths = np.bincount(row, minlength=lengths.size)[keeps_row]
        player = np.repeat(np.arange(self.num_players), row_lengths(old.player_row))[keeps_row]
        form = SequenceForm(
            offset=_offsets(counts[self.infosets], old.offset.dtype),
            parent=new_index[old.parent[self.infosets].astype(np.int64)].astype(old.parent.dtype),
            player_infoset=np.searchsorted(self.infosets, old.player_infoset),
            player_row=np.searchsorted(player, np.arange(self.num_players + 1)),
            row_offset=_offsets(lengths, old.row_offset.dtype),
            row_sequence=new_index[old.row_sequence[keeps_row]].astype(old.row_sequence.dtype),
            other=np.ascontiguousarray(other[keeps_entry].astype(old.other.dtype)),
            weight=old.weight[keeps_entry],
        )
        typed = [a.astype(b.dtype) for a, b in zip(form, old, strict=True)]
        for array in typed:
            array.flags.writeable = False  # as in the tree, so that kernels compile only once
        return SequenceForm(*typed)

    def levels(self, player: int, max_parts: int) -> list[list[tuple[int, int]]]:
        """Return all of the player's infosets as one part, parents first."""
        first, last = self.form.player_infoset[player : player + 2].tolist()
        return [[(first, last)]]

    def gradient(self, player: int, reach: Floats, cf_value: Floats) -> None:
        """Set `cf_value` [S + 1] at the player's sequences, as in `SequenceArena.gradient`."""
        sweeps.player_payoff(self.sweep_form, player, reach, cf_value)

    def infoset_key(self, infoset: int) -> str:
        """Return the readable key of an infoset."""
        return self.tree.infoset_key(int(self.infosets[infoset]))

    def action_names(self, infoset: int) -> tuple[str, ...]:
        """Return the names of the allowed actions of an infoset."""
        first, last = self.offset[infoset : infoset + 2].tolist()
        return tuple(self.tree.sequence_names[s] for s in self.sequences[first:last])

    def find_infoset(self, key: str, player: int | None = None) -> int:
        """Return the infoset with a key; the player is needed if two players share the key."""
        return int(np.searchsorted(self.infosets, self.tree.find_infoset(key, player)))

    @cached_property
    def uniform_allowed_policy(self) -> Floats:
        """Probabilities [S] on the whole tree, uniform over the allowed actions."""
        sums = np.add.reduceat(self.allowed_sequences.astype(np.float64), self.tree.offset[:-1])
        return self.allowed_sequences / np.repeat(sums, self.tree.num_actions)

    def lift_policy(self, probabilities: Floats) -> Floats:
        """Return the probabilities [S] on the whole tree of a policy of this arena."""
        lifted = self.uniform_allowed_policy.copy()
        lifted[self.sequences] = probabilities
        return lifted


def _infoset_by_sequence(tree: TreeArena) -> Ints:
    return np.repeat(np.arange(tree.num_infosets), tree.num_actions)


def _reachable_infosets_and_sequences(
    tree: TreeArena, allowed_sequences: Mask
) -> tuple[Ints, Ints]:
    """Return the infosets and sequences that their player can reach by allowed actions."""
    form = tree.form
    is_reachable, is_left = np.zeros(tree.num_infosets, bool), np.append(allowed_sequences, True)
    parent, offset = form.parent.tolist(), form.offset.tolist()
    for infoset in range(tree.num_infosets):
        is_reachable[infoset] = is_left[parent[infoset]]
        if not is_reachable[infoset]:
            is_left[offset[infoset] : offset[infoset + 1]] = False
    return np.flatnonzero(is_reachable), np.flatnonzero(is_left[:-1])


def _offsets(counts: Ints, dtype: DTypeLike) -> Ints:
    return np.append(0, np.cumsum(counts)).astype(dtype)
