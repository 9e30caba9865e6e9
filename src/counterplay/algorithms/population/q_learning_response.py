"""A response learned by playing, with tables: for rules that are never unrolled."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from counterplay.algorithms.population.oracles import Response, WeightedPolicy
from counterplay.arenas.rules import RulesArena, TabularPolicy
from counterplay.core.game import Game, State
from counterplay.core.game_checks import action_names, key_problem
from counterplay.core.settings import settings
from counterplay.errors import ConfigError
from counterplay.play.episodes import play_episode, sample_index

PolicyRows = dict[tuple[int, str], dict[str, float]]


@dataclass
class EpsilonGreedyQ:
    """A contestant that tries actions, and keeps what each was worth."""

    game: Game
    epsilon: float
    values: dict[str, list[float]] = field(default_factory=dict)  # by infoset key and action
    visits: dict[str, list[int]] = field(default_factory=dict)
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    parent_sequences: dict[str, tuple[str, int]] = field(
        default_factory=dict
    )  # own infoset and action

    def action_probabilities(self, state: State, player: int) -> list[float]:
        key = self.game.infoset_key(state, player)
        if key not in self.values:
            if problem := key_problem(key, player):
                raise TypeError(problem)  # the caller plays the episode and adds the history
            actions = self.game.actions(state)
            self.values[key], self.visits[key] = [0.0] * len(actions), [0] * len(actions)
            self.names[key] = action_names(self.game, state, actions)
        values = self.values[key]
        odds = [self.epsilon / len(values)] * len(values)
        odds[values.index(max(values))] += 1.0 - self.epsilon
        return odds

    def observe(self, steps: Sequence[Any], player: int, utility: float) -> None:
        """Learn from an episode, from its end: what follows an action is the best of the next."""
        worth, mine = utility, [step for step in steps if step.player == player]
        places = [
            (self.game.infoset_key(step.state, player), list(step.actions).index(step.action))
            for step in mine
        ]
        self.parent_sequences |= {key: above for above, (key, _) in pairwise(places)}
        for key, k in reversed(places):
            self.visits[key][k] += 1
            rate = self.visits[key][k] ** -0.75
            self.values[key][k] += rate * (worth - self.values[key][k])
            worth = max(self.values[key])


@settings()
class QLearningResponse:
    """A response by Q-learning with tables (Watkins, 1989). In each episode one of the opponents is
    drawn, the player explores with probability epsilon, and then, from its last action back:

        q(infoset, a) = q + n**(-3/4) * (worth - q),   n visits of a there
        worth         = the utility after its last action, max of q at its next infoset before

    The response takes the best action everywhere it has been, and is uniform elsewhere. It needs
    only rules and opponents that say their odds, which is all that a network would need.
    """

    num_episodes: int = 20_000
    epsilon: float = 0.3
    evaluation_episodes: int = 1_000  # episodes without exploring, for the value
    runs_on: ClassVar[tuple[str, ...]] = ("rules",)

    def __post_init__(self) -> None:
        if self.num_episodes < 1 or self.evaluation_episodes < 1:
            raise ConfigError(
                "q_learning_response: num_episodes and evaluation_episodes must be at least 1"
            )
        if not 0.0 < self.epsilon <= 1.0:
            raise ConfigError(f"q_learning_response: epsilon is {self.epsilon}, must be above 0")

    def respond(
        self,
        arena: RulesArena,
        player: int,
        opponents: Sequence[WeightedPolicy],
        seed: int = 0,
        previous: Any = None,
    ) -> Response:
        """The response; from `start`, an earlier one, what was learned is gone on with."""
        game, rng = arena.game, np.random.default_rng(seed)
        learner = (
            EpsilonGreedyQ(game, self.epsilon) if previous is None else deepcopy(previous.learner)
        )
        weights = [part.weight for part in opponents]
        total = 0.0
        for number in range(self.num_episodes + self.evaluation_episodes):
            learner.epsilon = self.epsilon if number < self.num_episodes else 0.0
            seats = [opponents[sample_index(weights, rng.random())].policy] * game.num_players
            seats[player] = learner
            episode = play_episode(game, seats, seed, number)
            if number < self.num_episodes:
                learner.observe(episode.steps, player, episode.utilities[player])
            else:
                total += episode.utilities[player]
        return Response(_greedy_policy(game, learner, player), total / self.evaluation_episodes)


class QTablePolicy(TabularPolicy):
    """A policy at the infosets met, and the own infoset and action, by place, before each."""

    def __init__(self, game: Game, rows: PolicyRows, learner: EpsilonGreedyQ, player: int):
        super().__init__(game, rows)
        self.learner = learner
        self.parent_sequences = {
            (player, key): above for key, above in learner.parent_sequences.items()
        }


def _greedy_policy(game: Game, learner: EpsilonGreedyQ, player: int) -> QTablePolicy:
    """The best action at every infoset met."""
    rows: PolicyRows = {}
    for key, values in learner.values.items():
        best = values.index(max(values))
        rows[player, key] = {name: float(k == best) for k, name in enumerate(learner.names[key])}
    return QTablePolicy(game, rows, learner, player)
