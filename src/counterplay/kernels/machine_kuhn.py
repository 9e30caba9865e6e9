"""Kuhn poker on integers: see `counterplay.tree.machines` for what the functions do.

Rules: players, cards. State: a card for each player (-1: none yet), turns taken, turns with a bet.
"""

from __future__ import annotations

from counterplay.kernels.compiling import CHANCE, TERMINAL, bare_kernel


@bare_kernel
def to_act(rules, state):
    players = rules[0]
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


@bare_kernel
def is_dealt(rules, state, card):
    found = False
    for p in range(rules[0]):
        found |= state[p] == card
    return found


@bare_kernel
def look(rules, states, player, count):
    for n in range(states.shape[0]):
        state = states[n]
        player[n] = to_act(rules, state)
        count[n] = 2 if player[n] >= 0 else 0
        if player[n] == CHANCE:
            for card in range(rules[1]):
                count[n] += not is_dealt(rules, state, card)


@bare_kernel
def offer(rules, states, player, first, action, chance):
    for n in range(states.shape[0]):
        c, left = first[n], first[n + 1] - first[n]
        for a in range(rules[1] if player[n] == CHANCE else left):
            if player[n] >= 0 or not is_dealt(rules, states[n], a):
                action[c], chance[c] = a, 1.0 if player[n] >= 0 else 1.0 / left
                c += 1


@bare_kernel
def step(rules, states, player, action):
    players = rules[0]
    for n in range(states.shape[0]):
        if player[n] == CHANCE:
            place = 0
            while states[n, place] >= 0:
                place += 1
            states[n, place] = action[n]
        else:
            states[n, players + 1] |= action[n] << states[n, players]
            states[n, players] += 1


@bare_kernel
def pay(rules, states, utility):
    players = rules[0]
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
            paid = 2.0 if bet else 1.0
            utility[n, p] = pot - paid if p == winner else -paid


@bare_kernel
def see(rules, states, player, key):
    players = rules[0]
    for n in range(states.shape[0]):
        card, turns, bets = states[n, player[n]], states[n, players], states[n, players + 1]
        key[n] = (int(card) * 32 + turns) << 32 | bets


@bare_kernel
def watch(rules, states, viewer, observation):
    players, cards = rules[0], rules[1]
    observation[:] = 0.0
    for n in range(states.shape[0]):
        p = viewer[n]
        observation[n, p] = 1.0
        if states[n, p] >= 0:
            observation[n, players + states[n, p]] = 1.0
        for turn in range(states[n, players]):
            bet = states[n, players + 1] >> turn & 1
            observation[n, players + cards + 2 * turn + bet] = 1.0
