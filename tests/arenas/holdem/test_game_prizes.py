"""Hold'em games that pay prizes by ICM: the arena against the tree, prizes, refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.hand_rows import check_two_rounds
from counterplay.arenas.preflop.icm import icm_equities
from counterplay.cli.main import main
from counterplay.games.compiled.poker import compile_game
from counterplay.play.agents import AgentLoader
from counterplay.play.local_best_response import LocalBestResponse
from tests.arenas.holdem.test_game_arena import check_iterates

PRIZES = "stacks=(9,13),payouts=(50.0,30.0,20.0),other_stacks=(6,20)"
ONE_CARD = (
    "custom_holdem(num_ranks=3,num_suits=2,num_hole_cards=1,board_cards=(0,1),ante=1,"
    f"sizes='0.5,a',{PRIZES})"
)
TWO_CARDS = (
    "custom_holdem(num_ranks=3,num_suits=2,board_cards=(0,1),stacks=(7,5),sizes='0.5,a',"
    "max_bets=(2,1),payouts=(3.0,1.0),other_stacks=(4,))"
)


def test_iterates_equal_those_of_the_tree():
    """General-sum: ties pay more than the mean of a win and a loss."""
    check_iterates(ONE_CARD)


def test_iterates_with_two_cards_equal_those_of_the_tree():
    check_iterates(TWO_CARDS)


def test_utilities_are_prizes_of_the_stacks_after_the_hand():
    game = cp.load_game(ONE_CARD)
    state = game.initial_state()
    while game.player(state) == cp.CHANCE:
        state = game.next_state(state, game.chance_outcomes(state)[0][0])
    state = game.next_state(state, 0)  # the button folds: it has lost blind and ante
    assert game.player(state) == cp.TERMINAL
    expected = icm_equities([7, 15, 6, 20], [50, 30, 20])[:2]
    assert game.utilities(state) == pytest.approx(expected)


def test_a_player_who_loses_all_chips_has_the_lowest_paid_place_left():
    game = cp.load_game("custom_holdem(stacks=(9,9),payouts=(70.0,30.0))")
    assert game.payoffs([-9.0, 9.0]) == pytest.approx([30.0, 70.0])
    assert game.payoffs([0.0, 0.0]) == pytest.approx([50.0, 50.0])


def test_prizes_of_two_players_are_their_chips():
    """Without others the model is linear in chips, so that policies and gains are the same."""
    spec = ONE_CARD.replace(PRIZES, "stacks=(9,9){}")
    chips = HoldemGameArena(cp.load_game(spec.format("")), "float64")
    prizes = HoldemGameArena(cp.load_game(spec.format(",payouts=(90.0,54.0)")), "float64")
    results = [cp.solve(arena, "dcfr", iterations=50) for arena in (chips, prizes)]
    judged = [cp.judge(r.policy.arena, r.policy) for r in results]
    scale = (90.0 - 54.0) / 18.0
    expected = 72.0 + scale * judged[0].values
    np.testing.assert_allclose(judged[1].values, expected, atol=1e-9)
    assert results[1].exploitability == pytest.approx(scale * results[0].exploitability, abs=1e-9)


def test_values_of_hands_average_to_the_prize():
    arena = HoldemGameArena(cp.load_game(ONE_CARD), "float64")
    policy = cp.solve(arena, "dcfr", iterations=20).policy
    view = cp.holdem.inspect_game_node(policy, "")
    weight = view.weight * view.opponent_mass
    value = (weight * view.value).sum() / weight.sum()
    assert value == pytest.approx(cp.judge(arena, policy).values[0])


def test_what_needs_chips_refuses_prizes():
    game = cp.load_game(ONE_CARD)
    arena = HoldemGameArena(game, "float64")
    policy = cp.solve(arena, "dcfr", iterations=2).policy
    cp.holdem.resolve_street(policy, 1, "unsafe", iterations=2)
    for call in (
        lambda: cp.holdem.resolve_street(policy, 1, "resolve", iterations=2),
        lambda: cp.holdem.solve_to_street(policy, 1, iterations=2),
        lambda: check_two_rounds(arena),
        lambda: compile_game(game),
    ):
        with pytest.raises(cp.ConfigError, match="pays prizes"):
            call()
    uniform = AgentLoader(game, rules_only=True).load_agents("uniform")[0]
    with pytest.raises(cp.ConfigError, match="pays prizes"):
        LocalBestResponse(game, uniform)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("payouts=(50.0,30.0,20.0)", "3 payouts do not fit 2 players"),
        ("payouts=(20.0,30.0)", "must not rise"),
        ("payouts=(-1.0,)", "must be numbers from 0 on"),
        ("other_stacks=(3,)", "other_stacks needs payouts"),
        ("payouts=(2.0,1.0),other_stacks=(0,)", "other_stacks is .* at least 1 each"),
    ],
)
def test_wrong_payouts_are_refused(parameters, message):
    with pytest.raises(cp.ConfigError, match=message):
        cp.load_game(f"custom_holdem({parameters})")


def test_commands_count_in_parts_of_the_prize_pool(tmp_path, capsys):
    file = tmp_path / "prizes.policy"
    assert main(["spot", "solve", ONE_CARD, "--target", "0.1%", "--save", str(file)]) == 0
    printed = capsys.readouterr()
    rows = [row.split() for row in printed.out.splitlines()[1:]]
    exploitability, percent = float(rows[-1][1]), float(rows[-1][2].rstrip("%"))
    assert percent == pytest.approx(exploitability, rel=1e-2)  # the pool is 100
    assert percent <= 0.1
    assert main(["evaluate", str(file)]) == 0
    assert "mbb" not in capsys.readouterr().out
    assert main(["spot", "estimate", ONE_CARD, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    arena = HoldemGameArena(cp.load_game(ONE_CARD))
    assert facts["sequences"] == arena.num_sequences and facts["bytes"] == 8 * arena.num_sequences
