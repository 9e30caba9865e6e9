"""Learners in a normal form: each player adapts to the values of its actions.

Values are those of `NormalForm.relative_form`: only differences between actions matter to a
learner.
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
    """The learning rule of one player: a frozen dataclass of hyper-parameters with four methods."""

    def init(self, form: NormalForm, player: int, initial_mixture: Floats) -> Any:
        """Return a memory; `initial_mixture` [A_i] is played before anything is observed."""
        ...

    def play(self, memory: Any) -> Floats:
        """Return the current mixture [A_i]."""
        ...

    def observe(self, memory: Any, values: Floats, played_mixture: Floats) -> None:
        """Learn, in place, from the values [A_i] of the actions and the mixture played [A_i]."""
        ...

    def average_weight(self, iteration: int) -> float:
        """Return the weight of an iteration in the average policy."""
        ...


@dataclass(frozen=True)
class LearningResult:
    """The result of `run_learners`. Averages have the learner's weights; regrets have none."""

    form: NormalForm = field(repr=False)
    average_profile: Profile  # each player's average mixture
    current_profile: Profile  # the mixtures of the next iteration
    joint_distribution: Floats = field(repr=False)  # [A_0, ...] frequencies of joint actions
    regret: Floats = field(repr=False)  # [T, P] regret per iteration, after each iteration

    @property
    def nash_conv(self) -> float:
        """The sum over players of the gain of a best response to the average profile."""
        form, mean = self.form.relative_form, self.average_profile
        best = [form.action_values(p, mean).max() for p in range(form.num_players)]
        return float(np.maximum(np.array(best) - form.values(mean), 0.0).sum())

    @property
    def gain(self) -> float:
        """The gain of the best deviation from the average profile."""
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
    """Run a learner for all players, and measure regret. With s^k the profile of iteration k,

        regret_i(t) = 1/t * max over a of   sum over k <= t of   u_i(a, s_-i^k) - u_i(s^k)

    Unless players alternate, `joint_distribution` is a coarse correlated equilibrium up to the
    largest of these regrets. In two-player zero-sum games the averages approach an equilibrium; in
    other games they need not (Shapley, 1964).

    Args:
        form: the normal form of the game.
        learner: the learner of all players.
        iterations: number of iterations.
        initial_profile: the mixtures of the first iteration; uniform if None. Symmetric profiles
            can be fixed points.
        alternating: later players respond to the new mixtures of earlier ones.
        sample_actions: players draw actions and observe those of the others, instead of mixtures.
        seed: of the drawn actions.
        report: called after each iteration with its number, its mixtures and the averages so far.

    Example:
        >>> import counterplay as cp
        >>> form = cp.matrix.NormalForm([[1, -1], [-1, 1]])
        >>> result = cp.matrix.run_learners(form, cp.matrix.RegretMatchingPlus(), iterations=100)
        >>> result.nash_conv < 0.01
        True
    """
    if iterations < 1:
        raise ConfigError(f"iterations is {iterations}, must be at least 1")
    players = range(form.num_players)
    if initial_profile is None:
        initial_profile = uniform_profile(form)
    initial_profile = check_profile(form, initial_profile)
    memories = [learner.init(form, p, initial_profile[p]) for p in players]
    current = [learner.play(memory) for memory in memories]
    sums = [np.zeros(count) for count in form.shape]
    gains = [np.zeros(count) for count in form.shape]
    joint, regret = np.zeros(form.shape), np.zeros((iterations, form.num_players))
    rng = np.random.default_rng(seed)

    def draw(mixture: Floats) -> Floats:
        return _sample_pure(mixture, rng) if sample_actions else mixture

    for t in range(1, iterations + 1):
        mixtures = tuple(current)
        played = [draw(mixture) for mixture in current]
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
                played[player] = draw(current[player])
        if report:
            report(t, mixtures, _normalise_sums(sums))
        current = [learner.play(memory) for memory in memories]
    average = _normalise_sums(sums)
    return LearningResult(form, average, tuple(current), joint / iterations, regret)


def near_uniform_profile(form: NormalForm) -> Profile:
    """Return a profile near the uniform one, different for each player.

    Uniform play is a fixed point of many learners in symmetric games, so that nothing would happen.
    """
    mixtures = []
    for player, count in enumerate(form.shape):
        weight = np.roll(np.arange(count, 0, -1) + 2.0 * count, player)
        mixtures.append(weight / weight.sum())
    return tuple(mixtures)


def _normalise_sums(sums: list[Floats]) -> Profile:
    """Normalise each player's sum of mixtures; uniform if it is zero."""
    return tuple(s / s.sum() if s.sum() > 0.0 else np.full(s.size, 1.0 / s.size) for s in sums)


def _sample_pure(mixture: Floats, rng: np.random.Generator) -> Floats:
    """Return the mixture [A_i] of one action, drawn from a mixture."""
    last = np.flatnonzero(mixture)[-1]  # rounded probabilities may sum to less than the draw
    pure = np.zeros(mixture.size)
    pure[min(np.searchsorted(mixture.cumsum(), rng.random(), "right"), last)] = 1.0
    return pure
