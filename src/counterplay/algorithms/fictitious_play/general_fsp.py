"""General fictitious self-play: any mixing schedule, any reinforcement and supervised learner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.core.policy import Policy, policy_from_weights, uniform_policy
from counterplay.errors import ConfigError

END_OF_EPISODE = -1  # in place of the next infoset


class Transition(NamedTuple):
    """A decision of a player in an episode."""

    infoset: int
    action: int  # its index among the legal ones
    reward: float  # 0 before the end, where it is the player's utility
    next_infoset: int  # the player's next, or END_OF_EPISODE


class Behaviour(NamedTuple):
    """A decision of a player who followed its response."""

    infoset: int
    action: int  # its index among the legal ones
    probabilities: Floats  # of the response there


class ReinforcementLearner(Protocol):
    """Learns approximate best responses of one player from its transitions."""

    def update(self, episodes: Sequence[Sequence[Transition]]) -> None:
        """Store the player's episodes of an iteration, and learn."""
        ...

    def policy(self) -> Floats:
        """Return the response [S]; only the entries of the player's infosets are used."""
        ...


class SupervisedLearner(Protocol):
    """Learns the average policy of one player from its responses."""

    def update(self, behaviour: Sequence[Behaviour], decay: float) -> None:
        """Multiply the weight of all earlier data by `decay`, add data of weight 1, and learn."""
        ...

    def policy(self) -> Floats:
        """Return the average policy [S]; only the entries of the player's infosets are used."""
        ...


@dataclass
class QTable:
    """Q-learning in a table, from a buffer of episodes; responses are softmax(q / temperature).

    Step size and temperature fall as 1 / (1 + decay * sqrt(iteration)).
    """

    tree: TreeArena
    rng: np.random.Generator
    learning_rate: float = 0.1
    learning_rate_decay: float = 0.003
    temperature: float = 1.0
    temperature_decay: float = 0.1
    num_replays: int = 30  # episodes that are read per iteration
    buffer_size: int = 5_000
    iteration: int = 0
    episodes: list[Sequence[Transition]] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self.q = np.zeros(self.tree.num_sequences)

    def update(self, episodes: Sequence[Sequence[Transition]]) -> None:
        self.iteration += 1
        self.episodes = [*self.episodes, *filter(None, episodes)][-self.buffer_size :]
        rate = self.learning_rate / (1.0 + self.learning_rate_decay * self.iteration**0.5)
        offset = self.tree.offset
        for number in self.rng.integers(len(self.episodes), size=self.num_replays):
            for infoset, action, reward, following in reversed(self.episodes[number]):
                best = 0.0
                if following != END_OF_EPISODE:
                    best = self.q[offset[following] : offset[following + 1]].max()
                entry = offset[infoset] + action
                self.q[entry] += rate * (reward + best - self.q[entry])

    def policy(self) -> Floats:
        temperature = self.temperature / (1.0 + self.temperature_decay * self.iteration**0.5)
        largest = np.maximum.reduceat(self.q, self.tree.offset[:-1])
        weights = np.exp((self.q - np.repeat(largest, self.tree.num_actions)) / temperature)
        return policy_from_weights(self.tree, weights).probabilities


@dataclass
class CountingModel:
    """The average policy as normalised sums of responses at visited infosets."""

    tree: TreeArena
    rng: np.random.Generator

    def __post_init__(self) -> None:
        self.counts = np.zeros(self.tree.num_sequences)

    def update(self, behaviour: Sequence[Behaviour], decay: float) -> None:
        self.counts *= decay
        for infoset, _, probabilities in behaviour:
            first = self.tree.offset[infoset]
            self.counts[first : first + len(probabilities)] += probabilities

    def policy(self) -> Floats:
        return policy_from_weights(self.tree, self.counts).probabilities


LearnerFactory = Callable[[TreeArena, np.random.Generator], Any]


def harmonic_mixing(t: int) -> float:
    """Return 1 / (t + 1), with which all responses weigh the same."""
    return 1.0 / (t + 1.0)


@dataclass
class GeneralFSPMemory:
    """Policies of all players, their learners, and the random numbers."""

    iteration: int
    average: Floats  # [S]
    response: Floats  # [S]
    reinforcement: list[ReinforcementLearner]  # by player
    supervised: list[SupervisedLearner]  # by player
    rng: np.random.Generator
    finished: ClassVar[bool] = False


@dataclass(frozen=True)
class GeneralFSP:
    """General fictitious self-play (Heinrich, Lanctot and Silver, 2015). At t = 1, 2, ...:

        eta      = mixing(t)
        mixture  = each player follows, for a whole episode, its response with probability eta,
                   else its average policy
        data     = num_mixture_episodes episodes of the mixture, and for each player
                   num_response_episodes with its response against the mixture
        response = what the reinforcement learner makes of the player's transitions
        average  = what the supervised learner makes of the player's responses, weighted such that
                   average_t = (1 - eta) * average_{t-1} + eta * response_t

    The weight of earlier responses is multiplied by eta_{t-1} * (1 - eta_t) / eta_t, which is 1 for
    the schedule 1 / (t + 1); the uniform policy before the first response has no weight. A constant
    eta forgets old responses and does not converge. Learners
    are any objects with the methods of `ReinforcementLearner` and `SupervisedLearner`. Runs with
    learners in Python are slow and cannot be saved: `fsp` is the compiled algorithm for tables with
    the harmonic schedule.

    Example:
        >>> import counterplay as cp
        >>> result = cp.solve("kuhn_poker", cp.algorithms.GeneralFSP(), iterations=20)
        >>> sorted(result.policies)
        ['average', 'current']
    """

    mixing: Callable[[int], float] = harmonic_mixing
    new_reinforcement: LearnerFactory = QTable
    new_supervised: LearnerFactory = CountingModel
    num_mixture_episodes: int = 2
    num_response_episodes: int = 1
    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    required_extra: ClassVar[str] = ""

    def init(self, tree: TreeArena, seed: int = 0) -> GeneralFSPMemory:
        """Return a memory with the uniform policy and new learners."""
        if not tree.has_perfect_recall:
            raise ConfigError(f"general fictitious self-play needs perfect recall: {tree.spec}")
        rng = np.random.default_rng(seed)
        players = range(tree.num_players)
        uniform = uniform_policy(tree).probabilities
        return GeneralFSPMemory(
            0,
            uniform.copy(),
            uniform.copy(),
            [self.new_reinforcement(tree, rng) for _ in players],
            [self.new_supervised(tree, rng) for _ in players],
            rng,
        )

    def step(
        self, tree: TreeArena, memory: GeneralFSPMemory, iterations: int = 1
    ) -> GeneralFSPMemory:
        """Run iterations in place and return the memory."""
        for _ in range(iterations):
            memory.iteration += 1
            self._iterate(tree, memory)
        return memory

    def policies(self, tree: TreeArena, memory: GeneralFSPMemory) -> dict[str, Policy]:
        """Return the average policy and the responses to it."""
        average, response = memory.average.copy(), memory.response.copy()
        return {"average": Policy(tree, average), "current": Policy(tree, response)}

    def _iterate(self, tree: TreeArena, memory: GeneralFSPMemory) -> None:
        t = memory.iteration
        eta, previous = self._mixing_at(t), self._mixing_at(max(t - 1, 1))
        decay = previous * (1.0 - eta) / eta
        by_player = range(tree.num_players)
        shared = [self._play(tree, memory, eta) for _ in range(self.num_mixture_episodes)]
        average, response = memory.average.copy(), memory.response.copy()
        for player in by_player:
            own = [self._play(tree, memory, eta, player) for _ in range(self.num_response_episodes)]
            transitions = [episode[player] for episode in (*shared, *own)]
            behaviour = [
                Behaviour(step.infoset, step.action, _row(tree, memory.response, step.infoset))
                for episode in own
                for step in episode[player]
            ]
            memory.reinforcement[player].update(transitions)
            memory.supervised[player].update(behaviour, decay)
            is_own = np.repeat(tree.infoset_player == player, tree.num_actions)
            response[is_own] = memory.reinforcement[player].policy()[is_own]
            average[is_own] = memory.supervised[player].policy()[is_own]
        memory.average, memory.response = average, response

    def _mixing_at(self, t: int) -> float:
        eta = float(self.mixing(t))
        if not 0.0 < eta <= 1.0:
            raise ConfigError(f"mixing({t}) is {eta:g}, must be above 0 and at most 1")
        return eta

    def _play(
        self, tree: TreeArena, memory: GeneralFSPMemory, eta: float, responder: int = -1
    ) -> list[list[Transition]]:
        """Play an episode of the mixture, and return the transitions of each player."""
        rng, node = memory.rng, 0
        responds = rng.random(tree.num_players) < eta
        if responder >= 0:
            responds[responder] = True
        decisions: list[list[tuple[int, int]]] = [[] for _ in range(tree.num_players)]
        while (player := int(tree.player[node])) != TERMINAL:
            first, last = tree.child_offset[node : node + 2].tolist()
            if player == CHANCE:
                node = int(rng.choice(np.arange(first, last), p=tree.chance[first:last]))
                continue
            infoset = int(tree.infoset[node])
            row = _row(tree, memory.response if responds[player] else memory.average, infoset)
            action = int(rng.choice(len(row), p=row / row.sum()))
            decisions[player].append((infoset, action))
            node = first + action
        utilities = tree.utility[int(np.searchsorted(tree.terminals, node))]
        return [
            [
                Transition(
                    infoset,
                    action,
                    float(utilities[player]) if k + 1 == len(own) else 0.0,
                    END_OF_EPISODE if k + 1 == len(own) else own[k + 1][0],
                )
                for k, (infoset, action) in enumerate(own)
            ]
            for player, own in enumerate(decisions)
        ]


def _row(tree: TreeArena, values: Floats, infoset: int) -> Floats:
    return values[tree.offset[infoset] : tree.offset[infoset + 1]]
