"""Policy-space response oracles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from counterplay.arena import SequenceArena
from counterplay.population.loop import Mixing, best_responses, check_common, iterate
from counterplay.population.meta_solvers import SEPARATE, check_solver
from counterplay.population.oracles import ExactResponse
from counterplay.population.pools import Population, check_zero_sum, new_population


@dataclass(frozen=True)
class PSRO(Mixing):
    """PSRO (Lanctot et al., 2017), with exact responses. At t = 2, 3, ..., for all players:

        response_i = a best response to the others' mixtures of t - 1
        pool_i     = pool_i and response_i
        mixtures   = meta_solver(payoffs between the pools)

    With the meta-solver `nash` this is the double oracle; `uniform` makes it fictitious play,
    `last` iterated best responses, which may cycle. Exploitability may rise on the way. It ends
    when no player gains, or when all responses are in the pools and nothing would change.
    """

    meta_solver: str = "nash"
    start: str = "first"  # the first policies: first, uniform, random, or response to uniform play
    tolerance: float = 1e-9  # gains up to this part of the largest utility are none
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)
    needs: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check_solver("psro", self.meta_solver, SEPARATE)
        check_common("psro", self)

    def init(self, arena: SequenceArena, seed: int = 0) -> Population:
        if self.meta_solver == "nash":
            check_zero_sum("the meta-solver nash", arena)
        return new_population(arena, seed)

    def step(self, arena: SequenceArena, memory: Population, iterations: int = 1) -> Population:
        respond = partial(best_responses, oracle=ExactResponse())
        solve = SEPARATE[self.meta_solver]
        return iterate(arena, memory, iterations, self.start, self.tolerance, respond, solve)
