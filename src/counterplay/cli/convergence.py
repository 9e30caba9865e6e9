"""Prediction of when exploitability reaches a target, for the progress bar."""

from __future__ import annotations

import math
import resource
import sys
import time

from counterplay.cli.output import format_bytes, format_seconds


class ConvergenceTracker:
    """Predicts the time left to a target exploitability.

    Exploitability falls about as a power of time. The exponent is fitted to the last measurement
    and to one at half of the measurements so far.
    """

    def __init__(self, target: float):
        self.target, self.start_time = target, time.monotonic()
        self.measurements: list[tuple[float, float]] = []  # seconds, exploitability

    def add(self, exploitability: float) -> None:
        """Add a measurement."""
        self.measurements.append((time.monotonic() - self.start_time, exploitability))

    def seconds_left(self) -> float:
        """Return the seconds until the target at the pace so far; NaN if they are unknown."""
        if len(self.measurements) < 2 or self.target <= 0.0:
            return math.nan
        last_time, last_value = self.measurements[-1]
        early_time, early_value = self.measurements[len(self.measurements) // 2 - 1]
        if last_value <= self.target:
            return 0.0
        if not (0.0 < last_value < early_value and 0.0 < early_time < last_time):
            return math.nan
        exponent = math.log(early_value / last_value) / math.log(last_time / early_time)
        return last_time * ((last_value / self.target) ** (1.0 / exponent) - 1.0)

    def progress_note(self) -> str:
        """Return a text such as `exploitability 1.2, 40 s left, 310 MiB`."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        memory = format_bytes(peak if sys.platform == "darwin" else 1024 * peak)
        if not self.measurements:
            return memory
        left = self.seconds_left()
        time_left = f", {format_seconds(left)} left" if math.isfinite(left) else ""
        return f"exploitability {self.measurements[-1][1]:.3g}{time_left}, {memory}"
