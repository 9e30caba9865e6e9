"""Networks that stand for tables of regrets: what they are fitted to, and how.

On a tree every iteration ends with the policies of all networks as a table, so that walks are
cheap and the exact average of all iterates costs one pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import lru_cache, partial
from typing import Any, ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.deep import averages, rule_episodes, rule_regrets, rule_walks, traversals
from counterplay.deep.averages import Averages
from counterplay.deep.batches import no_graph
from counterplay.deep.device import compiled
from counterplay.deep.fitting import Trained, annealed, in_training, squared_error
from counterplay.deep.graph import Graph, graph_of
from counterplay.deep.nets import (
    Net,
    apply_net,
    new_nets,
    one_of,
    redrawn,
    regret_matching,
    softmax,
    with_one,
)
from counterplay.deep.on_rules import OnEitherHost, rules_on
from counterplay.deep.stepping import Rules
from counterplay.deep.traversals import (
    Scheme,
    Walks,
    dense,
    infoset_at,
    means,
    no_walks,
    rows_of,
    set_policy,
)
from counterplay.errors import ConfigError
from counterplay.settings import settings
from counterplay.tabular.ranges import FINITE, PART, Range, at_least, check
from counterplay.tree import Tree

BATCH = 2048

RANGES: dict[str, Range] = {
    **dict.fromkeys(("traversals", "steps", "batch", "average_steps"), at_least(1)),
    **dict.fromkeys(("critic_depth", "critic_rounds", "critic_steps"), at_least(1)),
    **dict.fromkeys(("critic_batch", "critic_memory"), at_least(1)),
    **dict.fromkeys(("reservoir_size", "past_networks"), at_least(0)),
    **dict.fromkeys(("average_power", "lr", "average_lr", "critic_lr", "alpha", "growth"), FINITE),
    **dict.fromkeys(("epsilon", "critic_decay"), PART),
    "clip": (lambda norm: norm > 0.0, "positive"),
    **dict.fromkeys(
        ("regret_units", "average_units", "critic_units"),
        (lambda units: bool(units) and min(units) >= 1, "one size or more"),
    ),
}


@settings(kw_only=True)
class RegretNetworks(OnEitherHost):
    """The choices that all of these algorithms share."""

    regret_units: tuple[int, ...] = (64, 64, 64)
    traversals: int = 100  # walks per player and iteration
    even: bool = True  # on a tree, chance spread evenly over these; False, and on rules: drawn
    steps: int = 100  # of Adam per fit
    growth: float = 0.0  # iteration t takes steps * t**growth of them, as the memory grows
    lr: float = 1e-3  # at the start of every fit, from where it falls to zero
    clip: float = 1.0  # of the gradient's norm
    average_power: float = 1.0  # iteration t counts t**average_power times in the average
    past_networks: int = 100  # in the ensemble
    # samples kept of each player; 0: sums for every infoset on a tree, and on rules as many as
    # take half a gigabyte, at most 200,000
    reservoir_size: int = 0
    batch: int = BATCH  # samples per step, of a reservoir

    average_every: ClassVar[int] = 1
    average_units: ClassVar[tuple[int, ...]] = ()
    critic_memory: ClassVar[int] = 0
    watched: ClassVar[tuple[str, ...]] = ("state.nets",)

    def speaking(self, state: Any) -> Any:
        """The networks that act."""
        return state.nets.params

    def networks(self, state: Any) -> dict[str, Any]:
        return rule_regrets.networks(self, state)

    def __post_init__(self) -> None:
        own = {field.name for field in fields(self)}
        check(self.name, self, {name: RANGES[name] for name in RANGES if name in own})
        if self.batch != BATCH and not self.reservoir_size:
            problem = "batch is for a reservoir: set reservoir_size too"
            raise ConfigError(f"{self.name}: {problem}; sums are fitted as a whole")

    def for_rules(self, rules: Rules) -> Self:
        if self.reservoir_size:
            return self
        return replace(self, reservoir_size=rule_walks.default_reservoir_size(rules))


@settings(kw_only=True)
class Replaying(RegretNetworks):
    """The choices of those whose networks are fitted to the samples of all iterations."""

    warm: bool = True  # fit the last network further; False: a new one, from scratch


class Nets(NamedTuple):
    """What most of these algorithms change in an iteration."""

    nets: Trained  # [P]
    walks: Walks
    averages: Averages


def new_regret_nets(choices: Any, tree: Tree, rng: np.random.Generator) -> Trained:
    """A network per player that says nothing yet."""
    graph = shape_of(tree)
    sizes = (graph.num_features, *choices.regret_units, graph.max_actions)
    nets = new_nets(rng, graph.num_players, sizes, zero_head=True)
    return jax.device_put(in_training(direction(choices), nets))


def new_averages(choices: Any, tree: Tree, rng: np.random.Generator, nets: Any) -> Averages:
    """No policies averaged yet; the average network, if there is one, plays uniformly."""
    graph = shape_of(tree)
    kept = averages.no_averages(choices, graph, rng, nets, 1, direction(choices))
    if choices.average_units:
        *deep, last = kept.network.params
        params = [*deep, jax.tree.map(np.zeros_like, last)]
        kept = kept._replace(network=kept.network._replace(params=params))
    return jax.device_put(kept)


def new_nets_and_walks(
    choices: Any, tree: Tree, rng: np.random.Generator, visits: bool = False
) -> Nets:
    """Before the first iteration."""
    walks: Any
    if isinstance(tree, Tree):
        walks = no_walks(tree, choices.reservoir_size, visits)
    else:
        walks = walks_on_rules(choices, tree)
    nets = new_regret_nets(choices, tree, rng)
    return Nets(nets, walks, new_averages(choices, tree, rng, nets.params))


def walks_on_rules(choices: Any, arena: Any, regrets: bool = True) -> rule_walks.RuleWalks:
    """Nothing remembered; with `regrets` they go to a reservoir."""
    policies = bool(choices.average_units)
    if policies and arena.num_players > 2:
        problem = "a third player's reach would bias the average network on rules"
        raise ConfigError(f"{choices.name}: {problem}; take sd_cfr or dream")
    room = choices.reservoir_size, policies, regrets, choices.critic_memory
    return rule_walks.no_walks(rules_on(arena), *room)


def shape_of(arena: Any) -> Graph:
    """The graph of a tree; of rules an empty one, which knows sizes alone."""
    return graph_of(arena) if isinstance(arena, Tree) else no_graph(rules_on(arena))


@lru_cache
def direction(choices: Any) -> optax.GradientTransformation:
    """Where a step goes."""
    return optax.chain(optax.clip_by_global_norm(choices.clip), optax.scale_by_adam())


def steps_at(choices: Any, t: int) -> int:
    """How many steps a fit of iteration t takes."""
    return round(choices.steps * float(t) ** choices.growth)


def remember(choices: Any, tree: Tree, t: int, state: Any, key: jax.Array) -> Averages:
    """The averages with the policies of iteration t."""
    if not isinstance(tree, Tree):
        nothing = np.zeros((0, 0), np.float32)
        given = t, choices.speaking(state), nothing, key
        return _remember()(choices, state.averages, shape_of(tree), *given)
    table = dense(tree, state.walks.policy[: tree.num_sequences])
    return _remember()(
        choices, state.averages, graph_of(tree), t, choices.speaking(state), table, key
    )


@lru_cache
def _remember() -> Callable[..., Averages]:
    @partial(compiled, static_argnums=0, donate_argnums=1)
    def add(
        choices: Any,
        kept: Averages,
        graph: Graph,
        t: jax.Array,
        nets: Net,
        table: jax.Array,
        key: jax.Array,
    ) -> Averages:
        return averages.remember(choices, kept, graph, t, nets, lambda: table, key)

    return add


def external(
    choices: Any, arena: Any, state: Any, player: int, weight: float, key: jax.Array
) -> None:
    """Walks in which the player tries everything; regrets and policies count `weight`."""
    if isinstance(arena, Tree):
        traversals.external(choices, arena, state.walks, player, weight, key)
    else:
        rule_regrets.external(choices, arena, state, player, weight, key)


def outcomes(
    choices: Any, arena: Any, state: Any, scheme: Scheme, guess: Any, key: jax.Array
) -> None:
    """Episodes in which one player explores, and a critic knows what it did not try."""
    if isinstance(arena, Tree):
        traversals.outcomes(choices, arena, state.walks, scheme, guess, key)
    else:
        rule_episodes.remember(choices, arena, state, scheme, guess, key)


def refit(choices: Any, tree: Tree, t: int, state: Any, player: int, key: jax.Array) -> Trained:
    """All networks, the player's fitted to what its walks remember; sets the player's policy."""
    replay = state.walks.replay[player]
    if not isinstance(tree, Tree):
        graph, samples, filled = rule_regrets.reservoir(replay)
        row = np.zeros(1, np.int32)  # no table: nobody asks
        given = state.nets, player, row, samples, filled, steps_at(choices, t), key
        return _refit()(choices, graph, *given)[0]
    row, exists = (part[player] for part in rows_of(tree))
    if choices.reservoir_size:
        filled = min(int(replay.seen[0]), choices.reservoir_size)
        infoset = infoset_at(tree)[replay.first].astype(np.int32)
        samples = infoset, replay.regret, replay.tag.astype(np.float32)
    else:
        mean, weight = means(tree, replay)
        filled = row.size
        samples = row, dense(tree, mean)[row], np.where(exists, weight[row], 0.0).astype("f4")
    given = state.nets, player, row, samples, filled, steps_at(choices, t), key
    nets, table = _refit()(choices, graph_of(tree), *given)
    set_policy(tree, state.walks, player, table)
    return nets


@lru_cache
def _refit() -> Callable[..., tuple[Trained, jax.Array]]:
    @partial(compiled, static_argnums=0)
    def fit(
        choices: Any,
        graph: Graph,
        nets: Trained,
        player: jax.Array,
        row: jax.Array,
        samples: tuple[jax.Array, jax.Array, jax.Array],
        filled: jax.Array,
        steps: jax.Array,
        key: jax.Array,
    ) -> tuple[Trained, jax.Array]:
        infoset, target, weight = samples
        legal = graph.legal[infoset]
        weight = jnp.where(jnp.arange(weight.size) < filled, weight, 0.0)
        new_key, fit_key = jax.random.split(key)
        trained = one_of(nets, player)
        if not choices.warm:
            params = redrawn(trained.params, new_key)
            trained = Trained(params, direction(choices).init(params))
        count = jnp.where(legal, weight[:, None], 0.0)
        scale = jnp.sqrt((count * target**2).sum() / count.sum().clip(1e-30)).clip(1e-30)
        data = graph.own_view[infoset], target / scale, weight, legal

        def draw(key: jax.Array) -> Any:
            if not choices.reservoir_size:
                return data
            bits = jax.random.bits(key, (choices.batch,))  # `randint` would draw twice as many
            chosen = (bits % filled.astype(bits.dtype)).astype(jnp.int32)
            if graph.is_batch or row.size >= choices.batch:
                return jax.tree.map(lambda part: part[chosen], data)
            place = infoset[chosen] - row[0]
            mean, total = per_infoset(place, data[1][chosen], weight[chosen], row.size)
            return graph.own_view[row], mean, total, graph.legal[row]

        def loss(net: Net, some: Any) -> jax.Array:
            view, target, weight, legal = some
            return squared_error(apply_net(net, graph.observation[view]), target, weight, legal)

        optimiser = direction(choices)
        trained = annealed(optimiser, choices.lr, loss, trained, draw, fit_key, steps)
        said = apply_net(trained.params, graph.observation[graph.own_view[row]])
        return with_one(nets, player, trained), regret_matching(said, graph.legal[row])

    return fit


def per_infoset(
    place: jax.Array, target: jax.Array, weight: jax.Array, size: int
) -> tuple[jax.Array, jax.Array]:
    """The weighted mean [R, A] of targets [B, A] at each of R places, and their weight [R].

    Fitting these is fitting the samples, with as many inputs as there are infosets.
    """
    total = jnp.zeros(size).at[place].add(weight)
    mean = jnp.zeros((size, target.shape[1])).at[place].add(weight[:, None] * target)
    return mean / total.clip(1e-30)[:, None], total


def refit_average(choices: Any, tree: Tree, state: Any, key: jax.Array) -> Averages:
    """The averages, with every player's network fitted further to the policies that were met."""
    if not isinstance(tree, Tree):
        return rule_regrets.refit_average(choices, state, key)
    given = dense(tree, state.walks.policy_sum), *rows_of(tree)
    network = _refit_average()(choices, graph_of(tree), state.averages.network, *given, key)
    return state.averages._replace(network=network)


@lru_cache
def _refit_average() -> Callable[..., Trained]:
    @partial(compiled, static_argnums=0)
    def fit(
        choices: Any,
        graph: Graph,
        nets: Trained,
        met: jax.Array,
        row: jax.Array,
        exists: jax.Array,
        key: jax.Array,
    ) -> Trained:
        def one(trained: Trained, row: jax.Array, exists: jax.Array) -> Trained:
            legal = graph.legal[row]
            total = jnp.where(exists[:, None], met[row], 0.0)
            total /= total.sum().clip(1e-30)
            x = graph.observation[graph.own_view[row]]

            def loss(net: Net, _: Any) -> jax.Array:
                log = jnp.log(softmax(apply_net(net, x), legal).clip(1e-30))
                return -(total * log).sum()

            return annealed(
                direction(choices),
                choices.average_lr,
                loss,
                trained,
                lambda key: None,
                key,
                choices.average_steps,
            )

        return jax.vmap(one)(nets, row, exists)

    return fit


def answers(choices: Any, tree: Tree, state: Any) -> dict[str, Any]:
    """The averages and the last iterate, as tables [I, A]."""
    tables = _answers()(choices, state.averages, graph_of(tree))
    current = dense(tree, state.walks.policy[: tree.num_sequences])
    return {name: tables[name] for name in ("average", "network", "ensemble") if name in tables} | {
        "current": current
    }


def network_first(tables: dict[str, Any]) -> dict[str, Any]:
    """The same with the average network as the answer."""
    return {"network": tables["network"]} | tables


@lru_cache
def _answers() -> Callable[..., dict[str, jax.Array]]:
    @partial(compiled, static_argnums=0)
    def tables(choices: Any, kept: Averages, graph: Graph) -> dict[str, jax.Array]:
        return averages.average_tables(choices, kept, graph, regret_matching)

    return tables
