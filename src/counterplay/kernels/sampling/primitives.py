"""Primitives of all sampled traversals: reproducible random draws and the local policy update."""

from __future__ import annotations

import numpy as np
from numpy import uint64

from counterplay.kernels.runtime.jit import no_alloc_kernel

GOLDEN_GAMMA = uint64(0x9E3779B97F4A7C15)
MIX_MULTIPLIER_1, MIX_MULTIPLIER_2 = uint64(0xBF58476D1CE4E5B9), uint64(0x94D049BB133111EB)
# regrets up to this part of an infoset's largest value are rounding errors
ROUNDING_TOLERANCE = 16.0 * 2.0**-52
B11, B27, B30, B31 = uint64(11), uint64(27), uint64(30), uint64(31)


@no_alloc_kernel
def mix(bits):
    """Return the output function of SplitMix64 (Steele, Lea and Flood, 2014) of `bits`."""
    bits = (bits ^ (bits >> B30)) * MIX_MULTIPLIER_1
    bits = (bits ^ (bits >> B27)) * MIX_MULTIPLIER_2
    return bits ^ (bits >> B31)


@no_alloc_kernel
def seed_stream(seed, t, stream, rng):
    """Set the state of `rng` from the seed, the iteration t and the number of the stream."""
    rng[0] = mix(mix(uint64(seed) + GOLDEN_GAMMA * uint64(t)) + GOLDEN_GAMMA * uint64(stream))


@no_alloc_kernel
def draw_uniform(rng):
    """Return a uniform random number in [0, 1)."""
    rng[0] += GOLDEN_GAMMA
    return (mix(rng[0]) >> B11) * 2.0**-53


@no_alloc_kernel
def hash_uniform(bits, number):
    """Return a uniform random number in [0, 1) that is always the same for these arguments."""
    return (mix(mix(bits) + GOLDEN_GAMMA * uint64(number + 1)) >> B11) * 2.0**-53


@no_alloc_kernel
def sample_action(policy, first, count, epsilon, rng):
    """Draw an action, 0 to count - 1, from (1 - epsilon) * policy + epsilon * uniform."""
    return invert_cdf(policy, first, count, epsilon, draw_uniform(rng))


@no_alloc_kernel
def invert_cdf(policy, first, count, epsilon, x):
    """Return the action at quantile `x` of (1 - epsilon) * policy + epsilon * uniform."""
    last, total = 0, 0.0
    if epsilon == 0.0:  # common case; constant after inlining
        for k in range(count - 1):  # no early exit: a mispredicted branch costs more
            total += policy[first + k]
            if x >= total:
                last += 1
        while last > 0 and policy[first + last] <= 0.0:  # probabilities may sum to 1 - 1e-16
            last -= 1
        return last
    uniform, on_policy = epsilon / count, 1.0 - epsilon
    for k in range(count - 1):
        total += uniform + on_policy * policy[first + k]
        if x >= total:
            last += 1
    while last > 0 and uniform + on_policy * policy[first + last] <= 0.0:
        last -= 1
    return last


@no_alloc_kernel
def iteration_weight(t, power):
    """Return t ** power[0] / 2 ** power[1]; the divisor keeps large powers in range."""
    exponent, bits = power
    if bits == 0.0:
        return float(t) ** exponent
    return 2.0 ** (exponent * np.log2(max(float(t), 1.0)) - bits)


@no_alloc_kernel
def normalise(total, first, last, policy):
    """Divide the policy of one infoset by its total; set it to uniform if the total is zero."""
    for s in range(first, last):
        policy[s] = policy[s] / total if total > 0.0 else 1.0 / (last - first)


@no_alloc_kernel
def normalise_counts(first, last, count, policy):
    """Set the policy of one infoset to its normalised counts."""
    total = 0.0
    for s in range(first, last):
        policy[s] = count[s]
        total += count[s]
    normalise(total, first, last, policy)


@no_alloc_kernel
def softmax(rate, first, last, value, policy):
    """Set the policy of one infoset to softmax(rate * value)."""
    total, top = 0.0, value[first]
    for s in range(first, last):
        top = max(top, value[s])
    for s in range(first, last):
        policy[s] = np.exp(rate * (value[s] - top))
        total += policy[s]
    normalise(total, first, last, policy)


@no_alloc_kernel
def update_policy(learner, first, last, max_abs_value, regret, policy):
    """Set the policy of one infoset: regret matching, or Hedge if the rate is positive.

    `learner` is (floor, rate): regrets below `floor` are raised to it after the update. Regrets up
    to `ROUNDING_TOLERANCE` of the infoset's largest value count as zero, so that rounding does not
    break ties, as in `sweeps.update_regret_matching`.
    """
    floor, rate = learner
    total = 0.0
    for s in range(first, last):
        policy[s] = max(regret[s], 0.0)
        total += policy[s]
    if rate > 0.0:
        softmax(rate, first, last, regret, policy)
    elif total > ROUNDING_TOLERANCE * max_abs_value[first]:
        for s in range(first, last):
            policy[s] /= total
    else:
        for s in range(first, last):
            policy[s] = 1.0 / (last - first)
            if abs(regret[s]) <= ROUNDING_TOLERANCE * max_abs_value[first]:
                regret[s] = 0.0
    if floor > -np.inf:
        for s in range(first, last):
            regret[s] = max(regret[s], floor)


@no_alloc_kernel
def update_all_policies(learner, offset, max_abs_value, regret, policy):
    """Apply `update_policy` to every infoset."""
    for i in range(offset.size - 1):
        update_policy(learner, offset[i], offset[i + 1], max_abs_value, regret, policy)


@no_alloc_kernel
def draw_bernoulli(probability, rng):
    """Return True with this probability; a probability of 1 consumes no random number."""
    return probability >= 1.0 or draw_uniform(rng) < probability


@no_alloc_kernel
def add_average(first, last, weight, policy, policy_sum):
    """Add `weight` times the policy of one infoset to its `policy_sum`."""
    for s in range(first, last):
        policy_sum[s] += weight * policy[s]
