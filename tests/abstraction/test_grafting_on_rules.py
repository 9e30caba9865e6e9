"""Strategy grafting on rules: beside the same grafts on a tree, and on bucketed hold'em."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.abstraction.by_rank import ByRank
from counterplay.abstraction.holdem_buckets import BucketedGame, HoldemBuckets
from counterplay.algorithms import solve_sequence_form_lp
from tests.conftest import game_tree

LEDUC = "leduc_poker(suit_isomorphism=true)"
COARSE = ByRank(("JQ", "K"))


def exact(game):
    return solve_sequence_form_lp(game).policy


def exact_on_rules(arena):
    return exact(cp.build_tree(arena.game))


def worst(tree, policy, player):
    """Value of the player's policy against a best response."""
    return -cp.judge(tree, policy).best_values[1 - player]


def second_round(key):
    """The card on the table, as a part; the first round is the base's."""
    _, bar, second = key.partition("|")
    return 1 + "JQK".index(second[0]) if bar else 0


@pytest.mark.parametrize("independent", [False, True])
@pytest.mark.parametrize("player", [0, 1])
def test_exact_grafts_equal_those_on_the_tree(player, independent):
    """Solutions of the parts may differ, but the worst case of the first graft may not."""
    tree = game_tree(LEDUC)
    smaller = cp.abstraction.build_abstraction(tree, COARSE)
    base = smaller.lift(exact(smaller.tree))
    one_part = {"independent": independent}
    on_tree = cp.abstraction.graft_policy(
        tree, base, player, lambda key: int("|" in key), exact, **one_part
    )
    on_rules = cp.abstraction.graft_policy(
        cp.RulesArena(tree.game),
        base,
        player,
        lambda key: int("|" in key),
        exact_on_rules,
        **one_part,
    ).tabulate(tree)
    before = worst(tree, base, player)
    assert worst(tree, on_rules, player) == pytest.approx(worst(tree, on_tree, player), abs=1e-9)
    assert worst(tree, on_rules, player) > before + 0.05
    first_round = [i for i, key in enumerate(tree.infoset_keys) if "|" not in key]
    other = np.flatnonzero(tree.infoset_player != player).tolist()
    for infoset in [*first_round, *other]:
        assert on_rules.probabilities_at(infoset) == base.probabilities_at(infoset)


def test_parts_are_finer_than_the_base_on_rules():
    """The base has two buckets; three parts without an abstraction regain what it lost."""
    tree = game_tree(LEDUC)
    arena = cp.RulesArena(cp.load_game(f"{LEDUC} with by_rank(groups=('JQ','K'))"))
    base = cp.solve(arena, "external_sampling", iterations=500).policy
    grafted = cp.abstraction.graft_policy(
        arena,
        base,
        0,
        second_round,
        exact_on_rules,
        buckets=ByRank(),
        opponent_buckets=ByRank(),
    )
    assert sorted(grafted.solutions) == [1, 2, 3]
    lifted = base.tabulate(tree)
    assert worst(tree, grafted.tabulate(tree), 0) > worst(tree, lifted, 0) + 0.1
    same = cp.abstraction.graft_policy(arena, base, 0, lambda key: 1, exact_on_rules)
    assert worst(tree, same.tabulate(tree), 0) < worst(tree, grafted.tabulate(tree), 0)


def test_sampled_graft_on_bucketed_holdem(monkeypatch):
    """Buckets are cards' ranks here, as the tables of all boards take minutes."""
    monkeypatch.setattr(
        HoldemBuckets,
        "hand_bucket",
        lambda self, hand, board: max(hand) // 4 % self.num_buckets,
    )
    monkeypatch.delattr(BucketedGame, "compiled_game")
    arena = cp.RulesArena(cp.load_game("limit_holdem with by_equity(num_buckets=2)"))
    base = cp.solve(arena, "outcome_sampling", iterations=50).policy
    games = []

    def solve(part):
        games.append(part.game)
        return cp.solve(part, "outcome_sampling", iterations=200).policy

    def after_a_raise(key):  # the flop and later streets, if player 1 has not raised before
        return 1 + ("r" in key.partition("|")[0]) if "|" in key else 0

    grafted = cp.abstraction.graft_policy(
        arena, base, 0, after_a_raise, solve, buckets=cp.abstraction.ByEquity(num_buckets=6)
    )
    assert sorted(grafted.solutions) == [1, 2]
    rows = [(player, key) for player, key, _ in grafted.solutions[1].items()]
    assert {after_a_raise(key) for player, key in rows if player == 0} == {1}
    own = {int(key.split(":")[0].split("-")[-1]) for player, key in rows if player == 0}
    opponent = {int(key.split(":")[0].split("-")[-1]) for player, key in rows if player == 1}
    assert max(own) > 1 >= max(opponent)  # own buckets are finer, the opponent's are the arena's
    match = cp.head_to_head(cp.load_game("limit_holdem"), grafted, base, max_episodes=4)
    assert len(match.scores) == 2
    assert "part 1 of player 0" in games[0].spec


BAD = {
    "left": (lambda key: int(key == "0"), "'0' is in part 1, but '0pb', which follows it, is in p"),
    "nothing": (lambda key: 0, "no infoset of player 0 is in a part from 1 on"),
    "negative": (lambda key: -1, "a part has the number -1"),
    "twice": ({1: ["0pb"], 2: ["0pb"]}, "infoset '0pb' is in two parts"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_parts(name):
    parts, message = BAD[name]
    arena, base = cp.RulesArena("kuhn_poker"), cp.uniform_policy("kuhn_poker")
    with pytest.raises(cp.ConfigError, match=message):
        cp.abstraction.graft_policy(arena, base, 0, parts, exact_on_rules)
    with pytest.raises(cp.ConfigError, match="player is 2"):
        cp.abstraction.graft_policy(arena, base, 2, parts, exact_on_rules)


def test_parts_by_keys():
    arena, tree = cp.RulesArena("kuhn_poker"), game_tree("kuhn_poker")
    base = cp.uniform_policy(tree)
    grafted = cp.abstraction.graft_policy(arena, base, 0, {1: ["0pb"]}, exact_on_rules)
    table = grafted.tabulate(tree)
    assert table["0pb"] == pytest.approx({"pass": 1.0, "bet": 0.0})
    assert table["1pb"] == base["1pb"]
