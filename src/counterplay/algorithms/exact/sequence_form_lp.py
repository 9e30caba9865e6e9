"""Exact equilibria of two-player zero-sum games by sequence-form linear programming."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from counterplay.algorithms.game_requirements import (
    require_perfect_recall,
    require_two_player_zero_sum,
)
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, row_lengths
from counterplay.core.evaluation import judge
from counterplay.core.policy import Policy, policy_from_weights, uniform_policy
from counterplay.core.settings import settings
from counterplay.errors import RunError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SOLVER_TOLERANCE = 1e-10  # the smallest feasibility tolerance that HiGHS accepts


@dataclass(frozen=True)
class LPEquilibrium:
    """An exact equilibrium and its value to player 0."""

    value: float
    policy: Policy


@dataclass
class LPMemory:
    """The solution of the linear programme; uniform play before the first step."""

    iteration: int
    weights: Floats  # [S] sequence weights of both players
    finished: bool = False


@settings()
class SequenceFormLP:
    """The sequence-form linear programme (von Stengel, 1996), solved by HiGHS in one step:

        maximise q_0 over x >= 0 and q   subject to   E x = e   and   F' q <= A' x

    x holds the weights of player 0's sequences, E and F the constraints that the weights of an
    infoset's sequences sum to that of their parent, A chance times utility, and q one value per
    infoset of player 1. The dual variables of the inequalities are player 1's sequence weights.
    Utilities are shifted and scaled for the solver, whose tolerances are absolute.
    """

    tolerance: float = 1e-6  # largest NashConv accepted, as a fraction of the utility range
    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    required_extra: ClassVar[str] = ""

    def init(self, tree: TreeArena, seed: int = 0) -> LPMemory:
        require_two_player_zero_sum("sequence_form_lp", tree)
        require_perfect_recall("sequence_form_lp", tree)
        return LPMemory(0, uniform_policy(tree).probabilities.copy())

    def step(self, tree: TreeArena, memory: LPMemory, iterations: int = 1) -> LPMemory:
        if not memory.finished:
            memory.weights[:] = _solve_program(tree)
            utility = tree.utility[:, 0]
            rounding = 16.0 * np.finfo(np.float64).eps * np.abs(utility).max()
            accepted = self.tolerance * np.ptp(utility) + rounding
            if not judge(tree, policy_from_weights(tree, memory.weights)).nash_conv <= accepted:
                raise RunError(f"the linear programme of {tree.spec} was not solved accurately")
            memory.finished = True
        memory.iteration += iterations
        return memory

    def policies(self, tree: TreeArena, memory: LPMemory) -> dict[str, Policy]:
        return {"equilibrium": policy_from_weights(tree, memory.weights)}


def solve_sequence_form_lp(tree: TreeArena) -> LPEquilibrium:
    """Return an exact equilibrium of a two-player zero-sum game with perfect recall.

    Args:
        tree: the tree of the game.

    Raises:
        ConfigError: if the game is not two-player zero-sum, or a player forgets.
        RunError: if best responses to the solution gain more than the tolerance.

    Example:
        >>> import counterplay as cp
        >>> equilibrium = cp.algorithms.solve_sequence_form_lp(cp.build_tree("kuhn_poker"))
        >>> round(equilibrium.value, 6)  # -1/18
        -0.055556
    """
    algorithm = SequenceFormLP()
    memory = algorithm.step(tree, algorithm.init(tree))
    policy = algorithm.policies(tree, memory)["equilibrium"]
    return LPEquilibrium(float(judge(tree, policy).values[0]), policy)


def _solve_program(tree: TreeArena) -> Floats:
    """Solve the linear programme and return both players' sequence weights [S]."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, hstack

    payoff = _payoff_matrix(tree)
    sizes = payoff.shape
    constraints, dual_constraints = _sequence_constraints(tree, 0), _sequence_constraints(tree, 1)
    num_values = dual_constraints.shape[0]
    objective = np.zeros(sizes[0] + num_values)
    objective[-1] = -1.0
    right_side = np.zeros(constraints.shape[0])
    right_side[-1] = 1.0
    zeros = coo_array((constraints.shape[0], num_values))
    result = linprog(
        objective,
        A_ub=hstack([-payoff.T, dual_constraints.T]).tocsr(),
        b_ub=np.zeros(sizes[1]),
        A_eq=hstack([constraints, zeros]).tocsr(),
        b_eq=right_side,
        bounds=[(0, None)] * sizes[0] + [(None, None)] * num_values,
        method="highs",
        options={
            "primal_feasibility_tolerance": SOLVER_TOLERANCE,
            "dual_feasibility_tolerance": SOLVER_TOLERANCE,
        },
    )
    if result.x is None:
        raise RunError(f"the linear programme of {tree.spec} failed: {result.message}")
    weights = np.concatenate([result.x[: sizes[0] - 1], -result.ineqlin.marginals[:-1]])
    return np.maximum(weights, 0.0)


def _payoff_matrix(tree: TreeArena) -> csr_array:
    """Return chance times player 0's utility by the players' last sequences, scaled to maximum 1.

    Each player's sequences are numbered from 0; the last index is "has not acted yet". If the
    centre of the utilities is larger than their range, it is subtracted: a constant does not change
    the equilibrium but would cost precision.
    """
    from scipy.sparse import coo_array

    root, middle = tree.num_sequences, int(tree.offset[tree.player_infoset[1]])
    reach, last = np.ones(tree.num_nodes), np.full((tree.num_nodes, 2), (middle, root))
    for first, end in pairwise(tree.level_offset[1:]):
        parent, sequence = tree.parent[first:end], tree.incoming_sequence[first:end]
        reach[first:end] = reach[parent] * tree.chance[first:end]
        last[first:end] = last[parent]
        decisions = np.flatnonzero(sequence >= 0)
        last[first + decisions, tree.player[parent[decisions]]] = sequence[decisions]
    utility = tree.utility[:, 0]
    center = utility.max() / 2.0 + utility.min() / 2.0
    if abs(center) > np.ptp(utility):
        utility = utility - center
    scale = np.abs(utility).max() or 1.0
    row, column = last[tree.terminals].T
    weight = reach[tree.terminals] * (utility / scale)
    payoff = coo_array((weight, (row, column - middle)), shape=(middle + 1, root - middle + 1))
    payoff = payoff.tocsr()
    payoff.eliminate_zeros()
    return payoff / (np.abs(payoff.data).max(initial=0.0) or 1.0)


def _sequence_constraints(tree: TreeArena, player: int) -> csr_array:
    """Return the constraints of a player's sequence weights.

    The row of an infoset is the sum of its sequences minus their parent; the last row is the weight
    of "has not acted yet".
    """
    from scipy.sparse import coo_array

    form, root = tree.form, tree.num_sequences
    first, last = form.player_infoset[player : player + 2]
    start, end = int(form.offset[first]), int(form.offset[last])
    counts = row_lengths(form.offset[first : last + 1])
    parent = form.parent[first:last].astype(np.int64)
    infosets = np.arange(last - first)
    parent = np.where(parent == root, end, parent) - start
    row = np.concatenate([np.repeat(infosets, counts), infosets, [last - first]])
    column = np.concatenate([np.arange(end - start), parent, [end - start]])
    value = np.concatenate([np.ones(end - start), -np.ones(last - first), [1.0]])
    return coo_array((value, (row, column)), shape=(last - first + 1, end - start + 1)).tocsr()
