"""Critics: guesses at what an action is worth at a history, by someone who sees everybody's cards.

They serve in training only. A network looks at what all players see, and is fitted by expected
SARSA: the value of an action is what the policies now expect of the actions that follow it. On a
tree the transitions met so far are known by how often each node was met, so that targets are made
anew for all of them at once, with the policies of the moment. The oracle, one pass over the tree,
is never wrong: what goes wrong with it is not the critic's fault. On rules the latest transitions
are kept, and targets made for those that are drawn (`rule_critics`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.deep import rule_critics
from counterplay.deep.device import compiled
from counterplay.deep.fitting import Trained, annealed, in_training
from counterplay.deep.graph import Graph, arrays_of, children, graph_of
from counterplay.deep.nets import Net, apply_net, new_nets, one_of, with_one
from counterplay.deep.on_rules import rules_on
from counterplay.deep.traversals import Walks, dense
from counterplay.kernels import nodes
from counterplay.settings import settings
from counterplay.tree import Floats, Ints, Tree, once_per_tree


@settings(kw_only=True)
class Criticised:
    """The choices of algorithms that have a critic."""

    critic_units: tuple[int, ...] = (64, 64, 64)
    critic_depth: int = 1  # actions that a target looks ahead
    critic_rounds: int = 10  # times per fit that targets are made anew
    critic_steps: int = 20  # of Adam in each
    critic_batch: int = 512  # histories per step
    critic_memory: int = 200_000  # the latest histories, on rules; a tree counts all
    critic_lr: float = 1e-3
    critic_decay: float = 0.95  # of what was met, per iteration
    oracle: bool = False  # exact values instead of a network


class Histories(NamedTuple):
    """Where decisions and what follows them stand; E edges, F successors."""

    decisions: Ints  # [D] node of each
    child: Ints  # [E - 1] node after each action
    edge: Ints  # [F] which edge a successor belongs to
    node: Ints  # [D + Z] node of each decision and terminal
    seen: Any  # [D, X] what all players together know there


@once_per_tree
def histories(tree: Tree) -> Histories:
    graph = arrays_of(tree)
    decisions = np.flatnonzero(tree.player >= 0)
    lengths = np.diff(graph.succ_offset)
    edge = np.repeat(np.arange(lengths.size), lengths)
    node = np.append(decisions, tree.terminals)
    after = children(tree, decisions)
    return Histories(decisions, after, edge.astype(np.int32), node, _seen(tree, decisions))


def _seen(tree: Tree, decisions: Ints) -> Any:
    """What all players observe; if that does not tell decisions apart, their last actions too.

    A bid that is still face down, for example, is no part of anybody's observation.
    """
    graph = arrays_of(tree)
    seen = np.concatenate([np.asarray(graph.observation)[view] for view in graph.view], axis=1)
    if len(np.unique(np.asarray(graph.view), axis=1).T) == decisions.size:
        return seen
    last = np.full((tree.num_nodes, tree.num_players), -1)
    for node in range(1, tree.num_nodes):
        above = tree.parent[node]
        last[node] = last[above]
        if tree.player[above] >= 0:
            last[node, tree.player[above]] = node - tree.child_offset[above]
    taken = last[decisions][..., None] == np.arange(tree.max_actions)
    return np.append(seen, taken.reshape(decisions.size, -1), axis=1).astype(np.float32)


def new_critic(choices: Any, tree: Tree, rng: np.random.Generator) -> Trained:
    """A network that says nothing yet; one with no layers for the oracle."""
    if not isinstance(tree, Tree):
        return rule_critics.new_critic(choices, rules_on(tree), rng)
    if choices.oracle:
        return Trained([], [])
    graph = graph_of(tree)
    inputs, outputs = histories(tree).seen.shape[1], graph.num_players * graph.max_actions
    net = new_nets(rng, 1, (inputs, *choices.critic_units, outputs), zero_head=True)
    return jax.device_put(in_training(optax.scale_by_adam(), net))


def exact_values(tree: Tree, policy: Floats) -> Floats:
    """What the step to every node is worth to each player [N, P]."""
    value = np.zeros((tree.num_nodes, tree.num_players))
    given = tree.player, tree.child_offset, tree.chance, tree.infoset, tree.offset
    nodes.node_values(*given, tree.utility, policy, value)
    return value


def refitted(choices: Any, arena: Any, state: Any, key: jax.Array) -> tuple[Any, Any]:
    """The state with the critic fitted to the present policies, and what that says.

    On a tree this is a table of every step [N, P]; on rules it is the network, to be asked.
    """
    guess: Any
    if isinstance(arena, Tree):
        critic, guess = criticise(choices, arena, state.walks, state.critic, key)
    else:
        given = state.walks.ring, state.critic, choices.speaking(state), key
        critic, guess = rule_critics.criticise(choices, rules_on(arena), *given)
    return state._replace(critic=critic), guess


def criticise(
    choices: Any, tree: Tree, walks: Walks, critic: Trained, key: jax.Array
) -> tuple[Trained, Floats]:
    """The critic fitted to the present policies, and what it says [N, P] of every step."""
    policy = walks.policy[: tree.num_sequences]
    if choices.oracle:
        return critic, exact_values(tree, policy)
    known = histories(tree)
    table, met = dense(tree, policy), walks.visits[known.node].astype(np.float32)
    critic, said = _fit()(choices, graph_of(tree), critic, known.seen, table, met, known.edge, key)
    legal = arrays_of(tree).legal[tree.infoset[known.decisions]]
    value = np.zeros((tree.num_nodes, tree.num_players))
    value[known.child] = np.asarray(said, np.float64)[legal]
    return critic, value


@lru_cache
def _fit() -> Callable[..., tuple[Trained, jax.Array]]:
    @partial(compiled, static_argnums=0, donate_argnums=2)
    def fit(
        choices: Any,
        graph: Graph,
        critic: Trained,
        everything: jax.Array,
        table: jax.Array,
        met: jax.Array,
        edge: jax.Array,
        key: jax.Array,
    ) -> tuple[Trained, jax.Array]:
        legal = graph.legal[graph.infoset]  # [D, A]
        number = jnp.where(legal, graph.first_edge[:, None] + jnp.arange(legal.shape[1]), 0)
        seen = met[graph.succ_node]
        taken = jnp.zeros(graph.succ_offset.size - 1).at[edge].add(seen)  # [E]
        count = jnp.where(legal, taken[number], 0.0)
        passed = jnp.cumsum(count.sum(-1))
        share = count / count.sum(-1, keepdims=True).clip(1e-30)

        def after(values: jax.Array) -> jax.Array:
            """What the policies expect after every action [D, A, P], of such values [D, A, P]."""
            value = (table[graph.infoset][..., None] * values).sum(1)
            value = jnp.append(value, graph.utility / graph.largest_utility, axis=0)
            total = (
                jnp.zeros((taken.size, graph.num_players))
                .at[edge]
                .add(seen[:, None] * value[graph.succ_node])
            )
            return (total / taken.clip(1e-30)[:, None])[number]

        def targets(net: Net) -> jax.Array:
            """The values of every action [D, A, P], in the largest utility, as far as met."""
            guess = said_at(net, graph, everything)

            def deeper(_: jax.Array, values: jax.Array) -> jax.Array:
                return jnp.where(count[..., None] > 0.0, after(values), guess)

            return jax.lax.fori_loop(0, choices.critic_depth, deeper, guess)

        def draw(target: jax.Array, key: jax.Array) -> Any:
            if passed.size <= choices.critic_batch:
                return everything, target, count
            place = jax.random.uniform(key, (choices.critic_batch,)) * passed[-1]
            chosen = jnp.searchsorted(passed, place).clip(0, passed.size - 1)
            return everything[chosen], target[chosen], share[chosen]

        def loss(net: Net, some: Any) -> jax.Array:
            x, target, share = some
            error = (said_at(net, graph, x) - target) ** 2
            return (share * error.sum(-1)).sum() / share.sum().clip(1e-30)

        def again(trained: Trained, key: jax.Array) -> tuple[Trained, None]:
            target = targets(trained.params)
            optimiser, rate = optax.scale_by_adam(), choices.critic_lr
            chosen = partial(draw, target)
            return annealed(optimiser, rate, loss, trained, chosen, key, choices.critic_steps), None

        keys = jax.random.split(key, choices.critic_rounds)
        trained = jax.lax.scan(again, one_of(critic, 0), keys)[0]
        said = graph.largest_utility * said_at(trained.params, graph, everything)
        return with_one(critic, 0, trained), said

    return fit


def said_at(net: Net, graph: Graph, x: jax.Array) -> jax.Array:
    """Values [B, A, P] of every action to each player, where they know x [B, X] together."""
    return apply_net(net, x).reshape(-1, graph.max_actions, graph.num_players)
