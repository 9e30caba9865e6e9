"""Generated arenas of phantom games equal the stored trees on small boards."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.arenas.factored.phantom_sizes import count_infosets_and_sequences

SMALL_BOARDS = [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 2)]
KINDS = ["cdh", "adh"]


def hex_game(rows, columns, kind):
    return cp.load_game("dark_hex", num_rows=rows, num_cols=columns, gameversion=kind)


@pytest.fixture(scope="module")
def pairs():
    """Arena, tree, and where the arena's sequences stand in the tree, by board; made once."""
    made = {}

    def pair(rows, columns, kind):
        if (rows, columns, kind) not in made:
            game = hex_game(rows, columns, kind)
            arena, tree = cp.build_arena(game, "generated"), cp.build_tree(game)
            made[rows, columns, kind] = arena, tree, place_in(tree, arena)
        return made[rows, columns, kind]

    return pair


def place_in(tree, arena):
    """Index in the tree of each of the arena's sequences."""
    owners = arena.infoset_player.tolist()
    first = [tree.offset[tree.find_infoset(arena.infoset_key(i), p)] for i, p in enumerate(owners)]
    counts = arena.num_actions.astype(int)
    assert [arena.action_names(i) for i in range(len(first))] == [
        tree.action_names(tree.find_infoset(arena.infoset_key(i), p)) for i, p in enumerate(owners)
    ]
    inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(np.array(first, int), counts) + inside


def on_tree(tree, place, policy):
    probabilities = np.empty(tree.num_sequences)
    probabilities[place] = policy.probabilities
    return cp.Policy(tree, probabilities)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("rows", "columns"), SMALL_BOARDS)
def test_gradient_and_judgement(pairs, rows, columns, kind):
    arena, tree, place = pairs(rows, columns, kind)
    assert sorted(place) == list(range(tree.num_sequences))
    assert arena.num_infosets == tree.num_infosets
    reach = np.random.default_rng(1).uniform(size=arena.num_sequences + 1)
    reach[-1] = 1.0
    there = np.append(reach[np.argsort(place)], 1.0)
    for player in range(2):
        ours, theirs = np.full_like(reach, 7.0), np.full_like(reach, 7.0)
        arena.gradient(player, reach, ours)
        tree.gradient(player, there, theirs)
        assert ours[:-1] == approx(theirs[place], abs=1e-12 * max(1.0, np.abs(theirs).max()))
        assert ours[-1] == approx(theirs[-1], abs=1e-12)
    policy = cp.random_policy(arena, seed=2)
    ours, theirs = cp.judge(arena, policy), cp.judge(tree, on_tree(tree, place, policy))
    assert ours.values == approx(theirs.values, abs=1e-12)
    assert ours.best_values == approx(theirs.best_values, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "spec",
    ["cfr", "pcfr_plus", "dcfr", "xfp", "mmd(dilated=true,normalize_utilities=false)", "cfr_br"],
)
def test_algorithms_go_the_same_way(pairs, spec, kind):
    arena, tree, place = pairs(2, 3, kind)
    algorithm = cp.load_algorithm(spec)
    one, other = algorithm.init(arena), algorithm.init(tree)
    for _ in range(5):
        one, other = algorithm.step(arena, one), algorithm.step(tree, other)
        ours, theirs = algorithm.policies(arena, one), algorithm.policies(tree, other)
        for name in ours:
            assert ours[name].probabilities == approx(theirs[name].probabilities[place], abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_levels_share_no_parents(pairs, kind, monkeypatch):
    monkeypatch.setattr("counterplay.arenas.factored.base.MIN_LEVEL_INFOSETS_FOR_THREADS", 2)
    arena, _, _ = pairs(3, 2, kind)
    parent, seen = arena.form.parent, 0
    for player in range(2):
        for parts in arena.levels(player, 3):
            owners = [set(parent[first:last].tolist()) for first, last in parts]
            for first, last in parts:
                assert first == seen
                seen = last
            if len(parts) > 1:
                assert sum(map(len, owners)) == len(set.union(*owners))
    assert seen == arena.num_infosets


@pytest.mark.parametrize("kind", KINDS)
def test_same_bits_for_any_number_of_threads(pairs, kind, monkeypatch):
    arena, _, _ = pairs(3, 2, kind)
    monkeypatch.setattr("counterplay.arenas.factored.base.MIN_LEVEL_INFOSETS_FOR_THREADS", 2)
    actual = []
    for threads in (1, 2, 5):
        monkeypatch.setattr("counterplay.kernels.runtime.threads._num_threads", threads)
        again = cp.build_arena(arena.game, "generated")
        assert (again.form.parent == arena.form.parent).all()
        result = cp.solve(again, cp.algorithms.PCFRPlus(), iterations=5)
        actual.append((result.policy.probabilities, result.exploitability))
    assert all((p == actual[0][0]).all() and e == actual[0][1] for p, e in actual)


@pytest.mark.parametrize("kind", KINDS)
def test_keys_and_files(pairs, kind, tmp_path):
    arena, tree, place = pairs(2, 2, kind)
    assert [arena.find_infoset(arena.infoset_key(i)) for i in range(arena.num_infosets)] == [
        *range(arena.num_infosets)
    ]
    for key, player in (("x:9", None), ("x:0 0", None), ("z", None), ("x:0", 1), ("x:0! 1", 0)):
        with pytest.raises(cp.ConfigError, match="has no infoset"):
            arena.find_infoset(key, player)
    policy = cp.random_policy(arena, seed=3)
    policy.save(tmp_path / "a.policy")
    again = cp.load_policy(tmp_path / "a.policy", cp.build_arena(arena.game, "generated"))
    assert (again.probabilities == policy.probabilities).all()
    assert cp.exploitability(arena, again) == cp.exploitability(arena, policy)
    with pytest.raises(cp.RunError, match="as a generated arena, not for"):
        cp.load_policy(tmp_path / "a.policy", tree)
    with pytest.raises(cp.RunError, match="has no keys"):
        cp.load_tabular_policy(tmp_path / "a.policy", tree.game)
    on_tree(tree, place, policy).save(tmp_path / "b.policy")
    assert cp.load_policy(tmp_path / "b.policy", arena).probabilities == approx(again.probabilities)
    state = tree.game.initial_state()
    assert policy.action_probabilities(state, 0) == policy.probabilities[:4].tolist()


def test_counted_sizes_bound_those_of_the_tree():
    for rows, columns in SMALL_BOARDS:
        for kind in ("cdh", "adh"):
            game = hex_game(rows, columns, kind)
            infosets, sequences = count_infosets_and_sequences(game)
            tree = cp.build_tree(game)
            assert tree.num_infosets <= infosets <= 1.5 * tree.num_infosets + 2
            assert sequences >= tree.num_sequences


@pytest.mark.parametrize("kind", KINDS)
def test_boards_too_large_are_refused_at_once(kind):
    for rows, columns in ((4, 3), (11, 11)):
        with pytest.raises(cp.RunError, match="infosets: its arena and an algorithm take at least"):
            cp.build_arena(hex_game(rows, columns, kind), "generated")
    with pytest.raises(cp.RunError, match=r"only 1e-06 GiB may be used|only 9.8e-07 GiB"):
        cp.build_arena(hex_game(3, 3, kind), "generated", memory_limit=1050)


def test_build_arena_chooses_by_game_and_name():
    """Without a name a small game is unrolled: the same arrays as those of `build_tree`."""
    kuhn, board = cp.load_game("kuhn_poker"), hex_game(2, 2, "cdh")
    for game in (kuhn, board):
        tree, chosen = cp.build_tree(game), cp.build_arena(game)
        assert type(chosen) is cp.TreeArena
        assert chosen.infoset_keys == tree.infoset_keys
        assert (chosen.num_nodes, chosen.num_sequences) == (tree.num_nodes, tree.num_sequences)
    rules = cp.build_arena(board, "rules")
    assert type(rules) is cp.RulesArena and rules.game == board
    generated = cp.build_arena(board, "generated")
    upper_bound, _ = count_infosets_and_sequences(board)
    assert cp.build_tree(board).num_infosets <= generated.num_infosets <= upper_bound
    with pytest.raises(cp.ConfigError, match=r"has no generated arena; .*dark_hex"):
        cp.build_arena(kuhn, "generated")
    with pytest.raises(cp.ConfigError, match="arena is 'nothing'"):
        cp.build_arena(kuhn, "nothing")
