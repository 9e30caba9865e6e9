"""Adapters for algorithms that run on a tree and on rules that are never unrolled.

Besides `init_state`, `iterate` and `tabulate` of `JaxAlgorithm`, such an algorithm has

    actor_params(state)                          the networks that act
    act(graph, nets)                             policies and sampling distributions [I, A]
    update(graph, t, state, episodes, key)       the state after an iteration with these episodes
    networks(state)                              its policies by name, as networks

On a tree, an iteration is one program: `act` at all infosets, `episodes.sample_episodes`, `update`.
On rules, the host plays the episodes with one call of `act` per turn, and `update` gets the graph
of their decisions. An algorithm whose iteration is different overrides `iterate_on_rules`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Protocol, Self

import jax
import numpy as np

from counterplay.algorithms.deep.common import rollouts
from counterplay.algorithms.deep.common.batched_env import BatchedEnv, get_env
from counterplay.algorithms.deep.common.jax_algorithm import (
    JaxAlgorithm,
    JaxMemory,
    fold_in,
    lazy_jit,
    split_key,
)
from counterplay.algorithms.deep.common.network_policy import NetworkPolicy
from counterplay.algorithms.deep.common.rollouts import RolloutBatch
from counterplay.algorithms.deep.common.utility_scale import estimate_utility_scale
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import is_exact
from counterplay.core.game import Game
from counterplay.core.observations import with_observations
from counterplay.core.settings import settings
from counterplay.errors import ConfigError
from counterplay.games.poker_encoding import EncodingName, encode_game
from counterplay.registry import get_spec

PolicyNetworks = Mapping[str, Any]
"""By name: networks [K], their weights [K], and the name of a head of `network_policy`."""


@dataclass
class JaxRulesMemory(JaxMemory):
    """The memory of an algorithm on rules."""

    nodes_touched: int = 0  # decisions so far

    @property
    def size(self) -> NetworkSizeReport:
        """The size of the run."""
        leaves = jax.tree.leaves(self.state)
        return NetworkSizeReport(
            self.nodes_touched, sum(leaf.size * leaf.dtype.itemsize for leaf in leaves)
        )


@dataclass(frozen=True)
class NetworkSizeReport:
    """The size of a run with networks on rules."""

    nodes_touched: int  # decisions so far
    num_bytes: int  # of all arrays

    def metrics(self) -> dict[str, float]:
        """Return the metrics of a run on rules by name."""
        return {"touched": self.nodes_touched, "bytes": self.num_bytes}


@settings(kw_only=True)
class EncodingConfig:
    """The observations that networks get on rules."""

    # game: the game's own; on rules of poker also cards, cards_up_to_suits, cards_and_strength:
    # see `games.poker_encoding`
    encoding: EncodingName = "game"

    def check_encoding(self, arena: Any) -> None:
        """Raise ConfigError if the encoding does not fit an arena."""
        if self.encoding == "game":
            return
        if isinstance(arena, (TreeArena, ResponseArena)) or not hasattr(arena, "game"):
            raise ConfigError(
                f"encoding={self.encoding} is for rules: take cp.RulesArena(game), or arena=rules "
                "in a config"
            )
        encode_game(arena.game, self.encoding)


@settings(kw_only=True)
class JaxAlgorithmOnTreeOrRules(EncodingConfig, JaxAlgorithm):
    """Adapter for algorithms that learn from episodes, on a tree or on rules."""

    runs_on: ClassVar[tuple[str, ...]] = ("tree", "episodes", "rules")

    @property
    def num_episodes(self) -> int:
        """Number of episodes of an iteration, which most algorithms have as a setting."""
        raise NotImplementedError

    def actor_params(self, state: Any) -> Any:
        """Return the networks that act."""
        raise NotImplementedError

    def act(self, graph: Any, nets: Any) -> tuple[jax.Array, jax.Array]:
        """Return the policies and the sampling distributions [I, A]."""
        raise NotImplementedError

    def update(self, graph: Any, t: Any, state: Any, episodes: Any, key: jax.Array) -> Any:
        """Return the state after iteration t with these episodes."""
        raise NotImplementedError

    def networks(self, state: Any) -> PolicyNetworks:
        """Return the policies by name, as networks."""
        raise NotImplementedError

    def check_runs_on_rules(self) -> None:
        """Raise ConfigError if a parameter requires a tree."""

    def for_rules(self) -> Self:
        """Return the algorithm with parameters left at "auto" set to values that suit rules."""
        return self

    def init(self, arena: Any, seed: int = 0) -> JaxMemory:
        """Return the memory before the first iteration."""
        self.check_encoding(arena)
        return backend_for(arena).init(self, arena, seed)

    def step(self, arena: Any, memory: Any, iterations: int = 1) -> Any:
        """Return the memory after more iterations."""
        return backend_for(arena).step(self, arena, memory, iterations)

    def policies(self, arena: Any, memory: Any) -> Any:
        """Return the policies by name; the first has the guarantee."""
        return backend_for(arena).policies(self, arena, memory)

    def iterate_on_rules(
        self, env: BatchedEnv, t: int, state: Any, key: jax.Array
    ) -> tuple[Any, int]:
        """Return the state after iteration t on rules, and the number of its decisions."""
        play_key, learn_key = split_key(key, 2)
        policy_fn = partial(_act_on_rows, self, env.num_players, self.actor_params(state))
        batch, count = rollouts.play_episodes(
            env, policy_fn, rollouts.rng_from_key(play_key), self.num_episodes, distinct=True
        )
        scale = estimate_utility_scale(env.random_episode_utilities)
        state = _update_on_rollouts(self, env.num_players, scale, t, state, batch, learn_key)
        return state, count


class Backend(Protocol):
    """The way an algorithm is executed on one kind of arena."""

    def init(self, algorithm: JaxAlgorithmOnTreeOrRules, arena: Any, seed: int) -> JaxMemory:
        """Return the memory before the first iteration."""
        ...

    def step(
        self, algorithm: JaxAlgorithmOnTreeOrRules, arena: Any, memory: Any, iterations: int
    ) -> JaxMemory:
        """Return the memory after more iterations."""
        ...

    def policies(
        self, algorithm: JaxAlgorithmOnTreeOrRules, arena: Any, memory: Any
    ) -> dict[str, Any]:
        """Return the policies by name."""
        ...

    def is_zero_sum(self, arena: Any) -> bool:
        """Return True if the utilities of all players add up to zero."""
        ...


class TreeBackend:
    """Iterations on a tree: compiled loops, policies as tables."""

    def init(self, algorithm: JaxAlgorithmOnTreeOrRules, arena: Any, seed: int) -> JaxMemory:
        return JaxAlgorithm.init(algorithm, arena, seed)

    def step(
        self, algorithm: JaxAlgorithmOnTreeOrRules, arena: Any, memory: Any, iterations: int
    ) -> JaxMemory:
        return JaxAlgorithm.step(algorithm, arena, memory, iterations)

    def policies(
        self, algorithm: JaxAlgorithmOnTreeOrRules, arena: Any, memory: Any
    ) -> dict[str, Any]:
        return dict(JaxAlgorithm.policies(algorithm, arena, memory))

    def is_zero_sum(self, arena: Any) -> bool:
        return bool(arena.is_zero_sum)


class RulesBackend:
    """Iterations on rules: episodes on the host, policies as networks."""

    def init(self, algorithm: JaxAlgorithmOnTreeOrRules, arena: Any, seed: int) -> JaxMemory:
        check_utilities_differ(arena)
        algorithm = algorithm.for_rules()
        algorithm.check_runs_on_rules()
        graph = rollouts.empty_graph(env_from_arena(arena, algorithm.encoding))
        state = algorithm.init_state(graph, np.random.default_rng(seed))
        return JaxRulesMemory(0, jax.random.PRNGKey(seed), jax.device_put(state))

    def step(
        self, algorithm: JaxAlgorithmOnTreeOrRules, arena: Any, memory: Any, iterations: int
    ) -> JaxMemory:
        algorithm = algorithm.for_rules()
        env, state = env_from_arena(arena, algorithm.encoding), memory.state
        touched = memory.nodes_touched
        for n in range(memory.iteration, memory.iteration + iterations):
            key = fold_in(memory.key, n)
            state, count = algorithm.iterate_on_rules(env, n + 1, state, key)
            touched += count
        return JaxRulesMemory(memory.iteration + iterations, memory.key, state, touched)

    def policies(
        self, algorithm: JaxAlgorithmOnTreeOrRules, arena: Any, memory: Any
    ) -> dict[str, Any]:
        state = jax.tree.map(np.asarray, memory.state)
        networks = algorithm.for_rules().networks(state)
        return policies_from_networks(arena, networks, algorithm.encoding)

    def is_zero_sum(self, arena: Any) -> bool:
        """Return True if the utilities of a fixed set of random episodes add up to zero."""
        utility = env_from_arena(arena).random_episode_utilities
        return bool(np.abs(utility.sum(axis=1)).max() <= 1e-9 * np.abs(utility).max())


TREE_BACKEND, RULES_BACKEND = TreeBackend(), RulesBackend()


def backend_for(arena: Any) -> Backend:
    """Return the backend of an arena."""
    return TREE_BACKEND if isinstance(arena, TreeArena) else RULES_BACKEND


def is_two_player_zero_sum(arena: Any) -> bool:
    """Return True for two players whose utilities cancel; on rules, in some random episodes."""
    return arena.num_players == 2 and backend_for(arena).is_zero_sum(arena)


def check_utilities_differ(arena: Any) -> None:
    """Raise ConfigError if random episodes on rules all end with the same utilities.

    A tree is checked when its utilities are scaled. Responses are not checked: against some
    opponents nothing that a player does matters.
    """
    if isinstance(arena, (TreeArena, ResponseArena)):
        return
    env = env_from_arena(arena)
    _ = env.some_decision  # raises GameError if no player acts
    utility = env.random_episode_utilities
    if not np.ptp(utility, axis=0).any():
        raise ConfigError(
            "networks have nothing to learn: each player's utility is the same in "
            f"{len(utility):,} random episodes of {arena.spec}"
        )


def policies_from_networks(
    arena: Any, networks_by_name: PolicyNetworks, encoding: str = "game"
) -> dict[str, Any]:
    """Return networks as policies; as tables if the arena judges policies exactly."""
    policies: dict[str, Any] = {}
    for name, (nets, weights, head) in networks_by_name.items():
        game = game_from_arena(arena, encoding)
        policy = NetworkPolicy(game, tuple(nets), head, tuple(weights))
        policies[name] = policy.tabulate(arena) if is_exact(arena) else policy
    return policies


@dataclass(frozen=True, eq=False)
class ResponseArena:
    """The game of one player against fixed opponents, as an arena."""

    game: Game
    env: BatchedEnv
    capabilities: ClassVar[tuple[str, ...]] = ("rules",)

    @property
    def spec(self) -> str:
        """The string that `load_game` loads the game from."""
        return get_spec(self.game)

    @property
    def num_players(self) -> int:
        """The number of players."""
        return self.game.num_players


def game_from_arena(arena: Any, encoding: str = "game") -> Game:
    """Return the rules of an arena, with observations for networks."""
    game: Game = with_observations(encode_game(arena.game, encoding))
    return game


def env_from_arena(arena: Any, encoding: str = "game") -> BatchedEnv:
    """Return the rules of an arena for batches of states."""
    if isinstance(arena, ResponseArena):
        return arena.env
    game: Any = game_from_arena(arena, encoding)
    return get_env(game)


@lazy_jit(static_argnums=(0, 1))
def _act_on_rows(
    algorithm: JaxAlgorithmOnTreeOrRules, num_players: int, nets: Any, observation: Any, legal: Any
) -> tuple[jax.Array, jax.Array]:
    graph = rollouts.graph_from_rows(observation[None], legal, num_players)
    return algorithm.act(graph, nets)


@lazy_jit(static_argnums=(0, 1), donate_argnums=4)
def _update_on_rollouts(
    algorithm: JaxAlgorithmOnTreeOrRules,
    num_players: int,
    scale: Any,
    t: Any,
    state: Any,
    batch: RolloutBatch,
    key: jax.Array,
) -> Any:
    graph = replace(batch.graph(num_players), utility_scale=scale)
    return algorithm.update(graph, t, state, batch.episodes, key)
