"""Outcome sampling with baselines (VR-MCCFR): any guess at values, to take noise out of regrets.

A guess at what an action is worth to a player stands in `table.baseline`, at `game.slot` of the
child node and the player: one slot per augmented infoset and action, or one per history. Chance
nodes have guesses too. Whatever they are, the regrets are right on average.
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
    """Add the sampled regrets of `p`, return its sampled value. Where q(a) led to action a:

    v(b) = guess(b) everywhere, and v(a) = guess(a) + (u - guess(a)) / q(a);  v = policy . v(.)
    regret = regret + weight * (v(.) - v) / own sampling reach;  u = v for the node above

    Every u is kept in `scratch.value`.
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
        guess = slot[node.child + taken, p]
        surprise = (u - baseline[guess]) / q
        mean = policy[first + taken] * surprise
        below = max(below, abs(surprise))
        for k in range(node.count):
            mean += policy[first + k] * baseline[slot[node.child + k, p]]
        if node.player == p:
            scale = weight / scratch.sampling_reach[d]
            for k in range(node.count):
                regret[first + k] += scale * (baseline[slot[node.child + k, p]] - mean)
            regret[first + taken] += scale * surprise
            if scale * below > table.max_abs_value[first]:
                table.max_abs_value[first] = scale * below
        scratch.value[d] = u
        u = mean
    return u


@no_alloc_kernel
def update_decaying_baseline(p, decay, length, game, table, scratch):
    """guess(a) = guess(a) + decay * (u - guess(a)) for the actions taken.

    Only after all regrets: a player who does not see the others act may know the same at two nodes
    of one path, and a guess must not depend on the sample that it is used with.
    """
    for d in range(length):
        guess = game.baseline_slot[scratch.node[d + 1], p]
        table.baseline[guess] += decay * (scratch.value[d] - table.baseline[guess])


@no_alloc_kernel
def update_predictive_baseline(length, game, table, scratch):
    """Set the guess at every node of the path to what the policy now expects of its children."""
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
    """What the episode says about the average, with as little noise as is right."""
    if game.num_players == 2:
        add_opponents_average(p, weight, length, game, table, scratch)
    else:
        add_stochastic_average(p, weight, length, game, table, scratch)


@no_alloc_kernel
def decaying_baseline_sampling(begin, end, seed, powers, learner, scheme, game, table, scratch):
    """Iterations `begin` to `end`, the last not included, with decaying averages as guesses.

    Iteration t counts t to the `powers`, in the regrets and in the average.
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
    """`learned_baseline` with expected values as guesses: `back_up` alone changes them."""
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
