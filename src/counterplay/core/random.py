"""Random numbers by (seed, iteration, stream), in plain Python: the kernels' own, bit for bit.

SplitMix64 (Steele, Lea and Flood, 2014); `kernels/draws.py` is the compiled twin.
"""

from __future__ import annotations

MASK_64 = (1 << 64) - 1


def mix(bits: int) -> int:
    """`draws.mix` without NumPy's fixed-size integers."""
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & MASK_64
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & MASK_64
    return bits ^ (bits >> 31)


def seed_stream(seed: int, t: int, stream: int, rng: list[int]) -> None:
    """`draws.start`: the same draws, bit for bit."""
    golden = 0x9E3779B97F4A7C15
    mixed = mix((seed + golden * t) & MASK_64)
    rng[0] = mix((mixed + golden * stream) & MASK_64)


def draw_uniform(rng: list[int]) -> float:
    """`draws.draw`: the same draws, bit for bit."""
    rng[0] = (rng[0] + 0x9E3779B97F4A7C15) & MASK_64
    return float((mix(rng[0]) >> 11) * 2.0**-53)
