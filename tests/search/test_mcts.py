"""Monte Carlo tree search: proofs, chance, priors, evaluations, and OpenSpiel's beside it."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from pytest import approx

import counterplay as cp
from counterplay.core.game import TERMINAL
from tests.search.trees import Dice, NestedGame, random_nested_games

RANGE = {"min_utility": -3.0, "max_utility": 3.0}


@settings(max_examples=40)
@given(random_nested_games(chance=True))
def test_what_is_proven_is_true(game):
    """Bounds go up the tree until the root is proven: then it has the exact value and action."""
    exact = cp.search.Expectiminimax().search(game)
    found = cp.search.MCTS(max_simulations=20_000, **RANGE).search(game)
    assert found.is_exact
    assert found.value == approx(exact.value)
    assert exact.action_values[found.action] == approx(exact.value)


@given(random_nested_games())
def test_few_simulations_answer_too(game):
    exact = cp.search.Minimax().search(game)
    for simulations in (1, 3, 10):
        found = cp.search.MCTS(max_simulations=simulations, **RANGE).search(game)
        assert found.action in exact.action_values
        if found.is_exact:
            assert found.value == exact.value
            assert exact.action_values[found.action] == exact.value


@pytest.mark.parametrize("with_prior", [False, True])
def test_tic_tac_toe_is_drawn_in_self_play(with_prior):
    game, prior = cp.load_game("tic_tac_toe"), None
    if with_prior:

        def prior(game, state):
            return [1 / len(game.actions(state))] * len(game.actions(state))

    searcher = cp.search.MCTS(max_simulations=1500, prior=prior)
    state = game.initial_state()
    while game.player(state) != TERMINAL:
        state = game.next_state(state, searcher.search(game, state).action)
    assert game.utilities(state) == (0.0, 0.0)


def test_tic_tac_toe_is_proven_a_draw():
    """After a corner and the centre are taken, all that is left is proven."""
    game = cp.load_game("tic_tac_toe")
    state = game.next_state(game.next_state(game.initial_state(), 0), 4)
    found = cp.search.MCTS(max_simulations=30_000).search(game, state)
    assert (found.value, found.is_exact) == (0.0, True)
    assert cp.search.Minimax().search(game, state).value == 0.0


def sample_forced_states(count):
    """States of tic-tac-toe in which one action alone keeps the value, each met at random."""
    game, rng, found = cp.load_game("tic_tac_toe"), random.Random(1), []
    while len(found) < count:
        state = game.initial_state()
        for _ in range(rng.randrange(2, 6)):
            if game.player(state) != TERMINAL:
                state = game.next_state(state, rng.choice(game.actions(state)))
        if game.player(state) == TERMINAL:
            continue
        exact = cp.search.Minimax().search(game, state)
        best = [a for a, worth in exact.action_values.items() if worth == exact.value]
        if len(best) == 1 and len(exact.action_values) > 2:
            found.append((game, state, best[0], exact.value))
    return found


def test_finds_forced_actions_as_openspiel_does():
    mcts = pytest.importorskip("open_spiel.python.algorithms.mcts")
    pyspiel = pytest.importorskip("pyspiel")
    theirs = pyspiel.load_game("tic_tac_toe")
    for game, state, action, value in sample_forced_states(12):
        found = cp.search.MCTS(max_simulations=2000).search(game, state)
        assert found.action == action
        assert not found.is_exact or found.value == value
        other = theirs.new_initial_state()
        for cell in state.history:
            other.apply_action(int(cell))
        evaluator = mcts.RandomRolloutEvaluator(1, np.random.RandomState(0))
        bot = mcts.MCTSBot(
            theirs, 2, 500, evaluator, solve=True, random_state=np.random.RandomState(0)
        )
        assert bot.step(other) == action


def test_chance_is_drawn_by_its_odds():
    game = NestedGame((Dice((0.9, 0.1), ((-1, -1), (3, 3))), (0, 0)))
    found = cp.search.MCTS(max_simulations=300, **RANGE, evaluate=lambda game, state: 0.0).search(
        game
    )
    assert found.is_exact and found.value == 0.0 and found.action == 1
    first = NestedGame(Dice((0.5, 0.5), ((1,), (3,))))
    proven = cp.search.MCTS(max_simulations=100, **RANGE).search(first)
    assert (proven.action, proven.value, proven.is_exact) == (None, 2.0, True)


def test_same_seed_same_search():
    game = cp.load_game("connect_four")
    one, two, three = (cp.search.MCTS(max_simulations=300, seed=s).search(game) for s in (1, 1, 2))
    assert one == two
    assert one.visits != three.visits
    assert sum(one.visits.values()) == 300


def test_simulations_stay_within_the_budget():
    game = cp.load_game("connect_four")
    assert sum(cp.search.MCTS().search(game).visits.values()) == 1000
    assert (
        sum(cp.search.MCTS(max_simulations=10, max_seconds=60).search(game).visits.values()) == 10
    )


def test_a_prior_guides():
    game = cp.load_game("connect_four")

    def prior(game, state):
        return [0.94 if action == 5 else 0.01 for action in game.actions(state)]

    found = cp.search.MCTS(
        max_simulations=200, prior=prior, evaluate=lambda game, state: 0.0
    ).search(game)
    assert found.visits[5] > 150


def test_utilities_outside_of_the_range():
    with pytest.raises(cp.ConfigError, match="pays 19, outside of min_utility -1 to max_utility 1"):
        cp.search.MCTS().search(NestedGame((19, 19)))


# -- evaluations


def test_rollouts_estimate_uniform_play():
    game = cp.load_game("tic_tac_toe")
    mean = cp.search.rollout_evaluation(num_episodes=4000, seed=3)(game, game.initial_state())
    assert mean == approx(0.585 - 0.288, abs=0.05)  # x wins 58.5 %, o 28.8 % of random episodes

    def first(game, state, rng):
        return game.actions(state)[0]

    assert (
        cp.search.rollout_evaluation(first)(game, game.initial_state()) == 1.0
    )  # 0 2 4 6 wins for x
    dice = NestedGame(Dice((0.25, 0.75), (0, 4)))
    assert cp.search.rollout_evaluation(num_episodes=4000)(dice, ()) == approx(3.0, abs=0.15)
    with pytest.raises(cp.ConfigError, match="num_episodes is 0"):
        cp.search.rollout_evaluation(num_episodes=0)


def test_weighted_features():
    guess = cp.search.weighted_sum_evaluation(
        (2.0, lambda game, state: 3.0), (-1.0, lambda game, state: 0.5)
    )
    assert guess(None, None) == 5.5


def test_networks_look_at_observations():
    """A "network" that counts: the state is worth to its player the share of empty cells."""
    game = cp.load_game("tic_tac_toe")
    guess = cp.search.network_evaluation(lambda observation: sum(observation[:9]) / 9)
    state = game.initial_state()
    assert guess(game, state) == 1.0
    state = game.next_state(state, 4)
    assert guess(game, state) == approx(-8 / 9)  # player 1 acts: good for it, bad for player 0
    with pytest.raises(cp.GameError, match="has no observation"):
        guess(NestedGame((1, 2)), ())
    assert cp.search.AlphaBeta(max_depth=2, evaluate=guess).search(game).action in range(9)


def test_open_lines():
    game = cp.load_game("connect_four")
    state = game.initial_state()
    assert cp.search.open_lines_evaluation(game, state) == 0.0
    middle, edge = (
        cp.search.open_lines_evaluation(game, game.next_state(state, c)) for c in (3, 0)
    )
    assert middle == approx(7 * 4 / (69 * 256)) and edge == approx(3 * 4 / (69 * 256))
    assert cp.search.middle_first_order(game, state) == [3, 2, 4, 1, 5, 0, 6]
    for function in (cp.search.open_lines_evaluation, cp.search.middle_first_order):
        with pytest.raises(cp.ConfigError, match="about connect_four"):
            function(cp.load_game("tic_tac_toe"), None)
