"""VR-MCCFR: outcome sampling with baselines that reduce variance."""

from __future__ import annotations

from counterplay.algorithms.mccfr.engine import MonteCarloCFR, NumWorkers, Traversal
from counterplay.core.settings import NonNegative, PositiveProbability, settings
from counterplay.errors import ConfigError
from counterplay.kernels.sampling import baselines

DEFAULT_BASELINE_DECAY = 0.5


@settings()
class VRMCCFR(MonteCarloCFR):
    """Variance-reduced MCCFR (Schmid, Burch, Lanctot, Moravcik, Kadlec and Bowling, 2019). At t:

        one episode for each player in turn, which explores with epsilon of uniform play
        v(a)       = base(a), plus (u - base(a)) / q(a) for the action taken with probability q(a)
        regret     = regret + t**alpha * (v(a) - sum over b of policy(b) * v(b)) / Q
        base(a)    = base(a) + baseline_decay * (u - base(a)) for the action taken
        policy     = regret_matching(regret), after the episode

    at every node, including those of chance and of the other players. u is the sum over b of
    policy(b) * v(b) at the node below (recursive bootstrapping), and Q is as in outcome sampling.
    Estimates are unbiased for any baseline. There is one baseline for every augmented infoset of
    the traverser and action. With `predictive_baseline` there is one for every history instead, set
    to the expected value of its children under the new policy (Davis, Schmid and Bowling, 2020);
    those of terminals are their utilities.

    With two players, averages have weight t**gamma / Q at the others' nodes, which varies less than
    the weights of outcome sampling; with more players the latter are used.
    """

    epsilon: PositiveProbability = 0.6  # weight of uniform play in the traverser's sampling
    baseline_decay: PositiveProbability = DEFAULT_BASELINE_DECAY  # step size of baselines
    predictive_baseline: bool = False  # use expected values of histories as baselines
    alpha: NonNegative = 0.0  # iteration t has weight t**alpha in the regrets
    gamma: NonNegative = 0.0  # iteration t has weight t**gamma in the average
    regret_matching_plus: bool = False  # keep regrets at zero or above
    hedge_eta: NonNegative = 0.0  # if positive, Hedge at this rate instead of regret matching
    num_workers: NumWorkers = 1  # episodes per player and iteration, in parallel

    def __post_init__(self) -> None:
        super().__post_init__()
        check_baseline("vr_mccfr", self.predictive_baseline, self.baseline_decay)

    def traversal(self) -> Traversal:
        powers = float(self.alpha), float(self.gamma)
        scheme = float(self.epsilon), float(self.baseline_decay)
        if self.predictive_baseline:
            kernel, baseline_kind = baselines.predictive_baseline_sampling, "history"
        else:
            kernel, baseline_kind = baselines.decaying_baseline_sampling, "augmented"
        return Traversal(kernel, powers, (scheme,), baseline_kind=baseline_kind)


def check_baseline(algorithm: str, predictive_baseline: bool, baseline_decay: float) -> None:
    """Raise ConfigError if a decay is given for predictive baselines, which have none."""
    if predictive_baseline and baseline_decay != DEFAULT_BASELINE_DECAY:
        raise ConfigError(
            f"{algorithm}: baseline_decay is for decaying baselines; with predictive_baseline "
            "leave it out"
        )
