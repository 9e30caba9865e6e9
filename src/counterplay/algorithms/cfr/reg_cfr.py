"""Regularised CFR: optimistic mirror descent at every infoset, whose last iterate converges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge

from counterplay.algorithms.cfr import engine
from counterplay.algorithms.cfr.engine import RegretMemory
from counterplay.algorithms.cfr.smooth_pcfr_plus import infoset_units
from counterplay.algorithms.game_requirements import require_perfect_recall
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats
from counterplay.core.policy import Policy
from counterplay.core.settings import NonNegative, Positive, PositiveInt, settings
from counterplay.kernels.sequence_form import predictive


@settings()
class RegCFR:
    """Reg-CFR (Liu, Ozdaglar, Yu and Zhang, 2023) with entropy. At t = 1, 2, ..., at infoset I:

        q      = counterfactual values, with  value(I) = policy . q + tau * entropy(policy)
        centre = (centre + eta * q) / (1 + eta * tau)
        policy = softmax((centre + eta * q) / (1 + eta * tau))

    for all players at once: `centre` are logits, and the last line predicts that q repeats itself.
    tau is halved after each of several phases, so the last iterate follows the equilibria of
    regularised games, whose limit is one of the game. A smaller tau needs more iterations, so every
    phase is `phase_growth` times as long as the one before; 1 is the schedule of the authors'
    program. tau and 1 / eta are in units of the largest counterfactual value of the infoset, which
    is its weight in the dilated entropy: with the same step everywhere, infosets that chance rarely
    reaches would hardly move.
    """

    eta: Positive = 1.0
    tau: NonNegative = 0.02
    halve_every: PositiveInt = 200  # iterations of the first phase
    phase_growth: Annotated[float, Ge(1.0)] = 1.5
    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    required_extra: ClassVar[str] = ""
    is_scale_free: ClassVar[bool] = True

    def init(self, arena: TreeArena, seed: int = 0) -> RegretMemory:
        """Return a memory with zero logits and the uniform policy; the seed is not used."""
        require_perfect_recall("reg_cfr", arena)
        return engine.new_memory(arena)  # whose regrets are the logits of the centre

    def step(self, arena: TreeArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        t = engine.next_iterations(memory, iterations)
        table = engine.stack_columns(t, self.eta, self.tau * 0.5 ** self._phases(t))
        factors = (table, 1.0 / infoset_units(arena))
        arrays = (memory.reach, memory.cf_value, memory.regret, memory.policy, memory.policy_sum)
        predictive.iterate_regularised(arena.sweep_form, factors, t[:, None], *arrays)
        memory.iteration += iterations
        return memory

    def _phases(self, t: Floats) -> Floats:
        """Return the number of phases before each of the iterations t."""
        length, ends = float(self.halve_every), [float(self.halve_every)]
        while ends[-1] < t[-1]:
            length *= self.phase_growth
            ends.append(ends[-1] + length)
        return np.searchsorted(ends, t).astype(float)

    def policies(self, arena: TreeArena, memory: RegretMemory) -> Mapping[str, Policy]:
        """Return the last iterate, which has the guarantee, and the linear average."""
        policies = engine.average_policies(arena, memory, ("linear_average",))
        return {"current": policies["current"], "linear_average": policies["linear_average"]}
