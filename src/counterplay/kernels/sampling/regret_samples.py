"""Batches of walks for one player, with a fixed policy, whose regrets are remembered for networks.

A walk finds regrets at the player's nodes; `keep` takes each from the table to the replay, which
either adds them up for every infoset or holds a reservoir of single ones. `critic` [N, P] is any
guess at what the step to a node is worth to each player.

All walks of a batch share one policy, so that chance need not be drawn for each on its own: walk w
of W begins with the number (w + x) / W, with one random x for the batch. A chance node's outcome is
where the number falls; how far into that outcome it fell is the number of the next chance node, as
in arithmetic coding. Each walk alone is distributed as ever, but together they meet every deal as
often as it is likely, up to a part of one walk. `luck` is the number, and the likelihood so far:
once that is small, what is left of the number has too few digits, and another is drawn.
"""

from __future__ import annotations

from counterplay.kernels.runtime.jit import CHANCE, TERMINAL, no_alloc_kernel
from counterplay.kernels.sampling.primitives import (
    add_average,
    draw_uniform,
    invert_cdf,
    sample_action,
    seed_stream,
)
from counterplay.kernels.sampling.traversals import add_average_episode

MIN_LIKELIHOOD = 2.0**-24  # from where a number of 53 bits is not divided further


@no_alloc_kernel
def draw_batch_offset(p, count, seed, stratified, rng):
    """The random x of a batch; where chance is not to be even, a negative number."""
    seed_stream(seed, count, p, rng)
    return draw_uniform(rng) if stratified else -1.0


@no_alloc_kernel
def set_chance_quantile(w, count, x, quantile):
    """Set the number of walk w of `count`; the likelihood 0 lets the walk draw one of its own."""
    quantile[0] = (w + x) / count
    quantile[1] = 1.0 if x >= 0.0 else 0.0


@no_alloc_kernel
def sample_chance(policy, first, count, quantile, rng):
    """Which outcome the number falls on; leaves the next chance node's number in `luck`."""
    if quantile[1] < MIN_LIKELIHOOD:
        quantile[0], quantile[1] = draw_uniform(rng), 1.0
    k = invert_cdf(policy, first, count, 0.0, quantile[0])
    rest = quantile[0]
    for s in range(first, first + k):
        rest -= policy[s]
    likely = policy[first + k]
    quantile[0] = min(max(rest / likely, 0.0), 1.0 - 2.0**-53)
    quantile[1] *= likely
    return k


@no_alloc_kernel
def external_walk(p, weight, quantile, game, table, scratch):
    """Sample chance and the others. At the nodes of `p`: regret = regret + u(a) - u.

    At the others' nodes: policy_sum = policy_sum + weight * policy. What follows the player's
    actions has the same luck.
    """
    nodes, tally, policy, regret = game.nodes, scratch.counters, table.policy, table.regret
    at, action, value = scratch.node, scratch.action, scratch.value
    number, likely = scratch.reach, scratch.sampling_reach
    n, depth = 0, 0
    while True:
        node = nodes[n]
        first = node.first
        tally[0] += 1
        if node.player == p:
            at[depth], action[depth], value[depth] = n, 0, 0.0
            number[depth], likely[depth] = quantile[0], quantile[1]
            depth += 1
            n = node.child
            continue
        if node.player == CHANCE:
            tally[2] += 1
            n = node.child + sample_chance(policy, first, node.count, quantile, scratch.rng)
            continue
        if node.player != TERMINAL:
            add_average(first, first + node.count, weight, policy, table.policy_sum)
            n = node.child + sample_action(policy, first, node.count, 0.0, scratch.rng)
            continue
        u = game.utility[first, p]
        while depth > 0:
            d = depth - 1
            node = nodes[at[d]]
            first, k = node.first, action[d]
            regret[first + k] += u
            value[d] += policy[first + k] * u
            k += 1
            if k < node.count:
                action[d] = k
                quantile[0], quantile[1] = number[d], likely[d]
                n = node.child + k
                break
            u = value[d]
            for s in range(first, first + node.count):
                regret[s] -= u
            scratch.pending_nodes[tally[1]] = at[d]
            tally[1] += 1
            depth = d
        if depth == 0:
            return


@no_alloc_kernel
def sample_episode(p, epsilon, quantile, game, table, scratch):
    """Play one episode, `p` exploring with `epsilon`; returns how many actions it took.

    Sets node and action at every step, and `sampled`: the traverser's own part of the probability
    of getting there. That of chance and the others cancels, because they are on policy.
    """
    nodes, policy, rng = game.nodes, table.policy, scratch.rng
    at, action, sampled = scratch.node, scratch.action, scratch.sampling_reach
    n, d, q = 0, 0, 1.0
    node = nodes[n]
    while node.player != TERMINAL:
        first, count = node.first, node.count
        explored = epsilon if node.player == p else 0.0
        if node.player == CHANCE:
            scratch.counters[2] += 1
            k = sample_chance(policy, first, count, quantile, rng)
        else:
            k = sample_action(policy, first, count, explored, rng)
        at[d], action[d], sampled[d] = n, k, q
        if node.player == p:
            q *= explored / count + (1.0 - explored) * policy[first + k]
        n = node.child + k
        node = nodes[n]
        d += 1
    at[d] = n
    scratch.counters[0] += d + 1
    return d


@no_alloc_kernel
def store_regrets(node, weight, regret, samples, rng):
    """Move the regrets of one infoset to the replay, where they count `weight` times.

    In a reservoir of M items the k-th finds a place with probability M / k (Vitter, 1985).
    """
    first, size = node.first, samples.sample_sequence.size
    slot = 0
    if size > 0:
        samples.num_seen[0] += 1
        slot = samples.num_seen[0] - 1
        if slot >= size:
            slot = int(draw_uniform(rng) * samples.num_seen[0])
        if slot < size:
            samples.sample_sequence[slot], samples.sample_weight[slot] = first, weight
            for k in range(samples.sample_regret.shape[1]):
                samples.sample_regret[slot, k] = regret[first + k] if k < node.count else 0.0
    else:
        samples.weight_sum[first] += weight
        for s in range(first, first + node.count):
            samples.regret_sum[s] += weight * regret[s]
    for s in range(first, first + node.count):
        regret[s] = 0.0


@no_alloc_kernel
def collect_external_regrets(
    p, count, seed, stratified, weight, quantile, game, table, scratch, samples
):
    """`count` walks of external sampling; the others' policies go to `policy_sum`, if two play."""
    two = game.num_players == 2
    x = draw_batch_offset(p, count, seed, stratified, scratch.rng)
    for w in range(count):
        seed_stream(seed, w, p, scratch.rng)
        set_chance_quantile(w, count, x, quantile)
        external_walk(p, weight if two else 0.0, quantile, game, table, scratch)
        for m in range(scratch.counters[1]):
            store_regrets(
                game.nodes[scratch.pending_nodes[m]], weight, table.regret, samples, scratch.rng
            )
        scratch.counters[1] = 0
    if not two:
        add_own_average(p, count, seed, weight, game, table, scratch)


@no_alloc_kernel
def add_own_average(p, count, seed, weight, game, table, scratch):
    """Episodes for the player's own average: between three, walks for regrets would bias it."""
    for w in range(count):
        seed_stream(seed, w, game.num_players + p, scratch.rng)
        add_average_episode(p, weight, game, table, scratch)


@no_alloc_kernel
def record_episode(p, weight, length, game, table, scratch, visits):
    """Count the nodes of an episode, and the others' policies on it `weight` times."""
    for d in range(length + 1):
        visits[scratch.node[d]] += 1.0
    for d in range(length):
        node = game.nodes[scratch.node[d]]
        if node.player != p and node.player != CHANCE:
            last = node.first + node.count
            add_average(node.first, last, weight, table.policy, table.policy_sum)


@no_alloc_kernel
def store_corrected_regrets(
    p, epsilon, power, weight, length, critic, game, table, scratch, samples
):
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
            store_regrets(
                node, weight / scratch.sampling_reach[d] ** power, regret, samples, scratch.rng
            )
        u = mean


@no_alloc_kernel
def store_critic_regrets(p, weight, length, critic, game, table, scratch, samples):
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
            store_regrets(node, weight, regret, samples, scratch.rng)


@no_alloc_kernel
def collect_outcome_regrets(
    p,
    count,
    seed,
    stratified,
    scheme,
    weights,
    critic,
    visits,
    quantile,
    game,
    table,
    scratch,
    samples,
):
    """`count` episodes; `scheme` is epsilon and the power of the own sampling reach.

    `weights` are those of regrets and of the others' policies.
    """
    epsilon, power = scheme
    weight, average = weights
    two = game.num_players == 2
    x = draw_batch_offset(p, count, seed, stratified, scratch.rng)
    for w in range(count):
        seed_stream(seed, w, p, scratch.rng)
        set_chance_quantile(w, count, x, quantile)
        length = sample_episode(p, epsilon, quantile, game, table, scratch)
        record_episode(p, average if two else 0.0, length, game, table, scratch, visits)
        store_corrected_regrets(
            p, epsilon, power, weight, length, critic, game, table, scratch, samples
        )
    if not two:
        add_own_average(p, count, seed, average, game, table, scratch)


@no_alloc_kernel
def collect_critic_regrets(
    p, count, seed, stratified, weight, critic, visits, quantile, game, table, scratch, samples
):
    """`count` episodes in which the player acts uniformly, and the critic is believed."""
    two = game.num_players == 2
    x = draw_batch_offset(p, count, seed, stratified, scratch.rng)
    for w in range(count):
        seed_stream(seed, w, p, scratch.rng)
        set_chance_quantile(w, count, x, quantile)
        length = sample_episode(p, 1.0, quantile, game, table, scratch)
        record_episode(p, weight if two else 0.0, length, game, table, scratch, visits)
        store_critic_regrets(p, weight, length, critic, game, table, scratch, samples)
    if not two:
        add_own_average(p, count, seed, weight, game, table, scratch)
