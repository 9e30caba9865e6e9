"""OpenSpiel's games as ours: the same tree, values and exploitability, counted and judged twice."""

from __future__ import annotations

import re
from dataclasses import fields

import numpy as np
import pytest

import counterplay as cp
from counterplay.core.game import ObservedGame
from counterplay.interop.openspiel_policy import to_pyspiel_policy
from counterplay.registry import get_spec
from tests.conftest import game_tree, main_policy

pyspiel = pytest.importorskip("pyspiel")

SEQUENTIAL = [
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "leduc_poker",
    "leduc_poker(suit_isomorphism=True)",
    "liars_dice(dice_sides=3)",
    "tiny_hanabi",
    "first_sealed_auction(max_value=4)",
    "lewis_signaling",
    "coordinated_mp",
    "dark_hex(board_size=2)",
    "dark_hex(board_size=2,gameversion=adh)",
    "sheriff(max_items=2,max_bribe=2,num_rounds=1)",
    "trade_comm(num_items=2)",
    "python_kuhn_poker",
    "mnk(m=2,n=2,k=2)",
    "nim(pile_sizes=1;2;3)",
]
SIMULTANEOUS = [
    "matrix_rps",
    "matrix_pd",
    "matching_pennies_3p",
    "blotto(coins=5,fields=2)",
    "goofspiel(num_cards=3,imp_info=True)",
    "goofspiel(num_cards=4,points_order=descending,imp_info=True,players=2)",
    "goofspiel(num_cards=3,players=3,imp_info=True)",
    "oshi_zumo(coins=3,size=1,horizon=3)",
]


def count(state) -> tuple[int, int, set[tuple[int, str]]]:
    """Nodes, terminals and infosets by a walk of OpenSpiel's own states."""
    nodes, terminals, infosets, stack = 0, 0, set(), [state]
    while stack:
        state = stack.pop()
        nodes += 1
        if state.is_terminal():
            terminals += 1
            continue
        if not state.is_chance_node():
            infosets.add((state.current_player(), state.information_state_string()))
        stack += [state.child(action) for action in state.legal_actions()]
    return nodes, terminals, infosets


@pytest.mark.parametrize("name", SEQUENTIAL + SIMULTANEOUS)
def test_same_game(name):
    tree = game_tree(f"openspiel:{name}")
    game = tree.game.spiel_game
    simultaneous = game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
    assert simultaneous == (name in SIMULTANEOUS)
    theirs = pyspiel.convert_to_turn_based(game) if simultaneous else game
    nodes, terminals, infosets = count(theirs.new_initial_state())
    assert (tree.num_nodes, tree.num_terminals, tree.num_infosets) == (
        *(nodes, terminals),
        len(infosets),
    )
    for seed in range(2):
        policy = cp.random_policy(tree, seed)
        table = to_pyspiel_policy(policy, turn_based=simultaneous)
        values = pyspiel.expected_returns(theirs.new_initial_state(), table, -1, True)
        assert cp.expected_values(tree, policy) == pytest.approx(values, abs=1e-9)
        assert cp.nash_conv(tree, policy) == pytest.approx(
            pyspiel.nash_conv(theirs, table), abs=1e-9
        )


def test_spec_and_parameters():
    game = cp.load_game("openspiel:leduc_poker(players=3)")
    assert get_spec(game) == "openspiel:leduc_poker(players=3)"
    assert cp.load_game("openspiel:leduc_poker", players=3) == game
    assert hash(game) != hash(cp.load_game("openspiel:leduc_poker"))
    assert cp.load_game("openspiel:repeated_game(stage_game=matrix_pd(),num_repetitions=2)")


def test_solving_openspiels_game_equals_solving_ours():
    tree = game_tree("openspiel:kuhn_poker")
    result = cp.solve(tree, cp.algorithms.CFRPlus(), iterations=1000)
    ours = cp.solve(game_tree("kuhn_poker"), cp.algorithms.CFRPlus(), iterations=1000)
    assert np.array_equal(result.policy.probabilities, ours.policy.probabilities)


def test_a_player_without_a_choice_is_passed_over():
    """In oshi_zumo who has no coins left cannot bid: OpenSpiel gives it no legal action."""
    tree = game_tree("openspiel:oshi_zumo(coins=2,size=1,min_bid=1,horizon=5)")
    theirs = pyspiel.convert_to_turn_based(tree.game.spiel_game)
    nodes, terminals, _ = count(theirs.new_initial_state())
    assert (tree.num_nodes, tree.num_terminals) == (nodes, terminals)


def test_perfect_information_without_strings_is_known_by_its_history():
    tree = game_tree("openspiel:breakthrough(rows=3,columns=2)")
    assert tree.num_infosets == (tree.player >= 0).sum()
    assert tree.has_perfect_recall
    assert cp.solve(tree, cp.algorithms.CFRPlus(), iterations=200).exploitability < 1e-2


def test_observations_make_infosets_where_there_are_no_information_states():
    """In deep_sea the diver sees where it is; with recall it knows its whole way."""
    tree = game_tree("openspiel:deep_sea(size=3)")
    assert tree.has_perfect_recall
    assert tree.num_infosets == 1 + 2 + 4
    assert cp.best_response(tree, cp.uniform_policy(tree), 0).value == pytest.approx(0.99)


def test_observations_are_openspiels_tensors():
    for name in ("leduc_poker", "goofspiel(num_cards=3)", "tic_tac_toe"):
        game = cp.load_game(f"openspiel:{name}")
        assert isinstance(game, ObservedGame)
        state = game.initial_state()
        spiel = getattr(state, "spiel_state", state)
        read = spiel.observation_tensor if name == "tic_tac_toe" else spiel.information_state_tensor
        assert list(game.observation(state, 1)) == read(1)
    assert not isinstance(cp.load_game("openspiel:coordinated_mp"), ObservedGame)


def test_observations_of_simultaneous_moves_tell_how_many_are_over():
    """After two bids of zero the board of oshi_zumo is as before; one round of three is over."""
    game = cp.load_game("openspiel:oshi_zumo(coins=3,size=1,horizon=3)")
    first = game.initial_state()
    hidden = game.next_state(first, 0)
    second = game.next_state(hidden, 0)
    *board, time = game.observation(first, 0)
    assert time == 0.0
    assert game.observation(hidden, 1) == game.observation(first, 1)
    assert game.observation(second, 0) == [*board, pytest.approx(1 / 3)]


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_networks_see_what_they_see_in_our_own_game(name):
    graph = pytest.importorskip("counterplay.algorithms.deep.common.graph")
    ours, theirs = (
        graph.host_graph_from_tree(game_tree(name)),
        graph.host_graph_from_tree(game_tree(f"openspiel:{name}")),
    )
    for field in fields(ours):
        mine, other = getattr(ours, field.name), getattr(theirs, field.name)
        assert np.array_equal(mine, other), field.name


@pytest.mark.slow
def test_deep_algorithms_run_unchanged():
    """Same tree, same observations, same seed: the same numbers as on our own Kuhn poker."""
    pytest.importorskip("jax")
    algorithm = cp.algorithms.DeepHedge()
    policies = []
    for spec in ("kuhn_poker", "openspiel:kuhn_poker"):
        tree = game_tree(spec)
        memory = algorithm.step(tree, algorithm.init(tree, seed=0), 2)
        policies.append(main_policy(algorithm, tree, memory).probabilities)
    assert np.array_equal(*policies)


def test_check_game_finds_no_fault():
    for name in ("kuhn_poker", "goofspiel(num_cards=3,imp_info=True)", "matrix_rps"):
        report = cp.check_game(cp.load_game(f"openspiel:{name}"))
        assert report.is_zero_sum and report.has_perfect_recall


REFUSED = [
    ("mfg_garnet", "cannot be unrolled: it is a mean-field game"),
    ("negotiation", "cannot be unrolled: it samples chance itself"),
    ("stones_and_gems", "samples chance itself"),
]


@pytest.mark.parametrize(("name", "reason"), REFUSED)
def test_refused_with_the_reason(name, reason):
    with pytest.raises(cp.GameError, match=reason):
        cp.load_game(f"openspiel:{name}")


def test_too_large():
    game = cp.load_game("openspiel:pig")
    with pytest.raises(cp.RunError, match=r"openspiel:pig has about [\d.]+e\+\d+ nodes"):
        cp.build_tree(game)


BAD = [
    ("openspiel:leduc_pokr", "OpenSpiel has no game 'leduc_pokr'; did you mean 'leduc_poker'?"),
    ("openspiel:", "OpenSpiel has no game ''"),
    ("openspiel:leduc_poker(player=3)", "no parameter 'player'; did you mean 'players'?"),
    ("openspiel:leduc_poker(players=99)", "OpenSpiel cannot load 'leduc_poker(players=99)'"),
    ("openspiel:leduc_poker(players=", "Missing closing bracket"),
]


@pytest.mark.parametrize(("spec", "message"), BAD)
def test_bad_specs(spec, message):
    with pytest.raises(cp.ConfigError, match=re.escape(message)):
        cp.load_game(spec)


def test_without_openspiel(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyspiel", None)
    with pytest.raises(cp.ConfigError, match=r"pip install 'counterplay\[openspiel\]'"):
        cp.load_game("openspiel:kuhn_poker")
