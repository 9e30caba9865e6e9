"""The normal form of a tree: every reduced pure policy is an action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, row_lengths
from counterplay.core.policy import Policy, policy_from_weights
from counterplay.errors import ConfigError, RunError
from counterplay.matrix.normal_form import MAX_JOINT_ACTIONS, NormalForm, Profile, check_profile

MAX_PRODUCT_ENTRIES = 2_000_000  # of a product of the players' plans in memory


@dataclass(frozen=True, eq=False)
class PurePolicies:
    """The normal form of a tree, and conversions between its profiles and policies.

    Action a of player i is the plan `plans[i][a]`: 1 at every sequence that the player takes if the
    others allow it, 0 elsewhere. Plans omit infosets that the player's earlier actions exclude, so
    no two actions are equivalent.
    """

    tree: TreeArena
    normal_form: NormalForm
    plans: tuple[Floats, ...]  # [A_i, S + 1], the last entry for "has not acted yet"

    def policy_from_profile(self, profile: Sequence[ArrayLike]) -> Policy:
        """Return the policy with the same reach probabilities as a profile (Kuhn, 1953)."""
        mixtures = check_profile(self.normal_form, profile)
        weights = sum(
            (mixture @ plans[:, :-1] for mixture, plans in zip(mixtures, self.plans, strict=True)),
            np.zeros(self.tree.num_sequences),
        )
        return policy_from_weights(self.tree, np.maximum(weights, 0.0))

    def profile_from_policy(self, policy: Policy) -> Profile:
        """Return the profile with the same reach probabilities as a policy."""
        probabilities = np.append(policy.probabilities, 1.0)
        return tuple(np.where(plans > 0.0, probabilities, 1.0).prod(axis=1) for plans in self.plans)


def count_pure_policies(tree: TreeArena) -> tuple[int, ...]:
    """Return the number of reduced pure policies of each player, without enumerating them."""
    _check_tree(tree)
    counts = _count_plans(tree)
    return tuple(prod(counts[i] for i in _first_infosets(tree, p)) for p in range(tree.num_players))


def pure_policies(tree: TreeArena, max_joint_actions: int = MAX_JOINT_ACTIONS) -> PurePolicies:
    """Return the normal form over all reduced pure policies of a tree with perfect recall.

    Args:
        tree: the tree of the game.
        max_joint_actions: the largest number of joint actions allowed.

    Raises:
        ConfigError: if a player forgets, or there is only one player.
        RunError: if there are more joint actions than allowed; it states their number.

    Example:
        >>> import counterplay as cp
        >>> cp.matrix.pure_policies(cp.build_tree("kuhn_poker")).normal_form.shape
        (27, 64)
    """
    counts = count_pure_policies(tree)
    if prod(counts) > max_joint_actions:
        size = " x ".join(map(_format_count, counts))
        raise RunError(
            f"{tree.spec} has {size} reduced pure policies, more than {max_joint_actions:,} in "
            "all; its normal form is too large: solve the tree itself"
        )
    followers = _next_infosets(tree)
    plans = tuple(
        _enumerate_plans(tree, followers, _first_infosets(tree, player))
        for player in range(tree.num_players)
    )
    names = tuple(
        tuple(_plan_name(tree, p, plan) for plan in plans[p]) for p in range(tree.num_players)
    )
    utility = np.stack([_utility_table(tree, player, plans) for player in range(tree.num_players)])
    return PurePolicies(tree, NormalForm(utility, names), plans)


def list_pure_plans(tree: TreeArena, player: int, max_plans: int) -> Floats:
    """Return all reduced pure policies of a player as plans [A_i, S + 1].

    Raises:
        ConfigError: if there are more than `max_plans`.
    """
    count = count_pure_policies(tree)[player]
    if count > max_plans:
        raise ConfigError(
            f"player {player} of {tree.spec} has {_format_count(count)} pure policies, "
            f"over {max_plans:,}"
        )
    return _enumerate_plans(tree, _next_infosets(tree), _first_infosets(tree, player))


def _format_count(count: int) -> str:
    return f"{count:,}" if count < 10**12 else f"{count:.2e}"


def _check_tree(tree: TreeArena) -> None:
    if not tree.has_perfect_recall:
        raise ConfigError(
            f"the players of {tree.spec} forget; pure policies suffice with perfect recall only"
        )
    if tree.num_players < 2:
        raise ConfigError(f"{tree.spec} has one player; a normal form needs at least two")


def _next_infosets(tree: TreeArena) -> dict[int, list[int]]:
    """Return the player's next infosets after each sequence, without those before all actions."""
    followers: dict[int, list[int]] = {}
    for infoset, parent in enumerate(tree.form.parent.tolist()):
        followers.setdefault(parent, []).append(infoset)
    followers.pop(tree.num_sequences, None)
    return followers


def _first_infosets(tree: TreeArena, player: int) -> list[int]:
    """Return the infosets where a player has not acted before."""
    first, last = tree.form.player_infoset[player : player + 2]
    return [i for i in range(first, last) if tree.form.parent[i] == tree.num_sequences]


def _count_plans(tree: TreeArena) -> list[int]:
    """Return the number of plans from each infoset on, a sum of products."""
    followers = _next_infosets(tree)
    counts = [0] * tree.num_infosets
    for infoset in reversed(range(tree.num_infosets)):  # later infosets have higher numbers
        first, last = map(int, tree.form.offset[infoset : infoset + 2])
        counts[infoset] = sum(
            prod(counts[follower] for follower in followers.get(sequence, ()))
            for sequence in range(first, last)
        )
    return counts


def _enumerate_plans(
    tree: TreeArena, followers: dict[int, list[int]], infosets: list[int]
) -> Floats:
    """Return all plans from these infosets on, as rows of zeros and ones [., S + 1]."""
    plans_by_infoset = [_plans_from_infoset(tree, followers, infoset) for infoset in infosets]
    plans = []
    for combination in product(*plans_by_infoset):
        plan = np.zeros(tree.num_sequences + 1)
        plan[[sequence for part in combination for sequence in part]] = 1.0
        plan[-1] = 1.0
        plans.append(plan)
    return np.array(plans)


def _plans_from_infoset(
    tree: TreeArena, followers: dict[int, list[int]], infoset: int
) -> list[tuple[int, ...]]:
    """Return the sequences of every plan from one infoset on."""
    plans: list[tuple[int, ...]] = []
    for sequence in range(*map(int, tree.form.offset[infoset : infoset + 2])):
        later_plans = [
            _plans_from_infoset(tree, followers, follower)
            for follower in followers.get(sequence, ())
        ]
        for combination in product(*later_plans):
            plans.append((sequence, *(s for part in combination for s in part)))
    return plans


def _plan_name(tree: TreeArena, player: int, plan: Floats) -> str:
    """Return a name such as `J bet, Q pass`, or the action's name if there is one infoset."""
    first, last = tree.player_infoset[player : player + 2]
    sequences = np.flatnonzero(plan[:-1])
    names = [tree.sequence_names[s] for s in sequences]
    if last - first == 1:
        return names[0]
    infosets = np.searchsorted(tree.offset, sequences, side="right") - 1
    keys = [tree.infoset_keys[i] for i in infosets]
    parts = sorted((i, f"{key} {name}") for i, key, name in zip(infosets, keys, names, strict=True))
    return ", ".join(part for _, part in parts) or "-"


def _utility_table(tree: TreeArena, player: int, plans: tuple[Floats, ...]) -> Floats:
    """Return a player's utility for every joint action, a sum over the terminals it reaches."""
    form = tree.form
    rows = slice(int(form.player_row[player]), int(form.player_row[player + 1]))
    first = int(form.row_offset[form.player_row[player]])
    last = int(form.row_offset[form.player_row[player + 1]])
    lengths = row_lengths(
        form.row_offset[form.player_row[player] : form.player_row[player + 1] + 1]
    )
    own_sequence = np.repeat(form.row_sequence[rows].astype(np.int64), lengths)
    sequences = np.insert(form.other[first:last].astype(np.int64), player, own_sequence, axis=1)
    weight = form.weight[first:last]
    shape = tuple(len(part) for part in plans)
    total = np.zeros((shape[0], prod(shape[1:])))
    step = max(1, MAX_PRODUCT_ENTRIES // total.shape[1])
    for start in range(0, weight.size, step):
        part = sequences[start : start + step]
        rest = np.ones((1, part.shape[0]))
        for other in range(1, tree.num_players):
            is_taken = plans[other][:, part[:, other]]
            rest = (rest[:, None, :] * is_taken[None, :, :]).reshape(-1, part.shape[0])
        total += (plans[0][:, part[:, 0]] * weight[start : start + step]) @ rest.T
    rounding = 4.0 * np.finfo(float).eps * np.abs(weight).sum()
    total[np.abs(total) <= rounding] = 0.0  # sums that cancel must be 0, or ties are lost
    return total.reshape(shape)
