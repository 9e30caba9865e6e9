"""Episodes on the tree: what fictitious self-play samples, remembers and learns from.

An episode is known by the terminal where it ended: all else is found by walking up from there. So
a memory of episodes is an array of terminals, and every learner below reads an episode backwards.
Policies are not stored either. At an infoset on the way, the average policy is its `count` scaled,
and the response is softmax(q / temperature): both are written to `table.policy` when they are
needed. All draws of iteration t follow from the seed and t.
"""

from __future__ import annotations

import numpy as np

from counterplay.kernels.runtime.jit import TERMINAL, kernel, no_alloc_kernel
from counterplay.kernels.sampling.primitives import (
    add_average,
    draw_uniform,
    normalise_counts,
    sample_action,
    seed_stream,
    softmax,
)


@no_alloc_kernel
def set_response(node, temperature, table):
    """Set the policy to softmax(q / temperature) at a node's infoset."""
    softmax(1.0 / temperature, node.first, node.first + node.count, table.q, table.policy)


@no_alloc_kernel
def play_episode(responds, temperature, game, table, rng):
    """Play one episode and return the number of its terminal.

    Players with `responds` [P] follow the response, the others the average policy.
    """
    node = game.nodes[0]
    while node.player != TERMINAL:
        if node.player >= 0 and responds[node.player]:
            set_response(node, temperature, table)
        elif node.player >= 0:
            normalise_counts(node.first, node.first + node.count, table.counts, table.policy)
        node = game.nodes[
            node.child + sample_action(table.policy, node.first, node.count, 0.0, rng)
        ]
    return node.first


@no_alloc_kernel
def store_episode(p, z, table):
    """Put terminal `z` into player `p`'s row of episodes; the oldest makes room."""
    table.episodes[p, table.num_stored[p] % table.episodes.shape[1]] = z
    table.num_stored[p] += 1


@no_alloc_kernel
def add_response_counts(p, z, temperature, game, table):
    """Count the player's response at each of its decisions of the episode."""
    n = game.terminals[z]
    while n > 0:
        n = game.parent[n]
        node = game.nodes[n]
        if node.player == p:
            set_response(node, temperature, table)
            add_average(node.first, node.first + node.count, 1.0, table.policy, table.counts)


@no_alloc_kernel
def add_action_counts(p, z, game, table):
    """Count the player's actions of the episode."""
    n = game.terminals[z]
    while n > 0:
        above = game.parent[n]
        node = game.nodes[above]
        if node.player == p:
            table.counts[node.first + n - node.child] += 1.0
        n = above


@no_alloc_kernel
def run_q_learning(p, z, rate, game, table):
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


@no_alloc_kernel
def replay_episodes(p, num_replays, rate, game, table, rng):
    """Q-learning from `replays` episodes drawn from the player's memory."""
    size = min(table.num_stored[p], table.episodes.shape[1])
    for _ in range(num_replays if size > 0 else 0):
        run_q_learning(p, table.episodes[p, int(draw_uniform(rng) * size)], rate, game, table)


@kernel
def general_fsp(begin, seed, schedule, n, m, num_replays, game, table):
    """General fictitious self-play from iteration `begin`; a row is (mixing, rate, temperature)."""
    num_players = game.utility.shape[1]
    responds = np.zeros(num_players, np.bool_)
    own = np.zeros((num_players, m), np.int32)
    rng = np.zeros(1, np.uint64)
    for t in range(schedule.shape[0]):
        seed_stream(seed, begin + t, 0, rng)
        mixing, rate, temperature = schedule[t]
        for _ in range(n):
            for j in range(num_players):
                responds[j] = draw_uniform(rng) < mixing
            z = play_episode(responds, temperature, game, table, rng)
            for j in range(num_players):
                store_episode(j, z, table)
        for p in range(num_players):
            for e in range(m):
                for j in range(num_players):
                    responds[j] = draw_uniform(rng) < mixing or j == p
                own[p, e] = play_episode(responds, temperature, game, table, rng)
                store_episode(p, own[p, e], table)
        for p in range(num_players):
            for e in range(m):
                add_response_counts(p, own[p, e], temperature, game, table)
            replay_episodes(p, num_replays, rate, game, table, rng)


@kernel
def table_lookup_fsp(begin, seed, schedule, n, m, num_replays, game, table):
    """`general` for table-lookup batch fictitious self-play; a row is (rate, temperature)."""
    num_players = game.utility.shape[1]
    responds = np.zeros(num_players, np.bool_)
    own = np.zeros((num_players, m), np.int32)
    rng = np.zeros(1, np.uint64)
    for t in range(schedule.shape[0]):
        seed_stream(seed, begin + t, 0, rng)
        rate, temperature = schedule[t]
        responds[:] = False
        for _ in range(n):
            z = play_episode(responds, temperature, game, table, rng)
            for j in range(num_players):
                store_episode(j, z, table)
        for p in range(num_players):
            replay_episodes(p, num_replays, rate, game, table, rng)
        for p in range(num_players):
            responds[:] = False
            responds[p] = True
            for e in range(m):
                own[p, e] = play_episode(responds, temperature, game, table, rng)
                store_episode(p, own[p, e], table)
        for p in range(num_players):
            for e in range(m):
                add_response_counts(p, own[p, e], temperature, game, table)


@no_alloc_kernel
def tally_episode(p, z, sign, offset, visits, return_sum, game):
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
                return_sum[s] = return_sum[s] + sign * game.utility[z, p] if visits[s] > 0 else 0.0
            last = False
        n = above


@no_alloc_kernel
def store_and_tally(p, z, offset, visits, return_sum, game, table):
    """`store`, with the tallies kept equal to what the memory holds."""
    capacity = table.episodes.shape[1]
    if table.num_stored[p] >= capacity:
        oldest = table.episodes[p, table.num_stored[p] % capacity]
        tally_episode(p, oldest, -1, offset, visits, return_sum, game)
    tally_episode(p, z, 1, offset, visits, return_sum, game)
    store_episode(p, z, table)


@no_alloc_kernel
def run_fitted_q_iteration(form, merged, p, sweeps, visits, return_sum, target, weight, q):
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
            target[merged[s]] += return_sum[s]
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
def batch_fsp(
    begin, seed, schedule, n, m, sampled, form, merged, sweeps, visits, return_sum, game, table
):
    """`general` for batch fictitious self-play with fitted Q iteration; a row is (temperature)."""
    num_players = game.utility.shape[1]
    responds = np.zeros(num_players, np.bool_)
    own = np.zeros((num_players, m), np.int32)
    rng = np.zeros(1, np.uint64)
    target, total = np.zeros(table.q.size), np.zeros(table.q.size)
    for t in range(schedule.shape[0]):
        seed_stream(seed, begin + t, 0, rng)
        temperature = schedule[t, 0]
        responds[:] = False
        for _ in range(n):
            z = play_episode(responds, temperature, game, table, rng)
            for j in range(num_players):
                store_and_tally(j, z, form.offset, visits, return_sum, game, table)
        for p in range(num_players):
            run_fitted_q_iteration(
                form, merged, p, sweeps, visits, return_sum, target, total, table.q
            )
        for p in range(num_players):
            responds[:] = False
            responds[p] = True
            for e in range(m):
                own[p, e] = play_episode(responds, temperature, game, table, rng)
                store_and_tally(p, own[p, e], form.offset, visits, return_sum, game, table)
        for p in range(num_players):
            for e in range(m):
                if sampled:
                    add_action_counts(p, own[p, e], game, table)
                else:
                    add_response_counts(p, own[p, e], temperature, game, table)
