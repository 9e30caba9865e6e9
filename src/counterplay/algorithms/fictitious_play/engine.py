"""The shared parts of fictitious self-play: memory, schedules and the arguments of its kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from counterplay.algorithms.cfr.engine import next_iterations
from counterplay.algorithms.game_requirements import utility_unit
from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.sampling_view import chance_probabilities, node_rows
from counterplay.core.arena import Floats, Ints
from counterplay.core.policy import Policy, policy_from_weights
from counterplay.core.settings import (
    NonNegative,
    NonNegativeInt,
    Positive,
    PositiveInt,
    PositiveProbability,
    settings,
)


class EpisodeTree(NamedTuple):
    """The arrays of a tree that kernels need to play an episode and to read it backwards."""

    nodes: Ints  # [N] as in `kernels.sampling.types.GameNodes`
    utility: Floats  # [Z, P]
    parent: Ints  # [N]
    terminals: Ints  # [Z]
    recall: Ints  # [N] infoset of a player with perfect recall


class SelfPlayTables(NamedTuple):
    """The arrays of a memory that kernels change, and scratch space for policies."""

    q: Floats  # [S]
    counts: Floats  # [S]
    policy: Floats  # [S + C] scratch, followed by the probabilities of chance
    episodes: Ints  # [P, C]
    num_stored: Ints  # [P]


@dataclass
class SelfPlayMemory:
    """Action values, the average policy as counts, and each player's buffer of C episodes."""

    iteration: int
    q: Floats  # [S]
    count: Floats  # [S]
    episodes: Ints  # [P, C] terminals of the last episodes
    num_stored: Ints  # [P] number of episodes ever stored
    seed: Ints  # [1]
    finished: ClassVar[bool] = False

    def find_mismatch(self, tree: TreeArena) -> str:
        """Return what is wrong with a memory read from a file, or ""; kernels trust its indices."""
        is_terminal = (self.episodes >= 0) & (self.episodes < tree.num_terminals)
        if is_terminal.all() and (self.num_stored >= 0).all():
            return ""
        return "episodes are no terminals"


Memory = TypeVar("Memory", bound=SelfPlayMemory)


def new_memory(tree: TreeArena, seed: int, replay_buffer_size: int) -> SelfPlayMemory:
    """Return a memory with zero action values, zero counts and empty buffers."""
    return SelfPlayMemory(
        iteration=0,
        q=np.zeros(tree.num_sequences),
        count=np.zeros(tree.num_sequences),
        episodes=np.zeros((tree.num_players, replay_buffer_size), np.int32),
        num_stored=np.zeros(tree.num_players, np.int64),
        seed=np.random.SeedSequence(seed).generate_state(1, np.uint64),
    )


def kernel_arguments(tree: TreeArena, memory: SelfPlayMemory) -> tuple[EpisodeTree, SelfPlayTables]:
    """Return a tree and a memory in the records that kernels take."""
    recall = tree.infoset if tree.has_perfect_recall else tree.recall_infoset
    policy = np.append(np.zeros(tree.num_sequences), chance_probabilities(tree))
    return (
        EpisodeTree(node_rows(tree), tree.utility, tree.parent, tree.terminals, recall),
        SelfPlayTables(memory.q, memory.count, policy, memory.episodes, memory.num_stored),
    )


def iterate(
    tree: TreeArena,
    memory: Memory,
    kernel: Callable[..., object],
    schedules: Sequence[Floats],
    *arguments: Any,
) -> Memory:
    """Run a kernel for one iteration per entry of the schedules [T] and return the memory."""
    rows = np.column_stack(schedules)
    kernel(memory.iteration + 1, memory.seed[0], rows, *arguments, *kernel_arguments(tree, memory))
    memory.iteration += len(rows)
    return memory


def decay_schedule(memory: SelfPlayMemory, iterations: int, first: float, decay: float) -> Floats:
    """Return first / (1 + decay * sqrt(t)) for the next iterations t."""
    return first / (1.0 + decay * np.sqrt(next_iterations(memory, iterations)))


def response_policy(tree: TreeArena, memory: SelfPlayMemory, temperature: float) -> Policy:
    """Return softmax(q / temperature) at every infoset."""
    first, counts = tree.offset[:-1], tree.num_actions
    top = np.maximum.reduceat(memory.q, first) if memory.q.size else memory.q
    return policy_from_weights(tree, np.exp((memory.q - np.repeat(top, counts)) / temperature))


class FictitiousSelfPlay:
    """Base class of fictitious self-play: reads policies from the memory."""

    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    required_extra: ClassVar[str] = ""
    temperature: float
    temperature_decay: float
    normalize_utilities: bool

    def policies(self, tree: TreeArena, memory: SelfPlayMemory) -> dict[str, Policy]:
        """Return the average policy (the normalised counts) and the responses to it."""
        temperature = self.temperatures(tree, memory, 1)[0]
        return {
            "average": policy_from_weights(tree, memory.count),
            "current": response_policy(tree, memory, temperature),
        }

    def temperatures(self, tree: TreeArena, memory: SelfPlayMemory, iterations: int) -> Floats:
        """Return the temperatures of the next iterations, in the game's units."""
        first = self.temperature * utility_unit(tree, self.normalize_utilities)
        return decay_schedule(memory, iterations, first, self.temperature_decay)


@settings()
class QLearningSelfPlay(FictitiousSelfPlay):
    """Parameters of fictitious self-play with Q-learning.

    Defaults are those of Heinrich's thesis (2017, 5.6.2), tuned on Leduc poker, except the first
    temperature: the thesis's is 0.22 times the scale of utilities there; 0.7 is better in Kuhn
    poker, Leduc poker and Goofspiel.
    """

    num_self_play_episodes: NonNegativeInt = 2  # self-play episodes per iteration
    num_response_episodes: PositiveInt = 1  # episodes of a player's response, per iteration
    num_replays: PositiveInt = 30  # episodes that Q-learning reads per player and iteration
    replay_buffer_size: PositiveInt = 40_000  # episodes in the buffer of a player
    learning_rate: PositiveProbability = 0.05  # Q-learning's first step size
    learning_rate_decay: NonNegative = 0.003
    temperature: Positive = 0.7  # of the first response, for utilities divided by their scale
    temperature_decay: NonNegative = 0.02
    normalize_utilities: bool = True  # divide utilities by the game's scale

    def init(self, tree: TreeArena, seed: int = 0) -> SelfPlayMemory:
        """Return a memory with zero action values, zero counts and empty buffers."""
        return new_memory(tree, seed, self.replay_buffer_size)

    def learning_rates(self, memory: SelfPlayMemory, iterations: int) -> Floats:
        """Return Q-learning's step sizes in the next iterations."""
        return decay_schedule(memory, iterations, self.learning_rate, self.learning_rate_decay)

    @property
    def episode_counts(self) -> tuple[int, int, int]:
        """The numbers of episodes of an iteration, as kernels take them."""
        return self.num_self_play_episodes, self.num_response_episodes, self.num_replays
