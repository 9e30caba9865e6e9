"""How a run nears its target: exploitability, time left and memory, for the progress bar."""

from __future__ import annotations

import math
import resource
import sys
import time

from counterplay.cli.common import readable_bytes, readable_seconds


class Pace:
    """Exploitability falls about as a power of time: the last two measurements say which."""

    def __init__(self, target: float):
        self.target, self.start = target, time.monotonic()
        self.points: list[tuple[float, float]] = []  # seconds, exploitability

    def add(self, iteration: int, exploitability: float) -> None:
        """Remember a measurement."""
        self.points.append((time.monotonic() - self.start, exploitability))

    def left(self) -> float:
        """Seconds until the target, at the pace so far; NaN if that cannot be told yet."""
        if len(self.points) < 2 or self.target <= 0.0:
            return math.nan
        last, now = self.points[-1]
        before, then = self.points[len(self.points) // 2 - 1]
        if now <= self.target:
            return 0.0
        if not (0.0 < now < then and 0.0 < before < last):
            return math.nan
        power = math.log(then / now) / math.log(last / before)
        return last * ((now / self.target) ** (1.0 / power) - 1.0)

    def note(self) -> str:
        """Such as `1.2 chips, 40 s left, 310 MiB`."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        memory = readable_bytes(peak if sys.platform == "darwin" else 1024 * peak)
        if not self.points:
            return memory
        left = self.left()
        time_left = f", {readable_seconds(left)} left" if math.isfinite(left) else ""
        return f"exploitability {self.points[-1][1]:.3g}{time_left}, {memory}"
