"""Exploitability by infoset, and tables of policies."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.display.text import (
    ASCII_CHARACTERS,
    DrawingCharacters,
    characters_for_encoding,
    format_bar,
    format_curve,
    format_grid,
    format_outline,
    format_table,
)
from tests.conftest import game_tree
from tests.random_games import RandomGame

SPECS = ["kuhn_poker(players=3)", "leduc_poker", "goofspiel(num_cards=3,forgetful=true)"]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("seed", range(2))
def test_losses_add_up_to_what_best_responses_gain(spec, seed):
    tree = game_tree(spec)
    policy = cp.random_policy(tree, seed)
    found, judged = cp.mistakes(tree, policy), cp.judge(tree, policy)
    assert found.gain.min() >= 0.0
    for player in range(tree.num_players):
        gain = judged.best_values[player] - judged.values[player]
        assert found.gain[tree.infoset_player == player].sum() == pytest.approx(gain, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_on_random_games(seed):
    tree = cp.build_tree(RandomGame(seed=seed, max_depth=4))
    policy = cp.random_policy(tree, seed)
    assert cp.mistakes(tree, policy).gain.sum() == pytest.approx(cp.nash_conv(tree, policy))


def test_the_best_value_is_that_of_trying_it(kuhn):
    """Playing an action and then a best response earns `best_value`, infoset by infoset."""
    policy = cp.random_policy(kuhn, 3)
    found = cp.mistakes(kuhn, policy)
    for player in range(2):
        best = cp.best_response(kuhn, policy, player).policy
        for infoset in np.flatnonzero(kuhn.infoset_player == player):
            first, last = kuhn.offset[infoset : infoset + 2]
            for sequence in range(first, last):
                tried = best.probabilities.copy()
                tried[first:last] = 0.0
                tried[sequence] = 1.0
                worth = cp.infoset_values(kuhn, cp.Policy(kuhn, tried)).value[infoset]
                assert worth == pytest.approx(found.best_value[sequence])


def test_nothing_is_lost_in_equilibrium(leduc):
    policy = cp.algorithms.solve_sequence_form_lp(leduc).policy
    assert cp.mistakes(leduc, policy).gain.max() < 1e-9


def test_rows_are_filtered_and_sorted(kuhn):
    rows = cp.infoset_rows(cp.uniform_policy(kuhn), ["2*"], player=1, sort_by="reach")
    assert [row.key for row in rows] == ["2p", "2b"]
    assert rows[0].reach == pytest.approx(1 / 6)
    assert rows[0].regret == pytest.approx(max(rows[0].action_values.values()) - rows[0].value)
    with pytest.raises(cp.ConfigError, match="player is 2, must be from 0 to 1"):
        cp.infoset_rows(cp.uniform_policy(kuhn), player=2)


def test_every_infoset_has_its_cell(leduc):
    policy = cp.uniform_policy(leduc)
    found = cp.display.policy_grids(policy, cp.infoset_rows(policy, sort_by="key"))
    assert sum(len(one.cells) for one in found) == 936
    openings = next(one for one in found if one.panel == "")
    assert openings.rows == ("Js", "Jh", "Qs", "Qh", "Ks", "Kh")
    assert openings.actions == ("call", "raise")


def test_text_has_bars_and_numbers(kuhn):
    policy = cp.uniform_policy(kuhn)
    assert format_bar(0.5, DrawingCharacters()) == "████    "
    assert format_bar(1 / 16, DrawingCharacters()) == "▌       "
    assert format_bar(0.5, ASCII_CHARACTERS) == "####    "
    assert characters_for_encoding("ascii") is ASCII_CHARACTERS
    assert characters_for_encoding("utf-8") == DrawingCharacters()
    (row,) = cp.infoset_rows(policy, ["2pb"])
    assert format_table([row], ASCII_CHARACTERS)[1].startswith(
        "2pb      pass ####     0.500  bet ####     0.500 "
    )
    (one,) = cp.display.policy_grids(policy, [row])
    assert format_grid(one, ASCII_CHARACTERS) == ["player 0, pb:  = pass   # bet", "2  ====####"]
    lines = format_outline(kuhn, 9, ASCII_CHARACTERS, max_lines=10)
    assert len(lines) == 11
    assert lines[-1] == "... more than 10 lines; choose a smaller depth"


def test_one_line_and_html(kuhn):
    result = cp.solve(kuhn, cp.algorithms.CFRPlus(), iterations=100)
    equilibrium = cp.matrix.zero_sum_lp(cp.matrix.NormalForm([[1, 0], [0, 2]]))
    correlated = cp.matrix.correlated_equilibrium(
        cp.matrix.normal_form_from_game(cp.load_game("chicken")), "welfare"
    )
    expected = [
        (kuhn, "TreeArena(kuhn_poker: 58 nodes, 12 infosets, 2 players)"),
        (result.policy, "Policy(kuhn_poker: 12 infosets, 2 players)"),
        (result, "Result(100 iterations in "),
        (equilibrium, "Equilibrium(0.6667 0.3333 / 0.6667 0.3333, values 0.666667, -0.666667)"),
        (correlated, "CorrelatedEquilibrium(2 x 2 joint actions, values 5.25, 5.25)"),
    ]
    for thing, text in expected:
        assert repr(thing).startswith(text)
        assert "\n" not in repr(thing)
        assert "<table>" in thing._repr_html_() or "<svg" in thing._repr_html_()
    assert "polyline" in result._repr_html_()
    rules = cp.RulesArena(cp.load_game("kuhn_poker"))
    sampled = cp.solve(rules, cp.algorithms.ExternalSampling(), iterations=3)
    assert "on rules, not judged" in repr(sampled)
    count = len(sampled.policy)
    assert repr(sampled.policy) == f"TabularPolicy(kuhn_poker: {count} visited infosets)"
    assert sampled._repr_html_().startswith("<p>Result")


def test_pictures_in_notebooks(kuhn):
    pytest.importorskip("matplotlib")
    picture = cp.draw_tree(kuhn, depth=2)
    text = picture._repr_svg_()
    assert text.count("deal") == 9
    assert "..." in text


def test_curves_fall(kuhn):
    lines = format_curve([(1, 1.0), (10, 0.1), (100, 0.01)], ASCII_CHARACTERS, width=21, height=5)
    assert lines[0].startswith(" 1e+00 |*")
    assert lines[4].endswith("**") and lines[4].startswith(" 1e-02 |   ")
    assert [line.rindex("*") for line in lines[:-1]] == sorted(len(line) - 1 for line in lines[:-1])
    assert lines[-1] == "        1                 100"
    assert format_curve([(1, 0.0), (2, 0.0)], ASCII_CHARACTERS) == []
