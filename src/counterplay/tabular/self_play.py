"""What fictitious self-play shares: the memory, the schedules, and the tree as episodes see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from counterplay.errors import ConfigError
from counterplay.policy import Policy, normalised_policy
from counterplay.tree import Floats, Ints, Tree, row_lengths


class Nodes(NamedTuple):
    """The arrays of a tree that an episode needs."""

    player: Ints  # [N]
    parent: Ints  # [N]
    child_offset: Ints  # [N + 1]
    chance: Floats  # [N]
    infoset: Ints  # [N]
    offset: Ints  # [I + 1]
    form_infoset: Ints  # [N] as a player with perfect recall tells them apart
    form_offset: Ints  # [I of form + 1]
    terminals: Ints  # [Z]
    utility: Floats  # [Z, P]
    most_children: Ints  # [1]


@dataclass
class SelfPlayMemory:
    """Action values, the average policy as counts, and the last C episodes of each player."""

    iteration: int
    q: Floats  # [S]
    count: Floats  # [S]
    episodes: Ints  # [P, C] their terminals
    stored: Ints  # [P] episodes ever put there
    random: Ints  # [4] state of the generator

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
        random=np.random.SeedSequence(seed).generate_state(4, np.uint64),
    )


def nodes_of(tree: Tree) -> Nodes:
    """The tree as episodes see it."""
    recall = tree.infoset if tree.perfect_recall else tree.recall_infoset
    most = int(row_lengths(tree.child_offset).max())
    return Nodes(
        player=tree.player,
        parent=tree.parent,
        child_offset=tree.child_offset,
        chance=tree.chance,
        infoset=tree.infoset,
        offset=tree.offset,
        form_infoset=recall,
        form_offset=tree.form.offset.astype(np.int32),
        terminals=tree.terminals,
        utility=tree.utility,
        most_children=np.array([most]),
    )


def schedule(memory: SelfPlayMemory, iterations: int, first: float, decay: float) -> Floats:
    """first / (1 + decay * sqrt(t)) for the next iterations t."""
    t = np.arange(memory.iteration + 1.0, memory.iteration + 1.0 + iterations)
    return first / (1.0 + decay * np.sqrt(t))


class SelfPlay:
    """What every kind of fictitious self-play makes of its memory."""

    temperature: float
    cooling: float

    def policy(self, tree: Tree, memory: SelfPlayMemory) -> Policy:
        return self.average_policy(tree, memory)

    def average_policy(self, tree: Tree, memory: SelfPlayMemory) -> Policy:
        """What has been counted, scaled; uniform where nothing was."""
        return normalised_policy(tree, memory.count)

    def current_policy(self, tree: Tree, memory: SelfPlayMemory) -> Policy:
        """The responses to the average policy."""
        temperature = schedule(memory, 1, self.temperature, self.cooling)[0]
        return response_policy(tree, memory, temperature)


def response_policy(tree: Tree, memory: SelfPlayMemory, temperature: float) -> Policy:
    """softmax(q / temperature) at every infoset."""
    first, counts = tree.offset[:-1], tree.num_actions
    top = np.maximum.reduceat(memory.q, first) if memory.q.size else memory.q
    return normalised_policy(tree, np.exp((memory.q - np.repeat(top, counts)) / temperature))


def check(algorithm: Any) -> None:
    """Refuse parameters outside their ranges; an algorithm has those of these it needs."""
    least = {"n": 0, "m": 1, "replays": 1, "capacity": 1}
    for name, low in least.items():
        value = getattr(algorithm, name, low)
        if value < low:
            raise ConfigError(f"{name} is {value}, must be at least {low}")
    for name in ("temperature", "rate"):
        value = getattr(algorithm, name, 1.0)
        if not 0.0 < value < np.inf:
            raise ConfigError(f"{name} is {value}, must be positive and finite")
    if getattr(algorithm, "rate", 1.0) > 1.0:
        raise ConfigError(f"rate is {algorithm.rate}, must be at most 1")
    for name in ("cooling", "rate_decay"):
        value = getattr(algorithm, name, 0.0)
        if not 0.0 <= value < np.inf:
            raise ConfigError(f"{name} is {value}, must be at least 0 and finite")
