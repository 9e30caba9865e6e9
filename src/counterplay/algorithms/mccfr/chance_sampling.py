"""Chance sampling: one sampled deal per traversal, all actions of all players."""

from __future__ import annotations

from counterplay.algorithms.mccfr.engine import MonteCarloCFR, NumWorkers, Traversal
from counterplay.core.settings import NonNegative, settings
from counterplay.kernels.sampling import traversals


@settings()
class ChanceSampling(MonteCarloCFR):
    """Chance-sampled CFR (Zinkevich, Johanson, Bowling and Piccione, 2007). At t = 1, 2, ...:

        one traversal for each player in turn: chance draws one outcome, players try all actions
        regret     = regret + cf * (u(a) - sum over b of policy(b) * u(b))   at its own nodes
        policy_sum = policy_sum + t**gamma * own reach * policy              at its own nodes
        policy     = regret_matching(regret), after the traversal

    where cf is the other players' reach; the reach of chance cancels with the probability of the
    sample. Published pseudocode often updates the policy during the traversal; here the policy is
    fixed until the end, because one infoset is visited through many histories. In a game without
    chance this is vanilla CFR.
    """

    gamma: NonNegative = 0.0  # iteration t has weight t**gamma in the average
    regret_matching_plus: bool = False  # keep regrets at zero or above
    hedge_eta: NonNegative = 0.0  # if positive, Hedge at this rate instead of regret matching
    num_workers: NumWorkers = 1  # traversals per player and iteration, in parallel

    def traversal(self) -> Traversal:
        return Traversal(traversals.chance_sampling, float(self.gamma))
