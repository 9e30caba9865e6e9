"""Clairvoyant CFR: regrets against the policies that they lead to, by fixed-point steps."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge

from counterplay.algorithms.cfr import engine
from counterplay.algorithms.cfr.engine import RegretMemory, RegretMinimiser
from counterplay.algorithms.cfr.smooth_pcfr_plus import largest_values
from counterplay.algorithms.game_requirements import require_perfect_recall
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.settings import Positive, settings
from counterplay.kernels.sequence_form import predictive


@settings()
class ClairvoyantCFR(RegretMinimiser):
    """Clairvoyant CFR (Farina, Grand-Clement, Kroer, Lee and Luo, 2023). At t = 1, 2, ...:

        trial      = regret
        repeat k times, for all players at once:
            policy = normalise(trial)
            trial  = project(regret + eta * instant_regret(policy))
        regret     = trial
        policy_sum = policy_sum + t * reach * policy

    with the last of the k policies, and `project` as in `SmoothPCFRPlus`. For large k the policy
    is that of the new regrets, as if the players had foreseen each other (the conceptual prox
    method); k = 2 is extragradient RM+. Without alternation both converge at the rate 1/T in matrix
    games. An iteration takes as long as k iterations of CFR with simultaneous updates. The unit of
    instant regrets is the player's largest counterfactual value.
    """

    eta: Positive = 10.0
    fixed_point_steps: Annotated[int, Ge(2)] = 2
    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    averages: ClassVar[tuple[str, ...]] = ("linear_average",)

    def init(self, arena: TreeArena, seed: int = 0) -> RegretMemory:
        """Return a memory with uniform regrets and the uniform policy; the seed is not used."""
        require_perfect_recall("clairvoyant_cfr", arena)
        memory = engine.new_memory(arena)
        memory.regret[:] = memory.policy
        return memory

    def step(self, arena: TreeArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        t = engine.next_iterations(memory, iterations)
        table = engine.stack_columns(t, self.eta)
        trial = np.empty_like(memory.regret)
        factors = (
            table, self.fixed_point_steps, 1.0 / largest_values(arena), arena.value_tolerance, trial
        )  # fmt: skip
        arrays = (memory.reach, memory.cf_value, memory.regret, memory.policy, memory.policy_sum)
        predictive.iterate_clairvoyant(arena.sweep_form, factors, t[:, None], *arrays)
        memory.iteration += iterations
        return memory
