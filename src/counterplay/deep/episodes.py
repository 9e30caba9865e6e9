"""Episodes sampled in lock-step: a batch of them walks the graph together, turn by turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.deep.graph import Graph
from counterplay.deep.nets import uniform

SHY = 1.0 - 2.0**-22  # of the way: a draw never passes the last action that has a probability


class Decisions(NamedTuple):
    """Where B episodes stand, one decision each."""

    turn: Any  # [] how many decisions there were before
    infoset: jax.Array  # [B]
    player: jax.Array  # [B] who acts
    view: jax.Array  # [B] what that player sees, a row of the graph's observations
    legal: jax.Array  # [B, A]


Behaviour = Callable[[Decisions], tuple[jax.Array, jax.Array]]
"""The policies [B, A] of those who act, and the distributions [B, A] to sample their actions from.

What differs between episodes (who explores, whose coin fell how) a behaviour knows by itself, in
arrays [B].
"""


class Episodes(NamedTuple):
    """T decisions of each of B episodes, at most; A actions. Past the end `live` is False.

    They belong to nobody in particular: the decisions of p are where `player == p`.
    """

    decision: jax.Array  # [T, B] number in the graph
    live: jax.Array  # [T, B]
    player: jax.Array  # [T, B] who acts; -1 past the end
    action: jax.Array  # [T, B]
    legal: jax.Array  # [T, B, A]
    policy: jax.Array  # [T, B, A] of the one to act
    played: jax.Array  # [T, B] the probability with which the action was sampled
    utility: jax.Array  # [B, P]


def sample(graph: Graph, behaviour: Behaviour, key: jax.Array, batch: int) -> Episodes:
    """A batch of episodes."""
    return walk(graph, behaviour, jax.random.uniform(key, draws_of(graph, batch)))


def draws_of(graph: Graph, batch: int) -> tuple[int, int]:
    """The shape of the random numbers that a batch of episodes needs."""
    return 2 * graph.longest_episode + 1, batch


def walk(graph: Graph, behaviour: Behaviour, draws: jax.Array, by_turn: bool = False) -> Episodes:
    """The episodes that uniform random numbers decide, as many as `draws_of` says.

    Of each episode one for the opening chance, then one for an action and one for the chance after
    it, and so on. With `by_turn` each turn has a program of its own, and a behaviour is told a turn
    that it can look up in `graph.turns`.
    """
    start = _follow(graph, jnp.zeros(draws.shape[1], jnp.int32), draws[0], graph.max_starts)

    def step(node: jax.Array, given: tuple[jax.Array, ...]) -> tuple[jax.Array, tuple]:
        turn, draw, chance = given
        live = node < graph.num_decisions
        here = jnp.where(live, node, 0)
        player, infoset = graph.player[here], graph.infoset[here]
        legal = graph.legal[infoset]
        now = Decisions(turn, infoset, player, graph.view[player, here], legal)
        policy, mixed = behaviour(now)
        passed = jnp.cumsum(mixed, axis=1)
        action = (passed <= (SHY * passed[:, -1] * draw)[:, None]).sum(axis=1, dtype=jnp.int32)
        played = jnp.take_along_axis(mixed, action[:, None], axis=1)[:, 0]
        after = _follow(graph, graph.first_edge[here] + action, chance, graph.max_successors)
        step = (here, live, jnp.where(live, player, -1), action, legal, policy, played)
        return jnp.where(live, after, node), step

    given = np.arange(graph.longest_episode), draws[1::2], draws[2::2]
    if by_turn:
        end, each = start, []
        for turn in zip(*given, strict=True):
            end, one = step(end, turn)
            each.append(one)
        steps = [jnp.stack(every) for every in zip(*each, strict=True)]
    else:
        end, steps = jax.lax.scan(step, start, given, unroll=graph.is_short)
    return Episodes(*steps, graph.utility[end - graph.num_decisions])


def _follow(graph: Graph, edge: jax.Array, draw: jax.Array, most: int) -> jax.Array:
    """The node after each edge, chance decided by `draw`; an edge has `most` successors at most."""
    first = graph.succ_offset[edge]
    if most == 1:
        return graph.succ_node[first]
    last = graph.succ_offset[edge + 1] - 1
    each = first[:, None] + jnp.arange(most)
    passed = (each < last[:, None]) & (graph.succ_cdf[each] <= draw[:, None])
    return graph.succ_node[first + passed.sum(axis=1, dtype=jnp.int32)]


def exploring(policy: jax.Array, now: Decisions, who: jax.Array, epsilon: float) -> jax.Array:
    """The policy [B, A], mixed with `epsilon` of uniform play where `who` [B] or [] acts."""
    mixed = epsilon * uniform(now.legal) + (1.0 - epsilon) * policy
    return jnp.where((now.player == who)[:, None], mixed, policy)


def last_actions(episodes: Episodes, num_players: int) -> jax.Array:
    """Every player's last action before each decision [T, B, P]; -1: none yet."""

    def step(last: jax.Array, at: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        player, action = at
        acts = jnp.arange(num_players) == player[:, None]
        return jnp.where(acts, action[:, None], last), last

    nothing = jnp.full((episodes.player.shape[1], num_players), -1, jnp.int32)
    return jax.lax.scan(step, nothing, (episodes.player, episodes.action))[1]


def part(episodes: Episodes, first: int | jax.Array, count: int) -> Episodes:
    """`count` of the episodes from the given one on."""

    def cut(array: jax.Array, axis: int) -> jax.Array:
        return jax.lax.dynamic_slice_in_dim(array, first, count, axis)

    *steps, utility = episodes
    return Episodes(*(cut(array, 1) for array in steps), cut(utility, 0))


def decisions_of(episodes: Episodes, player: jax.Array, most: int) -> Episodes:
    """Only the decisions of one player, of which an episode has `most` at most.

    Where nobody guesses at values, these pass other players' decisions unchanged, so that the
    result can be valued like whole episodes.
    """
    own = episodes.player == player
    place = jnp.cumsum(own, axis=0) - 1
    wanted = own & (place == jnp.arange(most)[:, None, None])  # [M, T, B]
    turn, found = wanted.argmax(axis=1), wanted.any(axis=1)
    column = jnp.arange(own.shape[1])
    *steps, utility = episodes
    kept = Episodes(*(array[turn, column] for array in steps), utility)
    return kept._replace(live=found, player=jnp.where(found, player, -1))
