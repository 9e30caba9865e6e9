"""Reward-transformed CFR+: the last iterate converges, without averaging."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from counterplay.algorithms.cfr import engine
from counterplay.algorithms.cfr.engine import RegretMemory
from counterplay.algorithms.cfr.smooth_pcfr_plus import largest_values
from counterplay.algorithms.game_requirements import require_perfect_recall
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats
from counterplay.core.policy import Policy
from counterplay.core.settings import NonNegative, PositiveInt, settings
from counterplay.errors import ConfigError
from counterplay.kernels.sequence_form import predictive


@dataclass
class RTCFRPlusMemory(RegretMemory):
    """The memory of CFR, and the reach of the reference policy."""

    reference: Floats  # [S + 1]


@settings()
class RTCFRPlus:
    """RTCFR+ (Meng and others, 2025). CFR+ on a sequence of regularised and perturbed games.

    The utility of player i is reduced by mu/2 * |x - r|**2, with x the player's reach of its
    sequences and r that of a reference, and every action has at least probability gamma. At t = 1,
    2, ..., in turn, with u(x) the gradient of the utility of the game itself:

        value  = u(x) - mu * (x - r), backed up by the unperturbed policy
        regret = max(regret + instant regret of value, 0)
        policy = (1 - gamma * number of actions) * regret_matching(regret) + gamma

    Every `reference_every` iterations r becomes the reach of the policy, and gamma is halved. The
    fixed points of r are equilibria of the game. Defaults are those of the authors' program, but mu
    is in units of the player's largest counterfactual value.
    """

    mu: NonNegative = 1e-3  # weight of the distance to the reference
    gamma: NonNegative = 1e-10  # smallest probability of an action
    reference_every: PositiveInt = 100  # iterations between updates of the reference
    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    required_extra: ClassVar[str] = ""
    is_scale_free: ClassVar[bool] = True

    def init(self, arena: TreeArena, seed: int = 0) -> RTCFRPlusMemory:
        """Return a memory with zero regrets and the uniform policy; the seed is not used."""
        require_perfect_recall("rt_cfr_plus", arena)
        if self.gamma * arena.max_actions >= 1.0:
            raise ConfigError(
                f"rt_cfr_plus: gamma is {self.gamma}, must be below 1 / {arena.max_actions}, the "
                f"largest number of actions in {arena.spec}"
            )
        memory = engine.new_memory(arena)
        return RTCFRPlusMemory(**vars(memory), reference=memory.reach.copy())

    def step(
        self, arena: TreeArena, memory: RTCFRPlusMemory, iterations: int = 1
    ) -> RTCFRPlusMemory:
        unit, scratch = largest_values(arena), np.ones_like(memory.policy)
        end = memory.iteration + iterations
        while memory.iteration < end:
            round_number, since = divmod(memory.iteration, self.reference_every)
            if since == 0:
                memory.reference[:] = memory.reach
            count = min(end - memory.iteration, self.reference_every - since)
            t = engine.next_iterations(memory, count)
            table = engine.stack_columns(t, self.mu, self.gamma * 0.5**round_number)
            factors = (table, unit, arena.value_tolerance, memory.reference, scratch)
            arrays = (memory.reach, memory.cf_value, memory.regret, memory.policy)
            weights = engine.stack_columns(t, t)
            predictive.alternate_transformed(
                arena.sweep_form, factors, weights, *arrays, memory.policy_sum
            )
            memory.iteration += count
        return memory

    def policies(self, arena: TreeArena, memory: RTCFRPlusMemory) -> Mapping[str, Policy]:
        """Return the last iterate, which has the guarantee, and the linear average."""
        policies = engine.average_policies(arena, memory, ("linear_average",))
        return {"current": policies["current"], "linear_average": policies["linear_average"]}
