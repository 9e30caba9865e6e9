"""Online outcome sampling on the arrays of a tree."""

from __future__ import annotations

import numpy as np

from counterplay.kernels.runtime.jit import CHANCE, TERMINAL
from counterplay.kernels.runtime.jit import fma_kernel as kernel
from counterplay.kernels.sampling.primitives import draw_uniform


@kernel
def simulate(tree, toward, delta, epsilon, gamma, first, count, rng, regret, policy_sum, steps):
    """Sample episodes and update regrets and policy sums; see `search.oos`.

    Args:
        tree: record with player, infoset, offset, child_offset, chance, utility and terminal_row.
        toward: [N] 1 for nodes above a known history of the target, 2 for these, 0 for others.
        delta: share of targeted episodes.
        epsilon: exploration of the updating player.
        gamma: share of uniform play in regret matching.
        first: number of the first episode; the player to update changes with it.
        count: number of episodes.
        rng: [1] state of the generator.
        regret: [S]
        policy_sum: [S]
        steps: scratch, record of arrays by depth: child, policy [depth, A], own, other, before.
    """
    num_players = tree.utility.shape[1]
    reach = np.ones(num_players + 1)
    for episode in range(first, first + count):
        update_player = episode % num_players
        is_targeted = draw_uniform(rng) < delta
        plain, aimed, node, length = 1.0, 1.0, 0, 0
        reach[:] = 1.0
        while tree.player[node] != TERMINAL:
            player, start = tree.player[node], tree.child_offset[node]
            num_actions = tree.child_offset[node + 1] - start
            policy, sampling = steps.policy[length], steps.sampling[length]
            if player == CHANCE:
                for a in range(num_actions):
                    policy[a] = tree.chance[start + a]
                    sampling[a] = policy[a]
            else:
                _match_regrets(tree, tree.infoset[node], gamma, regret, policy)
                share = epsilon if player == update_player else 0.0
                for a in range(num_actions):
                    sampling[a] = share / num_actions + (1.0 - share) * policy[a]
            is_above = toward[node] == 1
            mass, total = 0.0, 0.0
            for a in range(num_actions):
                total += sampling[a]
                if not is_above or toward[start + a]:
                    mass += sampling[a]
            is_restricted = is_above and is_targeted and mass > 0.0
            left, index = draw_uniform(rng) * (mass if is_restricted else total), -1
            for a in range(num_actions):
                if sampling[a] > 0.0 and (not is_restricted or toward[start + a]):
                    index = a
                    left -= sampling[a]
                    if left < 0.0:
                        break
            child = start + index
            other = 1.0
            for p in range(num_players + 1):
                if p != player and not (player == CHANCE and p == num_players):
                    other *= reach[p]
            steps.child[length] = child
            steps.own[length] = reach[player] if player != CHANCE else reach[num_players]
            steps.other[length] = other
            steps.before[length] = delta * aimed + (1.0 - delta) * plain
            is_allowed = not is_above or toward[child] > 0
            plain *= sampling[index]
            aimed *= sampling[index] / mass if is_allowed and mass > 0.0 else 0.0
            reach[player if player != CHANCE else num_players] *= policy[index]
            length += 1
            node = child
        sample = delta * aimed + (1.0 - delta) * plain
        value = tree.utility[tree.terminal_row[node], update_player]
        tail = 1.0
        for k in range(length - 1, -1, -1):
            child = steps.child[k]
            parent = tree.parent[child]
            player, index = tree.player[parent], child - tree.child_offset[parent]
            before = tail
            tail *= steps.policy[k, index]
            if player == CHANCE:
                continue
            s0, s1 = tree.offset[tree.infoset[parent]], tree.offset[tree.infoset[parent] + 1]
            if player == update_player:
                weight = value * steps.other[k] / sample
                for s in range(s0, s1):
                    gain = before if s - s0 == index else 0.0
                    regret[s] += weight * (gain - tail)
            else:
                weight = steps.own[k] / steps.before[k]
                for s in range(s0, s1):
                    policy_sum[s] += weight * steps.policy[k, s - s0]


@kernel
def _match_regrets(tree, infoset, gamma, regret, policy):
    """Set the first entries of `policy` to regret matching, mixed with uniform play."""
    first, last = tree.offset[infoset], tree.offset[infoset + 1]
    total = 0.0
    for s in range(first, last):
        total += max(regret[s], 0.0)
    for s in range(first, last):
        if total > 0.0:
            share = max(regret[s], 0.0) / total
            policy[s - first] = gamma / (last - first) + (1.0 - gamma) * share
        else:
            policy[s - first] = 1.0 / (last - first)
