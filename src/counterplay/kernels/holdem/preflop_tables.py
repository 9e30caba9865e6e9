"""Tables of equities before the flop, for decks of any ranks and suits.

Cards are those of `counterplay.core.cards`; a deck is a part of them. The order of categories and
the straights of a deck are arguments: `category_order` [9] gives the place of each category of
`hand_strength.CATEGORIES`, and `straight_top` [8192] the top of the best straight in a mask of
ranks, 0 without one.
"""

from __future__ import annotations

import numpy as np

from counterplay.kernels.holdem.equities import orbit_size
from counterplay.kernels.holdem.hand_strength import (
    BIT_COUNT,
    CARD_BIT,
    CATEGORY_SHIFT,
    HIGHEST_BIT,
)
from counterplay.kernels.runtime.jit import kernel, noinline_kernel

BLOCKED = np.int16(32767)  # rank of a hand that shares a card with the board
MAX_DEAL_ATTEMPTS = 100_000  # after which hands of three classes are said to exclude each other


@kernel
def ranks_strength(a, b, c, d, count, straight_top, category_order):
    """Return the strength of `count` cards without a flush; a to d are the ranks by suit."""
    ranks = a | b | c | d
    pairs = (a & b) | (c & d) | ((a | b) & (c | d))
    top = straight_top[ranks] if count >= 5 else 0
    straight = category_order[4] << CATEGORY_SHIFT | top if top > 0 else 0
    spare = max(count - 5, 0)
    if pairs == 0:
        if top > 0:
            return straight
        for _ in range(spare):
            ranks &= ranks - 1
        return category_order[0] << CATEGORY_SHIFT | ranks
    trips = (a & b & (c | d)) | (c & d & (a | b))
    quads = a & b & c & d
    if quads:
        return category_order[7] << CATEGORY_SHIFT | quads << 13 | HIGHEST_BIT[ranks ^ quads]
    if trips:
        best = HIGHEST_BIT[trips]
        if pairs != best:
            return category_order[6] << CATEGORY_SHIFT | best << 13 | HIGHEST_BIT[pairs ^ best]
        kickers = ranks ^ trips
        for _ in range(spare):
            kickers &= kickers - 1
        return max(category_order[3] << CATEGORY_SHIFT | trips << 13 | kickers, straight)
    if top > 0:
        return straight
    if pairs & (pairs - 1):
        best = HIGHEST_BIT[pairs]
        best |= HIGHEST_BIT[pairs ^ best]
        return category_order[2] << CATEGORY_SHIFT | best << 13 | HIGHEST_BIT[ranks ^ best]
    kickers = ranks ^ pairs
    for _ in range(spare):
        kickers &= kickers - 1
    return category_order[1] << CATEGORY_SHIFT | pairs << 13 | kickers


@kernel
def one_suit_strength(mask, straight_top, category_order):
    """Return the strength of five or more cards of one suit."""
    if straight_top[mask] > 0:
        return category_order[8] << CATEGORY_SHIFT | straight_top[mask]
    for _ in range(BIT_COUNT[mask] - 5):
        mask &= mask - 1
    return category_order[5] << CATEGORY_SHIFT | mask


@noinline_kernel
def deck_strength(cards, count, straight_top, category_order):
    """Return the strength of a set of `count` cards, 2 to 7, given as bits."""
    bits = np.int64(cards)
    a, b, c, d = bits & 8191, (bits >> 16) & 8191, (bits >> 32) & 8191, (bits >> 48) & 8191
    for mask in (a, b, c, d):
        if BIT_COUNT[mask] >= 5:
            return one_suit_strength(mask, straight_top, category_order)
    return ranks_strength(a, b, c, d, count, straight_top, category_order)


@noinline_kernel
def rank_hands(board, cards, straight_top, category_order, out):
    """Set `out` [n] to 0, 1, ... by rising strength of the hands `cards` [n, 2] on a board.

    Hands that share a card with the board get `BLOCKED`. Strengths without a flush are computed
    once per pair of ranks.
    """
    bits = np.uint64(0)
    for k in range(board.size):
        bits |= CARD_BIT[board[k]]
    count = board.size + 2
    table = np.full((13, 13), -1, np.int64)
    all_bits = np.int64(bits)
    a, b, c, d = (
        all_bits & 8191,
        (all_bits >> 16) & 8191,
        (all_bits >> 32) & 8191,
        (all_bits >> 48) & 8191,
    )
    suit, suit_mask = 0, np.int64(0)
    for s in range(4):
        mask = (all_bits >> (16 * s)) & 8191
        if BIT_COUNT[mask] >= 3:
            suit, suit_mask = s, mask
    keys = np.empty(cards.shape[0], np.int64)
    num_live = 0
    for i in range(cards.shape[0]):
        low, high = cards[i, 0], cards[i, 1]
        pair = CARD_BIT[low] | CARD_BIT[high]
        if pair & bits:
            out[i] = BLOCKED
            continue
        value = np.int64(-1)
        if suit_mask:
            mask = suit_mask | (np.int64(pair >> np.uint64(16 * suit)) & 8191)
            if BIT_COUNT[mask] >= 5:
                value = one_suit_strength(mask, straight_top, category_order)
        if value < 0:
            value = table[low >> 2, high >> 2]
            if value < 0:
                value = _rank_pair_strength(
                    a, b, c, d, low >> 2, high >> 2, count, straight_top, category_order
                )
                table[low >> 2, high >> 2] = value
        keys[num_live] = value << 11 | i
        num_live += 1
    keys = np.sort(keys[:num_live])
    last, rank = np.int64(-1), -1
    for k in range(num_live):
        if keys[k] >> 11 != last:
            last = keys[k] >> 11
            rank += 1
        out[keys[k] & 2047] = rank


@kernel
def _rank_pair_strength(a, b, c, d, low, high, count, straight_top, category_order):
    """Return the strength with two more cards of these ranks, in any free suits."""
    for rank in (low, high):
        bit = 1 << rank
        if not a & bit:
            a |= bit
        elif not b & bit:
            b |= bit
        elif not c & bit:
            c |= bit
        else:
            d |= bit
    return ranks_strength(a, b, c, d, count, straight_top, category_order)


@noinline_kernel
def add_pair_wins(ranks, weights, wins):
    """Add to `wins` [n, n] the weights of the boards on which a hand beats another.

    Args:
        ranks: [B, n] int16 ranks of the hands on each board.
        weights: [B] int16; their sum is below 32768.
        wins: [n, n] int32.

    The sums of a row are kept in 16 bits, which doubles the speed of the vectorised inner loop.
    """
    num_boards, n = ranks.shape
    row = np.empty(n, np.int16)
    for i in range(n):
        row[:] = 0
        for b in range(num_boards):
            rank, weight = ranks[b, i], weights[b]
            if rank != BLOCKED:
                for j in range(n):
                    row[j] += weight if ranks[b, j] < rank else np.int16(0)
        for j in range(n):
            wins[i, j] += row[j]


@noinline_kernel
def list_boards(deck, num_cards, renamings, boards, weights):
    """Write the boards up to permutations of suits [B, num_cards] and their weights [B].

    Returns their number; with empty arrays nothing is written.
    """
    chosen = np.arange(num_cards)
    board = np.zeros(num_cards, np.int64)
    size, count = deck.size, 0
    while True:
        for k in range(num_cards):
            board[k] = deck[chosen[k]]
        weight = orbit_size(board, 0, num_cards, renamings)
        if weight:
            if count < weights.size:
                boards[count, :] = board
                weights[count] = weight
            count += 1
        k = num_cards - 1
        while k >= 0 and chosen[k] == size - num_cards + k:
            k -= 1
        if k < 0:
            return count
        chosen[k] += 1
        for j in range(k + 1, num_cards):
            chosen[j] = chosen[j - 1] + 1


@kernel
def next_random(state):
    """Return the next state of a xorshift64* generator."""
    state ^= state >> np.uint64(12)
    state ^= state << np.uint64(25)
    state ^= state >> np.uint64(27)
    return state


@kernel
def random_below(state, bound):
    """Return an integer from 0 to `bound` - 1 made from a state of the generator."""
    high = (state * np.uint64(2685821657736338717)) >> np.uint64(32)
    return np.int64((high * np.uint64(bound)) >> np.uint64(32))


@noinline_kernel
def sample_orders(
    triples, class_offset, class_hands, deck, num_board, num_samples, seed, rules, out
):
    """Set `out` [T, 6] to how often three hands of given classes come in each order.

    Args:
        triples: [T, 3] classes.
        class_offset: [C + 1] first hand of each class.
        class_hands: [H] bits of the hands, by class.
        deck: [D] bits of the cards.
        num_board: cards of a board.
        num_samples: deals per triple.
        seed: uint64, not 0 for any triple.
        rules: `straight_top` and `category_order`.
        out: int32, in sixths of a deal: those who tie share it equally. Order o has the places of
            the three hands in the o-th permutation of (0, 1, 2). All 0 if no deal is possible.
    """
    straight_top, category_order = rules
    bits, value = np.zeros(3, np.uint64), np.zeros(3, np.int64)
    for t in range(triples.shape[0]):
        state = np.uint64(seed + np.uint64(t) * np.uint64(0x9E3779B97F4A7C15)) | np.uint64(1)
        for _ in range(4):
            state = next_random(state)
        out[t, :] = 0
        for _ in range(num_samples):
            attempts = 0
            while attempts < MAX_DEAL_ATTEMPTS:
                for k in range(3):
                    start = class_offset[triples[t, k]]
                    size = class_offset[triples[t, k] + 1] - start
                    state = next_random(state)
                    bits[k] = class_hands[start + random_below(state, size)]
                if not (bits[0] & bits[1] or bits[0] & bits[2] or bits[1] & bits[2]):
                    break
                attempts += 1
            if attempts == MAX_DEAL_ATTEMPTS:
                break
            used, board = bits[0] | bits[1] | bits[2], np.uint64(0)
            k = 0
            while k < num_board:
                state = next_random(state)
                card = deck[random_below(state, deck.size)]
                if not card & (used | board):
                    board |= card
                    k += 1
            for k in range(3):
                value[k] = deck_strength(
                    bits[k] | board, num_board + 2, straight_top, category_order
                )
            add_order(value[0], value[1], value[2], out[t])


@kernel
def add_order(x, y, z, out):
    """Add the order of three strengths to `out` [6], in sixths; ties are shared equally."""
    # permutations of places: (0,1,2) (0,2,1) (1,0,2) (1,2,0) (2,0,1) (2,1,0)
    first, second = x >= y and y >= z, x >= z and z >= y
    third, fourth = y >= x and x >= z, z >= x and x >= y
    fifth, sixth = y >= z and z >= x, z >= y and y >= x
    share = 6 // (first + second + third + fourth + fifth + sixth)
    out[0] += share * first
    out[1] += share * second
    out[2] += share * third
    out[3] += share * fourth
    out[4] += share * fifth
    out[5] += share * sixth


@noinline_kernel
def add_shares(hands, num_players, board, num_board, weight, rules, shares):
    """Add to `shares` [P] the weight that each hand wins on a board; ties split it equally.

    Returns the number of best hands. `hands` [P] and the board are bits.
    """
    best, count = np.int64(-1), 0
    strengths = np.empty(num_players, np.int64)
    for p in range(num_players):
        strengths[p] = deck_strength(hands[p] | board, num_board + 2, rules[0], rules[1])
        if strengths[p] > best:
            best, count = strengths[p], 0
        count += strengths[p] == best
    for p in range(num_players):
        if strengths[p] == best:
            shares[p] += weight / count
    return count


@noinline_kernel
def enumerate_showdowns(offset, hands, weights, deck, board, num_missing, rules, shares):
    """Add to `shares` [P] what every player wins over all deals, and return their total weight.

    Args:
        offset: [P + 1] first hand of each player's range.
        hands: [N] bits of the hands of all ranges.
        weights: [N] of the hands.
        deck: [D] bits of the cards that are not on the board.
        board: bits of the known cards of the board.
        num_missing: cards that are still to come.
        rules: `straight_top` and `category_order`.
        shares: [P].
    """
    num_players = offset.size - 1
    index = offset[:-1].copy()
    dealt, product = np.zeros(num_players + 1, np.uint64), np.ones(num_players + 1)
    chosen_hands, left = np.zeros(num_players, np.uint64), np.zeros(deck.size, np.uint64)
    chosen = np.zeros(num_missing, np.int64)
    total, p = 0.0, 0
    num_board = num_missing
    for s in range(4):
        num_board += BIT_COUNT[np.int64(board >> np.uint64(16 * s)) & 8191]
    while p >= 0:
        if index[p] == offset[p + 1]:
            index[p] = offset[p]
            p -= 1
            continue
        hand = hands[index[p]]
        if hand & dealt[p]:
            index[p] += 1
            continue
        chosen_hands[p] = hand
        dealt[p + 1], product[p + 1] = dealt[p] | hand, product[p] * weights[index[p]]
        index[p] += 1
        if p + 1 < num_players:
            p += 1
            continue
        size = 0
        for card in deck:
            if not card & dealt[num_players]:
                left[size] = card
                size += 1
        for k in range(num_missing):
            chosen[k] = k
        while True:
            full = board
            for k in range(num_missing):
                full |= left[chosen[k]]
            total += product[num_players]
            add_shares(
                chosen_hands, num_players, full, num_board, product[num_players], rules, shares
            )
            k = num_missing - 1
            while k >= 0 and chosen[k] == size - num_missing + k:
                k -= 1
            if k < 0:
                break
            chosen[k] += 1
            for j in range(k + 1, num_missing):
                chosen[j] = chosen[j - 1] + 1
    return total


@noinline_kernel
def sample_showdowns(
    offset, hands, cumulative, deck, board, num_missing, num_samples, seed, rules, sums, squares
):
    """Add to `sums` and `squares` [P] the shares won in sampled deals, and their squares.

    Hands are drawn by their weights and drawn again while two of them share a card, which gives
    every deal its exact probability. `cumulative` [N] are the sums of the weights within each
    range, scaled to 1. Returns the number of samples: 0 if no deal is possible.
    """
    num_players = offset.size - 1
    chosen_hands, shares = np.zeros(num_players, np.uint64), np.zeros(num_players)
    state = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) | np.uint64(1)
    num_board = num_missing
    for s in range(4):
        num_board += BIT_COUNT[np.int64(board >> np.uint64(16 * s)) & 8191]
    for _ in range(4):
        state = next_random(state)
    for sample in range(num_samples):
        attempts, p, used = 0, 0, np.uint64(0)
        while p < num_players:
            state = next_random(state)
            value = np.float64(random_below(state, 1 << 31)) / (1 << 31)
            first, last = offset[p], offset[p + 1] - 1
            while first < last:
                middle = (first + last) // 2
                if cumulative[middle] > value:
                    last = middle
                else:
                    first = middle + 1
            if hands[first] & used:
                attempts += 1
                if attempts == MAX_DEAL_ATTEMPTS:
                    return sample
                p, used = 0, np.uint64(0)
                continue
            chosen_hands[p] = hands[first]
            used |= hands[first]
            p += 1
        full, k = board, 0
        while k < num_missing:
            state = next_random(state)
            card = deck[random_below(state, deck.size)]
            if not card & (used | full):
                full |= card
                k += 1
        shares[:] = 0.0
        add_shares(chosen_hands, num_players, full, num_board, 1.0, rules, shares)
        for p in range(num_players):
            sums[p] += shares[p]
            squares[p] += shares[p] * shares[p]
    return num_samples
