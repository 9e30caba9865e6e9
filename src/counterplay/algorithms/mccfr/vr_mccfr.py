"""VR-MCCFR: outcome sampling with baselines that take out noise."""

from __future__ import annotations

from typing import Any

from counterplay.algorithms.mccfr import engine
from counterplay.algorithms.mccfr.engine import MonteCarloCFR
from counterplay.arenas.rules import RulesArena
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.settings import settings
from counterplay.kernels.sampling import baselines


@settings()
class VRMCCFR(MonteCarloCFR):
    """Variance-reduced MCCFR (Schmid, Burch, Lanctot, Moravcik, Kadlec and Bowling, 2019). At t:

        one episode for each player in turn, which explores with epsilon of uniform play
        v(a)       = guess(a), plus (u - guess(a)) / q(a) for the action taken with probability q(a)
        regret     = regret + t**alpha * (v(a) - sum over b of policy(b) * v(b)) / Q
        guess(a)   = guess(a) + decay * (u - guess(a)) for the action taken
        policy     = regret_matching(regret), after the walk

    at every node, chance's and the others' too, u being the sum above for the node below (recursive
    bootstrapping) and Q as in outcome sampling. Any guess is right on average. Guesses are kept for
    every augmented infoset of the traverser and action. With `expected` they are kept for every
    history instead, and set to what the new policy expects of its children (the predictive baseline
    of Davis, Schmid and Bowling, 2020), with terminals known from the start.

    Two players' averages count t**gamma / Q at the others' nodes, which varies less than the
    weights of outcome sampling; with more players those are used.
    """

    epsilon: float = 0.6  # uniform part of what the traverser samples
    baseline_decay: float = (
        engine.DEFAULT_BASELINE_DECAY
    )  # step of the guesses that are decaying averages
    predictive_baseline: bool = False  # guess expected values of histories instead
    alpha: float = 0.0  # iteration t counts t**alpha times in the regrets
    gamma: float = 0.0  # and t**gamma times in the average
    regret_matching_plus: bool = False  # keep regrets at zero or above: regret matching+
    hedge_eta: float = 0.0  # if positive, Hedge at this rate instead of regret matching
    num_workers: int = 1  # walks per player and iteration, each on a core of its own

    def __post_init__(self) -> None:
        engine.check_parameters("vr_mccfr", self)

    def init(self, arena: TreeArena | RulesArena, seed: int = 0) -> Any:
        return engine.new_memory(arena, seed, self.num_workers, baseline_kind=self._baseline_kind)

    def step(self, arena: TreeArena | RulesArena, memory: Any, iterations: int = 1) -> Any:
        kernel = (
            baselines.predictive_baseline_sampling
            if self.predictive_baseline
            else baselines.decaying_baseline_sampling
        )
        powers = float(self.alpha), float(self.gamma)
        scheme = float(self.epsilon), float(self.baseline_decay)
        return engine.iterate(
            self,
            arena,
            memory,
            iterations,
            kernel,
            powers,
            scheme,
            baseline_kind=self._baseline_kind,
        )

    @property
    def _baseline_kind(self) -> str:
        """What a guess is kept for: every history, or every augmented infoset."""
        return "history" if self.predictive_baseline else "augmented"
