"""Liar's dice on integers: see `counterplay.tree.machines` for what the four functions do.

Rules: dice of each player, sides. State: dice (0: not rolled yet), player 0's first, sorted when
all are there; bids made, one bit each; their number; whether somebody has said "liar".
"""

from __future__ import annotations

from counterplay.kernels.compiling import CHANCE, TERMINAL, kernel


@kernel
def highest(bids):
    """The last bid made; -1 if there is none."""
    found = -1
    while bids:
        bids >>= 1
        found += 1
    return found


@kernel
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


@kernel
def order(dice, first, last):
    """Sort a few dice."""
    for i in range(first + 1, last):
        k = i
        while k > first and dice[k - 1] > dice[k]:
            dice[k - 1], dice[k] = dice[k], dice[k - 1]
            k -= 1


@kernel
def spread(rules, states, player, first, children, action, chance):
    own, sides = rules[0], rules[1]
    dice = 2 * own
    liar = dice * sides
    for n in range(states.shape[0]):
        c = first[n]
        if player[n] == CHANCE:
            place = 0
            while states[n, place]:
                place += 1
            for side in range(sides):
                children[c] = states[n]
                children[c, place] = side + 1
                if place == dice - 1:
                    order(children[c], 0, own)
                    order(children[c], own, dice)
                action[c], chance[c] = side, 1.0 / sides
                c += 1
        elif player[n] >= 0:
            last = highest(states[n, dice])
            for bid in range(last + 1, liar + (last >= 0)):
                children[c] = states[n]
                if bid == liar:
                    children[c, dice + 2] = 1
                else:
                    children[c, dice] |= 1 << bid
                    children[c, dice + 1] += 1
                action[c], chance[c] = bid, 1.0
                c += 1


@kernel
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


@kernel
def see(rules, states, player, key):
    own = rules[0]
    for n in range(states.shape[0]):
        hand = 0
        for d in range(player[n] * own, (player[n] + 1) * own):
            hand = hand * (rules[1] + 1) + states[n, d]
        key[n] = hand << 32 | int(states[n, 2 * own])


@kernel
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
