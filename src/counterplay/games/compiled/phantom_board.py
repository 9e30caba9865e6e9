"""Compiled rules of phantom games: see `counterplay.games.compiled.protocol`.

Parameters: cells, whether abrupt, then for each player and each set of stones whether it wins.
State: acting player, stones of each player as bits, whether a player has won, number of attempts of
each player, then the cells tried by player 0, in order, then those tried by player 1.
"""

from __future__ import annotations

import sys

from counterplay.games.compiled.protocol import CompiledGame, build_compiled_game
from counterplay.games.phantom_board import PhantomBoard
from counterplay.kernels.runtime.jit import TERMINAL, no_alloc_kernel

TURN, STONES, WON, TRIED, CELLS = 0, 1, 3, 4, 6  # indices of the state


@no_alloc_kernel
def has_won(params, player, stones):
    return params[2 + (player << params[0]) + stones]


@no_alloc_kernel
def current_player(params, states, player, count):
    full = (1 << params[0]) - 1
    for n in range(states.shape[0]):
        state = states[n]
        if state[WON] or state[STONES] | state[STONES + 1] == full:
            player[n], count[n] = TERMINAL, 0
        else:
            player[n] = state[TURN]
            count[n] = params[0] - state[TRIED + player[n]]


@no_alloc_kernel
def is_tried(params, state, player, cell):
    first, is_listed = CELLS + player * params[0], False
    for k in range(first, first + state[TRIED + player]):
        is_listed |= state[k] == cell
    return is_listed


@no_alloc_kernel
def legal_actions(params, states, player, first, action, chance):
    for n in range(states.shape[0]):
        c = first[n]
        for cell in range(params[0] if player[n] >= 0 else 0):
            if not is_tried(params, states[n], player[n], cell):
                action[c], chance[c] = cell, 1.0
                c += 1


@no_alloc_kernel
def step(params, states, player, action):
    for n in range(states.shape[0]):
        state, p, cell = states[n], player[n], action[n]
        state[CELLS + p * params[0] + state[TRIED + p]] = cell
        state[TRIED + p] += 1
        free = not state[STONES + 1 - p] >> cell & 1
        if free:
            state[STONES + p] |= 1 << cell
            state[WON] = has_won(params, p, state[STONES + p])
        if free or params[1]:
            state[TURN] = 1 - p


@no_alloc_kernel
def utilities(params, states, utility):
    for n in range(states.shape[0]):
        value = 0.0
        if states[n, WON]:
            value = 1.0 if has_won(params, 0, states[n, STONES]) else -1.0
        utility[n, 0], utility[n, 1] = value, -value if value else 0.0


@no_alloc_kernel
def infoset_key(params, states, player, key):
    size = params[0]
    for n in range(states.shape[0]):
        state, p = states[n], player[n]
        value = 0
        for k in range(state[TRIED + p]):
            cell = int(state[CELLS + p * size + k])
            failed = not state[STONES + p] >> cell & 1
            value = value * (2 * size + 1) + 1 + 2 * cell + failed
        key[n] = value


@no_alloc_kernel
def observation(params, states, viewer, out):
    size = params[0]
    out[:] = 0.0
    for n in range(states.shape[0]):
        state, p = states[n], viewer[n]
        for cell in range(size):
            out[n, cell] = 1.0
        for k in range(state[TRIED + p]):
            cell = state[CELLS + p * size + k]
            is_own = state[STONES + p] >> cell & 1
            out[n, cell] = 0.0
            out[n, size * (1 + is_own) + cell] = 1.0
            out[n, size * (3 + k) + cell] = 1.0


MAX_LISTED_CELLS = 12  # largest board whose winning sets are listed


def compile_game(game: PhantomBoard) -> CompiledGame | None:
    """Compile the rules of a phantom game; None if the board has too many cells."""
    size = game.num_cells
    if size > MAX_LISTED_CELLS:
        return None
    wins = [game.has_won(player, stones) for player in range(2) for stones in range(1 << size)]
    return build_compiled_game(
        sys.modules[__name__], [size, game.is_abrupt, *wins], [0] * (6 + 2 * size)
    )
