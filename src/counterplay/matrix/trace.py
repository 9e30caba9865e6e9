"""Traces of learners in a normal form: all quantities of every iteration.

    >>> import counterplay as cp
    >>> form = cp.matrix.NormalForm([[1, -1], [-1, 1]])
    >>> trace = cp.matrix.trace_learner(form, "regret_matching", iterations=2)
    >>> step = trace.step(2, player=0)
    >>> step.actions, step.regret.round(2).tolist()
    (('0', '1'), [-2.08, 0.1])

The learner itself runs, inside `run_learners`; a wrapper copies what it plays, observes and stores.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from counterplay.core.arena import Floats
from counterplay.errors import ConfigError
from counterplay.matrix.learning import Learner, near_uniform_profile, run_learners
from counterplay.matrix.normal_form import NormalForm, Profile
from counterplay.matrix.verification import nash_deviation
from counterplay.registry import get_registry_name, load_learner

MAX_TRACE_ITERATIONS = 10_000


class _Observation(NamedTuple):
    """A player's regrets before and after an iteration, and its next mixture."""

    previous_regret: Floats
    regret: Floats
    next_mixture: Floats


@dataclass
class _RecordedMemory:
    """The memory of a learner, and the observations so far."""

    player: int
    memory: Any
    observations: list[_Observation] = field(default_factory=list)


@dataclass(frozen=True)
class _RecordingLearner:
    """A learner that records what it observes; it plays as the learner inside."""

    learner: Learner
    memories: list[_RecordedMemory]

    def init(self, form: NormalForm, player: int, initial_mixture: Floats) -> _RecordedMemory:
        memory = _RecordedMemory(player, self.learner.init(form, player, initial_mixture))
        self.memories.append(memory)
        return memory

    def play(self, memory: _RecordedMemory) -> Floats:
        return self.learner.play(memory.memory)

    def observe(self, memory: _RecordedMemory, values: Floats, played_mixture: Floats) -> None:
        previous = _regret_table(memory.memory)
        self.learner.observe(memory.memory, values, played_mixture)
        next_mixture = np.array(self.learner.play(memory.memory))
        regret = _regret_table(memory.memory)
        memory.observations.append(_Observation(previous, regret, next_mixture))

    def average_weight(self, iteration: int) -> float:
        return self.learner.average_weight(iteration)


def _regret_table(memory: Any) -> Floats:
    """Return a copy of the regrets of a memory; empty if the learner keeps none."""
    return np.array(getattr(memory, "regret", ()), float)


@dataclass(frozen=True)
class LearnerStep:
    """The update of one player at one iteration."""

    iteration: int
    player: int
    learner: str  # registered name, such as "regret_matching"
    actions: tuple[str, ...]
    others: tuple[int, ...]  # the other players
    others_mixtures: tuple[Floats, ...]  # what they play
    others_actions: tuple[tuple[str, ...], ...]
    utility: Floats  # [A_0, ...] of the player
    mixture: Floats  # [A] before the update
    action_value: Floats  # [A] expected utility of each action
    value: float  # mixture . action_value
    previous_regret: Floats  # [A]; empty if the learner keeps no regrets
    regret: Floats  # [A] after the update
    value_sum: Floats  # [A] sum of the action values of all iterations so far
    step_size: float  # of replicator dynamics, and eta of Hedge, divided by the range of utilities
    floor: float  # least probability of projected replicator dynamics, otherwise 0
    initial_mixture: Floats  # [A] of the first iteration
    next_mixture: Floats  # [A]
    weight: float  # of the iteration in the average
    total_weight: float  # of all iterations so far
    average: Floats  # [A] after the update


@dataclass(frozen=True)
class LearnerTrace:
    """The iterations of a learner that all players use. Made by `trace_learner`."""

    form: NormalForm
    learner: Any
    initial_profile: Profile
    profiles: tuple[Profile, ...]  # [T] mixtures of each iteration
    averages: tuple[Profile, ...]  # [T] averages after each iteration
    gains: Floats  # [T] gain of the best deviation from the average
    observations: tuple[tuple[_Observation, ...], ...] = field(repr=False)  # [P][T]

    @property
    def iterations(self) -> int:
        return len(self.profiles)

    def step(self, iteration: int, player: int = 0) -> LearnerStep:
        """Return the update of a player at an iteration; the first iteration is 1."""
        form = self.form
        if not 1 <= iteration <= self.iterations:
            raise ConfigError(f"iteration is {iteration}, must be from 1 to {self.iterations}")
        if not 0 <= player < form.num_players:
            raise ConfigError(f"player is {player}, must be from 0 to {form.num_players - 1}")
        t = iteration - 1
        profile, observation = self.profiles[t], self.observations[player][t]
        value_sum = np.sum([form.action_values(player, p) for p in self.profiles[:iteration]], 0)
        others = tuple(p for p in range(form.num_players) if p != player)
        weights = [self.learner.average_weight(k) for k in range(1, iteration + 1)]
        action_value = form.action_values(player, profile)
        return LearnerStep(
            iteration=iteration,
            player=player,
            learner=get_registry_name(self.learner),
            actions=form.action_names[player],
            others=others,
            others_mixtures=tuple(profile[p] for p in others),
            others_actions=tuple(form.action_names[p] for p in others),
            utility=form.utility[player],
            mixture=profile[player],
            action_value=action_value,
            value=float(profile[player] @ action_value),
            previous_regret=observation.previous_regret,
            regret=observation.regret,
            value_sum=value_sum,
            step_size=self._step_size(player, iteration),
            floor=float(getattr(self.learner, "floor", 0.0)),
            initial_mixture=self.initial_profile[player],
            next_mixture=observation.next_mixture,
            weight=weights[-1],
            total_weight=sum(weights),
            average=self.averages[t][player],
        )

    def _step_size(self, player: int, iteration: int) -> float:
        """Return the step size of replicator dynamics or eta of Hedge, in units of utility."""
        utility_range = float(self.form.utility_range[player])
        if hasattr(self.learner, "step_size"):
            return float(self.learner.step_size) / utility_range
        if hasattr(self.learner, "eta"):
            decreasing = np.sqrt(8.0 * np.log(self.form.shape[player]) / (iteration + 1))
            return float(self.learner.eta or decreasing) / utility_range
        return 0.0


def trace_learner(
    form: NormalForm,
    learner: Learner | str,
    *,
    iterations: int = 100,
    initial_profile: Profile | None = None,
) -> LearnerTrace:
    """Run a learner for all players and record every iteration.

    Args:
        form: the normal form of the game.
        learner: the learner of all players, or its name.
        iterations: number of iterations.
        initial_profile: the mixtures of the first iteration; by default near the uniform ones
            (`near_uniform_profile`), because uniform play is a fixed point of many learners.

    Raises:
        ConfigError: the learner is unknown, or an argument is out of range.
    """
    if not 1 <= iterations <= MAX_TRACE_ITERATIONS:
        raise ConfigError(f"iterations is {iterations}, must be from 1 to {MAX_TRACE_ITERATIONS:,}")
    rule: Any = load_learner(learner) if isinstance(learner, str) else learner
    start = near_uniform_profile(form) if initial_profile is None else initial_profile
    memories: list[_RecordedMemory] = []
    profiles: list[Profile] = []
    averages: list[Profile] = []

    def record_iteration(t: int, current: Profile, average: Profile) -> None:
        profiles.append(tuple(np.array(mixture) for mixture in current))
        averages.append(average)

    run_learners(
        form,
        _RecordingLearner(rule, memories),
        iterations=iterations,
        initial_profile=start,
        report=record_iteration,
    )
    return LearnerTrace(
        form=form,
        learner=rule,
        initial_profile=tuple(np.asarray(mixture, float) for mixture in start),
        profiles=tuple(profiles),
        averages=tuple(averages),
        gains=np.array([nash_deviation(form, average).gain for average in averages]),
        observations=tuple(tuple(memory.observations) for memory in memories),
    )
