"""Searchers on the rules of OpenSpiel, whose states never compare as equal."""

from __future__ import annotations

import random

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.rules import TabularPolicy
from counterplay.play.match import head_to_head

pytest.importorskip("pyspiel")


def random_state(game, rng, length):
    """Return a state after some random actions, or None if the game ended before."""
    state = game.initial_state()
    for _ in range(length):
        if game.player(state) < 0:
            return None
        state = game.next_state(state, rng.choice(game.actions(state)))
    return state if game.player(state) >= 0 else None


@pytest.mark.parametrize(("name", "length"), [("tic_tac_toe", 3), ("nim", 6), ("connect_four", 31)])
def test_values_of_positions_equal_openspiels_minimax(name, length):
    minimax = pytest.importorskip("open_spiel.python.algorithms.minimax")
    game, rng = cp.load_game(f"openspiel:{name}"), random.Random(2)
    states = [random_state(game, rng, length) for _ in range(60)]
    values = set()
    for state in filter(None, states):
        value, _ = minimax.alpha_beta_search(
            game.spiel_game, state=state, maximizing_player_id=0, maximum_depth=60
        )
        result = cp.search.AlphaBeta().search(game, state)
        assert (result.value, result.is_exact) == (value, True)
        assert cp.search.MCTS(max_simulations=20_000).search(game, state).value == value
        values.add(value)
    assert len(values) > 1


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four", "nim", "chess", "othello"])
def test_depth_limited_search_runs(name):
    game = cp.load_game(f"openspiel:{name}")
    result = cp.search.AlphaBeta(max_depth=2).search(game)
    assert result.action in game.actions(game.initial_state())
    assert not result.is_exact and result.depth == 2


def test_a_searcher_beats_uniform_play():
    game = cp.load_game("openspiel:tic_tac_toe")
    agent = cp.search.SearchAgent(game, cp.search.AlphaBeta(max_depth=3))
    match = head_to_head(game, agent, TabularPolicy(game), max_episodes=40)
    assert match.scores[0].mean > 0.5


@pytest.mark.parametrize("name", ["kuhn_poker", "goofspiel", "phantom_ttt"])
def test_hidden_information_is_refused(name):
    with pytest.raises(cp.errors.ConfigError, match="needs perfect information"):
        cp.search.AlphaBeta(max_depth=2).search(cp.load_game(f"openspiel:{name}"))


def test_chance_is_refused_by_alpha_beta():
    with pytest.raises(cp.errors.GameError, match="expectiminimax"):
        cp.search.AlphaBeta(max_depth=3).search(cp.load_game("openspiel:pig"))


def test_forced_moves_equal_openspiels_mcts():
    mcts = pytest.importorskip("open_spiel.python.algorithms.mcts")
    game, rng = cp.load_game("openspiel:tic_tac_toe"), random.Random(5)
    num_forced = 0
    while num_forced < 5:
        state = random_state(game, rng, 5)
        exact = state and cp.search.Minimax().search(game, state)
        if not exact or list(exact.action_values.values()).count(exact.value) > 1:
            continue
        num_forced += 1
        evaluator = mcts.RandomRolloutEvaluator(1, np.random.RandomState(0))
        bot = mcts.MCTSBot(game.spiel_game, 2, 300, evaluator, solve=True)
        action = cp.search.MCTS(max_simulations=2_000).search(game, state).action
        assert action == exact.action == bot.step(state)


CHESS_MATES = (  # in one, in one, in two, in one by black
    "6k1/5ppp/8/8/8/8/8/R3K3 w Q - 0 1",
    "7k/5K2/8/6Q1/8/8/8/8 w - - 0 1",
    "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1",
    "r3k3/8/8/8/8/8/5PPP/6K1 b q - 0 1",
)


def states_to_search(game, name, length):
    """Return chess problems, or states after random actions."""
    if name == "chess":
        return [game.spiel_game.new_initial_state(fen) for fen in CHESS_MATES]
    rng = random.Random(0)
    states = [random_state(game, rng, length) for _ in range(100)]
    return [state for state in states if state is not None]


@pytest.mark.parametrize(
    ("name", "length", "depth", "simulations"),
    [
        ("connect_four", 20, 4, 1000),
        ("breakthrough(rows=6,columns=5)", 24, 3, 1000),
        ("hex(board_size=4)", 6, 3, 1000),
        ("othello", 54, 6, 1000),
        ("chess", 0, 3, 2000),
    ],
)
def test_forced_wins_equal_openspiels_minimax_and_mcts(name, length, depth, simulations):
    """Values at a limited depth are equal, and all find the only winning action."""
    minimax = pytest.importorskip("open_spiel.python.algorithms.minimax")
    mcts = pytest.importorskip("open_spiel.python.algorithms.mcts")
    game = cp.load_game(f"openspiel:{name}")

    def reference_value(state, depth):
        if state.is_terminal():
            return state.returns()[0]
        return minimax.alpha_beta_search(
            game.spiel_game,
            state=state,
            value_function=lambda state: 0.0,
            maximum_depth=depth,
            maximizing_player_id=0,
        )[0]

    num_forced = 0
    for state in states_to_search(game, name, length):
        value, actions = reference_value(state, depth), game.actions(state)
        result = cp.search.AlphaBeta(max_depth=depth).search(game, state)
        assert result.value == value
        after = {action: game.next_state(state, action) for action in actions}
        best = [action for action in actions if reference_value(after[action], depth - 1) == value]
        assert result.action in best
        is_win = value > 0 if game.player(state) == 0 else value < 0
        if not is_win or len(best) > 1 or len(actions) == 1:
            continue
        num_forced += 1
        rng = np.random.RandomState(0)
        evaluator = mcts.RandomRolloutEvaluator(1, rng)
        bot = mcts.MCTSBot(game.spiel_game, 2, simulations, evaluator, solve=True, random_state=rng)
        # OpenSpiel's constant of 2 is for values in [-1, 1]
        searcher = cp.search.MCTS(max_simulations=simulations, exploration_constant=1.0)
        assert searcher.search(game, state).action == best[0] == bot.step(state)
        if num_forced == 3:
            return
    assert num_forced == 2, "too few positions have a single winning action"
