"""Goofspiel on integers: see `counterplay.tree.machines` for what the functions do.

Rules: cards, players, first prize and step of a fixed order (0: random), whether bids stay hidden,
kind of returns. State: prizes turned up, rounds complete, bids pending; then prizes by round,
winners by round (-1: a tie), bids by round and player, points by player, cards left as bits.
"""

from __future__ import annotations

from counterplay.kernels.compiling import CHANCE, TERMINAL, bare_kernel

WIN_LOSS, DIFFERENCE, TOTAL = 0, 1, 2  # kinds of returns
SHOWN, COMPLETE, PENDING, PRIZES = 0, 1, 2, 3  # where these stand


@bare_kernel
def places(rules):
    """Where winners, bids, points and hands stand."""
    cards, players = rules[0], rules[1]
    bids = PRIZES + 2 * cards
    points = bids + cards * players
    return PRIZES + cards, bids, points, points + players


@bare_kernel
def look(rules, states, player, count):
    cards, hands = rules[0], places(rules)[3]
    for n in range(states.shape[0]):
        state = states[n]
        player[n], count[n] = TERMINAL, 0
        if state[COMPLETE] < state[SHOWN]:
            player[n] = state[PENDING]
            left = state[hands + player[n]]
            while left:
                count[n] += left & 1
                left >>= 1
        elif state[COMPLETE] < cards:
            player[n], count[n] = CHANCE, cards - state[SHOWN]


@bare_kernel
def award(rules, state):
    """Settle the round whose bids are all there."""
    winners, bids, points, hands = places(rules)
    players, now = rules[1], state[COMPLETE]
    best, winner = -1, -1
    for p in range(players):
        bid = state[bids + now * players + p]
        state[hands + p] &= ~(1 << bid)
        if bid > best:
            best, winner = bid, p
        elif bid == best:
            winner = -1
    state[winners + now] = winner
    if winner >= 0:
        state[points + winner] += state[PRIZES + now] + 1
    state[COMPLETE], state[PENDING] = now + 1, 0


@bare_kernel
def turn_up(rules, state, prize):
    state[PRIZES + state[SHOWN]] = prize
    state[SHOWN] += 1


@bare_kernel
def is_turned_up(state, prize):
    found = False
    for k in range(state[SHOWN]):
        found |= state[PRIZES + k] == prize
    return found


@bare_kernel
def bid(rules, state, card):
    """What a bid changes; the last round plays itself."""
    _, bids, _, hands = places(rules)
    cards, players = rules[0], rules[1]
    state[bids + state[COMPLETE] * players + state[PENDING]] = card
    state[PENDING] += 1
    if state[PENDING] < players:
        return
    award(rules, state)
    if state[COMPLETE] < cards - 1:
        if rules[3]:
            turn_up(rules, state, rules[2] + rules[3] * state[SHOWN])
        return
    prize = 0
    while is_turned_up(state, prize):
        prize += 1
    turn_up(rules, state, prize)
    for p in range(players):
        last = 0
        while state[hands + p] >> last != 1:
            last += 1
        state[bids + state[COMPLETE] * players + p] = last
    award(rules, state)


@bare_kernel
def offer(rules, states, player, first, action, chance):
    cards, hands = rules[0], places(rules)[3]
    for n in range(states.shape[0]):
        c, p = first[n], player[n]
        for card in range(cards if p != TERMINAL else 0):
            if p >= 0 and not states[n, hands + p] >> card & 1:
                continue
            if p == CHANCE and is_turned_up(states[n], card):
                continue
            action[c] = card
            chance[c] = 1.0 / (cards - states[n, SHOWN]) if p == CHANCE else 1.0
            c += 1


@bare_kernel
def step(rules, states, player, action):
    for n in range(states.shape[0]):
        if player[n] == CHANCE:
            turn_up(rules, states[n], action[n])
        else:
            bid(rules, states[n], action[n])


@bare_kernel
def pay(rules, states, utility):
    players, points = rules[1], places(rules)[2]
    for n in range(states.shape[0]):
        best, ahead, total = -1, 0, 0
        for p in range(players):
            own = states[n, points + p]
            total += own
            if own > best:
                best, ahead = own, 0
            ahead += own == best
        for p in range(players):
            own = states[n, points + p]
            if rules[5] == TOTAL:
                utility[n, p] = own
            elif rules[5] == DIFFERENCE:
                utility[n, p] = own - total / players
            elif ahead == players:
                utility[n, p] = 0.0
            else:
                utility[n, p] = 1.0 / ahead if own == best else -1.0 / (players - ahead)


@bare_kernel
def see(rules, states, player, key):
    winners, bids, _, _ = places(rules)
    cards, players = rules[0], rules[1]
    for n in range(states.shape[0]):
        state, known = states[n], 0
        for r in range(state[COMPLETE]):
            known = known * cards + state[PRIZES + r]
            for p in range(players):
                if p == player[n] or not rules[4]:
                    known = known * cards + state[bids + r * players + p]
            if rules[4]:
                known = known * (players + 1) + state[winners + r] + 1
        known = known * (cards + 1)
        if state[SHOWN] > state[COMPLETE]:
            known += state[PRIZES + state[COMPLETE]] + 1
        key[n] = known * (cards + 1) + state[COMPLETE]


@bare_kernel
def watch(rules, states, viewer, observation):
    winners, bids, points, hands = places(rules)
    cards, players = rules[0], rules[1]
    slots = cards * (cards + 1) // 2 + 1
    observation[:] = 0.0
    for n in range(states.shape[0]):
        state, p = states[n], viewer[n]
        for k in range(players):
            observation[n, k * slots + state[points + (p + k) % players]] = 1.0
        first = players * slots
        prizes = first + cards + cards * players if rules[4] else first
        for r in range(state[SHOWN]):
            observation[n, prizes + r * cards + state[PRIZES + r]] = 1.0
        if not rules[4]:
            first += cards * cards
            for k in range(players):
                for card in range(cards):
                    left = state[hands + (p + k) % players] >> card & 1
                    observation[n, first + k * cards + card] = left
            continue
        for card in range(cards):
            observation[n, first + card] = state[hands + p] >> card & 1
        for r in range(state[COMPLETE]):
            if state[winners + r] >= 0:
                observation[n, first + cards + r * players + state[winners + r]] = 1.0
            bid = state[bids + r * players + p]
            observation[n, prizes + cards * cards + r * cards + bid] = 1.0
