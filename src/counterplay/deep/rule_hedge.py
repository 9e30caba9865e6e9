"""An iteration of Deep-Hedge on rules that are never unrolled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import jax

from counterplay.deep import averages
from counterplay.deep.batches import Met, graph_of_rows, no_graph, play, rng_of
from counterplay.deep.device import compiled
from counterplay.deep.episodes import Decisions, exploring
from counterplay.deep.fitting import params_of
from counterplay.deep.graph import Graph
from counterplay.deep.nets import Net
from counterplay.deep.stepping import Rules


def played(choices: Any, rules: Rules, t: int, state: Any, key: jax.Array) -> tuple[Any, int]:
    """The state after every player's part, each with episodes of its own, and their decisions."""
    keep_key, *keys = jax.random.split(key, 1 + rules.num_players)
    state, touched = _remember()(choices, no_graph(rules), t, state, keep_key), 0
    for player, own in enumerate(keys):
        play_key, learn_key = jax.random.split(own)
        ask = partial(_act(), choices, player, params_of(state.strategy, player))
        met, count = play(rules, ask, rng_of(play_key), choices.episodes)
        given = rules.largest_utility, t, player, state, met, learn_key
        state, touched = _learn()(choices, *given), touched + count
    return state, touched


@lru_cache
def _remember() -> Callable[..., Any]:
    @partial(compiled, static_argnums=0, donate_argnums=3)
    def remember(choices: Any, graph: Graph, t: jax.Array, state: Any, key: jax.Array) -> Any:
        return choices.remembered(graph, t, state, key)

    return remember


@lru_cache
def _act() -> Callable[..., Any]:
    @partial(compiled, static_argnums=0)
    def act(
        choices: Any, who: Any, nets: tuple[Net, ...], seen: jax.Array, legal: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        graph = graph_of_rows(seen[None], legal, len(nets))
        policy = averages.policies_of(nets, graph)
        now = Decisions(0, graph.infoset, graph.owner, graph.own_view, graph.legal)
        return policy, exploring(policy, now, who, choices.epsilon)

    return act


@lru_cache
def _learn() -> Callable[..., Any]:
    @partial(compiled, static_argnums=0, donate_argnums=4)
    def learn(
        choices: Any,
        largest: jax.Array,
        t: jax.Array,
        player: jax.Array,
        state: Any,
        met: Met,
        key: jax.Array,
    ) -> Any:
        graph = replace(met.graph(len(state.strategy)), largest_utility=largest)
        return choices.learned_turn(graph, t, player, state, met.episodes, key)

    return learn
