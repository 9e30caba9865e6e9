"""Compiled rules of limit and no-limit poker: see `counterplay.games.compiled.protocol`.

State: acting player; round; number of cards dealt; players left, as bits; number of players still
to act in the round; raises in the round; smallest increase of a raise; largest contribution; hash
of the public history (64 bits); cards dealt, as bits (64 bits); contributions; private key of each
player (64 bits); cards in the order of the deal. `compile_observed_game` appends a record of the
betting: the number of actions, then their round, kind and chips. Only observations need it, and
states without it are copied faster.

The infoset key is a 64-bit hash of the public history and the private key: the player's cards, or
in a game with buckets their bucket. Among n infosets two have the same hash with a probability of
about n^2 / 2^65, that is 3e-6 for ten million.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import mul
from typing import NamedTuple

import numpy as np
from numpy import uint64

from counterplay.core.arena import Ints
from counterplay.errors import ConfigError
from counterplay.games.compiled.protocol import CompiledGame
from counterplay.games.holdem_base import (
    ALL_IN,
    MAX_RAISE_PARTS,
    SIZE_UNITS,
    HoldemBase,
)
from counterplay.kernels.holdem.hand_strength import CARD_BIT, strength
from counterplay.kernels.poker.hand_buckets import look_up_bucket
from counterplay.kernels.runtime.jit import CHANCE, TERMINAL, no_alloc_kernel
from counterplay.kernels.sampling.primitives import GOLDEN_GAMMA, mix
from counterplay.registry import get_spec

FOLD, CALL = 0, 1
MAX_PLAYERS, MAX_ROUNDS = 10, 8
# parameters
PLAYERS, HOLE, ROUNDS, DECK, SUITS, BETTING, MIN_BET, BUCKETS, RECORD, ENCODING = range(10)
STACKS = 10  # by player
BOARD = STACKS + MAX_PLAYERS  # number of public cards up to a round
OPENS = BOARD + MAX_ROUNDS
RAISE_CAPS = OPENS + MAX_ROUNDS
RAISE_SIZES = RAISE_CAPS + MAX_ROUNDS
ENTRIES = RAISE_SIZES + MAX_ROUNDS  # addresses for `look_up_bucket`, by round
TABLES = ENTRIES + MAX_ROUNDS
WIDTHS = TABLES + MAX_ROUNDS
SIZE_OFFSETS = WIDTHS + MAX_ROUNDS  # by round and raise: first index of its bet sizes
SIZES = SIZE_OFFSETS + MAX_ROUNDS * MAX_RAISE_PARTS + 1
LIMIT, ALL_RAISES, SOME_RAISES = range(3)  # values of BETTING
NO_BUCKETS, CURRENT_BUCKET, ALL_BUCKETS = range(3)  # values of BUCKETS
# state
TO_ACT, ROUND, DEALT, LEFT, WAITING, RAISES, MIN_RAISE, HIGHEST = range(8)
HISTORY, DECK_BITS, CHIPS = 8, 10, 12
ROUNDING = 1e-9  # quantiles this near to a multiple of 1 / count may round to either side
NEW_STREET = 1 << 60  # in the history: dealt cards, as bits, plus this
# the record of the betting: at params[RECORD] the number of actions, then one entry for each
RECORD_KIND_BITS, RECORD_BITS = 2, 5  # kind of action, round above it, chips put in above both
MAX_RECORDED_CHIPS = 1 << 26
MAX_RECORDED_ACTIONS = 512
OWN_TURNS, OWN_CHIPS, CARDS, CARDS_UP_TO_SUITS, CARDS_AND_STRENGTH = range(5)  # of ENCODING
NUM_STRENGTH_FEATURES = 8  # of a hand's percentile: see `write_strength`
MAX_SUIT_KEY_BITS = 62


@no_alloc_kernel
def read_wide(state, k):
    """Return the 64 bits in two entries of the state."""
    return uint64(np.int64(state[k]) & 0xFFFFFFFF) | uint64(state[k + 1]) << uint64(32)


@no_alloc_kernel
def write_wide(state, k, bits):
    """Write 64 bits into two entries of the state."""
    state[k] = np.int64(bits & uint64(0xFFFFFFFF))
    state[k + 1] = np.int64(bits >> uint64(32))


@no_alloc_kernel
def extend_history(state, event):
    """Add an event to the hash of the public history."""
    bits = read_wide(state, HISTORY)
    write_wide(state, HISTORY, mix(bits + GOLDEN_GAMMA * uint64(event + 1)))


@no_alloc_kernel
def card_offset(params):
    """Return the index of the first card in a state."""
    return CHIPS + 3 * params[PLAYERS]


@no_alloc_kernel
def can_act(params, state, player):
    """Return True if a player has not folded and is not all-in."""
    return state[LEFT] >> player & 1 and state[CHIPS + player] < params[STACKS + player]


@no_alloc_kernel
def num_able(params, state):
    """Return the number of players who have not folded and are not all-in."""
    count = 0
    for p in range(params[PLAYERS]):
        count += can_act(params, state, p)
    return count


@no_alloc_kernel
def next_able(params, state, player):
    """Return the first player after `player`, in seat order, who can act."""
    p = player
    for _ in range(params[PLAYERS]):
        p = p + 1 if p + 1 < params[PLAYERS] else 0
        if can_act(params, state, p):
            return p
    return player


@no_alloc_kernel
def size_range(params, state):
    """Return the range of indices of the bet sizes at a state."""
    k = SIZE_OFFSETS + state[ROUND] * MAX_RAISE_PARTS + min(state[RAISES], MAX_RAISE_PARTS - 1)
    return params[k], params[k + 1]


@no_alloc_kernel
def next_raise(params, state, previous):
    """Return the smallest legal raise (total contribution) above `previous`, or 0 if none is.

    The bet sizes of a state are few and in no order, so this is a search for the next one.
    """
    player, highest = state[TO_ACT], state[HIGHEST]
    stack = params[STACKS + player]
    min_total = min(highest + state[MIN_RAISE], stack)
    if params[BETTING] == ALL_RAISES:
        total = max(previous + 1, min_total)
        return total if total <= stack else 0
    pot = np.int64(highest - state[CHIPS + player])
    for p in range(params[PLAYERS]):
        pot += state[CHIPS + p]
    first, last = size_range(params, state)
    best = 0
    for k in range(first, last):
        total = stack
        if params[k] != ALL_IN:
            total = min(highest + (2 * params[k] * pot + SIZE_UNITS) // (2 * SIZE_UNITS), stack)
        total = max(total, min_total)
        if total > previous and (best == 0 or total < best):
            best = total
    return best


@no_alloc_kernel
def can_raise(params, state):
    """Return True if a raise of some size is legal."""
    player, rnd = state[TO_ACT], state[ROUND]
    return (
        state[RAISES] < params[RAISE_CAPS + rnd]
        and state[HIGHEST] < params[STACKS + player]
        and num_able(params, state) > 1
    )


@no_alloc_kernel
def current_player(params, states, player, count):
    for n in range(states.shape[0]):
        state = states[n]
        player[n], count[n] = state[TO_ACT], 0
        if state[TO_ACT] == CHANCE:
            count[n] = params[DECK] - state[DEALT]
        elif state[TO_ACT] >= 0:
            count[n] = 1 + (state[HIGHEST] > state[CHIPS + state[TO_ACT]])
            if can_raise(params, state):
                if params[BETTING] == LIMIT:
                    count[n] += 1
                elif params[BETTING] == ALL_RAISES:
                    stack = params[STACKS + state[TO_ACT]]
                    count[n] += stack - min(state[HIGHEST] + state[MIN_RAISE], stack) + 1
                else:
                    total = next_raise(params, state, 0)
                    while total:
                        count[n] += 1
                        total = next_raise(params, state, total)


@no_alloc_kernel
def legal_actions(params, states, player, first, action, chance):
    for n in range(states.shape[0]):
        state, c = states[n], first[n]
        if state[TO_ACT] == CHANCE:
            bits, share = read_wide(state, DECK_BITS), 1.0 / (params[DECK] - state[DEALT])
            for card in range(params[DECK]):
                if not bits >> uint64(card) & uint64(1):
                    action[c], chance[c] = card, share
                    c += 1
        elif state[TO_ACT] >= 0:
            if state[HIGHEST] > state[CHIPS + state[TO_ACT]]:
                action[c], chance[c] = FOLD, 1.0
                c += 1
            action[c], chance[c] = CALL, 1.0
            c += 1
            if can_raise(params, state):
                if params[BETTING] == LIMIT:
                    action[c], chance[c] = 2, 1.0
                else:
                    total = next_raise(params, state, 0)
                    while total:
                        action[c], chance[c] = total, 1.0
                        c += 1
                        total = next_raise(params, state, total)


@no_alloc_kernel
def set_next_to_act(params, state, next_player):
    """Set the acting player; a finished round leads to the next one or the end."""
    players_left = state[LEFT]
    if players_left & (players_left - 1) == 0:
        state[TO_ACT] = TERMINAL
    elif state[WAITING]:
        state[TO_ACT] = next_player
    elif state[ROUND] + 1 == params[ROUNDS]:
        state[TO_ACT] = TERMINAL
    else:
        state[TO_ACT] = CHANCE
        state[ROUND] += 1
        state[RAISES] = 0
        state[MIN_RAISE] = params[MIN_BET]


@no_alloc_kernel
def apply_action(params, state, action):
    """Apply a player's action to the state."""
    player, highest = state[TO_ACT], state[HIGHEST]
    stack, paid = params[STACKS + player], state[CHIPS + player]
    state[WAITING] -= 1
    if action == FOLD:
        state[LEFT] &= ~(1 << player)
    elif action == CALL:
        state[CHIPS + player] = min(highest, stack)
    else:
        total = np.int64(action)
        if params[BETTING] == LIMIT:
            total = highest + params[RAISE_SIZES + state[ROUND]]
        total = min(total, stack)
        increase = total - highest
        state[CHIPS + player] = total
        state[HIGHEST] = total
        state[RAISES] += 1
        state[MIN_RAISE] = max(state[MIN_RAISE] - increase, increase)
        state[WAITING] = num_able(params, state) - can_act(params, state, player)
    if params[RECORD]:
        first = params[RECORD]
        state[first] += 1
        kind = min(np.int64(action), 2) | np.int64(state[ROUND]) << RECORD_KIND_BITS
        state[first + state[first]] = kind | np.int64(state[CHIPS + player] - paid) << RECORD_BITS
    extend_history(state, action)
    set_next_to_act(params, state, next_able(params, state, player))


@no_alloc_kernel
def set_private_keys(params, state):
    """Set the private keys of all players left at the start of a round."""
    players, rnd, hole, cards = params[PLAYERS], state[ROUND], params[HOLE], card_offset(params)
    for p in range(players):
        if not state[LEFT] >> p & 1:
            continue
        own, key = cards + hole * p, CHIPS + players + 2 * p
        if params[BUCKETS] == NO_BUCKETS:
            if rnd == 0:
                bits = uint64(0)
                for k in range(hole):
                    bits |= uint64(1) << uint64(state[own + k])
                write_wide(state, key, bits)
            continue
        bucket = look_up_bucket(
            params[ENTRIES + rnd],
            params[TABLES + rnd],
            params[WIDTHS + rnd],
            state,
            cards + hole * players,
            params[BOARD + rnd],
            np.int64(state[own]),
            np.int64(state[own + 1]),
        )
        bits = uint64(bucket + 1)
        if params[BUCKETS] == ALL_BUCKETS:
            bits = mix(read_wide(state, key) + GOLDEN_GAMMA * bits)
        write_wide(state, key, bits)


@no_alloc_kernel
def deal_card(params, state, card):
    """Deal a card, and start a round when all cards of the street are dealt."""
    cards, rnd, dealt = card_offset(params), state[ROUND], state[DEALT]
    state[cards + dealt] = card
    state[DEALT] += 1
    write_wide(state, DECK_BITS, read_wide(state, DECK_BITS) | uint64(1) << uint64(card))
    num_private = params[PLAYERS] * params[HOLE]
    if state[DEALT] < num_private + params[BOARD + rnd]:
        return
    event = np.int64(NEW_STREET)
    if params[BUCKETS] == NO_BUCKETS:
        street = num_private + (params[BOARD + rnd - 1] if rnd else 0)
        for k in range(street, state[DEALT]):
            event |= np.int64(1) << np.int64(state[cards + k])
    if rnd or params[BOARD]:
        extend_history(state, event)
    set_private_keys(params, state)
    able = num_able(params, state)
    state[WAITING] = able
    if able < 2:  # no opponent to bet against, but a blind may have to be called
        state[WAITING] = 0
        for p in range(params[PLAYERS]):
            state[WAITING] += can_act(params, state, p) and state[CHIPS + p] < state[HIGHEST]
    set_next_to_act(params, state, next_able(params, state, params[OPENS + rnd] - 1))


@no_alloc_kernel
def step(params, states, player, action):
    for n in range(states.shape[0]):
        if player[n] == CHANCE:
            deal_card(params, states[n], action[n])
        else:
            apply_action(params, states[n], action[n])


@no_alloc_kernel
def card_bit(params, card):
    """Return the bit of a card of this deck in a set of cards."""
    return CARD_BIT[4 * (card // params[SUITS]) + card % params[SUITS]]


@no_alloc_kernel
def player_strength(params, state, player):
    """Return the strength of a player's private cards with the board."""
    cards, players, hole, bits = card_offset(params), params[PLAYERS], params[HOLE], uint64(0)
    for k in range(hole):
        bits |= card_bit(params, state[cards + hole * player + k])
    for k in range(hole * players, state[DEALT]):
        bits |= card_bit(params, state[cards + k])
    return strength(bits, hole + state[DEALT] - hole * players)


@no_alloc_kernel
def utilities(params, states, utility):
    players = params[PLAYERS]
    for n in range(states.shape[0]):
        state = states[n]
        players_left, pot = state[LEFT], 0
        for p in range(players):
            pot += state[CHIPS + p]
            utility[n, p] = -float(state[CHIPS + p])
        if players_left & (players_left - 1) == 0:
            for p in range(players):
                if players_left >> p & 1:
                    utility[n, p] = pot - state[CHIPS + p]
            continue
        below = 0
        while True:  # the main pot, then side pots
            level = 0
            for p in range(players):
                chips = state[CHIPS + p]
                if players_left >> p & 1 and chips > below and (level == 0 or chips < level):
                    level = chips
            if level == 0:
                break
            best, winners, pot = np.int64(-1), 0, 0
            for p in range(players):
                pot += min(state[CHIPS + p], level) - min(state[CHIPS + p], below)
                if players_left >> p & 1 and state[CHIPS + p] >= level:
                    hand = player_strength(params, state, p)
                    if hand > best:
                        best, winners = hand, 0
                    winners += hand == best
            for p in range(players):
                is_entitled = players_left >> p & 1 and state[CHIPS + p] >= level
                if is_entitled and player_strength(params, state, p) == best:
                    utility[n, p] += pot / winners
            below = level


@no_alloc_kernel
def infoset_key(params, states, player, key):
    for n in range(states.shape[0]):
        private = read_wide(states[n], CHIPS + params[PLAYERS] + 2 * player[n])
        public = read_wide(states[n], HISTORY)
        key[n] = np.int64(mix(public ^ mix(private + GOLDEN_GAMMA)))


@no_alloc_kernel
def sample_chance(params, states, quantile, action):
    for n in range(states.shape[0]):
        state, x = states[n], quantile[n]
        count = params[DECK] - state[DEALT]
        k = int(x * count)
        if not ROUNDING < x * count - k < 1.0 - ROUNDING:  # add up as `invert_cdf` does
            share, total, k = 1.0 / count, 0.0, 0
            for _ in range(count - 1):
                total += share
                k += x >= total
        cards, card, previous = card_offset(params), k, -1
        while card != previous:  # card k of those that are not dealt
            previous, card = card, k
            for j in range(cards, cards + state[DEALT]):
                card += state[j] <= previous
        action[n] = card


@no_alloc_kernel
def observation(params, states, viewer, out):
    out[:] = 0.0
    for n in range(states.shape[0]):
        out[n, viewer[n]] = 1.0
        if params[ENCODING] == OWN_TURNS:
            write_card_flags(params, states[n], viewer[n], out[n])
            write_turns(params, states[n], out[n])
        elif params[ENCODING] == OWN_CHIPS:
            write_card_flags(params, states[n], viewer[n], out[n])
            write_chips(params, states[n], out[n])
        else:
            first = write_bets(params, states[n], out[n])
            write_card_groups(params, states[n], viewer[n], first, out[n])
            if params[ENCODING] == CARDS_AND_STRENGTH:
                write_strength(params, states[n], viewer[n], out[n])


@no_alloc_kernel
def write_card_flags(params, state, viewer, out):
    """Write flags of the viewer's cards, then of the board, after the flags of players."""
    players, hole, cards = params[PLAYERS], params[HOLE], card_offset(params)
    if state[DEALT] >= players * hole:
        for k in range(hole):
            out[players + state[cards + hole * viewer + k]] = 1.0
    for k in range(players * hole, state[DEALT]):
        out[players + params[DECK] + state[cards + k]] = 1.0


@no_alloc_kernel
def write_turns(params, state, out):
    """Write (called, raised) of every turn: the observation of limit games."""
    record, players = params[RECORD], params[PLAYERS]
    first, rnd, turn = players + 2 * params[DECK], 0, 0
    for k in range(1, state[record] + 1):
        entry = np.int64(state[record + k])
        while rnd < entry >> RECORD_KIND_BITS & 7:
            first += 2 * players * (params[RAISE_CAPS + rnd] + 1)
            rnd, turn = rnd + 1, 0
        kind = entry & 3
        if kind != FOLD:
            out[first + 2 * turn + (kind == 2)] = 1.0
        turn += 1


@no_alloc_kernel
def write_chips(params, state, out):
    """Write chips, players left, round and smallest raise: the observation of no-limit games."""
    players, first, stack = params[PLAYERS], params[PLAYERS] + 2 * params[DECK], 0
    for p in range(players):
        stack = max(stack, params[STACKS + p])
    for p in range(players):
        out[first + p] = float(state[CHIPS + p]) / float(stack)
        out[first + players + p] = float(state[LEFT] >> p & 1)
    out[first + 2 * players + state[ROUND]] = 1.0
    out[first + 2 * players + params[ROUNDS]] = float(state[MIN_RAISE]) / float(stack)


@no_alloc_kernel
def write_bets(params, state, out):
    """Write (occurred, chips / pot before) of every turn; return the next free feature."""
    record, players, pot = params[RECORD], params[PLAYERS], 0
    for p in range(players):
        pot += state[CHIPS + p]
    for k in range(1, state[record] + 1):  # what was put in before the first action
        pot -= state[record + k] >> RECORD_BITS
    k, first = 1, players
    for rnd in range(params[ROUNDS]):
        turns = (players - 1) * (params[RAISE_CAPS + rnd] + 1) + 1
        turn = 0
        while k <= state[record] and state[record + k] >> RECORD_KIND_BITS & 7 == rnd:
            added = state[record + k] >> RECORD_BITS
            if turn < turns:
                out[first + 2 * turn] = 1.0
                out[first + 2 * turn + 1] = float(added) / float(max(pot, 1))
            pot, turn, k = pot + added, turn + 1, k + 1
        first += 2 * turns
    return first


@no_alloc_kernel
def card_group(params, k):
    """Return the group of the k-th public card: 1 for those of the first street with cards, ..."""
    group, before = 0, 0
    for rnd in range(params[ROUNDS]):
        if params[BOARD + rnd] > before:
            group, before = group + 1, params[BOARD + rnd]
        if k < params[BOARD + rnd]:
            break
    return group


@no_alloc_kernel
def suit_key(params, state, viewer, suit):
    """Return the ranks of a suit among the viewer's cards, then by street, as one integer."""
    players, hole, cards, key = params[PLAYERS], params[HOLE], card_offset(params), np.int64(0)
    ranks, suits = params[DECK] // params[SUITS], params[SUITS]
    last = card_group(params, params[BOARD + params[ROUNDS] - 1] - 1)
    for k in range(hole):
        card = np.int64(state[cards + hole * viewer + k])
        if card % suits == suit:
            key |= np.int64(1) << (last * ranks + card // suits)
    for k in range(state[DEALT] - players * hole):
        card = np.int64(state[cards + players * hole + k])
        if card % suits == suit:
            key |= np.int64(1) << ((last - card_group(params, k)) * ranks + card // suits)
    return key


@no_alloc_kernel
def canonical_suit(params, state, viewer, suit):
    """Return the number of suits whose key is larger; suits of equal keys hold the same ranks."""
    key, place = suit_key(params, state, viewer, suit), 0
    for other in range(params[SUITS]):
        other_key = suit_key(params, state, viewer, other)
        place += other_key > key or (other_key == key and other < suit)
    return place


@no_alloc_kernel
def write_card_groups(params, state, viewer, first, out):
    """Write counts of ranks and of suits, and flags of cards, of each group of cards."""
    players, hole, cards = params[PLAYERS], params[HOLE], card_offset(params)
    ranks, suits, deck = params[DECK] // params[SUITS], params[SUITS], params[DECK]
    if state[DEALT] < players * hole:
        return
    for k in range(hole + state[DEALT] - players * hole):
        group = 0 if k < hole else card_group(params, k - hole)
        place = hole * viewer + k if k < hole else players * hole + k - hole
        card = np.int64(state[cards + place])
        rank, suit = card // suits, card % suits
        if params[ENCODING] != CARDS:
            suit = canonical_suit(params, state, viewer, suit)
        features = first + group * (ranks + suits + deck)
        out[features + rank] += 1.0
        out[features + ranks + suit] += 1.0
        out[features + ranks + suits + rank * suits + suit] = 1.0


@no_alloc_kernel
def write_strength(params, state, viewer, out):
    """Write max(0, x - k / 8) for k = 0, ..., 7 into the last features.

    x is the part of all other hands of two cards that the viewer beats on the board so far, with
    ties as a half. Without a board it is 0.
    """
    players, hole, cards = params[PLAYERS], params[HOLE], card_offset(params)
    num_board = state[DEALT] - players * hole
    if num_board <= 0:
        return
    board, seen = uint64(0), uint64(0)
    for k in range(num_board):
        board |= card_bit(params, state[cards + players * hole + k])
    own = board
    for k in range(hole):
        own |= card_bit(params, state[cards + hole * viewer + k])
    mine, count, score = strength(own, hole + num_board), 0, 0.0
    for a in range(params[DECK]):
        seen = card_bit(params, a)
        if own & seen:
            continue
        for b in range(a):
            other = card_bit(params, b)
            if own & other:
                continue
            theirs = strength(board | seen | other, 2 + num_board)
            score += 1.0 if mine > theirs else 0.5 if mine == theirs else 0.0
            count += 1
    part = score / max(count, 1)
    for k in range(NUM_STRENGTH_FEATURES):
        feature = out.size - NUM_STRENGTH_FEATURES + k
        out[feature] = max(0.0, part - float(k) / float(NUM_STRENGTH_FEATURES))


class BucketTables(NamedTuple):
    """Buckets of all hands on all boards of a round, for `look_up_bucket`."""

    entries: Ints  # [boards] int32
    buckets: Ints  # [canonical boards, 1326] uint8 or uint16


def compile_game(
    game: HoldemBase, buckets: Sequence[BucketTables] = (), perfect_recall: bool = False
) -> CompiledGame:
    """Compile the rules of a poker game.

    Args:
        game: the readable rules.
        buckets: tables for each round, if players observe buckets in place of cards.
        perfect_recall: players know their buckets of earlier rounds, not only the current one.

    Raises:
        ConfigError: the game pays prizes.
    """
    if game.pays_prizes:
        raise ConfigError(f"{get_spec(game)} pays prizes; compiled rules of poker pay chips")
    players, rounds = game.num_players, len(game.board_cards)
    params = np.zeros(SIZES, np.int64)
    betting = LIMIT if game.is_limit else ALL_RAISES if game.bet_sizes is None else SOME_RAISES
    deck = game.num_ranks * game.num_suits
    params[:BUCKETS] = (
        *(players, game.num_hole_cards, rounds, deck),
        *(game.num_suits, betting, game.min_bet),
    )
    params[STACKS : STACKS + players] = game.starting_stacks
    params[BOARD : BOARD + rounds] = np.cumsum(game.board_cards)
    params[OPENS : OPENS + rounds] = game.first_to_act
    params[RAISE_CAPS : RAISE_CAPS + rounds] = game.max_raises
    params[RAISE_SIZES : RAISE_SIZES + rounds] = game.raise_sizes or 0
    if buckets:
        params[BUCKETS] = ALL_BUCKETS if perfect_recall else CURRENT_BUCKET
        for rnd, (entries, table) in enumerate(buckets):
            params[ENTRIES + rnd], params[TABLES + rnd] = entries.ctypes.data, table.ctypes.data
            params[WIDTHS + rnd] = table.itemsize
    sizes: list[int] = []
    for k in range(MAX_ROUNDS * MAX_RAISE_PARTS):
        params[SIZE_OFFSETS + k] = SIZES + len(sizes)
        if game.bet_sizes is not None:
            sizes += game.bet_sizes.at(*divmod(k, MAX_RAISE_PARTS))
    params[SIZES - 1] = SIZES + len(sizes)
    start = game.initial_state()
    state = np.zeros(CHIPS + 3 * players + players * game.num_hole_cards + sum(game.board_cards))
    state[TO_ACT], state[LEFT], state[MIN_RAISE] = CHANCE, (1 << players) - 1, game.min_bet
    state[HIGHEST] = max(start.contributions)
    state[CHIPS : CHIPS + players] = start.contributions
    return CompiledGame(
        np.append(params, np.array(sizes, np.int64)),
        state.astype(np.int32),
        current_player,
        legal_actions,
        step,
        utilities,
        infoset_key,
        sample_chance=sample_chance,
        arrays=tuple(array for tables in buckets for array in tables),
        with_observations=None if buckets else partial(compile_observed_game, game),
    )


def compile_observed_game(game: HoldemBase, encoding: str = "game") -> CompiledGame | None:
    """Compile the rules of a poker game with observations; return None if they are too long.

    Args:
        game: the readable rules.
        encoding: "game" for `game.observation`, or a name in `poker_encoding.ENCODINGS`.
    """
    compiled = compile_game(game)
    most_chips = sum(game.starting_stacks)
    if game.is_limit:
        raised = sum(map(mul, game.raise_sizes, game.max_raises))
        most_chips = game.num_players * (max(game.initial_state().contributions) + raised)
    num_actions = sum(count_turns(game))
    if encoding == "game" and not game.is_limit:
        num_actions, most_chips = 0, 0  # nothing is recorded
    if num_actions > MAX_RECORDED_ACTIONS or most_chips >= MAX_RECORDED_CHIPS:
        return None
    params, state = compiled.params.copy(), compiled.initial_state
    codes = {"cards": CARDS, "cards_up_to_suits": CARDS_UP_TO_SUITS}
    codes |= {"cards_and_strength": CARDS_AND_STRENGTH}
    params[ENCODING] = codes.get(encoding, OWN_TURNS if game.is_limit else OWN_CHIPS)
    if num_actions:
        params[RECORD] = state.size
        state = np.append(state, np.zeros(1 + num_actions, np.int32))
    return compiled._replace(params=params, initial_state=state, observation=observation)


def count_turns(game: HoldemBase) -> list[int]:
    """Return the largest number of actions in each round."""
    return [(game.num_players - 1) * (raises + 1) + 1 for raises in game.max_raises]
