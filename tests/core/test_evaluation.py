"""Exact judgement against brute force on random games and against OpenSpiel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

import counterplay as cp
from tests import reference
from tests.conftest import game_tree
from tests.random_games import random_games


@given(random_games(), st.integers(0, 100))
def test_values_and_best_responses_by_brute_force(game, seed):
    tree = cp.build_tree(game)
    policy = cp.random_policy(tree, seed)
    plain = reference.as_dict(policy)
    values = reference.values(game, plain)
    assert cp.expected_values(tree, policy) == approx(values, abs=1e-12)
    gains = 0.0
    for player in range(game.num_players):
        counts = np.diff(tree.offset)[tree.infoset_player == player]
        if np.prod(counts, dtype=float) > 300:
            return  # too many pure policies to try them all
        best = reference.best_value(game, plain, player)
        response = cp.best_response(tree, policy, player)
        assert response.value == approx(best, abs=1e-12)
        assert cp.expected_values(tree, response.policy)[player] == approx(best, abs=1e-12)
        gains += best - values[player]
    assert cp.nash_conv(tree, policy) == approx(gains, abs=1e-12)
    assert cp.exploitability(tree, policy) == approx(gains / game.num_players, abs=1e-12)


def add_reaches(game, policy, state, reach, own, others):
    """Add the reach of every history to its infoset; `reach` has each player's, and chance's."""
    player = game.player(state)
    if player == cp.TERMINAL:
        return
    if player == cp.CHANCE:
        actions, probabilities = zip(*game.chance_outcomes(state), strict=True)
    else:
        key = player, game.infoset_key(state, player)
        own[key] = reach[player]  # the same for all histories of the infoset: perfect recall
        others[key] = others.get(key, 0.0) + np.prod(np.delete(reach, player))
        actions, probabilities = game.actions(state), policy[key]
    for action, probability in zip(actions, probabilities, strict=True):
        after = reach.copy()
        after[player] *= probability  # chance, -1, is the last entry
        add_reaches(game, policy, game.next_state(state, action), after, own, others)


@given(random_games(), st.integers(0, 100))
def test_infoset_values(game, seed):
    """The node sweep agrees with textbook CFR, with plain recursion and with the sequence form."""
    tree = cp.build_tree(game)
    policy = cp.random_policy(tree, seed)
    twin = reference.CFR(game, False, lambda t: (1.0, 1.0, 0.0), lambda t: 1.0)
    twin.policy = {key: np.array(row) for key, row in reference.as_dict(policy).items()}
    twin.iterate()
    got = cp.infoset_values(tree, policy)
    own, others = {}, {}
    start = np.ones(game.num_players + 1)
    add_reaches(game, reference.as_dict(policy), game.initial_state(), start, own, others)
    for infoset, key in enumerate(tree.infoset_keys):
        first, last = tree.offset[infoset : infoset + 2]
        where = (int(tree.infoset_player[infoset]), key)
        assert got.regret[first:last] == approx(twin.regret[where], abs=1e-12)
        mean = policy.probabilities[first:last] @ got.action_value[first:last]
        assert got.value[infoset] == approx(mean, abs=1e-12)
        assert got.cf_value[first:last] == approx(
            got.action_value[first:last] * got.cf_reach[infoset], abs=1e-12
        )
        assert got.cf_reach[infoset] == approx(others[where], abs=1e-12)
        assert got.reach[infoset] == approx(own[where], abs=1e-12)


@given(random_games(), st.integers(0, 100))
def test_mistakes_add_up_to_what_best_responses_gain(game, seed):
    tree = cp.build_tree(game)
    policy = cp.random_policy(tree, seed)
    result, judged = cp.mistakes(tree, policy), cp.judge(tree, policy)
    assert (result.gain >= 0.0).all()
    gains = np.bincount(tree.infoset_player, result.gain, tree.num_players)
    assert gains == approx(judged.best_values - judged.values, abs=1e-12)


@given(random_games(max_players=2), st.integers(0, 100))
def test_mistakes_by_mending_one_infoset_after_the_other(game, seed):
    """From the last infoset to the first, best actions in place of the policy's gain the loss."""
    tree = cp.build_tree(game)
    policy = cp.random_policy(tree, seed)
    result = cp.mistakes(tree, policy)
    for player in range(game.num_players):
        mended = policy.probabilities.copy()
        before = cp.expected_values(tree, policy)[player]
        mine = np.flatnonzero(tree.infoset_player == player)[::-1]  # parents come first
        for infoset in mine:
            first, last = tree.offset[infoset : infoset + 2]
            best = result.best_value[first:last].argmax()
            mended[first:last] = np.arange(last - first) == best
            after = cp.expected_values(tree, cp.Policy(tree, mended))[player]
            assert after - before == approx(result.gain[infoset], abs=1e-12)
            before = after


def test_mistakes_with_imperfect_recall():
    tree = cp.abstraction.build_abstraction(
        game_tree("leduc_poker"), cp.abstraction.load_abstraction("by_rank")
    ).tree
    policy = cp.random_policy(tree, 1)
    assert cp.mistakes(tree, policy).gain.sum() == approx(cp.nash_conv(tree, policy))


def test_an_equilibrium_has_no_mistakes(kuhn):
    policy = cp.algorithms.solve_sequence_form_lp(kuhn).policy
    result = cp.mistakes(kuhn, policy)
    assert result.gain == approx(0.0, abs=1e-9)
    jack = kuhn.find_infoset("0pb")  # calling with the jack always loses a chip
    first = kuhn.offset[jack]
    assert result.best_value[first] - result.best_value[first + 1] == approx(1.0)


def test_kuhn_infoset_values(kuhn):
    values = cp.infoset_values(kuhn, cp.uniform_policy(kuhn))
    jack = kuhn.find_infoset("0")
    assert values.reach[jack] == 1.0
    assert values.cf_reach[jack] == approx(1 / 3)
    assert values.value[jack] == approx(-0.875)  # pass: -1 or (-1 - 2)/2; bet: half 1, half -2


UNIFORM = {  # uniform play: NashConv, value of player 0
    "kuhn_poker": (11 / 12, 1 / 8),
    "kuhn_poker(players=3)": (2.0625, 15 / 64),
    "kuhn_poker(players=4)": (3.4760417, 0.309896),
    "leduc_poker": (4.7472222, -0.078125),
    "leduc_poker(suit_isomorphism=true)": (4.7472222, -0.078125),
    "king_ace_poker": (7 / 12, 1 / 4),
    "goofspiel(num_cards=3,points_order=descending,imp_info=true)": (4 / 3, 0.0),
    "goofspiel(num_cards=3,imp_info=true)": (4 / 3, 0.0),
    "goofspiel(num_cards=3)": (4 / 3, 0.0),
    "goofspiel(points_order=descending,imp_info=true)": (1.416667, 0.0),
    "goofspiel(points_order=descending)": (1.5, 0.0),
    "goofspiel(imp_info=true)": (1.416667, 0.0),
    "goofspiel": (1.493056, 0.0),
    "goofspiel(forgetful=true)": (1.493056, 0.0),
    "goofspiel(num_cards=5,points_order=descending,imp_info=true)": (1.55, 0.0),
    "liars_dice(dice_sides=2)": (1.125, None),
    "liars_dice(dice_sides=3)": (1.111111, None),
    "liars_dice(dice_sides=4)": (1.310119, None),
    "liars_dice": (1.561488646384479, -0.0324074),
    "rock_paper_scissors": (0.0, 0.0),
}


@pytest.mark.parametrize("spec", UNIFORM)
def test_uniform_play(spec):
    tree = game_tree(spec)
    nash_conv, value = UNIFORM[spec]
    judgement = cp.judge(tree, cp.uniform_policy(tree))
    assert judgement.nash_conv == approx(nash_conv, abs=1e-6)
    if value is not None:
        assert judgement.values[0] == approx(value, abs=1e-6)


@pytest.mark.parametrize("spec", ["kuhn_poker", "leduc_poker", "rock_paper_scissors"])
def test_always_the_first_action(spec):
    tree = game_tree(spec)
    first = np.zeros(tree.num_sequences)
    first[tree.offset[:-1]] = 1.0
    assert cp.nash_conv(tree, cp.Policy(tree, first)) == approx(2.0)


def kuhn_equilibrium(tree, bluff, wrong=False):
    """Player 0 bets a Jack with `bluff`; the rest of the family follows from it."""
    bet = {
        "0": bluff,
        "1": 0.0,
        "2": 1.0 - 3 * bluff if wrong else 3 * bluff,
        "0pb": 0.0,
        "1pb": bluff + 1 / 3,
        "2pb": 1.0,
        "0p": 1 / 3,
        "1p": 0.0,
        "2p": 1.0,
        "0b": 0.0,
        "1b": 1 / 3,
        "2b": 1.0,
    }
    rows = [[1.0 - bet[key], bet[key]] for key in tree.infoset_keys]
    return cp.Policy(tree, np.concatenate(rows))


@pytest.mark.parametrize("bluff", [0.0, 0.1, 0.2, 1 / 3])
def test_the_equilibria_of_kuhn(kuhn, bluff):
    judgement = cp.judge(kuhn, kuhn_equilibrium(kuhn, bluff))
    assert judgement.nash_conv == approx(0.0, abs=1e-12)
    assert judgement.values == approx([-1 / 18, 1 / 18])


@pytest.mark.parametrize("bluff", [0.0, 1 / 3])
def test_the_lecture_has_kuhn_the_wrong_way_round(kuhn, bluff):
    """Passing, instead of betting, a King with 3 * bluff is not an equilibrium."""
    wrong = cp.nash_conv(kuhn, kuhn_equilibrium(kuhn, bluff, wrong=True))
    assert wrong == approx(1 / 6)


SHARED = [  # ours, OpenSpiel's
    ("kuhn_poker", "kuhn_poker"),
    ("kuhn_poker(players=3)", "kuhn_poker(players=3)"),
    ("leduc_poker", "leduc_poker"),
    ("leduc_poker(suit_isomorphism=true)", "leduc_poker(suit_isomorphism=True)"),
    ("liars_dice(dice_sides=4)", "liars_dice(dice_sides=4)"),
    ("goofspiel(num_cards=3,imp_info=true)", "goofspiel(num_cards=3,imp_info=True)"),
    (
        "goofspiel(points_order=descending,imp_info=true)",
        "goofspiel(num_cards=4,imp_info=True,points_order=descending)",
    ),
    (
        "goofspiel(num_cards=3,forgetful=true)",
        "goofspiel(num_cards=3,imp_info=False)",
    ),
    ("rock_paper_scissors", "matrix_rps"),
    ("goofspiel(forgetful=true)", "goofspiel(num_cards=4,imp_info=False)"),
    ("goofspiel(imp_info=true)", "goofspiel(num_cards=4,imp_info=True)"),
    pytest.param("liars_dice", "liars_dice", marks=pytest.mark.slow),
    pytest.param("tic_tac_toe", "tic_tac_toe", marks=pytest.mark.slow),
    pytest.param(
        "leduc_poker(players=3,suit_isomorphism=true)",
        "leduc_poker(players=3,suit_isomorphism=True)",
        marks=pytest.mark.slow,
    ),
]


@pytest.mark.parametrize(("ours", "theirs"), SHARED)
def test_equal_to_openspiel_on_random_policies(ours, theirs):
    pyspiel = pytest.importorskip("pyspiel")
    tree = game_tree(ours)
    game = pyspiel.load_game(theirs)
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
    keys = openspiel_keys(tree, game)
    for seed in range(3 if tree.num_nodes < 10_000 else 1):
        policy = cp.random_policy(tree, seed)
        table = {}
        for string, infoset in keys.items():
            first, last = tree.offset[infoset : infoset + 2]
            actions = tree.sequence_action[first:last].tolist()
            table[string] = list(zip(actions, policy.probabilities[first:last], strict=True))
        theirs_policy = pyspiel.TabularPolicy(table)
        assert cp.nash_conv(tree, policy) == approx(
            pyspiel.nash_conv(game, theirs_policy, use_state_get_policy=False), abs=1e-9
        )
        values = pyspiel.expected_returns(game.new_initial_state(), theirs_policy, -1, True)
        assert cp.expected_values(tree, policy) == approx(values, abs=1e-9)
        for player in range(tree.num_players):
            response = pyspiel.TabularBestResponse(game, player, theirs_policy)
            best = response.value_from_state(game.new_initial_state())
            assert cp.best_response(tree, policy, player).value == approx(best, abs=1e-9)


def openspiel_keys(tree, game):
    """OpenSpiel's information-state string -> our infoset, found by walking both games."""
    keys = {}
    stack = [(tree.game.initial_state(), game.new_initial_state())]
    while stack:
        ours, theirs = stack.pop()
        player = tree.game.player(ours)
        if theirs.is_terminal():
            assert player == cp.TERMINAL
            continue
        if not theirs.is_chance_node():
            infoset = tree.find_infoset(tree.game.infoset_key(ours, player), player)
            assert keys.setdefault(theirs.information_state_string(), infoset) == infoset
        for action in theirs.legal_actions():
            stack.append((tree.game.next_state(ours, action), theirs.child(action)))
    return keys


def test_policies_of_other_games_are_refused(kuhn, leduc):
    with pytest.raises(cp.ConfigError, match="policy is for kuhn_poker, not for leduc_poker"):
        cp.exploitability(leduc, cp.uniform_policy(kuhn))
    with pytest.raises(cp.ConfigError, match="player is 2, must be from 0 to 1"):
        cp.best_response(kuhn, cp.uniform_policy(kuhn), 2)


@settings(max_examples=20)
@given(random_games(), st.integers(0, 100))
def test_ties_go_to_the_first_action(game, seed):
    tree = cp.build_tree(game)
    policy = cp.random_policy(tree, seed)
    for player in range(game.num_players):
        response = cp.best_response(tree, policy, player).policy.probabilities
        mine = np.repeat(tree.infoset_player == player, np.diff(tree.offset))
        assert set(response[mine]) <= {0.0, 1.0}
        assert (response[~mine] == policy.probabilities[~mine]).all()
