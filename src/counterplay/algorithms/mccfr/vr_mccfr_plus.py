"""VR-MCCFR+: variance-reduced MCCFR with regret matching+."""

from __future__ import annotations

from counterplay.algorithms.mccfr.engine import MonteCarloCFR, NumWorkers, Traversal
from counterplay.algorithms.mccfr.vr_mccfr import DEFAULT_BASELINE_DECAY, VRMCCFR, check_baseline
from counterplay.core.settings import NonNegative, PositiveProbability, settings


@settings()
class VRMCCFRPlus(MonteCarloCFR):
    """VR-MCCFR+ (Schmid, Burch, Lanctot, Moravcik, Kadlec and Bowling, 2019). At t = 1, 2, ...:

        regret     = max(regret + sampled regret of VR-MCCFR, 0)
        policy_sum = policy_sum + t**gamma / Q * policy       linear averaging: gamma = 1
        policy     = regret_matching(regret)

    This is `vr_mccfr(regret_matching_plus=true, gamma=1)`, which describes the sampled regrets and
    the baselines. Flooring regrets at zero ruins plain outcome sampling, whose regrets are mostly
    noise. With `predictive_baseline` this algorithm is the best of the family on Goofspiel
    (docs/monte_carlo.md).
    """

    epsilon: PositiveProbability = 0.6  # weight of uniform play in the traverser's sampling
    baseline_decay: PositiveProbability = DEFAULT_BASELINE_DECAY  # step size of baselines
    predictive_baseline: bool = False  # use expected values of histories as baselines
    gamma: NonNegative = 1.0  # iteration t has weight t**gamma in the average
    num_workers: NumWorkers = 1  # episodes per player and iteration, in parallel
    regret_matching_plus = True

    def __post_init__(self) -> None:
        check_baseline("vr_mccfr_plus", self.predictive_baseline, self.baseline_decay)

    def traversal(self) -> Traversal:
        algorithm = VRMCCFR(
            epsilon=self.epsilon,
            baseline_decay=self.baseline_decay,
            predictive_baseline=self.predictive_baseline,
            gamma=self.gamma,
        )
        return algorithm.traversal()
