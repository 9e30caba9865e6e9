"""How a run nears its target: exploitability, time left and memory, for the progress bar."""

from __future__ import annotations

import math
import resource
import sys
import time

from counterplay.cli.common import format_bytes, format_seconds


class ConvergenceTracker:
    """Exploitability falls about as a power of time: the last two measurements say which."""

    def __init__(self, target: float):
        self.target, self.start_time = target, time.monotonic()
        self.measurements: list[tuple[float, float]] = []  # seconds, exploitability

    def add(self, iteration: int, exploitability: float) -> None:
        """Remember a measurement."""
        self.measurements.append((time.monotonic() - self.start_time, exploitability))

    def seconds_left(self) -> float:
        """Seconds until the target, at the pace so far; NaN if that cannot be told yet."""
        if len(self.measurements) < 2 or self.target <= 0.0:
            return math.nan
        last, now = self.measurements[-1]
        before, then = self.measurements[len(self.measurements) // 2 - 1]
        if now <= self.target:
            return 0.0
        if not (0.0 < now < then and 0.0 < before < last):
            return math.nan
        power = math.log(then / now) / math.log(last / before)
        return last * ((now / self.target) ** (1.0 / power) - 1.0)

    def progress_note(self) -> str:
        """Such as `1.2 chips, 40 s left, 310 MiB`."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        memory = format_bytes(peak if sys.platform == "darwin" else 1024 * peak)
        if not self.measurements:
            return memory
        left = self.seconds_left()
        time_left = f", {format_seconds(left)} left" if math.isfinite(left) else ""
        return f"exploitability {self.measurements[-1][1]:.3g}{time_left}, {memory}"
