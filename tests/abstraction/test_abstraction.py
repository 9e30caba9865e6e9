"""Abstractions: the smaller game is the one that coarser rules would make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

import counterplay as cp
from counterplay.registry import ALGORITHMS, load_algorithm
from tests.conftest import game_tree, main_policy
from tests.random_games import RandomGame, random_games

LEDUC_5 = "leduc_poker(ranks=5,suit_isomorphism=true)"


def without_suits(player, key):
    return key.replace("s", "").replace("h", "")


@dataclass(frozen=True)
class Coarse:
    """The rules of a random game, with infosets merged as `label` says."""

    game: RandomGame
    salt: int

    def label(self, player, key):
        """Some infosets with equally many actions, and sometimes the same length, are one."""
        view = key[1:]
        size = 1 + int(3 * self.game.draw("actions", view))
        depth = len(view) if self.game.draw("depth", self.salt) < 0.7 else 0
        return f"{player} {size} {depth} {self.game.draw(self.salt, view) < 0.5}"

    def infoset_key(self, state, player):
        return self.label(player, self.game.infoset_key(state, player))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.game, name)


@settings(max_examples=80)
@given(random_games(max_players=3), st.integers(0, 3))
def test_equals_the_tree_of_coarser_rules(game, salt):
    coarse = Coarse(game, salt)
    tree, expected = cp.build_tree(game), cp.build_tree(coarse)
    made = cp.abstraction.build_abstraction(tree, coarse.label).tree
    assert made.num_infosets == expected.num_infosets
    assert made.has_perfect_recall == expected.has_perfect_recall
    assert made.form.parent.size == expected.form.parent.size
    if not tree.num_infosets:
        return
    for seed in range(3):
        policy = cp.random_policy(made, seed)
        keys = zip(expected.infoset_player.tolist(), expected.infoset_keys, strict=True)
        rows = [list(policy[key].values()) for key in keys]
        other = cp.judge(expected, cp.Policy(expected, np.concatenate(rows)))
        judgement = cp.judge(made, policy)
        assert judgement.values == approx(other.values, abs=1e-12)
        assert judgement.best_values == approx(other.best_values, abs=1e-12)


@settings(max_examples=80)
@given(random_games(max_players=3), st.integers(0, 3), st.booleans())
def test_lifted_policies_earn_the_same(game, salt, fewer):
    """And a responder that sees more gains no less."""
    coarse, tree = Coarse(game, salt), cp.build_tree(game)
    if not tree.num_infosets:
        return
    actions = (lambda player, key, name: name == "a0" or game.draw(key) < 0.5) if fewer else None
    smaller = cp.abstraction.build_abstraction(
        tree, None if fewer else coarse.label, keep_action=actions
    )
    for seed in range(3):
        policy = cp.random_policy(smaller.tree, seed)
        here, there = cp.judge(smaller.tree, policy), cp.judge(tree, smaller.lift(policy))
        assert there.values == approx(here.values, abs=1e-12)
        assert (there.best_values >= here.best_values - 1e-12).all()


@settings(max_examples=60)
@given(random_games(max_players=3), st.integers(0, 5))
def test_fixed_infosets_are_played_by_chance(game, seed):
    tree = cp.build_tree(game)
    if not tree.num_infosets:
        return
    policy = cp.random_policy(tree, seed)
    for player in range(tree.num_players):
        alone = cp.abstraction.fix_policy(tree, policy, lambda p, key, player=player: p != player)
        if not alone.tree.num_infosets:
            continue
        assert (alone.tree.infoset_player == player).all()
        some = cp.random_policy(alone.tree, seed + 1)
        judgement = cp.judge(alone.tree, some)
        lifted = alone.lift(some)
        assert judgement.values == approx(cp.expected_values(tree, lifted), abs=1e-12)
        best = cp.best_response(tree, policy, player).value
        assert judgement.best_values[player] == approx(best, abs=1e-12)
    all_fixed = cp.abstraction.fix_policy(tree, policy, range(tree.num_infosets))
    assert all_fixed.tree.num_infosets == 0
    assert cp.expected_values(all_fixed.tree, cp.Policy(all_fixed.tree, np.zeros(0))) == approx(
        cp.expected_values(tree, policy), abs=1e-12
    )


def test_suits_are_lossless(leduc):
    """936 infosets become 288: the same value, and the same NashConv on the way."""
    smaller = cp.abstraction.build_abstraction(leduc, without_suits)
    assert smaller.tree.num_infosets == 288
    assert smaller.tree.has_perfect_recall
    exact = cp.algorithms.solve_sequence_form_lp(smaller.tree)
    assert exact.value == approx(-0.085606424078, abs=1e-9)
    assert cp.nash_conv(leduc, smaller.lift(exact.policy)) == approx(0.0, abs=1e-9)
    whole = cp.solve(leduc, cp.algorithms.CFR(), iterations=100)
    part = cp.solve(leduc, smaller.wrap_algorithm(cp.algorithms.CFR()), iterations=100)
    assert [r.iteration for r in part.records] == [r.iteration for r in whole.records]
    for mine, theirs in zip(part.records, whole.records, strict=True):
        assert mine.exploitability == approx(theirs.exploitability, rel=1e-9)
    for seed in range(3):
        policy = cp.random_policy(smaller.tree, seed)
        expected = cp.nash_conv(smaller.tree, policy)
        assert cp.nash_conv(leduc, smaller.lift(policy)) == approx(expected, abs=1e-12)


def test_suits_are_lossless_in_larger_decks():
    """10 hands with 6 decisions, and 10 * 9 with 30, become 5 and 5 * 5."""
    tree, isomorphic = game_tree("leduc_poker(ranks=5)"), game_tree(LEDUC_5)
    smaller = cp.abstraction.build_abstraction(tree, cp.abstraction.ByRank())
    assert (tree.num_nodes, tree.num_terminals, tree.num_infosets) == (55_361, 32_760, 2_760)
    assert smaller.tree.num_infosets == isomorphic.num_infosets == 780
    policy = cp.solve(isomorphic, cp.algorithms.CFRPlus(), iterations=100).policy
    rows = [list(policy[key.removesuffix("*")].values()) for key in smaller.tree.infoset_keys]
    same = smaller.lift(cp.Policy(smaller.tree, np.concatenate(rows)))
    assert cp.nash_conv(tree, same) == approx(cp.nash_conv(isomorphic, policy), abs=1e-12)


def test_nothing_merged_is_the_same_game(leduc):
    same = cp.abstraction.build_abstraction(leduc)
    assert same.tree.num_infosets == leduc.num_infosets
    assert same.tree.has_perfect_recall
    policy = cp.random_policy(same.tree, seed=1)
    assert same.lift(policy)["Qs:crc|Kh:"] == policy["Qs:crc|Kh:"]
    assert cp.nash_conv(leduc, same.lift(policy)) == approx(cp.nash_conv(same.tree, policy))


def test_forgetful_games_stay_forgetful():
    tree = game_tree("goofspiel(forgetful=true)")
    same = cp.abstraction.build_abstraction(tree, [[]])
    assert not same.tree.has_perfect_recall
    assert same.tree.num_infosets == tree.num_infosets == 6056
    assert same.tree.form.parent.size == tree.form.parent.size
    policy = cp.random_policy(same.tree)
    assert cp.nash_conv(tree, same.lift(policy)) == approx(cp.nash_conv(same.tree, policy))


def cards_only(player, key):
    """The bets of the first round are forgotten in the second."""
    card, _, record = key.partition(":")
    _, bar, second = record.partition("|")
    return f"{card}|{second}" if bar else key


NEED_RECALL = {"sequence_form_lp", "mmd", "qre", "tabular_r_nad", "efr", "rt_cfr_plus"}
NEED_RECALL |= {"clairvoyant_cfr", "reg_cfr"}
NOT_HERE = NEED_RECALL | {"online_outcome_sampling"}  # in which but one player learns
ALIKE = [
    name
    for name, where in ALGORITHMS.items()
    if ".deep." not in where and ".population." not in where
]
EPISODES = {  # of those whose iteration is but an episode or two
    **dict.fromkeys(("fsp", "table_lookup_fsp", "outcome_sampling", "probing"), 30_000),
    **dict.fromkeys(("average_strategy_sampling", "external_sampling"), 3_000),
    **dict.fromkeys(
        ("vr_mccfr(predictive_baseline=true)", "vr_mccfr_plus(predictive_baseline=true)"), 30_000
    ),
}


@pytest.mark.parametrize(
    "name",
    [
        f"{name}(predictive_baseline=true)" if name.startswith("vr_") else name
        for name in ALIKE
        if name not in NOT_HERE
    ],
)
def test_every_tabular_algorithm_solves_an_abstraction(name):
    """With imperfect recall, too; the policy is judged in the full game.

    Baselines that are learned on augmented infosets need the rules, which an abstraction lacks.
    """
    tree = game_tree("leduc_poker(suit_isomorphism=true)")
    smaller = cp.abstraction.build_abstraction(tree, cards_only)
    assert not smaller.tree.has_perfect_recall
    before = cp.exploitability(tree, cp.uniform_policy(tree))
    iterations = EPISODES.get(name, 300)
    result = cp.solve(tree, smaller.wrap_algorithm(load_algorithm(name)), iterations=iterations)
    assert result.policy.arena is tree
    assert result.exploitability < 0.6 * before


def test_learned_baselines_need_the_rules():
    smaller = cp.abstraction.build_abstraction(
        game_tree("leduc_poker(suit_isomorphism=true)"), cards_only
    )
    with pytest.raises(cp.ConfigError, match="augmented infosets need the rules"):
        cp.solve(smaller.full_tree, smaller.wrap_algorithm(cp.algorithms.VRMCCFR()), iterations=1)


def group_by_rank(private, public):
    """Leduc's ranks under other names, in the hand and on the table; pairs are not seen."""
    hand, table = dict(zip("JQK", private, strict=True)), dict(zip("JQK", public, strict=True))

    def label(player, key):
        card, _, record = key.partition(":")
        first, bar, second = record.partition("|")
        shown = f"{table[second[0]]}{second[1:]}" if bar else ""
        return f"{hand[card]}:{first}{bar}{shown}"

    return label


@pytest.mark.parametrize(
    ("coarse", "fine"), [(("JQQ", "JJJ"), ("JQQ", "JJK")), (("JJK", "JJJ"), ("JQK", "JJJ"))]
)
def test_finer_abstraction_can_be_more_exploitable(coarse, fine):
    """A finer abstraction may have a more exploitable equilibrium in the full game."""
    tree = game_tree("leduc_poker(suit_isomorphism=true)")
    actual = []
    for labels in (coarse, fine):
        smaller = cp.abstraction.build_abstraction(tree, group_by_rank(*labels))
        result = cp.solve(tree, smaller.wrap_algorithm(cp.algorithms.CFRPlus()), iterations=1000)
        solved = main_policy(cp.algorithms.CFRPlus(), smaller.tree, result.memory)
        assert cp.exploitability(smaller.tree, solved) < 1e-3
        actual.append((smaller.tree.num_infosets, result.exploitability))
    assert actual[0][0] < actual[1][0]
    assert actual[0][1] < actual[1][1] - 0.05


def test_no_pathology_against_exact_opponents():
    """With only one player's infosets merged, seeing more never lowers its worst case."""
    tree = game_tree("leduc_poker(suit_isomorphism=true)")
    for player in range(2):
        worst = []
        for labels in (("JJJ", "JJJ"), ("JQQ", "JJJ"), ("JQQ", "JJK"), ("JQK", "JJK")):
            smaller = cp.abstraction.build_abstraction(tree, group_by_rank(*labels), player=player)
            others = tree.infoset_player != player
            assert (smaller.tree.infoset_player != player).sum() == others.sum()
            policy = smaller.lift(cp.algorithms.solve_sequence_form_lp(smaller.tree).policy)
            worst.append(-cp.judge(tree, policy).best_values[1 - player])
        assert worst == sorted(worst)
        assert worst[-1] < (-1) ** player * cp.algorithms.solve_sequence_form_lp(tree).value


def test_actions_left_out():
    """Leduc without raises in the first round: the lifted policy never raises there."""
    tree = game_tree("leduc_poker(suit_isomorphism=true)")
    smaller = cp.abstraction.build_abstraction(
        tree, keep_action=lambda p, key, name: "|" in key or name != "raise"
    )
    assert smaller.tree.num_nodes < tree.num_nodes
    policy = smaller.lift(cp.algorithms.solve_sequence_form_lp(smaller.tree).policy)
    assert policy["Q:"] == {"call": 1.0, "raise": 0.0}
    assert policy["Q:r"] == approx({"fold": 1 / 3, "call": 1 / 3, "raise": 1 / 3})  # never met
    assert cp.exploitability(tree, policy) > 0.1


def test_groups_and_keys(kuhn):
    smaller = cp.abstraction.build_abstraction(
        kuhn, [["0", "1"], [(0, "0pb"), kuhn.find_infoset("1pb")]]
    )
    assert smaller.tree.num_infosets == 10
    policy = cp.random_policy(smaller.tree)
    assert policy["0 +1"] == smaller.lift(policy)["0"] == smaller.lift(policy)["1"]
    assert policy["2"] == smaller.lift(policy)["2"]
    assert smaller.tree.spec == "kuhn_poker with 10 of 12 infosets"
    with pytest.raises(cp.ConfigError, match="the policy is for kuhn_poker, not for kuhn_poker w"):
        smaller.lift(cp.uniform_policy(kuhn))
    with pytest.raises(cp.ConfigError, match="of kuhn_poker, another tree"):
        cp.solve(smaller.tree, smaller.wrap_algorithm(cp.algorithms.CFR()), iterations=1)


def test_saved_trees_are_whole(kuhn, tmp_path):
    """A tree made from a tree is a tree like any other."""
    smaller = cp.abstraction.build_abstraction(kuhn, [["0", "1"]]).tree
    smaller.save(tmp_path / "tree")
    again = cp.load_tree(tmp_path / "tree")
    assert cp.solve(again, cp.algorithms.CFRPlus(), iterations=50).exploitability == approx(
        cp.solve(smaller, cp.algorithms.CFRPlus(), iterations=50).exploitability
    )
    assert (
        cp.exploitability(
            smaller.perfect_recall_tree, cp.uniform_policy(smaller.perfect_recall_tree)
        )
        > 0.0
    )


BAD = {
    "across players": (
        [["0", "0p"]],
        "'0' of player 0 with '0p' of player 1: only infosets of one",
    ),
    "unknown": ([["0", "9"]], r"kuhn_poker has no infoset '9'"),
    "near": ([["0", "0pbb"]], r"no infoset '0pbb'; did you mean '0pb'"),
    "number": ([[0, 99]], "no infoset 99; its numbers are 0 to 11"),
    "twice": ([["0", "1"], ["1", "2"]], "infoset '1' is in two buckets"),
    "twice in one": ([["0", "0"]], "infoset '0' is in two buckets"),
    "text": (["0p"], "a bucket is a group of infosets, not the text '0p'"),
    "unhashable": (lambda player, key: [key], r"the label \['0'\] of a bucket is not hashable"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_buckets(name, kuhn):
    buckets, message = BAD[name]
    with pytest.raises(cp.ConfigError, match=message):
        cp.abstraction.build_abstraction(kuhn, buckets)


def test_bad_actions(leduc, kuhn):
    with pytest.raises(cp.ConfigError, match=r"whose actions are call, raise, with .* need equal"):
        cp.abstraction.build_abstraction(leduc, [["Qs:", "Qs:cr"]])
    with pytest.raises(cp.ConfigError, match="'0' of player 0 would have no action left"):
        cp.abstraction.build_abstraction(kuhn, keep_action=lambda player, key, name: key != "0")
    with pytest.raises(cp.ConfigError, match="player is 2, must be from 0 to 1"):
        cp.abstraction.build_abstraction(kuhn, player=2)
    with pytest.raises(cp.ConfigError, match="the policy is for kuhn_poker, not for leduc_poker"):
        cp.abstraction.fix_policy(leduc, cp.uniform_policy(kuhn), [])


def test_networks_need_rules(kuhn):
    pytest.importorskip("jax")
    smaller = cp.abstraction.build_abstraction(kuhn, [["0", "1"]])
    with pytest.raises(cp.ConfigError, match="networks need observations"):
        cp.algorithms.DeepHedge().init(smaller.tree)
