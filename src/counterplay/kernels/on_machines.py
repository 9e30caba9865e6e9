"""The iterations of the Monte Carlo family on compiled rules: a kernel of the same name each.

Every one returns the iteration it did not begin: the end, or earlier where tables lack room.
"""

from __future__ import annotations

from functools import partial

from counterplay.kernels import episodes, walks
from counterplay.kernels.compiling import bare_kernel
from counterplay.kernels.lazy_nodes import has_failed, is_ready

whole_kernel = partial(bare_kernel, inline=False)


@whole_kernel
def chance_sampling(begin, end, room, seed, power, learner, game, table, scratch):
    for t in range(begin, end):
        if not is_ready(game.nodes, room):
            return t
        walks.chance_sampling(t, t + 1, seed, power, learner, game, table, scratch)
        if has_failed(game.nodes):
            return t
    return end


@whole_kernel
def external_sampling(begin, end, room, seed, power, learner, game, table, scratch):
    for t in range(begin, end):
        if not is_ready(game.nodes, room):
            return t
        walks.external_sampling(t, t + 1, seed, power, learner, game, table, scratch)
        if has_failed(game.nodes):
            return t
    return end


@whole_kernel
def average_sampling(begin, end, room, seed, power, learner, scheme, game, table, scratch):
    for t in range(begin, end):
        if not is_ready(game.nodes, room):
            return t
        walks.average_sampling(t, t + 1, seed, power, learner, scheme, game, table, scratch)
        if has_failed(game.nodes):
            return t
    return end


@whole_kernel
def outcome_sampling(begin, end, room, seed, power, learner, epsilon, game, table, scratch):
    for t in range(begin, end):
        if not is_ready(game.nodes, room):
            return t
        episodes.outcome_sampling(t, t + 1, seed, power, learner, epsilon, game, table, scratch)
        if has_failed(game.nodes):
            return t
    return end


@whole_kernel
def lazy_outcome_sampling(begin, end, room, seed, power, learner, epsilon, game, table, scratch):
    for t in range(begin, end):
        if not is_ready(game.nodes, room):
            return t
        given = epsilon, game, table, scratch
        episodes.lazy_outcome_sampling(t, t + 1, seed, power, learner, *given)
        if has_failed(game.nodes):
            return t
    return end


@whole_kernel
def probing(begin, end, room, seed, power, learner, epsilon, game, table, scratch):
    for t in range(begin, end):
        if not is_ready(game.nodes, room):
            return t
        episodes.probing(t, t + 1, seed, power, learner, epsilon, game, table, scratch)
        if has_failed(game.nodes):
            return t
    return end


@whole_kernel
def online_sampling(begin, end, room, seed, power, learner, epsilon, p, game, table, scratch):
    for t in range(begin, end):
        if not is_ready(game.nodes, room):
            return t
        given = epsilon, p, game, table, scratch
        episodes.online_sampling(t, t + 1, seed, power, learner, *given)
        if has_failed(game.nodes):
            return t
    return end
