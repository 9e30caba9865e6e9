"""Traversals of a single path: outcome sampling, online outcome sampling and probing.

`sample_episode` writes the path to `scratch`; the other kernels read it. Arguments are those of
`traversals`; the policy does not change until `update_path_policies`.
"""

from __future__ import annotations

from counterplay.kernels.runtime.jit import CHANCE, TERMINAL, no_alloc_kernel
from counterplay.kernels.sampling.lazy_nodes import node_at, sample_chance_child
from counterplay.kernels.sampling.primitives import (
    add_average,
    iteration_weight,
    sample_action,
    seed_stream,
    update_policy,
)
from counterplay.kernels.sampling.traversals import add_average_episodes, roll_out


@no_alloc_kernel
def sample_episode(p, epsilon, game, table, scratch):
    """Sample an episode in which `p` explores with `epsilon`; return its number of actions.

    Sets the node, the action (0 if chance lists no outcomes) and `sampling_reach` of every step:
    the traverser's factor of the probability of the path. The factors of chance and the others
    cancel: they are on policy.
    """
    nodes, policy, rng = game.nodes, table.policy, scratch.rng
    at, action, sampling_reach = scratch.node, scratch.action, scratch.sampling_reach
    n, d, q = 0, 0, 1.0
    node = node_at(nodes, n)
    while node.player != TERMINAL:
        at[d], action[d], sampling_reach[d] = n, 0, q
        if node.player == CHANCE:
            n = sample_chance_child(nodes, n, node, policy, rng)
            if node.count > 0:
                action[d] = n - node.child
        else:
            explored = epsilon if node.player == p else 0.0
            k = sample_action(policy, node.first, node.count, explored, rng)
            if node.player == p:
                q *= explored / node.count + (1.0 - explored) * policy[node.first + k]
            action[d], n = k, node.child + k
        node = node_at(nodes, n)
        d += 1
    at[d] = n
    scratch.counters[0] += d + 1
    return d


@no_alloc_kernel
def add_outcome_regrets(p, epsilon, length, game, table, scratch):
    """Add the sampled regrets of `p`. Where it took action a with probability q(a):

    v(a) = u / q(a), v(b) = 0 elsewhere, v = policy(a) * v(a)
    regret = regret + (v(.) - v) / own sampling reach;  u = v for the node above
    """
    nodes, policy, regret = game.nodes, table.policy, table.regret
    u = game.utility[node_at(nodes, scratch.node[length]).first, p]
    for d in range(length - 1, -1, -1):
        node = node_at(nodes, scratch.node[d])
        if node.player == p:
            first = node.first
            taken = first + scratch.action[d]
            u /= epsilon / node.count + (1.0 - epsilon) * policy[taken]
            mean = policy[taken] * u
            scale = 1.0 / scratch.sampling_reach[d]
            for s in range(first, first + node.count):
                regret[s] -= scale * mean
            regret[taken] += scale * u
            if scale * abs(u) > table.max_abs_value[first]:
                table.max_abs_value[first] = scale * abs(u)
            u = mean


@no_alloc_kernel
def update_path_policies(p, learner, length, game, table, scratch):
    """Update the policies at the infosets of `p` on the path."""
    for d in range(length):
        node = node_at(game.nodes, scratch.node[d])
        if node.player == p:
            last = node.first + node.count
            update_policy(
                learner, node.first, last, table.max_abs_value, table.regret, table.policy
            )


@no_alloc_kernel
def add_stochastic_average(p, weight, length, game, table, scratch):
    """policy_sum = policy_sum + weight * own reach / sampling reach * policy, where `p` acted."""
    policy, own_reach, others = table.policy, 1.0, 1.0
    for d in range(length):
        node = node_at(game.nodes, scratch.node[d])
        first, taken = node.first, node.first + scratch.action[d]
        if node.player == p:
            scale = weight * own_reach / (others * scratch.sampling_reach[d])
            add_average(first, first + node.count, scale, policy, table.policy_sum)
            own_reach *= policy[taken]
        elif node.player != CHANCE:  # chance has the same factor in every iteration
            others *= policy[taken]


@no_alloc_kernel
def add_lazy_average(t, p, power, length, game, table, scratch):
    """policy_sum = policy_sum + (weight not yet added) * own reach * policy, where others acted.

    The weights up to t sum to about t**power / power. `table.last_averaged` is the last iteration
    that is in the average of an infoset.
    """
    policy, last_averaged = table.policy, table.last_averaged
    for j in range(game.num_players):
        own_reach = 1.0
        for d in range(length):
            node = node_at(game.nodes, scratch.node[d])
            if node.player == j:
                first = node.first
                if j != p:
                    missed = iteration_weight(t, power) - iteration_weight(
                        last_averaged[first], power
                    )
                    weight = own_reach * missed / power[0]
                    add_average(first, first + node.count, weight, policy, table.policy_sum)
                    last_averaged[first] = t
                own_reach *= policy[first + scratch.action[d]]


@no_alloc_kernel
def add_opponents_average(p, weight, length, game, table, scratch):
    """policy_sum = policy_sum + weight / own sampling reach * policy, where the others acted.

    Correct for two players only: the reach of a third one would be part of the weight.
    """
    for d in range(length):
        node = node_at(game.nodes, scratch.node[d])
        if node.player != p and node.player != CHANCE:
            first, scale = node.first, weight / scratch.sampling_reach[d]
            add_average(first, first + node.count, scale, table.policy, table.policy_sum)


@no_alloc_kernel
def add_online_average(p, weight, length, game, table, scratch):
    """policy_sum = policy_sum + weight * own reach / own sampling reach * policy."""
    own_reach = 1.0
    for d in range(length):
        node = node_at(game.nodes, scratch.node[d])
        if node.player == p:
            first, scale = node.first, weight * own_reach / scratch.sampling_reach[d]
            add_average(first, first + node.count, scale, table.policy, table.policy_sum)
            own_reach *= table.policy[first + scratch.action[d]]


@no_alloc_kernel
def sample_with_probes(p, epsilon, weight, game, table, scratch):
    """Sample an episode for `p` and probe the other actions at its nodes; return its length.

    With q the own sampling reach, and u(a) the utility of a roll-out if a is not on the path:
    regret = regret + (u(a) - u) / q;  the others' averages have the weight weight / q.
    """
    nodes, policy, regret, max_abs = game.nodes, table.policy, table.regret, table.max_abs_value
    length = sample_episode(p, epsilon, game, table, scratch)
    u = game.utility[node_at(nodes, scratch.node[length]).first, p]
    below = abs(u)
    for d in range(length - 1, -1, -1):
        node, q = node_at(nodes, scratch.node[d]), scratch.sampling_reach[d]
        first, last = node.first, node.first + node.count
        if node.player == p:
            mean = 0.0
            for k in range(node.count):
                if k != scratch.action[d]:
                    probe = roll_out(node.child + k, p, game, policy, scratch)
                    mean += policy[first + k] * probe
                    regret[first + k] += probe / q
                    below = max(below, abs(probe))
            taken = first + scratch.action[d]
            mean += policy[taken] * u
            regret[taken] += u / q
            for s in range(first, last):
                regret[s] -= mean / q
            if below / q > max_abs[first]:
                max_abs[first] = below / q
            u = mean
        elif node.player != CHANCE:
            add_average(first, last, weight / q, policy, table.policy_sum)
    return length


@no_alloc_kernel
def outcome_sampling(begin, end, seed, power, learner, epsilon, game, table, scratch):
    """Run iterations `begin` to `end` - 1 with the stochastically weighted average."""
    for t in range(begin, end):
        for p in range(game.num_players):
            seed_stream(seed, t, p, scratch.rng)
            length = sample_episode(p, epsilon, game, table, scratch)
            add_outcome_regrets(p, epsilon, length, game, table, scratch)
            add_stochastic_average(p, iteration_weight(t, power), length, game, table, scratch)
            update_path_policies(p, learner, length, game, table, scratch)


@no_alloc_kernel
def lazy_outcome_sampling(begin, end, seed, power, learner, epsilon, game, table, scratch):
    """`outcome_sampling` with the lazy average."""
    for t in range(begin, end):
        for p in range(game.num_players):
            seed_stream(seed, t, p, scratch.rng)
            length = sample_episode(p, epsilon, game, table, scratch)
            add_outcome_regrets(p, epsilon, length, game, table, scratch)
            add_lazy_average(t, p, power, length, game, table, scratch)
            update_path_policies(p, learner, length, game, table, scratch)


@no_alloc_kernel
def online_sampling(begin, end, seed, power, learner, epsilon, p, game, table, scratch):
    """Run episodes `begin` to `end` - 1, in which only `p` updates its policy."""
    for t in range(begin, end):
        seed_stream(seed, t, p, scratch.rng)
        length = sample_episode(p, epsilon, game, table, scratch)
        add_outcome_regrets(p, epsilon, length, game, table, scratch)
        add_online_average(p, iteration_weight(t, power), length, game, table, scratch)
        update_path_policies(p, learner, length, game, table, scratch)


@no_alloc_kernel
def probing(begin, end, seed, power, learner, epsilon, game, table, scratch):
    """Run iterations `begin` to `end` - 1 of outcome sampling with probes."""
    is_two_player = game.num_players == 2
    for t in range(begin, end):
        weight = iteration_weight(t, power)
        for p in range(game.num_players):
            seed_stream(seed, t, p, scratch.rng)
            length = sample_with_probes(
                p, epsilon, weight if is_two_player else 0.0, game, table, scratch
            )
            update_path_policies(p, learner, length, game, table, scratch)
        if not is_two_player:
            add_average_episodes(seed, t, weight, game, table, scratch)
