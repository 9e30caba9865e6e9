"""Walks along one path: outcome sampling, online outcome sampling and probing.

`sample` writes the path into `scratch`; what follows goes along it. The words are those of
`walks.py`: the policy stays as it is until the path's infosets learn.
"""

from __future__ import annotations

from counterplay.kernels.compiling import CHANCE, TERMINAL, bare_kernel
from counterplay.kernels.draws import add_average, choose, learn, raised, start
from counterplay.kernels.lazy_nodes import node_at
from counterplay.kernels.walks import visit


@bare_kernel
def sample(p, epsilon, game, table, scratch):
    """Play one episode, `p` exploring with `epsilon`; returns how many actions it took.

    Sets node and action at every step, and `sampled`: the traverser's own part of the probability
    of getting there. That of chance and the others cancels, because they are on policy.
    """
    nodes, policy, rng = game.nodes, table.policy, scratch.rng
    at, action, sampled = scratch.node, scratch.action, scratch.sampled
    n, d, q = 0, 0, 1.0
    node = node_at(nodes, n)
    while node.player != TERMINAL:
        explored = epsilon if node.player == p else 0.0
        k = choose(policy, node.first, node.count, explored, rng)
        at[d], action[d], sampled[d] = n, k, q
        if node.player == p:
            q *= explored / node.count + (1.0 - explored) * policy[node.first + k]
        n = node.child + k
        node = node_at(nodes, n)
        d += 1
    at[d] = n
    scratch.tally[0] += d + 1
    return d


@bare_kernel
def outcome_regrets(p, epsilon, length, game, table, scratch):
    """Add the sampled regrets. Where `p` took action a with probability q(a):

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
            scale = 1.0 / scratch.sampled[d]
            for s in range(first, first + node.count):
                regret[s] -= scale * mean
            regret[taken] += scale * u
            if scale * abs(u) > table.largest[first]:
                table.largest[first] = scale * abs(u)
            u = mean


@bare_kernel
def settle(p, learner, length, game, table, scratch):
    """Let the infosets of `p` on the path learn."""
    for d in range(length):
        node = node_at(game.nodes, scratch.node[d])
        if node.player == p:
            last = node.first + node.count
            learn(learner, node.first, last, table.largest, table.regret, table.policy)


@bare_kernel
def stochastic_average(p, weight, length, game, table, scratch):
    """policy_sum = policy_sum + weight * own reach / sampling reach * policy, where `p` acted."""
    policy, own, others = table.policy, 1.0, 1.0
    for d in range(length):
        node = node_at(game.nodes, scratch.node[d])
        first, taken = node.first, node.first + scratch.action[d]
        if node.player == p:
            scale = weight * own / (others * scratch.sampled[d])
            add_average(first, first + node.count, scale, policy, table.policy_sum)
            own *= policy[taken]
        elif node.player != CHANCE:  # chance has the same part in every iteration
            others *= policy[taken]


@bare_kernel
def lazy_average(t, p, power, length, game, table, scratch):
    """policy_sum = policy_sum + (weight not yet counted) * own reach * policy, where others acted.

    The weights up to t sum to about t**power / power. `table.visits` is the last iteration counted
    at an infoset, kept at its first action.
    """
    policy, visits = table.policy, table.visits
    for j in range(game.num_players):
        own = 1.0
        for d in range(length):
            node = node_at(game.nodes, scratch.node[d])
            if node.player == j:
                first = node.first
                if j != p:
                    missed = raised(t, power) - raised(visits[first], power)
                    weight = own * missed / power[0]
                    add_average(first, first + node.count, weight, policy, table.policy_sum)
                    visits[first] = t
                own *= policy[first + scratch.action[d]]


@bare_kernel
def others_average(p, weight, length, game, table, scratch):
    """policy_sum = policy_sum + weight / own sampling reach * policy, where the others acted.

    Right for two players only: a third one's reach would be part of the weight.
    """
    for d in range(length):
        node = node_at(game.nodes, scratch.node[d])
        if node.player != p and node.player != CHANCE:
            first, scale = node.first, weight / scratch.sampled[d]
            add_average(first, first + node.count, scale, table.policy, table.policy_sum)


@bare_kernel
def online_average(p, weight, length, game, table, scratch):
    """policy_sum = policy_sum + weight * own reach / own sampling reach * policy."""
    own = 1.0
    for d in range(length):
        node = node_at(game.nodes, scratch.node[d])
        if node.player == p:
            first, scale = node.first, weight * own / scratch.sampled[d]
            add_average(first, first + node.count, scale, table.policy, table.policy_sum)
            own *= table.policy[first + scratch.action[d]]


@bare_kernel
def roll_out(n, p, game, policy, scratch):
    """The utility to `p` of one episode from node `n`, all on policy."""
    node = node_at(game.nodes, n)
    scratch.tally[0] += 1
    while node.player != TERMINAL:
        n = node.child + choose(policy, node.first, node.count, 0.0, scratch.rng)
        node = node_at(game.nodes, n)
        scratch.tally[0] += 1
    return game.utility[node.first, p]


@bare_kernel
def probe(p, epsilon, weight, game, table, scratch):
    """Follow one path for `p` and probe what it leaves out; returns the length of the path.

    With q the own sampling reach: u(a) is a roll-out's where the action is not followed;
    regret = regret + (u(a) - u) / q;  the others' averages count weight / q.
    """
    nodes, policy, regret, largest = game.nodes, table.policy, table.regret, table.largest
    length = sample(p, epsilon, game, table, scratch)
    u = game.utility[node_at(nodes, scratch.node[length]).first, p]
    below = abs(u)
    for d in range(length - 1, -1, -1):
        node, q = node_at(nodes, scratch.node[d]), scratch.sampled[d]
        first, last = node.first, node.first + node.count
        if node.player == p:
            mean = 0.0
            for k in range(node.count):
                if k != scratch.action[d]:
                    other = roll_out(node.child + k, p, game, policy, scratch)
                    mean += policy[first + k] * other
                    regret[first + k] += other / q
                    below = max(below, abs(other))
            taken = first + scratch.action[d]
            mean += policy[taken] * u
            regret[taken] += u / q
            for s in range(first, last):
                regret[s] -= mean / q
            if below / q > largest[first]:
                largest[first] = below / q
            u = mean
        elif node.player != CHANCE:
            add_average(first, last, weight / q, policy, table.policy_sum)
    return length


@bare_kernel
def outcome_sampling(begin, end, seed, power, learner, epsilon, game, table, scratch):
    """Iterations `begin` to `end`, the last not included; the average stochastically weighted."""
    for t in range(begin, end):
        for p in range(game.num_players):
            start(seed, t, p, scratch.rng)
            length = sample(p, epsilon, game, table, scratch)
            outcome_regrets(p, epsilon, length, game, table, scratch)
            stochastic_average(p, raised(t, power), length, game, table, scratch)
            settle(p, learner, length, game, table, scratch)


@bare_kernel
def lazy_outcome_sampling(begin, end, seed, power, learner, epsilon, game, table, scratch):
    """`outcome_sampling` with the lazy average."""
    for t in range(begin, end):
        for p in range(game.num_players):
            start(seed, t, p, scratch.rng)
            length = sample(p, epsilon, game, table, scratch)
            outcome_regrets(p, epsilon, length, game, table, scratch)
            lazy_average(t, p, power, length, game, table, scratch)
            settle(p, learner, length, game, table, scratch)


@bare_kernel
def online_sampling(begin, end, seed, power, learner, epsilon, p, game, table, scratch):
    """Episodes `begin` to `end`, the last not included, in which `p` alone learns."""
    for t in range(begin, end):
        start(seed, t, p, scratch.rng)
        length = sample(p, epsilon, game, table, scratch)
        outcome_regrets(p, epsilon, length, game, table, scratch)
        online_average(p, raised(t, power), length, game, table, scratch)
        settle(p, learner, length, game, table, scratch)


@bare_kernel
def probing(begin, end, seed, power, learner, epsilon, game, table, scratch):
    """Iterations `begin` to `end`, the last not included."""
    two = game.num_players == 2
    for t in range(begin, end):
        weight = raised(t, power)
        for p in range(game.num_players):
            start(seed, t, p, scratch.rng)
            length = probe(p, epsilon, weight if two else 0.0, game, table, scratch)
            settle(p, learner, length, game, table, scratch)
        if not two:
            visit(seed, t, weight, game, table, scratch)
