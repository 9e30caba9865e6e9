"""Leduc poker on integers: see `counterplay.tree.machines` for what the functions do.

Rules: players, ranks, suits. State: who acts; cards, the public one last (-1: none yet); chips paid
by player; players left, as bits; how many the round waits for; raises in it; what everybody saw,
two bits for each fold, call, raise or public card, behind a one.
"""

from __future__ import annotations

from counterplay.kernels.compiling import CHANCE, TERMINAL, bare_kernel

FOLD, CALL, RAISE, PUBLIC = 0, 1, 2, 3
MOST_RAISES = 2


@bare_kernel
def places(rules):
    """Where cards, chips, players left, waiting, raises and the record stand."""
    players = rules[0]
    chips = 2 + players
    return 1, chips, chips + players, chips + players + 1, chips + players + 2, chips + players + 3


@bare_kernel
def left(rules, state, card):
    """How many of a card are still in the deck."""
    found = 2 // rules[2]
    for p in range(rules[0] + 1):
        found -= state[1 + p] == card
    return found


@bare_kernel
def look(rules, states, player, count):
    raises = places(rules)[4]
    for n in range(states.shape[0]):
        player[n], count[n] = states[n, 0], 0
        if player[n] == CHANCE:
            for card in range(rules[1] * rules[2]):
                count[n] += left(rules, states[n], card) > 0
        elif player[n] >= 0:
            count[n] = 3 if states[n, raises] == 1 else 2


@bare_kernel
def next_player(rules, alive, player):
    """The next of those left after a player, in turn."""
    found = (player + 1) % rules[0]
    while not alive >> found & 1:
        found = (found + 1) % rules[0]
    return found


@bare_kernel
def num_alive(rules, alive):
    found = 0
    for p in range(rules[0]):
        found += alive >> p & 1
    return found


@bare_kernel
def act(rules, state, action):
    """What a player's action changes."""
    cards, chips, alive, waiting, raises, record = places(rules)
    players, player = rules[0], state[0]
    public = state[cards + players] >= 0
    state[waiting] -= 1
    if action == FOLD:
        state[alive] &= ~(1 << player)
    else:
        most = 0
        for p in range(players):
            most = max(most, state[chips + p])
        if action == RAISE:
            most += 4 if public else 2
            state[raises] += 1
            state[waiting] = num_alive(rules, state[alive]) - 1
        state[chips + player] = most
    state[record] = state[record] << 2 | action
    if num_alive(rules, state[alive]) == 1 or (state[waiting] == 0 and public):
        state[0] = TERMINAL
    elif state[waiting]:
        state[0] = next_player(rules, state[alive], player)
    else:
        state[0] = CHANCE


@bare_kernel
def deal(rules, state, card):
    """What a card changes: the next one to act, and a new round."""
    cards, _, alive, waiting, raises, record = places(rules)
    players = rules[0]
    place = 0
    while state[cards + place] >= 0:
        place += 1
    state[cards + place] = card
    if place == players:
        state[record] = state[record] << 2 | PUBLIC
    state[0] = CHANCE if place + 1 < players else next_player(rules, state[alive], players - 1)
    state[waiting], state[raises] = num_alive(rules, state[alive]), 0


@bare_kernel
def offer(rules, states, player, first, action, chance):
    for n in range(states.shape[0]):
        c = first[n]
        if player[n] == CHANCE:
            total = 2 * rules[1]
            for p in range(rules[0] + 1):
                total -= states[n, 1 + p] >= 0
            for card in range(rules[1] * rules[2]):
                copies = left(rules, states[n], card)
                if copies:
                    action[c], chance[c] = card, copies / total
                    c += 1
        elif player[n] >= 0:
            raises = states[n, places(rules)[4]]
            for choice in range(CALL if raises == 0 else FOLD, 3 if raises < MOST_RAISES else 2):
                action[c], chance[c] = choice, 1.0
                c += 1


@bare_kernel
def step(rules, states, player, action):
    for n in range(states.shape[0]):
        if player[n] == CHANCE:
            deal(rules, states[n], action[n])
        else:
            act(rules, states[n], action[n])


@bare_kernel
def strength(rules, state, player):
    cards, players = 1, rules[0]
    own, public = state[cards + player] // rules[2], state[cards + players] // rules[2]
    return own + 100 * (own == public)


@bare_kernel
def pay(rules, states, utility):
    _, chips, alive, _, _, _ = places(rules)
    players = rules[0]
    for n in range(states.shape[0]):
        state = states[n]
        shown = num_alive(rules, state[alive]) > 1
        best, winners, pot = -1, 0, 0
        for p in range(players):
            pot += state[chips + p]
            if state[alive] >> p & 1:
                hand = strength(rules, state, p) if shown else 0
                if hand > best:
                    best, winners = hand, 0
                winners += hand == best
        share = pot / winners
        for p in range(players):
            wins = state[alive] >> p & 1 and (not shown or strength(rules, state, p) == best)
            utility[n, p] = (share if wins else 0.0) - state[chips + p]


@bare_kernel
def see(rules, states, player, key):
    cards, _, _, _, _, record = places(rules)
    for n in range(states.shape[0]):
        own, public = states[n, cards + player[n]], states[n, cards + rules[0]]
        key[n] = (int(own) * 64 + public + 1) << 32 | states[n, record]


@bare_kernel
def watch(rules, states, viewer, observation):
    cards, _, _, _, _, record = places(rules)
    players, deck = rules[0], rules[1] * rules[2]
    turns = 3 * players - 2
    observation[:] = 0.0
    for n in range(states.shape[0]):
        own, public = states[n, cards + viewer[n]], states[n, cards + players]
        observation[n, viewer[n]] = 1.0
        if own >= 0:
            observation[n, players + own] = 1.0
        if public >= 0:
            observation[n, players + deck + public] = 1.0
        said, first = 0, players + 2 * deck
        while states[n, record] >> 2 * said > 1:
            said += 1
        for k in range(said - 1, -1, -1):
            word = states[n, record] >> 2 * k & 3
            if word == PUBLIC:
                first = players + 2 * deck + 2 * turns
                continue
            if word != FOLD:
                observation[n, first + (word == RAISE)] = 1.0
            first += 2
