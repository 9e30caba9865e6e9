"""Magnetic mirror descent: the last iterate converges, to a quantal response or to Nash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, SequenceArena
from counterplay.core.evaluation import infoset_values
from counterplay.core.policy import Policy, policy_from_weights, uniform_policy
from counterplay.core.settings import settings
from counterplay.errors import ConfigError
from counterplay.kernels.sequence_form import sweeps

MIN_PROBABILITY = (
    1e-10  # probabilities are kept above it: a logarithm that drifts away never comes back
)


@dataclass
class MMDMemory:
    """S sequences."""

    iteration: int
    policy: Floats  # [S]
    magnet: Floats  # [S]
    finished: ClassVar[bool] = False


@settings()
class MMD:
    """MMD (Sokota and others, 2023). At t = 1, 2, ..., for all players at once, at all infosets:

        policy = [policy * magnet**(eta_t * tau_t) * exp(eta_t * q)]**(1 / (1 + eta_t * tau_t))
        magnet = magnet**(1 - pull) * policy**pull

    scaled to sum to one, with eta_t = eta * t**-decay and tau_t = tau * t**-decay. The magnet
    starts uniform (dilated: uniform over reduced plans). With decay = pull = 0 and a small enough
    eta the policy converges to a quantal response equilibrium at temperature tau; with decay = 0.5,
    or with a magnet that follows (decay 0, tau 1, eta 0.1, pull 0.05 in the paper), to a Nash
    equilibrium of a two-player zero-sum game. All of it is in the game's units: payoffs ten times
    as large want a tenth of eta and ten times tau.

    q is the value of an action given that its infoset is reached, which makes the fixed point the
    *agent* form of the quantal response. `dilated` takes counterfactual values instead, to which
    later infosets add (1 + eta_t * tau_t) * log(sum of what is scaled above): mirror descent on
    sequences with dilated entropy, whose fixed point is that of the *reduced normal form*. It runs
    on any arena with sequences.
    """

    eta: float = 1.0  # step size
    temperature: float = 1.0  # temperature
    decay_power: float = 0.5  # of both
    magnet_update_rate: float = 0.0  # how far the magnet follows the policy
    dilated: bool = False
    required_extra: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for name in ("eta", "temperature", "decay_power"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise ConfigError(f"mmd: {name} is {getattr(self, name)}, must be at least 0")
        if not 0.0 <= self.magnet_update_rate <= 1.0:
            raise ConfigError(
                f"mmd: magnet_update_rate is {self.magnet_update_rate}, must be from 0 to 1"
            )

    @property
    def runs_on(self) -> tuple[str, ...]:
        return ("sequences",) if self.dilated else ("tree",)

    def init(self, arena: SequenceArena, seed: int = 0) -> MMDMemory:
        if not arena.has_perfect_recall:
            raise ConfigError(f"mmd needs perfect recall; {arena.spec} forgets")
        uniform, plans = uniform_policy(arena).probabilities, np.zeros(arena.num_sequences)
        magnet = (
            softmax(arena, back_up_logits(arena, plans, 1.0)) if self.dilated else uniform.copy()
        )
        return MMDMemory(0, uniform.copy(), magnet)

    def step(self, arena: SequenceArena, memory: MMDMemory, iterations: int = 1) -> MMDMemory:
        for _ in range(iterations):
            memory.iteration += 1
            eta, tau = np.array([self.eta, self.temperature]) * memory.iteration**-self.decay_power
            pulled = np.log(memory.policy) + eta * tau * np.log(memory.magnet)
            if self.dilated:
                logits = pulled + eta * sequence_gradients(arena, memory.policy)
                logits = back_up_logits(arena, logits, 1.0 + eta * tau)
            else:
                assert isinstance(arena, TreeArena)  # as `runs_on` says
                values = infoset_values(arena, Policy(arena, memory.policy))
                logits = (pulled + eta * values.action_value) / (1.0 + eta * tau)
            memory.policy = softmax(arena, logits)
            blend = (1.0 - self.magnet_update_rate) * np.log(
                memory.magnet
            ) + self.magnet_update_rate * np.log(memory.policy)
            memory.magnet = softmax(arena, blend)
        return memory

    def policies(self, arena: SequenceArena, memory: MMDMemory) -> dict[str, Policy]:
        return {"current": Policy(arena, memory.policy)}


def softmax(arena: SequenceArena, logits: Floats) -> Floats:
    """exp(logits), scaled at every infoset and kept away from zero."""
    top = np.maximum.reduceat(logits, arena.offset[:-1])
    weights = np.exp(logits - np.repeat(top, arena.num_actions))
    probabilities = policy_from_weights(arena, weights).probabilities
    return policy_from_weights(arena, np.maximum(probabilities, MIN_PROBABILITY)).probabilities


def sequence_gradients(arena: SequenceArena, policy: Floats) -> Floats:
    """What ends at every sequence [S], weighted by everybody else's reach."""
    form, size = arena.form, arena.num_sequences + 1
    reach, cf_value = np.ones(size), np.zeros(size)
    sweeps.forward(form, 0, form.parent.size, np.append(policy, 1.0), reach)
    for player in range(arena.num_players):
        arena.gradient(player, reach, cf_value)
    return cf_value[:-1]


def back_up_logits(arena: SequenceArena, start: Floats, scale: float) -> Floats:
    """Logits [S] over `scale`, with what later infosets add, from the last ones to the first."""
    form, logits = arena.form, np.append(start, 0.0)
    for player in range(arena.num_players):
        for parts in reversed(arena.levels(player, 1)):
            first, last = parts[0][0], parts[-1][1]
            here = slice(*form.offset[[first, last]].tolist())
            logits[here] /= scale
            value = np.logaddexp.reduceat(logits[here], form.offset[first:last] - here.start)
            np.add.at(logits, form.parent[first:last], scale * value)
    return logits[:-1]
