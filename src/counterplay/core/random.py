"""Random numbers by (seed, iteration, stream) in plain Python, bit-identical to the kernels'.

SplitMix64 (Steele, Lea and Flood, 2014); `kernels.sampling.primitives` has the compiled version.
"""

from __future__ import annotations

MASK_64 = (1 << 64) - 1
GOLDEN_GAMMA = 0x9E3779B97F4A7C15  # 2**64 divided by the golden ratio, made odd


def mix(bits: int) -> int:
    """Return the SplitMix64 finaliser of 64 bits."""
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & MASK_64
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & MASK_64
    return bits ^ (bits >> 31)


def seed_stream(seed: int, t: int, stream: int, rng: list[int]) -> None:
    """Set the generator `rng` [1] to the start of a stream of iteration `t`."""
    mixed = mix((seed + GOLDEN_GAMMA * t) & MASK_64)
    rng[0] = mix((mixed + GOLDEN_GAMMA * stream) & MASK_64)


def draw_uniform(rng: list[int]) -> float:
    """Return the next random number in [0, 1), and advance the generator."""
    rng[0] = (rng[0] + GOLDEN_GAMMA) & MASK_64
    return float((mix(rng[0]) >> 11) * 2.0**-53)


def hash_uniform(bits: int, number: int) -> float:
    """Return a random number in [0, 1) that is always the same for these arguments."""
    hashed = mix((mix(bits) + GOLDEN_GAMMA * (number + 1)) & MASK_64)
    return float((hashed >> 11) * 2.0**-53)
