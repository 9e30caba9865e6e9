"""Abstraction: a smaller game whose policies are lifted back and judged in the full one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.derivation import FIXED_BUCKET, DerivationPlan, derive_tree
from counterplay.core.arena import Ints
from counterplay.core.evaluation import check_same_game
from counterplay.core.policy import Policy, uniform_policy
from counterplay.core.solve import AnyAlgorithm
from counterplay.errors import ConfigError

InfosetRef = str | int | tuple[int, str]  # its key, its number, or its player and key
ActionFilter = Callable[
    [int, str, str], bool
]  # player, infoset key, action name -> whether it stays
InfosetSelection = Callable[[int, str], bool] | Iterable[InfosetRef]


@runtime_checkable
class BucketingRule(Protocol):
    """A rule that says which infosets of a tree are alike."""

    def labels(self, tree: TreeArena) -> Sequence[Hashable]:
        """One label per infoset; a player's infosets with the same label are merged."""
        ...


BucketSpec = BucketingRule | Callable[[int, str], Hashable] | Iterable[Iterable[InfosetRef]]


@dataclass(frozen=True, eq=False)
class Abstraction:
    """A smaller game, and how its policies are played in the full one."""

    full_tree: TreeArena
    tree: TreeArena  # the smaller game; any algorithm takes it
    abstract_sequence: Ints  # [S of full] the smaller game's sequence, or -1
    fallback_policy: (
        Policy  # of full: played where the smaller game never comes, or leaves no choice
    )

    def lift(self, policy: Policy) -> Policy:
        """The policy of the full game that does the same in all infosets of a bucket.

        Actions that were left out are never played. Infosets that only these lead to, which the
        smaller game lacks, are played as `elsewhere` says.
        """
        check_same_game(self.tree, policy)
        full, known = self.full_tree, self.abstract_sequence >= 0
        lifted = np.append(policy.probabilities, 0.0)[
            self.abstract_sequence
        ]  # the last serves the -1
        decided = np.logical_or.reduceat(known, full.offset[:-1]) if known.size else known
        return Policy(
            full,
            np.where(
                np.repeat(decided, full.num_actions), lifted, self.fallback_policy.probabilities
            ),
        )

    def wrap_algorithm(self, algorithm: AnyAlgorithm) -> AbstractedAlgorithm:
        """The algorithm, run on the smaller game and judged in the full one:

        cp.solve(tree, abstraction.using(cp.algorithms.CFRPlus()), iterations=1000)
        """
        return AbstractedAlgorithm(self, algorithm)


@dataclass(frozen=True, eq=False)
class AbstractedAlgorithm:
    """An algorithm for the full game that solves an abstraction of it."""

    abstraction: Abstraction
    algorithm: AnyAlgorithm
    runs_on: ClassVar[tuple[str, ...]] = ("tree",)

    @property
    def required_extra(self) -> str:
        return self.algorithm.required_extra

    def init(self, tree: TreeArena, seed: int = 0) -> Any:
        if tree is not self.abstraction.full_tree:
            raise ConfigError(
                f"this abstraction is of {self.abstraction.full_tree.spec}, another tree"
            )
        return self.algorithm.init(self.abstraction.tree, seed)

    def step(self, tree: TreeArena, memory: Any, iterations: int = 1) -> Any:
        return self.algorithm.step(self.abstraction.tree, memory, iterations)

    def policies(self, tree: TreeArena, memory: Any) -> dict[str, Policy]:
        found = self.algorithm.policies(self.abstraction.tree, memory)
        return {name: self.abstraction.lift(policy) for name, policy in found.items()}


def build_abstraction(
    tree: TreeArena,
    buckets: BucketSpec | None = None,
    *,
    player: int | None = None,
    keep_action: ActionFilter | None = None,
) -> Abstraction:
    """Merge infosets, leave out actions, or both (Gibson, 2014, definition 2.6).

    Args:
        buckets: a rule such as `ByRank()`; or a function of player and infoset key, whose equal
            answers mean the same bucket; or groups of infosets, those not named staying alone.
        player: merge and leave out for this player only.
        actions: which actions stay, given the player, the infoset key and the action's name.

    Raises:
        ConfigError: a bucket joins infosets of two players or with different actions, or names one
            that does not exist, or an infoset would have no action left.
    """
    if player is not None and not 0 <= player < tree.num_players:
        raise ConfigError(f"player is {player}, must be from 0 to {tree.num_players - 1}")
    ours = np.ones(tree.num_infosets, bool) if player is None else tree.infoset_player == player
    labels = infoset_labels(tree, buckets)
    labels = [label if ours[i] else ("alone", i) for i, label in enumerate(labels)]
    nobody = np.zeros(tree.num_infosets, bool)
    return derive_abstraction(
        tree, labels, _action_mask(tree, keep_action, ours), nobody, uniform_policy(tree)
    )


def fix_policy(tree: TreeArena, policy: Policy, fixed_infosets: InfosetSelection) -> Abstraction:
    """The game in which chance plays the `fixed` infosets by the policy, and players the rest.

    Lifted policies follow `policy` there.

    Args:
        fixed: a function of player and infoset key, or the infosets.
    """
    check_same_game(tree, policy)
    if callable(fixed_infosets):
        rows = zip(tree.infoset_player.tolist(), tree.infoset_keys, strict=True)
        chosen = np.array([bool(fixed_infosets(*row)) for row in rows], bool)
    else:
        chosen = np.zeros(tree.num_infosets, bool)
        chosen[[resolve_infoset(tree, infoset) for infoset in fixed_infosets]] = True
    everything = np.ones(tree.num_sequences, bool)
    return derive_abstraction(tree, infoset_labels(tree, None), everything, chosen, policy)


def derive_abstraction(
    tree: TreeArena, labels: Sequence[Hashable], action_mask: Ints, fixed_mask: Ints, policy: Policy
) -> Abstraction:
    """The game with infosets of the same player and label merged, and some played by chance.

    Args:
        labels: one per infoset.
        kept: [S] the actions that stay.
        fixed: [I] the infosets that chance plays, by the policy.
    """
    bucket, keys = _number_buckets(tree, labels, fixed_mask)
    _check_buckets(tree, bucket, action_mask)
    spec = f"{tree.spec} with {len(keys)} of {tree.num_infosets} infosets"
    made, sequence = derive_tree(
        tree, DerivationPlan(spec, bucket, keys, action_mask, policy.probabilities)
    )
    return Abstraction(tree, made, sequence, policy)


def resolve_infoset(tree: TreeArena, infoset: InfosetRef) -> int:
    """The number of an infoset given by key, by player and key, or by number."""
    if isinstance(infoset, str):
        return tree.find_infoset(infoset)
    if isinstance(infoset, tuple):
        return tree.find_infoset(infoset[1], infoset[0])
    if not 0 <= infoset < tree.num_infosets:
        raise ConfigError(
            f"{tree.spec} has no infoset {infoset}; its numbers are 0 to {tree.num_infosets - 1}"
        )
    return int(infoset)


def infoset_labels(tree: TreeArena, buckets: BucketSpec | None) -> list[Hashable]:
    """One label per infoset. Whatever stays alone is labelled by its number."""
    if buckets is None:
        return list(range(tree.num_infosets))
    if isinstance(buckets, BucketingRule):
        return list(buckets.labels(tree))
    if callable(buckets):
        rows = zip(tree.infoset_player.tolist(), tree.infoset_keys, strict=True)
        return [buckets(*row) for row in rows]
    labels: list[Hashable] = list(range(tree.num_infosets))
    grouped: set[int] = set()
    for group in buckets:
        if isinstance(group, str):
            raise ConfigError(f"a bucket is a group of infosets, not the text {group!r}")
        members = [resolve_infoset(tree, infoset) for infoset in group]
        twice = grouped.intersection(members)
        if twice or len(set(members)) < len(members):
            again = min(twice) if twice else max(members, key=members.count)
            raise ConfigError(f"infoset {tree.infoset_keys[again]!r} is in two buckets")
        grouped.update(members)
        owner = tree.infoset_player
        foreign = [member for member in members if owner[member] != owner[members[0]]]
        if foreign:
            raise ConfigError(
                f"a bucket joins {_format_infoset(tree, members[0])} with {_format_infoset(tree, foreign[0])}: "
                "only infosets of one player can be merged"
            )
        for member in members:
            labels[member] = members[0]
    return labels


def _number_buckets(
    tree: TreeArena, labels: Sequence[Hashable], fixed_mask: Ints
) -> tuple[Ints, list[str]]:
    """The buckets numbered from 0, and their keys."""
    if len(labels) != tree.num_infosets:
        raise ConfigError(f"{len(labels)} labels for {tree.num_infosets} infosets")
    numbers: dict[Hashable, int] = {}
    members: list[list[int]] = []
    bucket = np.full(tree.num_infosets, FIXED_BUCKET)
    for infoset in np.flatnonzero(~fixed_mask).tolist():
        label = labels[infoset]
        try:
            number = numbers.setdefault((tree.infoset_player[infoset], label), len(members))
        except TypeError as error:
            raise ConfigError(f"the label {label!r} of a bucket is not hashable") from error
        if number == len(members):
            members.append([])
        members[number].append(infoset)
        bucket[infoset] = number
    return bucket, [_bucket_key(tree, labels, group) for group in members]


def _bucket_key(tree: TreeArena, labels: Sequence[Hashable], group: list[int]) -> str:
    """The label if it is a text, else the first infoset's key and how many are merged with it."""
    label, key = labels[group[0]], tree.infoset_keys[group[0]]
    if isinstance(label, str):
        return label
    return key if len(group) == 1 else f"{key} +{len(group) - 1}"


def _action_mask(tree: TreeArena, actions: ActionFilter | None, ours: Ints) -> Ints:
    """Which sequences stay."""
    kept = np.ones(tree.num_sequences, bool)
    if actions is None:
        return kept
    for infoset in np.flatnonzero(ours).tolist():
        first, last = tree.offset[infoset : infoset + 2]
        player, key = int(tree.infoset_player[infoset]), tree.infoset_keys[infoset]
        kept[first:last] = [
            bool(actions(player, key, name)) for name in tree.sequence_names[first:last]
        ]
        if not kept[first:last].any():
            raise ConfigError(f"{_format_infoset(tree, infoset)} would have no action left")
    return kept


def _check_buckets(tree: TreeArena, bucket: Ints, action_mask: Ints) -> None:
    """Refuse buckets whose infosets differ in their actions."""
    known: dict[int, tuple[int, tuple[int, ...]]] = {}
    for infoset, number in enumerate(bucket.tolist()):
        if number == FIXED_BUCKET:
            continue
        first, last = tree.offset[infoset : infoset + 2]
        legal = tuple(tree.sequence_action[first:last][action_mask[first:last]].tolist())
        other, others = known.setdefault(number, (infoset, legal))
        if legal != others:
            raise ConfigError(
                f"a bucket joins {_format_infoset(tree, other)}, whose actions are {_format_actions(tree, other)}, "
                f"with {_format_infoset(tree, infoset)}, whose actions are {_format_actions(tree, infoset)}: "
                "merged infosets need equal actions"
            )


def _format_actions(tree: TreeArena, infoset: int) -> str:
    return ", ".join(tree.sequence_names[tree.offset[infoset] : tree.offset[infoset + 1]])


def _format_infoset(tree: TreeArena, infoset: int) -> str:
    return f"{tree.infoset_keys[infoset]!r} of player {tree.infoset_player[infoset]}"
