"""Trees from files: intact files load, damaged ones are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterplay as cp
from counterplay.arenas.tree import builder
from counterplay.arenas.tree.tree_io import ARRAY_TYPES, validate_tree
from counterplay.core.archive import DamagedFileError
from tests.conftest import game_tree
from tests.random_games import random_games

SPECS = ("kuhn_poker(players=3)", "goofspiel(num_cards=3,forgetful=true)")


@given(random_games())
def test_every_tree_is_valid(game):
    validate_tree(cp.build_tree(game))


def test_remade_and_refined_trees_are_valid(kuhn, leduc, tmp_path, monkeypatch):
    def round_trip(tree):
        tree.save(tmp_path / "tree")
        again = cp.load_tree(tmp_path / "tree")
        policy = cp.random_policy(tree, seed=3)
        found = cp.judge(again, cp.Policy(again, policy.probabilities))
        assert found.nash_conv == cp.nash_conv(tree, policy)

    round_trip(game_tree(SPECS[1]).perfect_recall_tree)
    round_trip(cp.abstraction.build_abstraction(kuhn, [["0", "1"]]).tree)
    for seed in range(2):
        chosen = cp.random_policy(leduc, seed)
        round_trip(cp.abstraction.fix_policy(leduc, chosen, lambda player, key: player == 0).tree)
    monkeypatch.setattr(builder, "MIN_INFOSETS_PER_BLOCK", 50)
    round_trip(cp.build_tree(cp.load_game("leduc_poker")))


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("name", ARRAY_TYPES)
@settings(max_examples=20)
@given(data=st.data())
def test_no_number_can_be_changed_alone(spec, name, data):
    """A tree says everything twice, but for names: a change in one place is a contradiction."""
    tree = game_tree(spec)
    part, _, field = name.rpartition(".")
    array = getattr(tree.form if part else tree, field).copy()
    if not array.size or name in {"utility", "action", "sequence_action"}:
        return
    place = data.draw(st.integers(0, array.size - 1))
    old, flat = array.reshape(-1)[place], array.reshape(-1)
    if array.dtype == np.float64:
        flat[place] = data.draw(st.sampled_from([old + 0.1, -old - 1.0, np.nan, np.inf, 1e308]))
    else:
        info = np.iinfo(array.dtype)
        flat[place] = data.draw(st.integers(int(info.min), int(info.max)) | st.integers(0, 40))
        if flat[place] == old:
            return
    changed = (
        replace(tree, form=tree.form._replace(**{field: array}))
        if part
        else replace(tree, **{field: array})
    )
    with pytest.raises(DamagedFileError):
        validate_tree(changed)


@pytest.mark.parametrize("spec", SPECS)
def test_other_utilities_do_not_fit_the_form(spec):
    tree = game_tree(spec)
    for value in (np.nan, np.inf, 1e308, 7.25):
        utility = tree.utility.copy()
        utility[3, 0] = value
        with pytest.raises(DamagedFileError, match=r"utility|weight"):
            validate_tree(replace(tree, utility=utility))
