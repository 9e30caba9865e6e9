"""Our games and policies inside OpenSpiel: its tests, its algorithms, its judgement."""

from __future__ import annotations

import pytest

import counterplay as cp
from counterplay.interop.gambit import game_from_efg
from tests.conftest import game_tree
from tests.random_games import RandomGame

pyspiel = pytest.importorskip("pyspiel")
cfr = pytest.importorskip("open_spiel.python.algorithms.cfr")
exploitability = pytest.importorskip("open_spiel.python.algorithms.exploitability")

GAMES = [
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "goofspiel(num_cards=3)",
    "liars_dice(dice_sides=2)",
    "battle_of_the_sexes",
    "rock_paper_scissors",
    "grid_duel",
    "king_ace_poker",
]


@pytest.mark.parametrize("spec", GAMES)
def test_openspiels_own_tests_and_judgement(spec):
    tree = game_tree(spec)
    game = cp.interop.to_openspiel(tree)
    pyspiel.random_sim_test(game, num_sims=5, serialize=False, verbose=False)
    policy = cp.random_policy(tree, seed=1)
    value = pytest.approx(cp.nash_conv(tree, policy), abs=1e-9)
    assert pyspiel.nash_conv(game, cp.interop.to_pyspiel_policy(policy)) == value
    assert exploitability.nash_conv(game, cp.interop.to_python_policy(policy)) == value
    state = game.new_initial_state()
    values = pyspiel.expected_returns(state, cp.interop.to_pyspiel_policy(policy), -1, True)
    assert values == pytest.approx(cp.expected_values(tree, policy).tolist(), abs=1e-9)


@pytest.mark.parametrize("spec", ["kuhn_poker", "openspiel:kuhn_poker", "openspiel:matrix_bos"])
def test_policies_both_ways(spec):
    tree = game_tree(spec)
    policy = cp.random_policy(tree, seed=2)
    for theirs in (
        cp.interop.to_pyspiel_policy(policy),
        cp.interop.to_pyspiel_policy(policy).policy_table(),
        cp.interop.to_python_policy(policy),
        cp.interop.to_python_policy(policy).to_tabular()
        if "matrix" not in spec
        else policy_dict(policy),
    ):
        again = cp.interop.from_openspiel_policy(tree, theirs)
        assert again.probabilities == pytest.approx(policy.probabilities, abs=1e-12)


def policy_dict(policy):
    return cp.interop.to_pyspiel_policy(policy, turn_based=True).policy_table()


@pytest.mark.parametrize(
    "spec", ["kuhn_poker", "openspiel:kuhn_poker", "openspiel:goofspiel(num_cards=3,imp_info=True)"]
)
@pytest.mark.parametrize("library", [pyspiel, cfr], ids=["C++", "Python"])
def test_their_solver_our_judgement(spec, library):
    tree = game_tree(spec)
    game = cp.interop.to_openspiel(tree)
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
    solver = library.CFRPlusSolver(game)
    for _ in range(20):
        solver.evaluate_and_update_policy()
    average = solver.average_policy()
    judge = pyspiel if library is pyspiel else exploitability
    ours = cp.interop.from_openspiel_policy(tree, average)
    assert cp.nash_conv(tree, ours) == pytest.approx(judge.nash_conv(game, average), abs=1e-9)


def test_python_policy_at_simultaneous_and_observed_states():
    tree = game_tree("openspiel:deep_sea(size=3)")
    policy = cp.random_policy(tree)
    theirs = cp.interop.to_python_policy(policy)
    state = theirs.game.new_initial_state()
    state.apply_action(1)
    odds = theirs.action_probabilities(state)
    infoset = int(tree.infoset[tree.child_offset[0] + 1])
    assert list(odds.values()) == list(policy.probabilities_at(infoset).values())
    with pytest.raises(cp.ConfigError, match="has no information states; use to_python_policy"):
        cp.interop.to_pyspiel_policy(policy)


def test_tensors_come_along():
    game = cp.interop.to_openspiel(game_tree("kuhn_poker"))
    state = game.new_initial_state()
    for action in (2, 0):
        state.apply_action(action)
    assert state.information_state_string() == "p0 2"
    rules = cp.load_game("kuhn_poker")
    ours = rules.next_state(rules.next_state(rules.initial_state(), 2), 0)
    assert state.information_state_tensor(0) == list(rules.observation(ours, 0))
    assert state.clone().information_state_string(1) == "p1 0"


def test_files_and_games_of_ones_own():
    text = 'EFG 2 R "coin" { "a" } c "" 1 "" { "x" 1/3 "y" 2/3 } 0 t "" 1 "" { 3 } t "" 0'
    game = cp.interop.to_openspiel(game_from_efg(text), name="counterplay_coin")
    values = pyspiel.expected_returns(
        game.new_initial_state(), pyspiel.UniformRandomPolicy(game), -1, True
    )
    assert values == [1.0]
    ours = RandomGame(seed=5, num_players=3, zero_sum=False)
    theirs = cp.interop.to_openspiel(ours, name="counterplay_random")
    tree = cp.build_tree(ours)
    uniform = pyspiel.UniformRandomPolicy(theirs)
    assert pyspiel.nash_conv(theirs, uniform) == pytest.approx(
        cp.nash_conv(tree, cp.uniform_policy(tree)), abs=1e-9
    )
    assert cp.interop.to_openspiel(ours, name="counterplay_random") is not None  # again is fine
    with pytest.raises(cp.ConfigError, match="has a game 'counterplay_random' already"):
        cp.interop.to_openspiel(RandomGame(seed=6), name="counterplay_random")


def test_a_game_from_openspiel_goes_back_as_it_is():
    tree = game_tree("openspiel:kuhn_poker")
    assert cp.interop.to_openspiel(tree) is tree.game.spiel_game


def test_policies_that_do_not_fit():
    tree = game_tree("kuhn_poker")
    with pytest.raises(cp.ConfigError, match="has no entry for '0'"):
        cp.interop.from_openspiel_policy(tree, {})
    table = cp.interop.to_pyspiel_policy(cp.uniform_policy(tree)).policy_table()
    table["p0 0"] = [(0, 0.5)]
    with pytest.raises(cp.ConfigError, match=r"at '0' sum to 0\.5, not to 1"):
        cp.interop.from_openspiel_policy(tree, table)
