"""Batches of walks for one player, with a fixed policy, whose regrets are remembered for networks.

A walk finds regrets at the player's nodes; `keep` takes each from the table to the replay, which
either adds them up for every infoset or holds a reservoir of single ones. `critic` [N, P] is any
guess at what the step to a node is worth to each player.
"""

from __future__ import annotations

from counterplay.kernels.compiling import CHANCE, kernel
from counterplay.kernels.draws import add_average, draw, start, visit_for
from counterplay.kernels.episodes import sample
from counterplay.kernels.walks import external_walk


@kernel
def keep(node, weight, regret, replay, rng):
    """Move the regrets of one infoset to the replay, where they count `weight` times.

    In a reservoir of M items the k-th finds a place with probability M / k (Vitter, 1985).
    """
    first, size = node.first, replay.first.size
    slot = 0
    if size > 0:
        replay.seen[0] += 1
        slot = replay.seen[0] - 1
        if slot >= size:
            slot = int(draw(rng) * replay.seen[0])
        if slot < size:
            replay.first[slot], replay.tag[slot] = first, weight
            for k in range(replay.regret.shape[1]):
                replay.regret[slot, k] = regret[first + k] if k < node.count else 0.0
    else:
        replay.weight[first] += weight
        for s in range(first, first + node.count):
            replay.total[s] += weight * regret[s]
    for s in range(first, first + node.count):
        regret[s] = 0.0


@kernel
def external(p, count, seed, weight, game, table, scratch, replay):
    """`count` walks of external sampling; the others' policies go to `policy_sum`, if two play."""
    two = game.num_players == 2
    for w in range(count):
        start(seed, w, p, scratch.rng)
        external_walk(p, weight if two else 0.0, game, table, scratch)
        for m in range(scratch.tally[1]):
            keep(game.nodes[scratch.met[m]], weight, table.regret, replay, scratch.rng)
        scratch.tally[1] = 0
    if not two:
        own_average(p, count, seed, weight, game, table, scratch)


@kernel
def own_average(p, count, seed, weight, game, table, scratch):
    """Episodes for the player's own average: between three, walks for regrets would bias it."""
    for w in range(count):
        start(seed, w, game.num_players + p, scratch.rng)
        visit_for(p, weight, game, table, scratch)


@kernel
def note(p, weight, length, game, table, scratch, visits):
    """Count the nodes of an episode, and the others' policies on it `weight` times."""
    for d in range(length + 1):
        visits[scratch.node[d]] += 1.0
    for d in range(length):
        node = game.nodes[scratch.node[d]]
        if node.player != p and node.player != CHANCE:
            last = node.first + node.count
            add_average(node.first, last, weight, table.policy, table.policy_sum)


@kernel
def corrected(p, epsilon, power, weight, length, critic, game, table, scratch, replay):
    """Remember the player's regrets along one episode, the critic corrected where it was wrong:

    v(k) = critic(k), and v(a) = critic(a) + (u - critic(a)) / q(a) for the action a, which had the
    probability q(a);  v = policy . v(.), which is u for the node above;  regret(k) = v(k) - v

    They count weight / (own sampling reach)**power times.
    """
    policy, regret = table.policy, table.regret
    u = game.utility[game.nodes[scratch.node[length]].first, p]
    for d in range(length - 1, -1, -1):
        node = game.nodes[scratch.node[d]]
        if node.player == CHANCE:
            continue
        first, child, taken = node.first, node.child, scratch.action[d]
        explored = epsilon if node.player == p else 0.0
        q = explored / node.count + (1.0 - explored) * policy[first + taken]
        surprise = (u - critic[child + taken, p]) / q
        mean = policy[first + taken] * surprise
        for k in range(node.count):
            mean += policy[first + k] * critic[child + k, p]
        if node.player == p:
            for k in range(node.count):
                regret[first + k] = critic[child + k, p] - mean
            regret[first + taken] += surprise
            keep(node, weight / scratch.sampled[d] ** power, regret, replay, scratch.rng)
        u = mean


@kernel
def uncorrected(p, weight, length, critic, game, table, scratch, replay):
    """Remember what the critic says are the player's regrets along one episode."""
    policy, regret = table.policy, table.regret
    for d in range(length):
        node = game.nodes[scratch.node[d]]
        if node.player == p:
            first, mean = node.first, 0.0
            for k in range(node.count):
                mean += policy[first + k] * critic[node.child + k, p]
            for k in range(node.count):
                regret[first + k] = critic[node.child + k, p] - mean
            keep(node, weight, regret, replay, scratch.rng)


@kernel
def outcomes(p, count, seed, scheme, weights, critic, visits, game, table, scratch, replay):
    """`count` episodes; `scheme` is epsilon and the power of the own sampling reach.

    `weights` are those of regrets and of the others' policies.
    """
    epsilon, power = scheme
    weight, average = weights
    two = game.num_players == 2
    for w in range(count):
        start(seed, w, p, scratch.rng)
        length = sample(p, epsilon, game, table, scratch)
        note(p, average if two else 0.0, length, game, table, scratch, visits)
        corrected(p, epsilon, power, weight, length, critic, game, table, scratch, replay)
    if not two:
        own_average(p, count, seed, average, game, table, scratch)


@kernel
def guesses(p, count, seed, weight, critic, visits, game, table, scratch, replay):
    """`count` episodes in which the player acts uniformly, and the critic is believed."""
    two = game.num_players == 2
    for w in range(count):
        start(seed, w, p, scratch.rng)
        length = sample(p, 1.0, game, table, scratch)
        note(p, weight if two else 0.0, length, game, table, scratch, visits)
        uncorrected(p, weight, length, critic, game, table, scratch, replay)
    if not two:
        own_average(p, count, seed, weight, game, table, scratch)
