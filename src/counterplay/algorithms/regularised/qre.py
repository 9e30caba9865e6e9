"""Quantal response equilibria to a given precision, along the path of falling temperature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Gt, Lt

from counterplay.algorithms.game_requirements import require_perfect_recall
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
from counterplay.core.settings import Positive, settings
from counterplay.errors import ConfigError

STEP_GROWTH = 1.005  # factor of the step size while the policy approaches the response
STEP_CUT = 0.5  # factor of the step size when the policy diverges from the response
DIVERGENCE_RATIO = 1.5  # the policy diverges if its distance is this many times the least so far


@dataclass
class QREMemory:
    """The policy, by sequence, and the state of the path of temperatures."""

    iteration: int
    policy: Floats  # [S]
    temperature: float  # of the equilibrium that the policy approaches
    eta: float  # step size
    distance: float  # least distance to the logit response since the last cut of the step size
    finished: bool


@settings()
class QRE:
    """A logit quantal response equilibrium (McKelvey and Palfrey, 1998). At t = 1, 2, ...:

        response = magnet * exp(q / temperature)
        policy   = [policy * response**(eta * temperature)]**(1 / (1 + eta * temperature))

    both normalised, until they differ by at most `tolerance` at every action. The magnet is uniform
    as in `mmd`. The temperature starts at `initial_temperature` and is multiplied by
    `cooling_factor` whenever that holds, until it is `temperature`. The policies on the way are the
    principal branch, which starts at uniform play. eta, the step size of magnetic mirror descent,
    grows slowly and is halved whenever the distance is half as large again as the least so far.

    q is the value of an action given that its infoset is reached: the *agent* form. With
    `reduced_normal_form` the equilibrium is that of the *reduced normal form*, by dilated entropy
    as in `mmd`; the two differ. In a game with several equilibria the algorithm finds one; a
    two-player zero-sum game has exactly one. Temperatures are in the game's units, because they
    define the equilibrium: utilities ten times as large have the same one at ten times the
    temperature.
    """

    temperature: Positive = 0.01
    tolerance: Positive = 1e-6
    initial_temperature: float = 1.0
    cooling_factor: Annotated[float, Gt(0.0), Lt(1.0)] = 0.8
    reduced_normal_form: bool = False
    required_extra: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if not self.temperature <= self.initial_temperature < np.inf:
            raise ConfigError(
                f"qre: initial_temperature is {self.initial_temperature}, must be finite and at "
                f"least temperature ({self.temperature})"
            )

    @property
    def runs_on(self) -> tuple[str, ...]:
        """The capabilities of an arena that the algorithm needs."""
        return ("sequences",) if self.reduced_normal_form else ("tree",)

    def init(self, arena: SequenceArena, seed: int = 0) -> QREMemory:
        require_perfect_recall("qre", arena)
        return QREMemory(
            iteration=0,
            policy=uniform_policy(arena).probabilities.copy(),
            temperature=self.initial_temperature,
            eta=0.1 / self.initial_temperature,
            distance=np.inf,
            finished=False,
        )

    def step(self, arena: SequenceArena, memory: QREMemory, iterations: int = 1) -> QREMemory:
        for _ in range(iterations):
            if memory.finished:
                break
            memory.iteration += 1
            gradient = self._gradient(arena, memory)
            response = softmax(arena, self._scale(arena, gradient, memory.temperature))
            distance = float(np.abs(response - memory.policy).max(initial=0.0))
            if distance <= self.tolerance:
                self._cool(memory, distance)
                continue
            if distance > DIVERGENCE_RATIO * memory.distance:
                memory.eta, memory.distance = STEP_CUT * memory.eta, distance
            else:
                memory.eta *= STEP_GROWTH
                memory.distance = min(distance, memory.distance)
            logits = np.log(memory.policy) + memory.eta * gradient
            logits = self._scale(arena, logits, 1.0 + memory.eta * memory.temperature)
            memory.policy = softmax(arena, logits)
        return memory

    def policies(self, arena: SequenceArena, memory: QREMemory) -> dict[str, Policy]:
        return {"current": Policy(arena, memory.policy)}

    def _gradient(self, arena: SequenceArena, memory: QREMemory) -> Floats:
        """Return q [S]; in the reduced form, gradients of utility and of the magnet's entropy."""
        if self.reduced_normal_form:
            values = sequence_gradients(arena, memory.policy)
            return memory.temperature * np.log(uniform_plan_policy(arena)) + values
        assert isinstance(arena, TreeArena)  # guaranteed by `runs_on`
        return action_values(arena, memory.policy)

    def _scale(self, arena: SequenceArena, logits: Floats, scale: float) -> Floats:
        """Divide logits by a scale; in the reduced form, after adding those of later infosets."""
        return back_up_logits(arena, logits, scale) if self.reduced_normal_form else logits / scale

    def _cool(self, memory: QREMemory, distance: float) -> None:
        """Lower the temperature, or finish if it is the last one."""
        if memory.temperature == self.temperature:
            memory.distance, memory.finished = distance, True
            return
        memory.temperature = max(self.temperature, self.cooling_factor * memory.temperature)
        memory.distance = np.inf
