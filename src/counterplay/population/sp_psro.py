"""Self-Play PSRO: the pools also get a mixed policy that plays the best opponent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from counterplay.arena import SequenceArena
from counterplay.population.anytime_psro import Opposed, advance
from counterplay.population.loop import Mixing, check_common
from counterplay.population.pools import check_zero_sum, new_population


@dataclass(frozen=True)
class SPPSRO(Mixing):
    """Self-Play PSRO (McAleer et al., 2022), in the limit of exact play. At t = 2, 3, ...:

        mixture_i, opponent_i = both sides of the game in which player i mixes its pool and the
                                other plays anything, by linear programming
        pool_j = pool_j, a new pure policy of opponent_i, and opponent_i itself

    as `anytime_psro`, but opponent_i joins as one mixed policy too, which the paper learns as the
    time average of a policy that responds to the responder. Exploitability never rises.
    """

    start: str = "first"  # the first policies: first, uniform, random, or response to uniform play
    tolerance: float = 1e-9  # gains up to this part of the largest utility are none
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)
    needs: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check_common("sp_psro", self)

    def init(self, arena: SequenceArena, seed: int = 0) -> Opposed:
        check_zero_sum("sp_psro", arena)
        return new_population(arena, seed, Opposed)

    def step(self, arena: SequenceArena, memory: Opposed, iterations: int = 1) -> Opposed:
        for _ in range(iterations):
            memory.iteration += 1
            if not memory.finished:
                advance(arena, memory, self.start, self.tolerance, alone=False)
        return memory
