"""Schedules that span a whole run: learning rates, temperatures, exploration, magnets."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Self

from counterplay.core.settings import NonNegativeInt, settings


@settings(kw_only=True)
class ScheduleConfig:
    """The length of the schedules of an algorithm.

    `solve` and runs set `schedule_iterations` to the number of iterations they are given, unless
    the user has set it. Stepped by hand, an algorithm assumes `default_iterations`, the number that
    `solve` takes if it is given none.
    """

    schedule_iterations: NonNegativeInt = 0  # length of the schedules; 0: the length of the run

    default_iterations: ClassVar[int] = 10_000

    @property
    def num_schedule_iterations(self) -> int:
        """The length of the schedules in iterations."""
        return self.schedule_iterations or self.default_iterations

    def with_schedule(self, iterations: int) -> Self:
        """Return the algorithm with schedules of this length, unless it has a length already."""
        return self if self.schedule_iterations else replace(self, schedule_iterations=iterations)
