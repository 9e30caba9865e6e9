"""Robust predictive CFR+: an exponential average of regrets predicts the next one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from counterplay.algorithms.cfr import engine, scaled_weights
from counterplay.algorithms.cfr.engine import LocalLearner, RegretMemory, RegretMinimiser
from counterplay.core.arena import Floats, SequenceArena
from counterplay.core.settings import PositiveProbability, Probability, settings
from counterplay.kernels.sequence_form import predictive, sweeps


@dataclass
class RPCFRPlusMemory(RegretMemory):
    """The memory of CFR, and the prediction, by sequence of the game."""

    prediction: Floats  # [S + 1]


@settings()
class RPCFRPlus(RegretMinimiser):
    """RPCFR+ (Yang and Sun, 2025). At t = 1, 2, ..., in turn:

        policy_sum = policy_sum + t**gamma * reach * policy
        regret     = max(regret + instant_regret, 0)
        prediction = (1 - beta) * prediction + beta * instant_regret
        policy     = regret_matching((1 - weight) * regret + weight * prediction)

    The equations and defaults are those of the authors' program, in which the infosets of the first
    player are updated a second time, with zero regret, after the second player's turn, and the
    average is weighted once per history of an infoset. Here every infoset is updated once.
    """

    weight: Probability = 0.6  # of the prediction
    beta: PositiveProbability = 0.3  # rate of the exponential average
    gamma: float = 5.0
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)

    def init(self, arena: SequenceArena, seed: int = 0) -> RPCFRPlusMemory:
        """Return a memory with zero regrets and the uniform policy; the seed is not used."""
        memory = engine.new_memory(arena)
        return RPCFRPlusMemory(**vars(memory), prediction=np.zeros_like(memory.regret))

    def step(
        self, arena: SequenceArena, memory: RPCFRPlusMemory, iterations: int = 1
    ) -> RPCFRPlusMemory:
        for t, weights in scaled_weights.iter_weights(memory, iterations, self.gamma):
            table = engine.stack_columns(t, self.weight, self.beta)
            factors = (table, arena.value_tolerance, memory.prediction)
            engine.iterate(arena, memory, _LEARNER, factors, weights)
        return memory


_LEARNER = LocalLearner(
    predictive.update_averaged_prediction,
    sweeps.forward_matching,
    predictive.alternate_averaged_prediction,
)
