"""Equilibria of two-player zero-sum trees in rational numbers, with a certificate.

For each player HiGHS finds a vertex of the sequence-form programme (see `sequence_form_lp`) in
floating point. Its positive weights and tight inequalities are a system of linear equations with
rational coefficients that the vertex solves. The system is solved exactly: sparse LU factors of it
refine an approximation by 30 bits per round, with residuals in integers, until a rational solution
can be read off and satisfies every equation (Wan, 2006; Gleixner, Steffy and Wolter, 2016).

The certificate needs no trust in any of this: an exact best response to each player's policy gives
the value that it guarantees, and the two guarantees are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from counterplay.algorithms.game_requirements import (
    USE_OTHER_CONCEPTS,
    USE_RECALL_TREE,
    require_perfect_recall,
    require_two_player_zero_sum,
)
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats
from counterplay.core.game import CHANCE
from counterplay.core.policy import Policy, as_arena
from counterplay.errors import RunError

BITS_PER_ROUND = 30
MAX_BITS = 200_000
MAX_SIMPLE_DENOMINATOR = 10**6  # a float near such a fraction stands for it
SUPPORT_TOLERANCES = (1e-9, 1e-11, 1e-7, 1e-13, 1e-5)  # of positive weights and tight inequalities


@dataclass(frozen=True)
class ExactEquilibrium:
    """An equilibrium in rational numbers; `guarantees` prove that it is one.

    The certificate: player 0's policy yields at least `guarantees[0]` against every policy, player
    1's policy concedes at most `guarantees[1]`, and both are equal to `value`.
    """

    value: Fraction  # of player 0
    guarantees: tuple[Fraction, Fraction]
    weights: tuple[Fraction, ...]  # [S] reach of both players' sequences
    probabilities: tuple[Fraction, ...]  # [S]; uniform where the player does not come
    tree: TreeArena

    @property
    def policy(self) -> Policy:
        """The policy in floating point."""
        return Policy(self.tree, np.array([float(p) for p in self.probabilities]))


def exact_equilibrium(game: Any) -> ExactEquilibrium:
    """Return an equilibrium of a two-player zero-sum game in rational numbers.

    Probabilities of chance and utilities that are floats next to a fraction with a denominator of
    at most 10**6 stand for that fraction, and other floats for themselves.

    Args:
        game: the tree, the game or its name.

    Raises:
        ConfigError: the game is not two-player zero-sum, or a player forgets.
        RunError: no rational solution was found for the solver's vertex.

    Example:
        >>> import counterplay as cp
        >>> cp.concepts.exact_equilibrium("kuhn_poker").value
        Fraction(-1, 18)
    """
    tree: TreeArena = as_arena(game)
    require_two_player_zero_sum("exact_equilibrium", tree, USE_OTHER_CONCEPTS)
    require_perfect_recall("exact_equilibrium", tree, USE_RECALL_TREE)
    program = RationalProgram(tree)
    weights = [program.solve(player) for player in range(2)]
    guarantees = (
        program.best_value(1, weights[0]),
        program.best_value(0, weights[1]),
    )
    if guarantees[0] != guarantees[1]:
        raise RunError(
            f"the vertices found for {tree.spec} guarantee {float(guarantees[0])} and "
            f"{float(guarantees[1])}, which are not equal"
        )
    middle = program.middle
    joined = (*weights[0][:middle], *weights[1][middle:])
    probabilities = behaviour_from_weights(tree, joined)
    return ExactEquilibrium(guarantees[0], guarantees, joined, probabilities, tree)


class RationalProgram:
    """The sequence form of a tree in rational numbers."""

    def __init__(self, tree: TreeArena):
        self.tree, self.root = tree, tree.num_sequences
        self.middle = int(tree.form.offset[tree.form.player_infoset[1]])
        self.payoffs = _rational_payoffs(tree)

    def infosets(self, player: int) -> range:
        first, last = self.tree.form.player_infoset[player : player + 2]
        return range(int(first), int(last))

    def sequences(self, player: int) -> range:
        return range(self.middle) if player == 0 else range(self.middle, self.root)

    def solve(self, player: int) -> list[Fraction]:
        """Return a maximin policy of a player as weights [S]; 0 for the other player.

        Raises:
            RunError: no exact vertex was found.
        """
        system = VertexSystem(self, player)
        solution = system.solve_approximately()
        for tolerance in SUPPORT_TOLERANCES:
            exact = system.solve_exactly(solution, tolerance)
            if exact is not None:
                return exact
        raise RunError(f"no rational vertex was found for player {player} of {self.tree.spec}")

    def best_value(self, player: int, weights: list[Fraction]) -> Fraction:
        """Return the utility of player 0 if `player` answers the other's weights [S] best."""
        tree, sign = self.tree, 1 if player == 0 else -1
        values = [Fraction(0)] * (self.root + 1)
        weights = [*weights, Fraction(1)]
        for (s, t), payoff in self.payoffs.items():
            own, other = (s, t) if player == 0 else (t, s)
            if weights[other]:
                values[own] += sign * payoff * weights[other]
        for infoset in reversed(self.infosets(player)):
            first, last = map(int, tree.form.offset[infoset : infoset + 2])
            values[int(tree.form.parent[infoset])] += max(values[first:last])
        return sign * values[self.root]


def to_fraction(number: float) -> Fraction:
    """Return the simple fraction that a float stands for, or the float's exact value."""
    simple = Fraction(number).limit_denominator(MAX_SIMPLE_DENOMINATOR)
    return simple if abs(float(simple) - number) <= 1e-15 * abs(number) else Fraction(number)


def _rational_payoffs(tree: TreeArena) -> dict[tuple[int, int], Fraction]:
    """Return chance times player 0's utility by the players' last sequences.

    The index S stands for "has not acted yet". Outcomes of a chance node are divided by their sum.
    """
    reach = [Fraction(1)] * tree.num_nodes
    last = [(tree.num_sequences,) * 2] * tree.num_nodes
    incoming = tree.incoming_sequence.tolist()
    chance = tree.chance.tolist()
    for node in range(tree.num_nodes):
        player = int(tree.player[node])
        children = range(int(tree.child_offset[node]), int(tree.child_offset[node + 1]))
        if player == CHANCE:
            odds = [to_fraction(chance[child]) for child in children]
            total = sum(odds)
        for k, child in enumerate(children):
            reach[child] = reach[node]
            first, second = last[node]
            if player == CHANCE:
                reach[child] = reach[node] * odds[k] / total
            elif player == 0:
                first = incoming[child]
            else:
                second = incoming[child]
            last[child] = first, second
    payoffs: dict[tuple[int, int], Fraction] = {}
    for z, node in enumerate(tree.terminals.tolist()):
        payoff = reach[node] * to_fraction(float(tree.utility[z, 0]))
        payoffs[last[node]] = payoffs.get(last[node], Fraction(0)) + payoff
    return payoffs


class VertexSystem:
    """The programme of one player: maximise q(root) subject to E x = e and F' q <= A' x.

    Columns are the weights x of the player's sequences, then of "has not acted yet", then the
    values q of the opponent's infosets and of the root.
    """

    def __init__(self, program: RationalProgram, player: int):
        self.program, self.player = program, player
        tree, root, opponent = program.tree, program.root, 1 - player
        own, other = program.sequences(player), program.sequences(opponent)
        self.own, self.num_weights = own, len(own) + 1
        infosets = program.infosets(opponent)
        self.num_columns = self.num_weights + len(infosets) + 1
        column = {s: s - own.start for s in own} | {root: len(own)}
        value_column = {i: self.num_weights + i - infosets.start for i in infosets}
        root_value = self.num_columns - 1
        sign = 1 if player == 0 else -1
        self.equalities: list[dict[int, Fraction]] = []  # E x = e: all right sides 0 but the last
        for infoset in program.infosets(player):
            first, last = map(int, tree.form.offset[infoset : infoset + 2])
            row = {column[s]: Fraction(1) for s in range(first, last)}
            row[column[int(tree.form.parent[infoset])]] = Fraction(-1)
            self.equalities.append(row)
        self.equalities.append({column[root]: Fraction(1)})
        rows = {s: dict[int, Fraction]() for s in (*other, root)}  # F' q - A' x <= 0
        for (s, t), payoff in program.payoffs.items():
            mine, theirs = (s, t) if player == 0 else (t, s)
            if payoff:
                rows[theirs][column[mine]] = -sign * payoff
        for infoset in infosets:
            first, last = map(int, tree.form.offset[infoset : infoset + 2])
            for s in range(first, last):
                rows[s][value_column[infoset]] = Fraction(1)
            rows[int(tree.form.parent[infoset])][value_column[infoset]] = Fraction(-1)
        rows[root][root_value] = Fraction(1)
        self.inequalities = list(rows.values())

    def solve_approximately(self) -> Floats:
        """Return a vertex [columns] in floating point."""
        from scipy.optimize import linprog

        objective = np.zeros(self.num_columns)
        objective[-1] = -1.0
        right_side = np.zeros(len(self.equalities))
        right_side[-1] = 1.0
        size = max((abs(x) for row in self.inequalities for x in row.values()), default=1)
        free = self.num_columns - self.num_weights
        result = linprog(
            objective,
            A_ub=float_matrix(self.inequalities, self.num_columns),
            b_ub=np.zeros(len(self.inequalities)),
            A_eq=float_matrix(self.equalities, self.num_columns),
            b_eq=right_side,
            bounds=[(0, None)] * self.num_weights + [(None, None)] * free,
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if result.x is None:
            spec = self.program.tree.spec
            raise RunError(f"the linear programme of {spec} failed (size {float(size):g})")
        return np.asarray(result.x)

    def solve_exactly(self, solution: Floats, tolerance: float) -> list[Fraction] | None:
        """Return the weights [S] of the vertex near a solution; None if it is not one."""
        scale = float(np.abs(solution[self.num_weights :]).max(initial=0.0)) or 1.0
        matrix = float_matrix(self.inequalities, self.num_columns)
        slack = -(matrix @ solution)
        support = np.flatnonzero(solution[: self.num_weights] > tolerance)
        columns = [*support.tolist(), *range(self.num_weights, self.num_columns)]
        tight = np.flatnonzero(slack <= tolerance * scale)
        rows = self.equalities + [self.inequalities[i] for i in tight]
        right_side = [Fraction(0)] * len(rows)
        right_side[len(self.equalities) - 1] = Fraction(1)
        position = {c: k for k, c in enumerate(columns)}
        restricted = [{position[c]: v for c, v in row.items() if c in position} for row in rows]
        for k in _dependent_columns(restricted, len(columns)):  # the solver stopped on a face
            restricted.append({k: Fraction(1)})
            right_side.append(to_fraction(float(solution[columns[k]])))
        exact = _solve_rational(restricted, right_side, len(columns))
        if exact is None:
            return None
        values = [Fraction(0)] * self.num_columns
        for c, value in zip(columns, exact, strict=True):
            values[c] = value
        if any(value < 0 for value in values[: self.num_weights]):
            return None
        if any(sum(v * values[c] for c, v in row.items()) > 0 for row in self.inequalities):
            return None
        weights = [Fraction(0)] * self.program.root
        weights[self.own.start : self.own.stop] = values[: len(self.own)]
        return weights


def float_matrix(rows: list[dict[int, Fraction]], num_columns: int) -> Any:
    """Return rows of rational numbers as a sparse matrix of floats."""
    from scipy.sparse import csr_array

    offset = np.cumsum([0, *(len(row) for row in rows)])
    columns = np.array([c for row in rows for c in row], np.int64)
    values = np.array([float(v) for row in rows for v in row.values()])
    return csr_array((values, columns, offset), shape=(len(rows), num_columns))


def _solve_rational(
    rows: list[dict[int, Fraction]], right_side: list[Fraction], num_columns: int
) -> list[Fraction] | None:
    """Solve a consistent system with a unique solution; None if it has none that is found."""
    integers = []
    for row, right in zip(rows, right_side, strict=True):
        scale = lcm(right.denominator, *(v.denominator for v in row.values()))
        integers.append(({c: int(v * scale) for c, v in row.items()}, int(right * scale)))
    chosen = _independent_rows(rows, num_columns)
    if chosen is None:
        return None
    approximation = _Refinement([integers[i] for i in chosen], num_columns)
    bits = 8 * BITS_PER_ROUND
    while bits < MAX_BITS:
        if not approximation.refine(bits):
            return None
        solution = _reconstruct(approximation.digits, approximation.bits)
        if solution is not None:
            numerators, denominator = solution
            if all(
                sum(v * numerators[c] for c, v in row.items()) == right * denominator
                for row, right in integers
            ):
                return [Fraction(n, denominator) for n in numerators]
        bits *= 2
    return None


def _independent_rows(rows: list[dict[int, Fraction]], num_columns: int) -> list[int] | None:
    """Return as many independent rows as there are columns, or None."""
    from scipy.linalg import qr

    dense = float_matrix(rows, num_columns).toarray()
    dense /= np.abs(dense).max(axis=1, keepdims=True, initial=1e-300)
    if dense.shape[0] < num_columns:
        return None
    triangle, order = qr(dense.T, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(triangle))
    if diagonal.size < num_columns or diagonal[num_columns - 1] <= 1e-11 * diagonal[0]:
        return None
    return sorted(order[:num_columns].tolist())


def _dependent_columns(rows: list[dict[int, Fraction]], num_columns: int) -> list[int]:
    """Return columns that are combinations of the others; without them the rank is full."""
    from scipy.linalg import qr

    triangle, order = qr(float_matrix(rows, num_columns).toarray(), mode="r", pivoting=True)
    diagonal = np.abs(np.diag(triangle))
    rank = int((diagonal > 1e-11 * diagonal.max(initial=0.0)).sum())
    return sorted(order[rank:].tolist())


class _Refinement:
    """An approximation digits / 2**bits of the solution of a square system of integers."""

    def __init__(self, rows: list[tuple[dict[int, int], int]], num_columns: int):
        from scipy.sparse.linalg import splu

        self.rows, self.bits, self.digits = rows, 0, [0] * num_columns
        self.scale = [max(abs(v) for v in row.values()) for row, _ in rows]
        scaled = [
            {c: Fraction(v, scale) for c, v in row.items()}
            for (row, _), scale in zip(rows, self.scale, strict=True)
        ]
        self.factors = splu(float_matrix(scaled, num_columns).tocsc())

    def refine(self, bits: int) -> bool:
        """Refine the approximation to a number of bits; False if it does not converge."""
        while self.bits < bits:
            residual = np.empty(len(self.rows))
            for i, (row, right) in enumerate(self.rows):
                total = (right << self.bits) - sum(v * self.digits[c] for c, v in row.items())
                residual[i] = total / self.scale[i]
            correction = self.factors.solve(residual)
            if not np.isfinite(correction).all() or np.abs(correction).max(initial=0.0) > 2.0**60:
                return False
            steps = np.ldexp(correction, BITS_PER_ROUND)
            self.digits = [
                (digit << BITS_PER_ROUND) + int(step)
                for digit, step in zip(self.digits, steps, strict=True)
            ]
            self.bits += BITS_PER_ROUND
        return True


def _reconstruct(digits: list[int], bits: int) -> tuple[list[int], int] | None:
    """Return numerators and a common denominator near digits / 2**bits, or None.

    The denominator must be below 2**(bits / 2 - 20), so that at most one fraction is near enough.
    """
    limit, unit = 1 << (bits // 2 - 20), 1 << bits
    denominator = 1
    for digit in digits:
        scaled = digit * denominator
        nearest = (2 * scaled + unit) // (2 * unit)
        if abs(scaled - nearest * unit) <= denominator << 24:
            continue
        denominator *= Fraction(scaled, unit).limit_denominator(limit // denominator).denominator
        if denominator * 2 > limit:
            return None
    numerators = [(2 * digit * denominator + unit) // (2 * unit) for digit in digits]
    return numerators, denominator


def behaviour_from_weights(tree: TreeArena, weights: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """Return probabilities [S] from weights [S]; uniform at infosets without weight."""
    probabilities: list[Fraction] = []
    for infoset in range(tree.num_infosets):
        first, last = map(int, tree.offset[infoset : infoset + 2])
        total = sum(weights[first:last])
        if total:
            probabilities += [weight / total for weight in weights[first:last]]
        else:
            probabilities += [Fraction(1, last - first)] * (last - first)
    return tuple(probabilities)
