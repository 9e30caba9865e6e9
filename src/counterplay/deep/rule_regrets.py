"""Networks that stand for regrets, on rules: fitted to reservoirs of what walks have met."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.calls import in_turn
from counterplay.deep import rule_walks
from counterplay.deep.averages import past_of
from counterplay.deep.batches import graph_of_rows
from counterplay.deep.device import compiled
from counterplay.deep.fitting import Trained, annealed
from counterplay.deep.nets import Net, apply_net, one_of, regret_matching, softmax, uniform
from counterplay.deep.on_rules import rules_on
from counterplay.deep.rule_walks import Samples, Walked
from counterplay.deep.stepping import Rules


def external(choices: Any, arena: Any, state: Any, player: int, weight: float, key: Any) -> None:
    """The walks of an iteration, all playing what the networks say now; done in units, anywhere."""
    units, rng = rule_walks.cut(choices.traversals, key)
    nets = jax.tree.map(np.asarray, state.nets.params)
    policies = bool(choices.average_units)
    frozen = rules_on(arena), nets, player, policies
    for found in in_turn(walked, [(*frozen, *unit) for unit in units]):
        rule_walks.offer(state.walks, found, player, weight, rng)


def walked(rules: Rules, nets: Net, player: int, policies: bool, count: int, key: Any) -> Walked:
    """A unit of walks under these networks; changes nothing."""
    ask = partial(acting(), rules.num_players, nets, -1, 0.0)
    return rule_walks.walk(rules, ask, player, policies, count, key)


@lru_cache
def acting() -> Callable[..., Any]:
    """Policies, and what to sample from: `explorer` mixes its own with `epsilon` uniform play."""

    @partial(compiled, static_argnums=0)
    def act(
        players: int, nets: Net, explorer: Any, epsilon: Any, seen: jax.Array, legal: jax.Array
    ) -> Any:
        size = len(seen) // players
        own = [slice(p * size, (p + 1) * size) for p in range(players)]
        said = [apply_net(one_of(nets, p), seen[rows]) for p, rows in enumerate(own)]
        policy = regret_matching(jnp.concatenate(said), legal)
        mixed = epsilon * uniform(legal) + (1.0 - epsilon) * policy
        explores = jnp.repeat(jnp.arange(players), size) == explorer
        return policy, jnp.where(explores[:, None], mixed, policy)

    return act


def reservoir(samples: Samples) -> tuple[Any, Any, int]:
    """A reservoir as a graph of its rows, as samples of these, and how many are filled."""
    graph = graph_of_rows(samples.observation[None], samples.legal, 1)
    number = np.arange(samples.weight.size, dtype=np.int32)
    filled = min(int(samples.seen[0]), samples.weight.size)
    return graph, (number, samples.target, samples.weight), filled


def refit_average(choices: Any, state: Any, key: jax.Array) -> Any:
    """The averages, with every player's network fitted further to the policies that were met."""
    network = state.averages.network
    for player, samples in enumerate(state.walks.met):
        graph, (_, policy, weight), filled = reservoir(samples)
        data = graph.observation, graph.legal, policy, weight
        own = jax.random.fold_in(key, player)
        network = _fit_average()(choices, network, player, data, max(filled, 1), own)
    return state.averages._replace(network=network)


@lru_cache
def _fit_average() -> Callable[..., Trained]:
    @partial(compiled, static_argnums=0)
    def fit(
        choices: Any, nets: Trained, player: Any, data: Any, filled: Any, key: jax.Array
    ) -> Trained:
        from counterplay.deep.regrets import direction

        def draw(key: jax.Array) -> Any:
            chosen = jax.random.randint(key, (choices.batch,), 0, filled)
            return jax.tree.map(lambda part: part[chosen], data)

        def loss(net: Net, some: Any) -> jax.Array:
            x, legal, policy, weight = some
            log = jnp.log(softmax(apply_net(net, x), legal).clip(1e-30))
            return -(weight[:, None] * policy * log).sum() / weight.sum().clip(1e-30)

        rate, steps = choices.average_lr, choices.average_steps
        one = annealed(direction(choices), rate, loss, one_of(nets, player), draw, key, steps)
        return jax.tree.map(lambda every, new: every.at[player].set(new), nets, one)

    return fit


def networks(choices: Any, state: Any) -> dict[str, Any]:
    """The answers: the average network if there is one, the ensemble, the last iterate."""
    found: dict[str, Any] = {}
    if choices.average_units:
        found["network"] = [state.averages.network.params], [1.0], "softmax"
    for name, (nets, weights) in past_of(state.averages, choices.average_power).items():
        found[name] = nets, weights, "regret_matching"
    found["current"] = [choices.speaking(state)], [1.0], "regret_matching"
    return found
