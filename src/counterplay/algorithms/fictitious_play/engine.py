"""What fictitious self-play shares: the memory, the schedules, and the tree as episodes see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.sampling_view import chance_probabilities, node_rows
from counterplay.core.arena import Floats, Ints
from counterplay.core.policy import Policy, policy_from_weights


class EpisodeTree(NamedTuple):
    """What an episode needs of a tree, to be played and to be read backwards."""

    nodes: Ints  # [N] as `bundles.Arena` has them
    utility: Floats  # [Z, P]
    parent: Ints  # [N]
    terminals: Ints  # [Z]
    recall: Ints  # [N] infosets as a player with perfect recall tells them apart


class SelfPlayTables(NamedTuple):
    """The arrays of a memory that kernels change, and room for them to write policies in."""

    q: Floats  # [S]
    counts: Floats  # [S]
    policy: Floats  # [S + C] with the probabilities of chance behind it
    episodes: Ints  # [P, C]
    num_stored: Ints  # [P]


@dataclass
class SelfPlayMemory:
    """Action values, the average policy as counts, and the last C episodes of each player."""

    iteration: int
    q: Floats  # [S]
    count: Floats  # [S]
    episodes: Ints  # [P, C] their terminals
    num_stored: Ints  # [P] episodes ever put there
    seed: Ints  # [1]
    finished: ClassVar[bool] = False

    def find_mismatch(self, tree: TreeArena) -> str:
        """What is wrong with a memory from a file, or nothing: kernels trust its indices."""
        inside = (self.episodes >= 0) & (self.episodes < tree.num_terminals)
        return "" if inside.all() and (self.num_stored >= 0).all() else "episodes are no terminals"


def new_memory(tree: TreeArena, seed: int, replay_buffer_size: int) -> SelfPlayMemory:
    """Nothing learned, uniform play."""
    return SelfPlayMemory(
        iteration=0,
        q=np.zeros(tree.num_sequences),
        count=np.zeros(tree.num_sequences),
        episodes=np.zeros((tree.num_players, replay_buffer_size), np.int32),
        num_stored=np.zeros(tree.num_players, np.int64),
        seed=np.random.SeedSequence(seed).generate_state(1, np.uint64),
    )


def kernel_arguments(tree: TreeArena, memory: SelfPlayMemory) -> tuple[EpisodeTree, SelfPlayTables]:
    """Tree and memory as kernels take them."""
    recall = tree.infoset if tree.has_perfect_recall else tree.recall_infoset
    room = np.append(np.zeros(tree.num_sequences), chance_probabilities(tree))
    return (
        EpisodeTree(node_rows(tree), tree.utility, tree.parent, tree.terminals, recall),
        SelfPlayTables(memory.q, memory.count, room, memory.episodes, memory.num_stored),
    )


def iterate(
    tree: TreeArena, memory: Any, kernel: Any, schedules: Sequence[Floats], *settings: Any
) -> Any:
    """One iteration of a kernel per entry of the schedules; returns the memory."""
    rows = np.column_stack(schedules)
    kernel(memory.iteration + 1, memory.seed[0], rows, *settings, *kernel_arguments(tree, memory))
    memory.iteration += len(rows)
    return memory


def decay_schedule(memory: SelfPlayMemory, iterations: int, first: float, decay: float) -> Floats:
    """first / (1 + decay * sqrt(t)) for the next iterations t."""
    t = np.arange(memory.iteration + 1.0, memory.iteration + 1.0 + iterations)
    return first / (1.0 + decay * np.sqrt(t))


class FictitiousSelfPlay:
    """What every kind of fictitious self-play makes of its memory."""

    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    required_extra: ClassVar[str] = ""
    temperature: float
    temperature_decay: float

    def policies(self, tree: TreeArena, memory: SelfPlayMemory) -> dict[str, Policy]:
        """What has been counted, scaled, and the responses to it."""
        temperature = decay_schedule(memory, 1, self.temperature, self.temperature_decay)[0]
        return {
            "average": policy_from_weights(tree, memory.count),
            "current": response_policy(tree, memory, temperature),
        }


def response_policy(tree: TreeArena, memory: SelfPlayMemory, temperature: float) -> Policy:
    """softmax(q / temperature) at every infoset."""
    first, counts = tree.offset[:-1], tree.num_actions
    top = np.maximum.reduceat(memory.q, first) if memory.q.size else memory.q
    return policy_from_weights(tree, np.exp((memory.q - np.repeat(top, counts)) / temperature))
