"""The iterations of the Monte Carlo family on compiled rules: a kernel of the same name each.

Every one returns the iteration it did not begin: the end, or earlier where tables lack room.
"""

from __future__ import annotations

from functools import partial

from counterplay.kernels.runtime.jit import no_alloc_kernel
from counterplay.kernels.sampling import episodes, traversals
from counterplay.kernels.sampling.lazy_nodes import has_failed, prepare_iteration

noinline_no_alloc_kernel = partial(no_alloc_kernel, inline=False)


@noinline_no_alloc_kernel
def chance_sampling(begin, end, max_new_entries, seed, power, learner, game, table, scratch):
    for t in range(begin, end):
        if not prepare_iteration(game.nodes, max_new_entries):
            return t
        traversals.chance_sampling(t, t + 1, seed, power, learner, game, table, scratch)
        if has_failed(game.nodes):
            return t
    return end


@noinline_no_alloc_kernel
def external_sampling(begin, end, max_new_entries, seed, power, learner, game, table, scratch):
    for t in range(begin, end):
        if not prepare_iteration(game.nodes, max_new_entries):
            return t
        traversals.external_sampling(t, t + 1, seed, power, learner, game, table, scratch)
        if has_failed(game.nodes):
            return t
    return end


@noinline_no_alloc_kernel
def average_sampling(
    begin, end, max_new_entries, seed, power, learner, scheme, game, table, scratch
):
    for t in range(begin, end):
        if not prepare_iteration(game.nodes, max_new_entries):
            return t
        traversals.average_sampling(t, t + 1, seed, power, learner, scheme, game, table, scratch)
        if has_failed(game.nodes):
            return t
    return end


@noinline_no_alloc_kernel
def outcome_sampling(
    begin, end, max_new_entries, seed, power, learner, epsilon, game, table, scratch
):
    for t in range(begin, end):
        if not prepare_iteration(game.nodes, max_new_entries):
            return t
        episodes.outcome_sampling(t, t + 1, seed, power, learner, epsilon, game, table, scratch)
        if has_failed(game.nodes):
            return t
    return end


@noinline_no_alloc_kernel
def lazy_outcome_sampling(
    begin, end, max_new_entries, seed, power, learner, epsilon, game, table, scratch
):
    for t in range(begin, end):
        if not prepare_iteration(game.nodes, max_new_entries):
            return t
        given = epsilon, game, table, scratch
        episodes.lazy_outcome_sampling(t, t + 1, seed, power, learner, *given)
        if has_failed(game.nodes):
            return t
    return end


@noinline_no_alloc_kernel
def probing(begin, end, max_new_entries, seed, power, learner, epsilon, game, table, scratch):
    for t in range(begin, end):
        if not prepare_iteration(game.nodes, max_new_entries):
            return t
        episodes.probing(t, t + 1, seed, power, learner, epsilon, game, table, scratch)
        if has_failed(game.nodes):
            return t
    return end


@noinline_no_alloc_kernel
def online_sampling(
    begin, end, max_new_entries, seed, power, learner, epsilon, p, game, table, scratch
):
    for t in range(begin, end):
        if not prepare_iteration(game.nodes, max_new_entries):
            return t
        given = epsilon, p, game, table, scratch
        episodes.online_sampling(t, t + 1, seed, power, learner, *given)
        if has_failed(game.nodes):
            return t
    return end
