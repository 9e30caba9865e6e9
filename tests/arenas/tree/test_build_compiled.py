"""Compiled rules: equal to the readable ones, node by node, and the trees they make bit by bit."""

from __future__ import annotations

import importlib
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.tree import build

SPECS = [
    "kuhn_poker",
    "kuhn_poker(players=3,num_cards=5)",
    "leduc_poker",
    "leduc_poker(suit_isomorphism=true,ranks=5)",
    "leduc_poker(players=3,suit_isomorphism=true)",
    "liars_dice(dice_sides=3)",
    "liars_dice(numdice=2,dice_sides=2)",
    "goofspiel(num_cards=4)",
    "goofspiel(num_cards=4,imp_info=true,points_order=descending)",
    "goofspiel(num_cards=3,players=3,points_order=ascending,returns_type=point_difference)",
    "goofspiel(num_cards=3,imp_info=true,returns_type=total_points)",
    "dark_hex(num_rows=2,num_cols=2)",
    "dark_hex(num_rows=2,num_cols=2,gameversion=adh)",
    "phantom_tic_tac_toe",
]


@pytest.mark.parametrize("spec", SPECS)
def test_machines_do_what_the_rules_do(spec):
    game = cp.load_game(spec)
    assert (
        cp.games.check_compiled_game(
            game, cp.games.find_compiled_game(game), max_nodes=3_000, num_episodes=100
        )
        > 50
    )


@pytest.mark.parametrize("spec", [spec for spec in SPECS if "3,suit" not in spec][:-1])
def test_the_tree_is_the_very_same(spec, monkeypatch):
    game = cp.load_game(spec)
    monkeypatch.setattr(build, "MIN_NODES_FOR_COMPILED_RULES", 1e300)
    plain = cp.build_tree(game)
    monkeypatch.setattr(build, "MIN_NODES_FOR_COMPILED_RULES", 0)
    made = cp.build_tree(game)
    for field in fields(cp.TreeArena):
        ours, theirs = getattr(made, field.name), getattr(plain, field.name)
        if isinstance(ours, np.ndarray):
            assert ours.dtype == theirs.dtype, field.name
            assert (ours == theirs).all(), field.name
        elif field.name != "form":
            assert ours == theirs, field.name
    for name, ours, theirs in zip(made.form._fields, made.form, plain.form, strict=True):
        assert ours.dtype == theirs.dtype, name
        assert (ours == theirs).all(), name


def test_games_that_do_not_fit_have_none():
    for spec in ("goofspiel(num_cards=13)", "liars_dice(numdice=3)", "goofspiel(forgetful=true)"):
        assert cp.games.find_compiled_game(cp.load_game(spec)) is None
    assert cp.games.find_compiled_game(cp.load_game("dark_hex(num_rows=4,num_cols=4)")) is None
    assert cp.games.find_compiled_game(cp.load_game("tic_tac_toe")) is None


def test_a_difference_is_named_with_its_history():
    machine = cp.games.find_compiled_game(cp.games.KuhnPoker(num_cards=4))
    with pytest.raises(
        cp.GameError, match=r"outcomes is 3 .*, 4 by the compiled rules; history: \(the"
    ):
        cp.games.check_compiled_game(cp.games.KuhnPoker(), machine)
    kuhn = cp.games.find_compiled_game(cp.games.KuhnPoker())

    def blind(rules, states, player, key):
        kuhn.infoset_key(rules, states, player, key)
        key &= 0xFFFFFFFF  # without the card

    with pytest.raises(cp.GameError, match=r"infoset.*; history: deal"):
        cp.games.check_compiled_game(cp.games.KuhnPoker(), kuhn._replace(infoset_key=blind))

    def report_too_many_actions(rules, states, player, count):
        kuhn.current_player(rules, states, player, count)
        count[player >= 0] = -7

    with pytest.raises(cp.GameError, match=r"number of actions is 2 .*, -7 .*; history: deal"):
        cp.games.check_compiled_game(
            cp.games.KuhnPoker(), kuhn._replace(current_player=report_too_many_actions)
        )

    def generous(rules, states, utility):
        kuhn.utilities(rules, states, utility)
        utility += 1.0

    with pytest.raises(cp.GameError, match=r"the utilities is .*history: deal \d, deal \d, "):
        cp.games.check_compiled_game(cp.games.KuhnPoker(), kuhn._replace(utilities=generous))


def test_the_page_says_how(tmp_path, monkeypatch):
    root = Path(__file__).parents[3]
    fence = r"```(?:\{code-block\} )?python\n(?::[^\n]*\n)*(.*?)```"  # options of a block aside
    blocks = {
        name: re.findall(fence, (root / name).read_text(), re.DOTALL)
        for name in ("docs/howto/own_game.md", "docs/compiled_rules.md")
    }
    pages = blocks["docs/howto/own_game.md"]
    game = next(code for code in pages if "class MatchingPennies" in code)
    (tmp_path / "pennies_rules.py").write_text(game)
    (tmp_path / "pennies_machine.py").write_text(blocks["docs/compiled_rules.md"][0])
    monkeypatch.syspath_prepend(tmp_path)
    rules = importlib.import_module("pennies_rules").MatchingPennies()
    machine = importlib.import_module("pennies_machine").compiled_game
    assert cp.games.check_compiled_game(rules, machine) == 7


def test_memory_is_checked_before_a_level_is_made(monkeypatch):
    monkeypatch.setattr(build, "MIN_NODES_FOR_COMPILED_RULES", 0)
    with pytest.raises(cp.RunError, match="may be used"):
        cp.build_tree(cp.load_game("liars_dice(dice_sides=4)"), memory_limit=1_000_000)
