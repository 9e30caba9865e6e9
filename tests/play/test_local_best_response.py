"""Local best response: values by hand, exact ranges, and never above the exact best response."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import counterplay as cp
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.play.agents import AgentLoader
from counterplay.play.local_best_response import (
    PUBLISHED_SETTINGS,
    LocalBestResponse,
    LocalResponseConfig,
)

SMALL_GAME = (
    "poker(blinds=(2,1),stacks=(12,12),opens=(1,0),raises=(),raise_caps=(2,2),sizes='1,a',ranks=4,"
    "suits=2,hole=1,board=(0,1))"
)
CONFIGS = {
    "fold_call": LocalResponseConfig(sizes=""),
    "from_the_start": LocalResponseConfig(sizes="1,a"),
    "from_the_second_round": LocalResponseConfig(sizes="1,a", first_street=1),
}


@cache
def small_game():
    game = cp.load_game(SMALL_GAME)
    return game, cp.build_tree(game)


def exact_value(game, response, agent, seat):
    """Return the exact value of the response in a seat, by walking the whole game."""

    def value(state):
        player = game.player(state)
        if player == TERMINAL:
            return game.utilities(state)[seat]
        if player == CHANCE:
            return sum(p * value(game.next_state(state, a)) for a, p in game.chance_outcomes(state))
        actor = response if player == seat else agent
        probabilities = actor.action_probabilities(state, player)
        pairs = zip(game.actions(state), probabilities, strict=True)
        return sum(p * value(game.next_state(state, a)) for a, p in pairs if p > 0.0)

    return value(game.initial_state())


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("agent_name", ["uniform", "cfr"])
def test_at_most_the_exact_best_response(name, agent_name):
    game, tree = small_game()
    policy = (
        cp.uniform_policy(tree)
        if agent_name == "uniform"
        else cp.solve(tree, "cfr", iterations=100).policy
    )
    best = cp.judge(tree, policy).best_values
    for seat in range(2):
        response = LocalBestResponse(game, policy, CONFIGS[name])
        value = exact_value(game, response, policy, seat)
        assert value <= best[seat] + 1e-9
        if agent_name == "uniform" and name == "from_the_start":  # it finds most of the mistakes
            assert value > cp.expected_values(tree, policy)[seat] + 0.5 * (
                best[seat] - cp.expected_values(tree, policy)[seat]
            )


def test_range_is_bayes_rule():
    game, tree = small_game()
    policy = cp.solve(tree, "cfr", iterations=100).policy
    state = game.initial_state()
    for action in (0, 7, 6, 1):  # 2c for player 0, 5d for player 1, which raises; a call
        state = game.next_state(state, action)
    state = game.next_state(state, 3)
    response = LocalBestResponse(game, policy)
    weights = response.opponent_range(state, 0)
    first = game.next_state(game.initial_state(), 0)
    for card in range(1, 8):
        opening = game.next_state(first, card)
        index = list(game.actions(opening)).index(6)
        assert weights[card] == pytest.approx(policy.action_probabilities(opening, 1)[index])


def test_values_on_the_river_by_hand():
    """The best hand against all hands wins the pot, and a bet wins more when it is called."""
    game = cp.load_game("no_limit_holdem(stack=1000,sizes='1,a')")
    agent = AgentLoader(game, rules_only=True).load_agents("uniform")[0]
    state = game.initial_state()
    for card in (48, 49, 0, 1):  # AcAd against 2c2d
        state = game.next_state(state, card)
    for actions in ((1, 1), (50, 51, 4), (1, 1), (9,), (1, 1), (14,)):  # AhAs3c 4d 5h
        for action in actions:
            state = game.next_state(state, action)
    response = LocalBestResponse(game, agent, PUBLISHED_SETTINGS["pot_from_turn"])
    values = response.action_values(state, 0)
    # only a straight flush beats four aces, and the board allows none
    assert values[1] == pytest.approx(200.0, abs=1.0)
    # one of four actions is to fold: 200 / 4 + 3 / 4 * (200 + 200)
    assert values[300] == pytest.approx(350.0, abs=2.0)
    assert response.action_probabilities(state, 0)[-1] == 1.0


def test_checks_and_calls_before_its_first_street():
    game = cp.load_game("no_limit_holdem(stack=1000,sizes='1,a')")
    agent = AgentLoader(game, rules_only=True).load_agents("uniform")[0]
    response = LocalBestResponse(game, agent, PUBLISHED_SETTINGS["fine_from_flop"])
    state = game.initial_state()
    for card in (48, 49, 0, 1):
        state = game.next_state(state, card)
    assert response.action_probabilities(state, 1) == [0.0, 1.0, 0.0, 0.0]
    with pytest.raises(cp.ConfigError, match="two players"):
        LocalBestResponse(cp.load_game("limit_holdem(players=3)"), agent)


def test_equities_equal_those_of_the_calculator():
    game = cp.load_game("no_limit_holdem")
    response = LocalBestResponse(game, None)
    live, equity = response._compute_equities((48, 45), (0, 5, 10))  # AcKd on 2c3d4h
    k = int(np.flatnonzero((response.hands[live] == (20, 21)).all(axis=1))[0])  # 7c7d
    expected = cp.holdem.compute_equity("AcKd", "7c7d", "2c3d4h").value
    assert equity[k] == pytest.approx(expected)


def test_an_agent_asked_for_all_hands_gives_the_same_range():
    """A twin of each agent that is asked hand by hand."""
    from tests.play.poker.class_buckets import game_with_buckets, random_policy, use_class_buckets

    class HandByHand:
        def __init__(self, policy):
            self.action_probabilities = policy.action_probabilities

    with pytest.MonkeyPatch.context() as patch:
        use_class_buckets(patch)
        policy = random_policy(game_with_buckets())
        game = policy.game.full_game
        state = game.initial_state()
        for card in range(4):
            state = game.next_state(state, card)
        for action in (300, 1):
            state = game.next_state(state, action)
        for card in range(4, 7):
            state = game.next_state(state, card)
        whole, single = (
            LocalBestResponse(game, agent, PUBLISHED_SETTINGS["fine_from_flop"])
            for agent in (policy, HandByHand(policy))
        )
        np.testing.assert_allclose(
            whole.opponent_range(state, 0), single.opponent_range(state, 0), atol=1e-12
        )
