"""Values of the leaves of a preflop betting tree on dealt cards, for vectors over classes of hands.

In a deal no two seats share a card, and all contenders meet on the same board. Edges, leaves and
reach are those of `preflop_walk`. A seat's values of a deal are averaged over all hands that it
could hold beside the other seats' hands and the board.
"""

from __future__ import annotations

import numpy as np

from counterplay.kernels.holdem.hand_strength import CARD_BIT
from counterplay.kernels.holdem.preflop_tables import next_random, random_below, rank_hands
from counterplay.kernels.runtime.jit import kernel, noinline_kernel


@noinline_kernel
def deal_cards(seed, deck, hands, boards):
    """Fill `hands` [N, P, 2] and `boards` [N, B] with cards of a shuffled deck [D]."""
    state = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) | np.uint64(1)
    for _ in range(4):
        state = next_random(state)
    cards = deck.copy()
    num_seats = hands.shape[1]
    for n in range(hands.shape[0]):
        for k in range(2 * num_seats + boards.shape[1]):
            state = next_random(state)
            other = k + random_below(state, deck.size - k)
            cards[k], cards[other] = cards[other], cards[k]
        for p in range(num_seats):
            low, high = cards[2 * p], cards[2 * p + 1]
            hands[n, p, 0], hands[n, p, 1] = min(low, high), max(low, high)
        for k in range(boards.shape[1]):
            boards[n, k] = cards[2 * num_seats + k]


@noinline_kernel
def add_dealt_values(hands, boards, deck_hands, classes, rules, leaves, orders, reach, out):
    """Add to `out` [P, Z, C] every seat's counterfactual values, summed over deals.

    Args:
        hands: [N, P, 2] cards of every seat, the lower first.
        boards: [N, B] cards of the boards.
        deck_hands: [H, 2] cards of all hands, the lower first.
        classes: [H] class of each hand.
        rules: `straight_top` and `category_order`.
        leaves: edges [Z, P], contenders [Z, 3], their numbers [Z], utilities [Z, P, O] by order.
        orders: [3, 3, 3] index of the places of three hands; two hands use 0 (the first wins),
            1 and 2 (the second wins), one hand 0.
        reach: [E + 1, C].
        out: a seat's values of its classes, times the probability of the class.
    """
    num_hands, num_seats = deck_hands.shape[0], hands.shape[1]
    index, bits = np.zeros((52, 52), np.int64), np.empty(num_hands, np.uint64)
    for h in range(num_hands):
        low, high = deck_hands[h, 0], deck_hands[h, 1]
        index[low, high] = h
        bits[h] = CARD_BIT[low] | CARD_BIT[high]
    ranks = np.empty(num_hands, np.int16)
    dealt = np.empty(num_seats, np.int64)
    for n in range(hands.shape[0]):
        rank_hands(boards[n], deck_hands, rules[0], rules[1], ranks)
        board = np.uint64(0)
        for k in range(boards.shape[1]):
            board |= CARD_BIT[boards[n, k]]
        for p in range(num_seats):
            dealt[p] = index[hands[n, p, 0], hands[n, p, 1]]
        for seat in range(num_seats):
            _add_seat(seat, dealt, board, bits, classes, ranks, leaves, orders, reach, out[seat])


@noinline_kernel
def _add_seat(seat, dealt, board, bits, classes, ranks, leaves, orders, reach, out):
    """Add to `out` [Z, C] the mean of one deal over all hands of a seat."""
    edge, contenders, num_contenders, utility = leaves
    num_classes, num_seats = reach.shape[1], dealt.size
    used = board
    for p in range(num_seats):
        if p != seat:
            used |= bits[dealt[p]]
    own_rank, own_class = np.empty(bits.size, np.int16), np.empty(bits.size, np.int64)
    class_count = np.zeros(num_classes)
    count = 0
    for h in range(bits.size):
        if not bits[h] & used:
            own_rank[count], own_class[count] = ranks[h], classes[h]
            class_count[classes[h]] += 1.0
            count += 1
    ahead = np.zeros((num_seats, 3, num_classes))  # own hands that win, tie, lose, by other seat
    is_compared = np.zeros(num_seats, np.bool_)
    for z in range(edge.shape[0]):
        weight = 1.0 / count
        for p in range(num_seats):
            if p != seat:
                weight *= reach[edge[z, p], classes[dealt[p]]]
        if weight == 0.0:
            continue
        size, place = num_contenders[z], -1
        for k in range(size):
            if contenders[z, k] == seat:
                place = k
        payoff = utility[z, seat]
        if place < 0 or size == 1:
            weight *= payoff[_contender_order(contenders[z], size, dealt, ranks, orders)]
            for c in range(num_classes):
                out[z, c] += weight * class_count[c]
        elif size == 2:
            other = contenders[z, 1 - place]
            if not is_compared[other]:
                is_compared[other] = True
                rank = ranks[dealt[other]]
                for i in range(count):
                    result = int(own_rank[i] <= rank) + int(own_rank[i] < rank)
                    ahead[other, result, own_class[i]] += 1.0
            win, lose = (payoff[0], payoff[2]) if place == 0 else (payoff[2], payoff[0])
            wins, ties, losses = ahead[other, 0], ahead[other, 1], ahead[other, 2]
            for c in range(num_classes):
                out[z, c] += weight * (win * wins[c] + payoff[1] * ties[c] + lose * losses[c])
        else:
            j, k = contenders[z, 1 if place == 0 else 0], contenders[z, 1 if place == 2 else 2]
            y, v = ranks[dealt[j]], ranks[dealt[k]]
            for i in range(count):
                x = own_rank[i]
                first, second = int(y > x) + int(v > x), int(x > y) + int(v > y)
                third = int(x > v) + int(y > v)
                if place == 0:
                    order = orders[first, second, third]
                elif place == 1:
                    order = orders[second, first, third]
                else:
                    order = orders[second, third, first]
                out[z, own_class[i]] += weight * payoff[order]


@kernel
def _contender_order(contenders, size, dealt, ranks, orders):
    """Return the order of one, two or three contenders who all have dealt hands."""
    if size == 1:
        return 0
    x, y = ranks[dealt[contenders[0]]], ranks[dealt[contenders[1]]]
    if size == 2:
        return int(x <= y) + int(x < y)
    v = ranks[dealt[contenders[2]]]
    return orders[int(y > x) + int(v > x), int(x > y) + int(v > y), int(x > v) + int(y > v)]
