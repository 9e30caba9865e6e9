"""External sampling: all actions of the traverser, one sampled action of chance and the others."""

from __future__ import annotations

from counterplay.algorithms.mccfr.engine import MonteCarloCFR, NumWorkers, Traversal
from counterplay.core.settings import NonNegative, settings
from counterplay.kernels.sampling import traversals


@settings()
class ExternalSampling(MonteCarloCFR):
    """External-sampling MCCFR (Lanctot, Waugh, Zinkevich and Bowling, 2009). At t = 1, 2, ...:

        one traversal for each player in turn, which tries all of its actions and draws one action
        of chance and of each other player
        regret     = regret + u(a) - sum over b of policy(b) * u(b)      at its own nodes
        policy_sum = policy_sum + t**gamma * policy                      at the others' nodes
        policy     = regret_matching(regret), after the traversal

    Sampling probabilities cancel: regrets need no weight, and an infoset is visited in proportion
    to its player's own reach. With more than two players the reach of a third player would bias the
    average, so each player's average is updated along a separate episode in which the others play
    uniformly. (Gibson, 2014, expands all actions instead; other implementations update one
    opponent, with bias.) Actions are drawn at every node. With `draw_by_infoset`, an infoset keeps
    its action for the whole traversal, as in the definition of external sampling, whose blocks are
    pure policies of the others; regrets are unbiased either way. The two differ where a traversal
    meets an infoset through several of the traverser's actions, as in games with simultaneous
    moves: the actions of the traverser are then compared against the same reply.
    """

    gamma: NonNegative = 0.0  # iteration t has weight t**gamma in the average
    regret_matching_plus: bool = False  # keep regrets at zero or above
    hedge_eta: NonNegative = 0.0  # if positive, Hedge at this rate instead of regret matching
    num_workers: NumWorkers = 1  # traversals per player and iteration, in parallel
    draw_by_infoset: bool = False  # draw one action per infoset and traversal, not at every node

    def traversal(self) -> Traversal:
        kernel = traversals.external_sampling
        if self.draw_by_infoset:
            kernel = traversals.external_sampling_by_infoset
        return Traversal(kernel, float(self.gamma))
