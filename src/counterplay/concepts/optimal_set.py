"""All vertices of the set of optimal policies of a small two-player zero-sum game."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from counterplay.algorithms.exact.rational import (
    RationalProgram,
    behaviour_from_weights,
    exact_equilibrium,
)
from counterplay.algorithms.game_requirements import (
    USE_OTHER_CONCEPTS,
    USE_RECALL_TREE,
    require_perfect_recall,
    require_two_player_zero_sum,
)
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.policy import as_arena
from counterplay.errors import ConfigError
from counterplay.matrix.policy_enumeration import count_pure_policies, list_pure_plans

MAX_PLANS = 2_000  # pure plans of a player
MAX_VERTICES = 20_000  # of a polytope on the way

Point = tuple[Fraction, ...]


@dataclass(frozen=True)
class OptimalSet:
    """The optimal policies of a player: all mixtures of some vertices.

    Weights are the reach of the player's sequences [S], 0 for the other player; probabilities [S]
    are uniform where the weights do not come.
    """

    player: int
    value: Fraction  # of player 0
    weights: tuple[Point, ...]
    probabilities: tuple[Point, ...]


def optimal_vertices(game: Any, player: int) -> OptimalSet:
    """Return all vertices of the set of optimal policies of a player, in rational numbers.

    The set are the weights x of the player's sequences with x' A y >= value for every pure plan y
    of the opponent. The polytope of all weights, whose vertices are the player's pure plans, is cut
    by these inequalities one after the other; a cut creates a vertex on each edge it crosses, and
    two vertices have an edge if no third one is on all the facets that both are on (the double
    description method; Motzkin and others, 1953).

    Args:
        game: the tree, the game or its name; two players, zero-sum.
        player: 0 or 1.

    Raises:
        ConfigError: the game is not two-player zero-sum, a player forgets, or it is too large.

    Example:
        >>> import counterplay as cp
        >>> [len(cp.concepts.optimal_vertices("kuhn_poker", p).weights) for p in range(2)]
        [2, 1]
    """
    tree: TreeArena = as_arena(game)
    require_two_player_zero_sum("optimal_vertices", tree, USE_OTHER_CONCEPTS)
    require_perfect_recall("optimal_vertices", tree, USE_RECALL_TREE)
    if player not in (0, 1):
        raise ConfigError(f"player is {player!r}, must be 0 or 1")
    counts = count_pure_policies(tree)
    if max(counts) > MAX_PLANS:
        raise ConfigError(
            f"{tree.spec} has {max(counts):,} pure plans of a player, over {MAX_PLANS:,}: take "
            "exact_equilibrium, which returns one optimal policy"
        )
    value, program = exact_equilibrium(tree).value, RationalProgram(tree)
    own = program.sequences(player)
    vertices: dict[Point, frozenset[int]] = {}  # with the numbers of tight inequalities
    for plan in list_pure_plans(tree, player, MAX_PLANS):
        point = tuple(Fraction(int(plan[s])) for s in own)
        vertices[point] = frozenset(k for k, x in enumerate(point) if not x)
    for number, (gains, bound) in enumerate(_guarantees(program, player, value), len(own)):
        vertices = _cut(vertices, gains, bound, number)
        if len(vertices) > MAX_VERTICES:
            raise ConfigError(
                f"the optimal policies of {tree.spec} have over {MAX_VERTICES:,} vertices: take "
                "exact_equilibrium, which returns one of them"
            )
    weights = []
    for point in sorted(vertices):
        full = [Fraction(0)] * program.root
        full[own.start : own.stop] = point
        weights.append(tuple(full))
    probabilities = tuple(behaviour_from_weights(tree, row) for row in weights)
    return OptimalSet(player, value, tuple(weights), probabilities)


def _guarantees(
    program: RationalProgram, player: int, value: Fraction
) -> list[tuple[Point, Fraction]]:
    """Return gains . x >= bound for every pure plan of the opponent, without repetitions."""
    sign = 1 if player == 0 else -1
    own, root = program.sequences(player), program.root
    inequalities: dict[tuple[Point, Fraction], None] = {}
    for plan in list_pure_plans(program.tree, 1 - player, MAX_PLANS):
        gains, constant = [Fraction(0)] * len(own), Fraction(0)
        for (s, t), payoff in program.payoffs.items():
            mine, theirs = (s, t) if player == 0 else (t, s)
            if plan[theirs] > 0.0:
                if mine == root:
                    constant += sign * payoff
                else:
                    gains[mine - own.start] += sign * payoff
        inequalities[tuple(gains), sign * value - constant] = None
    return list(inequalities)


def _cut(
    vertices: dict[Point, frozenset[int]], gains: Point, bound: Fraction, number: int
) -> dict[Point, frozenset[int]]:
    """Return the vertices of a polytope after the inequality gains . x >= bound."""
    slack = {
        point: sum((g * x for g, x in zip(gains, point, strict=True) if g and x), -bound)
        for point in vertices
    }
    inside = [point for point, amount in slack.items() if amount > 0]
    outside = [point for point, amount in slack.items() if amount < 0]
    result = {point: vertices[point] for point in inside}
    for point, amount in slack.items():
        if amount == 0:
            result[point] = vertices[point] | {number}
    for first in inside:
        for second in outside:
            common = vertices[first] & vertices[second]
            if any(
                common <= tight
                for point, tight in vertices.items()
                if point is not first and point is not second
            ):
                continue
            share = slack[first] / (slack[first] - slack[second])
            point = tuple(x + share * (y - x) for x, y in zip(first, second, strict=True))
            result[point] = common | {number}
    return result
