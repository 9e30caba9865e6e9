"""Extensive-form regret minimisation: CFR for several kinds of deviations."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import ClassVar, NamedTuple

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
    "causal_partial_sequence": ("triggers", False),
    "twice_informed_partial_sequence": ("triggers", True),
    "behavioural": ("recommendations", True),
}
MAX_DEVIATIONS = 20_000_000  # whose regrets take 8 bytes each


class MemoryState(NamedTuple):
    """A memory state: the sequence followed, further actions heard, and the deviations in it."""

    sequence: int
    heard: tuple[int, ...]
    is_internal: bool


@dataclass
class EFRMemory(RegretMemory):
    """The memory of CFR, and the regrets of all deviations."""

    deviation_regret: Floats


@settings()
class EFR(RegretMinimiser):
    """EFR (Morrill and others, 2021). At t = 1, 2, ..., for all players at once, at infoset I:

        policy_sum    = policy_sum + reach * policy
        regret(m, d)  = max(regret(m, d) + weight(m) * (value of d(policy) - value of policy), 0)
        policy        = fixed point of the mean of d, weighted by weight(m) * regret(m, d)

    d is a deviation at I: external, always play a, or internal, play a when b is recommended. m is
    a memory state: the recommendations of an initial part of the player's own actions that the
    deviating player has followed; its weight is their probability, and the player gives the device
    no heed after it until I. `deviations` chooses both:

        blind_action, informed_action              all earlier actions; external, internal
        blind_cf, informed_cf                      no earlier actions; external, internal
        blind_partial_sequence, cf_partial_sequence  every initial part; external, internal
        causal_partial_sequence, twice_informed_partial_sequence
            every initial part and the action recommended after it, which the player did not
            take; external, internal. If it followed all recommendations: internal
        behavioural                                every recommendation at every earlier infoset

    The number of behavioural deviations grows exponentially with the length of the game. Causal
    deviations are those of an EFCE, to which the sequence of policies converges with these three.
    The sequence of policies approaches play that no deviation of the chosen kind improves; in
    two-player zero-sum games the average approaches an equilibrium with all but the two kinds of
    action deviations. Values of internal deviations are fixed points of a Markov chain.

    With `regret_matching_plus=False` regrets may be negative, as published, and only their positive
    parts are weights: blind_cf is CFR with simultaneous updates then. Regrets without the negative
    part have the same bound (Tammelin, 2014) and nearly halve the exploitability on Kuhn poker.
    """

    deviations: str = "cf_partial_sequence"
    regret_matching_plus: bool = True  # set negative regrets to zero
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)

    def __post_init__(self) -> None:
        if self.deviations not in DEVIATIONS:
            raise ConfigError(
                f"efr: deviations is {self.deviations!r}, must be one of {', '.join(DEVIATIONS)}"
            )

    def init(self, arena: SequenceArena, seed: int = 0) -> EFRMemory:
        """Return a memory with zero regrets and the uniform policy; the seed is not used."""
        require_perfect_recall("efr", arena)
        if self.deviations == "behavioural":
            _require_few_deviations(arena)
        size = int(self._layout(arena)[2][-1])
        return EFRMemory(**vars(engine.new_memory(arena)), deviation_regret=np.zeros(size))

    def step(self, arena: SequenceArena, memory: EFRMemory, iterations: int = 1) -> EFRMemory:
        form, layout = arena.form, self._layout(arena)
        largest = int(arena.num_actions.max(initial=1))
        chain, weight = np.zeros((largest, largest)), np.ones(1)
        smallest = 0.0 if self.regret_matching_plus else -np.inf
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
                    (smallest, arena.value_tolerance),
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

    def _layout(self, arena: SequenceArena) -> tuple[Ints, ...]:
        """Return the memory states and the places of regrets, as the kernels take them."""
        states = [self._memory_states(arena, infoset) for infoset in range(arena.form.parent.size)]
        return lay_out(states, np.diff(arena.form.offset.astype(np.int64)))

    def _memory_states(self, arena: SequenceArena, infoset: int) -> list[MemoryState]:
        """Return the memory states of an infoset."""
        kind, is_internal = DEVIATIONS[self.deviations]
        form, root = arena.form, int(arena.form.offset[-1])
        parent = int(form.parent[infoset])
        if kind == "none" or parent == root:
            internal = is_internal or kind == "triggers"  # nothing was recommended before
            return [MemoryState(root, (), internal)]
        if kind == "all":
            return [MemoryState(parent, (), is_internal)]
        followed, sequence = [parent], parent  # sequences of the player before the infoset
        rows: list[range] = []  # the sequences of the infosets before, in the same order
        while sequence != root:
            above = int(np.searchsorted(form.offset, sequence, side="right")) - 1
            rows.append(range(int(form.offset[above]), int(form.offset[above + 1])))
            sequence = int(form.parent[above])
            followed.append(sequence)
        if kind == "prefixes":
            return [MemoryState(s, (), is_internal) for s in reversed(followed)]
        if kind == "triggers":
            heard = [
                s for row, taken in zip(rows, followed, strict=False) for s in row if s != taken
            ]
            return [
                MemoryState(parent, (), True),
                *(MemoryState(s, (), is_internal) for s in heard),
            ]
        return [MemoryState(root, actions, is_internal) for actions in product(*rows)]


def lay_out(states: list[list[MemoryState]], num_actions: Ints) -> tuple[Ints, ...]:
    """Return the arrays of `kernels.deviations` for the memory states of all infosets."""
    counts = np.array([len(row) for row in states], np.int64)
    flat = [state for row in states for state in row]
    is_internal = np.array([state.is_internal for state in flat], bool)
    actions = np.repeat(num_actions, counts)
    sizes = np.where(is_internal, actions**2, actions)
    by_infoset = np.bincount(np.repeat(np.arange(counts.size), counts), sizes, counts.size)
    heard_counts = np.array([len(state.heard) for state in flat], np.int64)
    return (
        _offsets(counts),
        np.array([state.sequence for state in flat], np.int64),
        _offsets(by_infoset.astype(np.int64)),
        is_internal,
        _offsets(heard_counts),
        np.array([s for state in flat for s in state.heard], np.int64),
    )


def _offsets(counts: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _require_few_deviations(arena: SequenceArena) -> None:
    """Raise ConfigError if a game has too many behavioural deviations."""
    form, root = arena.form, int(arena.form.offset[-1])
    states: list[int] = []  # of each infoset, parents first
    for parent in form.parent.tolist():
        count = 1
        if parent != root:
            above = int(np.searchsorted(form.offset, parent, side="right")) - 1
            count = states[above] * int(form.offset[above + 1] - form.offset[above])
        states.append(count)
    sizes = np.diff(form.offset).tolist()
    total = sum(count * size**2 for count, size in zip(states, sizes, strict=True))
    if total > MAX_DEVIATIONS:
        raise ConfigError(
            f"efr: {arena.spec} has {total:,} behavioural deviations, over {MAX_DEVIATIONS:,}; "
            "take twice_informed_partial_sequence instead"
        )
