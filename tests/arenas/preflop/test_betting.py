"""Betting trees before the flop, and wrong configs."""

from __future__ import annotations

import json

import pytest

from counterplay.arenas.preflop import betting
from counterplay.arenas.preflop.betting import build_preflop_tree, leaf_utilities
from counterplay.arenas.preflop.game import PreflopGame
from counterplay.errors import ConfigError, FileError
from counterplay.experiment.examples import list_examples

RAISES = {"push_fold": False, "raises": [["2.5x"], ["3x"], ["a"]]}


def tree_of(**data):
    return build_preflop_tree(PreflopGame.from_dict(data))


def histories(tree):
    return [",".join(leaf.history) for leaf in tree.leaves]


def test_heads_up_push_fold():
    tree = tree_of(stacks=[10, 12])
    assert histories(tree) == ["SB fold", "SB all-in,BB fold", "SB all-in,BB call"]
    assert tree.leaves[2].contributions == (10.0, 10.0)
    assert leaf_utilities(tree.game, tree.leaves[1], ((),))[0].tolist() == [1.0, -1.0]


def test_three_seats_push_fold_has_every_subset_of_callers():
    tree = tree_of(stacks=[10, 10, 10])
    assert (len(tree.nodes), len(tree.leaves)) == (6, 7)
    assert sorted(leaf.contenders for leaf in tree.leaves) == [
        *[(0,), (0, 1), (0, 1, 2), (0, 2), (1,), (1, 2), (2,)],
    ]


@pytest.mark.parametrize(("seats", "nodes"), [(4, 13), (6, 40), (9, 128)])
def test_at_most_three_seats_go_all_in(seats, nodes):
    tree = tree_of(stacks=[10] * seats)
    assert len(tree.nodes) == nodes  # sets of at most two earlier all-ins, by seat
    assert max(len(leaf.contenders) for leaf in tree.leaves) == 3
    pairs = tree_of(stacks=[10] * seats, betting={"max_players": 2})
    assert max(len(leaf.contenders) for leaf in pairs.leaves) == 2


def test_antes_blinds_and_straddle_are_posted():
    tree = tree_of(stacks=[20, 20, 20, 20], straddle=2, ante=0.1, big_blind_ante=1)
    assert tree.game.seat_names == ("BTN", "SB", "BB", "STR")
    walk = next(leaf for leaf in tree.leaves if leaf.contenders == (3,))
    assert walk.contributions == pytest.approx((0.1, 0.6, 2.1, 2.1))
    assert tree.nodes[0].seat == 0 and tree.nodes[0].to_call == 2.0
    assert tree.game.postflop_order == (1, 2, 3, 0)


def test_raise_sizes():
    tree = tree_of(stacks=[100, 100], betting=RAISES)
    assert tree.nodes[0].actions == ("fold", "raise 2.5")
    assert tree.nodes[1].actions == ("fold", "call", "raise 7.5")
    assert tree.nodes[2].actions == ("fold", "call", "all-in")
    pot = tree_of(stacks=[100, 100], betting=RAISES | {"raises": [["100%", "4c"]], "limp": True})
    assert pot.nodes[0].actions == ("fold", "call", "raise 3", "raise 4")
    limped = next(n for n in pot.nodes if n.history == ("SB call",))
    assert limped.actions == ("check", "raise 3", "raise 4")
    short = tree_of(stacks=[10, 10], betting=RAISES | {"all_in_from": 0.5})
    assert "all-in" in short.nodes[1].actions


def test_blinds_that_put_a_seat_all_in_leave_it_nothing_to_decide():
    tree = tree_of(stacks=[10, 10, 0.6])
    assert {node.seat for node in tree.nodes} == {0, 1}
    called = next(leaf for leaf in tree.leaves if leaf.history == ("BTN all-in", "SB fold"))
    assert called.contenders == (0, 2) and called.contributions == (10.0, 0.5, 0.6)
    values = leaf_utilities(tree.game, called, ((0, 1), (1, 0)))
    assert values[0] == pytest.approx([1.1, -0.5, -0.6])
    assert values[1] == pytest.approx([-0.6, -0.5, 1.1])


def test_realisation_moves_chips_from_the_player_out_of_position():
    data = {"stacks": [100, 100], "betting": RAISES, "leaves": "realisation", "realisation": 0.8}
    tree = tree_of(**data)
    leaf = next(leaf for leaf in tree.leaves if leaf.history == ("SB raise 2.5", "BB call"))
    values = leaf_utilities(tree.game, leaf, ((0, 1), (0, 0), (1, 0)))
    assert values[0] == pytest.approx([2.5, -2.5])
    assert values[1] == pytest.approx([0.5, -0.5])
    assert values[2] == pytest.approx([-1.5, 1.5])
    all_in = next(leaf for leaf in tree.leaves if leaf.is_all_in)
    assert leaf_utilities(tree.game, all_in, ((1, 0),))[0].tolist() == [-100, 100]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"stacks": [10, 0]}, "stacks.1 is 0, must be above 0"),
        ({"stacks": [10]}, "stacks has 1 entries, must be 2 to 9 seats"),
        ({"stacks": [10] * 10}, "stacks has 10 entries"),
        ({"stack": [10, 10]}, "stack: unknown key; did you mean 'stacks'"),
        ({"stacks": [10, 10], "betting": {"raise": []}}, "betting.raise: unknown key"),
        ({"stacks": [10, "x"]}, 'stacks.1 is "x", must be a number'),
        ({}, "lacks the entry 'stacks'"),
        ({"stacks": [10, 10], "payouts": [3, 2, 1]}, "3 payouts do not fit 2 players"),
        ({"stacks": [10, 10], "payouts": [1], "rake": 0.1}, "rake is for cash games"),
        ({"stacks": [10, 10], "bounties": [1, 1]}, "give payouts too"),
        ({"stacks": [10, 10], "payouts": [1], "bounties": [1]}, "bounties has 1 entries"),
        ({"stacks": [10, 10], "straddle": 2}, "needs at least three seats"),
        ({"stacks": [10, 10], "small_blind": 2}, "at most the big blind"),
        ({"stacks": [10, 0.1], "ante": 0.1}, "which the ante takes whole"),
        ({"stacks": [10, 10], "betting": {"push_fold": False}}, "raises lists no sizes"),
        ({"stacks": [10, 10], "betting": {"raises": [["2x"]]}}, "push_fold has no raises"),
        (
            {"stacks": [10, 10], "betting": {"push_fold": False, "raises": [["big"]]}},
            "cannot read the raise size 'big'",
        ),
        ({"stacks": [10, 10], "deck": {"ranks": 2, "suits": 2, "board": 0}}, None),
        ({"stacks": [10] * 9, "deck": {"ranks": 4}}, "too small for 9 seats"),
        ({"stacks": [10, 10], "realisation": 0.5}, 'needs leaves "realisation"'),
        ({"stacks": [10, 10], "leaves": "solved"}, "must be one of"),
        ([1], "is a JSON object"),
    ],
)
def test_wrong_configs_say_so_in_one_sentence(data, message):
    if message is None:
        assert PreflopGame.from_dict(data).num_seats == 2
        return
    with pytest.raises(ConfigError, match=message) as caught:
        PreflopGame.from_dict(data)
    assert "\n" not in str(caught.value)


def test_trees_that_are_too_large_are_refused(monkeypatch):
    monkeypatch.setattr(betting, "MAX_PREFLOP_NODES", 300)
    sizes = [["2x", "3x", "4x"]] * 4
    with pytest.raises(ConfigError, match="more than 300 nodes; give fewer sizes"):
        tree_of(stacks=[1000] * 6, betting={"push_fold": False, "raises": sizes})


def test_files_are_read_and_errors_name_them(tmp_path):
    path = tmp_path / "game.json"
    path.write_text(json.dumps({"stacks": [10, 10], "antes": 1}))
    with pytest.raises(ConfigError, match=r"game.json: antes: unknown key; did you mean 'ante'"):
        PreflopGame.load(path)
    path.write_text("{")
    with pytest.raises(FileError, match="cannot read"):
        PreflopGame.load(path)
    with pytest.raises(FileError, match="there is no file"):
        PreflopGame.load(tmp_path / "none.json")


def test_examples_are_valid_and_survive_a_round_trip():
    examples = list_examples("preflop/")
    assert len(examples) >= 5
    for example in examples:
        game = PreflopGame.load(example.path)
        assert PreflopGame.from_dict(game.to_dict()) == game
        assert build_preflop_tree(game).nodes
