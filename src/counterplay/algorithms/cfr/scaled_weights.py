"""Weights t**gamma for averages, whatever gamma: they would overflow, so bits are taken out.

A weight is kept as t**gamma / 2**bits, where `bits`, a multiple of `STEP`, depends on t alone. When
that changes, the sum so far fades by as much. So a run is the same however it is cut into steps,
and weights below 2**512 are what they always were.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from counterplay.core.arena import Floats

SCALE_STEP_BITS = 512.0


def scale_bits(t: Any, gamma: float) -> Any:
    """How many bits are taken out of the weight of iteration t, or of iterations t."""
    return SCALE_STEP_BITS * np.floor(
        np.maximum(gamma, 0.0) * np.log2(np.maximum(t, 1.0)) / SCALE_STEP_BITS
    )


def iteration_weight(t: Floats, gamma: float, num_bits: Any) -> Floats:
    """t**gamma / 2**taken."""
    if not np.any(num_bits):
        return t**gamma
    with np.errstate(over="ignore"):
        found = np.exp2(gamma * np.log2(np.maximum(t, 1.0)) - num_bits)
        return np.where(num_bits == 0.0, t**gamma, found)


def iter_restarting_weights(
    memory: Any, count: int, gamma: float, base: int
) -> Iterator[tuple[Floats, Floats]]:
    """The next iterations t with weights (t - base**k)**gamma [T, 1], k the largest with t above.

    The sums are forgotten where k changes.
    """
    end = memory.iteration + count
    while memory.iteration < end:
        power = 0
        while memory.iteration >= max(base * power, 1):
            power = max(base * power, 1)
        if memory.iteration == power:
            memory.scale_averages(0.0)
        last = min(max(base * power, 1), end)
        t = np.arange(memory.iteration + 1.0, last + 1.0)
        yield t, ((t - power) ** gamma)[:, None]


def iter_weights(
    memory: Any, count: int, gamma: float, _: int = 0
) -> Iterator[tuple[Floats, Floats]]:
    """The next iterations t with their weights [T, 1]; in between, the averages so far fade."""
    for steps, (taken,), (factor,) in _iter_segments(memory.iteration, count, (gamma,)):
        if factor != 1.0:
            memory.scale_averages(factor)
        t = np.arange(memory.iteration + 1.0, memory.iteration + 1.0 + steps)
        yield t, iteration_weight(t, gamma, taken)[:, None]


def iter_powers(memory: Any, count: int, power: Any) -> Iterator[tuple[int, Any]]:
    """The next iterations, so many at a time, with the power as `draws.raised` takes it.

    In between, what was summed so far fades. Of two powers, the first is of the regrets.
    """
    exponents = power if isinstance(power, tuple) else (0.0, power)
    for steps, taken, (regret, average) in _iter_segments(memory.iteration, count, exponents):
        _multiply(regret, memory.regret, memory.max_abs_value)
        _multiply(average, memory.policy_sum)
        both = tuple(zip(exponents, taken, strict=True))
        yield steps, both if isinstance(power, tuple) else both[1]


def _multiply(factor: float, *tables: Any) -> None:
    """Multiply tables in place."""
    for table in tables:
        if factor != 1.0:
            np.multiply(table, factor, out=np.asarray(table))


def _iter_segments(
    iteration: int, count: int, exponents: tuple[float, ...]
) -> Iterator[tuple[int, tuple[float, ...], tuple[float, ...]]]:
    """The `count` iterations after `iteration`, cut where a weight changes its bits.

    Each is so many iterations, the bits taken out for each exponent, and what sums fade by before.
    """
    end = iteration + count
    if count and max(exponents) * math.log2(end) < SCALE_STEP_BITS - 1.0:  # as nearly always
        yield count, (0.0,) * len(exponents), (1.0,) * len(exponents)
        return
    while iteration < end:
        before, now = (_scale_bits(t, exponents) for t in (iteration, iteration + 1))
        same = end - iteration
        if _bits_differ(now, exponents, end):
            later = range(iteration + 1, end + 1)
            same = bisect_left(later, True, key=partial(_bits_differ, now, exponents))
        yield same, now, tuple(2.0 ** (b - n) for b, n in zip(before, now, strict=True))
        iteration += same


def _scale_bits(t: int, exponents: tuple[float, ...]) -> tuple[float, ...]:
    size = math.log2(max(t, 1))
    return tuple(
        float(scale_bits(t, g)) if g * size >= SCALE_STEP_BITS - 1.0 else 0.0 for g in exponents
    )


def _bits_differ(now: tuple[float, ...], exponents: tuple[float, ...], t: int) -> bool:
    return _scale_bits(t, exponents) != now
