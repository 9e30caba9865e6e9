"""Refinements of equilibria: optimal play also where no player should come.

An equilibrium may play anything at an infoset that it never reaches. Three refinements choose, and
three checks recognise bad choices:

- `quasi_perfect_equilibrium`: optimal at every infoset against opponents that tremble, taking own
  later trembles for impossible (van Damme, 1984); it is sequential and normal-form perfect.
- `normal_form_perfect_equilibrium`: no policy is weakly dominated, which in two-player games is
  normal-form perfection.
- `off_path_losses` and `is_sequential` look for actions that are wrong for every belief;
  `find_subgames` and `is_subgame_perfect` judge a policy in every subgame.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from counterplay.algorithms.exact.rational import RationalProgram, exact_equilibrium
from counterplay.algorithms.game_requirements import (
    USE_OTHER_CONCEPTS,
    USE_RECALL_TREE,
    require_perfect_recall,
    require_two_player_zero_sum,
)
from counterplay.arenas.tree.arena import TreeArena
from counterplay.concepts.rational_simplex import Polynomial, maximise
from counterplay.core.arena import Floats
from counterplay.core.evaluation import check_same_game, compute_best_responses, on_arena
from counterplay.core.policy import Policy, as_arena, policy_from_weights
from counterplay.errors import ConfigError, RunError
from counterplay.matrix.linear_program import solve_lp

MAX_RATIONAL_SEQUENCES = 150  # of both players, for the rational simplex method


@dataclass(frozen=True)
class QuasiPerfectEquilibrium:
    """A quasi-perfect equilibrium in rational numbers."""

    value: Fraction  # of player 0
    probabilities: tuple[Fraction, ...]  # [S]
    tree: TreeArena

    @property
    def policy(self) -> Policy:
        """The policy in floating point."""
        return Policy(self.tree, np.array([float(p) for p in self.probabilities]))


def quasi_perfect_equilibrium(game: Any) -> QuasiPerfectEquilibrium:
    """Return a quasi-perfect equilibrium of a small two-player zero-sum game.

    Miltersen and Sorensen (2010): a limit, as e goes to 0, of equilibria in which a sequence of
    length k has at least the weight e**k. With the smallest weights m of a player's sequences and l
    of the opponent's, the player's policy x solves

        maximise q_0 + l' w   over x >= m, q and w = A' x - F' q >= 0   subject to   E x = e

    (see `sequence_form_lp`). Here x is a polynomial in e with rational coefficients, which the
    simplex method compares for e that goes to 0, and action probabilities are exact limits.

    Args:
        game: the tree, the game or its name.

    Raises:
        ConfigError: the game is not two-player zero-sum, a player forgets, or it is too large.
        RunError: the limit is not an equilibrium.

    Example:
        >>> import counterplay as cp
        >>> equilibrium = cp.concepts.quasi_perfect_equilibrium("kuhn_poker")
        >>> equilibrium.value, cp.concepts.is_sequential(equilibrium.policy)
        (Fraction(-1, 18), True)
    """
    tree: TreeArena = as_arena(game)
    require_two_player_zero_sum("quasi_perfect_equilibrium", tree, USE_OTHER_CONCEPTS)
    require_perfect_recall("quasi_perfect_equilibrium", tree, USE_RECALL_TREE)
    if tree.num_sequences > MAX_RATIONAL_SEQUENCES:
        raise ConfigError(
            f"{tree.spec} has {tree.num_sequences:,} sequences, over {MAX_RATIONAL_SEQUENCES}: "
            "take normal_form_perfect_equilibrium, or exact_equilibrium without refinement"
        )
    program = RationalProgram(tree)
    limits = [
        probability
        for player in range(2)
        for probability in _limit_probabilities(tree, _solve_perturbed(program, player), player)
    ]
    value = exact_equilibrium(tree).value
    reach = _weights(tree, limits)
    guarantees = [
        program.best_value(1 - player, _part(program, reach, player)) for player in range(2)
    ]
    if guarantees != [value, value]:
        raise RunError(f"the limit of trembles in {tree.spec} is not an equilibrium")
    return QuasiPerfectEquilibrium(value, tuple(limits), tree)


def _part(program: RationalProgram, weights: list[Fraction], player: int) -> list[Fraction]:
    """Return a player's weights [S], with 0 for the other player."""
    own = program.sequences(player)
    return [weight if s in own else Fraction(0) for s, weight in enumerate(weights)]


def _lengths(tree: TreeArena) -> list[int]:
    """Return the number of own actions of each sequence [S + 1]."""
    lengths = [0] * (tree.num_sequences + 1)
    for infoset in range(tree.num_infosets):
        for s in range(*map(int, tree.form.offset[infoset : infoset + 2])):
            lengths[s] = lengths[int(tree.form.parent[infoset])] + 1
    return lengths


def _solve_perturbed(program: RationalProgram, player: int) -> dict[int, Polynomial]:
    """Return the weights of a player's own sequences in an equilibrium of the perturbed game."""
    tree, root, opponent = program.tree, program.root, 1 - player
    own, other = [*program.sequences(player), root], [*program.sequences(opponent), root]
    lengths = _lengths(tree)
    degrees = max(lengths) + 1
    smallest = [[Fraction(int(k == length)) for k in range(degrees)] for length in lengths]
    zero = [Fraction(0)] * degrees
    column = {s: k for k, s in enumerate(own)}  # x - smallest, then w, then q+ and q-
    slack = {t: len(own) + k for k, t in enumerate(other)}
    infosets = [*program.infosets(opponent), tree.num_infosets]  # the last is the root
    value = {i: len(own) + len(other) + 2 * k for k, i in enumerate(infosets)}
    size = len(own) + len(other) + 2 * len(infosets)
    rows: list[list[Fraction]] = []
    right_side: list[Polynomial] = []

    def add(terms: dict[int, Fraction], right: Polynomial) -> None:
        row = [Fraction(0)] * size
        for c, factor in terms.items():
            row[c] = factor
        rows.append(row)
        right_side.append(right)

    for infoset in program.infosets(player):
        sequences = range(*map(int, tree.form.offset[infoset : infoset + 2]))
        parent = int(tree.form.parent[infoset])
        terms = {column[s]: Fraction(1) for s in sequences} | {column[parent]: Fraction(-1)}
        factors = {parent: Fraction(1)} | dict.fromkeys(sequences, Fraction(-1))
        add(terms, _combine(factors, smallest))
    add({column[root]: Fraction(1)}, zero)
    sign = 1 if player == 0 else -1
    followers: dict[int, list[int]] = {}
    for infoset in program.infosets(opponent):
        followers.setdefault(int(tree.form.parent[infoset]), []).append(infoset)
    payoffs: dict[int, dict[int, Fraction]] = {t: {} for t in other}
    for (s, t), payoff in program.payoffs.items():
        mine, theirs = (s, t) if player == 0 else (t, s)
        payoffs[theirs][mine] = sign * payoff
    owner = {
        s: infoset
        for infoset in program.infosets(opponent)
        for s in range(*map(int, tree.form.offset[infoset : infoset + 2]))
    }
    owner[root] = tree.num_infosets
    for t in other:  # w = A' x - F' q, with x = smallest + column
        terms = {slack[t]: Fraction(1)}
        for s, payoff in payoffs[t].items():
            terms[column[s]] = -payoff
        for infoset, factor in [(owner[t], 1), *((later, -1) for later in followers.get(t, ()))]:
            terms[value[infoset]] = Fraction(factor)
            terms[value[infoset] + 1] = Fraction(-factor)
        add(terms, _combine(payoffs[t], smallest))
    objective = [zero] * size
    objective[value[tree.num_infosets]] = smallest[root]
    objective[value[tree.num_infosets] + 1] = [-x for x in smallest[root]]
    for t in other:
        objective[slack[t]] = smallest[t]
    solution = maximise(objective, rows, right_side)
    return {
        s: [a + b for a, b in zip(solution[column[s]], smallest[s], strict=True)]
        for s in program.sequences(player)
    }


def _combine(factors: dict[int, Fraction], polynomials: list[Polynomial]) -> Polynomial:
    """Return the sum of factors times polynomials."""
    total = [Fraction(0)] * len(polynomials[0])
    for index, factor in factors.items():
        total = [a + factor * b for a, b in zip(total, polynomials[index], strict=True)]
    return total


def _limit_probabilities(
    tree: TreeArena, weights: dict[int, Polynomial], player: int
) -> list[Fraction]:
    """Return a player's action probabilities as e goes to 0: quotients of leading coefficients."""
    probabilities: list[Fraction] = []
    for infoset in np.flatnonzero(tree.infoset_player == player).tolist():
        sequences = range(*map(int, tree.offset[infoset : infoset + 2]))
        totals = [sum(column) for column in zip(*(weights[s] for s in sequences), strict=True)]
        degree = next(k for k, total in enumerate(totals) if total)
        probabilities += [weights[s][degree] / totals[degree] for s in sequences]
    return probabilities


def _weights(tree: TreeArena, probabilities: list[Fraction]) -> list[Fraction]:
    weights = [*probabilities, Fraction(1)]
    for infoset in range(tree.num_infosets):
        for s in range(*map(int, tree.form.offset[infoset : infoset + 2])):
            weights[s] = probabilities[s] * weights[int(tree.form.parent[infoset])]
    return weights[:-1]


def normal_form_perfect_equilibrium(game: Any) -> Policy:
    """Return a normal-form perfect equilibrium of a two-player zero-sum game.

    Among all maximin policies, each player's earns most against the uniform policy. No policy can
    be at least as good against every opponent and better against one, since the uniform policy
    plays every plan. In two-player games such equilibria are those that are normal-form perfect.
    Where a player's own policy does not come, the policy is a best response to the other's.

    Args:
        game: the tree, the game or its name.

    Raises:
        ConfigError: the game is not two-player zero-sum, or a player forgets.
    """
    from scipy.sparse import csr_array, vstack

    from counterplay.algorithms.exact.rational import VertexSystem, float_matrix
    from counterplay.algorithms.exact.sequence_form_lp import solve_sequence_form_lp

    tree: TreeArena = as_arena(game)
    require_two_player_zero_sum("normal_form_perfect_equilibrium", tree, USE_OTHER_CONCEPTS)
    require_perfect_recall("normal_form_perfect_equilibrium", tree, USE_RECALL_TREE)
    value = solve_sequence_form_lp(tree).value
    program = RationalProgram(tree)
    uniform = np.ones(tree.num_sequences + 1)
    for infoset in range(tree.num_infosets):
        first, last = map(int, tree.form.offset[infoset : infoset + 2])
        uniform[first:last] = uniform[int(tree.form.parent[infoset])] / (last - first)
    weights = np.zeros(tree.num_sequences)
    for player in range(2):
        system = VertexSystem(program, player)
        sign = 1.0 if player == 0 else -1.0
        cost = np.zeros(system.num_columns)
        for (s, t), payoff in program.payoffs.items():
            mine, theirs = (s, t) if player == 0 else (t, s)
            index = system.num_weights - 1 if mine == program.root else mine - system.own.start
            cost[index] -= sign * float(payoff) * uniform[theirs]
        scale = float(np.abs(tree.utility).max()) or 1.0
        worst = np.zeros((1, system.num_columns))
        worst[0, -1] = -1.0
        bound = np.append(np.zeros(len(system.inequalities)), -sign * value + 1e-10 * scale)
        matrix = vstack([float_matrix(system.inequalities, system.num_columns), csr_array(worst)])
        right_side = np.zeros(len(system.equalities))
        right_side[-1] = 1.0
        result = solve_lp(
            cost / (np.abs(cost).max(initial=0.0) or 1.0),
            inequalities=(matrix.tocsr(), bound),
            equalities=(float_matrix(system.equalities, system.num_columns), right_side),
            num_free=system.num_columns - system.num_weights,
            name="normal_form_perfect_equilibrium",
        )
        weights[system.own.start : system.own.stop] = result.x[: len(system.own)]
    weights = np.where(weights > 1e-9, weights, 0.0)
    on_path = policy_from_weights(tree, weights).probabilities
    return policy_from_weights(tree, weights, compute_best_responses(tree, on_path).response[:-1])


def off_path_losses(game: Any, policy: Policy | None = None) -> Floats:
    """Return the smallest loss [I] of a policy's actions at each infoset, over all beliefs.

    At an infoset that the others reach, beliefs about the history follow from their policies. At
    other infosets the belief that excuses the policy best counts, among those in which histories
    that differ by chance alone have the ratio of their chances. The loss is the gain of the best
    single action, all following the policy afterwards, per visit of the infoset.

    Args:
        game: the tree, the game or its name; or the policy alone.
        policy: the policy.
    """
    tree, policy = on_arena(game, policy)
    require_perfect_recall("off_path_losses", tree, USE_RECALL_TREE)
    check_same_game(tree, policy)
    values = _node_values(tree, policy.probabilities)
    reach = _others_reach(tree, policy.probabilities)
    chance, last = _chance_and_sequences(tree)
    losses = np.zeros(tree.num_infosets)
    nodes_by_infoset: list[list[int]] = [[] for _ in range(tree.num_infosets)]
    for node in np.flatnonzero(tree.infoset >= 0).tolist():
        nodes_by_infoset[int(tree.infoset[node])].append(node)
    for infoset, nodes in enumerate(nodes_by_infoset):
        player = int(tree.infoset_player[infoset])
        gains = np.array(
            [
                values[int(tree.child_offset[n]) : int(tree.child_offset[n + 1]), player]
                - values[n, player]
                for n in nodes
            ]
        )  # [histories, actions]
        belief = reach[nodes]
        if belief.sum() > 0.0:
            losses[infoset] = max(float((belief / belief.sum() @ gains).max()), 0.0)
        else:
            losses[infoset] = _least_loss(
                _group_by_sequences(tree, nodes, player, gains, chance, last)
            )
    return losses


def _group_by_sequences(
    tree: TreeArena, nodes: list[int], player: int, gains: Floats, chance: Floats, last: Any
) -> Floats:
    """Return mean gains [G, A] of histories in which the others took the same actions."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for k, node in enumerate(nodes):
        others = tuple(int(s) for p, s in enumerate(last[node]) if p != player)
        groups.setdefault(others, []).append(k)
    odds = chance[nodes]
    return np.array([odds[rows] @ gains[rows] / odds[rows].sum() for rows in groups.values()])


def _chance_and_sequences(tree: TreeArena) -> tuple[Floats, Any]:
    """Return the probability of chance [N] and every player's last sequence [N, P]; -1: none."""
    chance, last = np.ones(tree.num_nodes), np.full((tree.num_nodes, tree.num_players), -1)
    for node in range(1, tree.num_nodes):
        parent = int(tree.parent[node])
        chance[node] = chance[parent] * tree.chance[node]
        last[node] = last[parent]
        if tree.incoming_sequence[node] >= 0:
            last[node, tree.player[parent]] = tree.incoming_sequence[node]
    return chance, last


def _least_loss(gains: Floats) -> float:
    """Return the smallest over beliefs of the largest over actions of belief' gains [H, A]."""
    histories, actions = gains.shape
    scale = float(np.abs(gains).max()) or 1.0
    result = solve_lp(
        np.append(np.zeros(histories), 1.0),
        inequalities=(np.hstack([gains.T / scale, -np.ones((actions, 1))]), np.zeros(actions)),
        equalities=(np.append(np.ones(histories), 0.0)[None, :], np.ones(1)),
        num_free=1,
        name="off_path_losses",
    )
    return max(float(result.fun), 0.0) * scale


def is_sequential(game: Any, policy: Policy | None = None, tolerance: float = 1e-9) -> bool:
    """Return True if a policy is sequentially rational at every infoset for some belief there.

    This is necessary for a sequential equilibrium (Kreps and Wilson, 1982). It is not sufficient:
    the beliefs at different infosets that are never reached are not compared with each other.

    Args:
        game: the tree, the game or its name; or the policy alone.
        policy: the policy.
        tolerance: largest loss, as a fraction of the largest utility.

    Example:
        >>> import counterplay as cp
        >>> lp = cp.algorithms.solve_sequence_form_lp(cp.build_tree("kuhn_poker"))
        >>> cp.concepts.is_sequential(lp.policy, tolerance=1e-6)
        True
    """
    tree, policy = on_arena(game, policy)
    scale = float(np.abs(tree.utility).max(initial=0.0)) or 1.0
    return bool((off_path_losses(tree, policy) <= tolerance * scale).all())


def _node_values(tree: TreeArena, probabilities: Floats) -> Floats:
    """Return every player's expected utility [N, P] from each node on."""
    values = np.zeros((tree.num_nodes, tree.num_players))
    values[tree.terminals] = tree.utility
    for node in range(tree.num_nodes - 1, 0, -1):
        values[tree.parent[node]] += _edge(tree, probabilities, node) * values[node]
    return values


def _edge(tree: TreeArena, probabilities: Floats, node: int) -> float:
    sequence = int(tree.incoming_sequence[node])
    return float(probabilities[sequence] if sequence >= 0 else tree.chance[node])


def _others_reach(tree: TreeArena, probabilities: Floats) -> Floats:
    """Return the probability [N] that chance and all but the acting player reach each node."""
    by_player = np.ones((tree.num_nodes, tree.num_players))
    for node in range(1, tree.num_nodes):
        parent = int(tree.parent[node])
        by_player[node] = by_player[parent]
        factor = _edge(tree, probabilities, node)
        mover = int(tree.player[parent])
        others = [p for p in range(tree.num_players) if p != mover]
        by_player[node, others] *= factor
    acting = np.maximum(tree.player, 0)
    return np.asarray(by_player[np.arange(tree.num_nodes), acting])


@dataclass(frozen=True)
class ProperSubgame:
    """A subgame: its root, and the values and gains of a policy from there on."""

    node: int
    history: tuple[int, ...]  # actions from the root of the tree
    values: Floats  # [P] of the policy
    gains: Floats  # [P] of best responses in the subgame


def find_subgames(game: Any, policy: Policy | None = None) -> list[ProperSubgame]:
    """Return all subgames with a decision, the whole game first, judged under a policy.

    A subgame starts at a node that is alone in its infoset, or at a chance node, if no infoset has
    histories both below it and elsewhere.

    Args:
        game: the tree, the game or its name; or the policy alone.
        policy: the policy.
    """
    tree, policy = on_arena(game, policy)
    require_perfect_recall("find_subgames", tree, USE_RECALL_TREE)
    check_same_game(tree, policy)
    probabilities = policy.probabilities
    values = _node_values(tree, probabilities)
    sizes = np.bincount(tree.infoset[tree.infoset >= 0], minlength=tree.num_infosets)
    below: list[dict[int, int]] = [{} for _ in range(tree.num_nodes)]
    for node in range(tree.num_nodes - 1, -1, -1):
        if tree.infoset[node] >= 0:
            counts = below[node]
            counts[int(tree.infoset[node])] = counts.get(int(tree.infoset[node]), 0) + 1
        if node:
            above = below[int(tree.parent[node])]
            for infoset, count in below[node].items():
                above[infoset] = above.get(infoset, 0) + count
    subgames = []
    for node in range(tree.num_nodes):
        counts = below[node]
        if counts and all(count == sizes[infoset] for infoset, count in counts.items()):
            gains = [
                _best_value(tree, probabilities, node, player) - values[node, player]
                for player in range(tree.num_players)
            ]
            subgames.append(
                ProperSubgame(node, _history(tree, node), values[node], np.array(gains))
            )
    return subgames


def is_subgame_perfect(game: Any, policy: Policy | None = None, tolerance: float = 1e-9) -> bool:
    """Return True if a policy is an equilibrium of every subgame.

    Args:
        game: the tree, the game or its name; or the policy alone.
        policy: the policy.
        tolerance: largest gain of a player, as a fraction of the largest utility.
    """
    tree, policy = on_arena(game, policy)
    scale = float(np.abs(tree.utility).max(initial=0.0)) or 1.0
    return all(
        float(subgame.gains.max()) <= tolerance * scale for subgame in find_subgames(tree, policy)
    )


def _history(tree: TreeArena, node: int) -> tuple[int, ...]:
    actions: list[int] = []
    while node > 0:
        actions.append(int(tree.action[node]))
        node = int(tree.parent[node])
    return tuple(reversed(actions))


def _best_value(tree: TreeArena, probabilities: Floats, root: int, player: int) -> float:
    """Return the value of a player's best response in the subgame at a node."""
    weight: dict[int, float] = {root: 1.0}
    order = [root]
    for node in order:  # breadth first, within the subtree
        for child in range(int(tree.child_offset[node]), int(tree.child_offset[node + 1])):
            is_own = tree.player[node] == player
            weight[child] = weight[node] * (1.0 if is_own else _edge(tree, probabilities, child))
            order.append(child)
    utility = dict(zip(tree.terminals.tolist(), tree.utility[:, player].tolist(), strict=True))
    nodes_by_infoset: dict[int, list[int]] = {}
    for node in order:
        if tree.player[node] == player:
            nodes_by_infoset.setdefault(int(tree.infoset[node]), []).append(node)
    choice: dict[int, int] = {}
    # infosets of a player are numbered parents first, so later ones are decided first

    def evaluate(node: int) -> float:
        if node in utility:
            return weight[node] * utility[node]
        first, last = int(tree.child_offset[node]), int(tree.child_offset[node + 1])
        if tree.player[node] == player:
            return evaluate(first + choice[int(tree.infoset[node])])
        return sum(evaluate(child) for child in range(first, last))

    for infoset in sorted(nodes_by_infoset, reverse=True):
        count = int(tree.num_actions[infoset])
        totals = [
            sum(evaluate(int(tree.child_offset[node]) + k) for node in nodes_by_infoset[infoset])
            for k in range(count)
        ]
        choice[infoset] = int(np.argmax(totals))
    return evaluate(root)
