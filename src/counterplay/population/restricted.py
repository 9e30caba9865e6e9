"""A tree in which players have only some of their actions: the same sequence form, smaller.

And pools of policies whose actions those are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from counterplay.arena import Floats, Ints
from counterplay.errors import ConfigError
from counterplay.kernels import sweeps
from counterplay.policy import uniform_policy
from counterplay.population.pools import (
    Population,
    add_plans,
    check_zero_sum,
    new_population,
    reach_of,
    row,
)
from counterplay.tree import SequenceForm, Tree, row_lengths


@dataclass
class UnitedPools(Population):
    """Pools of responses, in whose actions a policy is found: that is the meta-strategy here."""

    allowed: Any = field(default_factory=lambda: np.zeros(0, bool))  # [S]
    policy: Floats = field(default_factory=lambda: np.zeros(0))  # [S]

    def problem(self, arena: Any) -> str:
        sizes = {self.allowed.shape, self.policy.shape}
        fits = sizes == {(arena.num_sequences,)}
        return super().problem(arena) or ("" if fits else "its actions are those of another game")

    def join(self, tree: Tree, responses: Sequence[Floats], wanted: Any) -> None:
        """Put everybody's response, as probabilities [S], into its pool; allow what is wanted."""
        plans = [reach_of(tree, one)[None, row(tree, p)] for p, one in enumerate(responses)]
        add_plans(tree, self, plans)
        self.allowed = self.allowed | wanted

    def play(self, policy: Floats) -> None:
        """Make this the policy, and keep it with those before."""
        self.policy = policy
        self.note([policy])


def new_united_pools(name: str, tree: Tree, seed: int, kind: type[UnitedPools]) -> Any:
    """Pools without policies; nothing is allowed, and play is uniform."""
    check_zero_sum(name, tree)
    if not tree.perfect_recall:
        raise ConfigError(f"{name} needs perfect recall; {tree.spec} forgets")
    memory = new_population(tree, seed, kind)
    memory.allowed = np.zeros(tree.num_sequences, bool)
    memory.policy = uniform_policy(tree).probabilities.copy()
    return memory


class RestrictedGame:
    """The arena in which only the sequences `allowed` [S] of a tree are left.

    Infosets that a player's own actions exclude are left out; those that the others' actions
    exclude stay, without payoffs. Nothing is unrolled again: rows and entries are picked.
    """

    offers: ClassVar[tuple[str, ...]] = ("sequences",)
    perfect_recall: ClassVar[bool] = True
    workers: ClassVar[int] = 1

    def __init__(self, tree: Tree, allowed: Any):
        self.tree, self.allowed = tree, allowed
        self.spec, self.num_players = f"{tree.spec} restricted", tree.num_players
        self.infosets, self.sequences = _reachable(tree, allowed)  # as the tree numbers them
        self.form = self._form()
        self.offset = self.form.offset
        self.num_infosets, self.num_sequences = self.infosets.size, self.sequences.size
        self.infoset_player = tree.infoset_player[self.infosets]
        self.num_actions = row_lengths(self.offset)
        self.rounding = tree.rounding[self.sequences]

    def _form(self) -> SequenceForm:
        old, size = self.tree.form, self.tree.num_sequences
        place = np.full(size + 1, -1)
        place[self.sequences] = np.arange(self.sequences.size)
        place[size] = self.sequences.size
        kind = old.offset.dtype
        counts = np.bincount(_owners(self.tree)[self.sequences], minlength=self.tree.num_infosets)
        kept = place[old.row_sequence] >= 0
        lengths = row_lengths(old.row_offset)
        other = place[old.other.astype(np.int64)]
        entry = np.repeat(kept, lengths) & (other >= 0).all(axis=1)
        row = np.repeat(np.arange(lengths.size), lengths)[entry]
        lengths = np.bincount(row, minlength=lengths.size)[kept]
        player = np.repeat(np.arange(self.num_players), row_lengths(old.player_row))[kept]
        form = SequenceForm(
            offset=_starts(counts[self.infosets], kind),
            parent=place[old.parent[self.infosets].astype(np.int64)].astype(old.parent.dtype),
            player_infoset=np.searchsorted(self.infosets, old.player_infoset),
            player_row=np.searchsorted(player, np.arange(self.num_players + 1)),
            row_offset=_starts(lengths, old.row_offset.dtype),
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

    def key(self, infoset: int) -> str:
        """The infoset's readable key."""
        return self.tree.key(int(self.infosets[infoset]))

    def action_names(self, infoset: int) -> tuple[str, ...]:
        """The names of the actions that are left."""
        first, last = self.offset[infoset : infoset + 2].tolist()
        return tuple(self.tree.sequence_names[s] for s in self.sequences[first:last])

    def find(self, key: str, player: int | None = None) -> int:
        """The infoset of that key."""
        return int(np.searchsorted(self.infosets, self.tree.find(key, player)))

    @cached_property
    def elsewhere(self) -> Floats:
        """Probabilities [S] on the whole tree: what is allowed, equally often."""
        sums = np.add.reduceat(self.allowed.astype(np.float64), self.tree.offset[:-1])
        return self.allowed / np.repeat(sums, self.tree.num_actions)

    def lifted(self, probabilities: Floats) -> Floats:
        """A policy of this game on the whole tree [S]."""
        whole = self.elsewhere.copy()
        whole[self.sequences] = probabilities
        return whole


def _owners(tree: Tree) -> Ints:
    return np.repeat(np.arange(tree.num_infosets), tree.num_actions)


def _reachable(tree: Tree, allowed: Any) -> tuple[Ints, Ints]:
    """The infosets and sequences that their player comes to by allowed actions."""
    form = tree.form
    there, left = np.zeros(tree.num_infosets, bool), np.append(allowed, True)
    parent, offset = form.parent.tolist(), form.offset.tolist()
    for infoset in range(tree.num_infosets):
        there[infoset] = left[parent[infoset]]
        if not there[infoset]:
            left[offset[infoset] : offset[infoset + 1]] = False
    return np.flatnonzero(there), np.flatnonzero(left[:-1])


def _starts(counts: Ints, kind: Any) -> Ints:
    return np.append(0, np.cumsum(counts)).astype(kind)
