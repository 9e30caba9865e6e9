"""Compiled rules of liar's dice: see `counterplay.games.compiled.protocol`.

Parameters: dice of each player, sides. State: dice (0: not rolled), those of player 0 first, sorted
once all are rolled; bids made, as bits; number of bids; whether "liar" was called.
"""

from __future__ import annotations

import sys

from counterplay.games.compiled.protocol import CompiledGame, build_compiled_game
from counterplay.games.liars_dice import LiarsDice
from counterplay.kernels.runtime.jit import CHANCE, TERMINAL, no_alloc_kernel


@no_alloc_kernel
def highest_bid(bids):
    """Return the highest (last) bid, or -1 before the first one."""
    bid = -1
    while bids:
        bids >>= 1
        bid += 1
    return bid


@no_alloc_kernel
def current_player(params, states, player, count):
    dice = 2 * params[0]
    for n in range(states.shape[0]):
        if states[n, dice - 1] == 0:
            player[n], count[n] = CHANCE, params[1]
        elif states[n, dice + 2]:
            player[n], count[n] = TERMINAL, 0
        else:
            player[n] = states[n, dice + 1] % 2
            last = highest_bid(states[n, dice])
            count[n] = dice * params[1] - 1 - last + (last >= 0)


@no_alloc_kernel
def legal_actions(params, states, player, first, action, chance):
    dice, sides = 2 * params[0], params[1]
    for n in range(states.shape[0]):
        lowest = 0 if player[n] == CHANCE else highest_bid(states[n, dice]) + 1
        for c in range(first[n], first[n + 1]):
            action[c] = lowest + c - first[n]
            chance[c] = 1.0 / sides if player[n] == CHANCE else 1.0


@no_alloc_kernel
def sort_dice(dice, first, last):
    """Sort dice `first` to `last` - 1 by insertion."""
    for i in range(first + 1, last):
        k = i
        while k > first and dice[k - 1] > dice[k]:
            dice[k - 1], dice[k] = dice[k], dice[k - 1]
            k -= 1


@no_alloc_kernel
def step(params, states, player, action):
    hand_size, dice = params[0], 2 * params[0]
    liar = dice * params[1]
    for n in range(states.shape[0]):
        if player[n] == CHANCE:
            d = 0
            while states[n, d]:
                d += 1
            states[n, d] = action[n] + 1
            if d == dice - 1:
                sort_dice(states[n], 0, hand_size)
                sort_dice(states[n], hand_size, dice)
        elif action[n] == liar:
            states[n, dice + 2] = 1
        else:
            states[n, dice] |= 1 << action[n]
            states[n, dice + 1] += 1


@no_alloc_kernel
def utilities(params, states, utility):
    dice, sides = 2 * params[0], params[1]
    for n in range(states.shape[0]):
        bid_count, side = divmod(highest_bid(states[n, dice]), sides)
        matches = 0
        for d in range(dice):
            matches += states[n, d] == side + 1 or states[n, d] == sides
        bidder = (states[n, dice + 1] + 1) % 2
        value = 1.0 if (matches > bid_count) == (bidder == 0) else -1.0
        utility[n, 0], utility[n, 1] = value, -value


@no_alloc_kernel
def infoset_key(params, states, player, key):
    hand_size = params[0]
    for n in range(states.shape[0]):
        hand = 0
        for d in range(player[n] * hand_size, (player[n] + 1) * hand_size):
            hand = hand * (params[1] + 1) + states[n, d]
        key[n] = hand << 32 | int(states[n, 2 * hand_size])


@no_alloc_kernel
def observation(params, states, viewer, out):
    hand_size, sides = params[0], params[1]
    out[:] = 0.0
    for n in range(states.shape[0]):
        out[n, viewer[n]] = 1.0
        for d in range(hand_size):
            face = states[n, viewer[n] * hand_size + d]
            if face:
                out[n, 2 + d * sides + face - 1] = 1.0
        for bid in range(2 * hand_size * sides):
            out[n, 2 + hand_size * sides + bid] = states[n, 2 * hand_size] >> bid & 1
        out[n, 2 + 3 * hand_size * sides] = states[n, 2 * hand_size + 2]


def compile_game(game: LiarsDice) -> CompiledGame | None:
    """Compile the rules of liar's dice; None if its states do not fit into integers."""
    if game.liar_action > 30 or (game.dice_sides + 1) ** game.numdice >= 1 << 31:
        return None
    start = [0] * game.total_dice + [0, 0, 0]
    return build_compiled_game(sys.modules[__name__], [game.numdice, game.dice_sides], start)
