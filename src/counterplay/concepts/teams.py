"""Two-team zero-sum games: team maxmin equilibria with correlation (TMECor)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterplay.algorithms.game_requirements import require_perfect_recall
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, Ints
from counterplay.core.policy import Policy, as_arena, policy_from_weights
from counterplay.errors import ConfigError, RunError
from counterplay.matrix.solvers.zero_sum_lp import solve_zero_sum_matrix

MAX_ROUNDS = 2_000


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
    some joint plans of both teams, solves their matrix game, and adds each team's best joint plan
    against the other's mixture, until none gains more than the tolerance. The best joint plan of a
    team with several members is a mixed-integer programme: with r(z) the probability that the
    others lead to terminal z, x_m the plan of member m and the utilities u shifted to be positive,

        maximise sum over z of r(z) * u(z) * p(z)   subject to   p(z) <= x_m(m's last sequence)

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
    require_perfect_recall("team_equilibrium", tree)
    if not tree.is_constant_sum:
        problem = f"unlike those of {tree.spec}"
        raise ConfigError(f"team_equilibrium needs utilities that sum to a constant, {problem}")
    oracle = _TeamOracle(tree, sides)
    plans: tuple[list[Floats], list[Floats]] = ([], [])
    for team in range(2):
        plans[team].append(oracle.best_plan(team, np.ones(tree.num_terminals))[0])
    scale = float(np.abs(oracle.utility).max(initial=0.0)) or 1.0
    for _ in range(MAX_ROUNDS):
        reach = [oracle.reach(team, np.array(plans[team])) for team in range(2)]
        matrix = (reach[0] * oracle.payoff) @ reach[1].T
        mixtures = solve_zero_sum_matrix(matrix / scale)
        value = float(mixtures[0] @ matrix @ mixtures[1])
        gains = []
        for team in range(2):
            plan, best = oracle.best_plan(team, mixtures[1 - team] @ reach[1 - team])
            gains.append(best - (value if team == 0 else -value))
            if gains[-1] > tolerance * scale:
                plans[team].append(plan)
        if max(gains) <= tolerance * scale:
            gap = max(sum(gains), 0.0)
            policies = tuple(
                tuple(oracle.policy(team, plan) for plan in plans[team]) for team in range(2)
            )
            both = (mixtures[0], mixtures[1])
            return TeamEquilibrium(sides, value, gap, both, (policies[0], policies[1]))
    raise RunError(f"no team equilibrium of {tree.spec} after {MAX_ROUNDS:,} rounds")


def _check_teams(
    tree: TreeArena, teams: Sequence[Sequence[int]]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    listed = sorted(player for team in teams for player in team)
    if len(teams) != 2 or not all(len(team) for team in teams):
        raise ConfigError(
            f"teams is {teams!r}, must be two lists of players, such as [[0, 2], [1]]"
        )
    if listed != list(range(tree.num_players)):
        raise ConfigError(
            f"teams {teams!r} must name each of the players 0 to {tree.num_players - 1} once"
        )
    return tuple(map(int, teams[0])), tuple(map(int, teams[1]))


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
        self.programs = [_PlanProgram(tree, team) for team in teams]

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

    def best_plan(self, team: int, others: Floats) -> tuple[Floats, float]:
        """Return the best joint plan [S + 1] of a team against reach [Z], and its value."""
        utility = self.utility if team == 0 else -self.utility
        low = float(utility.min())
        weight = self.chance * others * (utility - low)
        plan = self.programs[team].solve(weight, self.last)
        value = (self.reach(team, plan[None, :])[0] * self.chance * others * utility).sum()
        return plan, float(value)

    def policy(self, team: int, plan: Floats) -> Policy:
        """Return a joint plan as a policy, uniform where the plan does not come."""
        tree = self.tree
        owner = np.repeat(tree.infoset_player, tree.num_actions)
        return policy_from_weights(tree, np.where(np.isin(owner, self.teams[team]), plan[:-1], 0.0))


class _PlanProgram:
    """The programme of a team's best joint plan."""

    def __init__(self, tree: TreeArena, team: tuple[int, ...]):
        self.tree, self.team = tree, team
        self.infosets = np.flatnonzero(np.isin(tree.infoset_player, team)).tolist()

    def solve(self, weight: Floats, last: Ints) -> Floats:
        """Return the plan [S + 1] that maximises the weight [Z] of the terminals it allows."""
        if len(self.team) == 1:
            return self._respond(weight, last[:, self.team[0]])
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import coo_array

        tree, root = self.tree, self.tree.num_sequences
        keys, groups = np.unique(last[:, list(self.team)], axis=0, return_inverse=True)
        totals = np.bincount(groups.ravel(), weight, len(keys))
        used = np.flatnonzero(totals > 0.0)
        size = root + 1 + used.size
        entries: list[tuple[int, int, float]] = [(0, root, 1.0)]
        low, high = [1.0], [1.0]
        for infoset in self.infosets:
            first, end = map(int, tree.form.offset[infoset : infoset + 2])
            entries += [(len(low), s, 1.0) for s in range(first, end)]
            entries.append((len(low), int(tree.form.parent[infoset]), -1.0))
            low.append(0.0)
            high.append(0.0)
        for k, group in enumerate(used):
            for s in keys[group].tolist():
                entries += [(len(low), root + 1 + k, 1.0), (len(low), s, -1.0)]
                low.append(-np.inf)
                high.append(0.0)
        row, column, factor = map(np.array, zip(*entries, strict=True))
        index = row.astype(np.int32), column.astype(np.int32)  # the only type that SciPy 1.12 takes
        cost = np.zeros(size)
        cost[root + 1 :] = -totals[used] / (totals.max(initial=0.0) or 1.0)
        integrality = np.zeros(size)
        for infoset in self.infosets:
            first, end = map(int, tree.form.offset[infoset : infoset + 2])
            integrality[first:end] = 1.0
        result = milp(
            cost,
            integrality=integrality,
            bounds=Bounds(np.zeros(size), np.ones(size)),
            constraints=LinearConstraint(
                coo_array((factor, index), shape=(len(low), size)).tocsr(), low, high
            ),
            options={"mip_rel_gap": 0.0},
        )
        if result.x is None:
            raise RunError(f"the best joint plan of {tree.spec} was not found: {result.message}")
        return np.round(result.x[: root + 1])

    def _respond(self, weight: Floats, last: Ints) -> Floats:
        """Return the best plan [S + 1] of a single player, by backward induction."""
        tree, root = self.tree, self.tree.num_sequences
        values = np.bincount(last, weight, root + 1)
        choice = {}
        for infoset in reversed(self.infosets):
            first, end = map(int, tree.form.offset[infoset : infoset + 2])
            best = first + int(np.argmax(values[first:end]))
            choice[infoset] = best
            values[int(tree.form.parent[infoset])] += values[best]
        plan = np.zeros(root + 1)
        plan[root] = 1.0
        for infoset in self.infosets:
            plan[choice[infoset]] = plan[int(tree.form.parent[infoset])]
        return plan
