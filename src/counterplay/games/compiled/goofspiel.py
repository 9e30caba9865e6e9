"""Compiled rules of Goofspiel: see `counterplay.games.compiled.protocol`.

Parameters: cards, players, first prize and step of a fixed order (0: random), whether bids are
hidden, kind of returns. State: number of prizes revealed, rounds complete, bids pending; then
prizes by round, winners by round (-1: tie), bids by round and player, points by player, hands as
bits.
"""

from __future__ import annotations

import sys

from counterplay.games.compiled.protocol import CompiledGame, build_compiled_game
from counterplay.games.goofspiel import RETURNS_TYPES, Goofspiel
from counterplay.kernels.runtime.jit import CHANCE, TERMINAL, no_alloc_kernel

WIN_LOSS, POINT_DIFFERENCE, TOTAL_POINTS = 0, 1, 2  # kinds of returns
SHOWN, COMPLETE, PENDING, PRIZES = 0, 1, 2, 3  # indices of the state


@no_alloc_kernel
def state_offsets(params):
    """Return the first indices of winners, bids, points and hands in the state."""
    cards, players = params[0], params[1]
    bids = PRIZES + 2 * cards
    points = bids + cards * players
    return PRIZES + cards, bids, points, points + players


@no_alloc_kernel
def current_player(params, states, player, count):
    cards, hands = params[0], state_offsets(params)[3]
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


@no_alloc_kernel
def award_prize(params, state):
    """Complete a round: remove the bids from the hands and give the prize to the winner."""
    winners, bids, points, hands = state_offsets(params)
    players, r = params[1], state[COMPLETE]
    best, winner = -1, -1
    for p in range(players):
        bid = state[bids + r * players + p]
        state[hands + p] &= ~(1 << bid)
        if bid > best:
            best, winner = bid, p
        elif bid == best:
            winner = -1
    state[winners + r] = winner
    if winner >= 0:
        state[points + winner] += state[PRIZES + r] + 1
    state[COMPLETE], state[PENDING] = r + 1, 0


@no_alloc_kernel
def reveal_prize(params, state, prize):
    state[PRIZES + state[SHOWN]] = prize
    state[SHOWN] += 1


@no_alloc_kernel
def is_revealed(state, prize):
    is_shown = False
    for k in range(state[SHOWN]):
        is_shown |= state[PRIZES + k] == prize
    return is_shown


@no_alloc_kernel
def place_bid(params, state, card):
    """Add a bid; complete the round after the last one, and then a final round of one card each."""
    _, bids, _, hands = state_offsets(params)
    cards, players = params[0], params[1]
    state[bids + state[COMPLETE] * players + state[PENDING]] = card
    state[PENDING] += 1
    if state[PENDING] < players:
        return
    award_prize(params, state)
    if state[COMPLETE] < cards - 1:
        if params[3]:
            reveal_prize(params, state, params[2] + params[3] * state[SHOWN])
        return
    prize = 0
    while is_revealed(state, prize):
        prize += 1
    reveal_prize(params, state, prize)
    for p in range(players):
        last = 0
        while state[hands + p] >> last != 1:
            last += 1
        state[bids + state[COMPLETE] * players + p] = last
    award_prize(params, state)


@no_alloc_kernel
def legal_actions(params, states, player, first, action, chance):
    cards, hands = params[0], state_offsets(params)[3]
    for n in range(states.shape[0]):
        c, p = first[n], player[n]
        for card in range(cards if p != TERMINAL else 0):
            if p >= 0 and not states[n, hands + p] >> card & 1:
                continue
            if p == CHANCE and is_revealed(states[n], card):
                continue
            action[c] = card
            chance[c] = 1.0 / (cards - states[n, SHOWN]) if p == CHANCE else 1.0
            c += 1


@no_alloc_kernel
def step(params, states, player, action):
    for n in range(states.shape[0]):
        if player[n] == CHANCE:
            reveal_prize(params, states[n], action[n])
        else:
            place_bid(params, states[n], action[n])


@no_alloc_kernel
def utilities(params, states, utility):
    players, points = params[1], state_offsets(params)[2]
    for n in range(states.shape[0]):
        best, num_best, total = -1, 0, 0
        for p in range(players):
            score = states[n, points + p]
            total += score
            if score > best:
                best, num_best = score, 0
            num_best += score == best
        for p in range(players):
            score = states[n, points + p]
            if params[5] == TOTAL_POINTS:
                utility[n, p] = score
            elif params[5] == POINT_DIFFERENCE:
                utility[n, p] = score - total / players
            elif num_best == players:
                utility[n, p] = 0.0
            else:
                utility[n, p] = 1.0 / num_best if score == best else -1.0 / (players - num_best)


@no_alloc_kernel
def infoset_key(params, states, player, key):
    winners, bids, _, _ = state_offsets(params)
    cards, players = params[0], params[1]
    for n in range(states.shape[0]):
        state, value = states[n], 0
        for r in range(state[COMPLETE]):
            value = value * cards + state[PRIZES + r]
            for p in range(players):
                if p == player[n] or not params[4]:
                    value = value * cards + state[bids + r * players + p]
            if params[4]:
                value = value * (players + 1) + state[winners + r] + 1
        value = value * (cards + 1)
        if state[SHOWN] > state[COMPLETE]:
            value += state[PRIZES + state[COMPLETE]] + 1
        key[n] = value * (cards + 1) + state[COMPLETE]


@no_alloc_kernel
def observation(params, states, viewer, out):
    winners, bids, points, hands = state_offsets(params)
    cards, players = params[0], params[1]
    slots = cards * (cards + 1) // 2 + 1
    out[:] = 0.0
    for n in range(states.shape[0]):
        state, p = states[n], viewer[n]
        for k in range(players):
            out[n, k * slots + state[points + (p + k) % players]] = 1.0
        first = players * slots
        prizes = first + cards + cards * players if params[4] else first
        for r in range(state[SHOWN]):
            out[n, prizes + r * cards + state[PRIZES + r]] = 1.0
        if not params[4]:
            first += cards * cards
            for k in range(players):
                for card in range(cards):
                    left = state[hands + (p + k) % players] >> card & 1
                    out[n, first + k * cards + card] = left
            continue
        for card in range(cards):
            out[n, first + card] = state[hands + p] >> card & 1
        for r in range(state[COMPLETE]):
            if state[winners + r] >= 0:
                out[n, first + cards + r * players + state[winners + r]] = 1.0
            bid = state[bids + r * players + p]
            out[n, prizes + cards * cards + r * cards + bid] = 1.0


def compile_game(game: Goofspiel) -> CompiledGame | None:
    """Compile the rules of Goofspiel; None if its states do not fit into integers."""
    cards, players = game.num_cards, game.players
    digits = 2 + cards * (3 if game.imp_info else players + 1)
    if (
        game.forgetful
        or max(cards, players) + 1 > 30
        or (max(cards, players) + 1) ** digits >= 1 << 62
    ):
        return None
    order = {"random": (0, 0), "ascending": (0, 1), "descending": (cards - 1, -1)}
    first, step = order[game.points_order]
    params = [cards, players, first, step, game.imp_info, RETURNS_TYPES.index(game.returns_type)]
    prizes = [first if step else 0] + [0] * (cards - 1)
    start = [abs(step), 0, 0, *prizes, *[0] * (cards + cards * players + players)]
    return build_compiled_game(sys.modules[__name__], params, start + [(1 << cards) - 1] * players)
