"""Chance sampling: one sampled deal per traversal, all actions of all players."""

from __future__ import annotations

from counterplay.algorithms.mccfr.engine import MonteCarloCFR, NumWorkers, Traversal
from counterplay.core.settings import NonNegative, settings
from counterplay.errors import ConfigError
from counterplay.kernels.sampling import traversals


@settings()
class ChanceSampling(MonteCarloCFR):
    """Chance-sampled CFR (Zinkevich, Johanson, Bowling and Piccione, 2007). At t = 1, 2, ...:

        one traversal for each player in turn: chance draws one outcome, players try all actions
        regret     = regret + cf * (u(a) - sum over b of policy(b) * u(b))   at its own nodes
        policy_sum = policy_sum + t**gamma * own reach * policy              at its own nodes
        policy     = regret_matching(regret), after the traversal

    where cf is the other players' reach; the reach of chance cancels with the probability of the
    sample. By default the policy is fixed until the end of a traversal, because one infoset is
    visited through many histories. In a game without chance this is vanilla CFR.

    Published pseudocode often matches regrets at every node instead (Neller and Lanctot, 2013,
    algorithm 1); `match_in_walk` does so. Later nodes of an infoset then see the regrets of its
    earlier ones: it converges too, but slower (Kuhn poker, all outcomes of chance, 1000 iterations:
    NashConv 0.013, with fixed policies 0.0019). `sample_chance=False` follows all outcomes of
    chance, their probabilities being part of cf: vanilla CFR as in such pseudocode.
    """

    gamma: NonNegative = 0.0  # iteration t has weight t**gamma in the average
    regret_matching_plus: bool = False  # keep regrets at zero or above
    hedge_eta: NonNegative = 0.0  # if positive, Hedge at this rate instead of regret matching
    num_workers: NumWorkers = 1  # traversals per player and iteration, in parallel
    match_in_walk: bool = False  # match regrets at every node, not after the traversal
    sample_chance: bool = True  # False: follow all outcomes of chance; needs match_in_walk

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.sample_chance and not self.match_in_walk:
            problem = "sample_chance=False needs match_in_walk=True"
            raise ConfigError(f"chance_sampling: {problem}; with fixed policies it is cfr")

    def traversal(self) -> Traversal:
        if self.match_in_walk:
            kernel, arguments = traversals.matching_chance_sampling, (bool(self.sample_chance),)
            lists_chance = not self.sample_chance
            return Traversal(kernel, float(self.gamma), arguments, lists_chance=lists_chance)
        return Traversal(traversals.chance_sampling, float(self.gamma))
