"""Empirical games: payoffs between pools of agents, estimated from episodes with intervals.

The pools may contain any agents, such as policies from files, searchers and networks. A pool with
weights is an agent itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from counterplay.core.arena import Floats
from counterplay.core.game import Game, State
from counterplay.errors import ConfigError
from counterplay.matrix.normal_form import NormalForm
from counterplay.play.episodes import Agent, play_episode, sample_index
from counterplay.registry import get_spec

MIN_EPISODES = 2  # that an interval needs


@dataclass(frozen=True)
class EmpiricalPayoffs:
    """The estimated payoffs of a restricted game, with their confidence intervals."""

    meta_game: NormalForm
    margins: Floats  # [P, n_0, ..., n_{P-1}] half widths of the intervals
    num_episodes: int  # of every joint action
    confidence: float  # of each interval

    @property
    def low(self) -> Floats:
        """Lower ends of the intervals [P, n_0, ..., n_{P-1}]."""
        return self.meta_game.utility - self.margins

    @property
    def high(self) -> Floats:
        """Upper ends of the intervals [P, n_0, ..., n_{P-1}]."""
        return self.meta_game.utility + self.margins


def estimate_payoffs(
    game: Game,
    pools: Sequence[Sequence[Agent]],
    *,
    episodes: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> EmpiricalPayoffs:
    """Estimate the payoffs of all combinations of agents, one from each player's pool.

    All combinations share their random numbers (`play.episodes`), so differences between them are
    more precise than the intervals suggest. A combination without any randomness is played once,
    and its margin is 0. Margins are those of Student's t, widened for an event too rare to have
    occurred.

    Args:
        pools: the agents of each player.
        episodes: number of episodes of each combination.
        seed: seed of all random numbers.
        confidence: probability with which each interval contains the payoff.
    """
    if len(pools) != game.num_players:
        numbers = f"{len(pools)} pools for {game.num_players} players of {get_spec(game)}"
        raise ConfigError(f"{numbers}; give one for each")
    if not all(map(len, pools)):
        raise ConfigError("a pool is empty; a restricted game needs a policy of each player")
    if episodes < MIN_EPISODES:
        raise ConfigError(f"episodes is {episodes}, must be at least {MIN_EPISODES}")
    if not 0.0 < confidence < 1.0:
        raise ConfigError(f"confidence is {confidence}, must be between 0 and 1")
    shape = tuple(map(len, pools))
    mean, margin = np.zeros((game.num_players, *shape)), np.zeros((game.num_players, *shape))
    for joint in product(*map(range, shape)):
        agents = [pools[player][k] for player, k in enumerate(joint)]
        cell: tuple[slice | int, ...] = (slice(None), *joint)
        mean[cell], margin[cell] = estimate_joint_payoff(game, agents, episodes, seed, confidence)
    return EmpiricalPayoffs(NormalForm(mean), margin, episodes, confidence)


def estimate_joint_payoff(
    game: Game, agents: Sequence[Agent], episodes: int, seed: int, confidence: float
) -> tuple[Floats, Floats]:
    """Return the mean utilities [P] of agents, one for each player, and the half widths [P]."""
    from scipy.special import stdtrit

    rows = []
    for number in range(episodes):
        episode = play_episode(game, agents, seed, number)
        rows.append(episode.utilities)
        if episode.is_deterministic:
            break
    utilities = np.array(rows, float)
    count = len(utilities)
    if count == 1:
        return utilities[0], np.zeros(utilities.shape[1])
    error = utilities.std(axis=0, ddof=1) / np.sqrt(count)
    scale = float(stdtrit(count - 1, 0.5 + 0.5 * confidence))
    return utilities.mean(axis=0), scale * np.hypot(error, utilities.std() / count)


@dataclass(frozen=True)
class PoolAgent:
    """An agent that samples one of its members, by their weights, for each episode."""

    members: Sequence[Agent]
    weights: Sequence[float] | Floats = field(repr=False)

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights, float)
        if weights.shape != (len(self.members),) or not weights.size:
            numbers = f"{weights.size} weights for {len(self.members)} policies"
            raise ConfigError(f"{numbers}; a pool needs one for each, and at least one")
        if not (weights.min() >= 0.0 and abs(weights.sum() - 1.0) <= 1e-6):
            raise ConfigError(f"the weights of a pool are {weights}, must be probabilities")
        object.__setattr__(self, "weights", weights)

    def for_episode(self, seed: int) -> Agent:
        """Return the agent that plays one episode."""
        rng = np.random.default_rng(seed)
        weights = np.asarray(self.weights, float).tolist()
        member = self.members[sample_index(weights, rng.random())]
        for_episode = getattr(member, "for_episode", None)
        return for_episode(int(rng.integers(2**53))) if for_episode else member

    def action_probabilities(self, state: State, player: int) -> Sequence[float]:
        raise ConfigError("a pool samples an agent for each episode; use that of for_episode(seed)")
