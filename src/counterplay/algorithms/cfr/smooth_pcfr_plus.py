"""Smooth predictive CFR+: regrets keep a distance from the origin, so that policies move little."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterplay.algorithms.cfr import engine, scaled_weights
from counterplay.algorithms.cfr.engine import LocalLearner, RegretMemory, RegretMinimiser
from counterplay.core.arena import Floats, SequenceArena
from counterplay.core.settings import Positive, settings
from counterplay.kernels.sequence_form import predictive


@settings()
class SmoothPCFRPlus(RegretMinimiser):
    """Smooth PRM+ (Farina, Grand-Clement, Kroer, Lee and Luo, 2023) at every infoset.

        policy_sum = policy_sum + t**gamma * reach * policy
        regret     = project(regret + eta * instant_regret)
        policy     = normalise(project(regret + eta * instant_regret))

    at t = 1, 2, ..., in turn, where project(x) is the nearest vector to x with entries >= 0 and sum
    at least 1. Far from the origin this is PCFR+; near it, where a small regret would turn the
    policy around, the policy is a projected gradient step. Regrets start uniform with sum 1.
    The unit of the instant regrets is the player's largest counterfactual value, so eta does not
    depend on the game's units. The update of an infoset is that of the public program of Meng and
    others (menglinjian/NeurIPS-2025-SOGRM) for matrix games, in which players move at once.
    """

    eta: Positive = 100.0
    gamma: float = 2.0
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)

    def init(self, arena: SequenceArena, seed: int = 0) -> RegretMemory:
        """Return a memory with uniform regrets and the uniform policy; the seed is not used."""
        memory = engine.new_memory(arena)
        memory.regret[:] = memory.policy
        return memory

    def step(self, arena: SequenceArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        state = (arena.value_tolerance, np.array([self.eta]), 1.0 / largest_values(arena))
        learner = LocalLearner(
            predictive.update_prediction,
            lambda form, first, last, policy, reach: predictive.forward_smooth(
                form, first, last, state, memory.regret, policy, reach
            ),
            predictive.alternate_smooth,
        )
        for t, weights in scaled_weights.iter_weights(memory, iterations, self.gamma):
            engine.iterate(arena, memory, learner, (engine.stack_columns(t), *state), weights)
        return memory


def largest_values(arena: SequenceArena) -> Floats:
    """Return the largest counterfactual value [S] of the player of each sequence."""
    players = np.repeat(np.asarray(arena.infoset_player), arena.num_actions)
    return player_units(arena)[players]


def infoset_units(arena: SequenceArena) -> Floats:
    """Return the largest counterfactual value [S] of the infoset of each sequence; 1 if it is 0."""
    largest = np.asarray(arena.value_tolerance) / (16.0 * np.finfo(np.float64).eps)
    return np.where(largest > 0.0, largest, 1.0)


def player_units(arena: SequenceArena) -> Floats:
    """Return the largest counterfactual value [P] of each player; 1 without decisions."""
    players = np.repeat(np.asarray(arena.infoset_player), arena.num_actions)
    largest = np.zeros(arena.num_players)
    np.maximum.at(largest, players, arena.value_tolerance)
    largest /= 16.0 * np.finfo(np.float64).eps
    return np.where(largest > 0.0, largest, 1.0)
