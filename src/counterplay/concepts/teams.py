"""Two-team zero-sum games: team maxmin equilibria with correlation (TMECor)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from counterplay.algorithms.game_requirements import (
    USE_RECALL_TREE,
    require_perfect_recall,
)
from counterplay.arenas.tree.arena import TreeArena
from counterplay.concepts.joint_plans import JointPlanProgram
from counterplay.core.arena import Floats, Ints
from counterplay.core.policy import Policy, as_arena, policy_from_weights
from counterplay.errors import ConfigError, RunError
from counterplay.matrix.solvers.zero_sum_lp import solve_zero_sum_matrix

MAX_ROUNDS = 2_000
NUM_STARTS = 20  # random plans from which members respond to each other in turn, per round


@dataclass(frozen=True)
class TeamEquilibrium:
    """A TMECor: each team draws a joint plan of its members before the game.

    `gap` bounds the error of the value: no joint plan of a team gains more against the other.
    """

    teams: tuple[tuple[int, ...], tuple[int, ...]]
    value: float  # summed utility of the first team
    gap: float
    mixtures: tuple[Floats, Floats]  # probabilities of each team's joint plans
    plans: tuple[tuple[Policy, ...], tuple[Policy, ...]]  # joint plans; other players are uniform


def team_equilibrium(
    game: Any, teams: Sequence[Sequence[int]], tolerance: float = 1e-9
) -> TeamEquilibrium:
    """Return a team maxmin equilibrium with correlation (Celli and Gatti, 2018).

    The members of a team share the team's utility and may agree on a random joint plan before the
    game, but do not communicate in it: each knows only its own infosets. Column generation keeps
    some joint plans of a team, solves the game in which the team mixes these, and adds better
    plans until none gains more than the tolerance. An opponent that is one player has its whole
    sequence form in that game. Better plans are looked for in two ways:

    - best responses of the members in turn, from many starts, which are fast and often optimal;
    - where these gain nothing, a mixed-integer programme over the probabilities of pairs of
      sequences of two members, in which one member's plan is an integer and the constraints are
      those of von Stengel and Forges (Farina, Celli, Gatti and Sandholm, 2021). Its bound is the
      certificate. With more members, p(z) <= x_m(m's last sequence at terminal z) replaces pairs.

    Args:
        game: the tree, the game or its name; the utilities of all players sum to a constant.
        teams: two lists of players that cover all players, such as [[0, 2], [1]].
        tolerance: largest accepted gain, as a fraction of the largest utility.

    Raises:
        ConfigError: the teams do not cover the players, or the game is not constant-sum.
        RunError: no equilibrium after many rounds.

    Example:
        >>> import counterplay as cp
        >>> equilibrium = cp.concepts.team_equilibrium("kuhn_poker(players=3)", [[0, 1], [2]])
        >>> round(equilibrium.value, 6)  # -1/24
        -0.041667
    """
    tree: TreeArena = as_arena(game)
    sides = _check_teams(tree, teams)
    require_perfect_recall("team_equilibrium", tree, USE_RECALL_TREE)
    if not tree.is_constant_sum:
        raise ConfigError(
            f"team_equilibrium needs utilities that sum to a constant, unlike {tree.spec}: take "
            "optimal_efce or optimal_commitment"
        )
    oracle = _TeamOracle(tree, sides)
    scale = float(np.abs(oracle.utility).max(initial=0.0)) or 1.0
    accepted = tolerance * scale
    is_single = [len(side) == 1 for side in sides]
    columns = [
        _Columns(oracle, 0, is_single[0] and not is_single[1]),
        _Columns(oracle, 1, is_single[1]),
    ]
    for _ in range(MAX_ROUNDS):
        value, played = _solve_mixtures(oracle, columns, scale)
        gains = []
        for team in range(2):
            others = played[1 - team]
            expected = value if team == 0 else -value
            gains.append(columns[team].add_better_plans(others, expected, accepted))
        if all(gain <= accepted for gain in gains):
            return _equilibrium(oracle, columns, value, max(sum(gains), 0.0))
    raise RunError(f"no team equilibrium of {tree.spec} after {MAX_ROUNDS:,} rounds")


class _Columns:
    """The joint plans of a team so far, or the sequence form of a single player."""

    def __init__(self, oracle: _TeamOracle, team: int, is_sequence_form: bool):
        self.oracle, self.team, self.is_sequence_form = oracle, team, is_sequence_form
        self.plans: list[Floats] = []
        self.keys: set[bytes] = set()
        self.reach: list[Floats] = []  # [Z] of each plan
        self.weights: Floats = np.zeros(0)  # of the plans, or of a single player's sequences
        self.rng = np.random.default_rng(0)
        if not self.is_sequence_form:
            uniform = np.ones(oracle.tree.num_terminals)
            self._add(
                oracle.improve_plan(team, uniform, oracle.programs[team].random_plan(self.rng))[0]
            )

    def _add(self, plan: Floats) -> bool:
        key = plan.tobytes()
        if key in self.keys:
            return False
        self.keys.add(key)
        self.plans.append(plan)
        self.reach.append(self.oracle.reach(self.team, plan[None, :])[0])
        return True

    def add_better_plans(self, others: Floats, expected: float, accepted: float) -> float:
        """Add plans that gain against the others' reach [Z]; return a bound of the best gain."""
        if self.is_sequence_form:
            return 0.0  # its best responses are constraints
        best, oracle = -np.inf, self.oracle
        starts = [oracle.programs[self.team].random_plan(self.rng) for _ in range(NUM_STARTS)]
        starts += [self.plans[k] for k in np.argsort(-self.weights)[:NUM_STARTS]]
        for start in starts:
            plan, value = oracle.improve_plan(self.team, others, start)
            if value - expected > accepted and self._add(plan):
                best = max(best, value - expected)
        if best > accepted:
            return best
        plan, bound = oracle.best_plan(self.team, others, accepted / 2.0)
        self._add(plan)
        return bound - expected


def _solve_mixtures(
    oracle: _TeamOracle, columns: list[_Columns], scale: float
) -> tuple[float, tuple[Floats, Floats]]:
    """Solve the game of the plans so far; return its value and both teams' reach [Z]."""
    first, second = columns
    if not (first.is_sequence_form or second.is_sequence_form):
        reach = [np.array(side.reach) for side in columns]
        matrix = (reach[0] * oracle.payoff) @ reach[1].T
        first.weights, second.weights = solve_zero_sum_matrix(matrix / scale)
        value = float(first.weights @ matrix @ second.weights)
        return value, (first.weights @ reach[0], second.weights @ reach[1])
    sign, mixing, single = (
        (1.0, first, second) if second.is_sequence_form else (-1.0, second, first)
    )
    player, plans = oracle.teams[single.team][0], np.array(mixing.reach)
    value = oracle.mix_against_player(player, sign * plans * oracle.payoff / scale, mixing, single)
    played = mixing.weights @ plans, single.weights[oracle.last[:, player]]
    return sign * scale * value, played if sign > 0.0 else (played[1], played[0])


def _equilibrium(
    oracle: _TeamOracle, columns: list[_Columns], value: float, gap: float
) -> TeamEquilibrium:
    mixtures: list[Floats] = []
    plans: list[tuple[Policy, ...]] = []
    for team, side in enumerate(columns):
        if side.is_sequence_form:
            mixtures.append(np.ones(1))
            plans.append((oracle.policy(team, side.weights),))
        else:
            used = np.flatnonzero(side.weights > 0.0)
            mixtures.append(side.weights[used] / side.weights[used].sum())
            plans.append(tuple(oracle.policy(team, side.plans[k]) for k in used))
    return TeamEquilibrium(
        oracle.teams, value, gap, (mixtures[0], mixtures[1]), (plans[0], plans[1])
    )


def _check_teams(
    tree: TreeArena, teams: Sequence[Sequence[int]]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    try:
        sides = [list(team) for team in teams]
    except TypeError:  # not lists
        sides = []
    players = [player for side in sides for player in side]
    if len(sides) != 2 or not all(sides) or not all(isinstance(p, Integral) for p in players):
        raise ConfigError(
            f"teams is {teams!r}, must be two lists of players, such as [[0, 2], [1]]"
        )
    if sorted(players) != list(range(tree.num_players)):
        raise ConfigError(
            f"teams {teams!r} must name each of the players 0 to {tree.num_players - 1} once: "
            "every player of a zero-sum game is on a side"
        )
    return tuple(map(int, sides[0])), tuple(map(int, sides[1]))


class _TeamOracle:
    """Best joint plans of a team against the reach of the other, in a tree's terminals."""

    def __init__(self, tree: TreeArena, teams: tuple[tuple[int, ...], tuple[int, ...]]):
        self.tree, self.teams = tree, teams
        chance, last = np.ones(tree.num_nodes), self._last_sequences()
        for node in range(1, tree.num_nodes):
            chance[node] = chance[tree.parent[node]] * tree.chance[node]
        self.last = last[tree.terminals]  # [Z, P]
        self.chance = chance[tree.terminals]
        self.utility = tree.utility[:, list(teams[0])].sum(axis=1)  # of the first team
        self.payoff = self.chance * self.utility
        self.programs = [JointPlanProgram(tree, team) for team in teams]

    def _last_sequences(self) -> Ints:
        tree = self.tree
        last = np.full((tree.num_nodes, tree.num_players), tree.num_sequences)
        for node in range(1, tree.num_nodes):
            parent = int(tree.parent[node])
            last[node] = last[parent]
            if tree.incoming_sequence[node] >= 0:
                last[node, tree.player[parent]] = tree.incoming_sequence[node]
        return last

    def reach(self, team: int, plans: Floats) -> Floats:
        """Return 1 where plans [K, S + 1] of a team lead to a terminal [K, Z], else 0."""
        reach = np.ones((plans.shape[0], self.tree.num_terminals))
        for player in self.teams[team]:
            reach *= plans[:, self.last[:, player]]
        return reach

    def improve_plan(self, team: int, others: Floats, plan: Floats) -> tuple[Floats, float]:
        """Return a plan in which no member alone gains against reach [Z], and its value."""
        weight = self.payoff * others * (1.0 if team == 0 else -1.0)
        return self.programs[team].improve_plan(weight, self.last, plan)

    def best_plan(self, team: int, others: Floats, accuracy: float) -> tuple[Floats, float]:
        """Return a joint plan [S + 1] of a team against reach [Z], and a bound of the best value.

        The bound exceeds the value of the plan by at most the accuracy.
        """
        weight = self.payoff * others * (1.0 if team == 0 else -1.0)
        members = self.teams[team]
        if len(members) == 1:
            return self.improve_plan(team, others, np.ones(self.tree.num_sequences + 1))
        program = self.programs[team]
        if len(members) == 2:
            return program.solve_pairs(weight, self.last, accuracy)
        return program.solve_terminals(weight, self.last, accuracy)

    def mix_against_player(
        self, player: int, payoffs: Floats, mixing: _Columns, single: _Columns
    ) -> float:
        """Set the maximin mixture of plans with payoffs [K, Z], and a player's best answer.

        With g(k) the payoffs of plan k by the player's last sequence: maximise q(root) subject to
        F' q <= sum of weight(k) * g(k). The answer is the dual solution.
        """
        from scipy.optimize import linprog
        from scipy.sparse import coo_array, hstack

        tree, root = self.tree, self.tree.num_sequences
        infosets = range(*map(int, tree.form.player_infoset[player : player + 2]))
        sequences = [*range(*tree.form.offset[[infosets.start, infosets.stop]].tolist()), root]
        row = {s: k for k, s in enumerate(sequences)}
        gains = np.zeros((len(sequences), len(payoffs)))
        index = np.array([row[s] for s in self.last[:, player].tolist()])
        for k, payoff in enumerate(payoffs):
            gains[:, k] = np.bincount(index, payoff, len(sequences))
        entries = [(row[root], len(infosets), 1.0)]
        for k, infoset in enumerate(infosets):
            first, end = map(int, tree.form.offset[infoset : infoset + 2])
            entries += [(row[s], k, 1.0) for s in range(first, end)]
            entries.append((row[int(tree.form.parent[infoset])], k, -1.0))
        rows, columns, values = map(np.array, zip(*entries, strict=True))
        flow = coo_array((values, (rows, columns)), shape=(len(sequences), len(infosets) + 1))
        cost = np.zeros(len(payoffs) + len(infosets) + 1)
        cost[-1] = -1.0
        equality = np.zeros((1, cost.size))
        equality[0, : len(payoffs)] = 1.0
        result = linprog(
            cost,
            A_ub=hstack([coo_array(-gains), flow]).tocsr(),
            b_ub=np.zeros(len(sequences)),
            A_eq=equality,
            b_eq=np.ones(1),
            bounds=[(0, None)] * len(payoffs) + [(None, None)] * (len(infosets) + 1),
            method="highs",
        )
        if result.x is None:
            raise RunError(f"the game of joint plans of {tree.spec} was not solved")
        mixing.weights = np.maximum(result.x[: len(payoffs)], 0.0)
        single.weights = np.zeros(root + 1)
        single.weights[sequences] = np.maximum(-result.ineqlin.marginals, 0.0)
        return float(-result.fun)

    def policy(self, team: int, plan: Floats) -> Policy:
        """Return a joint plan as a policy, uniform where the plan does not come."""
        tree = self.tree
        owner = np.repeat(tree.infoset_player, tree.num_actions)
        return policy_from_weights(tree, np.where(np.isin(owner, self.teams[team]), plan[:-1], 0.0))
