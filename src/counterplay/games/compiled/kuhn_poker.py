"""Compiled rules of Kuhn poker: see `counterplay.games.compiled.protocol`.

Parameters: players, cards. State: card of each player (-1: not dealt), number of turns, turns with
a bet as bits.
"""

from __future__ import annotations

import sys

from counterplay.games.compiled.protocol import CompiledGame, build_compiled_game
from counterplay.games.kuhn_poker import KuhnPoker
from counterplay.kernels.runtime.jit import CHANCE, TERMINAL, no_alloc_kernel


@no_alloc_kernel
def acting_player(params, state):
    players = params[0]
    for p in range(players):
        if state[p] < 0:
            return CHANCE
    turns, bets = state[players], state[players + 1]
    end = players
    if bets:
        while not bets & 1:
            bets >>= 1
            end += 1
    return TERMINAL if turns == end else turns % players


@no_alloc_kernel
def is_dealt(params, state, card):
    is_held = False
    for p in range(params[0]):
        is_held |= state[p] == card
    return is_held


@no_alloc_kernel
def current_player(params, states, player, count):
    for n in range(states.shape[0]):
        state = states[n]
        player[n] = acting_player(params, state)
        count[n] = 2 if player[n] >= 0 else 0
        if player[n] == CHANCE:
            for card in range(params[1]):
                count[n] += not is_dealt(params, state, card)


@no_alloc_kernel
def legal_actions(params, states, player, first, action, chance):
    for n in range(states.shape[0]):
        c, left = first[n], first[n + 1] - first[n]
        for a in range(params[1] if player[n] == CHANCE else left):
            if player[n] >= 0 or not is_dealt(params, states[n], a):
                action[c], chance[c] = a, 1.0 if player[n] >= 0 else 1.0 / left
                c += 1


@no_alloc_kernel
def step(params, states, player, action):
    players = params[0]
    for n in range(states.shape[0]):
        if player[n] == CHANCE:
            p = 0
            while states[n, p] >= 0:
                p += 1
            states[n, p] = action[n]
        else:
            states[n, players + 1] |= action[n] << states[n, players]
            states[n, players] += 1


@no_alloc_kernel
def utilities(params, states, utility):
    players = params[0]
    for n in range(states.shape[0]):
        bets = states[n, players + 1]
        winner, pot = -1, 0.0
        for p in range(players):
            bet = bets >> p & 1 or bets >> (p + players) & 1
            pot += 2.0 if bet else 1.0
            if (bet or not bets) and (winner < 0 or states[n, p] > states[n, winner]):
                winner = p
        for p in range(players):
            bet = bets >> p & 1 or bets >> (p + players) & 1
            stake = 2.0 if bet else 1.0
            utility[n, p] = pot - stake if p == winner else -stake


@no_alloc_kernel
def infoset_key(params, states, player, key):
    players = params[0]
    for n in range(states.shape[0]):
        card, turns, bets = states[n, player[n]], states[n, players], states[n, players + 1]
        key[n] = (int(card) * 32 + turns) << 32 | bets


@no_alloc_kernel
def observation(params, states, viewer, out):
    players, cards = params[0], params[1]
    out[:] = 0.0
    for n in range(states.shape[0]):
        p = viewer[n]
        out[n, p] = 1.0
        if states[n, p] >= 0:
            out[n, players + states[n, p]] = 1.0
        for turn in range(states[n, players]):
            bet = states[n, players + 1] >> turn & 1
            out[n, players + cards + 2 * turn + bet] = 1.0


def compile_game(game: KuhnPoker) -> CompiledGame:
    """Compile the rules of Kuhn poker."""
    return build_compiled_game(
        sys.modules[__name__], [game.players, game.deck_size], [-1] * game.players + [0, 0]
    )
