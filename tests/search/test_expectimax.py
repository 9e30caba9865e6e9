"""Expectimax on Markov decision problems, against value iteration and trees; step rewards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.core.game import CHANCE, TERMINAL
from tests.search.trees import Dice, NestedGame


@dataclass(frozen=True)
class RandomProblem:
    """A random Markov decision problem of three states, two actions and `horizon` steps.

    A state is (step, place, action), the action -1 until it is chosen; then chance moves.
    """

    seed: int = 0
    horizon: int = 4
    num_players: int = 1

    @property
    def tables(self):
        rng = np.random.default_rng(self.seed)
        return rng.dirichlet(np.ones(3), (3, 2)), rng.normal(size=(3, 2)), rng.normal(size=3)

    def initial_state(self):
        return (0, 0, -1)

    def player(self, state):
        step, _, action = state
        if step == self.horizon:
            return TERMINAL
        return 0 if action < 0 else CHANCE

    def actions(self, state):
        return (0, 1)

    def chance_outcomes(self, state):
        _, place, action = state
        return [(k, float(p)) for k, p in enumerate(self.tables[0][place, action])]

    def next_state(self, state, action):
        step, place, chosen = state
        return (step, place, action) if chosen < 0 else (step + 1, action, -1)

    def step_rewards(self, state, action):
        _, place, chosen = state
        return (float(self.tables[1][place, action]) if chosen < 0 else 0.0,)

    def utilities(self, state):
        return (float(self.tables[2][state[1]]),)

    def infoset_key(self, state, player):
        return str(state[:2])

    def action_name(self, state, action):
        return str(action)


def value_iteration(problem):
    """Return the values [H + 1, 3] of all places at all steps, backwards."""
    transition, reward, last = problem.tables
    values = [last]
    for _ in range(problem.horizon):
        values.append((reward + transition @ values[-1]).max(axis=1))
    return values[::-1]


@pytest.mark.parametrize("seed", range(6))
def test_values_are_those_of_value_iteration(seed):
    problem = RandomProblem(seed)
    result = cp.search.Expectimax().search(problem)
    values = value_iteration(problem)
    assert result.value == approx(values[0][0]) and result.is_exact
    assert max(result.action_values.values()) == approx(result.value)
    assert result.action_values[result.action] == result.value
    deeper = cp.search.Expectimax().search(problem, (2, 1, -1))
    assert deeper.value == approx(values[2][1])
    assert result.num_nodes <= 1 + 3 * 3 * problem.horizon + 3  # equal states are searched once


def test_expectations_before_a_chance_node_have_no_action():
    result = cp.search.Expectimax().search(RandomProblem(1), (0, 2, 1))
    transition, _, _ = RandomProblem(1).tables
    assert result.action is None
    assert result.value == approx(transition[2, 1] @ value_iteration(RandomProblem(1))[1])


def test_depth_limits_use_the_evaluation():
    problem = RandomProblem(2)
    values = value_iteration(problem)
    searcher = cp.search.Expectimax(
        max_depth=4, evaluate=lambda game, state: float(values[state[0]][state[1]])
    )
    result = searcher.search(problem)  # two steps of the player and two of chance
    assert result.value == approx(values[0][0]) and not result.is_exact


def test_accumulated_rewards_give_the_same_value_on_a_tree():
    """The optimal policy of the converted game is a best response of its only player."""
    problem = RandomProblem(3, horizon=3)
    tree = cp.build_tree(cp.search.AccumulatedRewards(problem))
    best = cp.best_response(tree, cp.uniform_policy(tree), 0)
    assert best.value == approx(cp.search.Expectimax().search(problem).value)


def test_games_with_rewards_are_refused_where_they_would_be_lost():
    with pytest.raises(cp.GameError, match=r"pays rewards on the way: write cp.search.Accumulated"):
        cp.build_tree(RandomProblem())
    with pytest.raises(cp.GameError, match="pays rewards on the way"):
        cp.RulesArena(RandomProblem())
    game = PaidGame(((3, 12, 8), (2, 4, 6), (19, 5, 2)))
    for searcher in (cp.search.AlphaBeta(), cp.search.MCTS()):
        with pytest.raises(cp.ConfigError, match="takes no rewards on the way"):
            searcher.search(game)


def test_more_players_are_refused():
    with pytest.raises(cp.ConfigError, match="expectimax needs one player"):
        cp.search.Expectimax().search(cp.load_game("tic_tac_toe"))


class PaidGame(NestedGame):
    """Player 0 pays 4 for its first action; player 1 pays 5 for its last."""

    def step_rewards(self, state, action):
        rewards = (-4.0, 4.0), (0.0, 0.0), (0.0, 0.0)
        if len(state) == 0:
            return rewards[min(action, 2)]
        return (5.0, -5.0) if action == 2 else (0.0, 0.0)


def plain_minimax(game, state=()):
    """Return max over a of (R(s, a) + min over a' of (R(s', a') + ...)), by recursion."""
    player = game.player(state)
    if player == TERMINAL:
        return game.utilities(state)[0]
    values = [
        game.step_rewards(state, a)[0] + plain_minimax(game, game.next_state(state, a))
        for a in game.actions(state)
    ]
    if player == CHANCE:
        return sum(p * v for (_, p), v in zip(game.chance_outcomes(state), values, strict=True))
    return min(values) if player else max(values)


def test_minimax_adds_rewards_on_the_way():
    game = PaidGame(((3, 12, 8), (2, 4, 6), (19, 5, 2)))
    for searcher in (cp.search.Minimax(), cp.search.Expectiminimax()):
        result = searcher.search(game)
        assert result.value == plain_minimax(game) == 5.0
        assert result.action_values == {0: -1.0, 1: 2.0, 2: 5.0}
    dice = PaidGame((Dice((0.5, 0.5), (1, 3)), 2))
    assert cp.search.Expectiminimax().search(dice).value == 2.0
