"""Learners in a normal form: each player adapts to what its actions would have been worth.

A learner is a frozen dataclass of hyper-parameters with three methods, for one player at a time:

    init(form, player, start)         its memory; `start` is what it plays before it knows anything
    play(memory)                      its mixture now
    observe(memory, values, played)   what its actions were worth, and what it played

Values are those of `form.relative`: only differences between actions matter to a learner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from counterplay.core.arena import Floats
from counterplay.errors import ConfigError
from counterplay.matrix.normal_form import NormalForm, Profile, check_profile, uniform_profile
from counterplay.matrix.verification import nash_deviation


class Learner(Protocol):
    """How one player learns; see the top of this file."""

    def init(self, form: NormalForm, player: int, initial_mixture: Floats) -> Any: ...

    def play(self, memory: Any) -> Floats: ...

    def observe(self, memory: Any, values: Floats, played_mixture: Floats) -> None: ...

    def average_weight(self, iteration: int) -> float:
        """How much an iteration counts in the average policy."""
        ...


@dataclass(frozen=True)
class LearningResult:
    """What `learn` returns. Averages are weighted as the learner asks; regrets are not."""

    form: NormalForm = field(repr=False)
    average_profile: Profile  # each player's average mixture
    current_profile: Profile  # what would be played next
    joint_distribution: Floats = field(
        repr=False
    )  # [A_0, ...] how often each joint action was played
    regret: Floats = field(repr=False)  # [T, P] regret per iteration, after each iteration

    @property
    def nash_conv(self) -> float:
        """The sum over players of what a best response to the average profile gains."""
        form, mean = self.form.relative_form, self.average_profile
        best = [form.action_values(p, mean).max() for p in range(form.num_players)]
        return float(np.maximum(np.array(best) - form.values(mean), 0.0).sum())

    @property
    def gain(self) -> float:
        """What the best deviation from the average profile gains."""
        return nash_deviation(self.form, self.average_profile).gain


def run_learners(
    form: NormalForm,
    learner: Learner,
    *,
    iterations: int = 1000,
    initial_profile: Profile | None = None,
    alternating: bool = False,
    sample_actions: bool = False,
    seed: int = 0,
    report: Callable[[int, Profile, Profile], None] | None = None,
) -> LearningResult:
    """Let everyone use the learner, and report regret: with s^k what is played in iteration k,

        regret_i(t) = 1/t * max over a of   sum over k <= t of   u_i(a, s_-i^k) - u_i(s^k)

    If all play at once, `joint` is a coarse correlated equilibrium up to the largest of these
    regrets. In two-player zero-sum games the averages approach an equilibrium; in others they need
    not (Shapley, 1964).

    Args:
        start: what is played before anything is learned; uniform without it. Symmetric starts can
            be fixed points.
        alternating: later players see what earlier ones have just changed to.
        sampled: everyone draws an action and sees what the others drew, instead of mixtures.
        seed: of those draws.
        report: called after each iteration with its number, its mixtures and the averages so far.
    """
    if iterations < 1:
        raise ConfigError(f"iterations is {iterations}, must be at least 1")
    players = range(form.num_players)
    begin = (
        uniform_profile(form) if initial_profile is None else check_profile(form, initial_profile)
    )
    memories = [learner.init(form, p, begin[p]) for p in players]
    current = [learner.play(memory) for memory in memories]
    sums = [np.zeros(count) for count in form.shape]
    gains = [np.zeros(count) for count in form.shape]
    joint, regret = np.zeros(form.shape), np.zeros((iterations, form.num_players))
    rng = np.random.default_rng(seed)
    for t in range(1, iterations + 1):
        mixtures = tuple(current)
        played = (
            [_sample_pure(mixture, rng) for mixture in current] if sample_actions else list(current)
        )
        joint += form.joint_distribution(tuple(played))
        weight = learner.average_weight(t)
        for player in players:
            sums[player] += weight * current[player]
            values = form.relative_form.action_values(player, tuple(played))
            gains[player] += values - values @ played[player]
            regret[t - 1, player] = gains[player].max() / t
            learner.observe(memories[player], values, played[player])
            if alternating:
                current[player] = learner.play(memories[player])
                played[player] = (
                    _sample_pure(current[player], rng) if sample_actions else current[player]
                )
        if report:
            report(t, mixtures, _normalise_sums(sums))
        current = [learner.play(memory) for memory in memories]
    average = _normalise_sums(sums)
    return LearningResult(form, average, tuple(current), joint / iterations, regret)


def _normalise_sums(sums: list[Floats]) -> Profile:
    """Each player's; uniform while nothing has counted yet."""
    return tuple(s / s.sum() if s.sum() > 0.0 else np.full(s.size, 1.0 / s.size) for s in sums)


def _sample_pure(mixture: Floats, rng: np.random.Generator) -> Floats:
    last = np.flatnonzero(mixture)[-1]  # probabilities may sum to less than what is drawn
    drawn = np.zeros(mixture.size)
    drawn[min(np.searchsorted(mixture.cumsum(), rng.random(), "right"), last)] = 1.0
    return drawn
