"""Quantal response equilibria to a given precision, and the path to them as temperature falls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from counterplay.algorithms.regularised.mmd import back_up_logits, sequence_gradients, softmax
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, SequenceArena
from counterplay.core.evaluation import infoset_values
from counterplay.core.policy import Policy, uniform_policy
from counterplay.core.settings import settings
from counterplay.errors import ConfigError

STEP_GROWTH, STEP_CUT = (
    1.005,
    0.5,
)  # of the step, while the policy comes nearer and when it goes astray
DIVERGENCE_RATIO = 1.5  # times as far from the response as it has been


@dataclass
class QREMemory:
    """S sequences."""

    iteration: int
    policy: Floats  # [S]
    temperature: float  # of the equilibrium it is on the way to
    eta: float  # step size
    distance: float  # to the logit response, at its least since the step was cut
    finished: bool


@settings()
class QRE:
    """A logit quantal response equilibrium (McKelvey and Palfrey, 1998). At t = 1, 2, ...:

        response = magnet * exp(q / temperature), scaled to sum to one
        policy   = [policy * response**(eta * temperature)]**(1 / (1 + eta * temperature)), scaled

    until policy and response differ by at most `precision` anywhere. The temperature starts at
    `hottest` and falls by the factor `fall` whenever that is so, until it is `temperature`: the
    policies on the way are the principal branch, from uniform play on. eta, the step of magnetic
    mirror descent, grows slowly and is halved whenever the two have gone half as far again apart.

    q is the value of an action given that its infoset is reached: the *agent* form. With `reduced`
    the equilibrium is that of the *reduced normal form*, by dilated entropy: see `mmd`. The two
    differ. With several equilibria this finds one; two players and zero sum have one only.
    """

    temperature: float = 0.01
    tolerance: float = 1e-6
    initial_temperature: float = 1.0
    cooling_factor: float = 0.8
    reduced_normal_form: bool = False
    required_extra: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for name in ("temperature", "tolerance"):
            if not 0.0 < getattr(self, name) < np.inf:
                raise ConfigError(f"qre: {name} is {getattr(self, name)}, must be positive")
        if not self.temperature <= self.initial_temperature < np.inf:
            problem = f"initial_temperature is {self.initial_temperature}"
            raise ConfigError(f"qre: {problem}, must be at least temperature ({self.temperature})")
        if not 0.0 < self.cooling_factor < 1.0:
            raise ConfigError(
                f"qre: cooling_factor is {self.cooling_factor}, must be between 0 and 1"
            )

    @property
    def runs_on(self) -> tuple[str, ...]:
        return ("sequences",) if self.reduced_normal_form else ("tree",)

    def init(self, arena: SequenceArena, seed: int = 0) -> QREMemory:
        if not arena.has_perfect_recall:
            raise ConfigError(f"qre needs perfect recall; {arena.spec} forgets")
        start = uniform_policy(arena).probabilities.copy()
        return QREMemory(
            0, start, self.initial_temperature, 0.1 * self.initial_temperature, np.inf, False
        )

    def step(self, arena: SequenceArena, memory: QREMemory, iterations: int = 1) -> QREMemory:
        for _ in range(iterations):
            if memory.finished:
                break
            memory.iteration += 1
            tau, log = memory.temperature, np.log(memory.policy)
            if self.reduced_normal_form:
                values = sequence_gradients(arena, memory.policy)
                plans = softmax(arena, back_up_logits(arena, np.zeros(arena.num_sequences), 1.0))
                pulled = tau * np.log(plans) + values
                response = softmax(arena, back_up_logits(arena, pulled, tau))
            else:
                assert isinstance(arena, TreeArena)  # as `runs_on` says
                pulled = infoset_values(arena, Policy(arena, memory.policy)).action_value
                response = softmax(arena, pulled / tau)
            distance = float(np.abs(response - memory.policy).max(initial=0.0))
            if distance <= self.tolerance:
                if tau == self.temperature:
                    memory.distance, memory.finished = distance, True
                    break
                memory.temperature = max(self.temperature, self.cooling_factor * tau)
                memory.distance = np.inf
                continue
            if distance > DIVERGENCE_RATIO * memory.distance:
                memory.eta, memory.distance = STEP_CUT * memory.eta, distance
            else:
                memory.eta, memory.distance = (
                    STEP_GROWTH * memory.eta,
                    min(distance, memory.distance),
                )
            weight = memory.eta * tau
            if self.reduced_normal_form:
                logits = back_up_logits(arena, log + memory.eta * pulled, 1.0 + weight)
            else:
                logits = (log + memory.eta * pulled) / (1.0 + weight)
            memory.policy = softmax(arena, logits)
        return memory

    def policies(self, arena: SequenceArena, memory: QREMemory) -> dict[str, Policy]:
        return {"current": Policy(arena, memory.policy)}
