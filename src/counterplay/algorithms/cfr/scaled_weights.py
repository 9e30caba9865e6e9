"""Weights t**gamma of iterations, scaled by powers of two so that no gamma overflows.

The weight of iteration t is stored as t**gamma / 2**b, where the scale b, a multiple of
`SCALE_STEP_BITS`, depends on t alone. When b changes, the sums so far are divided by the same power
of two. So a run has the same bits however it is split into steps, and weights below 2**512 are
stored unscaled.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from functools import partial
from typing import Any, Protocol

import numpy as np

from counterplay.algorithms.cfr.engine import next_iterations
from counterplay.core.arena import Floats
from counterplay.core.solve import Memory

SCALE_STEP_BITS = 512.0
Power = float | tuple[float, float]  # gamma of the average, or (alpha of regrets, gamma)


class AveragingMemory(Memory, Protocol):
    """A memory that accumulates weighted sums of policies."""

    def scale_averages(self, factor: float) -> None:
        """Multiply the sums of policies by a factor."""
        ...


def scale_bits(t: Floats | float, gamma: float) -> Any:
    """Return the scale b of the weight of iteration t; of the shape of t."""
    return SCALE_STEP_BITS * np.floor(
        np.maximum(gamma, 0.0) * np.log2(np.maximum(t, 1.0)) / SCALE_STEP_BITS
    )


def iteration_weight(t: Floats, gamma: float, num_bits: Any) -> Floats:
    """Return t**gamma / 2**num_bits."""
    if not np.any(num_bits):
        return t**gamma
    with np.errstate(over="ignore"):
        scaled = np.exp2(gamma * np.log2(np.maximum(t, 1.0)) - num_bits)
        return np.where(num_bits == 0.0, t**gamma, scaled)


def iter_weights(
    memory: AveragingMemory, count: int, gamma: float
) -> Iterator[tuple[Floats, Floats]]:
    """Yield segments of the next `count` iterations: t [T] and their weights t**gamma [T, 1].

    The sums of the memory are rescaled before a segment whose weights have another scale. The
    caller runs the iterations of a segment before it takes the next.
    """
    for steps, (num_bits,), (factor,) in _iter_segments(memory.iteration, count, (gamma,)):
        if factor != 1.0:
            memory.scale_averages(factor)
        t = next_iterations(memory, steps)
        yield t, iteration_weight(t, gamma, num_bits)[:, None]


def iter_restarting_weights(
    memory: AveragingMemory, count: int, gamma: float, base: int
) -> Iterator[tuple[Floats, Floats]]:
    """Yield segments of the next `count` iterations: t [T] and weights (t - base**k)**gamma [T, 1].

    k is the largest exponent with base**k < t; where it changes, the sums are set to zero.
    """
    end = memory.iteration + count
    while memory.iteration < end:
        power = 0
        while memory.iteration >= max(base * power, 1):
            power = max(base * power, 1)
        if memory.iteration == power:
            memory.scale_averages(0.0)
        last = min(max(base * power, 1), end)
        t = next_iterations(memory, last - memory.iteration)
        yield t, ((t - power) ** gamma)[:, None]


def iter_powers(memory: Any, count: int, power: Power) -> Iterator[tuple[int, Any]]:
    """Yield segments of the next `count` iterations for the sampling kernels.

    The tables of the memory are rescaled before a segment whose weights have another scale.

    Args:
        memory: a Monte Carlo memory with tables `regret`, `max_abs_value` and `policy_sum`.
        count: number of iterations.
        power: gamma of the average, or (alpha of the regrets, gamma of the average).

    Yields:
        The number of iterations of a segment, and (exponent, num_bits) of the average, or a pair of
        these for regrets and average, as `kernels.sampling.primitives.iteration_weight` takes them.
    """
    exponents = power if isinstance(power, tuple) else (0.0, power)
    for steps, num_bits, factors in _iter_segments(memory.iteration, count, exponents):
        _multiply(factors[0], memory.regret, memory.max_abs_value)
        _multiply(factors[1], memory.policy_sum)
        scaled_powers = tuple(zip(exponents, num_bits, strict=True))
        yield steps, scaled_powers if isinstance(power, tuple) else scaled_powers[1]


def _multiply(factor: float, *tables: Any) -> None:
    """Multiply tables in place."""
    for table in tables:
        if factor != 1.0:
            np.multiply(table, factor, out=np.asarray(table))


def _iter_segments(
    iteration: int, count: int, exponents: tuple[float, ...]
) -> Iterator[tuple[int, tuple[float, ...], tuple[float, ...]]]:
    """Yield the `count` iterations after `iteration`, split where the scale of a weight changes.

    A segment is a number of iterations, the scale of each exponent's weights, and for each exponent
    the factor by which sums are multiplied before the segment.
    """
    end = iteration + count
    if count and max(exponents) * math.log2(end) < SCALE_STEP_BITS - 1.0:  # the common case
        yield count, (0.0,) * len(exponents), (1.0,) * len(exponents)
        return
    while iteration < end:
        old_bits, bits = (_scale_bits(t, exponents) for t in (iteration, iteration + 1))
        steps = end - iteration
        if _bits_differ(bits, exponents, end):
            later = range(iteration + 1, end + 1)
            steps = bisect_left(later, True, key=partial(_bits_differ, bits, exponents))
        yield steps, bits, tuple(2.0 ** (a - b) for a, b in zip(old_bits, bits, strict=True))
        iteration += steps


def _scale_bits(t: int, exponents: tuple[float, ...]) -> tuple[float, ...]:
    size = math.log2(max(t, 1))
    return tuple(
        float(scale_bits(t, g)) if g * size >= SCALE_STEP_BITS - 1.0 else 0.0 for g in exponents
    )


def _bits_differ(bits: tuple[float, ...], exponents: tuple[float, ...], t: int) -> bool:
    return _scale_bits(t, exponents) != bits
