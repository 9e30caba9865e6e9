"""Probing: outcome sampling with a roll-out for every action that is not followed."""

from __future__ import annotations

from counterplay.algorithms.mccfr.engine import MonteCarloCFR, NumWorkers, Traversal
from counterplay.core.settings import NonNegative, PositiveProbability, settings
from counterplay.kernels.sampling import episodes


@settings()
class Probing(MonteCarloCFR):
    """MCCFR with probing (Gibson, Lanctot, Burch, Szafron and Bowling, 2012). At t = 1, 2, ...:

        one path for each player in turn, which follows one of its actions, drawn from
        epsilon * uniform + (1 - epsilon) * policy, and probes its other actions
        u(a)       = the value of the path for the action followed, else the utility of one roll-out
        regret     = regret + (u(a) - sum over b of policy(b) * u(b)) / q     at its own nodes
        policy_sum = policy_sum + t**gamma * policy / q                       at the others' nodes
        policy     = regret_matching(regret), after the path

    with q the player's own probability of sampling the node. Every action gets an estimate, where
    outcome sampling takes 0 for actions not followed, so the variance is lower. With more than two
    players averages are computed as in external sampling.
    """

    epsilon: PositiveProbability = 0.5  # weight of uniform play in the traverser's sampling
    gamma: NonNegative = 0.0  # iteration t has weight t**gamma in the average
    regret_matching_plus: bool = False  # keep regrets at zero or above
    hedge_eta: NonNegative = 0.0  # if positive, Hedge at this rate instead of regret matching
    num_workers: NumWorkers = 1  # traversals per player and iteration, in parallel

    def traversal(self) -> Traversal:
        return Traversal(episodes.probing, float(self.gamma), (float(self.epsilon),))
