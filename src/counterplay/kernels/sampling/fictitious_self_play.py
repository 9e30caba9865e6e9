"""Fictitious self-play on a tree: sampled episodes, memories of them, and learning from them.

An episode is stored as the number of its terminal; its nodes are the ancestors of that terminal.
So a memory of episodes is an array of terminals, and the learners read an episode backwards.
Policies are computed when they are used and written to `table.policy`: the average policy of an
infoset is its normalised `counts`, the response is softmax(q / temperature). All draws of
iteration t follow from the seed and t.
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
    """Set the policy at a node's infoset to softmax(q / temperature)."""
    softmax(1.0 / temperature, node.first, node.first + node.count, table.q, table.policy)


@no_alloc_kernel
def play_episode(responds, temperature, game, table, rng):
    """Sample an episode and return the number of its terminal.

    Players with `responds` [P] follow their response, the others their average policy.
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
    """Write terminal `z` to the ring buffer of player `p`, over the oldest episode."""
    table.episodes[p, table.num_stored[p] % table.episodes.shape[1]] = z
    table.num_stored[p] += 1


@no_alloc_kernel
def add_response_counts(p, z, temperature, game, table):
    """Add the player's response to `counts` at each of its decisions of the episode."""
    n = game.terminals[z]
    while n > 0:
        n = game.parent[n]
        node = game.nodes[n]
        if node.player == p:
            set_response(node, temperature, table)
            add_average(node.first, node.first + node.count, 1.0, table.policy, table.counts)


@no_alloc_kernel
def add_action_counts(p, z, game, table):
    """Add 1 to `counts` of each action of the player in the episode."""
    n = game.terminals[z]
    while n > 0:
        above = game.parent[n]
        node = game.nodes[above]
        if node.player == p:
            table.counts[node.first + n - node.child] += 1.0
        n = above


@no_alloc_kernel
def run_q_learning(p, z, rate, game, table):
    """Update `q` by Q-learning from one episode, its last decision first."""
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
    """Run Q-learning on `num_replays` episodes drawn from the player's memory."""
    size = min(table.num_stored[p], table.episodes.shape[1])
    for _ in range(num_replays if size > 0 else 0):
        run_q_learning(p, table.episodes[p, int(draw_uniform(rng) * size)], rate, game, table)


@kernel
def general_fsp(begin, seed, schedule, n, m, num_replays, game, table):
    """Run general fictitious self-play, one iteration per row of `schedule` [T, 3].

    A row is (mixing, rate, temperature). Each iteration samples `n` episodes of mixed policies for
    all players and `m` episodes of each player's response.
    """
    num_players = game.utility.shape[1]
    responds = np.zeros(num_players, np.bool_)
    responses = np.zeros((num_players, m), np.int32)
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
                responses[p, e] = play_episode(responds, temperature, game, table, rng)
                store_episode(p, responses[p, e], table)
        for p in range(num_players):
            for e in range(m):
                add_response_counts(p, responses[p, e], temperature, game, table)
            replay_episodes(p, num_replays, rate, game, table, rng)


@kernel
def table_lookup_fsp(begin, seed, schedule, n, m, num_replays, game, table):
    """Run table-lookup fictitious self-play; rows are (rate, temperature): see `general_fsp`."""
    num_players = game.utility.shape[1]
    responds = np.zeros(num_players, np.bool_)
    responses = np.zeros((num_players, m), np.int32)
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
                responses[p, e] = play_episode(responds, temperature, game, table, rng)
                store_episode(p, responses[p, e], table)
        for p in range(num_players):
            for e in range(m):
                add_response_counts(p, responses[p, e], temperature, game, table)


@no_alloc_kernel
def tally_episode(p, z, sign, offset, visits, return_sum, game):
    """Add an episode to the player's `visits` and `return_sum` [F]; with sign -1, remove it."""
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
    """`store_episode`, and update the tallies to the episodes in the memory."""
    capacity = table.episodes.shape[1]
    if table.num_stored[p] >= capacity:
        oldest = table.episodes[p, table.num_stored[p] % capacity]
        tally_episode(p, oldest, -1, offset, visits, return_sum, game)
    tally_episode(p, z, 1, offset, visits, return_sum, game)
    store_episode(p, z, table)


@no_alloc_kernel
def run_fitted_q_iteration(form, merged, p, sweeps, visits, return_sum, target, weight, q):
    """Run fitted Q iteration on the tallies; sets `q` where there are visits.

    `target` and `weight` [S] are scratch. Each sweep carries values up by one decision of `p`.
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
    """Run batch fictitious self-play with fitted Q iteration; rows are (temperature,).

    The average counts sampled actions if `sampled`, else responses: see `general_fsp`.
    """
    num_players = game.utility.shape[1]
    responds = np.zeros(num_players, np.bool_)
    responses = np.zeros((num_players, m), np.int32)
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
                responses[p, e] = play_episode(responds, temperature, game, table, rng)
                store_and_tally(p, responses[p, e], form.offset, visits, return_sum, game, table)
        for p in range(num_players):
            for e in range(m):
                if sampled:
                    add_action_counts(p, responses[p, e], game, table)
                else:
                    add_response_counts(p, responses[p, e], temperature, game, table)
