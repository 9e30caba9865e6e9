"""Episodes sampled in lock-step: a batch of them walks the graph together, turn by turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.networks import uniform

DRAW_SHRINK_FACTOR = (
    1.0 - 2.0**-22
)  # of the way: a draw never passes the last action that has a probability


class DecisionBatch(NamedTuple):
    """Where B episodes stand, one decision each."""

    turn: Any  # [] how many decisions there were before
    infoset: jax.Array  # [B]
    player: jax.Array  # [B] who acts
    observation_row: jax.Array  # [B] what that player sees, a row of the graph's observations
    legal: jax.Array  # [B, A]


Behaviour = Callable[[DecisionBatch], tuple[jax.Array, jax.Array]]
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
    sampling_prob: jax.Array  # [T, B] the probability with which the action was sampled
    utility: jax.Array  # [B, P]


class StratifiedDraws(NamedTuple):
    """What decides B episodes from here on: numbers that are uniform, and how finely."""

    number: jax.Array  # [B]
    resolution: jax.Array  # [B] the distance between two such numbers


def sample_episodes(
    graph: Graph, behaviour: Behaviour, key: jax.Array, num_episodes: int, stratified: bool = False
) -> Episodes:
    """A batch of episodes; if `even`, each half of them spread over all that can happen.

    An even batch reads whole episodes, chance and actions, off one number each, as arithmetic
    coding does: number (w + x) / W for the w-th of W, x being drawn once. Each episode alone is as
    likely as ever, and of W one that has probability p comes p * W times, rounded up or down.
    Even and odd columns are two such batches, independent of each other.
    """
    draws = jax.random.uniform(key, draws_shape(graph, num_episodes))
    if not stratified:
        return episodes_from_draws(graph, behaviour, draws)
    place = jnp.arange(num_episodes)
    count = (num_episodes + 1 - place % 2) // 2
    numbers = (place // 2 + draws[0, place % 2]) / count
    return episodes_from_draws(graph, behaviour, draws.at[0].set(numbers), stratified=True)


def stratify_draws(draws: jax.Array, batch_sizes: Sequence[int]) -> jax.Array:
    """Numbers [B] of batches of so many episodes, each of them even: its first draw shifts them."""
    parts = np.array(batch_sizes)
    count, first = np.repeat(parts, parts), np.repeat(np.cumsum(parts) - parts, parts)
    return (np.arange(count.size) - first + draws[first]) / count


def draws_shape(graph: Graph, num_episodes: int) -> tuple[int, int]:
    """The shape of the random numbers that a batch of episodes needs."""
    return 2 * graph.longest_episode + 1, num_episodes


def episodes_from_draws(
    graph: Graph,
    behaviour: Behaviour,
    draws: jax.Array,
    by_turn: bool = False,
    stratified: bool = False,
) -> Episodes:
    """The episodes that uniform random numbers decide, as many as `draws_of` says.

    Of each episode one for the opening chance, then one for an action and one for the chance after
    it, and so on; if `even` the first decides, and the others only fill in the digits that it does
    not have. With `by_turn` each turn has a program of its own, and a behaviour is told a turn that
    it can look up in `graph.turns`.
    """

    def next_luck(
        luck: StratifiedDraws, low: jax.Array, high: jax.Array, draw: jax.Array
    ) -> StratifiedDraws:
        return (
            rescale_draws(luck, low, high, draw)
            if stratified
            else StratifiedDraws(draw, luck.resolution)
        )

    luck = StratifiedDraws(draws[0], jnp.full(draws.shape[1], 2.0**-23))
    edge = jnp.zeros(draws.shape[1], jnp.int32)
    start, low, high = _follow_edges(graph, edge, luck.number, graph.max_starts)
    luck = next_luck(luck, low, high, draws[1])

    def step(
        at: tuple[jax.Array, StratifiedDraws], given: tuple[jax.Array, ...]
    ) -> tuple[Any, tuple]:
        node, luck = at
        turn, chance, fresh = given
        live = node < graph.num_decisions
        here = jnp.where(live, node, 0)
        player, infoset = graph.player[here], graph.infoset[here]
        legal = graph.legal[infoset]
        now = DecisionBatch(turn, infoset, player, graph.observation_row[player, here], legal)
        policy, mixed = behaviour(now)
        passed = jnp.cumsum(mixed, axis=1)
        drawn = DRAW_SHRINK_FACTOR * passed[:, -1] * luck.number
        action = (passed <= drawn[:, None]).sum(axis=1, dtype=jnp.int32)
        played = jnp.take_along_axis(mixed, action[:, None], axis=1)[:, 0]
        high = jnp.take_along_axis(passed, action[:, None], axis=1)[:, 0] / passed[:, -1]
        luck = next_luck(luck, high - played / passed[:, -1], high, chance)
        edge = graph.first_edge[here] + action
        after, low, high = _follow_edges(graph, edge, luck.number, graph.max_successors)
        luck = next_luck(luck, low, high, fresh)
        step = (here, live, jnp.where(live, player, -1), action, legal, policy, played)
        return (jnp.where(live, after, node), luck), step

    last = jnp.zeros_like(draws[:1])  # after the last chance nothing is decided any more
    given = np.arange(graph.longest_episode), draws[2::2], jnp.concatenate([draws[3::2], last])
    if by_turn:
        end, each = (start, luck), []
        for turn in zip(*given, strict=True):
            end, one = step(end, turn)
            each.append(one)
        steps = [jnp.stack(every) for every in zip(*each, strict=True)]
    else:
        end, steps = jax.lax.scan(step, (start, luck), given, unroll=graph.is_short_game)
    return Episodes(*steps, graph.utility[end[0] - graph.num_decisions])


def rescale_draws(
    draws: StratifiedDraws, low: jax.Array, high: jax.Array, new_draws: jax.Array
) -> StratifiedDraws:
    """Where in its interval, from low to high, a number was: as uniform as before.

    It has lost the digits that told the interval; a fresh number brings as many.
    """
    width = jnp.maximum(high - low, 1e-12)
    grain = jnp.minimum(draws.resolution / width, 1.0)
    inside = jnp.clip((draws.number - low) / width, 0.0, 1.0)
    number = jnp.minimum((1.0 - grain) * inside + grain * new_draws, DRAW_SHRINK_FACTOR)
    return StratifiedDraws(number, grain)


def _follow_edges(
    graph: Graph, edge: jax.Array, draws: jax.Array, max_successors: int
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The node after each edge, chance decided by `draw`, and the numbers that lead there.

    An edge has `most` successors at most.
    """
    first = graph.succ_offset[edge]
    if max_successors == 1:
        return graph.succ_node[first], jnp.zeros_like(draws), jnp.ones_like(draws)
    last = graph.succ_offset[edge + 1] - 1
    each = first[:, None] + jnp.arange(max_successors)
    passed = (each < last[:, None]) & (graph.succ_cdf[each] <= draws[:, None])
    chosen = first + passed.sum(axis=1, dtype=jnp.int32)
    low = jnp.where(chosen > first, graph.succ_cdf[chosen - 1], 0.0)
    return graph.succ_node[chosen], low, graph.succ_cdf[chosen]


def mix_exploration(
    policy: jax.Array, decisions: DecisionBatch, explorer: jax.Array, epsilon: float
) -> jax.Array:
    """The policy [B, A], mixed with `epsilon` of uniform play where `who` [B] or [] acts."""
    mixed = epsilon * uniform(decisions.legal) + (1.0 - epsilon) * policy
    return jnp.where((decisions.player == explorer)[:, None], mixed, policy)


def last_actions(episodes: Episodes, num_players: int) -> jax.Array:
    """Every player's last action before each decision [T, B, P]; -1: none yet."""

    def step(last: jax.Array, at: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        player, action = at
        acts = jnp.arange(num_players) == player[:, None]
        return jnp.where(acts, action[:, None], last), last

    nothing = jnp.full((episodes.player.shape[1], num_players), -1, jnp.int32)
    return jax.lax.scan(step, nothing, (episodes.player, episodes.action))[1]


def slice_episodes(episodes: Episodes, first: int | jax.Array, count: int) -> Episodes:
    """`count` of the episodes from the given one on."""

    def cut(array: jax.Array, axis: int) -> jax.Array:
        return jax.lax.dynamic_slice_in_dim(array, first, count, axis)

    *steps, utility = episodes
    return Episodes(*(cut(array, 1) for array in steps), cut(utility, 0))


def player_decisions(episodes: Episodes, player: jax.Array, max_decisions: int) -> Episodes:
    """Only the decisions of one player, of which an episode has `most` at most.

    Where nobody guesses at values, these pass other players' decisions unchanged, so that the
    result can be valued like whole episodes.
    """
    own = episodes.player == player
    place = jnp.cumsum(own, axis=0) - 1
    wanted = own & (place == jnp.arange(max_decisions)[:, None, None])  # [M, T, B]
    turn, found = wanted.argmax(axis=1), wanted.any(axis=1)
    column = jnp.arange(own.shape[1])
    *steps, utility = episodes
    kept = Episodes(*(array[turn, column] for array in steps), utility)
    return kept._replace(live=found, player=jnp.where(found, player, -1))
