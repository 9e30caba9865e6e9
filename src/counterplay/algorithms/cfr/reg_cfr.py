"""Regularised CFR: optimistic mirror descent at every infoset, whose last iterate converges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from counterplay.algorithms.cfr import engine
from counterplay.algorithms.cfr.engine import RegretMemory
from counterplay.algorithms.cfr.smooth_pcfr_plus import largest_values
from counterplay.algorithms.game_requirements import require_perfect_recall
from counterplay.arenas.tree.arena import TreeArena
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
    tau is halved every `halve_every` iterations, so the last iterate follows the equilibria of
    regularised games, whose limit is one of the game. tau and 1 / eta are in units of the player's
    largest counterfactual value; the weights of all infosets in the dilated entropy are 1.
    """

    eta: Positive = 1.0
    tau: NonNegative = 0.05
    halve_every: PositiveInt = 400
    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    required_extra: ClassVar[str] = ""
    is_scale_free: ClassVar[bool] = True

    def init(self, arena: TreeArena, seed: int = 0) -> RegretMemory:
        """Return a memory with zero logits and the uniform policy; the seed is not used."""
        require_perfect_recall("reg_cfr", arena)
        return engine.new_memory(arena)  # whose regrets are the logits of the centre

    def step(self, arena: TreeArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        t = engine.next_iterations(memory, iterations)
        tau = self.tau * 0.5 ** ((t - 1.0) // self.halve_every)
        table = engine.stack_columns(t, self.eta, tau)
        factors = (table, 1.0 / largest_values(arena))
        arrays = (memory.reach, memory.cf_value, memory.regret, memory.policy, memory.policy_sum)
        predictive.iterate_regularised(arena.form, factors, t[:, None], *arrays)
        memory.iteration += iterations
        return memory

    def policies(self, arena: TreeArena, memory: RegretMemory) -> Mapping[str, Policy]:
        """Return the last iterate, which has the guarantee, and the linear average."""
        policies = engine.average_policies(arena, memory, ("linear_average",))
        return {"current": policies["current"], "linear_average": policies["linear_average"]}
