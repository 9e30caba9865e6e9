"""Values of the leaves of a preflop betting tree, for vectors over classes of hands.

C classes, P seats, Z leaves. An edge is an action at a node; an edge's row of `reach` [E + 1, C] is
the acting seat's own probability of getting there, and row E, all ones, stands for no action.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterplay.kernels.holdem.preflop_tables import BLOCKED
from counterplay.kernels.runtime.jit import kernel, noinline_kernel


class DealTables(NamedTuple):
    """Probabilities of classes and of the orders of hands at showdown."""

    prior: NDArray[np.float64]  # [C] probability of a class
    conditional: NDArray[np.float64]  # [C, C] that of another seat's class given a seat's own
    orders: NDArray[np.float32]  # [C, C, C, 6] those of strict orders of three hands
    order_index: NDArray[np.int64]  # [3, 6] orders if a contender is listed first; see below


class LeafTables(NamedTuple):
    """The leaves of a betting tree."""

    edge: NDArray[np.int64]  # [Z, P] each seat's last edge
    contenders: NDArray[np.int64]  # [Z, 3] seats left in, of which the first are used
    num_contenders: NDArray[np.int64]  # [Z] 1 to 3
    utility: NDArray[np.float64]  # [Z, P, 6] by order of the contenders' hands


class OrderMemo(NamedTuple):
    """The last orders of three contenders at each leaf, and the reach that they were computed for.

    Seats that are not in need the same orders; a judgement of nine seats computes them once.
    """

    reach: NDArray[np.float64]  # [Z, 3, C]
    orders: NDArray[np.float64]  # [Z, 6]


class RemovalTables(NamedTuple):
    """Card removal by the hand of a seat, for ranges in which suits do not matter.

    Beside a hand of class a, cards fall into at most G groups that the hand treats alike.
    """

    rank: NDArray[np.int64]  # [C, G] rank of the cards of each group
    number: NDArray[np.float64]  # [C, G] of cards in each group; 0 for groups that a class lacks
    joined: NDArray[np.int64]  # [C, G, 2] class of such a card with either card of the hand
    own_ranks: NDArray[np.int64]  # [C, 2] ranks of the hand
    holding: NDArray[np.float64]  # [R, C] hands of each class that hold a given card of a rank
    sizes: NDArray[np.float64]  # [C] hands of each class
    chance: float  # that two other hands share no card, over all hands beside the own


@noinline_kernel
def pair_removal(pairs, todo, tables, reach, out):
    """Set rows `todo` of `out` [K, C] to how card removal changes the reach of pairs of seats.

    The two edges of a pair [K, 2] belong to different seats. Beside a hand of class a, the entry is
    the probability that both seats get there with hands that share no card, over the product of
    their probabilities; it is 1 if both play all hands, or if one of them none.
    """
    num_classes, num_ranks = reach.shape[1], tables.holding.shape[0]
    x_card, y_card, both_card = np.empty(num_ranks), np.empty(num_ranks), np.empty(num_ranks)
    for k in todo:
        x, y = reach[pairs[k, 0]], reach[pairs[k, 1]]
        x_total, y_total, both_total = 0.0, 0.0, 0.0
        for c in range(num_classes):
            x_total += tables.sizes[c] * x[c]
            y_total += tables.sizes[c] * y[c]
            both_total += tables.sizes[c] * x[c] * y[c]
        for r in range(num_ranks):
            x_card[r], y_card[r], both_card[r] = 0.0, 0.0, 0.0
            for c in range(num_classes):
                hands = tables.holding[r, c]
                if hands > 0.0:
                    x_card[r] += hands * x[c]
                    y_card[r] += hands * y[c]
                    both_card[r] += hands * x[c] * y[c]
        for a in range(num_classes):
            i, j = tables.own_ranks[a]
            x_left = x_total - x_card[i] - x_card[j] + x[a]
            y_left = y_total - y_card[i] - y_card[j] + y[a]
            # pairs that share a card; pairs of equal hands, which share two, are counted once
            shared = -(both_total - both_card[i] - both_card[j] + x[a] * y[a])
            for g in range(tables.rank.shape[1]):
                r, first, second = tables.rank[a, g], tables.joined[a, g, 0], tables.joined[a, g, 1]
                shared += (
                    tables.number[a, g]
                    * (x_card[r] - x[first] - x[second])
                    * (y_card[r] - y[first] - y[second])
                )
            product = x_left * y_left
            left = max(product - shared, 0.0)
            out[k, a] = left / (tables.chance * product) if product > 1e-12 else 1.0


@noinline_kernel
def scale_by_pairs(first, last, seat, leaf_pairs, ratio, values):
    """Multiply `values` [Z, C] at leaves `first` to `last` by the ratios of all pairs of others.

    `leaf_pairs` [Z, P, P] has the row of `ratio` [K, C] of two seats; negative for none.
    """
    num_seats = leaf_pairs.shape[1]
    for z in range(first, last):
        for p in range(num_seats):
            for q in range(p + 1, num_seats):
                k = leaf_pairs[z, p, q]
                if p != seat and q != seat and k >= 0:
                    for c in range(values.shape[1]):
                        values[z, c] *= ratio[k, c]


@noinline_kernel
def gather_reach(first, stride, reach, out):
    """Set `out` [E, C] to the reach of the edges' sequences `first[e] + c * stride[e]`."""
    for e in range(first.size):
        for c in range(out.shape[1]):
            out[e, c] = reach[first[e] + c * stride[e]]


@noinline_kernel
def add_leaf_values(leaf_edge, first, stride, values, cf_value):
    """Add the values [Z, C] of leaves to the seat's last sequences before them.

    A leaf before which the seat did not act adds the sum over classes to the last entry.
    """
    num_edges = first.size
    for z in range(values.shape[0]):
        e = leaf_edge[z]
        for c in range(values.shape[1]):
            s = first[e] + c * stride[e] if e < num_edges else cf_value.size - 1
            cf_value[s] += values[z, c]


@noinline_kernel
def leaf_values(first, last, seat, deals, leaves, memo, reach, faced, won, tied, out):
    """Set `out` [Z, C] at leaves `first` to `last` to a seat's counterfactual values by class.

    Given the seat's own class, the other seats' classes are independent of each other: their
    probability of getting to the leaf is a product of `faced` [E + 1, C], the reach weighted by
    `deals.conditional`. `won` and `tied` [E + 1, C] are the parts of it that the own hand beats and
    ties. Where the seat is not among the contenders, their hands are not conditioned on its own.
    """
    num_seats, num_classes = leaves.edge.shape[1], reach.shape[1]
    product = np.empty(num_classes)
    for z in range(first, last):
        count, contenders, edge = leaves.num_contenders[z], leaves.contenders[z], leaves.edge[z]
        utility = leaves.utility[z, seat]
        place = -1
        for k in range(count):
            if contenders[k] == seat:
                place = k
        product[:] = deals.prior
        for p in range(num_seats):
            is_contender = False
            for k in range(count):
                is_contender |= contenders[k] == p
            if p != seat and not (is_contender and place >= 0):
                for c in range(num_classes):
                    product[c] *= faced[edge[p], c]
        if count == 1:
            for c in range(num_classes):
                out[z, c] = product[c] * utility[0]
        elif place < 0:
            if count == 2:
                mean = _mean_pair_utility(
                    deals,
                    utility,
                    edge[contenders[0]],
                    edge[contenders[1]],
                    reach,
                    faced,
                    won,
                    tied,
                )
            else:
                mean = _mean_triple_utility(deals, utility, edge, contenders, reach, memo, z)
            for c in range(num_classes):
                out[z, c] = product[c] * mean
        elif count == 2:
            e = edge[contenders[1 - place]]
            win, lose = (utility[0], utility[2]) if place == 0 else (utility[2], utility[0])
            for c in range(num_classes):
                less = faced[e, c] - won[e, c] - tied[e, c]
                out[z, c] = product[c] * (win * won[e, c] + utility[1] * tied[e, c] + lose * less)
        else:
            j, k = contenders[1 if place == 0 else 0], contenders[1 if place == 2 else 2]
            _triple_values(
                deals, utility, deals.order_index[place], reach[edge[j]], reach[edge[k]], out[z]
            )
            for c in range(num_classes):
                out[z, c] *= product[c]


@kernel
def _mean_pair_utility(deals, utility, e, f, reach, faced, won, tied):
    """Return the mean utility of a seat that is not in when edges e and f go to showdown."""
    if utility[0] == utility[1] == utility[2]:
        return utility[0]
    total, wins, ties = 0.0, 0.0, 0.0
    for c in range(reach.shape[1]):
        weight = deals.prior[c] * reach[e, c]
        total += weight * faced[f, c]
        wins += weight * won[f, c]
        ties += weight * tied[f, c]
    if total <= 0.0:
        return utility[0]  # any value: the leaf is never reached
    return (utility[0] * wins + utility[1] * ties + utility[2] * (total - wins - ties)) / total


@noinline_kernel
def _mean_triple_utility(deals, utility, edge, contenders, reach, memo, z):
    """Return the mean utility of a seat that is not in when three others go to showdown."""
    same = True
    for o in range(1, 6):
        same &= utility[o] == utility[0]
    if same:
        return utility[0]
    orders, is_known = memo.orders[z], True
    for k in range(3):
        for c in range(reach.shape[1]):
            is_known &= memo.reach[z, k, c] == reach[edge[contenders[k]], c]
    if not is_known:
        _compute_orders(
            deals,
            reach[edge[contenders[0]]],
            reach[edge[contenders[1]]],
            reach[edge[contenders[2]]],
            orders,
        )
        for k in range(3):
            memo.reach[z, k, :] = reach[edge[contenders[k]]]
    total, mean = 0.0, 0.0
    for o in range(6):
        total += orders[o]
        mean += orders[o] * utility[o]
    return mean / total if total > 0.0 else utility[0]  # any value: the leaf is never reached


@noinline_kernel
def _compute_orders(deals, a_reach, b_reach, c_reach, orders):
    """Set `orders` [6] to the probabilities of the orders of three hands with these reaches."""
    orders[:] = 0.0
    num_b, b_list = _nonzero(b_reach)
    num_c, c_list = _nonzero(c_reach)
    for a in range(a_reach.size):
        if a_reach[a] > 0.0:
            for j in range(num_b):
                b = b_list[j]
                outer = deals.prior[a] * a_reach[a] * deals.conditional[a, b] * b_reach[b]
                for k in range(num_c):
                    c = c_list[k]
                    weight = outer * deals.conditional[a, c] * c_reach[c]
                    for o in range(6):
                        orders[o] += weight * deals.orders[a, b, c, o]


@noinline_kernel
def _triple_values(deals, utility, order_index, b_reach, c_reach, out):
    """Set `out` [C] to the seat's values, summed over the classes of the two other contenders."""
    mapped = np.empty(6)
    for o in range(6):
        mapped[o] = utility[order_index[o]]
    num_b, b_list = _nonzero(b_reach)
    num_c, c_list = _nonzero(c_reach)
    weights = np.empty(num_c)
    for a in range(out.size):
        total = 0.0
        for k in range(num_c):
            weights[k] = deals.conditional[a, c_list[k]] * c_reach[c_list[k]]
        for j in range(num_b):
            b = b_list[j]
            outer, inner = deals.conditional[a, b] * b_reach[b], 0.0
            if outer > 0.0:
                for k in range(num_c):
                    row = deals.orders[a, b, c_list[k]]
                    value = (
                        mapped[0] * row[0]
                        + mapped[1] * row[1]
                        + mapped[2] * row[2]
                        + mapped[3] * row[3]
                        + mapped[4] * row[4]
                        + mapped[5] * row[5]
                    )
                    inner += weights[k] * value
            total += outer * inner
        out[a] = total


@kernel
def _nonzero(values):
    """Return the number of positive entries and their indices, first in an array [C]."""
    index, count = np.empty(values.size, np.int64), 0
    for i in range(values.size):
        if values[i] > 0.0:
            index[count] = i
            count += 1
    return count, index


@noinline_kernel
def expand_orders(triples, counts, out):
    """Set `out` [C, C, C, 6] from the counts [T, 6] of sorted triples of classes [T, 3].

    Orders that cannot be dealt get equal probabilities.
    """
    places = np.array([[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
    index = np.zeros((3, 3), np.int64)
    for o in range(6):
        index[places[o, 0], places[o, 1]] = o
    for t in range(triples.shape[0]):
        for way in range(6):
            i, j, k = places[way]
            target = out[triples[t, i], triples[t, j], triples[t, k]]
            for o in range(6):
                target[index[places[o, i], places[o, j]]] += counts[t, o]
    for a in range(out.shape[0]):
        for b in range(out.shape[0]):
            for c in range(out.shape[0]):
                total = out[a, b, c].sum()
                for o in range(6):
                    out[a, b, c, o] = out[a, b, c, o] / total if total > 0 else 1.0 / 6.0


@noinline_kernel
def count_weak_orders(ranks, bits, hand_class, order_index, out):
    """Add to `out` [C, C, C, 13] the deals of three disjoint hands on one board by weak order.

    Args:
        ranks: [H] int16 ranks of the hands on the board, or `BLOCKED`.
        bits: [H] cards of the hands.
        hand_class: [H] class of each hand.
        order_index: [3, 3, 3] index of the places of three hands.
        out: int64.
    """
    for i in range(ranks.size):
        if ranks[i] == BLOCKED:
            continue
        for j in range(ranks.size):
            if ranks[j] == BLOCKED or bits[i] & bits[j]:
                continue
            for k in range(ranks.size):
                if ranks[k] == BLOCKED or (bits[i] | bits[j]) & bits[k]:
                    continue
                x, y, z = ranks[i], ranks[j], ranks[k]
                o = order_index[
                    int(y > x) + int(z > x), int(x > y) + int(z > y), int(x > z) + int(y > z)
                ]
                out[hand_class[i], hand_class[j], hand_class[k], o] += 1
