"""Compiled rules of small Stratego: see `counterplay.games.compiled.protocol`.

Parameters: the largest number of moves. State: placements, moves, winner, a hash of each player's
information in two halves each, then the board, then the marks of its squares. An infoset's key is
the hash of its player's information, 64 bits.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy import uint64

from counterplay.games import stratego as rules
from counterplay.games.compiled.protocol import CompiledGame, build_compiled_game
from counterplay.games.stratego import (
    BOMB,
    DRAW,
    EMPTY,
    FLAG,
    MARSHAL,
    MINER,
    MOVED,
    NUM_EVENTS,
    NUM_KINDS,
    NUM_SQUARES,
    REVEALED,
    SCOUT,
    SIDE,
    SPY,
    UNDECIDED,
    Stratego,
)
from counterplay.kernels.runtime.jit import TERMINAL, no_alloc_kernel
from counterplay.kernels.sampling.primitives import mix

PLACED, MOVES, WINNER, HASHES, BOARD, MARKS = 0, 1, 2, 3, 7, 7 + NUM_SQUARES  # of the state
ARMY_SIZE = len(rules.ARMY)
ARMY, STRENGTHS = np.array(rules.ARMY), np.array(rules.STRENGTHS)
IS_LAKE = np.isin(np.arange(NUM_SQUARES), rules.LAKES)
DOWN, RIGHT = np.array([-1, 0, 0, 1]), np.array([0, -1, 1, 0])
HALF = uint64(32)
LOW_HALF = uint64(0xFFFFFFFF)
HASH_GAMMA = uint64(0x9E3779B97F4A7C15)


@no_alloc_kernel
def read_hash(state, player):
    low, high = state[HASHES + 2 * player], state[HASHES + 2 * player + 1]
    return uint64(np.uint32(low)) | (uint64(np.uint32(high)) << HALF)


@no_alloc_kernel
def add_event(state, player, event):
    """Replace the hash of a player's information by that with one more event."""
    bits = mix(read_hash(state, player) + HASH_GAMMA * uint64(event + 1))
    state[HASHES + 2 * player] = np.int32(np.uint32(bits & LOW_HALF))
    state[HASHES + 2 * player + 1] = np.int32(np.uint32(bits >> HALF))


@no_alloc_kernel
def owner_of(state, square):
    piece = state[BOARD + square]
    return -1 if piece == EMPTY else (piece - 1) // NUM_KINDS


@no_alloc_kernel
def kind_of(state, square):
    return (state[BOARD + square] - 1) % NUM_KINDS


@no_alloc_kernel
def last_target(state, player, start, direction):
    """Return the number of squares that a piece can go in a direction; 0 if it cannot move."""
    row, column, count = start // SIDE + DOWN[direction], start % SIDE + RIGHT[direction], 0
    kind = kind_of(state, start)
    while 0 <= row < SIDE and 0 <= column < SIDE:
        to = row * SIDE + column
        owner = owner_of(state, to)
        if IS_LAKE[to] or owner == player:
            break
        count += 1
        if kind != SCOUT or owner >= 0:
            break
        row += DOWN[direction]
        column += RIGHT[direction]
    return count


@no_alloc_kernel
def can_move(state, player, square):
    if owner_of(state, square) != player:
        return False
    kind = kind_of(state, square)
    return kind != FLAG and kind != BOMB


@no_alloc_kernel
def count_moves(state, player):
    count = 0
    for start in range(NUM_SQUARES):
        if can_move(state, player, start):
            for direction in range(4):
                count += last_target(state, player, start, direction)
    return count


@no_alloc_kernel
def current_player(params, states, player, count):
    for n in range(states.shape[0]):
        state = states[n]
        if state[WINNER] != UNDECIDED:
            player[n], count[n] = TERMINAL, 0
        elif state[PLACED] < NUM_EVENTS:
            player[n] = state[PLACED] // ARMY_SIZE
            count[n] = 2 * SIDE - state[PLACED] % ARMY_SIZE
        else:
            player[n] = state[MOVES] % 2
            count[n] = count_moves(state, player[n])


@no_alloc_kernel
def legal_actions(params, states, player, first, action, chance):
    for n in range(states.shape[0]):
        state, p, c = states[n], player[n], first[n]
        if p < 0:
            continue
        if state[PLACED] < NUM_EVENTS:
            begin = NUM_SQUARES - 2 * SIDE if p == 0 else 0
            for square in range(begin, begin + 2 * SIDE):
                if state[BOARD + square] == EMPTY:
                    action[c], chance[c] = (NUM_SQUARES + 1) * square, 1.0
                    c += 1
            continue
        for start in range(NUM_SQUARES):
            if not can_move(state, p, start):
                continue
            for direction in range(4):  # up, left, right, down: targets in rising order
                reach = last_target(state, p, start, direction)
                offset = DOWN[direction] * SIDE + RIGHT[direction]
                for k in range(reach):
                    steps = reach - k if direction < 2 else k + 1
                    action[c] = start * NUM_SQUARES + start + offset * steps
                    chance[c] = 1.0
                    c += 1


@no_alloc_kernel
def attack_result(attacker, defender):
    if defender == BOMB:
        return 1 if attacker == MINER else -1
    if attacker == SPY and defender == MARSHAL:
        return 1
    return STRENGTHS[attacker] - STRENGTHS[defender]


@no_alloc_kernel
def place(state, p, square):
    kind = ARMY[state[PLACED] % ARMY_SIZE]
    state[BOARD + square] = 1 + kind + NUM_KINDS * p
    state[PLACED] += 1
    add_event(state, p, square)
    if state[PLACED] == NUM_EVENTS:  # the squares become known
        for viewer in range(2):
            for other in range(NUM_SQUARES):
                if owner_of(state, other) == 1 - viewer:
                    add_event(state, viewer, NUM_SQUARES + other)


@no_alloc_kernel
def move(params, state, p, start, to):
    piece, target = state[BOARD + start], state[BOARD + to]
    distance = max(abs(start // SIDE - to // SIDE), abs(start % SIDE - to % SIDE))
    mark = state[MARKS + start] | MOVED
    if distance > 1:
        mark |= REVEALED
    state[BOARD + start], state[MARKS + start] = EMPTY, 0
    event = (start * NUM_SQUARES + to) * (NUM_KINDS + 1) * (NUM_KINDS + 1)
    if target == EMPTY:
        state[BOARD + to], state[MARKS + to] = piece, mark
    else:
        attacker, defender = (piece - 1) % NUM_KINDS, (target - 1) % NUM_KINDS
        event += (attacker + 1) * (NUM_KINDS + 1) + defender + 1
        result = attack_result(attacker, defender)
        if result > 0:
            state[BOARD + to], state[MARKS + to] = piece, mark | REVEALED
        elif result == 0:
            state[BOARD + to], state[MARKS + to] = EMPTY, 0
        else:
            state[MARKS + to] |= REVEALED
        if defender == FLAG:
            state[WINNER] = p
    state[MOVES] += 1
    for viewer in range(2):
        add_event(state, viewer, 2 * NUM_SQUARES + event)
    if state[WINNER] == UNDECIDED and count_moves(state, 1 - p) == 0:
        state[WINNER] = p
    if state[WINNER] == UNDECIDED and state[MOVES] == params[0]:
        state[WINNER] = DRAW


@no_alloc_kernel
def step(params, states, player, action):
    for n in range(states.shape[0]):
        start, to = action[n] // NUM_SQUARES, action[n] % NUM_SQUARES
        if states[n, PLACED] < NUM_EVENTS:
            place(states[n], player[n], start)
        else:
            move(params, states[n], player[n], start, to)


@no_alloc_kernel
def utilities(params, states, utility):
    for n in range(states.shape[0]):
        winner, value = states[n, WINNER], 0.0
        if winner >= 0:
            value = 1.0 if winner == 0 else -1.0
        utility[n, 0], utility[n, 1] = value, -value if value else 0.0


@no_alloc_kernel
def infoset_key(params, states, player, key):
    for n in range(states.shape[0]):
        key[n] = np.int64(read_hash(states[n], player[n]))


@no_alloc_kernel
def observation(params, states, viewer, out):
    out[:] = 0.0
    first = (NUM_KINDS + 2) * NUM_SQUARES
    for n in range(states.shape[0]):
        state, p = states[n], viewer[n]
        is_ready = state[PLACED] == NUM_EVENTS
        for square in range(NUM_SQUARES):
            owner, mark = owner_of(state, square), state[MARKS + square]
            if owner < 0:
                continue
            kind, is_moved, is_shown = kind_of(state, square), mark & MOVED, mark & REVEALED
            if owner == p:
                out[n, kind * NUM_SQUARES + square] = 1.0
                out[n, NUM_KINDS * NUM_SQUARES + square] = 1.0 if is_moved else 0.0
                out[n, (NUM_KINDS + 1) * NUM_SQUARES + square] = 1.0 if is_shown else 0.0
            elif is_ready:
                plane = 2 + kind if is_shown else 0
                out[n, first + plane * NUM_SQUARES + square] = 1.0
                out[n, first + NUM_SQUARES + square] = 1.0 if is_moved else 0.0
        out[n, out.shape[1] - 2] = state[PLACED] / NUM_EVENTS
        out[n, out.shape[1] - 1] = state[MOVES] / params[0]


def compile_game(game: Stratego) -> CompiledGame:
    """Compile the rules of small Stratego."""
    state = [0, 0, UNDECIDED, *[0] * (4 + 2 * NUM_SQUARES)]
    return build_compiled_game(sys.modules[__name__], [game.max_moves], state)
