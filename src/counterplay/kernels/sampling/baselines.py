"""Outcome sampling with baselines (VR-MCCFR), which reduce the variance of sampled regrets.

The baseline of an action is an estimate of its value to a player. It is stored in `table.baseline`
at `game.baseline_slot` of the child node and the player: one slot per augmented infoset and action,
or one per history. Outcomes of chance have baselines too. The sampled regrets are unbiased for any
baselines.
"""

from __future__ import annotations

from counterplay.kernels.runtime.jit import no_alloc_kernel
from counterplay.kernels.sampling.episodes import (
    add_opponents_average,
    add_stochastic_average,
    sample_episode,
    update_path_policies,
)
from counterplay.kernels.sampling.primitives import iteration_weight, seed_stream


@no_alloc_kernel
def add_baseline_regrets(p, epsilon, weight, length, game, table, scratch):
    """Add the sampled regrets of `p` and return its sampled value. With a taken at q(a):

    v(b) = baseline(b), and v(a) = baseline(a) + (u - baseline(a)) / q(a);  v = policy . v(.)
    regret = regret + weight * (v(.) - v) / own sampling reach;  u = v for the node above

    Every u is written to `scratch.value`.
    """
    nodes, slot = game.nodes, game.baseline_slot
    policy, regret, baseline = table.policy, table.regret, table.baseline
    u = game.utility[nodes[scratch.node[length]].first, p]
    below = abs(u)
    for d in range(length - 1, -1, -1):
        node = nodes[scratch.node[d]]
        first, taken = node.first, scratch.action[d]
        explored = epsilon if node.player == p else 0.0
        q = explored / node.count + (1.0 - explored) * policy[first + taken]
        slot_taken = slot[node.child + taken, p]
        correction = (u - baseline[slot_taken]) / q
        mean = policy[first + taken] * correction
        below = max(below, abs(correction))
        for k in range(node.count):
            mean += policy[first + k] * baseline[slot[node.child + k, p]]
        if node.player == p:
            scale = weight / scratch.sampling_reach[d]
            for k in range(node.count):
                regret[first + k] += scale * (baseline[slot[node.child + k, p]] - mean)
            regret[first + taken] += scale * correction
            if scale * below > table.max_abs_value[first]:
                table.max_abs_value[first] = scale * below
        scratch.value[d] = u
        u = mean
    return u


@no_alloc_kernel
def update_decaying_baseline(p, decay, length, game, table, scratch):
    """baseline(a) = baseline(a) + decay * (u - baseline(a)) for the actions taken.

    Runs after all regrets are added: two nodes of one path may be in one augmented infoset, and a
    baseline must not depend on the sample that it corrects.
    """
    for d in range(length):
        slot = game.baseline_slot[scratch.node[d + 1], p]
        table.baseline[slot] += decay * (scratch.value[d] - table.baseline[slot])


@no_alloc_kernel
def update_predictive_baseline(length, game, table, scratch):
    """Set the baseline of every node of the path to the mean of its children under the policy."""
    nodes, slot, policy, baseline = game.nodes, game.baseline_slot, table.policy, table.baseline
    for d in range(length - 1, -1, -1):
        n = scratch.node[d]
        node = nodes[n]
        for p in range(game.num_players):
            mean = 0.0
            for k in range(node.count):
                mean += policy[node.first + k] * baseline[slot[node.child + k, p]]
            baseline[slot[n, p]] = mean


@no_alloc_kernel
def add_averages(p, weight, length, game, table, scratch):
    """Add the episode to the averages; the low-variance update is unbiased for two players only."""
    if game.num_players == 2:
        add_opponents_average(p, weight, length, game, table, scratch)
    else:
        add_stochastic_average(p, weight, length, game, table, scratch)


@no_alloc_kernel
def decaying_baseline_sampling(begin, end, seed, powers, learner, scheme, game, table, scratch):
    """Run iterations `begin` to `end` - 1 with exponentially decaying averages as baselines.

    Iteration t has the weight t ** powers[0] in the regrets and t ** powers[1] in the average.
    """
    epsilon, decay = scheme
    for t in range(begin, end):
        weight, average = iteration_weight(t, powers[0]), iteration_weight(t, powers[1])
        for p in range(game.num_players):
            seed_stream(seed, t, p, scratch.rng)
            length = sample_episode(p, epsilon, game, table, scratch)
            add_baseline_regrets(p, epsilon, weight, length, game, table, scratch)
            update_decaying_baseline(p, decay, length, game, table, scratch)
            add_averages(p, average, length, game, table, scratch)
            update_path_policies(p, learner, length, game, table, scratch)


@no_alloc_kernel
def predictive_baseline_sampling(begin, end, seed, powers, learner, scheme, game, table, scratch):
    """`decaying_baseline_sampling` with `update_predictive_baseline` instead of the decay."""
    epsilon, _ = scheme
    for t in range(begin, end):
        weight, average = iteration_weight(t, powers[0]), iteration_weight(t, powers[1])
        for p in range(game.num_players):
            seed_stream(seed, t, p, scratch.rng)
            length = sample_episode(p, epsilon, game, table, scratch)
            add_baseline_regrets(p, epsilon, weight, length, game, table, scratch)
            add_averages(p, average, length, game, table, scratch)
            update_path_policies(p, learner, length, game, table, scratch)
            update_predictive_baseline(length, game, table, scratch)
