"""Phantom games on integers: see `counterplay.tree.machines` for what the functions do.

Rules: cells, whether abrupt, then for each player and each set of stones whether it has won. State:
whose turn, stones of each player as bits, whether somebody has won, attempts of each player, then
the cells that player 0 tried, in order, then player 1's.
"""

from __future__ import annotations

from counterplay.kernels.compiling import TERMINAL, bare_kernel

TURN, STONES, WON, TRIED, CELLS = 0, 1, 3, 4, 6  # where these stand


@bare_kernel
def has_won(rules, player, stones):
    return rules[2 + (player << rules[0]) + stones]


@bare_kernel
def look(rules, states, player, count):
    full = (1 << rules[0]) - 1
    for n in range(states.shape[0]):
        state = states[n]
        if state[WON] or state[STONES] | state[STONES + 1] == full:
            player[n], count[n] = TERMINAL, 0
        else:
            player[n] = state[TURN]
            count[n] = rules[0] - state[TRIED + player[n]]


@bare_kernel
def was_tried(rules, state, player, cell):
    first, found = CELLS + player * rules[0], False
    for k in range(first, first + state[TRIED + player]):
        found |= state[k] == cell
    return found


@bare_kernel
def offer(rules, states, player, first, action, chance):
    for n in range(states.shape[0]):
        c = first[n]
        for cell in range(rules[0] if player[n] >= 0 else 0):
            if not was_tried(rules, states[n], player[n], cell):
                action[c], chance[c] = cell, 1.0
                c += 1


@bare_kernel
def step(rules, states, player, action):
    for n in range(states.shape[0]):
        state, p, cell = states[n], player[n], action[n]
        state[CELLS + p * rules[0] + state[TRIED + p]] = cell
        state[TRIED + p] += 1
        free = not state[STONES + 1 - p] >> cell & 1
        if free:
            state[STONES + p] |= 1 << cell
            state[WON] = has_won(rules, p, state[STONES + p])
        if free or rules[1]:
            state[TURN] = 1 - p


@bare_kernel
def pay(rules, states, utility):
    for n in range(states.shape[0]):
        won = 0.0
        if states[n, WON]:
            won = 1.0 if has_won(rules, 0, states[n, STONES]) else -1.0
        utility[n, 0], utility[n, 1] = won, -won if won else 0.0


@bare_kernel
def see(rules, states, player, key):
    size = rules[0]
    for n in range(states.shape[0]):
        state, p = states[n], player[n]
        known = 0
        for k in range(state[TRIED + p]):
            cell = int(state[CELLS + p * size + k])
            failed = not state[STONES + p] >> cell & 1
            known = known * (2 * size + 1) + 1 + 2 * cell + failed
        key[n] = known


@bare_kernel
def watch(rules, states, viewer, observation):
    size = rules[0]
    observation[:] = 0.0
    for n in range(states.shape[0]):
        state, p = states[n], viewer[n]
        for cell in range(size):
            observation[n, cell] = 1.0
        for k in range(state[TRIED + p]):
            cell = state[CELLS + p * size + k]
            own = state[STONES + p] >> cell & 1
            observation[n, cell] = 0.0
            observation[n, size * (1 + own) + cell] = 1.0
            observation[n, size * (3 + k) + cell] = 1.0
