"""What lets an algorithm with networks run where there is no tree.

Such an algorithm says, beside `start`, `iteration` and `tables` of `device`:

    speaking(state)                     the networks that act
    acting(graph, nets)                 their policies [I, A], and what to sample from [I, A]
    learned(graph, t, state, episodes, key)   the state after an iteration, given its episodes
    networks(state)                     its answers by name: networks, their weights, and the head

On a tree an iteration is `acting` at all infosets, `episodes.sample` and `learned`, in one program.
Here episodes are played on the host (`batches`), one call of `acting` a turn, and `learned` sees
the graph of what was met. Where an iteration is more than that, `played` says what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar, Self

import jax
import numpy as np

from counterplay.arena import is_exact
from counterplay.deep import batches
from counterplay.deep.device import DeviceMemory, OnDevice, OnHost, compiled
from counterplay.deep.network_policy import NetworkPolicy
from counterplay.deep.stepping import Rules, known_rules
from counterplay.game import Game
from counterplay.observing import with_observations
from counterplay.registry import spec_of
from counterplay.tree import Tree


@dataclass
class RulesMemory(DeviceMemory):
    """The same, and how many decisions there were."""

    touched: int = 0

    @property
    def size(self) -> Learned:
        leaves = jax.tree.leaves(self.state)
        return Learned(self.touched, sum(leaf.size * leaf.dtype.itemsize for leaf in leaves))


@dataclass(frozen=True)
class Learned:
    """How far a run on the rules has come."""

    touched: int  # decisions
    num_bytes: int  # of all that is kept

    def measured(self) -> dict[str, float]:
        return {"touched": self.touched, "bytes": self.num_bytes}


class OnEither(OnDevice):
    """The adapter of algorithms that run on a tree, and on rules: no update rule of its own."""

    runs_on: ClassVar[tuple[str, ...]] = ("tree", "episodes", "rules")
    episodes: int

    def speaking(self, state: Any) -> Any:
        raise NotImplementedError

    def acting(self, graph: Any, nets: Any) -> tuple[jax.Array, jax.Array]:
        raise NotImplementedError

    def learned(self, graph: Any, t: Any, state: Any, seen: Any, key: jax.Array) -> Any:
        raise NotImplementedError

    def networks(self, state: Any) -> dict[str, Any]:
        raise NotImplementedError

    def check_rules(self) -> None:
        """Refuse choices that only a tree allows."""

    def for_rules(self) -> Self:
        """Return the algorithm with settings that suit rules where the user left them open."""
        return self

    def init(self, arena: Any, seed: int = 0) -> DeviceMemory:
        if isinstance(arena, Tree):
            return super().init(arena, seed)
        chosen = self.for_rules()
        chosen.check_rules()
        graph = batches.no_graph(rules_on(arena))
        state = chosen.start(graph, np.random.default_rng(seed))
        return RulesMemory(0, jax.random.PRNGKey(seed), jax.device_put(state))

    def step(self, arena: Any, memory: Any, iterations: int = 1) -> Any:
        if isinstance(arena, Tree):
            return super().step(arena, memory, iterations)
        chosen = self.for_rules()
        rules, state, touched = rules_on(arena), memory.state, memory.touched
        for n in range(memory.iteration, memory.iteration + iterations):
            state, count = chosen.played(rules, n + 1, state, jax.random.fold_in(memory.key, n))
            touched += count
        return RulesMemory(memory.iteration + iterations, memory.key, state, touched)

    def played(self, rules: Rules, t: int, state: Any, key: jax.Array) -> tuple[Any, int]:
        """The state after an iteration on rules, and how many decisions that had."""
        play_key, learn_key = jax.random.split(key)
        ask = partial(_act(), self, rules.num_players, self.speaking(state))
        met, count = batches.play(rules, ask, batches.rng_of(play_key), self.episodes)
        return _learn()(self, rules.num_players, t, state, met, learn_key), count

    def policies(self, arena: Any, memory: Any) -> Any:
        if isinstance(arena, Tree):
            return super().policies(arena, memory)
        state = jax.tree.map(np.asarray, memory.state)
        return answers(arena, self.for_rules().networks(state))


class OnEitherHost(OnHost):
    """The same for algorithms that walk on the host: their functions know both arenas."""

    runs_on: ClassVar[tuple[str, ...]] = ("tree", "episodes", "rules")

    def networks(self, state: Any) -> dict[str, Any]:
        raise NotImplementedError

    def for_rules(self, rules: Rules) -> Self:
        """Return the algorithm with settings that suit the rules where the user left them open."""
        return self

    def step(self, arena: Any, memory: Any, iterations: int = 1) -> Any:
        if isinstance(arena, Tree):
            return super().step(arena, memory, iterations)
        done = OnHost.step(self.for_rules(rules_on(arena)), arena, memory, iterations)
        return RulesMemory(done.iteration, done.key, done.state, int(done.state.walks.touched))

    def init(self, arena: Any, seed: int = 0) -> Any:
        if isinstance(arena, Tree):
            return super().init(arena, seed)
        made = OnHost.init(self.for_rules(rules_on(arena)), arena, seed)
        return RulesMemory(0, made.key, made.state)

    def policies(self, arena: Any, memory: Any) -> Any:
        if isinstance(arena, Tree):
            return super().policies(arena, memory)
        chosen = self.for_rules(rules_on(arena))
        return answers(arena, chosen.networks(jax.tree.map(np.asarray, memory.state)))


def is_two_player_zero_sum(arena: Any) -> bool:
    """Return True if two players' utilities cancel; on rules, those of some random episodes."""
    if arena.num_players != 2:
        return False
    if isinstance(arena, Tree):
        return arena.zero_sum
    utility = rules_on(arena).some_utilities
    return bool(np.abs(utility.sum(axis=1)).max() <= 1e-9 * np.abs(utility).max())


def answers(arena: Any, networks: Mapping[str, Any]) -> dict[str, Any]:
    """Networks as policies; tables of the arena where it is exact, since such are judged there."""
    found: dict[str, Any] = {}
    for name, (nets, weights, head) in networks.items():
        policy = NetworkPolicy(game_of(arena), tuple(nets), head, tuple(weights))
        found[name] = policy.on(arena) if is_exact(arena) else policy
    return found


@dataclass(frozen=True, eq=False)
class Responding:
    """One player's game as an arena: the others are part of the rules."""

    game: Game
    stepping: Rules
    offers: ClassVar[tuple[str, ...]] = ("rules",)

    @property
    def spec(self) -> str:
        return spec_of(self.game)

    @property
    def num_players(self) -> int:
        return self.game.num_players


def game_of(arena: Any) -> Game:
    """The rules of an arena that offers them, with observations for networks."""
    game: Game = with_observations(arena.game if hasattr(arena, "game") else arena.rules)
    return game


def rules_on(arena: Any) -> Rules:
    """The rules of an arena, ready for many states at once."""
    if isinstance(arena, Responding):
        return arena.stepping
    return known_rules(game_of(arena))


@lru_cache
def _act() -> Callable[..., Any]:
    @partial(compiled, static_argnums=(0, 1))
    def act(algorithm: Any, players: int, nets: Any, seen: Any, legal: Any) -> Any:
        return algorithm.acting(batches.graph_of_rows(seen[None], legal, players), nets)

    return act


@lru_cache
def _learn() -> Callable[..., Any]:
    @partial(compiled, static_argnums=(0, 1), donate_argnums=3)
    def learn(algorithm: Any, players: int, t: Any, state: Any, met: Any, key: Any) -> Any:
        return algorithm.learned(met.graph(players), t, state, met.episodes, key)

    return learn
