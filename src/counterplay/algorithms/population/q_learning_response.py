"""A best response learned by tabular Q-learning, for rules without a tree."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

import numpy as np

from counterplay.algorithms.population.oracles import PolicyWithValue, WeightedPolicy
from counterplay.arenas.rules import RulesArena, TabularPolicy
from counterplay.core.game import Game, State
from counterplay.core.game_checks import action_names, key_problem
from counterplay.core.settings import PositiveInt, PositiveProbability, settings
from counterplay.play.episodes import EpisodeStep, play_episode, sample_index

PolicyRows = dict[tuple[int, str], dict[str, float]]


@dataclass
class EpsilonGreedyQ:
    """An epsilon-greedy agent with a table of action values."""

    game: Game
    epsilon: float
    values: dict[str, list[float]] = field(default_factory=dict)  # by infoset key and action
    visits: dict[str, list[int]] = field(default_factory=dict)  # by infoset key and action
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of actions, by infoset key
    # the player's last infoset key and action before each infoset key
    parent_sequences: dict[str, tuple[str, int]] = field(default_factory=dict)

    def action_probabilities(self, state: State, player: int) -> list[float]:
        key = self.game.infoset_key(state, player)
        if key not in self.values:
            if problem := key_problem(key, player):
                raise TypeError(problem)  # `play_episode` adds the history to the message
            actions = self.game.actions(state)
            self.values[key], self.visits[key] = [0.0] * len(actions), [0] * len(actions)
            self.names[key] = action_names(self.game, state, actions)
        values = self.values[key]
        probabilities = [self.epsilon / len(values)] * len(values)
        probabilities[values.index(max(values))] += 1.0 - self.epsilon
        return probabilities

    def observe(self, steps: Sequence[EpisodeStep], player: int, utility: float) -> None:
        """Update the values with an episode, from its end to its beginning."""
        sequences = [
            (self.game.infoset_key(step.state, player), list(step.actions).index(step.action))
            for step in steps
            if step.player == player
        ]
        self.parent_sequences |= {key: parent for parent, (key, _) in pairwise(sequences)}
        target = utility
        for key, k in reversed(sequences):
            self.visits[key][k] += 1
            rate = self.visits[key][k] ** -0.75
            self.values[key][k] += rate * (target - self.values[key][k])
            target = max(self.values[key])


@settings()
class QLearningResponse:
    """A response by tabular Q-learning (Watkins, 1989). In each episode an opponent is sampled, the
    player explores with probability epsilon, and then, from its last action to its first:

        q(infoset, a) = q(infoset, a) + n**(-3/4) * (target - q(infoset, a)),   n visits of a
        target        = the utility at the last action, max of q at the player's next infoset before

    The response takes the action of largest q at visited infosets, and is uniform elsewhere.
    """

    num_episodes: PositiveInt = 20_000
    epsilon: PositiveProbability = 0.3
    evaluation_episodes: PositiveInt = 1_000  # without exploration, to estimate the value
    runs_on: ClassVar[tuple[str, ...]] = ("rules",)

    def respond(
        self,
        arena: RulesArena,
        player: int,
        opponents: Sequence[WeightedPolicy],
        seed: int = 0,
        previous: QTablePolicy | None = None,
    ) -> PolicyWithValue:
        """Return the response; with `previous`, learning continues from its values."""
        game, rng = arena.game, np.random.default_rng(seed)
        learner = (
            EpsilonGreedyQ(game, self.epsilon) if previous is None else deepcopy(previous.learner)
        )
        weights = [part.weight for part in opponents]
        total = 0.0
        for number in range(self.num_episodes + self.evaluation_episodes):
            learner.epsilon = self.epsilon if number < self.num_episodes else 0.0
            agents = [opponents[sample_index(weights, rng.random())].policy] * game.num_players
            agents[player] = learner
            episode = play_episode(game, agents, seed, number)
            if number < self.num_episodes:
                learner.observe(episode.steps, player, episode.utilities[player])
            else:
                total += episode.utilities[player]
        policy = _greedy_policy(game, learner, player)
        return PolicyWithValue(policy, total / self.evaluation_episodes)


class QTablePolicy(TabularPolicy):
    """The greedy policy of a learner at visited infosets, with the learner to continue from.

    `parent_sequences` has the player's last infoset key and action before each infoset.
    """

    def __init__(self, game: Game, rows: PolicyRows, learner: EpsilonGreedyQ, player: int):
        super().__init__(game, rows)
        self.learner = learner
        self.parent_sequences = {
            (player, key): parent for key, parent in learner.parent_sequences.items()
        }


def _greedy_policy(game: Game, learner: EpsilonGreedyQ, player: int) -> QTablePolicy:
    """Return the policy that takes the action of largest value at every visited infoset."""
    rows: PolicyRows = {}
    for key, values in learner.values.items():
        best = values.index(max(values))
        rows[player, key] = {name: float(k == best) for k, name in enumerate(learner.names[key])}
    return QTablePolicy(game, rows, learner, player)
