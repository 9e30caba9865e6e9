"""VR-MCCFR: outcome sampling with baselines that take out noise."""

from __future__ import annotations

from typing import Any

from counterplay.kernels import baselines
from counterplay.sampled import SampledGame
from counterplay.settings import settings
from counterplay.tabular import monte_carlo
from counterplay.tabular.monte_carlo import MonteCarlo
from counterplay.tree import Tree


@settings()
class VRMCCFR(MonteCarlo):
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
    decay: float = monte_carlo.DECAY  # step of the guesses that are decaying averages
    expected: bool = False  # guess expected values of histories instead
    alpha: float = 0.0  # iteration t counts t**alpha times in the regrets
    gamma: float = 0.0  # and t**gamma times in the average
    plus: bool = False  # keep regrets at zero or above: regret matching+
    eta: float = 0.0  # if positive, Hedge at this rate instead of regret matching
    workers: int = 1  # walks per player and iteration, each on a core of its own

    def __post_init__(self) -> None:
        monte_carlo.check("vr_mccfr", self)

    def init(self, tree: Tree | SampledGame, seed: int = 0) -> Any:
        return monte_carlo.new_memory(tree, seed, self.workers, guesses=self._guesses)

    def step(self, tree: Tree | SampledGame, memory: Any, iterations: int = 1) -> Any:
        kernel = baselines.expected_baseline if self.expected else baselines.learned_baseline
        powers = float(self.alpha), float(self.gamma)
        scheme = float(self.epsilon), float(self.decay)
        return monte_carlo.iterate(
            self, tree, memory, iterations, kernel, powers, scheme, guesses=self._guesses
        )

    @property
    def _guesses(self) -> str:
        """What a guess is kept for: every history, or every augmented infoset."""
        return "history" if self.expected else "augmented"
