"""Episodes on the tree: what fictitious self-play samples, remembers and learns from.

An episode is known by the terminal where it ended: all else is found by walking up from there. So
a memory of episodes is an array of terminals, and every learner below reads an episode backwards.
Policies are not stored either. At an infoset on the way, the average policy is its `count` scaled,
and the response is softmax(q / temperature): both are written to `policy` [S + C], behind whose S
sequences the probabilities of chance stand. All draws of iteration t follow from the seed and t.
"""

from __future__ import annotations

import numpy as np

from counterplay.kernels.compiling import TERMINAL, kernel
from counterplay.kernels.draws import add_average, choose, draw, learn, start


@kernel
def respond(node, temperature, q, policy):
    """Set `policy` to softmax(q / temperature) at a node's infoset: Hedge's choice."""
    learn((-np.inf, 1.0 / temperature), node.first, node.first + node.count, q, policy)


@kernel
def play(game, responds, temperature, q, count, policy, rng):
    """Play one episode and return the number of its terminal.

    Players with `responds` [P] follow the response, the others the average policy.
    """
    node = game.nodes[0]
    while node.player != TERMINAL:
        if node.player >= 0 and responds[node.player]:
            respond(node, temperature, q, policy)
        elif node.player >= 0:  # counts scaled: what regret matching makes of them
            learn((0.0, 0.0), node.first, node.first + node.count, count, policy)
        node = game.nodes[node.child + choose(policy, node.first, node.count, 0.0, rng)]
    return node.first


@kernel
def store(p, z, episodes, stored):
    """Put terminal `z` into player `p`'s row of `episodes` [P, C]; the oldest makes room."""
    episodes[p, stored[p] % episodes.shape[1]] = z
    stored[p] += 1


@kernel
def add_behaviour(game, p, z, temperature, q, policy, count):
    """Add the player's response at each of its decisions of the episode to `count`."""
    n = game.terminals[z]
    while n > 0:
        n = game.parent[n]
        node = game.nodes[n]
        if node.player == p:
            respond(node, temperature, q, policy)
            add_average(node.first, node.first + node.count, 1.0, policy, count)


@kernel
def add_actions(game, p, z, count):
    """Add the player's actions of the episode to `count`."""
    n = game.terminals[z]
    while n > 0:
        above = game.parent[n]
        node = game.nodes[above]
        if node.player == p:
            count[node.first + n - node.child] += 1.0
        n = above


@kernel
def q_learning(game, p, z, rate, q):
    """Q-learning from one episode, its last decision first."""
    n = game.terminals[z]
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


@kernel
def replay(game, p, replays, rate, episodes, stored, q, rng):
    """Q-learning from `replays` episodes drawn from the player's memory."""
    size = min(stored[p], episodes.shape[1])
    for _ in range(replays if size > 0 else 0):
        q_learning(game, p, episodes[p, int(draw(rng) * size)], rate, q)


@kernel
def general(begin, seed, schedule, n, m, replays, game, episodes, stored, q, count, policy):
    """General fictitious self-play from iteration `begin`, one per row (mixing, rate, temperature).

    `policy` [S + C] is room to work, but for the probabilities of chance.
    """
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
            z = play(game, responds, temperature, q, count, policy, rng)
            for j in range(num_players):
                store(j, z, episodes, stored)
        for p in range(num_players):
            for e in range(m):
                for j in range(num_players):
                    responds[j] = draw(rng) < mixing or j == p
                own[p, e] = play(game, responds, temperature, q, count, policy, rng)
                store(p, own[p, e], episodes, stored)
        for p in range(num_players):
            for e in range(m):
                add_behaviour(game, p, own[p, e], temperature, q, policy, count)
            replay(game, p, replays, rate, episodes, stored, q, rng)


@kernel
def table_lookup(begin, seed, schedule, n, m, replays, game, episodes, stored, q, count, policy):
    """`general` for table-lookup batch fictitious self-play, one row (rate, temperature) each."""
    num_players = game.utility.shape[1]
    responds = np.zeros(num_players, np.bool_)
    own = np.zeros((num_players, m), np.int32)
    rng = np.zeros(1, np.uint64)
    for t in range(schedule.shape[0]):
        start(seed, begin + t, 0, rng)
        rate, temperature = schedule[t]
        responds[:] = False
        for _ in range(n):
            z = play(game, responds, temperature, q, count, policy, rng)
            for j in range(num_players):
                store(j, z, episodes, stored)
        for p in range(num_players):
            replay(game, p, replays, rate, episodes, stored, q, rng)
        for p in range(num_players):
            responds[:] = False
            responds[p] = True
            for e in range(m):
                own[p, e] = play(game, responds, temperature, q, count, policy, rng)
                store(p, own[p, e], episodes, stored)
        for p in range(num_players):
            for e in range(m):
                add_behaviour(game, p, own[p, e], temperature, q, policy, count)


@kernel
def tally(game, offset, p, z, sign, visits, gained):
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


@kernel
def exchange(game, offset, p, z, episodes, stored, visits, gained):
    """`store`, with the tallies kept equal to what the memory holds."""
    slot = stored[p] % episodes.shape[1]
    if stored[p] >= episodes.shape[1]:
        tally(game, offset, p, episodes[p, slot], -1, visits, gained)
    tally(game, offset, p, z, 1, visits, gained)
    store(p, z, episodes, stored)


@kernel
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
def batch(
    begin,
    seed,
    schedule,
    n,
    m,
    sampled,
    game,
    form,
    merged,
    sweeps,
    episodes,
    stored,
    visits,
    gained,
    q,
    count,
    policy,
):
    """`general` for batch fictitious self-play with fitted Q iteration, one row (temperature)."""
    num_players = game.utility.shape[1]
    responds = np.zeros(num_players, np.bool_)
    own = np.zeros((num_players, m), np.int32)
    rng = np.zeros(1, np.uint64)
    target, total = np.zeros(q.size), np.zeros(q.size)
    for t in range(schedule.shape[0]):
        start(seed, begin + t, 0, rng)
        temperature = schedule[t, 0]
        responds[:] = False
        for _ in range(n):
            z = play(game, responds, temperature, q, count, policy, rng)
            for j in range(num_players):
                exchange(game, form.offset, j, z, episodes, stored, visits, gained)
        for p in range(num_players):
            fitted_q(form, merged, p, sweeps, visits, gained, target, total, q)
        for p in range(num_players):
            responds[:] = False
            responds[p] = True
            for e in range(m):
                own[p, e] = play(game, responds, temperature, q, count, policy, rng)
                exchange(game, form.offset, p, own[p, e], episodes, stored, visits, gained)
        for p in range(num_players):
            for e in range(m):
                if sampled:
                    add_actions(game, p, own[p, e], count)
                else:
                    add_behaviour(game, p, own[p, e], temperature, q, policy, count)
