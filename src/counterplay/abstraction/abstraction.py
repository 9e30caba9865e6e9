"""Abstraction: a smaller game whose policies are lifted to the full game and evaluated there."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.derivation import FIXED_BUCKET, DerivationPlan, derive_tree
from counterplay.core.arena import Ints
from counterplay.core.evaluation import check_same_game
from counterplay.core.policy import Policy, uniform_policy
from counterplay.core.solve import AnyAlgorithm, default_iterations, with_schedule
from counterplay.errors import ConfigError

InfosetRef = str | int | tuple[int, str]  # key, number, or player and key
# player, infoset key, action name -> whether the action stays
ActionFilter = Callable[[int, str, str], bool]
InfosetSelection = Callable[[int, str], bool] | Iterable[InfosetRef]


@runtime_checkable
class BucketingRule(Protocol):
    """A rule that groups the infosets of a tree."""

    def labels(self, tree: TreeArena) -> Sequence[Hashable]:
        """Return one label per infoset; a player's infosets with the same label are merged."""
        ...


BucketSpec = BucketingRule | Callable[[int, str], Hashable] | Iterable[Iterable[InfosetRef]]


@dataclass(frozen=True, eq=False)
class Abstraction:
    """A smaller game, and the mapping of its policies to the full game."""

    full_tree: TreeArena
    tree: TreeArena  # the smaller game; any algorithm runs on it
    abstract_sequence: Ints  # [S of full_tree] sequence of the smaller game, or -1
    fallback_policy: Policy  # of full_tree, for infosets that the smaller game does not have

    def lift(self, policy: Policy) -> Policy:
        """Return the policy of the full game with equal probabilities in all infosets of a bucket.

        Removed actions have probability 0. Infosets that only removed actions lead to are not in
        the smaller game; there the result follows `fallback_policy`.
        """
        check_same_game(self.tree, policy)
        full, is_mapped = self.full_tree, self.abstract_sequence >= 0
        # index -1 reads the appended 0
        lifted = np.append(policy.probabilities, 0.0)[self.abstract_sequence]
        in_tree = (
            np.logical_or.reduceat(is_mapped, full.offset[:-1]) if is_mapped.size else is_mapped
        )
        in_tree = np.repeat(in_tree, full.num_actions)
        return Policy(full, np.where(in_tree, lifted, self.fallback_policy.probabilities))

    def wrap_algorithm(self, algorithm: AnyAlgorithm) -> AbstractedAlgorithm:
        """Return the algorithm such that it runs on the smaller game and is evaluated in the full.

        Use it as in `cp.solve(tree, abstraction.wrap_algorithm(cp.algorithms.CFRPlus()))`.
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

    @property
    def default_iterations(self) -> int:
        return default_iterations(self.algorithm)

    def with_schedule(self, iterations: int) -> AbstractedAlgorithm:
        return replace(self, algorithm=with_schedule(self.algorithm, iterations))

    def init(self, tree: TreeArena, seed: int = 0) -> Any:
        if tree is not self.abstraction.full_tree:
            raise ConfigError(
                f"this abstraction is of {self.abstraction.full_tree.spec}, another tree"
            )
        return self.algorithm.init(self.abstraction.tree, seed)

    def step(self, tree: TreeArena, memory: Any, iterations: int = 1) -> Any:
        return self.algorithm.step(self.abstraction.tree, memory, iterations)

    def policies(self, tree: TreeArena, memory: Any) -> dict[str, Policy]:
        policies = self.algorithm.policies(self.abstraction.tree, memory)
        return {name: self.abstraction.lift(policy) for name, policy in policies.items()}


def build_abstraction(
    tree: TreeArena,
    buckets: BucketSpec | None = None,
    *,
    player: int | None = None,
    keep_action: ActionFilter | None = None,
) -> Abstraction:
    """Merge infosets, remove actions, or both (Gibson, 2014, definition 2.6).

    Args:
        tree: the full game.
        buckets: a rule such as `ByRank()`; or a function of player and infoset key that returns
            the label of a bucket; or groups of infosets, where infosets in no group stay alone.
        player: merge infosets and remove actions of this player only.
        keep_action: function of player, infoset key and action name; True keeps the action.

    Raises:
        ConfigError: a bucket joins infosets of two players or with different actions, or names an
            infoset that does not exist, or an infoset would have no action left.
    """
    if player is not None and not 0 <= player < tree.num_players:
        raise ConfigError(f"player is {player}, must be from 0 to {tree.num_players - 1}")
    changes = np.ones(tree.num_infosets, bool) if player is None else tree.infoset_player == player
    labels = infoset_labels(tree, buckets)
    labels = [label if changes[i] else ("alone", i) for i, label in enumerate(labels)]
    action_mask = _action_mask(tree, keep_action, changes)
    not_fixed = np.zeros(tree.num_infosets, bool)
    return derive_abstraction(tree, labels, action_mask, not_fixed, uniform_policy(tree))


def fix_policy(tree: TreeArena, policy: Policy, fixed_infosets: InfosetSelection) -> Abstraction:
    """Return the game in which chance plays some infosets by a policy, and players the rest.

    Args:
        tree: the full game.
        policy: is followed in the fixed infosets, also by lifted policies.
        fixed_infosets: a function of player and infoset key, or the infosets.
    """
    check_same_game(tree, policy)
    if callable(fixed_infosets):
        rows = zip(tree.infoset_player.tolist(), tree.infoset_keys, strict=True)
        fixed_mask = np.array([bool(fixed_infosets(*row)) for row in rows], bool)
    else:
        fixed_mask = np.zeros(tree.num_infosets, bool)
        fixed_mask[[resolve_infoset(tree, infoset) for infoset in fixed_infosets]] = True
    action_mask = np.ones(tree.num_sequences, bool)
    return derive_abstraction(tree, infoset_labels(tree, None), action_mask, fixed_mask, policy)


def derive_abstraction(
    tree: TreeArena, labels: Sequence[Hashable], action_mask: Ints, fixed_mask: Ints, policy: Policy
) -> Abstraction:
    """Return the game with infosets of equal player and label merged, and some played by chance.

    Args:
        tree: the full game.
        labels: one per infoset.
        action_mask: [S] True for the actions that stay.
        fixed_mask: [I] True for the infosets that chance plays, by `policy`.
        policy: of the full game; the fallback policy of the abstraction.
    """
    bucket, keys = _number_buckets(tree, labels, fixed_mask)
    _check_buckets(tree, bucket, action_mask)
    spec = f"{tree.spec} with {len(keys)} of {tree.num_infosets} infosets"
    plan = DerivationPlan(spec, bucket, keys, action_mask, policy.probabilities)
    abstract_tree, abstract_sequence = derive_tree(tree, plan)
    return Abstraction(tree, abstract_tree, abstract_sequence, policy)


def resolve_infoset(tree: TreeArena, infoset: InfosetRef) -> int:
    """Return the number of an infoset given by key, by player and key, or by number."""
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
    """Return one label per infoset; the label of an infoset that stays alone is its number."""
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
        shared = grouped.intersection(members)
        if shared or len(set(members)) < len(members):
            repeated = min(shared) if shared else max(members, key=members.count)
            raise ConfigError(f"infoset {tree.infoset_keys[repeated]!r} is in two buckets")
        grouped.update(members)
        owner = tree.infoset_player
        foreign = [member for member in members if owner[member] != owner[members[0]]]
        if foreign:
            raise ConfigError(
                f"a bucket joins {_format_infoset(tree, members[0])} with "
                f"{_format_infoset(tree, foreign[0])}: only infosets of one player can be merged"
            )
        for member in members:
            labels[member] = members[0]
    return labels


def _number_buckets(
    tree: TreeArena, labels: Sequence[Hashable], fixed_mask: Ints
) -> tuple[Ints, list[str]]:
    """Return the bucket of each infoset, numbered from 0, and the keys of the buckets."""
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
    """Return the label if it is a text, else the first key and how many more are merged."""
    label, key = labels[group[0]], tree.infoset_keys[group[0]]
    if isinstance(label, str):
        return label
    return key if len(group) == 1 else f"{key} +{len(group) - 1}"


def _action_mask(tree: TreeArena, keep_action: ActionFilter | None, changes: Ints) -> Ints:
    """Return a mask [S] of the sequences that stay; only infosets in `changes` [I] lose any."""
    mask = np.ones(tree.num_sequences, bool)
    if keep_action is None:
        return mask
    for infoset in np.flatnonzero(changes).tolist():
        first, last = tree.offset[infoset : infoset + 2]
        player, key = int(tree.infoset_player[infoset]), tree.infoset_keys[infoset]
        mask[first:last] = [
            bool(keep_action(player, key, name)) for name in tree.sequence_names[first:last]
        ]
        if not mask[first:last].any():
            raise ConfigError(f"{_format_infoset(tree, infoset)} would have no action left")
    return mask


def _check_buckets(tree: TreeArena, bucket: Ints, action_mask: Ints) -> None:
    """Raise ConfigError if the infosets of a bucket differ in their actions."""
    first_member: dict[int, tuple[int, tuple[int, ...]]] = {}
    for infoset, number in enumerate(bucket.tolist()):
        if number == FIXED_BUCKET:
            continue
        first, last = tree.offset[infoset : infoset + 2]
        legal = tuple(tree.sequence_action[first:last][action_mask[first:last]].tolist())
        other, other_legal = first_member.setdefault(number, (infoset, legal))
        if legal != other_legal:
            raise ConfigError(
                f"a bucket joins {_format_infoset(tree, other)}, whose actions are "
                f"{_format_actions(tree, other)}, with {_format_infoset(tree, infoset)}, whose "
                f"actions are {_format_actions(tree, infoset)}: merged infosets need equal actions"
            )


def _format_actions(tree: TreeArena, infoset: int) -> str:
    return ", ".join(tree.sequence_names[tree.offset[infoset] : tree.offset[infoset + 1]])


def _format_infoset(tree: TreeArena, infoset: int) -> str:
    return f"{tree.infoset_keys[infoset]!r} of player {tree.infoset_player[infoset]}"
