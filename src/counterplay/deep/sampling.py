"""Outcome sampling in lock-step: a batch of episodes walked with gathers, then valued backwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from counterplay.deep.graph import Graph, Shape

PolicyAt = Callable[[int, jax.Array], jax.Array]  # turn, decisions [B] -> probabilities [B, A]


class Episodes(NamedTuple):
    """T decisions of each of B episodes, at most; A actions. Past the end `live` is False."""

    node: jax.Array  # [T, B] the decision
    live: jax.Array  # [T, B]
    own: jax.Array  # [T, B] the traverser acts
    action: jax.Array  # [T, B]
    policy: jax.Array  # [T, B, A] of the one to act
    sampled: jax.Array  # [T, B] the probability with which the action was sampled
    utility: jax.Array  # [B] of the traverser


class Values(NamedTuple):
    """What the episodes say about the traverser."""

    regret: jax.Array  # [T, B, A] sampled instant regrets, zero where others act
    target: jax.Array  # [T, B] estimated value after the action taken


def legal(graph: Graph, shape: Shape, node: jax.Array) -> jax.Array:
    """Which of the A actions exist at each decision."""
    return jnp.arange(shape.max_actions) < graph.num_actions[node][..., None]


def draws_of(shape: Shape, batch: int) -> tuple[int, int]:
    """The shape of the random numbers that a batch of episodes needs."""
    return (2 * shape.longest_episode + 1, batch)


def walk(
    graph: Graph,
    shape: Shape,
    policy_at: PolicyAt,
    traverser: jax.Array,
    epsilon: float,
    draws: jax.Array,
) -> Episodes:
    """Sample an episode for each traverser [B], who mixes in uniform play with `epsilon`.

    `draws` are uniform random numbers, as many as `draws_of` says: of each episode for the opening
    chance, then an action and the chance after it, and so on.
    """
    node = _follow(graph, jnp.zeros(traverser.size, jnp.int32), draws[0], shape.max_starts)
    steps = []
    for turn in range(shape.longest_episode):
        live = node < shape.num_decisions
        here = jnp.where(live, node, 0)
        own = graph.player[here] == traverser
        policy = policy_at(turn, here)
        count = graph.num_actions[here]
        uniform = legal(graph, shape, here) / count[:, None]
        mixed = jnp.where(own[:, None], epsilon * uniform + (1.0 - epsilon) * policy, policy)
        reached = jnp.cumsum(mixed, axis=1) <= draws[2 * turn + 1][:, None]
        action = jnp.minimum(reached.sum(axis=1, dtype=jnp.int32), count - 1)
        sampled = jnp.take_along_axis(mixed, action[:, None], axis=1)[:, 0]
        edge = graph.first_edge[here] + action
        after = _follow(graph, edge, draws[2 * turn + 2], shape.max_successors)
        steps.append((here, live, own & live, action, policy, sampled))
        node = jnp.where(live, after, node)
    utility = graph.utility[node - shape.num_decisions, traverser]
    node_, live_, own_, action_, policy_, sampled_ = map(jnp.stack, zip(*steps, strict=True))
    return Episodes(node_, live_, own_, action_, policy_, sampled_, utility)


def _follow(graph: Graph, edge: jax.Array, draw: jax.Array, most: int) -> jax.Array:
    """The node after each edge, chance decided by `draw`; an edge has `most` successors at most."""
    first = graph.succ_offset[edge]
    if most == 1:
        return graph.succ_node[first]
    last = graph.succ_offset[edge + 1] - 1
    each = first[:, None] + jnp.arange(most)
    passed = (each < last[:, None]) & (graph.succ_cdf[each] <= draw[:, None])
    return graph.succ_node[first + passed.sum(axis=1, dtype=jnp.int32)]


def part(episodes: Episodes, first: int | jax.Array, count: int) -> Episodes:
    """`count` of the episodes from the given one on."""
    return jax.tree.map(
        lambda e: jax.lax.dynamic_slice_in_dim(e, first, count, int(e.ndim > 1)), episodes
    )


def own_decisions(episodes: Episodes, most: int) -> Episodes:
    """Only the traverser's decisions, of which an episode has `most` at most.

    Where the others act without a baseline, values pass through unchanged, so that the result can
    be valued like whole episodes.
    """
    place = jnp.cumsum(episodes.own, axis=0) - 1
    wanted = episodes.own & (place == jnp.arange(most)[:, None, None])  # [M, T, B]
    turn, found = wanted.argmax(axis=1), wanted.any(axis=1)
    column = jnp.arange(episodes.node.shape[1])
    node, _, _, action, policy, sampled, utility = episodes
    return Episodes(
        node[turn, column],
        found,
        found,
        action[turn, column],
        policy[turn, column],
        sampled[turn, column],
        utility,
    )


def value(graph: Graph, shape: Shape, episodes: Episodes, baseline: jax.Array) -> Values:
    """Baseline-enhanced sampled values, from the last decision to the first.

    `baseline` [T, B, A] is any guess at the traverser's value of each action; it must be zero at
    actions that do not exist, and may be zero anywhere. Regrets are unbiased whatever it is:

        u(h, a) = b(h, a) + [a taken] * (u(ha) - b(h, a)) / q(h, a)
        u(h)    = sum over a of policy(h, a) * u(h, a)
        r(h, a) = (u(h, a) - u(h)) / (the traverser's own sampling probability of reaching h)

    Chance and the others are sampled on policy, so that their probabilities cancel.
    """
    own_sampled = jnp.where(episodes.own, episodes.sampled, 1.0)
    reach = jnp.cumprod(own_sampled, axis=0) / own_sampled
    later = episodes.utility
    regrets, targets = [], []
    for t in range(len(episodes.node) - 1, -1, -1):
        guess, action = baseline[t], episodes.action[t]
        taken = jnp.arange(shape.max_actions) == action[:, None]
        surprise = later - jnp.where(taken, guess, 0.0).sum(axis=1)
        values = guess + jnp.where(taken, (surprise / episodes.sampled[t])[:, None], 0.0)
        mean = (episodes.policy[t] * values).sum(axis=1)
        keep = episodes.own[t][:, None] & legal(graph, shape, episodes.node[t])
        regrets.append(jnp.where(keep, (values - mean[:, None]) / reach[t][:, None], 0.0))
        targets.append(later)
        later = jnp.where(episodes.live[t], mean, later)
    return Values(jnp.stack(regrets[::-1]), jnp.stack(targets[::-1]))
