"""What fictitious self-play shares: the memory, the schedules, and the tree as episodes see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from counterplay.policy import Policy, normalised_policy
from counterplay.tree import Floats, Ints, Tree
from counterplay.tree.walking import chance_policy, rows


class Paths(NamedTuple):
    """What an episode needs of a tree, to be played and to be read backwards."""

    nodes: Ints  # [N] as `bundles.Arena` has them
    utility: Floats  # [Z, P]
    parent: Ints  # [N]
    terminals: Ints  # [Z]
    recall: Ints  # [N] infosets as a player with perfect recall tells them apart


class Learned(NamedTuple):
    """The arrays of a memory that kernels change, and room for them to write policies in."""

    q: Floats  # [S]
    counts: Floats  # [S]
    policy: Floats  # [S + C] with the probabilities of chance behind it
    episodes: Ints  # [P, C]
    stored: Ints  # [P]


@dataclass
class SelfPlayMemory:
    """Action values, the average policy as counts, and the last C episodes of each player."""

    iteration: int
    q: Floats  # [S]
    count: Floats  # [S]
    episodes: Ints  # [P, C] their terminals
    stored: Ints  # [P] episodes ever put there
    seed: Ints  # [1]
    finished: ClassVar[bool] = False

    def problem(self, tree: Tree) -> str:
        """What is wrong with a memory from a file, or nothing: kernels trust its indices."""
        inside = (self.episodes >= 0) & (self.episodes < tree.num_terminals)
        return "" if inside.all() and (self.stored >= 0).all() else "episodes are no terminals"


def new_memory(tree: Tree, seed: int, capacity: int) -> SelfPlayMemory:
    """Nothing learned, uniform play."""
    return SelfPlayMemory(
        iteration=0,
        q=np.zeros(tree.num_sequences),
        count=np.zeros(tree.num_sequences),
        episodes=np.zeros((tree.num_players, capacity), np.int32),
        stored=np.zeros(tree.num_players, np.int64),
        seed=np.random.SeedSequence(seed).generate_state(1, np.uint64),
    )


def bundles(tree: Tree, memory: SelfPlayMemory) -> tuple[Paths, Learned]:
    """Tree and memory as kernels take them."""
    recall = tree.infoset if tree.perfect_recall else tree.recall_infoset
    room = np.append(np.zeros(tree.num_sequences), chance_policy(tree))
    return (
        Paths(rows(tree), tree.utility, tree.parent, tree.terminals, recall),
        Learned(memory.q, memory.count, room, memory.episodes, memory.stored),
    )


def iterate(tree: Tree, memory: Any, kernel: Any, schedules: Sequence[Floats], *rest: Any) -> Any:
    """One iteration of a kernel per entry of the schedules; returns the memory."""
    rows = np.column_stack(schedules)
    kernel(memory.iteration + 1, memory.seed[0], rows, *rest, *bundles(tree, memory))
    memory.iteration += len(rows)
    return memory


def schedule(memory: SelfPlayMemory, iterations: int, first: float, decay: float) -> Floats:
    """first / (1 + decay * sqrt(t)) for the next iterations t."""
    t = np.arange(memory.iteration + 1.0, memory.iteration + 1.0 + iterations)
    return first / (1.0 + decay * np.sqrt(t))


class SelfPlay:
    """What every kind of fictitious self-play makes of its memory."""

    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    needs: ClassVar[str] = ""
    temperature: float
    cooling: float

    def policies(self, tree: Tree, memory: SelfPlayMemory) -> dict[str, Policy]:
        """What has been counted, scaled, and the responses to it."""
        temperature = schedule(memory, 1, self.temperature, self.cooling)[0]
        return {
            "average": normalised_policy(tree, memory.count),
            "current": response_policy(tree, memory, temperature),
        }


def response_policy(tree: Tree, memory: SelfPlayMemory, temperature: float) -> Policy:
    """softmax(q / temperature) at every infoset."""
    first, counts = tree.offset[:-1], tree.num_actions
    top = np.maximum.reduceat(memory.q, first) if memory.q.size else memory.q
    return normalised_policy(tree, np.exp((memory.q - np.repeat(top, counts)) / temperature))
