"""Draw states that a player cannot tell from the actual one: determinisation.

Searchers for hidden information start from such states. A sampler returns histories, the actions
from the initial state on, with the states they lead to. Their probabilities are those of chance and
of a model of the other players, uniform by default, given the player's infoset.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.node_values import incoming_probabilities
from counterplay.arenas.tree.replay import iter_states, node_history
from counterplay.core.game import CHANCE, TERMINAL, Game, State
from counterplay.core.policy import Policy, uniform_policy
from counterplay.play.episodes import sample_index

PolicyModel = Callable[[State, int], Sequence[float]]  # state, player -> action probabilities

NUM_PARTICLES = 200  # histories kept per infoset
MAX_ATTEMPTS = 20_000  # simulations per infoset


class SampledHistory(NamedTuple):
    """A history of an infoset and its state."""

    actions: tuple[int, ...]
    state: State


class StateSampler(Protocol):
    """Draws histories that a player cannot tell from the actual one."""

    def histories(self, state: State, player: int) -> Sequence[SampledHistory]:
        """Return different histories of the player's infoset, or draws of them; maybe none."""
        ...

    def draw(self, state: State, player: int, rng: random.Random) -> SampledHistory | None:
        """Return a random history of the player's infoset; None if none is known."""
        ...


class RulesStateSampler:
    """Simulates the rules from the player's last infoset, and keeps what leads to the present one.

    During an episode each decision starts from the histories of the decision before, so that only
    the part since then is simulated. Questions out of order are simulated from the start.

    Args:
        game: the rules.
        seed: seed of the simulations.
        model: how the other players act; uniformly by default.
    """

    def __init__(self, game: Game, seed: int = 0, model: PolicyModel | None = None):
        self.game, self.model, self.rng = game, model, random.Random(seed)
        self.pools: dict[tuple[int, str], list[SampledHistory]] = {}
        self.last_key: dict[int, tuple[int, str]] = {}

    def histories(self, state: State, player: int) -> list[SampledHistory]:
        key = player, self.game.infoset_key(state, player)
        if key not in self.pools:
            sources = self.pools.get(self.last_key.get(player, (-1, "")), [])
            pool = self._simulate(key, sources) if sources else []
            start = [SampledHistory((), self.game.initial_state())]
            self.pools[key] = pool or self._simulate(key, start)
        self.last_key[player] = key
        return self.pools[key]

    def draw(self, state: State, player: int, rng: random.Random) -> SampledHistory | None:
        pool = self.histories(state, player)
        return rng.choice(pool) if pool else None

    def _simulate(
        self, key: tuple[int, str], sources: Sequence[SampledHistory]
    ) -> list[SampledHistory]:
        """Return histories of an infoset that follow some sources."""
        pool: list[SampledHistory] = []
        for _ in range(MAX_ATTEMPTS):
            reached = self._play_until(key, self.rng.choice(sources))
            if reached is not None:
                pool.append(reached)
                if len(pool) == NUM_PARTICLES:
                    break
        return pool

    def _play_until(self, key: tuple[int, str], start: SampledHistory) -> SampledHistory | None:
        """Return the first history of an infoset in a simulated episode, or None."""
        game, (player, name) = self.game, key
        history, state = list(start.actions), start.state
        while (acting := game.player(state)) != TERMINAL:
            if acting == player and game.infoset_key(state, player) == name:
                return SampledHistory(tuple(history), state)
            if acting == CHANCE:
                actions, weights = zip(*game.chance_outcomes(state), strict=True)
                (action,) = self.rng.choices(actions, weights)
            elif acting == player or self.model is None:
                action = self.rng.choice(game.actions(state))
            else:
                row = self.model(state, acting)
                action = game.actions(state)[sample_index(row, self.rng.random())]
            history.append(action)
            state = game.next_state(state, action)
        return None


class TreeStateSampler:
    """Draws from the histories of an infoset in a tree, by their exact probabilities.

    Args:
        tree: the tree of the game.
        model: the policy of the other players; uniform by default.
    """

    def __init__(self, tree: TreeArena, model: Policy | None = None):
        self.tree = tree
        policy = model or uniform_policy(tree)
        step = incoming_probabilities(tree, policy.probabilities)
        reach = np.ones((tree.num_nodes, tree.num_players))  # without each player's own actions
        for first, last in zip(tree.level_offset[1:-1], tree.level_offset[2:], strict=True):
            parent = tree.parent[first:last]
            is_own = tree.player[parent][:, None] == np.arange(tree.num_players)
            reach[first:last] = reach[parent] * np.where(is_own, 1.0, step[first:last, None])
        self.pools: list[list[SampledHistory]] = [[] for _ in range(tree.num_infosets)]
        self.weights: list[list[float]] = [[] for _ in range(tree.num_infosets)]
        for node, state in enumerate(iter_states(tree)):
            player, infoset = int(tree.player[node]), int(tree.infoset[node])
            if player >= 0:
                history = SampledHistory(tuple(node_history(tree, node)), state)
                self.pools[infoset].append(history)
                self.weights[infoset].append(float(reach[node, player]))

    def histories(self, state: State, player: int) -> list[SampledHistory]:
        return self.pools[self._infoset(state, player)]

    def draw(self, state: State, player: int, rng: random.Random) -> SampledHistory | None:
        infoset = self._infoset(state, player)
        weights = self.weights[infoset]
        if not sum(weights) > 0.0:
            return rng.choice(self.pools[infoset])
        return self.pools[infoset][sample_index(weights, rng.random())]

    def _infoset(self, state: State, player: int) -> int:
        return self.tree.find_infoset(self.tree.game.infoset_key(state, player), player)
