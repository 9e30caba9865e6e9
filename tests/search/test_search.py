"""Minimax, expectiminimax and alpha-beta: the worked tree, published counts, random trees."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

import counterplay as cp
from counterplay.registry import SEARCHERS, get_spec, load_searcher
from counterplay.search.evaluation_functions import adapt_searcher
from tests.search.trees import Dice, NestedGame, random_nested_games

WORKED = ((3, 12, 8), (2, 4, 6), (19, 5, 2))
WIN_OR_LOSE = {"min_utility": -1.0, "max_utility": 1.0}
PLAIN = {"order_actions": False, "use_table": False, "iterative_deepening": False}
ALPHA_BETAS = [
    cp.search.AlphaBeta(**PLAIN),
    cp.search.AlphaBeta(),
    cp.search.AlphaBeta(use_table=False),
    cp.search.AlphaBeta(order_actions=False),
    cp.search.AlphaBeta(max_depth=20),
    cp.search.AlphaBeta(max_depth=20, iterative_deepening=False),
    cp.search.AlphaBeta(max_seconds=60),
]


def state_after(game, *actions):
    state = game.initial_state()
    for action in actions:
        state = game.next_state(state, action)
    return state


# -- the worked tree


def test_worked_tree():
    """The lecture's example: value 3 by the first action; alpha-beta does not visit 4 and 6."""
    for searcher in (cp.search.Minimax(), cp.search.Expectiminimax(), cp.search.AlphaBeta(**PLAIN)):
        result = searcher.search(NestedGame(WORKED))
        assert (result.action, result.value, result.is_exact) == (0, 3.0, True)
    game = NestedGame(WORKED)
    cp.search.AlphaBeta(**PLAIN).search(game)  # random walks come first, to look for secrets
    walks = len(game.visited) - 7
    assert game.visited[walks:] == [3, 12, 8, 2, 19, 5, 2]
    game.visited.clear()
    cp.search.Minimax().search(game)
    assert game.visited[walks:] == [3, 12, 8, 2, 4, 6, 19, 5, 2]


def test_a_bound_is_not_taken_for_a_value():
    """The second action is cut off with the bound 3; the first one is still the best."""
    result = cp.search.AlphaBeta(**PLAIN).search(NestedGame(((3, 5), (3, -9))))
    assert (result.action, result.value) == (0, 3.0)
    assert result.action_values == {0: 3.0, 1: 3.0}  # a bound: the value is -9


# -- tic-tac-toe


def test_published_counts_of_tic_tac_toe():
    game = cp.load_game("tic_tac_toe")
    assert cp.search.AlphaBeta(**PLAIN).search(game).num_nodes == 18_297
    assert cp.search.AlphaBeta(**PLAIN, **WIN_OR_LOSE).search(game).num_nodes == 16_811
    result = cp.search.Minimax().search(game)
    assert (result.value, result.num_nodes) == (0.0, 549_946)
    assert set(result.action_values.values()) == {0.0}


@pytest.mark.parametrize("searcher", ALPHA_BETAS, ids=get_spec)
def test_tic_tac_toe_is_a_draw(searcher):
    result = searcher.search(cp.load_game("tic_tac_toe"))
    assert (result.value, result.is_exact) == (0.0, True)


def test_the_table_and_the_order_save_work():
    game = cp.load_game("tic_tac_toe")
    nodes = [s.search(game).num_nodes for s in (ALPHA_BETAS[0], ALPHA_BETAS[2], ALPHA_BETAS[1])]
    assert nodes[0] > nodes[1] > nodes[2]


# -- random trees


@given(random_nested_games())
def test_all_searchers_agree(game):
    result = cp.search.Minimax().search(game)
    assert result.value == max(result.action_values.values())
    assert cp.search.Expectiminimax().search(game).action_values == result.action_values
    for searcher in ALPHA_BETAS:
        other = searcher.search(game)
        assert other.value == result.value
        assert other.is_exact
        assert result.action_values[other.action] == result.value
    plain = cp.search.AlphaBeta(**PLAIN).search(game)
    assert plain.action == result.action
    assert plain.num_nodes <= result.num_nodes


@given(random_nested_games(chance=True))
def test_expectiminimax_is_the_value_of_the_tree(game):
    """Against the exact equilibrium of the unrolled game, found by linear programming."""
    result = cp.search.Expectiminimax().search(game)
    assert result.value == approx(
        cp.algorithms.solve_sequence_form_lp(cp.build_tree(game)).value, abs=1e-7
    )
    assert result.is_exact


@given(random_nested_games(depth=5), st.integers(1, 4))
def test_depth_limited_searches_agree(game, depth):
    def guess(game, state):
        return (sum(state) * 7 + len(state)) % 5 - 2.0

    result = cp.search.Minimax(max_depth=depth, evaluate=guess).search(game)
    for deepening in (False, True):
        other = cp.search.AlphaBeta(
            max_depth=depth, evaluate=guess, iterative_deepening=deepening
        ).search(game)
        assert other.value == result.value
        assert result.action_values[other.action] == result.value
    assert (
        cp.search.Expectiminimax(max_depth=depth, evaluate=guess).search(game).value == result.value
    )


def test_without_a_guess_the_unknown_is_worth_nothing():
    game = NestedGame((((5,), (7,)), ((1,), (2,))))
    result = cp.search.Minimax(max_depth=2).search(game)
    assert (result.value, result.is_exact) == (0.0, False)
    assert cp.search.Minimax(max_depth=3).search(game).is_exact


def test_chance_first():
    game = NestedGame(Dice((0.25, 0.75), ((1, 2), (4, 8))))
    result = cp.search.Expectiminimax().search(game)
    assert (result.action, result.value) == (None, 6.5)


# -- connect four


@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (4, 5), (5, 4)])
def test_small_boards_are_drawn(rows, columns):
    """Tromp's table of solved boards."""
    game = cp.load_game("connect_four", rows=rows, columns=columns)
    result = cp.search.AlphaBeta(action_order=cp.search.middle_first_order, **WIN_OR_LOSE).search(
        game
    )
    assert (result.value, result.is_exact) == (0.0, True)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "columns", "value"), [(5, 5, 0.0), (4, 6, -1.0)])
def test_larger_boards(rows, columns, value):
    game = cp.load_game("connect_four", rows=rows, columns=columns)
    result = cp.search.AlphaBeta(action_order=cp.search.middle_first_order, **WIN_OR_LOSE).search(
        game
    )
    assert (result.value, result.is_exact) == (value, True)


def test_late_states_against_openspiel():
    """The value of random late states, by plain recursion over OpenSpiel's rules."""
    pyspiel = pytest.importorskip("pyspiel")

    def value(state):
        if state.is_terminal():
            return state.returns()[0]
        best = min if state.current_player() else max
        return best(value(state.child(action)) for action in state.legal_actions())

    game = cp.load_game("connect_four")
    theirs = pyspiel.load_game("connect_four")
    rng = random.Random(3)
    seen = set()
    while len(seen) < 25 or len({worth for worth, _ in seen}) < 3:
        ours, other = game.initial_state(), theirs.new_initial_state()
        while not other.is_terminal() and len(ours.history) < 35:
            action = rng.choice(other.legal_actions())
            ours, other = game.next_state(ours, action), other.child(action)
        if not other.is_terminal():
            result = cp.search.AlphaBeta().search(game, ours)
            assert result.value == value(other)
            assert result.value == cp.search.Minimax().search(game, ours).value
            seen.add((result.value, ours.history))


def test_eight_plies_ahead_on_the_full_board():
    game = cp.load_game("connect_four")
    deep = cp.search.AlphaBeta(max_depth=8, evaluate=cp.search.open_lines_evaluation).search(game)
    plain = cp.search.AlphaBeta(
        max_depth=8, evaluate=cp.search.open_lines_evaluation, use_table=False
    ).search(game)
    assert deep.value == approx(plain.value)
    assert deep.depth == 8 and not deep.is_exact
    assert deep.num_nodes < 60_000  # a full search: 6.7 million


def test_takes_the_win_and_stops_the_loss():
    game = cp.load_game("connect_four")
    for searcher in (
        cp.search.AlphaBeta(max_depth=4),
        cp.search.Minimax(max_depth=2),
        cp.search.MCTS(max_simulations=500),
    ):
        assert searcher.search(game, state_after(game, 0, 6, 1, 6, 2, 5)).action == 3
        assert searcher.search(game, state_after(game, 0, 3, 0, 3, 6, 3)).action == 3


def test_wins_quickly_and_loses_slowly():
    """Player 0 loses at once by action 0 and later by action 1; player 1 wins the other way."""
    slow, quick = ((((-1,),),),), (-1,)
    searcher = cp.search.AlphaBeta(max_depth=9, min_utility=-1, max_utility=1)
    result = searcher.search(NestedGame((quick, slow)))
    assert (result.action, result.value) == (1, -1.0)
    result = searcher.search(NestedGame(((slow, quick),)), (0,))
    assert (result.action, result.value, result.depth) == (1, -1.0, 2)


@pytest.mark.parametrize("green", [(2, 4, 5, 6, 8), (1, 3, 5, 7, 9), (1, 2, 3), (2, 4, 6, 8)])
def test_grid_duel(green):
    game = cp.load_game("grid_duel", green=green)
    wanted = 1.0 if green in ((2, 4, 5, 6, 8), (1, 2, 3)) else -1.0
    for searcher in (
        cp.search.Minimax(),
        cp.search.AlphaBeta(),
        cp.search.MCTS(max_simulations=2000),
    ):
        result = searcher.search(game)
        assert (result.value, result.is_exact) == (wanted, True)


# -- time, settings, refusals


def test_a_time_limit_still_answers():
    game = cp.load_game("connect_four")
    for seconds in (1e-9, 0.05):
        result = cp.search.AlphaBeta(
            max_seconds=seconds, evaluate=cp.search.open_lines_evaluation
        ).search(game)
        assert result.depth >= 1 and result.action in range(7)
        assert cp.search.MCTS(max_seconds=seconds).search(game).action in range(7)


@dataclass(frozen=True)
class LongWalk:
    """One action, 1,200 times."""

    num_players = 2

    def initial_state(self):
        return 0

    def player(self, state):
        return state % 2 if state < 1200 else cp.TERMINAL

    def actions(self, state):
        return (0,)

    def next_state(self, state, action):
        return state + 1

    def utilities(self, state):
        return 1.0, -1.0

    def infoset_key(self, state, player):
        return str(state)


@pytest.mark.parametrize("name", ["minimax", "expectiminimax", "alpha_beta"])
def test_too_long_a_game_is_refused(name):
    with pytest.raises(cp.GameError, match=r"LongWalk goes on for too long.*give max_depth"):
        load_searcher(name).search(LongWalk())
    assert load_searcher(f"{name}(max_depth=3)").search(LongWalk()).value == 0.0


@pytest.mark.parametrize("name", SEARCHERS)
def test_refuses_what_it_cannot_search(name):
    searcher = load_searcher(name)
    with pytest.raises(cp.ConfigError, match="kuhn_poker hides some from player"):
        searcher.search(cp.load_game("kuhn_poker"))
    with pytest.raises(cp.ConfigError, match="rock_paper_scissors hides some from player 1"):
        searcher.search(cp.load_game("rock_paper_scissors"))
    with pytest.raises(cp.ConfigError, match="search needs two players"):
        searcher.search(NestedGame(WORKED, num_players=3))
    game = cp.load_game("tic_tac_toe")
    with pytest.raises(cp.ConfigError, match="nothing to search"):
        searcher.search(game, state_after(game, 0, 3, 1, 4, 2))
    general = NestedGame(WORKED)
    general.utilities = lambda state: (NestedGame.utilities(general, state)[0],) * 2
    with pytest.raises(cp.GameError, match="needs a zero-sum game"):
        searcher.search(general)


@pytest.mark.parametrize("name", ["minimax", "alpha_beta"])
def test_refuses_chance(name):
    dice = Dice((0.5, 0.5), (1, 2))
    for game in (NestedGame((dice, 3)), NestedGame(dice)):
        with pytest.raises(cp.GameError, match=r"takes no chance.*use expectiminimax"):
            load_searcher(name).search(game)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("minimax(max_depth=-1)", "max_depth is -1, must be at least 0"),
        ("alpha_beta(max_seconds=-1)", "max_seconds is -1"),
        ("alpha_beta(min_utility=2, max_utility=1)", "max_utility is 1"),
        ("alpha_beta(evaluate=best)", "evaluate is best, must be a function"),
        ("alpha_beta(dept=3)", "no parameter 'dept'; did you mean 'max_depth'"),
        ("mcts(max_simulations=-5)", "max_simulations is -5"),
        ("mcts(min_utility=1)", "min_utility is 1 .*must be finite and grow"),
        ("mtcs", "unknown searcher 'mtcs'; did you mean 'mcts'.*known: alpha_beta"),
    ],
)
def test_bad_settings(spec, message):
    with pytest.raises(cp.ConfigError, match=message):
        load_searcher(spec)


def test_rules_that_cannot_be_hashed_are_fine():
    assert NestedGame.__hash__ is None
    assert cp.search.Minimax().search(NestedGame((1, 2))).action == 1


def test_alpha_beta_is_told_what_is_known_of_a_game():
    four, three = cp.load_game("connect_four(rows=4)"), cp.load_game("tic_tac_toe")
    told = adapt_searcher(four, cp.search.AlphaBeta(max_depth=3))
    assert told == cp.search.AlphaBeta(
        3, 0.0, cp.search.open_lines_evaluation, cp.search.middle_first_order, -1.0, 1.0
    )
    own = cp.search.AlphaBeta(evaluate=cp.search.rollout_evaluation(), max_utility=2.0)
    assert adapt_searcher(four, own).evaluate is own.evaluate
    assert adapt_searcher(four, own).max_utility == 2.0
    assert adapt_searcher(three, cp.search.AlphaBeta()) == cp.search.AlphaBeta(
        min_utility=-1.0, max_utility=1.0
    )
    assert adapt_searcher(cp.load_game("grid_duel"), cp.search.AlphaBeta()) == cp.search.AlphaBeta()
    assert adapt_searcher(four, cp.search.MCTS()) == cp.search.MCTS()
