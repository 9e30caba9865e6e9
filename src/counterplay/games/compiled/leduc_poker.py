"""Compiled rules of Leduc poker: see `counterplay.games.compiled.protocol`.

Parameters: players, ranks, suits. State: acting player; cards, the public one last (-1: not dealt);
chips paid by player; players left, as bits; number of players still to act in the round; raises in
the round; the public record: a leading one bit, then two bits for each fold, call, raise or public
card.
"""

from __future__ import annotations

import sys

from counterplay.games.compiled.protocol import CompiledGame, build_compiled_game
from counterplay.games.leduc_poker import LeducPoker
from counterplay.kernels.runtime.jit import CHANCE, TERMINAL, no_alloc_kernel

FOLD, CALL, RAISE, PUBLIC = 0, 1, 2, 3
MAX_RAISES = 2


@no_alloc_kernel
def state_offsets(params):
    """Return the first indices of cards, chips, players left, waiting, raises and the record."""
    players = params[0]
    chips = 2 + players
    return 1, chips, chips + players, chips + players + 1, chips + players + 2, chips + players + 3


@no_alloc_kernel
def num_copies_left(params, state, card):
    """Return the number of copies of a card in the deck."""
    copies = 2 // params[2]
    for p in range(params[0] + 1):
        copies -= state[1 + p] == card
    return copies


@no_alloc_kernel
def current_player(params, states, player, count):
    raises = state_offsets(params)[4]
    for n in range(states.shape[0]):
        player[n], count[n] = states[n, 0], 0
        if player[n] == CHANCE:
            for card in range(params[1] * params[2]):
                count[n] += num_copies_left(params, states[n], card) > 0
        elif player[n] >= 0:
            count[n] = 3 if states[n, raises] == 1 else 2


@no_alloc_kernel
def next_player(params, players_left, player):
    """Return the next player, in turn, that has not folded."""
    next_index = (player + 1) % params[0]
    while not players_left >> next_index & 1:
        next_index = (next_index + 1) % params[0]
    return next_index


@no_alloc_kernel
def num_players_left(params, players_left):
    count = 0
    for p in range(params[0]):
        count += players_left >> p & 1
    return count


@no_alloc_kernel
def apply_action(params, state, action):
    """Apply a player's action to the state."""
    cards, chips, alive, waiting, raises, record = state_offsets(params)
    players, player = params[0], state[0]
    public = state[cards + players] >= 0
    state[waiting] -= 1
    if action == FOLD:
        state[alive] &= ~(1 << player)
    else:
        bet = 0
        for p in range(players):
            bet = max(bet, state[chips + p])
        if action == RAISE:
            bet += 4 if public else 2
            state[raises] += 1
            state[waiting] = num_players_left(params, state[alive]) - 1
        state[chips + player] = bet
    state[record] = state[record] << 2 | action
    if num_players_left(params, state[alive]) == 1 or (state[waiting] == 0 and public):
        state[0] = TERMINAL
    elif state[waiting]:
        state[0] = next_player(params, state[alive], player)
    else:
        state[0] = CHANCE


@no_alloc_kernel
def deal_card(params, state, card):
    """Deal a card, and start a round when all cards of the street are dealt."""
    cards, _, alive, waiting, raises, record = state_offsets(params)
    players = params[0]
    k = 0
    while state[cards + k] >= 0:
        k += 1
    state[cards + k] = card
    if k == players:
        state[record] = state[record] << 2 | PUBLIC
    state[0] = CHANCE if k + 1 < players else next_player(params, state[alive], players - 1)
    state[waiting], state[raises] = num_players_left(params, state[alive]), 0


@no_alloc_kernel
def legal_actions(params, states, player, first, action, chance):
    for n in range(states.shape[0]):
        c = first[n]
        if player[n] == CHANCE:
            total = 2 * params[1]
            for p in range(params[0] + 1):
                total -= states[n, 1 + p] >= 0
            for card in range(params[1] * params[2]):
                copies = num_copies_left(params, states[n], card)
                if copies:
                    action[c], chance[c] = card, copies / total
                    c += 1
        elif player[n] >= 0:
            raises = states[n, state_offsets(params)[4]]
            for choice in range(CALL if raises == 0 else FOLD, 3 if raises < MAX_RAISES else 2):
                action[c], chance[c] = choice, 1.0
                c += 1


@no_alloc_kernel
def step(params, states, player, action):
    for n in range(states.shape[0]):
        if player[n] == CHANCE:
            deal_card(params, states[n], action[n])
        else:
            apply_action(params, states[n], action[n])


@no_alloc_kernel
def strength(params, state, player):
    cards, players = 1, params[0]
    private, public = state[cards + player] // params[2], state[cards + players] // params[2]
    return private + 100 * (private == public)


@no_alloc_kernel
def utilities(params, states, utility):
    _, chips, alive, _, _, _ = state_offsets(params)
    players = params[0]
    for n in range(states.shape[0]):
        state = states[n]
        is_showdown = num_players_left(params, state[alive]) > 1
        best, winners, pot = -1, 0, 0
        for p in range(players):
            pot += state[chips + p]
            if state[alive] >> p & 1:
                hand = strength(params, state, p) if is_showdown else 0
                if hand > best:
                    best, winners = hand, 0
                winners += hand == best
        share = pot / winners
        for p in range(players):
            wins = state[alive] >> p & 1 and (not is_showdown or strength(params, state, p) == best)
            utility[n, p] = (share if wins else 0.0) - state[chips + p]


@no_alloc_kernel
def infoset_key(params, states, player, key):
    cards, _, _, _, _, record = state_offsets(params)
    for n in range(states.shape[0]):
        private, public = states[n, cards + player[n]], states[n, cards + params[0]]
        key[n] = (int(private) * 64 + public + 1) << 32 | states[n, record]


@no_alloc_kernel
def observation(params, states, viewer, out):
    cards, _, _, _, _, record = state_offsets(params)
    players, deck = params[0], params[1] * params[2]
    turns = 3 * players - 2
    out[:] = 0.0
    for n in range(states.shape[0]):
        private, public = states[n, cards + viewer[n]], states[n, cards + players]
        out[n, viewer[n]] = 1.0
        if private >= 0:
            out[n, players + private] = 1.0
        if public >= 0:
            out[n, players + deck + public] = 1.0
        num_events, first = 0, players + 2 * deck
        while states[n, record] >> 2 * num_events > 1:
            num_events += 1
        for k in range(num_events - 1, -1, -1):
            event = states[n, record] >> 2 * k & 3
            if event == PUBLIC:
                first = players + 2 * deck + 2 * turns
                continue
            if event != FOLD:
                out[n, first + (event == RAISE)] = 1.0
            first += 2


def compile_game(game: LeducPoker) -> CompiledGame:
    """Compile the rules of Leduc poker."""
    players = game.players
    start = [CHANCE, *[-1] * (players + 1), *[1] * players, (1 << players) - 1, players, 0, 1]
    return build_compiled_game(
        sys.modules[__name__], [players, game.num_ranks, game.num_suits], start
    )
