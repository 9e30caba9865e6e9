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
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, ClassVar, Self

import jax
import numpy as np

from counterplay.algorithms.deep.common import rollouts
from counterplay.algorithms.deep.common.batched_env import BatchedEnv, get_env
from counterplay.algorithms.deep.common.jax_algorithm import (
    HostAlgorithm,
    JaxAlgorithm,
    JaxMemory,
    persistent_jit,
)
from counterplay.algorithms.deep.common.network_policy import NetworkPolicy
from counterplay.algorithms.deep.common.utility_scale import estimate_utility_scale
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import is_exact
from counterplay.core.game import Game
from counterplay.core.observations import with_observations
from counterplay.registry import get_spec


@dataclass
class JaxRulesMemory(JaxMemory):
    """The same, and how many decisions there were."""

    nodes_touched: int = 0

    @property
    def size(self) -> NetworkSizeReport:
        leaves = jax.tree.leaves(self.state)
        return NetworkSizeReport(
            self.nodes_touched, sum(leaf.size * leaf.dtype.itemsize for leaf in leaves)
        )


@dataclass(frozen=True)
class NetworkSizeReport:
    """How far a run on the rules has come."""

    nodes_touched: int  # decisions
    num_bytes: int  # of all that is kept

    def metrics(self) -> dict[str, float]:
        return {"touched": self.nodes_touched, "bytes": self.num_bytes}


class JaxAlgorithmOnTreeOrRules(JaxAlgorithm):
    """The adapter of algorithms that run on a tree, and on rules: no update rule of its own."""

    runs_on: ClassVar[tuple[str, ...]] = ("tree", "episodes", "rules")
    num_episodes: int

    def actor_params(self, state: Any) -> Any:
        raise NotImplementedError

    def act(self, graph: Any, nets: Any) -> tuple[jax.Array, jax.Array]:
        raise NotImplementedError

    def update(self, graph: Any, t: Any, state: Any, episodes: Any, key: jax.Array) -> Any:
        raise NotImplementedError

    def networks(self, state: Any) -> dict[str, Any]:
        raise NotImplementedError

    def check_runs_on_rules(self) -> None:
        """Refuse choices that only a tree allows."""

    def for_rules(self) -> Self:
        """Return the algorithm with settings that suit rules where the user left them open."""
        return self

    def init(self, arena: Any, seed: int = 0) -> JaxMemory:
        if isinstance(arena, TreeArena):
            return super().init(arena, seed)
        chosen = self.for_rules()
        chosen.check_runs_on_rules()
        graph = rollouts.empty_graph(env_from_arena(arena))
        state = chosen.init_state(graph, np.random.default_rng(seed))
        return JaxRulesMemory(0, jax.random.PRNGKey(seed), jax.device_put(state))

    def step(self, arena: Any, memory: Any, iterations: int = 1) -> Any:
        if isinstance(arena, TreeArena):
            return super().step(arena, memory, iterations)
        chosen = self.for_rules()
        rules, state, touched = env_from_arena(arena), memory.state, memory.nodes_touched
        for n in range(memory.iteration, memory.iteration + iterations):
            state, count = chosen.iterate_on_rules(
                rules, n + 1, state, jax.random.fold_in(memory.key, n)
            )
            touched += count
        return JaxRulesMemory(memory.iteration + iterations, memory.key, state, touched)

    def iterate_on_rules(
        self, env: BatchedEnv, t: int, state: Any, key: jax.Array
    ) -> tuple[Any, int]:
        """The state after an iteration on rules, and how many decisions that had."""
        play_key, learn_key = jax.random.split(key)
        ask = partial(_jit_act(), self, env.num_players, self.actor_params(state))
        met, count = rollouts.play_episodes(
            env, ask, rollouts.rng_from_key(play_key), self.num_episodes
        )
        scale = estimate_utility_scale(env.random_episode_utilities)
        return _jit_update()(self, env.num_players, scale, t, state, met, learn_key), count

    def policies(self, arena: Any, memory: Any) -> Any:
        if isinstance(arena, TreeArena):
            return super().policies(arena, memory)
        state = jax.tree.map(np.asarray, memory.state)
        return policies_from_networks(arena, self.for_rules().networks(state))


class HostAlgorithmOnTreeOrRules(HostAlgorithm):
    """The same for algorithms that walk on the host: their functions know both arenas."""

    runs_on: ClassVar[tuple[str, ...]] = ("tree", "episodes", "rules")

    def networks(self, state: Any) -> dict[str, Any]:
        raise NotImplementedError

    def for_rules(self, rules: BatchedEnv) -> Self:
        """Return the algorithm with settings that suit the rules where the user left them open."""
        return self

    def step(self, arena: Any, memory: Any, iterations: int = 1) -> Any:
        if isinstance(arena, TreeArena):
            return super().step(arena, memory, iterations)
        done = HostAlgorithm.step(self.for_rules(env_from_arena(arena)), arena, memory, iterations)
        return JaxRulesMemory(
            done.iteration, done.key, done.state, int(done.state.sampler.nodes_touched)
        )

    def init(self, arena: Any, seed: int = 0) -> Any:
        if isinstance(arena, TreeArena):
            return super().init(arena, seed)
        made = HostAlgorithm.init(self.for_rules(env_from_arena(arena)), arena, seed)
        return JaxRulesMemory(0, made.key, made.state)

    def policies(self, arena: Any, memory: Any) -> Any:
        if isinstance(arena, TreeArena):
            return super().policies(arena, memory)
        chosen = self.for_rules(env_from_arena(arena))
        return policies_from_networks(
            arena, chosen.networks(jax.tree.map(np.asarray, memory.state))
        )


def is_two_player_zero_sum(arena: Any) -> bool:
    """Return True if two players' utilities cancel; on rules, those of some random episodes."""
    if arena.num_players != 2:
        return False
    if isinstance(arena, TreeArena):
        return arena.is_zero_sum
    utility = env_from_arena(arena).random_episode_utilities
    return bool(np.abs(utility.sum(axis=1)).max() <= 1e-9 * np.abs(utility).max())


def policies_from_networks(arena: Any, networks_by_name: Mapping[str, Any]) -> dict[str, Any]:
    """Networks as policies; tables of the arena where it is exact, since such are judged there."""
    found: dict[str, Any] = {}
    for name, (nets, weights, head) in networks_by_name.items():
        policy = NetworkPolicy(game_from_arena(arena), tuple(nets), head, tuple(weights))
        found[name] = policy.tabulate(arena) if is_exact(arena) else policy
    return found


@dataclass(frozen=True, eq=False)
class ResponseArena:
    """One player's game as an arena: the others are part of the rules."""

    game: Game
    env: BatchedEnv
    capabilities: ClassVar[tuple[str, ...]] = ("rules",)

    @property
    def spec(self) -> str:
        return get_spec(self.game)

    @property
    def num_players(self) -> int:
        return self.game.num_players


def game_from_arena(arena: Any) -> Game:
    """The rules of an arena that offers them, with observations for networks."""
    game: Game = with_observations(arena.game)
    return game


def env_from_arena(arena: Any) -> BatchedEnv:
    """The rules of an arena, ready for many states at once."""
    if isinstance(arena, ResponseArena):
        return arena.env
    return get_env(game_from_arena(arena))


@lru_cache
def _jit_act() -> Callable[..., Any]:
    @partial(persistent_jit, static_argnums=(0, 1))
    def act(algorithm: Any, num_players: int, nets: Any, observation: Any, legal: Any) -> Any:
        return algorithm.act(rollouts.graph_from_rows(observation[None], legal, num_players), nets)

    return act


@lru_cache
def _jit_update() -> Callable[..., Any]:
    @partial(persistent_jit, static_argnums=(0, 1), donate_argnums=4)
    def learn(
        algorithm: Any, num_players: int, scale: Any, t: Any, state: Any, rollouts: Any, key: Any
    ) -> Any:
        graph = replace(rollouts.graph(num_players), utility_scale=scale)
        return algorithm.update(graph, t, state, rollouts.episodes, key)

    return learn
