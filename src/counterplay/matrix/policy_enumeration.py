"""From extensive form to normal form: every reduced pure policy becomes an action."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, row_lengths
from counterplay.core.policy import Policy, policy_from_weights
from counterplay.errors import ConfigError, RunError
from counterplay.matrix.normal_form import MAX_JOINT_ACTIONS, NormalForm, Profile, check_profile

MAX_PRODUCT_ENTRIES = 2_000_000  # entries of a product of two players' plans held at once


@dataclass(frozen=True, eq=False)
class PurePolicies:
    """The normal form of a tree, and the way back.

    Action a of player i is the plan `plans[i][a]`: 1 at every sequence that the player takes if the
    others let it, 0 elsewhere. Infosets that the player's own earlier actions exclude are left out,
    so that no two actions always do the same.
    """

    tree: TreeArena
    normal_form: NormalForm
    plans: tuple[Floats, ...]  # [A_i, S + 1], the last entry for "has not acted yet"

    def policy_from_profile(self, profile: Any) -> Policy:
        """The policy that reaches everything as often as the mixtures do (Kuhn, 1953)."""
        mixtures = check_profile(self.normal_form, profile)
        weights = sum(
            (mixture @ plans[:, :-1] for mixture, plans in zip(mixtures, self.plans, strict=True)),
            np.zeros(self.tree.num_sequences),
        )
        return policy_from_weights(self.tree, np.maximum(weights, 0.0))

    def profile_from_policy(self, policy: Policy) -> Profile:
        """The mixtures that reach everything as often as the policy does."""
        chosen = np.append(policy.probabilities, 1.0)
        return tuple(np.where(plans > 0.0, chosen, 1.0).prod(axis=1) for plans in self.plans)


def count_pure_policies(tree: TreeArena) -> tuple[int, ...]:
    """How many reduced pure policies each player has, however many that is."""
    _check_tree(tree)
    counts = _count_plans(tree)
    return tuple(prod(counts[i] for i in _first_infosets(tree, p)) for p in range(tree.num_players))


def pure_policies(tree: TreeArena, max_joint_actions: int = MAX_JOINT_ACTIONS) -> PurePolicies:
    """The normal form over all reduced pure policies of a tree with perfect recall.

    A RunError gives the count, if there are more than `max_joint` joint actions.
    """
    counts = count_pure_policies(tree)
    if prod(counts) > max_joint_actions:
        size = " x ".join(f"{count:,}" if count < 10**12 else f"{count:.2e}" for count in counts)
        raise RunError(
            f"{tree.spec} has {size} reduced pure policies, more than {max_joint_actions:,} in all; "
            "its normal form is too large: solve the tree itself"
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
    """All reduced pure policies of one player as plans [A_i, S + 1]; at most so many."""
    count = count_pure_policies(tree)[player]
    if count > max_plans:
        size = f"{count:,}" if count < 10**12 else f"{count:.2e}"
        raise ConfigError(
            f"player {player} of {tree.spec} has {size} pure policies, over {max_plans:,}"
        )
    return _enumerate_plans(tree, _next_infosets(tree), _first_infosets(tree, player))


def _check_tree(tree: TreeArena) -> None:
    if not tree.has_perfect_recall:
        raise ConfigError(
            f"the players of {tree.spec} forget; only with perfect recall do pure policies suffice"
        )
    if tree.num_players < 2:
        raise ConfigError(f"{tree.spec} has one player; a normal form needs at least two")


def _next_infosets(tree: TreeArena) -> dict[int, list[int]]:
    """The infosets that come next after each sequence of the same player; roots not included."""
    found: dict[int, list[int]] = {}
    for infoset, parent in enumerate(tree.form.parent.tolist()):
        found.setdefault(parent, []).append(infoset)
    found.pop(tree.num_sequences, None)
    return found


def _first_infosets(tree: TreeArena, player: int) -> list[int]:
    """The player's infosets with nothing of its own before them."""
    first, last = tree.form.player_infoset[player : player + 2]
    return [i for i in range(first, last) if tree.form.parent[i] == tree.num_sequences]


def _count_plans(tree: TreeArena) -> list[int]:
    """How many ways there are to plan from each infoset on: a sum of products."""
    followers = _next_infosets(tree)
    counts = [0] * tree.num_infosets
    for infoset in reversed(range(tree.num_infosets)):  # later infosets have higher numbers
        first, last = map(int, tree.form.offset[infoset : infoset + 2])
        counts[infoset] = sum(
            prod(counts[next_one] for next_one in followers.get(sequence, ()))
            for sequence in range(first, last)
        )
    return counts


def _enumerate_plans(
    tree: TreeArena, followers: dict[int, list[int]], infosets: list[int]
) -> Floats:
    """All plans from these infosets on, as rows of zeros and ones."""
    chosen = [_plans_from_infoset(tree, followers, infoset) for infoset in infosets]
    plans = []
    for combination in product(*chosen):
        plan = np.zeros(tree.num_sequences + 1)
        plan[[sequence for part in combination for sequence in part]] = 1.0
        plan[-1] = 1.0
        plans.append(plan)
    return np.array(plans)


def _plans_from_infoset(
    tree: TreeArena, followers: dict[int, list[int]], infoset: int
) -> list[tuple[int, ...]]:
    """The sequences of every plan from one infoset on."""
    ways: list[tuple[int, ...]] = []
    for sequence in range(*map(int, tree.form.offset[infoset : infoset + 2])):
        below = [
            _plans_from_infoset(tree, followers, next_one)
            for next_one in followers.get(sequence, ())
        ]
        for combination in product(*below):
            ways.append((sequence, *(s for part in combination for s in part)))
    return ways


def _plan_name(tree: TreeArena, player: int, plan: Floats) -> str:
    """Such as `J bet, Q pass`; the action alone where the player has one infoset."""
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
    """The player's utility for every joint action: a sum over the terminals it reaches."""
    form = tree.form
    rows = slice(int(form.player_row[player]), int(form.player_row[player + 1]))
    first = int(form.row_offset[form.player_row[player]])
    last = int(form.row_offset[form.player_row[player + 1]])
    lengths = row_lengths(
        form.row_offset[form.player_row[player] : form.player_row[player + 1] + 1]
    )
    own = np.repeat(form.row_sequence[rows].astype(np.int64), lengths)
    sequences = np.insert(form.other[first:last].astype(np.int64), player, own, axis=1)
    weight = form.weight[first:last]
    shape = tuple(len(part) for part in plans)
    total = np.zeros((shape[0], prod(shape[1:])))
    step = max(1, MAX_PRODUCT_ENTRIES // total.shape[1])
    for start in range(0, weight.size, step):
        part = sequences[start : start + step]
        rest = np.ones((1, part.shape[0]))
        for other in range(1, tree.num_players):
            taken = plans[other][:, part[:, other]]
            rest = (rest[:, None, :] * taken[None, :, :]).reshape(-1, part.shape[0])
        total += (plans[0][:, part[:, 0]] * weight[start : start + step]) @ rest.T
    rounding = 4.0 * np.finfo(float).eps * np.abs(weight).sum()
    total[np.abs(total) <= rounding] = 0.0  # what cancels must cancel, or ties are lost
    return total.reshape(shape)
