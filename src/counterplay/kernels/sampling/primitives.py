"""What all sampled walks share: reproducible draws, and how an infoset learns."""

from __future__ import annotations

import numpy as np
from numpy import uint64

from counterplay.kernels.runtime.jit import no_alloc_kernel

GOLDEN_GAMMA, MIX_MULTIPLIER_1, MIX_MULTIPLIER_2 = (
    uint64(0x9E3779B97F4A7C15),
    uint64(0xBF58476D1CE4E5B9),
    uint64(0x94D049BB133111EB),
)
ROUNDING_TOLERANCE = (
    16.0 * 2.0**-52
)  # of the largest value met: up to here a regret is a rounding error
B11, B27, B30, B31 = uint64(11), uint64(27), uint64(30), uint64(31)


@no_alloc_kernel
def mix(bits):
    """The bits scrambled: the output function of SplitMix64 (Steele, Lea and Flood, 2014)."""
    bits = (bits ^ (bits >> B30)) * MIX_MULTIPLIER_1
    bits = (bits ^ (bits >> B27)) * MIX_MULTIPLIER_2
    return bits ^ (bits >> B31)


@no_alloc_kernel
def seed_stream(seed, t, stream, rng):
    """Let the coming draws depend on nothing but the seed, the iteration and the stream."""
    rng[0] = mix(mix(uint64(seed) + GOLDEN_GAMMA * uint64(t)) + GOLDEN_GAMMA * uint64(stream))


@no_alloc_kernel
def draw_uniform(rng):
    """A number from 0 up to, not including, 1."""
    rng[0] += GOLDEN_GAMMA
    return (mix(rng[0]) >> B11) * 2.0**-53


@no_alloc_kernel
def sample_action(policy, first, count, epsilon, rng):
    """Which action is drawn from the policy mixed with `epsilon` of uniform play."""
    return invert_cdf(policy, first, count, epsilon, draw_uniform(rng))


@no_alloc_kernel
def invert_cdf(policy, first, count, epsilon, x):
    """Which action the number `x`, from 0 to 1, falls on; each has as much room as it is likely."""
    last, total = 0, 0.0
    if epsilon == 0.0:  # as nearly always, and known where the kernel is copied to
        for k in range(count - 1):  # to the end: a branch that cannot be predicted costs more
            total += policy[first + k]
            if x >= total:
                last += 1
        while last > 0 and policy[first + last] <= 0.0:  # probabilities sum to 1 - 1e-16
            last -= 1
        return last
    share, keep = epsilon / count, 1.0 - epsilon
    for k in range(count - 1):
        total += share + keep * policy[first + k]
        if x >= total:
            last += 1
    while last > 0 and share + keep * policy[first + last] <= 0.0:
        last -= 1
    return last


@no_alloc_kernel
def iteration_weight(t, power):
    """t ** power[0] / 2 ** power[1]: of large powers, what is left when some bits are taken out."""
    exponent, bits = power
    if bits == 0.0:
        return float(t) ** exponent
    return 2.0 ** (exponent * np.log2(max(float(t), 1.0)) - bits)


@no_alloc_kernel
def normalise(total, first, last, policy):
    """Divide the policy of one infoset by its total; uniform where that is zero."""
    for s in range(first, last):
        policy[s] = policy[s] / total if total > 0.0 else 1.0 / (last - first)


@no_alloc_kernel
def normalise_counts(first, last, count, policy):
    """Set the policy of one infoset to its counts, scaled."""
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
    """Set the policy of one infoset: regret matching on regrets above `floor`, or Hedge.

    Actions that are tied stay so: as in `sweeps.match`, their last bit is no reason.
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
    """Let every infoset learn."""
    for i in range(offset.size - 1):
        update_policy(learner, offset[i], offset[i + 1], max_abs_value, regret, policy)


@no_alloc_kernel
def draw_bernoulli(probability, rng):
    """Whether something happens that has this probability; certain things cost no draw."""
    return probability >= 1.0 or draw_uniform(rng) < probability


@no_alloc_kernel
def add_average(first, last, weight, policy, policy_sum):
    """Count the policy of one infoset `weight` times in its average."""
    for s in range(first, last):
        policy_sum[s] += weight * policy[s]
