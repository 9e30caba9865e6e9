"""VR-MCCFR+: with little noise left, regrets can be floored at zero."""

from __future__ import annotations

from typing import Any, ClassVar

from counterplay.sampled import SampledGame
from counterplay.settings import settings
from counterplay.tabular import monte_carlo
from counterplay.tabular.monte_carlo import MonteCarlo
from counterplay.tabular.vr_mccfr import VRMCCFR
from counterplay.tree import Tree


@settings()
class VRMCCFRPlus(MonteCarlo):
    """VR-MCCFR+ (Schmid, Burch, Lanctot, Moravcik, Kadlec and Bowling, 2019). At t = 1, 2, ...:

        regret     = max(regret + sampled regret of VR-MCCFR, 0)
        policy_sum = policy_sum + t**gamma / Q * policy       linear averaging: gamma = 1
        policy     = regret_matching(regret)

    This is `vr_mccfr(plus=true, gamma=1)`, which says how regrets and guesses are found. Flooring
    ruins plain outcome sampling, whose regrets are mostly noise; with `expected` guesses it is the
    best of the family on Goofspiel (docs/monte_carlo.md).
    """

    epsilon: float = 0.6  # uniform part of what the traverser samples
    decay: float = monte_carlo.DECAY  # step of the guesses that are decaying averages
    expected: bool = False  # guess expected values of histories instead
    gamma: float = 1.0  # iteration t counts t**gamma times in the average
    workers: int = 1  # walks per player and iteration, each on a core of its own
    plus: ClassVar[bool] = True

    def __post_init__(self) -> None:
        monte_carlo.check("vr_mccfr_plus", self)

    def init(self, tree: Tree | SampledGame, seed: int = 0) -> Any:
        return self._general.init(tree, seed)

    def step(self, tree: Tree | SampledGame, memory: Any, iterations: int = 1) -> Any:
        return self._general.step(tree, memory, iterations)

    @property
    def _general(self) -> VRMCCFR:
        """The algorithm that this one is a choice of parameters of."""
        return VRMCCFR(
            epsilon=self.epsilon,
            decay=self.decay,
            expected=self.expected,
            gamma=self.gamma,
            plus=True,
            workers=self.workers,
        )
