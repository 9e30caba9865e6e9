"""Extensive-form regret minimisation: CFR for several kinds of deviations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from counterplay.algorithms.cfr import engine
from counterplay.algorithms.cfr.engine import RegretMemory, RegretMinimiser
from counterplay.algorithms.game_requirements import require_perfect_recall
from counterplay.core.arena import Floats, Ints, SequenceArena
from counterplay.core.settings import settings
from counterplay.errors import ConfigError
from counterplay.kernels.sequence_form import deviations as kernels
from counterplay.kernels.sequence_form import sweeps

DEVIATIONS = {  # name -> (memory of the deviating player, whether the deviation hears the action)
    "blind_action": ("all", False),
    "informed_action": ("all", True),
    "blind_cf": ("none", False),
    "informed_cf": ("none", True),
    "blind_partial_sequence": ("prefixes", False),
    "cf_partial_sequence": ("prefixes", True),
}


@dataclass
class EFRMemory(RegretMemory):
    """The memory of CFR, and the regrets of all deviations."""

    deviation_regret: Floats


@settings()
class EFR(RegretMinimiser):
    """EFR (Morrill and others, 2021). At t = 1, 2, ..., for all players at once, at infoset I:

        policy_sum    = policy_sum + reach * policy
        regret(m, d)  = regret(m, d) + weight(m) * (value of d(policy) - value of policy)
        policy        = fixed point of the mean of d, weighted by weight(m) * max(regret(m, d), 0)

    d is a deviation at I: external, always play a, or internal, play a when b is recommended. m is
    a memory state: the recommendations of an initial part of the player's own actions that the
    deviating player has followed; its weight is their probability, and the player gives the device
    no heed after it until I. `deviations` chooses both:

        blind_action, informed_action              all earlier actions; external, internal
        blind_cf, informed_cf                      no earlier actions; external, internal
        blind_partial_sequence, cf_partial_sequence  every initial part; external, internal

    blind_cf is CFR with simultaneous updates. The sequence of policies approaches play that no
    deviation of the chosen kind improves; in two-player zero-sum games the average approaches an
    equilibrium with all but the two kinds of action deviations. Values of internal deviations are
    fixed points of a Markov chain. The paper's causal and twice informed partial sequences and its
    behavioural deviations are not implemented.
    """

    deviations: str = "cf_partial_sequence"
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)

    def __post_init__(self) -> None:
        if self.deviations not in DEVIATIONS:
            raise ConfigError(
                f"efr: deviations is {self.deviations!r}, must be one of {', '.join(DEVIATIONS)}"
            )

    def init(self, arena: SequenceArena, seed: int = 0) -> EFRMemory:
        """Return a memory with zero regrets and the uniform policy; the seed is not used."""
        require_perfect_recall("efr", arena)
        size = int(self._layout(arena)[2][-1])
        return EFRMemory(**vars(engine.new_memory(arena)), deviation_regret=np.zeros(size))

    def step(self, arena: SequenceArena, memory: EFRMemory, iterations: int = 1) -> EFRMemory:
        form, layout = arena.form, self._layout(arena)
        largest = int(arena.num_actions.max(initial=1))
        chain, weight = np.zeros((largest, largest)), np.ones(1)
        num_sequences = memory.policy.size - 1
        for _ in range(iterations):
            sweeps.add_average(0, num_sequences, weight, memory.reach, memory.policy_sum)
            for player in range(arena.num_players):
                first, last = form.player_infoset[player : player + 2].tolist()
                engine.compute_instant_regrets(arena, memory, player, memory.reach)
                kernels.update_deviation_regrets(
                    form,
                    first,
                    last,
                    layout,
                    arena.value_tolerance,
                    memory.reach,
                    memory.cf_value,
                    memory.policy,
                    memory.deviation_regret,
                )
            regret, policy, reach = memory.deviation_regret, memory.policy, memory.reach
            kernels.forward_deviations(
                form, 0, form.parent.size, layout, regret, policy, reach, chain
            )
            memory.iteration += 1
        return memory

    def _layout(self, arena: SequenceArena) -> tuple[Ints, Ints, Ints, bool]:
        """Return the memory states and the places of regrets, as the kernels take them."""
        memory_kind, is_internal = DEVIATIONS[self.deviations]
        form, root = arena.form, int(arena.form.offset[-1])
        offset = form.offset.astype(np.int64)
        parent = form.parent.astype(np.int64)
        infoset_of = np.repeat(np.arange(parent.size), np.diff(offset))
        states: list[list[int]] = []
        for i in range(parent.size):
            sequence = int(parent[i])
            if memory_kind == "none":
                states.append([root])
            elif memory_kind == "all":
                states.append([sequence])
            elif sequence == root:
                states.append([root])
            else:
                states.append([*states[int(infoset_of[sequence])], sequence])
        counts = np.array([len(row) for row in states], np.int64)
        memory_offset = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        memory_sequence = np.array([s for row in states for s in row], np.int64)
        sizes = counts * np.diff(offset) ** (2 if is_internal else 1)
        regret_offset = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return memory_offset, memory_sequence, regret_offset, is_internal
