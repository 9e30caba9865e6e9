"""Lower bounds stay below the truth; corrected matches keep their mean and lose their luck."""

from __future__ import annotations

from functools import partial
from random import Random

import numpy as np
import pytest

import counterplay as cp
from counterplay.play.bounds import LocalResponder
from counterplay.play.episodes import play_episode

GAMES = [
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "dark_hex(num_rows=2,num_cols=2)",
    "liars_dice(dice_sides=2)",
]


def as_policy(tree, policy, player, seed=0):
    """The whole local response as a policy of the tree; where it never comes, the policy itself."""
    game = tree.game
    responder = LocalResponder(game, policy, player, seed=seed)
    probabilities = policy.probabilities.copy()
    stack = [game.initial_state()]
    while stack:
        state = stack.pop()
        acting = game.player(state)
        if acting == cp.TERMINAL:
            continue
        actions = [a for a, _ in game.chance_outcomes(state)]
        if acting >= 0:
            odds = (responder if acting == player else policy).action_probabilities(state, acting)
            actions = [a for a, p in zip(game.actions(state), odds, strict=True) if p > 0.0]
            if acting == player:
                infoset = tree.find_infoset(game.infoset_key(state, player), player)
                probabilities[slice(*tree.offset[infoset : infoset + 2])] = odds
        stack += [game.next_state(state, action) for action in actions]
    return cp.Policy(tree, probabilities)


@pytest.mark.parametrize("spec", GAMES)
def test_local_responses_gain_but_not_more_than_best_ones(spec):
    tree = cp.build_tree(cp.load_game(spec))
    policy = cp.uniform_policy(tree)
    truth, gains = cp.judge(tree, policy), []
    for player in range(tree.num_players):
        value = cp.expected_values(tree, as_policy(tree, policy, player))[player]
        assert value <= truth.best_values[player] + 1e-12
        gains.append(value - truth.values[player])
    assert sum(gains) > 0.5 * truth.nash_conv  # tight enough to be of use
    bound = cp.local_best_response(tree.game, policy, num_episodes=100, confidence=0.999)
    assert bound.nash_conv.low <= sum(gains) + 1e-12
    assert bound.nash_conv.low <= truth.nash_conv
    assert len(bound.player_gains) == tree.num_players
    assert bound == cp.local_best_response(tree.game, policy, num_episodes=100, confidence=0.999)


def test_estimates_have_the_mean_of_the_very_response():
    tree = cp.build_tree(cp.load_game("kuhn_poker"))
    policy = cp.uniform_policy(tree)
    before = cp.expected_values(tree, policy)
    bound = cp.local_best_response(tree.game, policy, num_episodes=1000, seed=7)
    for player, gain in enumerate(bound.player_gains):
        response = as_policy(tree, policy, player, seed=7)
        truth = cp.expected_values(tree, response)[player] - before[player]
        assert abs(gain.mean - truth) <= 4.0 * gain.standard_error


def test_an_equilibrium_cannot_be_exploited():
    tree = cp.build_tree(cp.load_game("kuhn_poker"))
    policy = cp.algorithms.solve_sequence_form_lp(tree).policy
    bound = cp.local_best_response(tree.game, policy, num_episodes=200, confidence=0.999)
    assert bound.nash_conv.low <= 0.0


def test_few_states_are_kept_and_games_without_trees_are_bounded():
    game = cp.load_game("dark_hex")
    policy = cp.TabularPolicy(game)
    responder = LocalResponder(game, policy, 1, num_playouts=3, max_states=5)
    for number in range(3):
        play_episode(game, [policy, responder], 1, number)
    assert max(map(len, responder.beliefs.values())) <= 5 * 9 * 8
    with pytest.raises(cp.ConfigError, match="responds as player 1, not as player 0"):
        responder.action_probabilities(game.initial_state(), 0)


@pytest.mark.parametrize("name", ["num_episodes", "num_playouts", "max_states"])
def test_numbers_must_be_positive(name):
    game = cp.load_game("kuhn_poker")
    with pytest.raises(cp.ConfigError, match=f"{name} is 0, must be at least 1"):
        cp.local_best_response(game, cp.TabularPolicy(game), **{name: 0})


def test_corrections_keep_the_mean_and_take_the_luck_away():
    tree = cp.build_tree(cp.load_game("leduc_poker"))
    one, other = (
        cp.uniform_policy(tree),
        cp.solve(tree, cp.algorithms.CFRPlus(), iterations=50).policy,
    )
    truth = cp.head_to_head(tree, one, other).scores[0].mean
    game = tree.game
    correct = partial(
        cp.play.aivat_utilities, game, value_function=cp.play.value_function_from_policy(one)
    )
    plain = cp.head_to_head(game, one, other, max_episodes=300).scores[0]
    less = cp.head_to_head(game, one, other, max_episodes=300, correction=correct).scores[0]
    assert less.standard_error < 0.75 * plain.standard_error
    assert abs(less.mean - truth) < 5 * less.standard_error


def test_perfect_guesses_leave_no_luck():
    tree = cp.build_tree(cp.load_game("kuhn_poker"))
    policy = cp.random_policy(tree, seed=1)
    values = cp.play.value_function_from_policy(policy)
    truth = cp.expected_values(tree, policy)
    for number in range(20):
        episode = play_episode(tree.game, [policy, policy], 3, number)
        assert np.allclose(cp.play.aivat_utilities(tree.game, episode, values), truth, atol=1e-12)


def test_redealt_states_are_those_of_the_infoset():
    """Own cards, board and betting stay; the hidden cards are uniform over all others."""
    game, rng = cp.load_game("no_limit_holdem"), Random(0)
    state = game.initial_state()
    while len(state.cards) < 7 or game.player(state) == cp.CHANCE:
        is_chance = game.player(state) == cp.CHANCE
        outcomes = [card for card, _ in game.chance_outcomes(state)] if is_chance else []
        state = game.next_state(state, rng.choice(outcomes) if is_chance else 1)
    player, drawn, actions = game.player(state), set(), game.betting_actions(state)
    for _ in range(300):
        decisions, redealt = game.redeal(state, player, actions, rng)
        assert game.infoset_key(redealt, player) == game.infoset_key(state, player)
        assert redealt._replace(cards=()) == state._replace(cards=())
        assert len(set(redealt.cards)) == len(redealt.cards)
        drawn.update(set(redealt.cards) - set(state.cards))
        for before, action in zip(decisions, actions, strict=True):
            assert action in game.actions(before)
    assert len(drawn) == 52 - len(state.cards)


def test_local_response_takes_the_blinds_of_an_opponent_who_folds():
    game = cp.load_game("limit_holdem")

    class Folder:
        def action_probabilities(self, state, player):
            return [1.0] + [0.0] * (len(game.actions(state)) - 1)

    bound = cp.local_best_response(game, Folder(), num_episodes=4, num_playouts=4, max_states=4)
    assert bound.player_gains[1].mean == pytest.approx(15.0)  # raises, in place of folding
