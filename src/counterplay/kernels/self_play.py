"""Episodes on the tree: what fictitious self-play samples, remembers and learns from.

An episode is known by the terminal where it ended: all else is found by walking up from there. So
a memory of episodes is an array of terminals, and every learner below reads an episode backwards.
Policies are not stored either. At an infoset on the way, the average policy is its `count` scaled,
and the response is softmax(q / temperature): both are written to `table.policy` when they are
needed. All draws of iteration t follow from the seed and t.
"""

from __future__ import annotations

import numpy as np

from counterplay.kernels.compiling import TERMINAL, bare_kernel, kernel
from counterplay.kernels.draws import add_average, choose, draw, in_proportion, softmax, start


@bare_kernel
def respond(node, temperature, table):
    """Set the policy to softmax(q / temperature) at a node's infoset."""
    softmax(1.0 / temperature, node.first, node.first + node.count, table.q, table.policy)


@bare_kernel
def play(responds, temperature, game, table, rng):
    """Play one episode and return the number of its terminal.

    Players with `responds` [P] follow the response, the others the average policy.
    """
    node = game.nodes[0]
    while node.player != TERMINAL:
        if node.player >= 0 and responds[node.player]:
            respond(node, temperature, table)
        elif node.player >= 0:
            in_proportion(node.first, node.first + node.count, table.counts, table.policy)
        node = game.nodes[node.child + choose(table.policy, node.first, node.count, 0.0, rng)]
    return node.first


@bare_kernel
def store(p, z, table):
    """Put terminal `z` into player `p`'s row of episodes; the oldest makes room."""
    table.episodes[p, table.stored[p] % table.episodes.shape[1]] = z
    table.stored[p] += 1


@bare_kernel
def add_behaviour(p, z, temperature, game, table):
    """Count the player's response at each of its decisions of the episode."""
    n = game.terminals[z]
    while n > 0:
        n = game.parent[n]
        node = game.nodes[n]
        if node.player == p:
            respond(node, temperature, table)
            add_average(node.first, node.first + node.count, 1.0, table.policy, table.counts)


@bare_kernel
def add_actions(p, z, game, table):
    """Count the player's actions of the episode."""
    n = game.terminals[z]
    while n > 0:
        above = game.parent[n]
        node = game.nodes[above]
        if node.player == p:
            table.counts[node.first + n - node.child] += 1.0
        n = above


@bare_kernel
def q_learning(p, z, rate, game, table):
    """Q-learning from one episode, its last decision first."""
    n, q = game.terminals[z], table.q
    target = game.utility[z, p]
    while n > 0:
        above = game.parent[n]
        node = game.nodes[above]
        if node.player == p:
            s = node.first + n - node.child
            q[s] += rate * (target - q[s])
            target = q[node.first]
            for k in range(1, node.count):
                target = max(target, q[node.first + k])
        n = above


@bare_kernel
def replay(p, replays, rate, game, table, rng):
    """Q-learning from `replays` episodes drawn from the player's memory."""
    size = min(table.stored[p], table.episodes.shape[1])
    for _ in range(replays if size > 0 else 0):
        q_learning(p, table.episodes[p, int(draw(rng) * size)], rate, game, table)


@kernel
def general(begin, seed, schedule, n, m, replays, game, table):
    """General fictitious self-play from iteration `begin`; a row is (mixing, rate, temperature)."""
    num_players = game.utility.shape[1]
    responds = np.zeros(num_players, np.bool_)
    own = np.zeros((num_players, m), np.int32)
    rng = np.zeros(1, np.uint64)
    for t in range(schedule.shape[0]):
        start(seed, begin + t, 0, rng)
        mixing, rate, temperature = schedule[t]
        for _ in range(n):
            for j in range(num_players):
                responds[j] = draw(rng) < mixing
            z = play(responds, temperature, game, table, rng)
            for j in range(num_players):
                store(j, z, table)
        for p in range(num_players):
            for e in range(m):
                for j in range(num_players):
                    responds[j] = draw(rng) < mixing or j == p
                own[p, e] = play(responds, temperature, game, table, rng)
                store(p, own[p, e], table)
        for p in range(num_players):
            for e in range(m):
                add_behaviour(p, own[p, e], temperature, game, table)
            replay(p, replays, rate, game, table, rng)


@kernel
def table_lookup(begin, seed, schedule, n, m, replays, game, table):
    """`general` for table-lookup batch fictitious self-play; a row is (rate, temperature)."""
    num_players = game.utility.shape[1]
    responds = np.zeros(num_players, np.bool_)
    own = np.zeros((num_players, m), np.int32)
    rng = np.zeros(1, np.uint64)
    for t in range(schedule.shape[0]):
        start(seed, begin + t, 0, rng)
        rate, temperature = schedule[t]
        responds[:] = False
        for _ in range(n):
            z = play(responds, temperature, game, table, rng)
            for j in range(num_players):
                store(j, z, table)
        for p in range(num_players):
            replay(p, replays, rate, game, table, rng)
        for p in range(num_players):
            responds[:] = False
            responds[p] = True
            for e in range(m):
                own[p, e] = play(responds, temperature, game, table, rng)
                store(p, own[p, e], table)
        for p in range(num_players):
            for e in range(m):
                add_behaviour(p, own[p, e], temperature, game, table)


@bare_kernel
def tally(p, z, sign, offset, visits, gained, game):
    """Add (or, with sign -1, take away) an episode from the player's sequences [F] of the form."""
    n = game.terminals[z]
    last = True
    while n > 0:
        above = game.parent[n]
        node = game.nodes[above]
        if node.player == p:
            s = offset[game.recall[above]] + n - node.child
            visits[s] += sign
            if last:
                gained[s] = gained[s] + sign * game.utility[z, p] if visits[s] > 0 else 0.0
            last = False
        n = above


@bare_kernel
def exchange(p, z, offset, visits, gained, game, table):
    """`store`, with the tallies kept equal to what the memory holds."""
    capacity = table.episodes.shape[1]
    if table.stored[p] >= capacity:
        oldest = table.episodes[p, table.stored[p] % capacity]
        tally(p, oldest, -1, offset, visits, gained, game)
    tally(p, z, 1, offset, visits, gained, game)
    store(p, z, table)


@bare_kernel
def fitted_q(form, merged, p, sweeps, visits, gained, target, weight, q):
    """Fitted Q iteration on the tallies: `q` where there are visits, untouched elsewhere.

    `target` and `weight` [S] are scratch. Each sweep carries values one own decision upwards.
    """
    offset, parent = form.offset, form.parent
    first, last = form.player_infoset[p], form.player_infoset[p + 1]
    for _ in range(sweeps):
        for s in range(offset[first], offset[last]):
            target[merged[s]] = 0.0
            weight[merged[s]] = 0.0
        for s in range(offset[first], offset[last]):
            target[merged[s]] += gained[s]
            weight[merged[s]] += visits[s]
        for i in range(first, last):
            total = 0
            best = q[merged[offset[i]]]
            for s in range(offset[i], offset[i + 1]):
                total += visits[s]
                best = max(best, q[merged[s]])
            if parent[i] < merged.size:
                target[merged[parent[i]]] += total * best
        for s in range(offset[first], offset[last]):
            if weight[merged[s]] > 0.0:
                q[merged[s]] = target[merged[s]] / weight[merged[s]]


@kernel
def batch(begin, seed, schedule, n, m, sampled, form, merged, sweeps, visits, gained, game, table):
    """`general` for batch fictitious self-play with fitted Q iteration; a row is (temperature)."""
    num_players = game.utility.shape[1]
    responds = np.zeros(num_players, np.bool_)
    own = np.zeros((num_players, m), np.int32)
    rng = np.zeros(1, np.uint64)
    target, total = np.zeros(table.q.size), np.zeros(table.q.size)
    for t in range(schedule.shape[0]):
        start(seed, begin + t, 0, rng)
        temperature = schedule[t, 0]
        responds[:] = False
        for _ in range(n):
            z = play(responds, temperature, game, table, rng)
            for j in range(num_players):
                exchange(j, z, form.offset, visits, gained, game, table)
        for p in range(num_players):
            fitted_q(form, merged, p, sweeps, visits, gained, target, total, table.q)
        for p in range(num_players):
            responds[:] = False
            responds[p] = True
            for e in range(m):
                own[p, e] = play(responds, temperature, game, table, rng)
                exchange(p, own[p, e], form.offset, visits, gained, game, table)
        for p in range(num_players):
            for e in range(m):
                if sampled:
                    add_actions(p, own[p, e], game, table)
                else:
                    add_behaviour(p, own[p, e], temperature, game, table)
