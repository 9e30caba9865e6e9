"""Predictive CFR+ whose regrets never shrink (IREG-PRM+)."""

from __future__ import annotations

from typing import ClassVar

from counterplay.algorithms.cfr import engine, scaled_weights
from counterplay.algorithms.cfr.engine import LocalLearner, RegretMemory, RegretMinimiser
from counterplay.core.arena import SequenceArena
from counterplay.core.settings import settings
from counterplay.kernels.sequence_form import predictive


@settings()
class IREGPCFRPlus(RegretMinimiser):
    """IREG-PRM+ (Zhang, Anagnostides and Sandholm, 2025) at every infoset. At t = 1, 2, ...:

        policy_sum = policy_sum + t**gamma * reach * policy
        regret     = max(regret + instant_regret + shift, 0)
        policy     = regret_matching(regret + instant_regret)

    for each player in turn, where shift >= 0 is the smallest number with which the Euclidean norm
    of the infoset's regrets does not fall. The norm is the inverse of a learning rate, which in
    PCFR+ can grow again: this is the flaw that the paper removes. The invariant is the paper's;
    this shift is the smallest change of PCFR+ that keeps it, and bounds of the regret remain valid
    since it only adds to regrets. It has not been compared with the paper's pseudo-code, and no
    public program was found. No setting depends on the units of the game.
    """

    gamma: float = 2.0
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)

    def step(self, arena: SequenceArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        state = (arena.value_tolerance,)
        learner = LocalLearner(
            predictive.update_prediction,
            lambda form, first, last, policy, reach: predictive.forward_increasing(
                form, first, last, state, memory.regret, policy, reach
            ),
            predictive.alternate_increasing,
        )
        for t, weights in scaled_weights.iter_weights(memory, iterations, self.gamma):
            engine.iterate(arena, memory, learner, (engine.stack_columns(t), *state), weights)
        return memory
