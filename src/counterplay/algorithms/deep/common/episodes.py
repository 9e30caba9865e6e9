"""Episodes sampled in lock-step: a batch of them walks the graph together, turn by turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.networks import uniform

DRAW_SHRINK_FACTOR = 1.0 - 2.0**-22  # keeps draws below the last action with positive probability


class DecisionBatch(NamedTuple):
    """The current decision of each of B episodes."""

    turn: int | jax.Array  # [] number of decisions before this one
    infoset: jax.Array  # [B]
    player: jax.Array  # [B] player that acts
    observation_row: jax.Array  # [B] row of the graph's observations that this player sees
    legal: jax.Array  # [B, A]


Behaviour = Callable[[DecisionBatch], tuple[jax.Array, jax.Array]]
"""Return the policies [B, A] of the acting players, and the distributions [B, A] to sample from.

Differences between episodes, such as the exploring player, are closed over as arrays [B].
"""


class Episodes(NamedTuple):
    """At most T decisions of each of B episodes, with A actions. Past the end `live` is False.

    Decisions of all players are included; those of player p are where `player == p`.
    """

    decision: jax.Array  # [T, B] index in the graph
    live: jax.Array  # [T, B]
    player: jax.Array  # [T, B] player that acts; -1 past the end
    action: jax.Array  # [T, B]
    legal: jax.Array  # [T, B, A]
    policy: jax.Array  # [T, B, A] of the acting player
    sampling_prob: jax.Array  # [T, B] probability with which the action was sampled
    utility: jax.Array  # [B, P]


class StratifiedDraws(NamedTuple):
    """Uniform numbers that decide the rest of B episodes, and their resolution."""

    number: jax.Array  # [B]
    resolution: jax.Array  # [B] distance between two distinguishable numbers


StepRecord = tuple[
    jax.Array, jax.Array, jax.Array, jax.Array, jax.Array, jax.Array, jax.Array
]  # the fields of `Episodes` without the utility, of one turn or of all


def sample_episodes(
    graph: Graph, behaviour: Behaviour, key: jax.Array, num_episodes: int, stratified: bool = False
) -> Episodes:
    """Sample a batch of episodes, independently or stratified over all outcomes.

    A stratified batch decodes each whole episode, chance and actions, from one number, as
    arithmetic coding does: number (w + x) / W for the w-th of W episodes, with x drawn once. Each
    episode alone has its usual distribution, and an outcome of probability p occurs p * W times,
    rounded up or down. Even and odd columns are two such batches, independent of each other.
    """
    draws = jax.random.uniform(key, draws_shape(graph, num_episodes))
    if not stratified:
        return episodes_from_draws(graph, behaviour, draws)
    column = jnp.arange(num_episodes)
    count = (num_episodes + 1 - column % 2) // 2
    numbers = (column // 2 + draws[0, column % 2]) / count
    return episodes_from_draws(graph, behaviour, draws.at[0].set(numbers), stratified=True)


def stratify_draws(draws: jax.Array, batch_sizes: Sequence[int]) -> jax.Array:
    """Return numbers [B] that are stratified within each of several batches.

    The first of a batch's draws shifts all its numbers.
    """
    sizes = np.array(batch_sizes)
    count, first = np.repeat(sizes, sizes), np.repeat(np.cumsum(sizes) - sizes, sizes)
    return (np.arange(count.size) - first + draws[first]) / count


def draws_shape(graph: Graph, num_episodes: int) -> tuple[int, int]:
    """Return the shape of the random numbers that a batch of episodes needs."""
    return 2 * graph.longest_episode + 1, num_episodes


def episodes_from_draws(
    graph: Graph,
    behaviour: Behaviour,
    draws: jax.Array,
    by_turn: bool = False,
    stratified: bool = False,
) -> Episodes:
    """Return the episodes that uniform random numbers of shape `draws_shape` decide.

    An episode uses one number for the opening chance, then one for an action and one for the
    chance after it, and so on.

    Args:
        by_turn: whether each turn is compiled separately; `DecisionBatch.turn` is then an int,
            which a behaviour can look up in `graph.turns`.
        stratified: whether the first number decides all, and the others only supply the digits
            that it lacks.
    """

    def next_draws(
        drawn: StratifiedDraws, low: jax.Array, high: jax.Array, new_draws: jax.Array
    ) -> StratifiedDraws:
        if stratified:
            return rescale_draws(drawn, low, high, new_draws)
        return StratifiedDraws(new_draws, drawn.resolution)

    drawn = StratifiedDraws(draws[0], jnp.full(draws.shape[1], 2.0**-23))
    edge = jnp.zeros(draws.shape[1], jnp.int32)
    start, low, high = _follow_edges(graph, edge, drawn.number, graph.max_starts)
    drawn = next_draws(drawn, low, high, draws[1])

    def step(
        carry: tuple[jax.Array, StratifiedDraws],
        turn_and_draws: tuple[int | jax.Array, jax.Array, jax.Array],
    ) -> tuple[tuple[jax.Array, StratifiedDraws], StepRecord]:
        node, drawn = carry
        turn, chance_draws, action_draws = turn_and_draws
        live = node < graph.num_decisions
        decision = jnp.where(live, node, 0)
        player, infoset = graph.player[decision], graph.infoset[decision]
        legal = graph.legal[infoset]
        row = graph.observation_row[player, decision]
        policy, mixed = behaviour(DecisionBatch(turn, infoset, player, row, legal))
        cdf = jnp.cumsum(mixed, axis=1)
        threshold = DRAW_SHRINK_FACTOR * cdf[:, -1] * drawn.number
        action = (cdf <= threshold[:, None]).sum(axis=1, dtype=jnp.int32)
        sampling_prob = jnp.take_along_axis(mixed, action[:, None], axis=1)[:, 0]
        high = jnp.take_along_axis(cdf, action[:, None], axis=1)[:, 0] / cdf[:, -1]
        drawn = next_draws(drawn, high - sampling_prob / cdf[:, -1], high, chance_draws)
        edge = graph.first_edge[decision] + action
        successor, low, high = _follow_edges(graph, edge, drawn.number, graph.max_successors)
        drawn = next_draws(drawn, low, high, action_draws)
        actor = jnp.where(live, player, -1)
        record = (decision, live, actor, action, legal, policy, sampling_prob)
        return (jnp.where(live, successor, node), drawn), record

    chance_draws = draws[2::2]
    action_draws = jnp.concatenate([draws[3::2], jnp.zeros_like(draws[:1])])  # none after the last
    carry = (start, drawn)
    if by_turn:
        records = []
        for turn in range(graph.longest_episode):
            carry, record = step(carry, (turn, chance_draws[turn], action_draws[turn]))
            records.append(record)
        steps = [jnp.stack(field) for field in zip(*records, strict=True)]
    else:
        turns = jnp.arange(graph.longest_episode)
        carry, record = jax.lax.scan(
            step, carry, (turns, chance_draws, action_draws), unroll=graph.is_short_game
        )
        steps = list(record)
    return Episodes._make([*steps, graph.utility[carry[0] - graph.num_decisions]])


def rescale_draws(
    draws: StratifiedDraws, low: jax.Array, high: jax.Array, new_draws: jax.Array
) -> StratifiedDraws:
    """Map numbers from their intervals [low, high] to [0, 1], where they are uniform again.

    The digits that selected the interval are used up; fresh numbers supply as many.
    """
    width = jnp.maximum(high - low, 1e-12)
    resolution = jnp.minimum(draws.resolution / width, 1.0)
    inside = jnp.clip((draws.number - low) / width, 0.0, 1.0)
    number = (1.0 - resolution) * inside + resolution * new_draws
    return StratifiedDraws(jnp.minimum(number, DRAW_SHRINK_FACTOR), resolution)


def _follow_edges(
    graph: Graph, edge: jax.Array, draws: jax.Array, max_successors: int
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return the node after each edge, which `draws` decide, and the interval that leads there.

    Args:
        max_successors: most successors that an edge can have.
    """
    first = graph.succ_offset[edge]
    if max_successors == 1:
        return graph.succ_node[first], jnp.zeros_like(draws), jnp.ones_like(draws)
    last = graph.succ_offset[edge + 1] - 1
    candidates = first[:, None] + jnp.arange(max_successors)
    passed = (candidates < last[:, None]) & (graph.succ_cdf[candidates] <= draws[:, None])
    chosen = first + passed.sum(axis=1, dtype=jnp.int32)
    low = jnp.where(chosen > first, graph.succ_cdf[chosen - 1], 0.0)
    return graph.succ_node[chosen], low, graph.succ_cdf[chosen]


def mix_exploration(
    policy: jax.Array, decisions: DecisionBatch, explorer: int | jax.Array, epsilon: float
) -> jax.Array:
    """Return policies [B, A], mixed with `epsilon` of uniform play where `explorer` acts."""
    mixed = epsilon * uniform(decisions.legal) + (1.0 - epsilon) * policy
    return jnp.where((decisions.player == explorer)[:, None], mixed, policy)


def behaviour_from_table(policy: jax.Array) -> Behaviour:
    """Return the behaviour in which all players follow a table of probabilities [I, A]."""

    def behave(decisions: DecisionBatch) -> tuple[jax.Array, jax.Array]:
        probabilities = policy[decisions.infoset]
        return probabilities, probabilities

    return behave


def last_actions(episodes: Episodes, num_players: int) -> jax.Array:
    """Return every player's last action before each decision [T, B, P]; -1 before the first."""

    def step(last: jax.Array, decision: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        player, action = decision
        acts = jnp.arange(num_players) == player[:, None]
        return jnp.where(acts, action[:, None], last), last

    no_action = jnp.full((episodes.player.shape[1], num_players), -1, jnp.int32)
    return jax.lax.scan(step, no_action, (episodes.player, episodes.action))[1]


def slice_episodes(episodes: Episodes, first: int | jax.Array, count: int) -> Episodes:
    """Return `count` of the episodes, beginning with the one numbered `first`."""

    def cut(array: jax.Array, axis: int) -> jax.Array:
        return jax.lax.dynamic_slice_in_dim(array, first, count, axis)

    *steps, utility = episodes
    return Episodes._make([*(cut(array, 1) for array in steps), cut(utility, 0)])


def join_episodes(first: Episodes, second: Episodes) -> Episodes:
    """Return both batches of episodes as one."""
    *steps, utility = zip(first, second, strict=True)
    joined = [jnp.concatenate(pair, axis=1) for pair in steps]
    return Episodes._make([*joined, jnp.concatenate(utility)])


def player_decisions(episodes: Episodes, player: int | jax.Array, max_decisions: int) -> Episodes:
    """Return episodes that contain the decisions of one player only.

    With a baseline of zero, values pass through other players' decisions unchanged, so that the
    result can be evaluated like whole episodes.

    Args:
        max_decisions: most decisions of the player in an episode.
    """
    is_own = episodes.player == player
    number = jnp.cumsum(is_own, axis=0) - 1
    selected = is_own & (number == jnp.arange(max_decisions)[:, None, None])  # [M, T, B]
    turn, live = selected.argmax(axis=1), selected.any(axis=1)
    column = jnp.arange(is_own.shape[1])
    *steps, utility = episodes
    own_episodes = Episodes._make([*(array[turn, column] for array in steps), utility])
    return own_episodes._replace(live=live, player=jnp.where(live, player, -1))
