"""Self-Play PSRO: the pools also get a mixed policy that plays the best opponent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from counterplay.arena import SequenceArena
from counterplay.population.anytime_psro import Opposed, check_opposed, opposed
from counterplay.population.learned import check_arena
from counterplay.population.loop import Mixing
from counterplay.population.pools import check_zero_sum, new_population


@dataclass(frozen=True)
class SPPSRO(Mixing):
    """Self-Play PSRO (McAleer et al., 2022), in the limit of exact play. At t = 2, 3, ...:

        mixture_i, opponent_i = both sides of the game in which player i mixes its pool and the
                                other plays anything, by linear programming
        pool_j = pool_j, a new pure policy of opponent_i, and opponent_i itself

    as `anytime_psro`, but opponent_i joins as one mixed policy too, which the paper learns as the
    time average of a policy that responds to the responder. Exploitability never rises.

    With a learned oracle, such as `dqn`, a learner takes the other's place: see `learned.race`.
    Exploitability may rise then, by what it misses, and nothing ends by itself.
    """

    start: str = "first"  # the first policies: first, uniform, random, or response to uniform play
    tolerance: float = 1e-9  # gains up to this part of the largest utility are none
    oracle: str = "exact"  # or a learner: dqn, ppo or sac
    training: int = 20_000  # episodes of a learner, an iteration
    turns: int = 8  # of mixture and learners, an iteration
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)
    needs: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check_opposed("sp_psro", self)

    def init(self, arena: SequenceArena, seed: int = 0) -> Opposed:
        check_zero_sum("sp_psro", arena)
        check_arena("sp_psro", self.oracle, arena)
        return new_population(arena, seed, Opposed)

    def step(self, arena: SequenceArena, memory: Opposed, iterations: int = 1) -> Opposed:
        return opposed(self, arena, memory, iterations, alone=False)
