"""Warm starts: the memory of CFR as if a policy had been the average of past iterations."""

from __future__ import annotations

import numpy as np

from counterplay.algorithms.cfr import engine
from counterplay.algorithms.cfr.engine import RegretMemory
from counterplay.algorithms.game_requirements import require_perfect_recall
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats
from counterplay.core.evaluation import check_same_game
from counterplay.core.policy import Policy
from counterplay.errors import ConfigError
from counterplay.kernels.sequence_form import sweeps


def regrets_from_policy(
    arena: TreeArena, policy: Policy, iterations: int, bound_scale: float = 0.03
) -> RegretMemory:
    """Return a memory with substitute regrets for a policy (Brown and Sandholm, 2016).

    After T iterations the squares of the positive average regrets of an infoset I sum to about

        bound(I) = (scale * others' reach of I * range of utilities)**2 * number of actions / T

    so from the leaves on, value(I) is the number with which

        sum over actions a of max(value(I, a) - value(I), 0)**2 = bound(I)

    where value(I, a) are counterfactual values against the others' policies, with value(J) at the
    player's next infosets J; and regret(I, a) = T * (value(I, a) - value(I)).

    Args:
        arena: the tree.
        policy: the policy to start from.
        iterations: number of past iterations T that the policy stands for. The next iteration of
            the memory is T + 1.
        bound_scale: the scale; 1 is the bound of the theory, which real runs stay far below.

    Returns:
        The memory, with the reach of the policy as its average; its weight is up to the caller.

    Raises:
        ConfigError: T is not positive, the policy is for another game, or a player forgets.
    """
    require_perfect_recall("a warm start", arena)
    check_same_game(arena, policy)
    if iterations < 1:
        raise ConfigError(f"a warm start stands for {iterations} iterations, must be at least 1")
    memory, form = engine.new_memory(arena), arena.form
    memory.policy[:-1] = policy.probabilities
    sweeps.forward(form, 0, form.parent.size, memory.policy, memory.reach)
    memory.policy_sum[0] = memory.reach
    for player in range(arena.num_players):
        values = memory.cf_value
        arena.gradient(player, memory.reach, values)
        bound = bound_scale**2 * _regret_bounds(arena, player, memory.reach) / iterations
        for i in reversed(range(*map(int, form.player_infoset[player : player + 2]))):
            at = slice(int(form.offset[i]), int(form.offset[i + 1]))
            value = _substitute_value(values[at], bound[i])
            memory.regret[at] = iterations * (values[at] - value)
            values[form.parent[i]] += value
    memory.policy[:-1] = np.maximum(memory.regret[:-1], 0.0)
    sweeps.forward_matching(form, 0, form.parent.size, memory.policy, memory.reach)
    memory.iteration = iterations
    return memory


def _regret_bounds(arena: TreeArena, player: int, reach: Floats) -> Floats:
    """Return (others' reach * range of utilities)**2 * number of actions [I] of a player."""
    weight = np.ones(arena.num_nodes)  # probability of chance and the other players
    for node in range(1, arena.num_nodes):
        parent, s = int(arena.parent[node]), int(arena.incoming_sequence[node])
        factor = float(arena.chance[node])
        if s >= 0:
            i = int(arena.infoset[parent])
            above = reach[arena.form.parent[i]]
            factor = 1.0 if arena.player[parent] == player else reach[s] / above if above else 0.0
        weight[node] = weight[parent] * factor
    nodes = np.flatnonzero(arena.player == player)
    others = np.bincount(arena.infoset[nodes], weight[nodes], arena.num_infosets)
    span = float(np.ptp(arena.utility[:, player]))
    return np.asarray((others * span) ** 2 * arena.num_actions)


def _substitute_value(values: Floats, bound: float) -> float:
    """Return x with sum(max(values - x, 0)**2) = bound."""
    ordered = np.sort(values)[::-1]
    for count in range(1, values.size + 1):
        top = ordered[:count]
        mean = float(top.mean())
        spread = float(((top - mean) ** 2).sum())
        if spread <= bound:
            value = mean - np.sqrt((bound - spread) / count)
        if count == values.size or value >= ordered[count]:
            return float(value)
    raise AssertionError("a sorted list has a last element")
