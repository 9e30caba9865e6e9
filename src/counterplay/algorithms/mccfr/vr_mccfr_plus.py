"""VR-MCCFR+: with little noise left, regrets can be floored at zero."""

from __future__ import annotations

from typing import Any, ClassVar

from counterplay.algorithms.mccfr import engine
from counterplay.algorithms.mccfr.engine import MonteCarloCFR
from counterplay.algorithms.mccfr.vr_mccfr import VRMCCFR
from counterplay.arenas.rules import RulesArena
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.settings import settings


@settings()
class VRMCCFRPlus(MonteCarloCFR):
    """VR-MCCFR+ (Schmid, Burch, Lanctot, Moravcik, Kadlec and Bowling, 2019). At t = 1, 2, ...:

        regret     = max(regret + sampled regret of VR-MCCFR, 0)
        policy_sum = policy_sum + t**gamma / Q * policy       linear averaging: gamma = 1
        policy     = regret_matching(regret)

    This is `vr_mccfr(regret_matching_plus=true, gamma=1)`, which says how regrets and guesses are found. Flooring
    ruins plain outcome sampling, whose regrets are mostly noise; with `expected` guesses it is the
    best of the family on Goofspiel (docs/monte_carlo.md).
    """

    epsilon: float = 0.6  # uniform part of what the traverser samples
    baseline_decay: float = (
        engine.DEFAULT_BASELINE_DECAY
    )  # step of the guesses that are decaying averages
    predictive_baseline: bool = False  # guess expected values of histories instead
    gamma: float = 1.0  # iteration t counts t**gamma times in the average
    num_workers: int = 1  # walks per player and iteration, each on a core of its own
    regret_matching_plus: ClassVar[bool] = True

    def __post_init__(self) -> None:
        engine.check_parameters("vr_mccfr_plus", self)

    def init(self, arena: TreeArena | RulesArena, seed: int = 0) -> Any:
        return self._base_algorithm.init(arena, seed)

    def step(self, arena: TreeArena | RulesArena, memory: Any, iterations: int = 1) -> Any:
        return self._base_algorithm.step(arena, memory, iterations)

    @property
    def _base_algorithm(self) -> VRMCCFR:
        """The algorithm that this one is a choice of parameters of."""
        return VRMCCFR(
            epsilon=self.epsilon,
            baseline_decay=self.baseline_decay,
            predictive_baseline=self.predictive_baseline,
            gamma=self.gamma,
            regret_matching_plus=True,
            num_workers=self.num_workers,
        )
