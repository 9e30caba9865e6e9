"""Policies of networks for all hands at once, in matches over ranges and local best responses."""

from __future__ import annotations

import random

import numpy as np
import pytest

import counterplay as cp
from counterplay.algorithms.deep.common.network_hands import NetworkHands, hands_from_networks
from counterplay.algorithms.deep.common.network_policy import NetworkPolicy
from counterplay.algorithms.deep.common.networks import new_nets
from counterplay.core.cards import ALL_HANDS, hand_index
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.core.observations import KeyObservedGame
from counterplay.games.poker_encoding import ENCODINGS, encode_game
from counterplay.play.local_best_response import LocalBestResponse

TWO_CARD_GAME = (
    "poker(blinds=(1,1),stacks=(9,9),opens=(0,0),raises=(2,2),raise_caps=(1,2),ranks=3,board=(0,1))"
)


def random_networks(game, count=1):
    rng, features = np.random.default_rng(3), len(game.observation(game.initial_state(), 0))
    nets = tuple(new_nets(rng, 2, (features, 12, 3)) for _ in range(count))
    return NetworkPolicy(game, nets, "softmax", tuple(range(1, count + 1)))


def random_decisions(game, seed, count):
    """Yield decisions of random episodes without folds."""
    rng = random.Random(seed)
    while count:
        state = game.initial_state()
        while (player := game.player(state)) != TERMINAL:
            if player == CHANCE:
                state = game.next_state(state, rng.choice(game.chance_outcomes(state))[0])
                continue
            yield state, player
            count -= 1
            if not count:
                return
            state = game.next_state(state, rng.choice(game.actions(state)[-2:]))


@pytest.mark.parametrize("encoding", ["game", *ENCODINGS])
def test_all_hands_equal_hands_asked_one_by_one(encoding):
    game = cp.load_game("limit_holdem")
    policy = random_networks(encode_game(game, encoding))
    agent, rng = hands_from_networks(policy), random.Random(0)
    assert isinstance(agent, NetworkHands)
    for state, player in random_decisions(game, 1, 9):
        actions, table = agent.hand_policy(state, player)
        assert list(actions) == list(game.actions(state))
        own = agent.action_probabilities(state, player)
        assert own == pytest.approx(policy.action_probabilities(state, player), abs=1e-6)
        dead = {*state.cards} - {*game.hole_cards(state, player)}
        hands = [hand for hand in ALL_HANDS if not dead & {*hand}]
        for hand in rng.sample(hands, 3):
            first = 2 * player
            cards = (*state.cards[:first], *hand, *state.cards[first + 2 :])
            expected = policy.action_probabilities(state._replace(cards=cards), player)
            assert table[hand_index(*hand)] == pytest.approx(expected, abs=1e-6)


def test_several_networks_are_averaged_by_their_reach():
    """The table of a hold'em arena averages them on its own way, forwards over the streets."""
    game = cp.load_game(TWO_CARD_GAME)
    policy = random_networks(encode_game(game, "cards_up_to_suits"), 3)
    arena = cp.holdem.HoldemGameArena(game, precision="float64")
    table, agent = policy.tabulate(arena), hands_from_networks(policy)
    nodes = [node for node, info in enumerate(arena.betting.nodes) if info.kind in (0, 1)]
    compared = 0
    for state, player in random_decisions(game, 2, 40):
        street = state.round
        cards = game.public_cards(state)
        boards = arena.streets[street].cards.tolist()
        if list(cards) not in boards:
            continue
        board = boards.index(list(cards))
        betting = "|".join(part.rpartition(":")[2] for part in state.history.split("|"))
        node = next(n for n in nodes if _betting(arena.history(n)) == betting)
        rows = agent.hand_policy(state, player)[1]
        for number, hand in enumerate(arena.hand_cards(street, board).tolist()):
            expected = table.probabilities_at(node, board)[:, number]
            assert rows[hand_index(*hand)] == pytest.approx(expected, abs=1e-6)
            compared += 1
    assert compared > 100


def _betting(history):
    return "|".join(part.rpartition(":")[2] for part in history.split("|"))


def test_local_best_response_knows_the_range_of_an_average_of_networks():
    game = cp.load_game("limit_holdem")
    policy = random_networks(encode_game(game, "cards_up_to_suits"), 2)
    response = LocalBestResponse(game, policy)
    for state, player in random_decisions(game, 4, 6):
        reach = response.opponent_range(state, player)
        held = sorted(game.hole_cards(state, 1 - player))
        number = response.hands.tolist().index(held)
        expected = np.array(policy.weights)
        for before, action in game.decisions_before(state):
            if before.to_act == 1 - player:
                index = game.actions(before).index(action)
                expected = expected * [
                    member.action_probabilities(before, 1 - player)[index]
                    for member in policy._members
                ]
        assert reach[number] == pytest.approx(expected.sum() / 3.0, abs=1e-6)


def test_other_games_are_asked_hand_by_hand():
    leduc = cp.load_game("leduc_poker")
    limit = KeyObservedGame(cp.load_game("limit_holdem"))
    for game in (leduc, limit):
        assert hands_from_networks(random_networks(game)) is None
