"""Strong Stackelberg equilibria of two-player trees: optimal policies to commit to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterplay.algorithms.game_requirements import (
    USE_RECALL_TREE,
    require_perfect_recall,
)
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats
from counterplay.core.evaluation import expected_values, judge
from counterplay.core.policy import Policy, as_arena, policy_from_weights
from counterplay.errors import ConfigError, RunError

MAX_SEQUENCES = 2_000  # of both players; larger programmes take too long
GAIN_TOLERANCE = 1e-6  # accepted gain of the follower, relative to its utilities


@dataclass(frozen=True)
class Commitment:
    """An optimal policy of the leader, and the follower's best response to it."""

    leader: int
    policy: Policy  # the leader's commitment and the follower's response
    values: Floats  # [2]


def optimal_commitment(game: Any, leader: int = 0) -> Commitment:
    """Return a strong Stackelberg equilibrium of a two-player tree (Bosansky and Cermak, 2015).

    The leader commits to a policy, which the follower sees; the follower takes a best response, and
    among several the one that the leader prefers. A mixed-integer programme has as variables the
    leader's reach x(s) in [0, 1] and the follower's reach y(t) in {0, 1} of sequences, the joint
    probabilities p(s, t) <= min(x(s), y(t)) with chance-weighted sum 1, values v(I) of the
    follower's infosets, and slacks w(t) >= 0 with, for every follower's sequence t at infoset I,

        v(I) = w(t) + sum over s of x(s) * U(s, t) + sum over next infosets J after t of v(J)
        w(t) <= M * (1 - y(t))

    so y takes only sequences without slack: best responses. HiGHS maximises the leader's utility.

    Args:
        game: the tree, the game or its name.
        leader: the player that commits, 0 or 1.

    Raises:
        ConfigError: the game has not two players, a player forgets, or the tree is too large.
        RunError: the solver fails.

    Example:
        >>> import counterplay as cp
        >>> round(float(cp.concepts.optimal_commitment("kuhn_poker").values[0]), 6)  # -1/18
        -0.055556
    """
    tree: TreeArena = as_arena(game)
    require_perfect_recall("optimal_commitment", tree, USE_RECALL_TREE)
    if tree.num_players != 2:
        raise ConfigError(
            f"optimal_commitment needs a leader and one follower; {tree.spec} has "
            f"{tree.num_players} players: take efr for correlated play, or team_equilibrium"
        )
    if leader not in (0, 1):
        raise ConfigError(f"leader is {leader!r}, must be 0 or 1")
    if tree.num_sequences > MAX_SEQUENCES:
        raise ConfigError(
            f"{tree.spec} has {tree.num_sequences:,} sequences, over {MAX_SEQUENCES:,}; the "
            "mixed-integer programme is for small trees"
        )
    weights = _solve_program(tree, leader)
    fallback = _best_responses(tree, weights)
    policy = policy_from_weights(tree, weights, fallback)
    judgement = judge(tree, policy)
    gain = judgement.best_values[1 - leader] - judgement.values[1 - leader]
    if gain > GAIN_TOLERANCE * (np.abs(tree.utility).max() or 1.0):
        raise RunError(f"the follower of {tree.spec} gains {gain:g}: the programme is inaccurate")
    return Commitment(leader, policy, expected_values(tree, policy))


def _best_responses(tree: TreeArena, weights: Floats) -> Floats:
    """Return best responses [S] to weights, for infosets that the players do not reach."""
    from counterplay.core.evaluation import compute_best_responses

    probabilities = policy_from_weights(tree, weights).probabilities
    return compute_best_responses(tree, probabilities).response[:-1]


def _solve_program(tree: TreeArena, leader: int) -> Floats:
    """Return both players' sequence weights [S] of an optimal commitment."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    form, root, follower = tree.form, tree.num_sequences, 1 - leader
    payoffs = _payoffs(tree)
    pairs = list(payoffs)
    num_pairs, num_infosets = len(pairs), tree.num_infosets
    # columns: weights [S + 1], slacks [S + 1], values [I + 1], pairs
    slack, value, pair = root + 1, 2 * (root + 1), 2 * (root + 1) + num_infosets + 1
    size = pair + num_pairs
    scale = float(np.abs(tree.utility).max()) or 1.0
    entries: list[tuple[int, int, float]] = []
    low: list[float] = []
    high: list[float] = []

    def add(terms: list[tuple[int, float]], lower: float, upper: float) -> None:
        entries.extend((len(low), column, factor) for column, factor in terms)
        low.append(lower)
        high.append(upper)

    add([(root, 1.0)], 1.0, 1.0)
    owner = tree.infoset_player
    followers: dict[int, list[int]] = {}
    for infoset in range(num_infosets):
        first, last = map(int, form.offset[infoset : infoset + 2])
        parent = int(form.parent[infoset])
        add([*((s, 1.0) for s in range(first, last)), (parent, -1.0)], 0.0, 0.0)
        if owner[infoset] == follower:
            followers.setdefault(parent, []).append(infoset)
    values_by_sequence: dict[int, list[tuple[int, float]]] = {}
    for s, t in pairs:
        own, other = (s, t) if leader == 0 else (t, s)
        amount = float(payoffs[s, t][1 + follower]) / scale
        values_by_sequence.setdefault(other, []).append((own, -amount))
    for infoset in (*np.flatnonzero(owner == follower).tolist(), num_infosets):
        is_root = infoset == num_infosets
        sequences = [root] if is_root else range(*map(int, form.offset[infoset : infoset + 2]))
        for t in sequences:
            terms = [(value + infoset, 1.0), (slack + t, -1.0), *values_by_sequence.get(t, ())]
            terms += [(value + later, -1.0) for later in followers.get(t, ())]
            add(terms, 0.0, 0.0)
            add([(slack + t, 1.0), (t, 2.0)], 0.0, 2.0)  # utilities are at most 1, so M = 2
    for k, both in enumerate(pairs):
        for s in both:
            add([(pair + k, 1.0), (s, -1.0)], -np.inf, 0.0)
    add([(pair + k, float(payoffs[p][0])) for k, p in enumerate(pairs)], 1.0, 1.0)
    row, column, factor = map(np.array, zip(*entries, strict=True))
    index = row.astype(np.int32), column.astype(np.int32)  # the only type that SciPy 1.12 takes
    matrix = coo_array((factor, index), shape=(len(low), size)).tocsr()
    lower, upper = np.zeros(size), np.ones(size)
    upper[slack:value] = 2.0
    lower[value:pair], upper[value:pair] = -np.inf, np.inf
    integrality = np.zeros(size)
    first, last = map(int, form.offset[form.player_infoset[[follower, follower + 1]]])
    integrality[first:last] = 1.0
    cost = np.zeros(size)
    cost[pair:] = [-float(payoffs[p][1 + leader]) / scale for p in pairs]
    result = milp(
        cost,
        integrality=integrality,
        bounds=Bounds(lower, upper),
        constraints=LinearConstraint(matrix, np.array(low), np.array(high)),
        options={"mip_rel_gap": 0.0},
    )
    if result.x is None:
        raise RunError(f"the programme of {tree.spec} was not solved: {result.message}")
    weights = np.maximum(result.x[:root], 0.0)
    weights[first:last] = np.round(weights[first:last])
    return np.asarray(weights)


def _payoffs(tree: TreeArena) -> dict[tuple[int, int], Floats]:
    """Return chance, and chance times each utility, summed by the players' last sequences."""
    reach, last = np.ones(tree.num_nodes), np.full((tree.num_nodes, 2), tree.num_sequences)
    for node in range(1, tree.num_nodes):
        parent = int(tree.parent[node])
        reach[node] = reach[parent] * tree.chance[node]
        last[node] = last[parent]
        if tree.incoming_sequence[node] >= 0:
            last[node, tree.player[parent]] = tree.incoming_sequence[node]
    payoffs: dict[tuple[int, int], Floats] = {}
    for z, node in enumerate(tree.terminals.tolist()):
        key = (int(last[node, 0]), int(last[node, 1]))
        amounts = reach[node] * np.array([1.0, *tree.utility[z]])
        payoffs[key] = payoffs.get(key, np.zeros(3)) + amounts
    return payoffs
