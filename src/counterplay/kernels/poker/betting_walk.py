"""External sampling on a betting tree with buckets: the cards are dealt once per iteration.

The entries of a node for bucket b start at `start[node] + b * count[node]`. Before a traversal the
buckets of all players on all streets and the strengths of their hands are computed, so a node costs
a few reads of the tables: no states, no hashes. There may be several sets of buckets: `source` is
the number k of the set of a node, or -1 - k for a node at which all players follow fixed weights.

In a traversal for player p, with the regrets r of the acting player's bucket:

    policy     = max(r, 0) / sum of max(r, 0), or uniform if the sum is zero
    regret     = regret + u(a) - sum over b of policy(b) u(b)        at the nodes of p
    policy_sum = policy_sum + policy                                 at the others' nodes

Fixed nodes are sampled like chance.

Pure CFR (Gibson, 2014) draws one action at each node, also for p, and has integers only: payoffs
are multiplied by `unit`, which every pot can be split by. With k the action drawn:

    regret     = regret + u(a) - u(k)        at the nodes of p, at most MAX_REGRET in size
    policy_sum = policy_sum + (1 for k)      at the others' nodes

With pruning, p skips actions of probability 0 with a regret below `threshold`, except on the last
street and where they end the hand, in 95 % of the traversals (Brown and Sandholm, 2019).

`play_deals` lets policies play against each other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import uint64

from counterplay.kernels.holdem.hand_strength import CARD_BIT, strength
from counterplay.kernels.poker.hand_buckets import look_up_bucket
from counterplay.kernels.runtime.jit import no_alloc_kernel
from counterplay.kernels.sampling.primitives import draw_uniform, seed_stream

MAX_ACTIONS = 16
NUM_CARDS = 52
CHANCE_STREAM = -1  # as in `play.episodes`
MAX_REGRET = 2**30  # of pure CFR; sums stay within 32 bits
PRUNED_SHARE = 0.95  # of the traversals
NO_THRESHOLD = -np.inf


class BettingGame(NamedTuple):
    """A betting tree of N nodes for P players, and the addresses of K sets of buckets."""

    player: Any  # [N], as in `arenas.poker.betting_tree`
    street: Any  # [N]
    first: Any  # [N]
    count: Any  # [N]
    chips: Any  # [N, P]
    left: Any  # [N]
    start: Any  # [N] first entry of the node's bucket 0
    source: Any  # [N] set of buckets, and whether the node is fixed: see the module
    fixed_weights: Any  # [F] entries of fixed nodes; probabilities are in proportion to them
    num_board: Any  # [streets] public cards up to a street
    entries: Any  # [K, streets] addresses for `look_up_bucket`
    tables: Any  # [K, streets]
    widths: Any  # [K, streets]


class WalkScratch(NamedTuple):
    """Working memory of one thread: D is the depth of the tree."""

    rng: Any  # [1] uint64
    counters: Any  # [1] nodes touched
    deck: Any  # [52] int64
    cards: Any  # [2 * P + board] int64; private cards, player 0's first, then the board
    bucket: Any  # [K, P, streets] int64
    rank: Any  # [P] int64; strength of the hand on the complete board
    node: Any  # [D] int64
    action: Any  # [D] int64
    entry: Any  # [D] int64
    drawn: Any  # [D] int64; actions drawn in pure CFR
    value: Any  # [D, MAX_ACTIONS] float32; int64 for pure CFR
    skipped: Any  # [D, MAX_ACTIONS] bool; actions that are pruned
    policy: Any  # [D + 1, MAX_ACTIONS]; the last row is that of the others


@no_alloc_kernel
def deal_hands(game, scratch):
    """Draw all cards, and set the buckets and strengths of all players."""
    deck, cards = scratch.deck, scratch.cards
    for k in range(NUM_CARDS):  # in order, so that a deal does not depend on earlier ones
        deck[k] = k
    for k in range(cards.size):
        j = k + int(draw_uniform(scratch.rng) * (NUM_CARDS - k))
        deck[k], deck[j] = deck[j], deck[k]
        cards[k] = deck[k]
    set_hands(game, scratch)


@no_alloc_kernel
def set_hands(game, scratch):
    """Set the buckets and strengths of all players from the cards."""
    cards, num_players = scratch.cards, game.chips.shape[1]
    board, bits = 2 * num_players, uint64(0)
    num_board = cards.size - board
    for k in range(board, cards.size):
        bits |= CARD_BIT[cards[k]]
    for p in range(num_players):
        a, b = cards[2 * p], cards[2 * p + 1]
        scratch.rank[p] = strength(bits | CARD_BIT[a] | CARD_BIT[b], 2 + num_board)
        for k in range(game.entries.shape[0]):
            for s in range(game.num_board.size):
                scratch.bucket[k, p, s] = look_up_bucket(
                    game.entries[k, s], game.tables[k, s], game.widths[k, s],
                    cards, board, game.num_board[s], a, b,
                )  # fmt: skip


@no_alloc_kernel
def payoff(game, n, p, rank):
    """Return the chips that player `p` wins at the end of a hand, side pots included."""
    left, chips, num_players = game.left[n], game.chips, game.chips.shape[1]
    own = float(chips[n, p])
    if not left >> p & 1:
        return -own
    if num_players == 2:
        other = float(chips[n, 1 - p])
        matched = min(own, other)
        if not left >> (1 - p) & 1:
            return other
        return matched if rank[p] > rank[1 - p] else -matched if rank[p] < rank[1 - p] else 0.0
    if left == 1 << p:
        pot = 0.0
        for q in range(num_players):
            pot += chips[n, q]
        return pot - own
    total, below = -own, 0
    while below < chips[n, p]:
        level = chips[n, p]
        for q in range(num_players):
            if left >> q & 1 and chips[n, q] > below:
                level = min(level, chips[n, q])
        pot, winners, wins = 0.0, 1, True
        for q in range(num_players):
            pot += min(chips[n, q], level) - min(chips[n, q], below)
            if q != p and left >> q & 1 and chips[n, q] >= level:
                wins &= rank[q] <= rank[p]
                winners += rank[q] == rank[p]
        if wins:
            total += pot / winners
        below = level
    return total


@no_alloc_kernel
def match_regrets(regret, s, count, policy, row):
    """Set a row of `policy` to regret matching of the entries from `s` on."""
    total = np.float32(0)
    for a in range(count):
        x = max(regret[s + a], np.float32(0))
        policy[row, a] = x
        total += x
    if total > np.float32(0):
        inverse = np.float32(1) / total
        for a in range(count):
            policy[row, a] *= inverse
    else:
        for a in range(count):
            policy[row, a] = np.float32(1) / np.float32(count)


@no_alloc_kernel
def draw_action(policy, row, count, rng):
    """Draw an action from a row of `policy`; never one of probability 0."""
    x, total, last = np.float32(draw_uniform(rng)), np.float32(0), 0
    for a in range(count - 1):
        total += policy[row, a]
        last += x >= total
    while last > 0 and policy[row, last] <= np.float32(0):
        last -= 1
    return last


@no_alloc_kernel
def skip_pruned(game, n, d, c, threshold, regret, scratch):
    """Return the first action from `c` on that is not pruned at node n of depth d; mark others."""
    count, s = game.count[n], scratch.entry[d]
    if game.street[n] + 1 < game.num_board.size:
        while (
            c < count
            and scratch.policy[d, c] <= np.float32(0)
            and regret[s + c] < threshold
            and game.player[game.first[n] + c] >= 0
        ):
            scratch.skipped[d, c] = True
            c += 1
    if c < count:
        scratch.skipped[d, c] = False
    return c


@no_alloc_kernel
def regret_walk(p, game, threshold, regret, policy_sum, scratch):
    """Traverse the tree for player `p`; with two players, the other's average is updated."""
    players, streets, first, counts = game.player, game.street, game.first, game.count
    sources = game.source
    node, action, entry = scratch.node, scratch.action, scratch.entry
    value, policy, bucket = scratch.value, scratch.policy, scratch.bucket
    adds_average, prunes = game.chips.shape[1] == 2, threshold > NO_THRESHOLD
    other_row = policy.shape[0] - 1
    n, depth, touched = 0, 0, 0
    while True:
        touched += 1
        q = players[n]
        if q >= 0:
            count, k = counts[n], sources[n]
            if k < 0:
                s = game.start[n] + bucket[-1 - k, q, streets[n]] * count
                match_regrets(game.fixed_weights, s, count, policy, other_row)
                n = first[n] + draw_action(policy, other_row, count, scratch.rng)
                continue
            s = game.start[n] + bucket[k, q, streets[n]] * count
            if q != p:
                match_regrets(regret, s, count, policy, other_row)
                if adds_average:
                    for a in range(count):
                        policy_sum[s + a] += policy[other_row, a]
                n = first[n] + draw_action(policy, other_row, count, scratch.rng)
                continue
            match_regrets(regret, s, count, policy, depth)
            node[depth], entry[depth], c = n, s, 0
            if prunes:
                c = skip_pruned(game, n, depth, 0, threshold, regret, scratch)
            action[depth] = c
            depth += 1
            n = first[n] + c
            continue
        u = np.float32(payoff(game, n, p, scratch.rank))
        while depth > 0:
            d = depth - 1
            c, count = action[d], counts[node[d]]
            value[d, c] = u
            c += 1
            if prunes:
                c = skip_pruned(game, node[d], d, c, threshold, regret, scratch)
            if c < count:
                action[d] = c
                n = first[node[d]] + c
                break
            mean = np.float32(0)
            for a in range(count):
                if not (prunes and scratch.skipped[d, a]):
                    mean += policy[d, a] * value[d, a]
            s = entry[d]
            for a in range(count):
                if not (prunes and scratch.skipped[d, a]):
                    regret[s + a] += value[d, a] - mean
            u, depth = mean, d
        if depth == 0:
            scratch.counters[0] += touched
            return


@no_alloc_kernel
def draw_pure(regret, s, count, policy, row, rng):
    """Draw an action by regret matching; set a row of `policy` to the regrets above 0, or to 1."""
    total = np.int64(0)
    for a in range(count):
        x = max(np.int64(regret[s + a]), 0)
        policy[row, a] = x
        total += x
    if total == 0:
        for a in range(count):
            policy[row, a] = 1
        return int(draw_uniform(rng) * count)
    left = np.int64(draw_uniform(rng) * total)
    chosen = 0
    for a in range(count):
        x = np.int64(regret[s + a])
        if x > 0:
            chosen = a
            left -= x
            if left < 0:
                break
    return chosen


@no_alloc_kernel
def pure_walk(p, game, unit, threshold, regret, policy_sum, scratch):
    """Traverse the tree for player `p` in pure CFR; see the module."""
    players, streets, first, counts = game.player, game.street, game.first, game.count
    sources = game.source
    node, action, entry, drawn = scratch.node, scratch.action, scratch.entry, scratch.drawn
    value, policy, bucket = scratch.value, scratch.policy, scratch.bucket
    adds_average, prunes = game.chips.shape[1] == 2, threshold > NO_THRESHOLD
    other_row = policy.shape[0] - 1
    n, depth, touched = 0, 0, 0
    while True:
        touched += 1
        q = players[n]
        if q >= 0:
            count, k = counts[n], sources[n]
            if k < 0:
                s = game.start[n] + bucket[-1 - k, q, streets[n]] * count
                match_regrets(game.fixed_weights, s, count, policy, other_row)
                n = first[n] + draw_action(policy, other_row, count, scratch.rng)
                continue
            s = game.start[n] + bucket[k, q, streets[n]] * count
            if q != p:
                c = draw_pure(regret, s, count, policy, other_row, scratch.rng)
                if adds_average:
                    policy_sum[s + c] += 1
                n = first[n] + c
                continue
            drawn[depth] = draw_pure(regret, s, count, policy, depth, scratch.rng)
            node[depth], entry[depth], c = n, s, 0
            if prunes:
                c = skip_pruned(game, n, depth, 0, threshold, regret, scratch)
            action[depth] = c
            depth += 1
            n = first[n] + c
            continue
        u = np.int64(np.rint(unit * payoff(game, n, p, scratch.rank)))
        while depth > 0:
            d = depth - 1
            c, count = action[d], counts[node[d]]
            value[d, c] = u
            c += 1
            if prunes:
                c = skip_pruned(game, node[d], d, c, threshold, regret, scratch)
            if c < count:
                action[d] = c
                n = first[node[d]] + c
                break
            u = value[d, drawn[d]]
            s = entry[d]
            for a in range(count):
                if not (prunes and scratch.skipped[d, a]):
                    x = regret[s + a] + value[d, a] - u
                    regret[s + a] = min(max(x, -MAX_REGRET), MAX_REGRET)
            depth = d
        if depth == 0:
            scratch.counters[0] += touched
            return


@no_alloc_kernel
def average_walk(p, game, is_pure, regret, policy_sum, scratch):
    """Follow one line of play: `p` by its policy, the others uniformly; add to p's average."""
    policy, row, n = scratch.policy, scratch.policy.shape[0] - 1, 0
    while game.player[n] >= 0:
        q, count, k = game.player[n], game.count[n], game.source[n]
        scratch.counters[0] += 1
        if q != p:
            n = game.first[n] + int(draw_uniform(scratch.rng) * count)
        elif k < 0:
            s = game.start[n] + scratch.bucket[-1 - k, q, game.street[n]] * count
            match_regrets(game.fixed_weights, s, count, policy, row)
            n = game.first[n] + draw_action(policy, row, count, scratch.rng)
        else:
            s = game.start[n] + scratch.bucket[k, q, game.street[n]] * count
            if is_pure:
                c = draw_pure(regret, s, count, policy, row, scratch.rng)
                policy_sum[s + c] += 1
            else:
                match_regrets(regret, s, count, policy, row)
                for a in range(count):
                    policy_sum[s + a] += policy[row, a]
                c = draw_action(policy, row, count, scratch.rng)
            n = game.first[n] + c
    scratch.counters[0] += 1


@no_alloc_kernel
def draw_threshold(threshold, rng):
    """Return the threshold of one traversal."""
    if threshold > NO_THRESHOLD and draw_uniform(rng) >= PRUNED_SHARE:
        return NO_THRESHOLD
    return threshold


def _sample_iterations(begin, end, seed, game, threshold, regret, policy_sum, scratch):
    """Run the iterations `begin` to `end - 1`: a deal, and a traversal for each player."""
    num_players = game.chips.shape[1]
    for t in range(begin, end):
        seed_stream(seed, t, 0, scratch.rng)
        deal_hands(game, scratch)
        for p in range(num_players):
            limit = draw_threshold(threshold, scratch.rng)
            regret_walk(p, game, limit, regret, policy_sum, scratch)
            if num_players > 2:
                average_walk(p, game, False, regret, policy_sum, scratch)


def _sample_pure_iterations(begin, end, seed, game, unit, threshold, regret, policy_sum, scratch):
    """Run the iterations `begin` to `end - 1` of pure CFR."""
    num_players = game.chips.shape[1]
    for t in range(begin, end):
        seed_stream(seed, t, 0, scratch.rng)
        deal_hands(game, scratch)
        for p in range(num_players):
            limit = draw_threshold(threshold, scratch.rng)
            pure_walk(p, game, unit, limit, regret, policy_sum, scratch)
            if num_players > 2:
                average_walk(p, game, True, regret, policy_sum, scratch)


sample_iterations = no_alloc_kernel(_sample_iterations, inline=False)
sample_pure_iterations = no_alloc_kernel(_sample_pure_iterations, inline=False)


@no_alloc_kernel
def draw_weighted(weights, s, count, x):
    """Return the action at quantile `x` of the weights from `s` on; uniform if all are zero.

    The action is that of `play.episodes.sample_index`.
    """
    total = 0.0
    for a in range(count):
        total += float(weights[s + a])
    chosen = 0
    if total > 0.0:
        for a in range(count):
            if weights[s + a] > 0:
                chosen = a
                x -= float(weights[s + a]) / total
                if x < 0.0:
                    break
        return chosen
    return min(int(x * count), count - 1)


def _play_deals(begin, end, seed, game, weights, starts, sources, seatings, scratch, utility):
    """Play the deals `begin` to `end - 1` with all seatings.

    A player's k-th random number of a deal is the same in all seatings, as in `play.match`.

    Args:
        begin: number of the first deal.
        end: number after the last deal.
        seed: seed of all random numbers.
        game: the tree and the sets of buckets; its `start` and `source` are not used.
        weights: [W] of all agents.
        starts: [A, N] first entry in `weights` of a node's bucket 0, by agent.
        sources: [A, N] set of buckets, by agent.
        seatings: [R, P] agent in each seat.
        scratch: the working memory; at least P random states.
        utility: [deals, R, P] receives the chips won.
    """
    num_players, deck, cards = game.chips.shape[1], scratch.deck, scratch.cards
    for t in range(begin, end):
        seed_stream(seed, t, CHANCE_STREAM, scratch.rng)
        for k in range(NUM_CARDS):
            deck[k] = k
        for k in range(cards.size):  # the deck without the cards dealt stays in order
            left = NUM_CARDS - k
            index = min(int(draw_uniform(scratch.rng) * left), left - 1)
            cards[k] = deck[index]
            for j in range(index, left - 1):
                deck[j] = deck[j + 1]
        set_hands(game, scratch)
        for r in range(seatings.shape[0]):
            for p in range(num_players):
                seed_stream(seed, t, p, scratch.rng[p : p + 1])
                draw_uniform(scratch.rng[p : p + 1])  # the number that starts an agent's episode
            n = 0
            while game.player[n] >= 0:
                q, count = game.player[n], game.count[n]
                agent = seatings[r, q]
                bucket = scratch.bucket[sources[agent, n], q, game.street[n]]
                x = draw_uniform(scratch.rng[q : q + 1])
                n = game.first[n] + draw_weighted(
                    weights, starts[agent, n] + bucket * count, count, x
                )
            for p in range(num_players):
                utility[t - begin, r, p] = payoff(game, n, p, scratch.rank)


play_deals = no_alloc_kernel(_play_deals, inline=False)
