"""Average strategy sampling: between external and outcome sampling."""

from __future__ import annotations

from math import inf
from typing import Annotated

from annotated_types import Ge, Lt

from counterplay.algorithms.mccfr.engine import MonteCarloCFR, NumWorkers, Traversal
from counterplay.core.settings import NonNegative, PositiveProbability, settings
from counterplay.kernels.sampling import traversals


@settings()
class AverageStrategySampling(MonteCarloCFR):
    """Average strategy sampling (Gibson, Burch, Lanctot and Szafron, 2012). At t = 1, 2, ...:

        one traversal for each player in turn, which tries each of its actions with probability
        rho(a)     = max(epsilon, (beta + tau * policy_sum(a)) / (beta + sum of policy_sum)), or 1
        v(a)       = u(a) / rho(a) if tried, else 0;    q = product of all rho on the way
        regret     = regret + (v(a) - sum over b of policy(b) * v(b)) / q     at its own nodes
        policy_sum = policy_sum + t**gamma * policy / q                       at the others' nodes
        policy     = regret_matching(regret), after the traversal

    The paper divides by q at the terminal instead, which is equivalent. Epsilon and tau are the
    paper's: an action is always tried if its average probability is at least 1 / tau, so that only
    those are skipped that the average nearly never plays. At equal numbers of visited nodes that is
    ahead of external sampling in no-limit poker with many bets; with tau=1 it is behind
    (benchmarks/tabular/average_strategy.md). With the paper's beta of 1e6 small games are sampled
    externally; the default here is small enough to skip actions. With more than two players
    averages are computed as in external sampling. An infoset none of whose actions is tried has
    value 0.

    With `probe` the actions that are not tried are rolled out once, and u(a) is that utility
    instead of 0, without the division by rho: probing with sampled sets of actions (Gibson,
    Lanctot, Burch, Szafron and Bowling, 2012). The variance is lower, the visited nodes are more.
    """

    epsilon: PositiveProbability = 0.05  # least probability of trying an action
    tau: Annotated[float, Ge(1.0), Lt(inf)] = 1000.0  # larger: rarer actions are always tried
    beta: NonNegative = 100.0  # larger: all actions are tried for longer
    gamma: NonNegative = 0.0  # iteration t has weight t**gamma in the average
    num_workers: NumWorkers = 1  # traversals per player and iteration, in parallel
    probe: bool = False  # roll out the actions that are not tried

    def traversal(self) -> Traversal:
        scheme = float(self.epsilon), float(self.tau), float(self.beta)
        kernel = traversals.average_sampling
        if self.probe:
            kernel = traversals.average_sampling_with_probes
        return Traversal(kernel, float(self.gamma), (scheme,))
