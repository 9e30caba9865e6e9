"""The exact equilibrium of a two-player zero-sum game, by linear programming."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, row_lengths
from counterplay.core.evaluation import judge
from counterplay.core.policy import Policy, policy_from_weights, uniform_policy
from counterplay.core.settings import settings
from counterplay.errors import ConfigError, RunError

SOLVER_TOLERANCE = 1e-10  # the solver's own tolerance: the least it takes


@dataclass(frozen=True)
class LPEquilibrium:
    """An exact equilibrium and what it is worth to player 0."""

    value: float
    policy: Policy


@dataclass
class LPMemory:
    """The sequence weights [S] that solve the programme; uniform play before the first step."""

    iteration: int
    weights: Floats
    finished: bool = False


@settings()
class SequenceFormLP:
    """The sequence-form linear programme (von Stengel, 1996), solved by HiGHS in one step:

        maximise q_0 over x >= 0 and q   subject to   E x = e   and   F' q <= A' x

    x weighs player 0's sequences, E and F are the players' "children sum to their parent"
    constraints, A holds chance times utility, and q has one value per infoset of player 1. The dual
    variables of the inequalities are player 1's sequence weights. Utilities are shifted and scaled
    for the solver, whose tolerances are absolute.
    """

    tolerance: float = 1e-6  # largest NashConv accepted, in units of the utility range
    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    required_extra: ClassVar[str] = ""

    def init(self, tree: TreeArena, seed: int = 0) -> LPMemory:
        if tree.num_players != 2 or not tree.is_zero_sum:
            problem = "a two-player zero-sum game"
            raise ConfigError(f"sequence_form_lp needs {problem}; {tree.spec} is none")
        if not tree.has_perfect_recall:
            raise ConfigError(f"sequence_form_lp needs perfect recall; {tree.spec} forgets")
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
    """The exact equilibrium of a two-player zero-sum tree, checked by its best responses."""
    algorithm = SequenceFormLP()
    memory = algorithm.step(tree, algorithm.init(tree))
    policy = algorithm.policies(tree, memory)["equilibrium"]
    return LPEquilibrium(float(judge(tree, policy).values[0]), policy)


def _solve_program(tree: TreeArena) -> Floats:
    """Both players' sequence weights [S]."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, hstack

    payoff = _payoff_matrix(tree)
    sizes = payoff.shape
    first, second = _sequence_constraints(tree, 0), _sequence_constraints(tree, 1)
    num_values = second.shape[0]
    goal = np.zeros(sizes[0] + num_values)
    goal[sizes[0] + num_values - 1] = -1.0
    is_one = np.zeros(first.shape[0])
    is_one[-1] = 1.0
    nothing = coo_array((first.shape[0], num_values))
    result = linprog(
        goal,
        A_ub=hstack([-payoff.T, second.T]).tocsr(),
        b_ub=np.zeros(sizes[1]),
        A_eq=hstack([first, nothing]).tocsr(),
        b_eq=is_one,
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


def _payoff_matrix(tree: TreeArena) -> Any:
    """Chance times player 0's utility, by the players' last sequences, with 1 as largest entry.

    Each player's sequences are numbered from 0, and "has not acted yet" is the last. A constant in
    the utilities, which no policy changes, is left out where it would drown them.
    """
    from scipy.sparse import coo_array

    root, middle = tree.num_sequences, int(tree.offset[tree.player_infoset[1]])
    reach, last = np.ones(tree.num_nodes), np.full((tree.num_nodes, 2), (middle, root))
    for first, end in pairwise(tree.level_offset[1:]):
        parent, sequence = tree.parent[first:end], tree.incoming_sequence[first:end]
        reach[first:end] = reach[parent] * tree.chance[first:end]
        last[first:end] = last[parent]
        acted = np.flatnonzero(sequence >= 0)
        last[first + acted, tree.player[parent[acted]]] = sequence[acted]
    utility = tree.utility[:, 0]
    center = utility.max() / 2.0 + utility.min() / 2.0
    if abs(center) > np.ptp(utility):
        utility = utility - center
    scale = np.abs(utility).max() or 1.0
    ends, own, other = tree.terminals, *last[tree.terminals].T
    weight = reach[ends] * (utility / scale)
    payoff = coo_array((weight, (own, other - middle)), shape=(middle + 1, root - middle + 1))
    payoff = payoff.tocsr()
    payoff.eliminate_zeros()
    return payoff / (np.abs(payoff.data).max(initial=0.0) or 1.0)


def _sequence_constraints(tree: TreeArena, player: int) -> Any:
    """One row per infoset, children minus parent; the last row is "has not acted yet"."""
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
