"""Magnetic mirror descent: the last iterate converges, to a quantal response or to Nash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from counterplay.algorithms.game_requirements import require_perfect_recall, utility_unit
from counterplay.algorithms.regularised.logits import (
    action_values,
    back_up_logits,
    sequence_gradients,
    softmax,
    uniform_plan_policy,
)
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, SequenceArena
from counterplay.core.policy import Policy, uniform_policy
from counterplay.core.settings import NonNegative, Probability, settings


@dataclass
class MMDMemory:
    """The policy and the magnet, by sequence."""

    iteration: int
    policy: Floats  # [S]
    magnet: Floats  # [S]
    finished: ClassVar[bool] = False


@settings()
class MMD:
    """MMD (Sokota and others, 2023). At t = 1, 2, ..., for all players at once, at all infosets:

        policy = [policy * magnet**(eta_t * tau_t) * exp(eta_t * q)]**(1 / (1 + eta_t * tau_t))
        magnet = magnet**(1 - rate) * policy**rate

    normalised, with eta_t = eta * t**-decay_power, tau_t = temperature * t**-decay_power and rate =
    magnet_update_rate. The magnet starts uniform (dilated: uniform over reduced pure policies).

    With decay_power = rate = 0 and a small enough eta the policy converges to a quantal response
    equilibrium at the temperature. With decay_power = 0.5, or with a moving magnet (decay_power 0,
    temperature 1, eta 0.1, rate 0.05 in the paper), it converges to a Nash equilibrium of a
    two-player zero-sum game. eta and temperature refer to utilities divided by the game's scale
    (`arenas.tree.utility_scale`), so that they mean the same in any units. The authors' settings,
    and the temperature of a given quantal response equilibrium, are in the game's own units: they
    need `normalize_utilities=false`.

    q is the value of an action given that its infoset is reached, so the fixed point is the *agent*
    form of the quantal response. With `dilated`, q is the counterfactual value, to which later
    infosets add (1 + eta_t * tau_t) * log(sum of the unnormalised policy above): mirror descent on
    sequences with dilated entropy, whose fixed point is that of the *reduced normal form*. It runs
    on any arena with sequences.
    """

    eta: NonNegative = 1.0  # step size
    temperature: NonNegative = 1.0  # weight of the magnet
    decay_power: NonNegative = 0.5  # of the step size and of the temperature
    magnet_update_rate: Probability = 0.0  # fraction by which the magnet moves to the policy
    dilated: bool = False
    normalize_utilities: bool = True  # divide utilities by the game's scale
    required_extra: ClassVar[str] = ""

    @property
    def runs_on(self) -> tuple[str, ...]:
        """The capabilities of an arena that the algorithm needs."""
        return ("sequences",) if self.dilated else ("tree",)

    def init(self, arena: SequenceArena, seed: int = 0) -> MMDMemory:
        require_perfect_recall("mmd", arena)
        uniform = uniform_policy(arena).probabilities
        magnet = uniform_plan_policy(arena) if self.dilated else uniform.copy()
        return MMDMemory(0, uniform.copy(), magnet)

    def step(self, arena: SequenceArena, memory: MMDMemory, iterations: int = 1) -> MMDMemory:
        rate, unit = self.magnet_update_rate, utility_unit(arena, self.normalize_utilities)
        for _ in range(iterations):
            memory.iteration += 1
            eta, tau = np.array([self.eta, self.temperature]) * memory.iteration**-self.decay_power
            logits = np.log(memory.policy) + eta * tau * np.log(memory.magnet)
            if self.dilated:
                logits = logits + eta * (sequence_gradients(arena, memory.policy) / unit)
                logits = back_up_logits(arena, logits, 1.0 + eta * tau)
            else:
                assert isinstance(arena, TreeArena)  # guaranteed by `runs_on`
                logits = logits + eta * (action_values(arena, memory.policy) / unit)
                logits = logits / (1.0 + eta * tau)
            memory.policy = softmax(arena, logits)
            blend = (1.0 - rate) * np.log(memory.magnet) + rate * np.log(memory.policy)
            memory.magnet = softmax(arena, blend)
        return memory

    def policies(self, arena: SequenceArena, memory: MMDMemory) -> dict[str, Policy]:
        return {"current": Policy(arena, memory.policy)}
