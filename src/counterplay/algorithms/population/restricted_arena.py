"""A tree in which players have only some of their actions: the same sequence form, smaller.

And pools of policies whose actions those are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from counterplay.algorithms.population.population import (
    Population,
    add_plans,
    check_zero_sum,
    new_population,
    player_sequences,
    reach_from_probabilities,
)
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, Ints, SequenceForm, row_lengths
from counterplay.core.policy import uniform_policy
from counterplay.errors import ConfigError
from counterplay.kernels.sequence_form import sweeps


@dataclass
class ActionUnionPopulation(Population):
    """Pools of responses, in whose actions a policy is found: that is the meta-strategy here."""

    allowed_sequences: Any = field(default_factory=lambda: np.zeros(0, bool))  # [S]
    policy: Floats = field(default_factory=lambda: np.zeros(0))  # [S]

    def find_mismatch(self, arena: Any) -> str:
        sizes = {self.allowed_sequences.shape, self.policy.shape}
        fits = sizes == {(arena.num_sequences,)}
        return super().find_mismatch(arena) or (
            "" if fits else "its actions are those of another game"
        )

    def add_responses(self, tree: TreeArena, responses: Sequence[Floats], sequences: Any) -> None:
        """Put everybody's response, as probabilities [S], into its pool; allow what is wanted."""
        plans = [
            reach_from_probabilities(tree, one)[None, player_sequences(tree, p)]
            for p, one in enumerate(responses)
        ]
        add_plans(tree, self, plans)
        self.allowed_sequences = self.allowed_sequences | sequences

    def set_policy(self, policy: Floats) -> None:
        """Make this the policy, and keep it with those before."""
        self.policy = policy
        self.record_meta_strategy([policy])


def new_action_union_population(
    algorithm_name: str, tree: TreeArena, seed: int, population_class: type[ActionUnionPopulation]
) -> Any:
    """Pools without policies; nothing is allowed, and play is uniform."""
    check_zero_sum(algorithm_name, tree)
    if not tree.has_perfect_recall:
        raise ConfigError(f"{algorithm_name} needs perfect recall; {tree.spec} forgets")
    memory = new_population(tree, seed, population_class)
    memory.allowed_sequences = np.zeros(tree.num_sequences, bool)
    memory.policy = uniform_policy(tree).probabilities.copy()
    return memory


class RestrictedArena:
    """The arena in which only the sequences `allowed` [S] of a tree are left.

    Infosets that a player's own actions exclude are left out; those that the others' actions
    exclude stay, without payoffs. Nothing is unrolled again: rows and entries are picked.
    """

    capabilities: ClassVar[tuple[str, ...]] = ("sequences",)
    has_perfect_recall: ClassVar[bool] = True
    max_threads: ClassVar[int] = 1

    def __init__(self, tree: TreeArena, allowed_sequences: Any):
        self.tree, self.allowed_sequences = tree, allowed_sequences
        self.spec, self.num_players = f"{tree.spec} restricted", tree.num_players
        self.infosets, self.sequences = _reachable_infosets_and_sequences(
            tree, allowed_sequences
        )  # as the tree numbers them
        self.form = self._build_form()
        self.offset = self.form.offset
        self.num_infosets, self.num_sequences = self.infosets.size, self.sequences.size
        self.infoset_player = tree.infoset_player[self.infosets]
        self.num_actions = row_lengths(self.offset)
        self.value_tolerance = tree.value_tolerance[self.sequences]

    def _build_form(self) -> SequenceForm:
        old, size = self.tree.form, self.tree.num_sequences
        place = np.full(size + 1, -1)
        place[self.sequences] = np.arange(self.sequences.size)
        place[size] = self.sequences.size
        kind = old.offset.dtype
        counts = np.bincount(
            _infoset_by_sequence(self.tree)[self.sequences], minlength=self.tree.num_infosets
        )
        kept = place[old.row_sequence] >= 0
        lengths = row_lengths(old.row_offset)
        other = place[old.other.astype(np.int64)]
        entry = np.repeat(kept, lengths) & (other >= 0).all(axis=1)
        row = np.repeat(np.arange(lengths.size), lengths)[entry]
        lengths = np.bincount(row, minlength=lengths.size)[kept]
        player = np.repeat(np.arange(self.num_players), row_lengths(old.player_row))[kept]
        form = SequenceForm(
            offset=_offsets(counts[self.infosets], kind),
            parent=place[old.parent[self.infosets].astype(np.int64)].astype(old.parent.dtype),
            player_infoset=np.searchsorted(self.infosets, old.player_infoset),
            player_row=np.searchsorted(player, np.arange(self.num_players + 1)),
            row_offset=_offsets(lengths, old.row_offset.dtype),
            row_sequence=place[old.row_sequence[kept]].astype(old.row_sequence.dtype),
            other=np.ascontiguousarray(other[entry].astype(old.other.dtype)),
            weight=old.weight[entry],
        )
        typed = [a.astype(b.dtype) for a, b in zip(form, old, strict=True)]
        for array in typed:
            array.flags.writeable = False  # as in the tree: the kernels are compiled once
        return SequenceForm(*typed)

    def levels(self, player: int, count: int) -> list[list[tuple[int, int]]]:
        """All of the player's infosets as one part, parents first."""
        first, last = self.form.player_infoset[player : player + 2].tolist()
        return [[(first, last)]]

    def gradient(self, player: int, reach: Floats, cf_value: Floats) -> None:
        """Set `cf_value` [S + 1] at the player's sequences: see `arena`."""
        sweeps.clear(self.form, player, cf_value)
        first, last = self.form.player_row[player : player + 2].tolist()
        sweeps.payoff(self.form, first, last, reach, cf_value)

    def infoset_key(self, infoset: int) -> str:
        """The infoset's readable key."""
        return self.tree.infoset_key(int(self.infosets[infoset]))

    def action_names(self, infoset: int) -> tuple[str, ...]:
        """The names of the actions that are left."""
        first, last = self.offset[infoset : infoset + 2].tolist()
        return tuple(self.tree.sequence_names[s] for s in self.sequences[first:last])

    def find_infoset(self, key: str, player: int | None = None) -> int:
        """The infoset of that key."""
        return int(np.searchsorted(self.infosets, self.tree.find_infoset(key, player)))

    @cached_property
    def uniform_allowed_policy(self) -> Floats:
        """Probabilities [S] on the whole tree: what is allowed, equally often."""
        sums = np.add.reduceat(self.allowed_sequences.astype(np.float64), self.tree.offset[:-1])
        return self.allowed_sequences / np.repeat(sums, self.tree.num_actions)

    def lift_policy(self, probabilities: Floats) -> Floats:
        """A policy of this game on the whole tree [S]."""
        whole = self.uniform_allowed_policy.copy()
        whole[self.sequences] = probabilities
        return whole


def _infoset_by_sequence(tree: TreeArena) -> Ints:
    return np.repeat(np.arange(tree.num_infosets), tree.num_actions)


def _reachable_infosets_and_sequences(tree: TreeArena, allowed_sequences: Any) -> tuple[Ints, Ints]:
    """The infosets and sequences that their player comes to by allowed actions."""
    form = tree.form
    there, left = np.zeros(tree.num_infosets, bool), np.append(allowed_sequences, True)
    parent, offset = form.parent.tolist(), form.offset.tolist()
    for infoset in range(tree.num_infosets):
        there[infoset] = left[parent[infoset]]
        if not there[infoset]:
            left[offset[infoset] : offset[infoset + 1]] = False
    return np.flatnonzero(there), np.flatnonzero(left[:-1])


def _offsets(counts: Ints, dtype: Any) -> Ints:
    return np.append(0, np.cumsum(counts)).astype(dtype)
