"""Walks that branch: chance, external and average strategy sampling.

`game` holds nodes and utilities, `table` what is learned, `scratch` room to work. A node names its
player, its first child, the number of its children, and `first`: where its actions stand in the
table, or the row of its utilities. Chance is a player too, whose actions stand in `policy` only.

A walk leaves the policy alone and lists the traverser's nodes in `scratch.met`; then their infosets
learn. `scratch.tally` counts the nodes touched and the nodes listed.
"""

from __future__ import annotations

from counterplay.kernels.runtime.jit import CHANCE, TERMINAL, no_alloc_kernel
from counterplay.kernels.sampling.lazy_nodes import node_at
from counterplay.kernels.sampling.primitives import (
    add_average,
    draw_bernoulli,
    iteration_weight,
    sample_action,
    seed_stream,
    update_policy,
)


@no_alloc_kernel
def add_average_episode(p, weight, game, table, scratch):
    """One episode that adds to the average of `p`: it follows its policy, others do not.

    The others play uniformly, so that how often an infoset is met changes with the player's own
    reach alone. Between two players the walks for the regrets keep the averages, with less noise.
    """
    n = 0
    while node_at(game.nodes, n).player != TERMINAL:
        node = node_at(game.nodes, n)
        scratch.counters[0] += 1
        if node.player == p:
            last = node.first + node.count
            add_average(node.first, last, weight, table.policy, table.policy_sum)
        epsilon = 0.0 if node.player == p or node.player == CHANCE else 1.0
        n = node.child + sample_action(table.policy, node.first, node.count, epsilon, scratch.rng)
    scratch.counters[0] += 1


@no_alloc_kernel
def add_average_episodes(seed, t, weight, game, table, scratch):
    """An episode for the average of each player."""
    for p in range(game.num_players):
        seed_stream(seed, t, game.num_players + p, scratch.rng)
        add_average_episode(p, weight, game, table, scratch)


@no_alloc_kernel
def update_pending_policies(learner, game, table, scratch):
    """Let the infosets of all nodes met learn."""
    for m in range(scratch.counters[1]):
        node = node_at(game.nodes, scratch.pending_nodes[m])
        last = node.first + node.count
        update_policy(learner, node.first, last, table.max_abs_value, table.regret, table.policy)
    scratch.counters[1] = 0


@no_alloc_kernel
def chance_walk(p, weight, game, table, scratch):
    """Sample chance alone. At the nodes of `p`, with the other players' reach cf:

    regret     = regret + cf * (u(a) - u)
    policy_sum = policy_sum + weight * own reach * policy
    """
    nodes, utility, tally, met = game.nodes, game.utility, scratch.counters, scratch.pending_nodes
    regret, policy, policy_sum = table.regret, table.policy, table.policy_sum
    at, action, value = scratch.node, scratch.action, scratch.value
    reach, cf_reach, size, largest = (
        scratch.reach,
        scratch.sampling_reach,
        scratch.max_abs_below,
        table.max_abs_value,
    )
    n, depth, own, cf, below = 0, 0, 1.0, 1.0, 0.0
    while True:
        node = node_at(nodes, n)
        tally[0] += 1
        u = 0.0
        if node.player == CHANCE:
            n = node.child + sample_action(policy, node.first, node.count, 0.0, scratch.rng)
            continue
        if node.player == TERMINAL:
            u = utility[node.first, p]
            below = max(below, abs(u))
        else:
            at[depth], action[depth], value[depth] = n, -1, 0.0
            reach[depth], cf_reach[depth] = own, cf
            if node.player == p:
                size[depth], below = below, 0.0
            depth += 1
        while depth > 0:  # take `u` back to the node above, until one has an action left to try
            d = depth - 1
            node = node_at(nodes, at[d])
            first, k = node.first, action[d]
            if k >= 0:
                value[d] += policy[first + k] * u
                if node.player == p:
                    regret[first + k] += cf_reach[d] * u
            k += 1
            if k < node.count:
                action[d] = k
                own, cf = reach[d], cf_reach[d]
                if node.player == p:
                    own *= policy[first + k]
                else:
                    cf *= policy[first + k]
                n = node.child + k
                break
            u = value[d]
            if node.player == p:
                for s in range(first, first + node.count):
                    regret[s] -= cf_reach[d] * u
                if cf_reach[d] * below > largest[first]:
                    largest[first] = cf_reach[d] * below
                below = max(below, size[d])
                add_average(first, first + node.count, weight * reach[d], policy, policy_sum)
                met[tally[1]] = at[d]
                tally[1] += 1
            depth = d
        if depth == 0:
            return


@no_alloc_kernel
def external_walk(p, weight, game, table, scratch):
    """Sample chance and the others. At the nodes of `p`: regret = regret + u(a) - u.

    At the others' nodes: policy_sum = policy_sum + weight * policy.
    """
    nodes, utility, tally, met = game.nodes, game.utility, scratch.counters, scratch.pending_nodes
    regret, policy, policy_sum = table.regret, table.policy, table.policy_sum
    at, action, value, largest = scratch.node, scratch.action, scratch.value, table.max_abs_value
    n, depth = 0, 0
    while True:
        node = node_at(nodes, n)
        tally[0] += 1
        first = node.first
        if node.player == p:
            at[depth], action[depth], value[depth] = n, 0, 0.0
            depth += 1
            n = node.child
            continue
        if node.player != TERMINAL:
            if node.player != CHANCE:
                add_average(first, first + node.count, weight, policy, policy_sum)
            n = node.child + sample_action(policy, first, node.count, 0.0, scratch.rng)
            continue
        u = utility[first, p]
        below = abs(u)
        while depth > 0:
            d = depth - 1
            node = node_at(nodes, at[d])
            first, k = node.first, action[d]
            regret[first + k] += u
            value[d] += policy[first + k] * u
            if below > largest[first]:
                largest[first] = below
            k += 1
            if k < node.count:
                action[d] = k
                n = node.child + k
                break
            u, below = value[d], largest[first]
            for s in range(first, first + node.count):
                regret[s] -= u
            met[tally[1]] = at[d]
            tally[1] += 1
            depth = d
        if depth == 0:
            return


@no_alloc_kernel
def inclusion_probability(scheme, first, last, k, policy_sum):
    """The probability of trying action `k` of an infoset in average strategy sampling."""
    epsilon, tau, beta = scheme
    total = beta
    for s in range(first, last):
        total += policy_sum[s]
    if total <= 0.0:
        return 1.0
    return min(1.0, max(epsilon, (beta + tau * policy_sum[first + k]) / total))


@no_alloc_kernel
def average_walk(p, weight, scheme, game, table, scratch):
    """`external_walk`, but `p` tries each action only with probability rho = `inclusion`.

    With q the product of all rho above, and v(a) = u(a) / rho if the action is tried, else 0:
    regret = regret + (v(a) - v) / q, and the others' averages count weight / q.
    """
    nodes, utility, tally, met = game.nodes, game.utility, scratch.counters, scratch.pending_nodes
    regret, policy, policy_sum = table.regret, table.policy, table.policy_sum
    at, action, value = scratch.node, scratch.action, scratch.value
    reach, rho, largest = scratch.reach, scratch.sampling_reach, table.max_abs_value
    n, depth, q = 0, 0, 1.0
    while True:
        node = node_at(nodes, n)
        tally[0] += 1
        first, u, below = node.first, 0.0, 0.0
        if node.player == p:
            at[depth], action[depth], value[depth], reach[depth] = n, -1, 0.0, q
            depth += 1
        elif node.player == TERMINAL:
            u = utility[first, p]
            below = abs(u) / q
        else:
            if node.player != CHANCE:
                add_average(first, first + node.count, weight / q, policy, policy_sum)
            n = node.child + sample_action(policy, first, node.count, 0.0, scratch.rng)
            continue
        while depth > 0:
            d = depth - 1
            node = node_at(nodes, at[d])
            first, last, k = node.first, node.first + node.count, action[d]
            if k >= 0:
                u /= rho[d]
                value[d] += policy[first + k] * u
                regret[first + k] += u / reach[d]
                if below > largest[first]:
                    largest[first] = below
            k += 1
            while k < node.count:
                rho[d] = inclusion_probability(scheme, first, last, k, policy_sum)
                if draw_bernoulli(rho[d], scratch.rng):
                    break
                k += 1
            if k < node.count:
                action[d] = k
                n, q = node.child + k, reach[d] * rho[d]
                break
            u, below = value[d], largest[first]
            for s in range(first, last):
                regret[s] -= u / reach[d]
            met[tally[1]] = at[d]
            tally[1] += 1
            depth = d
        if depth == 0:
            return


@no_alloc_kernel
def chance_sampling(begin, end, seed, power, learner, game, table, scratch):
    """Iterations `begin` to `end`, the last not included."""
    for t in range(begin, end):
        for p in range(game.num_players):
            seed_stream(seed, t, p, scratch.rng)
            chance_walk(p, iteration_weight(t, power), game, table, scratch)
            update_pending_policies(learner, game, table, scratch)


@no_alloc_kernel
def external_sampling(begin, end, seed, power, learner, game, table, scratch):
    """Iterations `begin` to `end`, the last not included."""
    two = game.num_players == 2
    for t in range(begin, end):
        weight = iteration_weight(t, power)
        for p in range(game.num_players):
            seed_stream(seed, t, p, scratch.rng)
            external_walk(p, weight if two else 0.0, game, table, scratch)
            update_pending_policies(learner, game, table, scratch)
        if not two:
            add_average_episodes(seed, t, weight, game, table, scratch)


@no_alloc_kernel
def average_sampling(begin, end, seed, power, learner, scheme, game, table, scratch):
    """Iterations `begin` to `end`, the last not included."""
    two = game.num_players == 2
    scheme = scheme[0], scheme[1], scheme[2] * 2.0 ** -power[1]  # in the units of the average
    for t in range(begin, end):
        weight = iteration_weight(t, power)
        for p in range(game.num_players):
            seed_stream(seed, t, p, scratch.rng)
            average_walk(p, weight if two else 0.0, scheme, game, table, scratch)
            update_pending_policies(learner, game, table, scratch)
        if not two:
            add_average_episodes(seed, t, weight, game, table, scratch)
