"""Liar's dice on integers: see `counterplay.tree.machines` for what the functions do.

Rules: dice of each player, sides. State: dice (0: not rolled yet), player 0's first, sorted when
all are there; bids made, one bit each; their number; whether somebody has said "liar".
"""

from __future__ import annotations

from counterplay.kernels.compiling import CHANCE, TERMINAL, bare_kernel


@bare_kernel
def highest(bids):
    """The last bid made; -1 if there is none."""
    found = -1
    while bids:
        bids >>= 1
        found += 1
    return found


@bare_kernel
def look(rules, states, player, count):
    dice = 2 * rules[0]
    for n in range(states.shape[0]):
        if states[n, dice - 1] == 0:
            player[n], count[n] = CHANCE, rules[1]
        elif states[n, dice + 2]:
            player[n], count[n] = TERMINAL, 0
        else:
            player[n] = states[n, dice + 1] % 2
            last = highest(states[n, dice])
            count[n] = dice * rules[1] - 1 - last + (last >= 0)


@bare_kernel
def offer(rules, states, player, first, action, chance):
    dice, sides = 2 * rules[0], rules[1]
    for n in range(states.shape[0]):
        lowest = 0 if player[n] == CHANCE else highest(states[n, dice]) + 1
        for c in range(first[n], first[n + 1]):
            action[c] = lowest + c - first[n]
            chance[c] = 1.0 / sides if player[n] == CHANCE else 1.0


@bare_kernel
def order(dice, first, last):
    """Sort a few dice."""
    for i in range(first + 1, last):
        k = i
        while k > first and dice[k - 1] > dice[k]:
            dice[k - 1], dice[k] = dice[k], dice[k - 1]
            k -= 1


@bare_kernel
def step(rules, states, player, action):
    own, dice = rules[0], 2 * rules[0]
    liar = dice * rules[1]
    for n in range(states.shape[0]):
        if player[n] == CHANCE:
            place = 0
            while states[n, place]:
                place += 1
            states[n, place] = action[n] + 1
            if place == dice - 1:
                order(states[n], 0, own)
                order(states[n], own, dice)
        elif action[n] == liar:
            states[n, dice + 2] = 1
        else:
            states[n, dice] |= 1 << action[n]
            states[n, dice + 1] += 1


@bare_kernel
def pay(rules, states, utility):
    dice, sides = 2 * rules[0], rules[1]
    for n in range(states.shape[0]):
        more, side = divmod(highest(states[n, dice]), sides)
        matches = 0
        for d in range(dice):
            matches += states[n, d] == side + 1 or states[n, d] == sides
        bidder = (states[n, dice + 1] + 1) % 2
        won = 1.0 if (matches > more) == (bidder == 0) else -1.0
        utility[n, 0], utility[n, 1] = won, -won


@bare_kernel
def see(rules, states, player, key):
    own = rules[0]
    for n in range(states.shape[0]):
        hand = 0
        for d in range(player[n] * own, (player[n] + 1) * own):
            hand = hand * (rules[1] + 1) + states[n, d]
        key[n] = hand << 32 | int(states[n, 2 * own])


@bare_kernel
def watch(rules, states, viewer, observation):
    own, sides = rules[0], rules[1]
    observation[:] = 0.0
    for n in range(states.shape[0]):
        observation[n, viewer[n]] = 1.0
        for d in range(own):
            face = states[n, viewer[n] * own + d]
            if face:
                observation[n, 2 + d * sides + face - 1] = 1.0
        for bid in range(2 * own * sides):
            observation[n, 2 + own * sides + bid] = states[n, 2 * own] >> bid & 1
        observation[n, 2 + 3 * own * sides] = states[n, 2 * own + 2]
