"""Episodes on the tree: what fictitious self-play samples, remembers and learns from.

An episode is known by the terminal where it ended: all else is found by walking up from there. So
a memory of episodes is an array of terminals, and every learner below reads an episode backwards.
Policies are not stored either. At an infoset on the way, the average policy is its `count` scaled,
and the response is softmax(q / temperature).
"""

from __future__ import annotations

import numpy as np
from numpy import uint64

from counterplay.kernels.compiling import TERMINAL, kernel


@kernel
def uniform(random):
    """A number from [0, 1), and the next state of `random` [4]: xoshiro256++ (Blackman, Vigna)."""
    a, b, c, d = random[0], random[1], random[2], random[3]
    total = a + d
    bits = ((total << uint64(23)) | (total >> uint64(41))) + a
    c ^= a
    d ^= b
    random[0], random[1] = a ^ d, b ^ c
    random[2], random[3] = c ^ (b << uint64(17)), (d << uint64(45)) | (d >> uint64(19))
    return float(bits >> uint64(11)) * 2.0**-53


@kernel
def respond(first, size, temperature, q, weight):
    """Set `weight` [:size] to softmax(q / temperature) at the infoset from sequence `first` on."""
    top = q[first]
    for k in range(1, size):
        top = max(top, q[first + k])
    total = 0.0
    for k in range(size):
        weight[k] = np.exp((q[first + k] - top) / temperature)
        total += weight[k]
    for k in range(size):
        weight[k] /= total


@kernel
def follow_count(first, size, count, weight):
    """Set `weight` [:size] to the average policy at the infoset from sequence `first` on."""
    total = 0.0
    for k in range(size):
        total += count[first + k]
    for k in range(size):
        weight[k] = count[first + k] / total if total > 0.0 else 1.0 / size


@kernel
def play(nodes, responds, temperature, q, count, weight, random):
    """Play one episode and return the number of its terminal.

    Players with `responds` [P] follow the response, the others the average policy.
    """
    player, child_offset, chance = nodes.player, nodes.child_offset, nodes.chance
    n = 0
    while player[n] != TERMINAL:
        child = child_offset[n]
        size = child_offset[n + 1] - child
        if player[n] < 0:
            for k in range(size):
                weight[k] = chance[child + k]
        elif responds[player[n]]:
            respond(nodes.offset[nodes.infoset[n]], size, temperature, q, weight)
        else:
            follow_count(nodes.offset[nodes.infoset[n]], size, count, weight)
        draw = uniform(random)
        chosen = 0
        for k in range(size):
            if weight[k] > 0.0:  # rounding may leave a rest: it goes to the last possible action
                chosen = k
                draw -= weight[k]
                if draw < 0.0:
                    break
        n = child + chosen
    return np.searchsorted(nodes.terminals, n)


@kernel
def store(p, z, episodes, stored):
    """Put terminal `z` into player `p`'s row of `episodes` [P, C]; the oldest makes room."""
    episodes[p, stored[p] % episodes.shape[1]] = z
    stored[p] += 1


@kernel
def add_behaviour(nodes, p, z, temperature, q, weight, count):
    """Add the player's response at each of its decisions of the episode to `count`."""
    n = nodes.terminals[z]
    while n > 0:
        above = nodes.parent[n]
        if nodes.player[above] == p:
            first = nodes.offset[nodes.infoset[above]]
            size = nodes.child_offset[above + 1] - nodes.child_offset[above]
            respond(first, size, temperature, q, weight)
            for k in range(size):
                count[first + k] += weight[k]
        n = above


@kernel
def add_actions(nodes, p, z, count):
    """Add the player's actions of the episode to `count`."""
    n = nodes.terminals[z]
    while n > 0:
        above = nodes.parent[n]
        if nodes.player[above] == p:
            count[nodes.offset[nodes.infoset[above]] + n - nodes.child_offset[above]] += 1.0
        n = above


@kernel
def q_learning(nodes, p, z, rate, q):
    """Q-learning from one episode, its last decision first."""
    n = nodes.terminals[z]
    target = nodes.utility[z, p]
    while n > 0:
        above = nodes.parent[n]
        if nodes.player[above] == p:
            first = nodes.offset[nodes.infoset[above]]
            size = nodes.child_offset[above + 1] - nodes.child_offset[above]
            s = first + n - nodes.child_offset[above]
            q[s] += rate * (target - q[s])
            target = q[first]
            for k in range(1, size):
                target = max(target, q[first + k])
        n = above


@kernel
def replay(nodes, p, replays, rate, episodes, stored, q, random):
    """Q-learning from `replays` episodes drawn from the player's memory."""
    size = min(stored[p], episodes.shape[1])
    for _ in range(replays if size > 0 else 0):
        q_learning(nodes, p, episodes[p, int(uniform(random) * size)], rate, q)


@kernel
def general(nodes, schedule, n, m, replays, episodes, stored, q, count, random):
    """General fictitious self-play, one iteration per row (mixing, rate, temperature)."""
    num_players = nodes.utility.shape[1]
    responds = np.zeros(num_players, np.bool_)
    own = np.zeros((num_players, m), np.int32)
    weight = np.zeros(nodes.most_children[0])
    for t in range(schedule.shape[0]):
        mixing, rate, temperature = schedule[t]
        for _ in range(n):
            for j in range(num_players):
                responds[j] = uniform(random) < mixing
            z = play(nodes, responds, temperature, q, count, weight, random)
            for j in range(num_players):
                store(j, z, episodes, stored)
        for p in range(num_players):
            for e in range(m):
                for j in range(num_players):
                    responds[j] = uniform(random) < mixing or j == p
                own[p, e] = play(nodes, responds, temperature, q, count, weight, random)
                store(p, own[p, e], episodes, stored)
        for p in range(num_players):
            for e in range(m):
                add_behaviour(nodes, p, own[p, e], temperature, q, weight, count)
            replay(nodes, p, replays, rate, episodes, stored, q, random)


@kernel
def table_lookup(nodes, schedule, n, m, replays, episodes, stored, q, count, random):
    """Table-lookup batch fictitious self-play, one iteration per row (rate, temperature)."""
    num_players = nodes.utility.shape[1]
    responds = np.zeros(num_players, np.bool_)
    own = np.zeros((num_players, m), np.int32)
    weight = np.zeros(nodes.most_children[0])
    for t in range(schedule.shape[0]):
        rate, temperature = schedule[t]
        responds[:] = False
        for _ in range(n):
            z = play(nodes, responds, temperature, q, count, weight, random)
            for j in range(num_players):
                store(j, z, episodes, stored)
        for p in range(num_players):
            replay(nodes, p, replays, rate, episodes, stored, q, random)
        for p in range(num_players):
            responds[:] = False
            responds[p] = True
            for e in range(m):
                own[p, e] = play(nodes, responds, temperature, q, count, weight, random)
                store(p, own[p, e], episodes, stored)
        for p in range(num_players):
            for e in range(m):
                add_behaviour(nodes, p, own[p, e], temperature, q, weight, count)


@kernel
def tally(nodes, p, z, sign, visits, gained):
    """Add (or, with sign -1, take away) an episode from the player's sequences [F] of the form."""
    n = nodes.terminals[z]
    last = True
    while n > 0:
        above = nodes.parent[n]
        if nodes.player[above] == p:
            s = nodes.form_offset[nodes.form_infoset[above]] + n - nodes.child_offset[above]
            visits[s] += sign
            if last:
                gained[s] = gained[s] + sign * nodes.utility[z, p] if visits[s] > 0 else 0.0
            last = False
        n = above


@kernel
def exchange(nodes, p, z, episodes, stored, visits, gained):
    """`store`, with the tallies kept equal to what the memory holds."""
    slot = stored[p] % episodes.shape[1]
    if stored[p] >= episodes.shape[1]:
        tally(nodes, p, episodes[p, slot], -1, visits, gained)
    tally(nodes, p, z, 1, visits, gained)
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
    nodes,
    form,
    merged,
    sweeps,
    schedule,
    n,
    m,
    sampled,
    episodes,
    stored,
    visits,
    gained,
    q,
    count,
    random,
):
    """Batch fictitious self-play with fitted Q iteration, one iteration per row (temperature)."""
    num_players = nodes.utility.shape[1]
    responds = np.zeros(num_players, np.bool_)
    own = np.zeros((num_players, m), np.int32)
    weight = np.zeros(nodes.most_children[0])
    target, total = np.zeros(q.size), np.zeros(q.size)
    for t in range(schedule.shape[0]):
        temperature = schedule[t, 0]
        responds[:] = False
        for _ in range(n):
            z = play(nodes, responds, temperature, q, count, weight, random)
            for j in range(num_players):
                exchange(nodes, j, z, episodes, stored, visits, gained)
        for p in range(num_players):
            fitted_q(form, merged, p, sweeps, visits, gained, target, total, q)
        for p in range(num_players):
            responds[:] = False
            responds[p] = True
            for e in range(m):
                own[p, e] = play(nodes, responds, temperature, q, count, weight, random)
                exchange(nodes, p, own[p, e], episodes, stored, visits, gained)
        for p in range(num_players):
            for e in range(m):
                if sampled:
                    add_actions(nodes, p, own[p, e], count)
                else:
                    add_behaviour(nodes, p, own[p, e], temperature, q, weight, count)
