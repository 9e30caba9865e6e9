"""The tree: its arrays against the rules, its limits, its files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import counterplay as cp
from counterplay.arenas.tree import build, builder, sampling_view, size_estimate
from counterplay.arenas.tree.replay import number_augmented_actions
from counterplay.core.game import CHANCE, TERMINAL
from tests.conftest import game_tree
from tests.random_games import RandomGame, random_games


def walk(game, tree):
    """(node, state) for every node, following the tree's arrays and the rules side by side."""
    pairs = [(0, game.initial_state())]
    for node, state in pairs:
        yield node, state
        for child in range(tree.child_offset[node], tree.child_offset[node + 1]):
            pairs.append((child, game.next_state(state, int(tree.action[child]))))


@given(random_games())
def test_nodes_follow_the_rules(game):
    tree = cp.build_tree(game)
    terminal = {int(node): z for z, node in enumerate(tree.terminals)}
    seen = 0
    for node, state in walk(game, tree):
        seen += 1
        player = game.player(state)
        assert tree.player[node] == player
        children = np.arange(tree.child_offset[node], tree.child_offset[node + 1])
        assert (tree.parent[children] == node).all()
        actions = tree.action[children].tolist()
        if player == TERMINAL:
            assert children.size == 0
            assert tree.utility[terminal[node]].tolist() == list(game.utilities(state))
        elif player == CHANCE:
            assert list(zip(actions, tree.chance[children], strict=True)) == game.chance_outcomes(
                state
            )
        else:
            infoset = tree.infoset[node]
            assert tree.infoset_keys[infoset] == game.infoset_key(state, player)
            assert tree.infoset_player[infoset] == player
            first, last = tree.offset[infoset : infoset + 2]
            assert tree.sequence_action[first:last].tolist() == actions == list(game.actions(state))
        assert (tree.infoset[node] >= 0) == (player >= 0)
    assert seen == tree.num_nodes


@given(random_games())
def test_level_order_and_counts(game):
    tree, report = cp.build_tree(game), cp.check_game(game)
    assert (tree.parent[1:] < np.arange(1, tree.num_nodes)).all()
    assert (np.diff(tree.parent) >= 0).all()  # siblings contiguous, families in order
    assert tree.num_nodes == report.num_nodes
    assert tree.num_terminals == report.num_terminals
    assert tree.num_infosets == report.num_infosets
    assert tree.has_perfect_recall and report.has_perfect_recall
    assert tree.is_zero_sum == report.is_zero_sum
    assert len(tree.level_offset) - 2 == report.max_history_length


@given(random_games())
def test_sequence_form_is_in_order(game):
    form = cp.build_tree(game).form
    num_sequences = int(form.offset[-1])
    inner = form.parent < num_sequences
    assert (form.parent[inner] < form.offset[:-1][inner]).all()  # parents first
    assert (np.diff(form.row_offset.astype(int)) > 0).all()
    for player in range(game.num_players):
        rows = slice(*form.player_row[player : player + 2])
        lengths = np.diff(form.row_offset[rows.start : rows.stop + 1].astype(int))
        assert (np.diff(lengths) >= 0).all()  # short rows first
        mine = form.offset[form.player_infoset[player : player + 2]]
        sequences = form.row_sequence[rows]
        assert ((mine[0] <= sequences) & (sequences < mine[1]) | (sequences == num_sequences)).all()
        assert len(set(sequences.tolist())) == sequences.size


def test_table_of_games():
    """Counts of table 2 in the Deep-Hedge thesis, as corrected."""
    rows = {
        "kuhn_poker": (2, 58, 12, 3, 2, -2.0, 2.0),
        "kuhn_poker(players=3)": (3, 617, 48, 5, 2, -2.0, 4.0),
        "leduc_poker": (2, 9457, 936, 8, 3, -13.0, 13.0),
        "goofspiel(forgetful=true)": (2, 26773, 6056, 6, 4, -1.0, 1.0),
    }
    for spec, row in rows.items():
        tree = game_tree(spec)
        measured = (tree.num_players, tree.num_nodes, tree.num_infosets, tree.max_episode_length)
        assert (*measured, tree.max_actions, tree.utility.min(), tree.utility.max()) == row
    assert not game_tree("goofspiel(forgetful=true)").has_perfect_recall
    assert game_tree("goofspiel").has_perfect_recall


def test_forgetful_tree_refines_to_perfect_recall():
    forgetful, full = game_tree("goofspiel(forgetful=true)"), game_tree("goofspiel")
    assert forgetful.perfect_recall_tree.num_infosets == full.num_infosets == 7304
    assert forgetful.perfect_recall_tree.has_perfect_recall
    assert full.perfect_recall_tree is full
    assert len(set(forgetful.perfect_recall_tree.infoset_keys)) == 7304


def test_arrays_are_read_only(kuhn):
    with pytest.raises(ValueError, match="read-only"):
        kuhn.form.weight[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        kuhn.utility[0, 0] = 1.0


def test_a_cut_level_has_independent_blocks(monkeypatch):
    monkeypatch.setattr(builder, "MIN_INFOSETS_PER_BLOCK", 50)
    tree = cp.build_tree(cp.load_game("leduc_poker"))
    parts = [parts for player in range(2) for parts in tree.levels(player, 3)]
    assert max(map(len, parts)) == 3
    covered = np.concatenate([np.arange(a, b) for level in parts for a, b in level])
    assert (np.sort(covered) == np.arange(tree.num_infosets)).all()
    for level in parts:
        parents = [set(tree.form.parent[a:b].tolist()) for a, b in level]
        assert sum(map(len, parents)) == len(set.union(*parents)) or parents[0] == {2184}


@pytest.mark.parametrize("spec", ["kuhn_poker(players=3)", "goofspiel(num_cards=3,forgetful=true)"])
def test_save_and_load(spec, tmp_path):
    tree = game_tree(spec)
    tree.save(tmp_path / "tree")
    copy = cp.load_tree(tmp_path / "tree")
    assert copy.spec == tree.spec
    assert copy.infoset_keys == tree.infoset_keys
    assert copy.sequence_names == tree.sequence_names
    for name in (
        "player",
        "parent",
        "child_offset",
        "chance",
        "infoset",
        "utility",
        "game_sequence",
    ):
        assert (getattr(copy, name) == getattr(tree, name)).all()
        assert getattr(copy, name).dtype == getattr(tree, name).dtype
    policy = cp.random_policy(tree, seed=1)
    again = cp.Policy(copy, policy.probabilities)
    assert cp.nash_conv(copy, again) == cp.nash_conv(tree, policy)


def test_damaged_and_foreign_files(kuhn, tmp_path):
    kuhn.save(tmp_path / "tree")
    whole = (tmp_path / "tree").read_bytes()
    for damage in (b"", b"hello", whole[:-40], whole[: len(whole) // 2], b"x" * 100 + whole[100:]):
        (tmp_path / "damaged").write_bytes(damage)
        with pytest.raises(cp.RunError, match="damaged"):
            cp.load_tree(tmp_path / "damaged")
    cp.uniform_policy(kuhn).save(tmp_path / "policy")
    with pytest.raises(cp.RunError, match="policy 1"):
        cp.load_tree(tmp_path / "policy")
    with pytest.raises(cp.RunError, match="no file"):
        cp.load_tree(tmp_path / "nothing")
    with pytest.raises(cp.RunError, match="cannot write"):
        kuhn.save(tmp_path / "no" / "such" / "folder")


def test_a_failed_save_keeps_the_old_file(kuhn, leduc, tmp_path, monkeypatch):
    path = tmp_path / "tree"
    kuhn.save(path)
    before = path.read_bytes()

    def full_disk(file, array, **_):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full_disk)
    with pytest.raises(cp.RunError, match="No space left"):
        leduc.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["tree"]


def test_refuses_what_does_not_fit():
    with pytest.raises(cp.RunError, match=r"liars_dice has about .* nodes.*memory_limit"):
        cp.build_tree(cp.load_game("liars_dice"), memory_limit=20_000_000)


def test_the_look_ahead_refuses_early(monkeypatch):
    monkeypatch.setattr(build, "ESTIMATE_AFTER_NODES", build.MAX_NODES_BETWEEN_CHECKS)
    counted = []
    with pytest.raises(cp.RunError, match="nodes"):
        cp.build_tree(
            cp.load_game("liars_dice"),
            memory_limit=50_000_000,
            progress=lambda nodes, expected: counted.append(nodes),
        )
    assert not counted  # refused at the first look, long before the limit was reached


def test_progress_is_reported():
    seen = []
    tree = cp.build_tree(
        cp.load_game("liars_dice(dice_sides=5)"), progress=lambda *x: seen.append(x)
    )
    assert [nodes // build.MAX_NODES_BETWEEN_CHECKS for nodes, _ in seen] == [1]
    assert tree.num_nodes == 51181


@pytest.mark.parametrize(("spec", "nodes"), [("leduc_poker", 9457), ("goofspiel", 26773)])
def test_estimated_size_is_near_the_exact_one(spec, nodes):
    guess = cp.estimate_size(cp.load_game(spec), max_probes=2000, seconds=60.0)
    assert guess.num_probes == 2000
    assert abs(guess.num_nodes - nodes) <= max(4 * guess.standard_error, 1e-6 * nodes)
    assert guess.num_bytes > nodes


def test_estimate_is_unbiased():
    game = RandomGame(seed=5, num_players=2, max_depth=5)
    guess = cp.estimate_size(game, max_probes=4000, seconds=60.0, seed=3)
    assert guess.num_nodes == pytest.approx(cp.build_tree(game).num_nodes, rel=0.1)


def test_chance_only_and_single_player_games():
    alone = RandomGame(seed=12, num_players=1, max_depth=4, zero_sum=False)
    tree = cp.build_tree(alone)
    best = cp.best_response(tree, cp.uniform_policy(tree), 0)
    assert cp.exploitability(tree, best.policy) == pytest.approx(0.0, abs=1e-12)
    ended = RandomGame(seed=0, max_depth=0)
    tree = cp.build_tree(ended)
    assert (tree.num_nodes, tree.num_infosets) == (1, 0)
    assert cp.expected_values(tree, cp.uniform_policy(tree)).tolist() == list(
        ended.utilities(ended.initial_state())
    )


class Broken(RandomGame):
    """A sound game with one method replaced by the test."""


@pytest.mark.parametrize(
    ("method", "replacement", "message"),
    [
        ("chance_outcomes", lambda self, state: [(0, 0.5), (1, 0.6)], "sum of 1"),
        ("chance_outcomes", lambda self, state: [(0, -0.5), (1, 1.5)], "sum of 1"),
        ("utilities", lambda self, state: [1.0], "1 utilities for 2 players"),
        ("utilities", lambda self, state: [float("nan"), 0.0], "not all finite"),
        ("utilities", lambda self, state: [float("inf"), -float("inf")], "not all finite"),
        ("actions", lambda self, state: (), "has no legal action"),
        ("actions", lambda self, state: (0, 0), "an action is listed twice"),
        ("infoset_key", lambda self, state, player: "same", "elsewhere"),
        ("next_state", lambda self, state, action: 1 / 0, "ZeroDivisionError"),
        ("player", lambda self, state: state.nothing, "AttributeError"),
        ("player", lambda self, state: 7 if state.depth > 1 else 0, "not in 0..1"),
        ("player", lambda self, state: -3 if state.depth > 1 else 0, r"player\(\) is -3"),
        ("player", lambda self, state: 0, "still not over after"),
    ],
)
def test_broken_rules_name_the_history(method, replacement, message, monkeypatch):
    monkeypatch.setattr(Broken, method, replacement, raising=False)
    monkeypatch.setattr(build, "MAX_NODES_BETWEEN_CHECKS", 1)
    for module in (size_estimate, build):
        monkeypatch.setattr(module, "MAX_HISTORY_LENGTH", 50)
    if method != "player":
        player = {0: CHANCE, 1: 0, 2: 1, 3: 0}
        monkeypatch.setattr(
            Broken, "player", lambda self, state: player.get(state.depth, TERMINAL), raising=False
        )
    with pytest.raises(cp.GameError, match=message) as caught:
        cp.build_tree(Broken(seed=1, max_depth=4))
    assert "history: " in str(caught.value)


def test_find_names_the_nearest_key(kuhn):
    assert kuhn.infoset_keys[kuhn.find_infoset("0pb")] == "0pb"
    with pytest.raises(cp.ConfigError, match="no infoset '9pb'; did you mean"):
        kuhn.find_infoset("9pb")
    with pytest.raises(cp.ConfigError, match="no infoset '0pb'"):
        kuhn.find_infoset("0pb", player=1)


def test_augmented_infosets(kuhn, tmp_path):
    """Nodes have the same number for a player exactly if it knows the same before them, and sees
    the same action taken."""
    game = kuhn.game
    states = {0: game.initial_state()}
    groups = [{} for _ in range(2)]
    for node in range(kuhn.num_nodes):
        for child in range(*kuhn.child_offset[node : node + 2]):
            action = int(kuhn.action[child])
            states[child] = game.next_state(states[node], action)
            for player, group in enumerate(groups):
                known = player, game.infoset_key(states[node], player), action
                number = int(number_augmented_actions(kuhn)[child, player])
                assert group.setdefault(known, number) == number
    numbers = [number for group in groups for number in group.values()]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    kuhn.save(tmp_path / "kuhn.tree")
    assert (
        number_augmented_actions(cp.load_tree(tmp_path / "kuhn.tree"))
        == number_augmented_actions(kuhn)
    ).all()

    class OutOfReach(RandomGame):
        """Defined here: no spec leads to it."""

    cp.build_tree(OutOfReach(seed=2, max_depth=3)).save(tmp_path / "other.tree")
    with pytest.raises(cp.ConfigError, match="augmented infosets need the rules; build the tree"):
        cp.algorithms.VRMCCFR().init(cp.load_tree(tmp_path / "other.tree"))


def test_rows_for_walks(leduc):
    rows = sampling_view.node_rows(leduc)
    assert (rows["player"] == leduc.player).all()
    for node in (0, 5, 100, 2000):
        first, last = leduc.child_offset[node : node + 2]
        assert (rows["child"][node], rows["count"][node]) == (first, last - first)
        if leduc.player[node] == cp.CHANCE:
            start = rows["first"][node] - leduc.num_sequences
            lottery = sampling_view.chance_probabilities(leduc)[start : start + last - first]
            assert (lottery == leduc.chance[first:last]).all()
    assert (
        sampling_view.chance_probabilities(leduc).size == 6 + 5 + 4
    )  # equal lotteries are kept once
