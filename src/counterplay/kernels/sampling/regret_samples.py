"""Batches of traversals for one player under a fixed policy; their regrets train networks.

A traversal computes regrets at the player's nodes; `store_regrets` moves each from the table to the
samples: sums per infoset, or a reservoir. `critic` [N, P] is an estimate of the value of the step
to a node to each player.

Chance is stratified over a batch, because all its traversals share one policy. Traversal w of W
starts with the quantile (w + x) / W, where x is one uniform random number for the batch. A chance
node takes the outcome at that quantile of its distribution; the relative position inside the
outcome is the quantile of the next chance node, as in arithmetic coding. Each traversal has the
distribution of independent sampling, but the batch sees every outcome in proportion to its
probability, up to a fraction of one traversal. `quantile` [2] is the quantile and the likelihood
of the outcomes so far: once that is below `MIN_LIKELIHOOD`, the quantile has too few digits left
and is drawn again.
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

MIN_LIKELIHOOD = 2.0**-24  # below this, a quantile of 53 bits is drawn again


@no_alloc_kernel
def draw_batch_offset(p, count, seed, stratified, rng):
    """Return the random x of a batch, or -1 if chance is not stratified."""
    seed_stream(seed, count, p, rng)
    return draw_uniform(rng) if stratified else -1.0


@no_alloc_kernel
def set_chance_quantile(w, count, x, quantile):
    """Set the quantile of traversal w of `count`; the likelihood is 0 if it must draw its own."""
    quantile[0] = (w + x) / count
    quantile[1] = 1.0 if x >= 0.0 else 0.0


@no_alloc_kernel
def sample_chance(policy, first, count, quantile, rng):
    """Return the outcome at the quantile; set `quantile` for the next chance node."""
    if quantile[1] < MIN_LIKELIHOOD:
        quantile[0], quantile[1] = draw_uniform(rng), 1.0
    k = invert_cdf(policy, first, count, 0.0, quantile[0])
    rest = quantile[0]
    for s in range(first, first + k):
        rest -= policy[s]
    likelihood = policy[first + k]
    quantile[0] = min(max(rest / likelihood, 0.0), 1.0 - 2.0**-53)
    quantile[1] *= likelihood
    return k


@no_alloc_kernel
def external_walk(p, weight, quantile, game, table, scratch):
    """`traversals.external_walk` with stratified chance, the same after each action of `p`.

    At the nodes of `p`: regret = regret + u(a) - u. At the others' nodes: policy_sum = policy_sum +
    weight * policy.
    """
    nodes, counters, policy, regret = game.nodes, scratch.counters, table.policy, table.regret
    at, action, value = scratch.node, scratch.action, scratch.value
    quantile_above, likelihood = scratch.reach, scratch.sampling_reach
    n, depth = 0, 0
    while True:
        node = nodes[n]
        first = node.first
        counters[0] += 1
        if node.player == p:
            at[depth], action[depth], value[depth] = n, 0, 0.0
            quantile_above[depth], likelihood[depth] = quantile[0], quantile[1]
            depth += 1
            n = node.child
            continue
        if node.player == CHANCE:
            counters[2] += 1
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
                quantile[0], quantile[1] = quantile_above[d], likelihood[d]
                n = node.child + k
                break
            u = value[d]
            for s in range(first, first + node.count):
                regret[s] -= u
            scratch.pending_nodes[counters[1]] = at[d]
            counters[1] += 1
            depth = d
        if depth == 0:
            return


@no_alloc_kernel
def sample_episode(p, epsilon, quantile, game, table, scratch):
    """`episodes.sample_episode` with stratified chance; return the number of actions."""
    nodes, policy, rng = game.nodes, table.policy, scratch.rng
    at, action, sampling_reach = scratch.node, scratch.action, scratch.sampling_reach
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
        at[d], action[d], sampling_reach[d] = n, k, q
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
    """Move the regrets of one infoset from the table to the samples, with this weight.

    A reservoir of M samples accepts the k-th with probability M / k (Vitter, 1985).
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
    """Run `count` traversals of external sampling, and add the policies to the averages.

    With two players, the opponent's policies are added to `policy_sum` on the way; with more, see
    `add_own_average`.
    """
    is_two_player = game.num_players == 2
    x = draw_batch_offset(p, count, seed, stratified, scratch.rng)
    for w in range(count):
        seed_stream(seed, w, p, scratch.rng)
        set_chance_quantile(w, count, x, quantile)
        external_walk(p, weight if is_two_player else 0.0, quantile, game, table, scratch)
        for m in range(scratch.counters[1]):
            store_regrets(
                game.nodes[scratch.pending_nodes[m]], weight, table.regret, samples, scratch.rng
            )
        scratch.counters[1] = 0
    if not is_two_player:
        add_own_average(p, count, seed, weight, game, table, scratch)


@no_alloc_kernel
def add_own_average(p, count, seed, weight, game, table, scratch):
    """Sample episodes for the player's average; with three players, other traversals bias it."""
    for w in range(count):
        seed_stream(seed, w, game.num_players + p, scratch.rng)
        add_average_episode(p, weight, game, table, scratch)


@no_alloc_kernel
def record_episode(p, weight, length, game, table, scratch, visits):
    """Add 1 to `visits` [N] along an episode, and the others' policies to their averages."""
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
    """Store the player's regrets along an episode, with the critic as a control variate:

    v(k) = critic(k), and v(a) = critic(a) + (u - critic(a)) / q(a) for the action a taken with
    probability q(a);  v = policy . v(.), which is u for the node above;  regret(k) = v(k) - v

    Their weight is weight / (own sampling reach)**power.
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
        correction = (u - critic[child + taken, p]) / q
        mean = policy[first + taken] * correction
        for k in range(node.count):
            mean += policy[first + k] * critic[child + k, p]
        if node.player == p:
            for k in range(node.count):
                regret[first + k] = critic[child + k, p] - mean
            regret[first + taken] += correction
            store_regrets(
                node, weight / scratch.sampling_reach[d] ** power, regret, samples, scratch.rng
            )
        u = mean


@no_alloc_kernel
def store_critic_regrets(p, weight, length, critic, game, table, scratch, samples):
    """Store the player's regrets along an episode as the critic estimates them."""
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
    """Run `count` episodes of outcome sampling and store the corrected regrets of `p`.

    `scheme` is epsilon and the power of the own sampling reach; `weights` are those of the regrets
    and of the others' policies in the averages.
    """
    epsilon, power = scheme
    weight, average = weights
    is_two_player = game.num_players == 2
    x = draw_batch_offset(p, count, seed, stratified, scratch.rng)
    for w in range(count):
        seed_stream(seed, w, p, scratch.rng)
        set_chance_quantile(w, count, x, quantile)
        length = sample_episode(p, epsilon, quantile, game, table, scratch)
        record_episode(p, average if is_two_player else 0.0, length, game, table, scratch, visits)
        store_corrected_regrets(
            p, epsilon, power, weight, length, critic, game, table, scratch, samples
        )
    if not is_two_player:
        add_own_average(p, count, seed, average, game, table, scratch)


@no_alloc_kernel
def collect_critic_regrets(
    p, count, seed, stratified, weight, critic, visits, quantile, game, table, scratch, samples
):
    """Run `count` episodes in which `p` acts uniformly, and store the critic's regrets."""
    is_two_player = game.num_players == 2
    x = draw_batch_offset(p, count, seed, stratified, scratch.rng)
    for w in range(count):
        seed_stream(seed, w, p, scratch.rng)
        set_chance_quantile(w, count, x, quantile)
        length = sample_episode(p, 1.0, quantile, game, table, scratch)
        record_episode(p, weight if is_two_player else 0.0, length, game, table, scratch, visits)
        store_critic_regrets(p, weight, length, critic, game, table, scratch, samples)
    if not is_two_player:
        add_own_average(p, count, seed, weight, game, table, scratch)
