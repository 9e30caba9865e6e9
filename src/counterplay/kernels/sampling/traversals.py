"""Traversals that branch: chance, external and average strategy sampling.

`game`, `table` and `scratch` are `GameNodes`, `RegretTables` and `Scratch`. A node has a player, a
first child, a number of children, and `first`: the index of its first action in the tables, or its
row of utilities. Chance is a player whose probabilities are in `policy` only.

A traversal does not change the policy. It lists the nodes of the traverser in
`scratch.pending_nodes`; their infosets update their policies afterwards. `scratch.counters` are
the numbers of nodes touched and of nodes listed.
"""

from __future__ import annotations

from numpy import uint64

from counterplay.kernels.runtime.jit import CHANCE, TERMINAL, no_alloc_kernel
from counterplay.kernels.sampling.lazy_nodes import node_at, sample_chance_child
from counterplay.kernels.sampling.primitives import (
    add_average,
    draw_bernoulli,
    hash_uniform,
    invert_cdf,
    iteration_weight,
    sample_action,
    seed_stream,
    update_policy,
)


@no_alloc_kernel
def add_average_episode(p, weight, game, table, scratch):
    """Sample an episode and add the policy of `p` to its average at each of its nodes.

    `p` follows its policy and the others play uniformly, so that the frequency of visits to an
    infoset depends on the player's own reach alone. With two players, the traversals for regrets
    add to the averages instead, with less variance.
    """
    n = 0
    while node_at(game.nodes, n).player != TERMINAL:
        node = node_at(game.nodes, n)
        scratch.counters[0] += 1
        if node.player == p:
            last = node.first + node.count
            add_average(node.first, last, weight, table.policy, table.policy_sum)
        if node.player == CHANCE:
            n = sample_chance_child(game.nodes, n, node, table.policy, scratch.rng)
            continue
        epsilon = 0.0 if node.player == p else 1.0
        n = node.child + sample_action(table.policy, node.first, node.count, epsilon, scratch.rng)
    scratch.counters[0] += 1


@no_alloc_kernel
def add_average_episodes(seed, t, weight, game, table, scratch):
    """Sample an episode for the average of each player."""
    for p in range(game.num_players):
        seed_stream(seed, t, game.num_players + p, scratch.rng)
        add_average_episode(p, weight, game, table, scratch)


@no_alloc_kernel
def update_pending_policies(learner, game, table, scratch):
    """Update the policies at the infosets of all pending nodes."""
    for m in range(scratch.counters[1]):
        node = node_at(game.nodes, scratch.pending_nodes[m])
        last = node.first + node.count
        update_policy(learner, node.first, last, table.max_abs_value, table.regret, table.policy)
    scratch.counters[1] = 0


@no_alloc_kernel
def chance_walk(p, weight, game, table, scratch):
    """Traverse all actions of players, sampling chance. At the nodes of `p`, with others' reach cf:

    regret     = regret + cf * (u(a) - u)
    policy_sum = policy_sum + weight * own reach * policy
    """
    nodes, utility, counters, pending = (
        game.nodes,
        game.utility,
        scratch.counters,
        scratch.pending_nodes,
    )
    regret, policy, policy_sum = table.regret, table.policy, table.policy_sum
    at, action, value = scratch.node, scratch.action, scratch.value
    reach, cf_reach = scratch.reach, scratch.sampling_reach
    max_below, max_abs = scratch.max_abs_below, table.max_abs_value
    n, depth, own_reach, cf, below = 0, 0, 1.0, 1.0, 0.0
    while True:
        node = node_at(nodes, n)
        counters[0] += 1
        u = 0.0
        if node.player == CHANCE:
            n = sample_chance_child(nodes, n, node, policy, scratch.rng)
            continue
        if node.player == TERMINAL:
            u = utility[node.first, p]
            below = max(below, abs(u))
        else:
            at[depth], action[depth], value[depth] = n, -1, 0.0
            reach[depth], cf_reach[depth] = own_reach, cf
            if node.player == p:
                max_below[depth], below = below, 0.0
            depth += 1
        while depth > 0:  # back up `u` until a node has an action left
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
                own_reach, cf = reach[d], cf_reach[d]
                if node.player == p:
                    own_reach *= policy[first + k]
                else:
                    cf *= policy[first + k]
                n = node.child + k
                break
            u = value[d]
            if node.player == p:
                for s in range(first, first + node.count):
                    regret[s] -= cf_reach[d] * u
                if cf_reach[d] * below > max_abs[first]:
                    max_abs[first] = cf_reach[d] * below
                below = max(below, max_below[d])
                add_average(first, first + node.count, weight * reach[d], policy, policy_sum)
                pending[counters[1]] = at[d]
                counters[1] += 1
            depth = d
        if depth == 0:
            return


@no_alloc_kernel
def matching_walk(p, weight, samples_chance, learner, game, table, scratch):
    """Traverse as `chance_walk`, but match the regrets of `p` anew at every node of its own.

    The regrets of an infoset change at its earlier nodes in the same traversal. Without
    `samples_chance`, all outcomes of chance are followed and their probabilities are part of cf.
    """
    nodes, utility, counters, pending = (
        game.nodes,
        game.utility,
        scratch.counters,
        scratch.pending_nodes,
    )
    regret, policy, policy_sum = table.regret, table.policy, table.policy_sum
    at, action, value = scratch.node, scratch.action, scratch.value
    reach, cf_reach = scratch.reach, scratch.sampling_reach
    max_below, max_abs = scratch.max_abs_below, table.max_abs_value
    n, depth, own_reach, cf, below = 0, 0, 1.0, 1.0, 0.0
    while True:
        node = node_at(nodes, n)
        counters[0] += 1
        u = 0.0
        if node.player == CHANCE and samples_chance:
            n = sample_chance_child(nodes, n, node, policy, scratch.rng)
            continue
        if node.player == TERMINAL:
            u = utility[node.first, p]
            below = max(below, abs(u))
        else:
            at[depth], action[depth], value[depth] = n, -1, 0.0
            reach[depth], cf_reach[depth] = own_reach, cf
            if node.player == p:
                last = node.first + node.count
                update_policy(learner, node.first, last, max_abs, regret, policy)
                max_below[depth], below = below, 0.0
            depth += 1
        while depth > 0:  # back up `u` until a node has an action left
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
                own_reach, cf = reach[d], cf_reach[d]
                if node.player == p:
                    own_reach *= policy[first + k]
                else:
                    cf *= policy[first + k]
                n = node.child + k
                break
            u = value[d]
            if node.player == p:
                for s in range(first, first + node.count):
                    regret[s] -= cf_reach[d] * u
                if cf_reach[d] * below > max_abs[first]:
                    max_abs[first] = cf_reach[d] * below
                below = max(below, max_below[d])
                add_average(first, first + node.count, weight * reach[d], policy, policy_sum)
                pending[counters[1]] = at[d]
                counters[1] += 1
            depth = d
        if depth == 0:
            return


@no_alloc_kernel
def external_walk(p, weight, game, table, scratch):
    """Traverse all actions of `p`, sampling the rest at every node: see `external_walk_by_bits`."""
    external_walk_by_bits(p, weight, uint64(0), game, table, scratch)


@no_alloc_kernel
def external_walk_by_bits(p, weight, walk_bits, game, table, scratch):
    """Traverse all actions of `p`, sampling the rest. At its nodes: regret = regret + u(a) - u.

    At the others' nodes: policy_sum = policy_sum + weight * policy. With `walk_bits` other than
    zero, an infoset of another player takes the same action at all of its nodes in the walk: the
    draw is a hash of these bits and of the infoset.
    """
    nodes, utility, counters, pending = (
        game.nodes,
        game.utility,
        scratch.counters,
        scratch.pending_nodes,
    )
    regret, policy, policy_sum = table.regret, table.policy, table.policy_sum
    at, action, value, max_abs = scratch.node, scratch.action, scratch.value, table.max_abs_value
    n, depth = 0, 0
    while True:
        node = node_at(nodes, n)
        counters[0] += 1
        first = node.first
        if node.player == p:
            at[depth], action[depth], value[depth] = n, 0, 0.0
            depth += 1
            n = node.child
            continue
        if node.player == CHANCE:
            n = sample_chance_child(nodes, n, node, policy, scratch.rng)
            continue
        if node.player != TERMINAL:
            add_average(first, first + node.count, weight, policy, policy_sum)
            if walk_bits != 0:
                x = hash_uniform(walk_bits, first)
                n = node.child + invert_cdf(policy, first, node.count, 0.0, x)
            else:
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
            if below > max_abs[first]:
                max_abs[first] = below
            k += 1
            if k < node.count:
                action[d] = k
                n = node.child + k
                break
            u, below = value[d], max_abs[first]
            for s in range(first, first + node.count):
                regret[s] -= u
            pending[counters[1]] = at[d]
            counters[1] += 1
            depth = d
        if depth == 0:
            return


@no_alloc_kernel
def inclusion_probability(scheme, first, last, k, policy_sum):
    """Return the probability of sampling action `k` of an infoset in average strategy sampling:

    min(1, max(epsilon, (beta + tau * policy_sum(k)) / (beta + sum of policy_sum)))
    """
    epsilon, tau, beta = scheme
    total = beta
    for s in range(first, last):
        total += policy_sum[s]
    if total <= 0.0:
        return 1.0
    return min(1.0, max(epsilon, (beta + tau * policy_sum[first + k]) / total))


@no_alloc_kernel
def roll_out(n, p, game, policy, scratch):
    """Return the utility to `p` of an on-policy episode from node `n`."""
    node = node_at(game.nodes, n)
    scratch.counters[0] += 1
    while node.player != TERMINAL:
        if node.player == CHANCE:
            n = sample_chance_child(game.nodes, n, node, policy, scratch.rng)
        else:
            n = node.child + sample_action(policy, node.first, node.count, 0.0, scratch.rng)
        node = node_at(game.nodes, n)
        scratch.counters[0] += 1
    return game.utility[node.first, p]


@no_alloc_kernel
def average_walk(p, weight, scheme, game, table, scratch):
    """`external_walk` that samples each action of `p` with rho = `inclusion_probability`.

    With q the product of all rho above, and v(a) = u(a) / rho if a is sampled, else 0:
    regret = regret + (v(a) - v) / q, and the others' averages have the weight weight / q.
    """
    nodes, utility, counters, pending = (
        game.nodes,
        game.utility,
        scratch.counters,
        scratch.pending_nodes,
    )
    regret, policy, policy_sum = table.regret, table.policy, table.policy_sum
    at, action, value = scratch.node, scratch.action, scratch.value
    reach, rho, max_abs = scratch.reach, scratch.sampling_reach, table.max_abs_value
    n, depth, q = 0, 0, 1.0
    while True:
        node = node_at(nodes, n)
        counters[0] += 1
        first, u, below = node.first, 0.0, 0.0
        if node.player == p:
            at[depth], action[depth], value[depth], reach[depth] = n, -1, 0.0, q
            depth += 1
        elif node.player == TERMINAL:
            u = utility[first, p]
            below = abs(u) / q
        elif node.player == CHANCE:
            n = sample_chance_child(nodes, n, node, policy, scratch.rng)
            continue
        else:
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
                if below > max_abs[first]:
                    max_abs[first] = below
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
            u, below = value[d], max_abs[first]
            for s in range(first, last):
                regret[s] -= u / reach[d]
            pending[counters[1]] = at[d]
            counters[1] += 1
            depth = d
        if depth == 0:
            return


@no_alloc_kernel
def average_walk_with_probes(p, weight, scheme, game, table, scratch):
    """`average_walk` that rolls out the actions of `p` which it does not try.

    With q the product of all rho above, and u(a) the value of the traversal if a is tried, else the
    utility of one roll-out: regret = regret + (u(a) - u) / q.
    """
    nodes, utility, counters, pending = (
        game.nodes,
        game.utility,
        scratch.counters,
        scratch.pending_nodes,
    )
    regret, policy, policy_sum = table.regret, table.policy, table.policy_sum
    at, action, value = scratch.node, scratch.action, scratch.value
    reach, rho, max_abs = scratch.reach, scratch.sampling_reach, table.max_abs_value
    n, depth, q = 0, 0, 1.0
    while True:
        node = node_at(nodes, n)
        counters[0] += 1
        first, u, below = node.first, 0.0, 0.0
        if node.player == p:
            at[depth], action[depth], value[depth], reach[depth] = n, -1, 0.0, q
            depth += 1
        elif node.player == TERMINAL:
            u = utility[first, p]
            below = abs(u) / q
        elif node.player == CHANCE:
            n = sample_chance_child(nodes, n, node, policy, scratch.rng)
            continue
        else:
            add_average(first, first + node.count, weight / q, policy, policy_sum)
            n = node.child + sample_action(policy, first, node.count, 0.0, scratch.rng)
            continue
        while depth > 0:
            d = depth - 1
            node = node_at(nodes, at[d])
            first, last, k = node.first, node.first + node.count, action[d]
            if k >= 0:
                value[d] += policy[first + k] * u
                regret[first + k] += u / reach[d]
                if below > max_abs[first]:
                    max_abs[first] = below
            k += 1
            while k < node.count:
                rho[d] = inclusion_probability(scheme, first, last, k, policy_sum)
                if draw_bernoulli(rho[d], scratch.rng):
                    break
                probe = roll_out(node.child + k, p, game, policy, scratch)
                value[d] += policy[first + k] * probe
                regret[first + k] += probe / reach[d]
                if abs(probe) / reach[d] > max_abs[first]:
                    max_abs[first] = abs(probe) / reach[d]
                k += 1
            if k < node.count:
                action[d] = k
                n, q = node.child + k, reach[d] * rho[d]
                break
            u, below = value[d], max_abs[first]
            for s in range(first, last):
                regret[s] -= u / reach[d]
            pending[counters[1]] = at[d]
            counters[1] += 1
            depth = d
        if depth == 0:
            return


@no_alloc_kernel
def chance_sampling(begin, end, seed, power, learner, game, table, scratch):
    """Run iterations `begin` to `end` - 1 of chance sampling."""
    for t in range(begin, end):
        for p in range(game.num_players):
            seed_stream(seed, t, p, scratch.rng)
            chance_walk(p, iteration_weight(t, power), game, table, scratch)
            update_pending_policies(learner, game, table, scratch)


@no_alloc_kernel
def matching_chance_sampling(
    begin, end, seed, power, learner, samples_chance, game, table, scratch
):
    """Run iterations `begin` to `end` - 1 with regrets matched within the traversal."""
    for t in range(begin, end):
        for p in range(game.num_players):
            seed_stream(seed, t, p, scratch.rng)
            weight = iteration_weight(t, power)
            matching_walk(p, weight, samples_chance, learner, game, table, scratch)
            update_pending_policies(learner, game, table, scratch)


@no_alloc_kernel
def external_sampling(begin, end, seed, power, learner, game, table, scratch):
    """Run iterations `begin` to `end` - 1 of external sampling."""
    is_two_player = game.num_players == 2
    for t in range(begin, end):
        weight = iteration_weight(t, power)
        for p in range(game.num_players):
            seed_stream(seed, t, p, scratch.rng)
            external_walk(p, weight if is_two_player else 0.0, game, table, scratch)
            update_pending_policies(learner, game, table, scratch)
        if not is_two_player:
            add_average_episodes(seed, t, weight, game, table, scratch)


@no_alloc_kernel
def external_sampling_by_infoset(begin, end, seed, power, learner, game, table, scratch):
    """Run iterations of external sampling in which an infoset keeps its action for a walk."""
    is_two_player = game.num_players == 2
    for t in range(begin, end):
        weight = iteration_weight(t, power)
        for p in range(game.num_players):
            seed_stream(seed, t, p, scratch.rng)
            weight_of_others = weight if is_two_player else 0.0
            external_walk_by_bits(p, weight_of_others, scratch.rng[0], game, table, scratch)
            update_pending_policies(learner, game, table, scratch)
        if not is_two_player:
            add_average_episodes(seed, t, weight, game, table, scratch)


@no_alloc_kernel
def average_sampling(begin, end, seed, power, learner, scheme, game, table, scratch):
    """Run iterations `begin` to `end` - 1 of average strategy sampling."""
    is_two_player = game.num_players == 2
    scheme = scheme[0], scheme[1], scheme[2] * 2.0 ** -power[1]  # beta in the units of `policy_sum`
    for t in range(begin, end):
        weight = iteration_weight(t, power)
        for p in range(game.num_players):
            seed_stream(seed, t, p, scratch.rng)
            average_walk(p, weight if is_two_player else 0.0, scheme, game, table, scratch)
            update_pending_policies(learner, game, table, scratch)
        if not is_two_player:
            add_average_episodes(seed, t, weight, game, table, scratch)


@no_alloc_kernel
def average_sampling_with_probes(begin, end, seed, power, learner, scheme, game, table, scratch):
    """Run iterations `begin` to `end` - 1 of average strategy sampling with probes."""
    is_two_player = game.num_players == 2
    scheme = scheme[0], scheme[1], scheme[2] * 2.0 ** -power[1]  # beta in the units of `policy_sum`
    for t in range(begin, end):
        weight = iteration_weight(t, power)
        for p in range(game.num_players):
            seed_stream(seed, t, p, scratch.rng)
            own_weight = weight if is_two_player else 0.0
            average_walk_with_probes(p, own_weight, scheme, game, table, scratch)
            update_pending_policies(learner, game, table, scratch)
        if not is_two_player:
            add_average_episodes(seed, t, weight, game, table, scratch)
