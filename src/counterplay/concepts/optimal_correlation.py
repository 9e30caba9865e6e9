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
games, the probabilities of joint plans. If these are many, columns are generated: the plan with the
largest reduced cost is looked for by best responses of the players in turn, and a mixed-integer
programme bounds what any other plan could add.
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
from counterplay.concepts.joint_plans import JointPlanProgram, infoset_pairs_on_paths
from counterplay.core.arena import Floats, Ints, row_lengths
from counterplay.core.game import CHANCE
from counterplay.core.policy import Policy, as_arena, policy_from_weights
from counterplay.errors import ConfigError, RunError
from counterplay.matrix.linear_program import solve_lp
from counterplay.matrix.policy_enumeration import count_pure_policies, list_pure_plans

MAX_JOINT_PLANS = 20_000  # above which columns are generated
MAX_PAIRS = 2_000  # of two players' sequences, in the search for columns
MAX_PRODUCTS = 1_000  # of more players' sequences, whose programme is weaker
MAX_ROUNDS = 500
NUM_STARTS = 10  # random plans and plans in use from which players respond in turn, per round
EFCE_TOLERANCE = 1e-9  # largest violation of incentives, as a fraction of the largest gain
OPTIMALITY_TOLERANCE = 1e-7
WELFARE = "welfare"


@dataclass(frozen=True)
class CorrelatedPlan:
    """An optimal EFCE: every player's value, and the distribution if plans were the variables."""

    values: Floats  # [P]
    distribution: JointDistribution | None  # None if pairs of sequences were the variables
    gap: float = 0.0  # by which another EFCE may at most be better; 0 without column generation


def optimal_efce(game: Any, objective: str | int = WELFARE) -> CorrelatedPlan:
    """Return the EFCE of a game that is optimal for an objective.

    Args:
        game: the tree, the game or its name; at least two players, with perfect recall.
        objective: "welfare", the sum of all utilities, or a player, whose value is maximised.

    Raises:
        ConfigError: a player forgets, there is one player only, or the game has chance or more
            than two players and is too large for column generation.

    Example:
        >>> import counterplay as cp
        >>> cp.concepts.optimal_efce("chicken").values.round(6).tolist()
        [5.25, 5.25]
    """
    tree: TreeArena = as_arena(game)
    if tree.num_players < 2:
        raise ConfigError(
            f"correlation needs at least two players; {tree.spec} has one: compute best_response"
        )
    if not tree.has_perfect_recall:
        raise ConfigError(
            f"an EFCE needs perfect recall; a player of {tree.spec} forgets: take "
            "`tree.perfect_recall_tree` instead"
        )
    if objective != WELFARE and objective not in range(tree.num_players):
        raise ConfigError(
            f"objective is {objective!r}, must be 'welfare' or a player from 0 to "
            f"{tree.num_players - 1}"
        )
    has_chance = bool((tree.player == CHANCE).any())
    is_polynomial = tree.num_players == 2 and not has_chance
    if not is_polynomial and prod(count_pure_policies(tree)) > MAX_JOINT_PLANS:
        return _generate_columns(tree, objective)
    plans = _SequencePairs(tree) if is_polynomial else _JointPlans(tree)
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


class _JointPlans:
    """The variables of small games with chance or more players: probabilities of joint plans."""

    def __init__(self, tree: TreeArena):
        counts = count_pure_policies(tree)
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
    """Return joint plan k as a policy."""
    weights = np.zeros(tree.num_sequences)
    for plans in is_played:
        weights += plans[k, :-1]
    return _policy_from_weights(tree, weights)


def _policy_from_weights(tree: TreeArena, weights: Floats) -> Policy:
    """Return a joint plan as a policy, with the first action at infosets that it does not reach."""
    fallback = np.zeros(tree.num_sequences)
    fallback[tree.offset[:-1]] = 1.0
    return policy_from_weights(tree, weights, fallback)


class _Products:
    """The variables of column generation: products of the players' plans at some sequences.

    V(trigger, s) is a sum over the others' last sequences of such products, with the trigger as
    the player's own sequence.
    """

    def __init__(self, tree: TreeArena):
        self.tree, self.entries = tree, []
        self.column: dict[tuple[int, ...], int] = {}
        followers, root = _followers(tree), tree.num_sequences
        followers.pop(root, None)
        for player in range(tree.num_players):
            self.entries.append(_entries_by_sequence(tree, player))
            self.trigger_values(player, root, root)
            for infoset in range(*map(int, tree.form.player_infoset[player : player + 2])):
                later = [
                    s
                    for j in _infosets_below(followers, tree, infoset)
                    for s in _sequences(tree, j)
                ]
                for trigger in _sequences(tree, infoset):
                    for s in later:
                        self.trigger_values(player, trigger, s)
        self.num_variables = len(self.column)
        self.sequences = np.array(list(self.column), np.int64)  # [variables, P]

    def trigger_values(self, player: int, trigger: int, s: int) -> tuple[Ints, Floats]:
        """Return V(trigger, s) as columns and coefficients."""
        if s not in self.entries[player]:
            return np.zeros(0, np.int64), np.zeros(0)
        others, weights = self.entries[player][s]
        keys = (
            (*row[:player], trigger, *row[player:])
            for row in others.reshape(-1, others.shape[1]).tolist()
        )
        columns = [self.column.setdefault(key, len(self.column)) for key in keys]
        return np.array(columns, np.int64), weights


def _generate_columns(tree: TreeArena, objective: str | int) -> CorrelatedPlan:
    """Return an optimal EFCE by column generation over joint plans.

    First the violation of the incentives is minimised, to find an EFCE; then the objective is
    maximised without violation.

    Raises:
        ConfigError: the game is too large.
        RunError: the columns did not suffice after many rounds.
    """
    products = _Products(tree)
    limit = MAX_PAIRS if tree.num_players == 2 else MAX_PRODUCTS
    if products.num_variables > limit:
        raise ConfigError(
            f"{tree.spec} has chance or more than two players, and column generation would need "
            f"{products.num_variables:,} products of sequences, over {limit:,}; run efr with "
            "causal_partial_sequence, whose play approaches an EFCE, and check it with "
            "correlation_gaps"
        )
    rows = _Rows(products.num_variables)
    for player in range(tree.num_players):
        _add_incentives(tree, player, products, rows)
    matrix = rows.matrix()[0].tocsc()
    values = np.zeros((tree.num_players, products.num_variables))
    for player in range(tree.num_players):
        for s in (*_own_sequences(tree, player), tree.num_sequences):
            columns, weights = products.trigger_values(player, s, s)
            np.add.at(values[player], columns, weights)
    gains = values.sum(axis=0) if objective == WELFARE else values[int(objective)]
    master = _Master(tree, products, matrix, gains)
    master.minimise_violation()
    gap = master.maximise()
    weights = np.maximum(master.weights, 0.0)
    weights /= weights.sum()
    played = np.flatnonzero(weights > 1e-12)
    policies = tuple(_policy_from_weights(tree, master.plans[k][:-1]) for k in played)
    distribution = JointDistribution(tree, weights[played] / weights[played].sum(), policies)
    active = np.array(master.products[: weights.size])  # the last search may have added a plan
    return CorrelatedPlan(values @ (weights @ active), distribution, gap)


class _Master:
    """The programme of the joint plans so far, and the search for better plans."""

    def __init__(self, tree: TreeArena, products: _Products, matrix: Any, gains: Floats):
        self.program = JointPlanProgram(tree, tuple(range(tree.num_players)))
        self.tree, self.sequences, count = tree, products.sequences, products.num_variables
        self.incentives, self.bounds = matrix[:, :count], matrix[:, count:]
        self.gains, self.rng = gains, np.random.default_rng(0)
        self.scale = float(np.abs(gains).max(initial=0.0)) or 1.0
        self.plans: list[Floats] = []
        self.products: list[Floats] = []  # [variables] of each plan
        self.keys: set[bytes] = set()
        self.weights: Floats = np.zeros(0)
        for _ in range(NUM_STARTS):
            start = self.program.random_plan(self.rng)
            self._add(self.program.improve_plan(gains, self.sequences, start)[0])

    def _add(self, plan: Floats) -> bool:
        if plan.tobytes() in self.keys:
            return False
        self.keys.add(plan.tobytes())
        self.plans.append(plan)
        self.products.append(np.prod(plan[self.sequences], axis=1))
        return True

    def minimise_violation(self) -> None:
        """Add plans until the incentives of all triggers can be met."""
        for _ in range(MAX_ROUNDS):
            violation, weight, price = self._solve(np.zeros_like(self.gains), 1.0)
            if violation <= EFCE_TOLERANCE * self.scale:
                return
            if self._add_plans(weight, price, EFCE_TOLERANCE * self.scale) <= 0.0:
                break
        raise RunError(f"no EFCE of {self.tree.spec} was found by column generation")

    def maximise(self) -> float:
        """Add plans until none improves the objective; return a bound of the improvement."""
        for _ in range(MAX_ROUNDS):
            _, weight, price = self._solve(self.gains, 0.0)
            gap = self._add_plans(weight, price, OPTIMALITY_TOLERANCE * self.scale)
            if gap <= OPTIMALITY_TOLERANCE * self.scale:
                return max(gap, 0.0)
        raise RunError(f"no optimal EFCE of {self.tree.spec} after {MAX_ROUNDS:,} rounds")

    def _solve(self, gains: Floats, violation_cost: float) -> tuple[float, Floats, float]:
        """Solve for the weights of plans.

        Returns:
            The violation, the value [variables] of products by which plans are judged, and the
            value that a new plan must exceed.
        """
        from scipy.optimize import linprog
        from scipy.sparse import coo_array, hstack

        active = np.array(self.products).T  # [variables, plans]
        count, num_rows = active.shape[1], self.incentives.shape[0]
        slack = coo_array(np.full((num_rows, 1), -1.0 if violation_cost else 0.0))
        matrix = hstack([coo_array(self.incentives @ active), self.bounds, slack]).tocsr()
        cost = np.zeros(matrix.shape[1])
        cost[:count] = -(gains @ active)
        cost[-1] = violation_cost
        equality = np.zeros((1, cost.size))
        equality[0, :count] = 1.0
        free = [(None, None)] * self.bounds.shape[1]
        slack_limit = EFCE_TOLERANCE * self.scale  # in both phases, since phase 1 ends with it
        result = linprog(
            cost,
            A_ub=matrix,
            b_ub=np.full(num_rows, 0.0 if violation_cost else slack_limit),
            A_eq=equality,
            b_eq=np.ones(1),
            bounds=[(0, None)] * count + free + [(0, None)],
            method="highs",
        )
        if result.x is None:
            raise RunError(f"the programme of joint plans of {self.tree.spec} failed")
        self.weights = result.x[:count]
        prices = -result.ineqlin.marginals
        weight = gains - self.incentives.T @ prices
        return float(result.x[-1]), np.asarray(weight), float(-result.eqlin.marginals[0])

    def _add_plans(self, weight: Floats, price: float, accepted: float) -> float:
        """Add plans worth more than the price; return a bound of the largest excess."""
        best, program = -np.inf, self.program
        starts = [program.random_plan(self.rng) for _ in range(NUM_STARTS)]
        starts += [self.plans[k] for k in np.argsort(-self.weights)[:NUM_STARTS]]
        for start in starts:
            plan, value = program.improve_plan(weight, self.sequences, start)
            if value - price > accepted and self._add(plan):
                best = max(best, value - price)
        if best > accepted:
            return best
        search = program.solve_pairs if len(program.team) == 2 else program.solve_terminals
        plan, bound = search(weight, self.sequences, accepted / 2.0)
        is_new = self._add(plan)
        return bound - price if is_new else min(bound - price, accepted)
