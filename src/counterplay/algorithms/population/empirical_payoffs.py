"""Pools on rules: what contestants are worth to each other, from episodes, with intervals.

On rules nothing is exact. Pools may hold anything that plays (policy files, searchers, networks);
the restricted game is estimated, and a pool with weights is a contestant itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from counterplay.core.arena import Floats
from counterplay.core.game import Game, State
from counterplay.errors import ConfigError
from counterplay.matrix.normal_form import NormalForm
from counterplay.play.episodes import Agent, play_episode, sample_index
from counterplay.registry import get_spec

MIN_EPISODES = 2  # episodes from which there is an interval


@dataclass(frozen=True)
class EmpiricalPayoffs:
    """The restricted game as episodes show it: every entry lies within its margin, so often."""

    meta_game: NormalForm
    margins: Floats  # [P, n_0, ..., n_{P-1}] half the widths of the intervals
    num_episodes: int  # of every joint action
    confidence: float

    @property
    def low(self) -> Floats:
        return self.meta_game.utility - self.margins

    @property
    def high(self) -> Floats:
        return self.meta_game.utility + self.margins


def estimate_payoffs(
    game: Game,
    pools: Sequence[Sequence[Agent]],
    *,
    episodes: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> EmpiricalPayoffs:
    """Let everybody's policies meet, one pool per player, in so many episodes of each kind.

    All joint policies share their draws (`playing`): differences between them are more certain than
    their own intervals say. Where nothing is left to chance one episode is enough, and the margin
    is 0. Margins are Student's, and allow for an event too rare to have been met.
    """
    if len(pools) != game.num_players:
        seats = f"{len(pools)} pools for {game.num_players} players of {get_spec(game)}"
        raise ConfigError(f"{seats}; give one for each")
    if not all(map(len, pools)):
        raise ConfigError("a pool is empty; a restricted game needs a policy of each player")
    if episodes < MIN_EPISODES:
        raise ConfigError(f"episodes is {episodes}, must be at least {MIN_EPISODES}")
    if not 0.0 < confidence < 1.0:
        raise ConfigError(f"confidence is {confidence}, must be between 0 and 1")
    shape = tuple(map(len, pools))
    mean, margin = np.zeros((game.num_players, *shape)), np.zeros((game.num_players, *shape))
    for joint in product(*map(range, shape)):
        seated = [pools[player][k] for player, k in enumerate(joint)]
        cell: Any = (slice(None), *joint)
        mean[cell], margin[cell] = estimate_joint_payoff(game, seated, episodes, seed, confidence)
    return EmpiricalPayoffs(NormalForm(mean), margin, episodes, confidence)


def estimate_joint_payoff(
    game: Game, agents: Sequence[Agent], episodes: int, seed: int, confidence: float
) -> tuple[Floats, Floats]:
    """What those seated earn [P], and half the widths of the intervals."""
    from scipy.special import stdtrit

    utilities = []
    for number in range(episodes):
        episode = play_episode(game, agents, seed, number)
        utilities.append(episode.utilities)
        if episode.is_deterministic:
            break
    found = np.array(utilities, float)
    if len(found) == 1:
        return found[0], np.zeros(found.shape[1])
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    scale = float(stdtrit(len(found) - 1, 0.5 + 0.5 * confidence))
    return found.mean(axis=0), scale * np.hypot(error, found.std() / len(found))


@dataclass(frozen=True)
class PoolAgent:
    """A pool with weights that plays: one of its policies is drawn for each episode."""

    members: Sequence[Any]
    weights: Any = field(repr=False)

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights, float)
        if weights.shape != (len(self.members),) or not weights.size:
            given = f"{weights.size} weights for {len(self.members)} policies"
            raise ConfigError(f"{given}; a pool needs one for each, and at least one")
        if not (weights.min() >= 0.0 and abs(weights.sum() - 1.0) <= 1e-6):
            raise ConfigError(f"the weights of a pool are {weights}, must be probabilities")
        object.__setattr__(self, "weights", weights)

    def for_episode(self, seed: int) -> Agent:
        """The policy of one episode."""
        rng = np.random.default_rng(seed)
        member = self.members[sample_index(self.weights.tolist(), rng.random())]
        again = getattr(member, "for_episode", None)
        return again(int(rng.integers(2**53))) if again else member

    def action_probabilities(self, state: State, player: int) -> Sequence[float]:
        raise ConfigError(
            "a pool draws a policy for each episode; take that of `for_episode(seed)`"
        )
