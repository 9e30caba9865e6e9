"""Optimal extensive-form correlated equilibria (EFCE) by linear programming.

With w(z) chance times utility at terminal z, and for a player's sequence t = (I, a), its trigger,

    V(t, s) = sum over terminals z whose last own sequence is s of   w(z) * P(t is recommended and
              the others' recommendations lead to z)

a player who follows gets the sum of V(s, s) over the sequences s from t on. One who hears a at I
and leaves the device gets at most v(I, t), where for all infosets J from I on and actions b

    v(J, t) >= V(t, (J, b)) + sum over own infosets K after (J, b) of v(K, t)

so a distribution of recommendations is an EFCE if v(I, t) <= sum of V(s, s) for all t.

P is linear in the variables of either of two programmes: for two players without chance, the
probabilities of pairs of sequences (von Stengel and Forges, 2008), polynomial in the tree; in other
games, the probabilities of joint plans, which must be few.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.concepts.correlation import JointDistribution
from counterplay.core.arena import Floats, Ints, row_lengths
from counterplay.core.game import CHANCE
from counterplay.core.policy import Policy, as_arena, policy_from_weights
from counterplay.errors import ConfigError
from counterplay.matrix.linear_program import solve_lp
from counterplay.matrix.policy_enumeration import count_pure_policies, list_pure_plans

MAX_JOINT_PLANS = 20_000
WELFARE = "welfare"


@dataclass(frozen=True)
class CorrelatedPlan:
    """An optimal EFCE: every player's value, and the distribution if plans were enumerated."""

    values: Floats  # [P]
    distribution: JointDistribution | None  # None if pairs of sequences were the variables


def optimal_efce(game: Any, objective: str | int = WELFARE) -> CorrelatedPlan:
    """Return the EFCE of a game that is optimal for an objective.

    Args:
        game: the tree, the game or its name; at least two players, with perfect recall.
        objective: "welfare", the sum of all utilities, or a player, whose value is maximised.

    Raises:
        ConfigError: a player forgets, there is one player only, or the game has chance or more
            than two players and too many joint plans.

    Example:
        >>> import counterplay as cp
        >>> cp.concepts.optimal_efce("chicken").values.round(6).tolist()
        [5.25, 5.25]
    """
    tree: TreeArena = as_arena(game)
    if tree.num_players < 2:
        raise ConfigError(f"correlation needs at least two players; {tree.spec} has one")
    if not tree.has_perfect_recall:
        raise ConfigError(f"an EFCE needs perfect recall; a player of {tree.spec} forgets")
    if objective != WELFARE and objective not in range(tree.num_players):
        raise ConfigError(
            f"objective is {objective!r}, must be 'welfare' or a player from 0 to "
            f"{tree.num_players - 1}"
        )
    has_chance = bool((tree.player == CHANCE).any())
    plans = _SequencePairs(tree) if tree.num_players == 2 and not has_chance else _JointPlans(tree)
    rows = _Rows(plans.num_variables)
    for player in range(tree.num_players):
        _add_incentives(tree, player, plans, rows)
    values = np.zeros((tree.num_players, rows.num_columns))
    for player in range(tree.num_players):
        for s in (*_own_sequences(tree, player), tree.num_sequences):
            columns, weights = plans.trigger_values(player, s, s)
            np.add.at(values[player], columns, weights)
    cost = -(values.sum(axis=0) if objective == WELFARE else values[int(objective)])
    scale = np.abs(cost).max(initial=0.0) or 1.0
    solution = solve_lp(
        cost / scale,
        inequalities=rows.matrix(),
        equalities=plans.constraints(rows.num_columns),
        num_free=rows.num_columns - plans.num_variables,
        name="optimal_efce",
    )
    return CorrelatedPlan(values @ solution.x, plans.distribution(solution.x))


class _Rows:
    """Rows of inequalities "sum <= 0" in the making; free variables come after the plans."""

    def __init__(self, num_variables: int):
        self.num_columns, self.count = num_variables, 0
        self.parts: list[tuple[Ints, Ints, Floats]] = []

    def new_variable(self) -> int:
        self.num_columns += 1
        return self.num_columns - 1

    def add(self, *terms: tuple[Ints, Floats]) -> None:
        columns = np.concatenate([np.atleast_1d(columns) for columns, _ in terms])
        values = np.concatenate([np.atleast_1d(values) for _, values in terms])
        self.parts.append((np.full(columns.size, self.count), columns, values))
        self.count += 1

    def matrix(self) -> tuple[Any, Floats]:
        from scipy.sparse import coo_array

        row, column, value = (np.concatenate(part) for part in zip(*self.parts, strict=True))
        shape = (self.count, self.num_columns)
        return coo_array((value, (row, column)), shape=shape).tocsr(), np.zeros(self.count)


def _own_sequences(tree: TreeArena, player: int) -> range:
    first, last = tree.form.player_infoset[player : player + 2]
    return range(int(tree.form.offset[first]), int(tree.form.offset[last]))


def _sequences(tree: TreeArena, infoset: int) -> range:
    return range(int(tree.form.offset[infoset]), int(tree.form.offset[infoset + 1]))


def _followers(tree: TreeArena) -> dict[int, list[int]]:
    """Return the player's next infosets after each sequence."""
    followers: dict[int, list[int]] = {}
    for infoset, parent in enumerate(tree.form.parent.tolist()):
        followers.setdefault(parent, []).append(infoset)
    return followers


def _infosets_below(followers: dict[int, list[int]], tree: TreeArena, infoset: int) -> list[int]:
    """Return an infoset and all later ones of its player, parents first."""
    below = [infoset]
    for current in below:
        for s in _sequences(tree, current):
            below += followers.get(s, ())
    return below


def _add_incentives(tree: TreeArena, player: int, plans: Any, rows: _Rows) -> None:
    """Add the inequalities that no trigger of a player makes it leave the device."""
    followers = _followers(tree)
    root = tree.num_sequences
    followers.pop(root, None)
    first, last = map(int, tree.form.player_infoset[player : player + 2])
    for infoset in range(first, last):
        below = _infosets_below(followers, tree, infoset)
        for trigger in _sequences(tree, infoset):
            bound = {later: rows.new_variable() for later in below}
            for later in below:
                for s in _sequences(tree, later):
                    next_bounds = np.array([bound[k] for k in followers.get(s, ())], np.int64)
                    rows.add(
                        plans.trigger_values(player, trigger, s),
                        (next_bounds, np.ones(next_bounds.size)),
                        (np.array([bound[later]]), -np.ones(1)),
                    )
            followed = [trigger]
            for k in (
                k for j in followers.get(trigger, ()) for k in _infosets_below(followers, tree, j)
            ):
                followed += _sequences(tree, k)
            terms = [plans.trigger_values(player, s, s) for s in followed]
            rows.add(
                (np.array([bound[infoset]]), np.ones(1)),
                *((columns, -values) for columns, values in terms),
            )


def _entries_by_sequence(tree: TreeArena, player: int) -> dict[int, tuple[Ints, Floats]]:
    """Return the others' last sequences [E, P - 1] and weights [E] of each own last sequence."""
    form = tree.form
    rows = range(int(form.player_row[player]), int(form.player_row[player + 1]))
    return {
        int(form.row_sequence[r]): (
            form.other[form.row_offset[r] : form.row_offset[r + 1]].astype(np.int64),
            form.weight[form.row_offset[r] : form.row_offset[r + 1]],
        )
        for r in rows
    }


class _SequencePairs:
    """The variables of von Stengel and Forges: probabilities of relevant pairs of sequences.

    A pair is relevant if one of its sequences is empty, or if some path of the tree passes through
    the infosets of both.
    """

    def __init__(self, tree: TreeArena):
        self.tree, self.root = tree, tree.num_sequences
        self.connected = infoset_pairs_on_paths(tree, 0, 1)
        self.infoset_of = np.repeat(np.arange(tree.num_infosets), row_lengths(tree.form.offset))
        first = [*_own_sequences(tree, 0), self.root]
        second = [*_own_sequences(tree, 1), self.root]
        relevant = [pair for pair in product(first, second) if self._is_relevant(*pair)]
        self.column = {pair: k for k, pair in enumerate(relevant)}
        self.num_variables = len(relevant)
        self.entries = [_entries_by_sequence(tree, player) for player in range(2)]

    def _is_relevant(self, s: int, t: int) -> bool:
        if self.root in (s, t):
            return True
        return (int(self.infoset_of[s]), int(self.infoset_of[t])) in self.connected

    def trigger_values(self, player: int, trigger: int, s: int) -> tuple[Ints, Floats]:
        """Return V(trigger, s) as columns and coefficients."""
        if s not in self.entries[player]:
            return np.zeros(0, np.int64), np.zeros(0)
        others, weights = self.entries[player][s]
        pairs = ((trigger, t) if player == 0 else (t, trigger) for t in others[:, 0].tolist())
        return np.array([self.column[pair] for pair in pairs], np.int64), weights

    def constraints(self, num_columns: int) -> tuple[Any, Floats]:
        """Return the equalities: the sequences of an infoset sum to its parent."""
        from scipy.sparse import coo_array

        tree, rows = self.tree, list[tuple[int, int, float]]()
        count = 0
        for infoset in range(tree.num_infosets):
            player = int(tree.infoset_player[infoset])
            parent = int(tree.form.parent[infoset])
            for t in (*_own_sequences(tree, 1 - player), self.root):
                sequences = _sequences(tree, infoset)
                pairs = [(s, t) if player == 0 else (t, s) for s in (*sequences, parent)]
                if pairs[0] not in self.column:
                    continue
                rows += [(count, self.column[pair], 1.0) for pair in pairs[:-1]]
                rows.append((count, self.column[pairs[-1]], -1.0))
                count += 1
        rows.append((count, self.column[self.root, self.root], 1.0))
        right_side = np.zeros(count + 1)
        right_side[-1] = 1.0
        row, column, value = map(np.array, zip(*rows, strict=True))
        return coo_array((value, (row, column)), shape=(count + 1, num_columns)).tocsr(), right_side

    def distribution(self, solution: Floats) -> None:
        """Return None: a plan of pairs is not a list of joint policies."""
        return


def infoset_pairs_on_paths(tree: TreeArena, first: int, second: int) -> set[tuple[int, int]]:
    """Return the pairs of infosets of two players that some path passes through."""
    pairs: set[tuple[int, int]] = set()
    players, parents = tree.player.tolist(), tree.parent.tolist()
    infosets = tree.infoset.tolist()
    for node, player in enumerate(players):
        if player != first and player != second:
            continue
        above, partner = parents[node], second if player == first else first
        while above >= 0:
            if players[above] == partner:
                pair = infosets[node], infosets[above]
                pairs.add(pair if player == first else (pair[1], pair[0]))
            above = parents[above]
    return pairs


class _JointPlans:
    """The variables of small games with chance or more players: probabilities of joint plans."""

    def __init__(self, tree: TreeArena):
        counts = count_pure_policies(tree)
        if prod(counts) > MAX_JOINT_PLANS:
            size = " x ".join(f"{count:,}" if count < 10**9 else f"{count:.1e}" for count in counts)
            raise ConfigError(
                f"{tree.spec} has chance or more than two players and {size} joint plans, over "
                f"{MAX_JOINT_PLANS:,}; check a distribution with correlation_gaps instead"
            )
        self.tree, self.num_variables = tree, prod(counts)
        self.plans = [
            list_pure_plans(tree, player, MAX_JOINT_PLANS) for player in range(tree.num_players)
        ]
        joint = np.indices(counts).reshape(tree.num_players, -1)
        self.is_played = [plans[rows] > 0.0 for plans, rows in zip(self.plans, joint, strict=True)]
        self.entries = [_entries_by_sequence(tree, player) for player in range(tree.num_players)]

    def trigger_values(self, player: int, trigger: int, s: int) -> tuple[Ints, Floats]:
        """Return V(trigger, s) as columns and coefficients."""
        if s not in self.entries[player]:
            return np.zeros(0, np.int64), np.zeros(0)
        others, weights = self.entries[player][s]
        columns = np.flatnonzero(self.is_played[player][:, trigger])
        reached = np.ones((columns.size, weights.size))
        rest = (p for p in range(self.tree.num_players) if p != player)
        for j, other in enumerate(rest):
            reached *= self.is_played[other][columns][:, others[:, j]]
        return columns, reached @ weights

    def constraints(self, num_columns: int) -> tuple[Any, Floats]:
        """Return the equality that the probabilities sum to 1."""
        row = np.zeros((1, num_columns))
        row[0, : self.num_variables] = 1.0
        return row, np.ones(1)

    def distribution(self, solution: Floats) -> JointDistribution:
        """Return the joint plans with positive probability."""
        weights = np.maximum(solution[: self.num_variables], 0.0)
        played = np.flatnonzero(weights > 1e-12)
        policies = [_policy_from_plans(self.tree, self.is_played, int(k)) for k in played]
        return JointDistribution(
            self.tree, weights[played] / weights[played].sum(), tuple(policies)
        )


def _policy_from_plans(tree: TreeArena, is_played: Iterable[Any], k: int) -> Policy:
    """Return joint plan k as a policy, with the first action at infosets that it does not reach."""
    weights = np.zeros(tree.num_sequences)
    for plans in is_played:
        weights += plans[k, :-1]
    fallback = np.zeros(tree.num_sequences)
    fallback[tree.offset[:-1]] = 1.0
    return policy_from_weights(tree, weights, fallback)
