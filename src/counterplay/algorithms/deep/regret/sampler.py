"""The interface through which regret networks sample a game.

A sampler holds a game, hyper-parameters and the arrays that sampling changes. There are two:
`tree_sampler.TreeSampler` on a tree and `rules_sampler.RulesSampler` on rules that are never
unrolled. Algorithms are written against `Sampler` only.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from counterplay.algorithms.deep.common.critics import CriticConfig
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.training import TrainState


class SamplingScheme(NamedTuple):
    """Sampling and weighting of the episodes of one player, the traverser."""

    player: int  # the traverser
    epsilon: float  # probability of a uniformly random action of the traverser
    reach_power: float  # regrets are divided by (own sampling reach)**reach_power
    regret_weight: float
    average_weight: float  # of the other players' policies in the average
    correct_critic: bool = True  # whether sampled returns correct the critic's regrets


def uniform_scheme(player: int, weight: float, correct_critic: bool) -> SamplingScheme:
    """Return the scheme with uniform actions of the traverser and without importance weights."""
    return SamplingScheme(player, 1.0, 0.0, weight, weight, correct_critic)


class RegretData(NamedTuple):
    """One player's regret samples as training data; the first `num_filled` of N rows are used."""

    graph: Graph  # that infosets refer to
    infoset: Any  # [N]
    target: Any  # [N, A] regrets
    weight: Any  # [N]
    num_filled: int
    own_infosets: Any  # [R] at which the policy of the fitted network is wanted
    group_by_infoset: bool  # whether minibatches are averaged by infoset before they are fitted


class RegretBatch(NamedTuple):
    """One player's regrets of a single iteration, at N rows of a graph."""

    graph: Graph
    infoset: Any  # [N]
    regret: Any  # [N, A] divided by the largest utility
    weight: Any  # [N] positive in the first rows, zero in the others
    use_minibatches: bool  # whether a fit samples minibatches or uses all rows in each step


class Sampler(Protocol):
    """A game to sample, with the arrays of all samples so far, which methods change in place."""

    @property
    def num_players(self) -> int:
        """The number of players."""
        ...

    @property
    def arrays(self) -> Any:
        """The arrays that sampling changes, a pytree."""
        ...

    @property
    def graph(self) -> Graph:
        """The graph that gives networks their sizes; of a tree, all its infosets."""
        ...

    def policy_table(self) -> Any:
        """Return the current policies [I, A]; of size zero on rules."""
        ...

    def set_policy(self, player: int, rows: Any) -> None:
        """Set a player's policy at its infosets [R, A]; on rules its network is evaluated."""
        ...

    def collect_external(self, nets: Any, player: int, weight: float, key: jax.Array) -> None:
        """Run traversals of external sampling, and store regrets and policies.

        Args:
            nets: the current regret networks of all players.
            player: the traverser, all of whose actions are followed.
            weight: of regrets and policies.
            key: samples chance and the other players.
        """
        ...

    def collect_outcomes(
        self, nets: Any, scheme: SamplingScheme, critic_values: Any, key: jax.Array
    ) -> None:
        """Play episodes, and store regrets, policies and transitions.

        Args:
            nets: the current regret networks of all players.
            scheme: how episodes are sampled.
            critic_values: the result of `fit_critic`.
            key: samples the episodes.
        """
        ...

    def collect_batch(
        self, nets: Any, scheme: SamplingScheme, critic_values: Any, key: jax.Array
    ) -> RegretBatch:
        """Like `collect_outcomes`, but return the traverser's regrets instead of storing them."""
        ...

    def regret_data(self, player: int) -> RegretData:
        """Return all stored regrets of a player as training data."""
        ...

    def fit_average(self, network: TrainState, key: jax.Array) -> TrainState:
        """Return the average networks of all players, fitted to the stored policies."""
        ...

    def new_critic(self, config: CriticConfig, rng: np.random.Generator) -> TrainState:
        """Return a critic before its first fit."""
        ...

    def fit_critic(
        self, config: CriticConfig, critic: TrainState, nets: Any, key: jax.Array
    ) -> tuple[TrainState, Any]:
        """Return the critic fitted to the current policies, and its values for `collect_*`."""
        ...

    def decay_visits(self, factor: float) -> None:
        """Multiply the weights of all samples of the critic by a factor."""
        ...
