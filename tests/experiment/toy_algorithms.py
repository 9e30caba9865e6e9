"""Algorithms that do not learn but fail in different ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from counterplay.core.policy import uniform_policy
from counterplay.errors import ConfigError


class Pair(NamedTuple):
    mean: Any
    count: int


@dataclass
class ToyMemory:
    iteration: int
    weights: dict[str, Any]
    trail: list[Any]
    other: Pair
    nothing: None = None
    flag: bool = False
    finished: ClassVar[bool] = False


@dataclass(frozen=True)
class Toy:
    """Adds noise; at step `break_at` it fails as `how` says."""

    break_at: int = 0
    how: str = "nan"
    toy_hidden_sizes: tuple[int, ...] = (3, 2)
    rate: float = 0.5

    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    required_extra: ClassVar[str] = ""
    monitored_paths: ClassVar[tuple[str, ...]] = ("weights",)

    def __post_init__(self):
        if self.rate <= 0.0:
            raise ConfigError(f"toy: rate is {self.rate}, must be positive")
        if min(self.toy_hidden_sizes) < 1:
            raise ConfigError(f"toy: toy_hidden_sizes is {self.toy_hidden_sizes}, must be positive")

    def init(self, tree, seed=0):
        rng = np.random.default_rng(seed)
        weights = {"first": rng.normal(size=self.toy_hidden_sizes), "empty": np.zeros((0, 2))}
        trail = [np.arange(3, dtype=np.int8), (np.float32([1.5]), True)]
        return ToyMemory(0, weights, trail, Pair(np.zeros(2), 0))

    def step(self, tree, memory, iterations=1):
        for _ in range(iterations):
            memory.iteration += 1
            rng = np.random.default_rng(memory.iteration)
            memory.weights["first"] = memory.weights["first"] + rng.normal(
                size=self.toy_hidden_sizes
            )
            memory.other = Pair(memory.other.mean + 0.1, memory.other.count + 1)
            if memory.iteration == self.break_at:
                self._break(memory)
        return memory

    def _break(self, memory):
        if self.how == "nan":
            memory.weights["first"][0, 0] = np.nan
        elif self.how == "runaway":
            memory.weights["first"][0, 0] = -2e6
        elif self.how == "large elsewhere":
            memory.other = Pair(np.full(2, 1e9), 0)
        elif self.how == "shape":
            memory.trail[0] = np.arange(4, dtype=np.int8)

    def policies(self, tree, memory):
        return {"uniform": uniform_policy(tree), "same": uniform_policy(tree)}


@dataclass(frozen=True)
class NoPolicy(Toy):
    """Has a finite memory, and yet no policy."""

    def policies(self, tree, memory):
        raise ConfigError("not a probability distribution")
