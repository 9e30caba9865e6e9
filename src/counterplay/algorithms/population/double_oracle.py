"""The double oracle algorithm."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from counterplay.algorithms.population.meta_solvers import nash
from counterplay.algorithms.population.oracles import ExactResponse
from counterplay.algorithms.population.population import Population, check_zero_sum, new_population
from counterplay.algorithms.population.psro_loop import (
    MixturePolicies,
    check_common_fields,
    compute_responses,
    iterate,
)
from counterplay.core.arena import SequenceArena
from counterplay.core.settings import settings


@settings()
class DoubleOracle(MixturePolicies):
    """The double oracle (McMahan, Gordon and Blum, 2003). At t = 2, 3, ..., for both players:

        mixtures = an equilibrium of the matrix between the pools, by linear programming
        pool_i   = pool_i and a best response to the other's mixture

    It ends at an exact equilibrium of a two-player zero-sum game, after at most as many iterations
    as there are pure policies; exploitability may rise on the way. Where the matrix has several
    equilibria, which of them is taken changes the way, not the end.
    """

    initial_policy: str = (
        "first"  # the first policies: first, uniform, random, or response to uniform play
    )
    tolerance: float = 1e-9  # gains up to this part of the largest utility are none
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)
    required_extra: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check_common_fields("double_oracle", self)

    def init(self, arena: SequenceArena, seed: int = 0) -> Population:
        check_zero_sum("double_oracle", arena)
        return new_population(arena, seed)

    def step(self, arena: SequenceArena, memory: Population, iterations: int = 1) -> Population:
        respond = partial(compute_responses, oracle=ExactResponse())
        return iterate(
            arena, memory, iterations, self.initial_policy, self.tolerance, respond, nash
        )
